"""Texts about pending actions: the question, and the summary afterwards.

Everything that a yes would do is named, in the person's language.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from homeassistant.const import ATTR_FRIENDLY_NAME
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.util import dt as dt_util

from ..regex import lazy_regex
from ..safety.frozen import Frozen, FrozenCall, FrozenIntent, FrozenLook, FrozenPlan, FrozenTool
from ..safety.pending import Question
from ..texts import fold_letters
from ..timespans import format_span
from ..tools.asked_about import MAX_KINDS, calls_of_intent, data_of, told, told_message
from ..tools.control.planning import expectation_of
from ..tools.control.readback import Expectation, Settling
from ..tools.other_apis import inner_name
from ..tools.resolving.candidates import plain
from ..tools.vetted import NOTIFY
from .phrases import async_phrase

ASKED = frozenset(
    {
        "alarm_control_panel_alarm_disarm",
        "camera_turn_off",
        "camera_turn_on",
        "cover_close_cover",
        "cover_open_cover",
        "cover_set_cover_position",
        "lock_lock",
        "lock_open",
        "lock_unlock",
        "scene_turn_on",
        "script_turn_on",
        "siren_turn_off",
        "siren_turn_on",
        "valve_close_valve",
        "valve_open_valve",
    }
)
"""Services with a question of their own."""

DOES = {
    "alarm_control_panel.alarm_disarm": "disarm",
    "cover.open_cover": "open",
    "cover.set_cover_position": "move",
    "cover.toggle": "move",
    "lock.open": "unlatch",
    "lock.unlock": "unlock",
    "valve.open_valve": "open",
    "valve.set_valve_position": "move",
    "valve.toggle": "move",
}
"""Effects of scripts and scenes that have separate sentences."""

GENERIC = frozenset({"turn_on", "turn_off", "toggle"})

SAYING_POSITION = frozenset({"cover_set_cover_position"})
"""Questions that say the position."""

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
        "valve_close_valve",
        "valve_open_valve",
    }
)
"""Services with a sentence of their own."""

_WORD_ENDS = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")


type _Part = FrozenCall | FrozenIntent | FrozenTool | FrozenLook


async def async_question(
    hass: HomeAssistant, language: str, frozen: Sequence[Frozen], left_out: bool = False
) -> Question:
    """Return the question about all that waits; each part is one sentence."""
    rest = [await async_phrase(hass, language, "ask_left_out")] if left_out else []
    spoken = await _async_sentences(hass, language, frozen, full=False)
    full = await _async_sentences(hass, language, frozen, full=True)
    return Question(spoken=" ".join([*spoken, *rest]), full=" ".join([*full, *rest]))


async def _async_sentences(
    hass: HomeAssistant, language: str, frozen: Sequence[Frozen], *, full: bool
) -> list[str]:
    """Return one sentence for each part; a message to several receivers is one."""
    sentences: list[str] = []
    messages: dict[str, list[str]] = {}
    for part in parts(frozen):
        if isinstance(part, FrozenCall) and part.domain == NOTIFY:
            messages.setdefault(told_message(part.data, full=full).text, []).append(receiver(hass, part))
        else:
            sentences.append(await _async_whole(hass, language, part, full=full))
    for text, receivers in messages.items():
        targets = ", ".join(dict.fromkeys(receivers))
        sentences.append(await async_phrase(hass, language, "ask_message", targets=targets, message=text))
    return list(dict.fromkeys(sentences))


def parts(frozen: Sequence[Frozen]) -> list[Frozen]:
    """Return the pending parts, with an intent as the calls that it makes."""
    return [part for item in frozen for part in _parts_of(item)]


def _parts_of(item: Frozen) -> Sequence[Frozen]:
    """Return the parts of one pending item."""
    match item:
        case FrozenIntent():
            return calls_of_intent(item)
        case _:
            return (item,)


async def _async_whole(hass: HomeAssistant, language: str, part: Frozen, *, full: bool) -> str:
    """Return the question about one call, with its effects in groups, scripts and scenes."""
    if isinstance(part, FrozenPlan):
        return await _async_planned(hass, language, part, full=full)
    question = await _async_part(hass, language, part, full=full)
    return " ".join([question, *await _async_contents(hass, language, part, full=full)])


async def _async_planned(hass: HomeAssistant, language: str, part: FrozenPlan, *, full: bool) -> str:
    """Return the question about calls that are made later or for a while."""
    asked = [await _async_whole(hass, language, call, full=full) for call in part.calls]
    question = " ".join(dict.fromkeys(asked))
    if part.hold:
        time = format_span(part.hold)
        question = await async_phrase(hass, language, "ask_held", time=time, question=question)
    if part.due is None:
        return question
    key = "ask_planned_again" if part.repeats else "ask_planned"
    return await async_phrase(hass, language, key, time=told_time(part.due), question=question)


def told_time(due: datetime) -> str:
    """Return a time to come as it is spoken: with its day, if that is not today."""
    local = dt_util.as_local(due)
    return f"{local:%H:%M}" if local.date() == dt_util.now().date() else f"{local:%Y-%m-%d %H:%M}"


async def _async_part(hass: HomeAssistant, language: str, part: _Part, *, full: bool) -> str:
    """Return the question about one call."""
    if isinstance(part, FrozenLook):
        key, camera = "ask_look_send" if part.sends else "ask_look", names(hass, (part.entity_id,))
        return await async_phrase(hass, language, key, targets=camera, receivers=receivers_of(hass, part))
    if isinstance(part, FrozenIntent | FrozenTool):
        return await async_phrase(hass, language, "ask_tool", tool=_with_data(tool_name(part), part, full))
    key = f"{part.domain}_{part.service}"
    position = str(part.data.get("position", "")) if key in SAYING_POSITION else ""
    targets = _with_data(names(hass, part.entity_ids), part, full)
    if key in ASKED:
        return await async_phrase(hass, language, f"ask_{key}", targets=targets, position=position)
    if part.service in GENERIC:
        return await async_phrase(hass, language, f"ask_{part.service}", targets=targets)
    action = f"{part.domain}.{part.service}"
    return await async_phrase(hass, language, "ask_service", targets=targets, action=action)


async def _async_contents(hass: HomeAssistant, language: str, part: Frozen, *, full: bool) -> list[str]:
    """Return a sentence for each kind of restricted effect of a call in groups, scripts and scenes."""
    effects = part.contents if isinstance(part, FrozenCall | FrozenTool) else ()
    kinds: dict[str, dict[str, None]] = {}
    for effect in effects:
        if effect.known:
            targets = kinds.setdefault(f"{effect.domain}.{effect.service}", {})
            targets |= dict.fromkeys([effect.entity_id] if effect.entity_id else ())
    said = [await _async_does(hass, language, action, tuple(targets)) for action, targets in kinds.items()]
    if len(said) > MAX_KINDS and not full:
        more = await async_phrase(hass, language, "does_more", count=str(len(said) - MAX_KINDS))
        said = [*said[:MAX_KINDS], more]
    if any(not effect.known for effect in effects):
        said.append(await async_phrase(hass, language, "does_unknown"))
    return said


async def _async_does(hass: HomeAssistant, language: str, action: str, entity_ids: Sequence[str]) -> str:
    """Return a sentence about the effects of a script or a scene on entities."""
    if not entity_ids:
        return await async_phrase(hass, language, "does_action", action=action)
    service = action.partition(".")[2]
    key = f"does_{DOES.get(action, service if service in GENERIC else 'service')}"
    return await async_phrase(hass, language, key, action=action, targets=names(hass, entity_ids))


def _with_data(name: str, part: FrozenCall | FrozenIntent | FrozenTool, full: bool) -> str:
    """Return the name of the target of a call, with the arguments of the call in brackets."""
    data = dict(part.slots if isinstance(part, FrozenIntent) else data_of(part))
    if isinstance(part, FrozenCall) and f"{part.domain}_{part.service}" in SAYING_POSITION:
        data.pop("position", None)
    text = told(data, full=full).text
    return f"{name} ({text})" if text else name


def tool_name(part: FrozenIntent | FrozenTool) -> str:
    """Return the title of a tool or an intent, or its name in words."""
    if isinstance(part, FrozenTool) and part.tool.title and part.tool.title != part.tool.name:
        return plain(part.tool.title)
    name = part.intent_type if isinstance(part, FrozenIntent) else inner_name(part.tool)
    words = _WORD_ENDS.sub(" ", name.rpartition("__")[2].removeprefix("Hass")).replace("_", " ")
    return plain(words)


def receiver(hass: HomeAssistant, part: FrozenCall) -> str:
    """Return the receiver of a message, as it is spoken."""
    service = part.service.removeprefix("mobile_app_").replace("_", " ")
    return names(hass, part.entity_ids) if part.entity_ids else plain(service)


def receivers_of(hass: HomeAssistant, part: FrozenLook) -> str:
    """Return the receiver of a picture, as it is spoken."""
    return ", ".join(receiver(hass, message) for message in part.sends)


def names(hass: HomeAssistant, entity_ids: Sequence[str]) -> str:
    """Return the names of entities as they are spoken."""
    return ", ".join(_name(hass, entity_id) for entity_id in entity_ids)


def _name(hass: HomeAssistant, entity_id: str) -> str:
    """Return the name of an entity, with its room where another one has this name, or with its id."""
    name = _friendly(hass, entity_id)
    alike = [
        one
        for one in hass.states.async_entity_ids(entity_id.partition(".")[0])
        if one != entity_id and fold_letters(_friendly(hass, one)) == fold_letters(name)
    ]
    if not alike:
        return name
    area = _area(hass, entity_id)
    if area and not any(_area(hass, one) == area for one in alike):
        return f"{name} ({plain(area)})"
    return f"{name} ({entity_id})"


def _friendly(hass: HomeAssistant, entity_id: str) -> str:
    """Return only the name of an entity."""
    state = hass.states.get(entity_id)
    return plain(str((state.attributes.get(ATTR_FRIENDLY_NAME) if state else None) or entity_id))


def _area(hass: HomeAssistant, entity_id: str) -> str:
    """Return the name of the room of an entity, or of its device."""
    if (entry := er.async_get(hass).async_get(entity_id)) is None:
        return ""
    area_id = entry.area_id
    if area_id is None and entry.device_id and (device := dr.async_get(hass).async_get(entry.device_id)):
        area_id = device.area_id
    area = ar.async_get(hass).async_get_area(area_id) if area_id else None
    return area.name if area else ""


class ConfirmedActionReporter:
    """Watches the effects of a confirmed action from before it runs, and describes them."""

    def __init__(self, hass: HomeAssistant, frozen: Sequence[Frozen]) -> None:
        """Start to watch."""
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
            entity_id for entity_id, state in seen.items() if not self._expected[entity_id].is_met(state)
        ]
        unseen = [
            entity_id for entity_id in waiting if not self._expected[entity_id].is_passing(seen[entity_id])
        ]
        if waiting:
            key, which = ("did_unseen", unseen) if unseen else ("did_begin", waiting)
            return await async_phrase(self._hass, language, key, targets=names(self._hass, which))
        said = [
            await async_phrase(self._hass, language, "did_plan", time=told_time(part.due or dt_util.utcnow()))
            if isinstance(part, FrozenPlan)
            else await self._async_part(language, part)
            for part in self._parts
        ]
        return " ".join(dict.fromkeys(said))

    async def _async_part(self, language: str, part: _Part) -> str:
        """Return the sentence about one call."""
        if isinstance(part, FrozenLook):
            return await self._async_seen(language, part)
        if not isinstance(part, FrozenCall):
            return await async_phrase(self._hass, language, "did_tool", tool=tool_name(part))
        if part.domain == NOTIFY:
            return await async_phrase(self._hass, language, "did_message", targets=receiver(self._hass, part))
        targets = names(self._hass, part.entity_ids)
        key = f"{part.domain}_{part.service}"
        if key in REPORTED:
            position = str(part.data.get("position", ""))
            return await async_phrase(self._hass, language, f"did_{key}", targets=targets, position=position)
        if part.service in GENERIC:
            return await async_phrase(self._hass, language, f"did_{part.service}", targets=targets)
        action = f"{part.domain}.{part.service}"
        return await async_phrase(self._hass, language, "did_service", targets=targets, action=action)

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
