"""What is said after a yes: what was done, by name, and only if it shows."""

from collections.abc import Iterable, Sequence

from homeassistant.core import HomeAssistant

from ..safety.frozen import Frozen, FrozenCall, FrozenLook
from ..tools.control.planning import expectation_of
from ..tools.control.readback import Expectation, Settling
from ..tools.vetted import NOTIFY
from .phrases import async_phrase
from .questions import GENERIC, names, parts, receiver, receivers_of, tool_name

TOLD = frozenset(
    {
        "alarm_control_panel_alarm_disarm",
        "cover_close_cover",
        "cover_open_cover",
        "cover_set_cover_position",
        "lock_lock",
        "lock_open",
        "lock_unlock",
        "scene_turn_on",
        "script_turn_on",
        "valve_close_valve",
        "valve_open_valve",
    }
)
"""Services with a sentence of their own."""


class Deeds:
    """Watches what a confirmed action moves, from before it runs, and puts it into words."""

    def __init__(self, hass: HomeAssistant, frozen: Sequence[Frozen]) -> None:
        """Start to watch."""
        self._hass = hass
        self._parts = parts(frozen)
        self._expected = dict(_expectations(self._parts))
        self._settling = Settling(hass, self._expected)

    def stop(self) -> None:
        """Watch no longer."""
        self._settling.stop()

    async def async_sentence(self, language: str) -> str:
        """Return what was done, once it shows or enough time has passed."""
        if self._expected:
            await self._settling.async_wait()
        seen = {entity_id: self._hass.states.get(entity_id) for entity_id in self._expected}
        waiting = [
            entity_id for entity_id, state in seen.items() if not self._expected[entity_id].is_met(state)
        ]
        unseen = [
            entity_id for entity_id in waiting if not self._expected[entity_id].is_passing(seen[entity_id])
        ]
        if waiting:
            key, which = ("did_unseen", unseen) if unseen else ("did_begin", waiting)
            return await async_phrase(self._hass, language, key, targets=names(self._hass, which))
        said = [await self._async_part(language, part) for part in self._parts]
        return " ".join(dict.fromkeys(said))

    async def _async_part(self, language: str, part: Frozen) -> str:
        """Return the sentence about one call."""
        if isinstance(part, FrozenLook):
            return await self._async_seen(language, part)
        if not isinstance(part, FrozenCall):
            return await async_phrase(self._hass, language, "did_tool", tool=tool_name(part))
        if part.domain == NOTIFY:
            return await async_phrase(self._hass, language, "did_message", targets=receiver(self._hass, part))
        targets = names(self._hass, part.entity_ids)
        key = f"{part.domain}_{part.service}"
        if key in TOLD:
            position = str(part.data.get("position", ""))
            return await async_phrase(self._hass, language, f"did_{key}", targets=targets, position=position)
        if part.service in GENERIC:
            return await async_phrase(self._hass, language, f"did_{part.service}", targets=targets)
        action = f"{part.domain}.{part.service}"
        return await async_phrase(self._hass, language, "did_service", targets=targets, action=action)

    async def _async_seen(self, language: str, part: FrozenLook) -> str:
        """Return what was seen, and whether the picture has gone out."""
        said = list(part.seen)
        if part.sends:
            key = "did_look_unsent" if part.unsent else "did_look_sent"
            phones = receivers_of(self._hass, part)
            said.append(await async_phrase(self._hass, language, key, receivers=phones))
        return " ".join(said)


def _expectations(calls: Iterable[Frozen]) -> Iterable[tuple[str, Expectation]]:
    """Yield what the targets of calls should show; nothing where a state does not tell."""
    for call in calls:
        if not isinstance(call, FrozenCall):
            continue
        if expected := expectation_of(call.domain, call.service):
            yield from ((entity_id, expected) for entity_id in call.entity_ids)
