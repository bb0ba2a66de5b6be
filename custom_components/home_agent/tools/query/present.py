"""States of now as a query answers them: short lines, many entities counted by kind."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any, Final, NamedTuple

from homeassistant.const import ATTR_FRIENDLY_NAME, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.catalogue import tells_name
from ...context.kind_lines import (
    LASTING_SECONDS,
    battery_level,
    describe_state,
    is_active,
    kind_counts,
    plain,
    without_groups,
)
from ...domains import DOMAINS
from ...domains.binary_sensor import BATTERY, LOW_BATTERY
from ...domains.showing import AT_REST, GONE
from ...errors import ValidationError
from ...knowledge.house import Area, EntityRecord
from ...knowledge.spoken_words import domain_words, state_meanings
from ...regex import lazy_regex
from ...safety.firewall.own_values import NAMING, is_own_state, outside_of, without_outside
from ...texts import as_number, clean, fold, one_line
from ...timespans import format_age

type Member = tuple[EntityRecord, State]
type Report = dict[str, JsonValueType]
type StateTest = Callable[[EntityRecord, State], bool]

_NOISE = (
    "assumed_state",
    "attribution",
    "device_class",
    "editable",
    "entity_picture*",
    "friendly_name",
    "icon",
    "id",
    "*_list",
    "*_modes",
    "max_*",
    "min_*",
    "options",
    "restored",
    "state_class",
    "supported_*",
    "*token*",
    "unit_of_measurement",
)
_FULL_SCALE: Mapping[str, float] = {
    "brightness": 255,
    "current_position": 100,
    "percentage": 100,
    "volume_level": 1,
}
COMPARED: Final = (
    "brightness",
    "temperature",
    "current_position",
    "percentage",
    "volume_level",
    "preset_mode",
)
"""Attributes whose old and new values are reported."""


def as_percent(name: str, value: Any) -> int | None:
    """Return an attribute that is a share of a full scale in percent, None for the others.

    What is a little above zero stays above zero.
    """
    if name not in _FULL_SCALE or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not isfinite(value):
        return None
    return max(1 if value > 0 else 0, round(value / _FULL_SCALE[name] * 100))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings that changed, each with its values before and after: "10% -> 30%"."""
    for name in COMPARED:
        values = before.get(name), after.get(name)
        if values[0] != values[1] and None not in values:
            percents = [as_percent(name, value) for value in values]
            pairs = zip(values, percents, strict=True)
            shown = [str(value) if percent is None else f"{percent}%" for value, percent in pairs]
            yield name, " -> ".join(shown)


def chosen_attributes(state: State, asked: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of an entity that fit names or patterns."""
    chosen: dict[str, Any] = {}
    for name in asked:
        names: Iterable[str] = ()
        if name in ("last_changed", "last_updated", "last_reported"):
            chosen[name] = getattr(state, name)
        elif name in state.attributes:
            names = (name,)
        elif any(mark in name for mark in "*?["):
            names = (key for key in _attribute_names(state) if fnmatchcase(key, name))
        chosen |= {key: state.attributes[key] for key in names}
    return chosen


def _attribute_names(state: State) -> list[str]:
    """Return the attributes that may be asked for: those that describe the thing, not the integration."""
    names = map(str, state.attributes)
    return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in _NOISE)]


_ACTIONS: Final = ("hvac_action", "action")
"""Attributes that tell what a thermostat or a humidifier is doing."""

_SEPARATOR: Final = lazy_regex(r"[,;|/]|\bor\b")
_COMPARISON: Final = lazy_regex(
    r"([<>]=?|=)?\s*(-?\d{1,9}(?:[.,]\d{1,4})?)\s*(?:%|°?[a-zA-Z]{0,4})?\s*([+]?)"
)


def read_filter(hass: HomeAssistant, said: str, members: Sequence[Member], *, broad: bool) -> StateTest:
    """Return the test for the state, or one of several, that a text means for some entities.

    If it is `broad`, nothing tells which kinds are meant, and "on" means devices only.
    Raises ValidationError with the states that there are for a word that is no state of any of them.
    """
    tests: list[StateTest] = []
    parts = [part.strip() for part in _SEPARATOR.split(said.strip().strip("'\""))]
    for word in [part for part in parts if part][:5]:
        if number := _COMPARISON.fullmatch(word):
            tests.append(
                _compared(float(number[2].replace(",", ".")), ">=" if number[3] else number[1] or "=")
            )
        elif (test := _called(word, members, broad=broad)) is not None:
            tests.append(test)
        else:
            states = dict.fromkeys(
                state.state
                for _record, state in members
                if as_number(state.state) is None and len(state.state) <= 20 and is_own_state(hass, state)
            )
            listed = ", ".join(list(states)[:8]) or "numbers, give >25"
            raise ValidationError(f"state: {word[:40]!r} is no state of these. They are: {listed}")
    return lambda record, state: any(test(record, state) for test in tests)


def _compared(number: float, sign: str) -> StateTest:
    """Return the test for a number: ">25", "<= 20 %", "25+"."""

    def test(_record: EntityRecord, state: State) -> bool:
        measured = (state.attributes.get(name) for name in DOMAINS[state.domain].measures.values())
        values = map(as_number, (state.state, *map(str, measured)))
        value = next((value for value in values if value is not None), None)
        return value is not None and (
            (value > number and ">" in sign)
            or (value < number and "<" in sign)
            or (value == number and "=" in sign)
        )

    return test


def _called(said: str, members: Iterable[Member], *, broad: bool) -> StateTest | None:
    """Return the test for a state in words; None if it is none of these entities' states."""
    word = fold(said.replace("_", " "))
    english = state_meanings().get(word, word)
    meant = _MEANINGS.get(english)

    def is_called_so(record: EntityRecord, state: State) -> bool:
        actions = (str(state.attributes.get(name)) for name in _ACTIONS)
        texts = (state.state, describe_state(state, record, aged=False).partition(",")[0], *actions)
        return not {word, english}.isdisjoint(fold(text.replace("_", " ")) for text in texts)

    def test(record: EntityRecord, state: State) -> bool:
        # Binary sensors have a word for each of their two states.
        if meant is None or (record.domain == "binary_sensor" and english not in _OF_ALL):
            return is_called_so(record, state)
        if meant(record, state) and broad and meant is _is_on:  # people mean devices that do something
            facts, doing = DOMAINS[record.domain], {state.attributes.get(name) for name in _ACTIONS}
            is_lively = facts.is_switched_with_everything or facts.is_lively or facts.in_everything
            return is_lively and doing.isdisjoint(AT_REST)
        return meant(record, state) or (not broad and is_called_so(record, state))

    is_known = english != word or english in {*state_meanings().values(), *GONE}
    return test if is_known or any(is_called_so(*member) for member in members) else None


def _is_on(record: EntityRecord, state: State) -> bool:
    facts = DOMAINS[record.domain]
    if facts.active in _OPEN:
        return False
    return state.state == "on" or (
        is_active(state) and ("turn_off" in facts.actions or state.state == facts.active)
    )


def _acts(action: str, mode: str) -> StateTest:
    """Return the test whether a thermostat is doing something; its mode tells where it does not say that."""

    def test(_record: EntityRecord, state: State) -> bool:
        doing = state.attributes.get("hvac_action")
        return doing == action if doing else state.state == mode

    return test


_OPEN: Final = frozenset({"open", "unlocked", "home"})
_OF_ALL: Final = frozenset({"on", "off", "low"})
"""States that binary sensors have whatever they are called."""
_MEANINGS: Final[Mapping[str, StateTest]] = {
    "on": _is_on,
    "off": lambda record, state: (
        DOMAINS[record.domain].active not in _OPEN
        and state.state not in GONE
        and (state.state == "off" or ("turn_off" in DOMAINS[record.domain].actions and not is_active(state)))
    ),
    "open": lambda record, state: (
        state.state in {"open", "opening"}
        if record.domain == "lock"
        else DOMAINS[record.domain].active == "open" and is_active(state)
    ),
    "unlocked": lambda record, state: record.domain == "lock" and is_active(state),
    "low": lambda record, state: (
        record.device_class == BATTERY
        and (level := battery_level(state)) is not None
        and level <= LOW_BATTERY
    ),
    "away": lambda record, state: (
        record.domain in {"person", "device_tracker"} and state.state not in {"home", *GONE}
    ),
    "heating": _acts("heating", "heat"),
    "cooling": _acts("cooling", "cool"),
}
"""What states mean where more than the state of this name is meant."""


MAX_CHARS: Final = 4000
MAX_ENTITIES: Final = 50
COUNT_FROM: Final = 6
"""From this many entities on, they are counted by kind: models do not count well."""
ATTRIBUTES: Final = "attributes"
_OUR_NAMES: Final = NAMING | {"state", "unit"}
"""Names under which no attribute is told: the firewall does not read their values."""
NAME_CHARS: Final = 60
NARROW: Final = "+{} more; narrow by area, kind or name"


class StateQuestion(NamedTuple):
    """What is asked about some entities."""

    hass: HomeAssistant
    areas: Mapping[str, Area]
    attributes: Sequence[str] = ()
    """Names or patterns of attributes."""
    state: StateTest | None = None
    named: frozenset[str] = frozenset()
    """Entities that were given by their ids, so that groups among them count."""


def present(question: StateQuestion, found: Sequence[Member]) -> Report:
    """Return the states of now: `matching` or `kinds`, `states`, `rest` (at rest, unavailable), `attributes`.

    Text from outside is in `attributes` only, and what is left out is counted in `more`.
    """
    # Groups are no further members, unless a group was asked for.
    kept = {record.entity_id for record, _state in without_groups(found)} | question.named
    members = [member for member in found if member[0].entity_id in kept]
    is_counted = question.state is None and len(members) >= COUNT_FROM
    answer: Report = {}
    wanted: Sequence[Member] = members
    resting: dict[str, list[Member]] = {}
    """Entities that do nothing, by what they show."""
    if question.state is not None:
        wanted = [member for member in members if question.state(*member)]
        answer["matching"] = f"{len(wanted) or 'none'} of {len(members)}"
        gone = [member for member in members if member[1].state == STATE_UNAVAILABLE]
        resting[STATE_UNAVAILABLE] = [member for member in gone if member not in wanted]
    elif is_counted:
        if counts := kind_counts(members):
            answer["kinds"] = list(counts)
        answer["total"] = len(members)
        for record, state in members if not question.attributes else ():
            if not is_active(state):
                own = without_outside(question.hass, state)
                resting.setdefault(describe_state(own, record, aged=False), []).append((record, state))
    least = {STATE_UNAVAILABLE: 1}
    resting = {shown: same for shown, same in resting.items() if len(same) >= least.get(shown, 2)}
    aside = {record.entity_id for same in resting.values() for record, _state in same}
    wanted = [member for member in wanted if member[0].entity_id not in aside]
    is_alone, room = len(members) == 1, MAX_CHARS - _size(answer)
    in_rooms = is_alone or len({record.area_id for record, _state in members}) > 1
    states: Report = {}
    attributes: Report = {}
    cut: Report = {}
    for record, state in wanted[:MAX_ENTITIES]:
        entity_id = record.entity_id
        line = _line(question, record, state, is_alone=is_alone, in_rooms=in_rooms)
        report = _report(question, record, state, line, is_alone=is_alone)
        while (size := _size([entity_id, line, entity_id, report] if report else [entity_id, line])) > room:
            if not is_alone or not report:
                break
            report.popitem()
            cut["cut"] = True
        if size > room and states:
            room = 0
            break
        room -= size
        states[entity_id] = line
        if report:
            attributes[entity_id] = report
    left_out = len(wanted) - len(states)
    rest: Report = {}
    for shown, same in resting.items():
        ids = _ids(same, question.areas)
        if (size := _size([shown, ids])) > room:
            left_out += len(same)
        else:
            room -= size
            rest[shown] = ids
    more: Report = {"more": NARROW.format(left_out)} if left_out else {}
    beside = {"rest": rest, ATTRIBUTES: attributes}
    return {**answer, "states": states, **{key: each for key, each in beside.items() if each}, **cut, **more}


def _ids(members: Sequence[Member], areas: Mapping[str, Area]) -> list[JsonValueType]:
    """Return the ids of entities, with the name where the id does not tell it."""
    return [
        record.entity_id
        if _is_named(record, areas.get(record.area_id or ""))
        else f"{record.entity_id} ({clean(record.name, NAME_CHARS)})"
        for record, _state in members
    ]


def _line(
    question: StateQuestion, record: EntityRecord, state: State, *, is_alone: bool, in_rooms: bool
) -> str:
    hass, areas, facts = question.hass, question.areas, DOMAINS[record.domain]
    area = areas.get(record.area_id or "")
    own = is_own_state(hass, state)
    text = describe_state(without_outside(hass, state), record) if own else f"see {ATTRIBUTES}"
    if not _is_named(record, area):
        text = f"{clean(record.name, NAME_CHARS)}: {text}"
    if area is not None and in_rooms and not facts.moves:
        name = area.name.casefold()
        if name not in record.name.casefold() and name.replace(" ", "_") not in record.object_id:
            text = f"{text}, in {clean(area.name, NAME_CHARS)}"
    if is_alone:
        entry = er.async_get(hass).async_get(record.entity_id)
        if facts.rooms is not None and entry is not None:
            ids = facts.rooms.areas(entry.options.get(record.domain, {}))
            names = sorted(clean(areas[area_id].name, NAME_CHARS) for area_id in ids if area_id in areas)
            text = f"{text}, can be sent to: {', '.join(names)}" if names else text
        now = dt_util.utcnow()
        if not facts.says_age or (now - state.last_changed).total_seconds() < LASTING_SECONDS:
            text = f"{text}, changed {format_age(state.last_changed, now)}"
    return text


def _report(
    question: StateQuestion, record: EntityRecord, state: State, line: str, *, is_alone: bool
) -> Report:
    """Return the attributes that were asked for, else text from outside and what the line does not tell."""
    asked, hass, facts = question.attributes, question.hass, DOMAINS[record.domain]
    chosen = chosen_attributes(state, asked)
    report: Report = {}
    if not asked:
        # What people ask about; of several entities only what is from outside.
        names = facts.reported
        if names is None:
            names = tuple(_attribute_names(state)[:10]) if is_alone else ()
        outside, own = outside_of(hass, state), state.attributes
        chosen = {
            name: own[name]
            for name in names
            if own.get(name) is not None
            and (name in outside or (is_alone and isinstance(own[name], (str, int, float))))
        }
        for name in facts.choices if is_alone else ():
            if isinstance(offered := own.get(name), list | tuple):
                report[name] = [one_line(str(each), NAME_CHARS) for each in offered[:20]]
    if not is_own_state(hass, state):
        report["state"] = one_line(state.state)
    for name, value in chosen.items():
        percent = as_percent(name, value)
        shown = plain(value) if percent is None else f"{percent}%"
        if name == ATTR_FRIENDLY_NAME:
            shown = one_line(record.name, 80)
        if name in _OUR_NAMES or shown is None or (not asked and str(shown).rstrip("%") in line):
            continue
        report[name] = shown
    return report


def _is_named(record: EntityRecord, area: Area | None) -> bool:
    kinds = domain_words()
    words = [word for word in record.name.split() if kinds.get(fold(word)) != record.domain]
    return tells_name(record._replace(name=" ".join(words) or record.name), area)


def _size(value: Any) -> int:
    return len(json_dumps(value))
