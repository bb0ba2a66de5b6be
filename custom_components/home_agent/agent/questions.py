"""Texts about pending actions: the question.

Everything that a yes would do is named, in the person's language.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from homeassistant.const import ATTR_TEMPERATURE
from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util

from ..languages import DEFAULT, find, table
from ..regex import lazy_regex
from ..safety.confirmation import Question
from ..safety.frozen import (
    MAX_THINGS,
    Frozen,
    FrozenAutomation,
    FrozenCall,
    FrozenIntent,
    FrozenLook,
    FrozenPlan,
    FrozenTool,
)
from ..timespans import format_span
from ..tools.asked_about import MAX_KINDS, calls_of_intent, data_of, told, told_message
from ..tools.control.scripts import SCRIPT, fields_of, named_values
from ..tools.outside.other_apis import inner_name
from ..tools.resolving.resolver import plain
from ..tools.vetted import is_message
from . import automation_words
from .phrases import async_phrase
from .quick_sentences import COUNTED
from .receivers import kind_of_message, receiver, receivers_of
from .spoken_names import Case, async_joined, async_targets, names

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
        "update_install",
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

CASES = {
    "scene_turn_on": Case.TITLE,
    "script_turn_on": Case.TITLE,
    "service": Case.PREPOSITION,
    "toggle": Case.PREPOSITION,
    "update_install": Case.TITLE,
}
"""How a sentence names its targets, by the end of its key; the others as the object of the verb."""

SET_TEMPERATURE = frozenset({"climate.set_temperature", "water_heater.set_temperature"})
"""Calls with one temperature, which are said with it."""

SAYING_POSITION = frozenset({"cover_set_cover_position"})
"""Questions that say the position."""

_WORD_ENDS = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")


type Part = FrozenCall | FrozenIntent | FrozenTool | FrozenLook | FrozenAutomation


async def async_question(
    hass: HomeAssistant, language: str, frozen: Sequence[Frozen], left_out: bool = False
) -> Question:
    """Return the question about all that waits, as one sentence where that is clear."""
    rest = [await async_phrase(hass, language, "ask_left_out")] if left_out else []
    spoken = await _async_sentences(hass, language, frozen, full=False)
    full = await _async_sentences(hass, language, frozen, full=True)
    details = "\n".join(item.yaml for item in frozen if isinstance(item, FrozenAutomation) and item.yaml)
    return Question(spoken=" ".join([*spoken, *rest]), full=" ".join([*full, *rest]), details=details)


async def _async_sentences(
    hass: HomeAssistant, language: str, frozen: Sequence[Frozen], *, full: bool
) -> list[str]:
    """Return the questions about parts: one for all of now, one for all of later, and special ones.

    What has effects in groups, scripts or scenes has a question of its own, before the sentences about
    these effects. A message to several receivers is one question.
    """
    now: list[str] = []
    later: list[str] = []
    special: list[str] = []
    messages: dict[tuple[str, str], list[str]] = {}
    for part in merged(parts(frozen)):
        if isinstance(part, FrozenCall) and is_message(part.domain, part.service):
            text = told_message(part.data, full=full).text
            messages.setdefault((kind_of_message(part), text), []).append(receiver(hass, part))
            continue
        if isinstance(part, FrozenAutomation):
            deeds = [await _async_deed(hass, language, step, full=full) for step in part.steps]
            special.append(await automation_words.async_question(hass, language, part, deeds))
            continue
        clause = await _async_clause(hass, language, part, full=full)
        if effects := await _async_effects(hass, language, part, full=full):
            special.extend([await _async_asked(hass, language, [clause]), *effects])
        else:
            (later if isinstance(part, FrozenPlan) else now).append(clause)
    for (kind, text), receivers in messages.items():
        targets = ", ".join(dict.fromkeys(receivers))
        special.append(await async_phrase(hass, language, f"ask_{kind}", targets=targets, message=text))
    asked = [await _async_asked(hass, language, clauses) for clauses in (now, later) if clauses]
    return list(dict.fromkeys([*asked, *special]))


async def _async_asked(hass: HomeAssistant, language: str, clauses: Sequence[str]) -> str:
    *before, last = dict.fromkeys(clauses)
    endings = table(find(language) or DEFAULT, "spoken_names.joined_endings") or {}
    linked = [_linked(clause, endings) for clause in before]
    question = await async_joined(hass, language, [*linked, last], "ask_and")
    asked = await async_phrase(hass, language, "ask_frame", question=question)
    start = next((index for index, letter in enumerate(asked) if letter.isalpha()), 0)
    return asked[:start] + asked[start].upper() + asked[start + 1 :]


def _linked(clause: str, endings: Mapping[str, Sequence[str]]) -> str:
    """Return a clause that another one follows, where its verb has another ending for that."""
    for follows, ends in endings.items():
        for end in ends:
            if clause.endswith(end):
                return clause.removesuffix(end) + follows
    return clause


def parts(frozen: Sequence[Frozen]) -> list[Frozen]:
    """Return the pending parts, with an intent as the calls that it makes."""
    return [part for item in frozen for part in _parts_of(item)]


def _parts_of(item: Frozen) -> Sequence[Frozen]:
    match item:
        case FrozenIntent():
            return calls_of_intent(item)
        case _:
            return (item,)


def merged(items: Iterable[Frozen]) -> list[Frozen]:
    """Return parts with the same call to several entities as one; what is special stays as it is."""
    merged: list[Frozen] = []
    for item in items:
        for index, other in enumerate(merged):
            if _is_same(item, other) and isinstance(item, FrozenCall) and isinstance(other, FrozenCall):
                entity_ids = tuple(dict.fromkeys((*other.entity_ids, *item.entity_ids)))
                merged[index] = replace(other, entity_ids=entity_ids)
                break
        else:
            merged.append(item)
    return merged


def _is_same(item: Frozen, other: Frozen) -> bool:
    return (
        isinstance(item, FrozenCall)
        and isinstance(other, FrozenCall)
        and not is_message(item.domain, item.service)
        and not (item.contents or other.contents)
        and bool(item.entity_ids and other.entity_ids)
        and (item.domain, item.service, item.data) == (other.domain, other.service, other.data)
    )


async def _async_clause(hass: HomeAssistant, language: str, part: Frozen, *, full: bool) -> str:
    """Return the question about one part without what begins and ends a question."""
    if not isinstance(part, FrozenPlan):
        return await _async_part(hass, language, part, full=full)
    clause = await _async_calls(hass, language, part.calls, full=full)
    if part.hold:
        time = format_span(part.hold)
        clause = await async_phrase(hass, language, "ask_held", time=time, question=clause)
    if part.due is None:
        return clause
    key = "ask_planned_again" if part.repeats else "ask_planned"
    return await async_phrase(hass, language, key, time=told_time(part.due), question=clause)


async def _async_deed(hass: HomeAssistant, language: str, step: FrozenPlan, *, full: bool) -> str:
    """Return one step of an automation; one without calls waits."""
    if not step.calls:
        return await async_phrase(hass, language, "auto_wait", time=format_span(step.hold))
    clause = await _async_calls(hass, language, step.calls, full=full, by_service_name=True)
    if not step.hold:
        return clause
    return await async_phrase(hass, language, "ask_held", time=format_span(step.hold), question=clause)


async def _async_calls(
    hass: HomeAssistant,
    language: str,
    calls: Sequence[FrozenCall],
    *,
    full: bool,
    by_service_name: bool = False,
) -> str:
    """Return calls as one clause; a message to several receivers is named once, in quotation marks."""
    clauses: list[str] = []
    messages: dict[tuple[str, str], list[str]] = {}
    for call in merged(calls):
        assert isinstance(call, FrozenCall)
        if is_message(call.domain, call.service):
            text = told_message(call.data, full=full).text
            messages.setdefault((kind_of_message(call), text), []).append(receiver(hass, call))
            continue
        is_own = call.service in GENERIC or f"{call.domain}_{call.service}" in ASKED
        tell = _async_named_service if by_service_name and not is_own else _async_part
        clauses.append(await tell(hass, language, call, full=full))
    for (kind, text), receivers in messages.items():
        targets = ", ".join(dict.fromkeys(receivers))
        clauses.append(await _async_filled(hass, language, f"ask_{kind}_it", targets=targets, message=text))
    return await async_joined(hass, language, list(dict.fromkeys(clauses)), "ask_and")


async def _async_named_service(hass: HomeAssistant, language: str, call: FrozenCall, *, full: bool) -> str:
    """Return a call by Home Assistant's own name of its service, which needs no sentence of ours."""
    if f"{call.domain}.{call.service}" in SET_TEMPERATURE and call.data.keys() == {ATTR_TEMPERATURE}:
        unit = hass.config.units.temperature_unit
        named = await _async_several(hass, language, call, Case.OBJECT, full=full)
        value = f"{float(call.data[ATTR_TEMPERATURE]):g} {unit}"
        return await async_phrase(hass, language, "auto_set", targets=named, value=value)
    texts = await async_get_translations(hass, language, "services", {call.domain})
    name = texts.get(f"component.{call.domain}.services.{call.service}.name", f"{call.domain}.{call.service}")
    targets = await _async_several(hass, language, call, Case.TITLE, full=full)
    return f"{name}: {_with_data(targets, call, full)}"


async def _async_effects(hass: HomeAssistant, language: str, part: Frozen, *, full: bool) -> list[str]:
    calls = part.calls if isinstance(part, FrozenPlan) else (part,)
    said = [text for call in calls for text in await _async_contents(hass, language, call, full=full)]
    return list(dict.fromkeys(said))


def told_time(due: datetime) -> str:
    """Return a time to come as it is spoken: with its day, if that is not today."""
    local = dt_util.as_local(due)
    return f"{local:%H:%M}" if local.date() == dt_util.now().date() else f"{local:%Y-%m-%d %H:%M}"


async def _async_part(hass: HomeAssistant, language: str, part: Frozen, *, full: bool) -> str:
    if isinstance(part, FrozenLook):
        key, camera = "ask_look_send" if part.sends else "ask_look", names(hass, (part.entity_id,))
        return await _async_filled(hass, language, key, targets=camera, receivers=receivers_of(hass, part))
    if isinstance(part, FrozenIntent | FrozenTool):
        return await _async_filled(hass, language, "ask_tool", tool=_with_data(tool_name(part), part, full))
    if isinstance(part, FrozenPlan):
        return await _async_clause(hass, language, part, full=full)
    if isinstance(part, FrozenAutomation):
        return await async_phrase(hass, language, "ask_turn_on", targets=part.name)
    key = f"{part.domain}_{part.service}"
    position = str(part.data.get("position", "")) if key in SAYING_POSITION else ""
    action = f"{part.domain}.{part.service}"
    if key not in ASKED:
        key = part.service if part.service in GENERIC else "service"
    targets = await _async_several(hass, language, part, CASES.get(key, Case.OBJECT), full=full)
    return await _async_filled(
        hass,
        language,
        f"ask_{key}",
        targets=_with_data(targets, _with_field_names(hass, part), full),
        position=position,
        action=action,
    )


async def _async_several(
    hass: HomeAssistant, language: str, part: FrozenCall, case: Case, *, full: bool
) -> str:
    """Return the targets of a call; more than a question can name are counted where it is spoken."""
    if full or len(part.entity_ids) <= MAX_THINGS:
        return await async_targets(hass, language, part.entity_ids, case)
    kind = part.domain if part.domain in COUNTED else "device"
    return await async_phrase(hass, language, f"quick_count_{kind}", count=str(len(part.entity_ids)))


async def _async_filled(hass: HomeAssistant, language: str, key: str, **values: str) -> str:
    """Return a sentence of the translations with its values, without what begins and ends a question."""
    sentence = await async_phrase(hass, language, key)
    start, _, end = (await async_phrase(hass, language, "ask_frame")).partition("{question}")
    clause = sentence.removeprefix(start).removesuffix(end)
    # A word of the sentence itself begins a clause in small letters, but a name keeps its own.
    return (clause[:1].lower() + clause[1:]).format(**values)


async def _async_contents(hass: HomeAssistant, language: str, part: Frozen, *, full: bool) -> list[str]:
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
    if not entity_ids:
        return await async_phrase(hass, language, "does_action", action=action)
    service = action.partition(".")[2]
    key = DOES.get(action, service if service in GENERIC else "service")
    targets = await async_targets(hass, language, entity_ids, CASES.get(key, Case.OBJECT))
    return await async_phrase(hass, language, f"does_{key}", action=action, targets=targets)


def _with_field_names(hass: HomeAssistant, part: FrozenCall) -> FrozenCall:
    values = part.data.get("variables")
    if part.domain != SCRIPT or not isinstance(values, Mapping) or len(part.entity_ids) != 1:
        return part
    named = named_values(hass, values, fields_of(hass, part.entity_ids[0]))
    return replace(part, data={**part.data, "variables": named})


def _with_data(name: str, part: FrozenCall | FrozenIntent | FrozenTool, full: bool) -> str:
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
