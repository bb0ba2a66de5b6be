"""The summary of a confirmed action: what was done, once the states show it."""

from collections.abc import Awaitable, Iterable, Sequence

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..errors import HomeAgentError
from ..safety.confirmation import PendingAction
from ..safety.frozen import Frozen, FrozenAutomation, FrozenCall, FrozenLook, FrozenPlan
from ..tools.control.planning import Expectation, Settling, expectation_of
from ..tools.vetted import is_message
from . import automation_words
from .phrases import async_error_sentence, async_phrase
from .questions import (
    CASES,
    GENERIC,
    Part,
    merged,
    parts,
    told_time,
    tool_name,
)
from .receivers import kind_of_message, receiver, receivers_of
from .spoken_names import Case, async_targets


async def async_carry_out(
    hass: HomeAssistant, action: PendingAction, language: str, approving: Awaitable[None]
) -> tuple[str, HomeAgentError | None]:
    """Run an action by an approval of it; return what became of it as a sentence, and the error if it failed.

    The error is ConfirmationRefused where the word did not count.
    """
    reporter = ConfirmedActionReporter(hass, action.frozen)
    try:
        await approving
        return await reporter.async_sentence(language), None
    except HomeAgentError as err:
        return await async_error_sentence(hass, language, err), err
    finally:
        reporter.stop()


REPORTED = frozenset(
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
        "update_install",
        "valve_close_valve",
        "valve_open_valve",
    }
)
"""Services with a sentence of their own."""


class ConfirmedActionReporter:
    """Watches the effects of a confirmed action from before it runs, and describes them."""

    def __init__(self, hass: HomeAssistant, frozen: Sequence[Frozen]) -> None:
        self._hass = hass
        self._parts = [
            call
            for part in parts(frozen)
            for call in (part.calls if isinstance(part, FrozenPlan) and part.due is None else (part,))
        ]
        self._expected = dict(_expectations(self._parts))
        self._settling = Settling(hass, self._expected)

    def stop(self) -> None:
        """Watch no longer."""
        self._settling.stop()

    async def async_sentence(self, language: str) -> str:
        """Return a summary of the actions, once the states show them or enough time has passed."""
        if self._expected:
            await self._settling.async_wait()
        seen = {entity_id: self._hass.states.get(entity_id) for entity_id in self._expected}
        waiting = [
            entity_id for entity_id, state in seen.items() if not self._expected[entity_id].is_told(state)
        ]
        unseen = [
            entity_id for entity_id in waiting if not self._expected[entity_id].is_passing(seen[entity_id])
        ]
        if waiting:
            key, which = ("did_unseen", unseen) if unseen else ("did_begin", waiting)
            targets = await async_targets(self._hass, language, which)
            return await async_phrase(self._hass, language, key, targets=targets)
        said = [
            await async_phrase(self._hass, language, "did_plan", time=told_time(part.due or dt_util.utcnow()))
            if isinstance(part, FrozenPlan)
            else await self._async_part(language, part)
            for part in merged(self._parts)
        ]
        return " ".join(dict.fromkeys(said))

    async def _async_part(self, language: str, part: Part) -> str:
        if isinstance(part, FrozenLook):
            return await self._async_seen(language, part)
        if isinstance(part, FrozenAutomation):
            return await automation_words.async_done(self._hass, language, part)
        if not isinstance(part, FrozenCall):
            return await async_phrase(self._hass, language, "did_tool", tool=tool_name(part))
        if is_message(part.domain, part.service):
            key, targets = f"did_{kind_of_message(part)}", receiver(self._hass, part)
            return await async_phrase(self._hass, language, key, targets=targets)
        key, action = f"{part.domain}_{part.service}", f"{part.domain}.{part.service}"
        position = str(part.data.get("position", ""))
        if key not in REPORTED:
            key = part.service if part.service in GENERIC else "service"
        case = CASES.get(key, Case.OBJECT)
        targets = await async_targets(self._hass, language, part.entity_ids, case)
        return await async_phrase(
            self._hass, language, f"did_{key}", targets=targets, position=position, action=action
        )

    async def _async_seen(self, language: str, part: FrozenLook) -> str:
        """Return the description of a picture, and whether the picture left the home."""
        said = list(part.seen)
        if part.sends:
            key = "did_look_unsent" if part.unsent else "did_look_sent"
            phones = receivers_of(self._hass, part)
            said.append(await async_phrase(self._hass, language, key, receivers=phones))
        return " ".join(said)


def _expectations(calls: Iterable[Frozen]) -> Iterable[tuple[str, Expectation]]:
    """Yield the expected states of the targets; nothing if states do not show the effect."""
    for call in calls:
        if not isinstance(call, FrozenCall):
            continue
        if expected := expectation_of(call.domain, call.service):
            yield from ((entity_id, expected) for entity_id in call.entity_ids)
