"""States of now as a query answers them: short lines, many entities counted by kind."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any, Final

from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_FRIENDLY_NAME, ATTR_UNIT_OF_MEASUREMENT
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.helpers.translation import async_get_translations
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
from ...domains.binary_sensor import BATTERY, BINARY_WORDS, LOW_BATTERY
from ...domains.showing import AT_REST, GONE
from ...errors import ValidationError
from ...knowledge.house import Area, EntityRecord
from ...knowledge.spoken_words import domain_words, known_language, state_meanings
from ...regex import lazy_regex
from ...safety.firewall.own_values import NAMING, is_own_state, outside_of, without_outside
from ...texts import as_number, clean, fold, one_line
from ...timespans import format_age

_OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "battery": ("battery_level",),
    "brightness_pct": ("brightness",),
    "color": ("rgb_color", "color_temp_kelvin"),
    "color_temp": ("color_temp_kelvin",),
    "humidity": ("current_humidity",),
    "position": ("current_position",),
    "speed": ("percentage", "fan_speed"),
    "target_temperature": ("temperature", "target_temp_low", "target_temp_high"),
    "temperature": ("current_temperature",),
    "tilt": ("current_tilt_position",),
    "volume": ("volume_level",),
}
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
_FULL_SCALE: Mapping[str, float] = {"brightness": 255, "volume_level": 1}
_OWN_UNIT_DOMAINS = frozenset({"climate", "water_heater"})
_STATE_NAMES = frozenset({"state", "value", "unit", "unit_of_measurement", "friendly_name", "name"})
_TIMES = frozenset({"last_changed", "last_updated", "last_reported"})


def state_words(record: EntityRecord, state: State) -> Mapping[str, str]:
    """Return the words for the states of an entity where the states do not say it: an "on" door is open."""
    if record.domain != "binary_sensor":
        return {}
    device_class = str(state.attributes.get(ATTR_DEVICE_CLASS) or record.device_class or "")
    return dict(zip(("on", "off"), BINARY_WORDS.get(device_class, ()), strict=False))


def unit_of(hass: HomeAssistant, state: State) -> str | None:
    """Return the unit of the state, or of the temperatures of a thermostat."""
    if unit := state.attributes.get(ATTR_UNIT_OF_MEASUREMENT):
        return one_line(str(unit), 20)
    if state.domain in _OWN_UNIT_DOMAINS:
        return hass.config.units.temperature_unit
    if state.domain == "weather" and (unit := state.attributes.get("temperature_unit")):
        return one_line(str(unit), 20)
    return None


def as_percent(name: str, value: Any) -> int | None:
    """Return an attribute that is kept on a scale of its own in percent, None for the others.

    What is a little above zero stays above zero.
    """
    if (
        name not in _FULL_SCALE
        or isinstance(value, bool)
        or not isinstance(value, int | float)
        or not isfinite(value)
    ):
        return None
    return max(1 if value > 0 else 0, round(value / _FULL_SCALE[name] * 100))


def attribute_names(state: State) -> list[str]:
    """Return the attributes that may be asked for: those that describe the thing, not the integration."""
    return [
        name
        for name in map(str, state.attributes)
        if not any(fnmatchcase(name, pattern) for pattern in _NOISE)
    ]


def chosen_attributes(state: State, asked: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of an entity that fit names or patterns."""
    found: dict[str, Any] = {}
    for name in asked:
        if name in _TIMES:
            found[name] = getattr(state, name)
        elif name in state.attributes:
            found[name] = state.attributes[name]
        elif other := {
            key: state.attributes[key] for key in _OTHER_NAMES.get(name, ()) if key in state.attributes
        }:
            found |= other
        elif any(mark in name for mark in "*?["):
            matching = (key for key in attribute_names(state) if fnmatchcase(key, name))
            found |= {key: state.attributes[key] for key in matching}
    return found


MAX_WORDS: Final = 5
MAX_KNOWN: Final = 8
MAX_WORD: Final = 20
CATEGORY: Final = "entity_component"
_ACTIONS: Final = ("hvac_action", "action")
"""Attributes that tell what a thermostat or a humidifier is doing."""

_SEPARATOR: Final = lazy_regex(r"[,;|/]|\bor\b")
_COMPARISON: Final = lazy_regex(
    r"([<>]=?|=)?\s*(-?\d{1,9}(?:[.,]\d{1,4})?)\s*(?:%|°?[a-zA-Z]{0,4})?\s*([+]?)"
)

_STATE_KEY: Final = lazy_regex(
    r"component\.(?P<domain>\w+)\.entity_component\.(?P<kind>\w+)"
    r"\.(?:state_attributes\.(?:hvac_)?action\.)?state\.(?P<state>[\w-]+)"
)
"""Keys of translations that name a state, or what a thermostat or a humidifier is doing."""

type Test = Callable[[EntityRecord, State], bool]
type StateNames = Mapping[tuple[str, str], Mapping[str, frozenset[str]]]
"""Domain and class: names of states in words, with the states that are called so."""


@dataclass(frozen=True, slots=True)
class StateFilter:
    """Finds the entities in a state; in one of several, if there is more than one test."""

    said: str
    tests: Sequence[Test] = field(default=())

    def matches(self, record: EntityRecord, state: State) -> bool:
        """Return whether an entity is in the state."""
        return any(test(record, state) for test in self.tests)


async def async_read_filter(
    hass: HomeAssistant,
    said: str,
    members: Sequence[tuple[EntityRecord, State]],
    language: str,
    *,
    broad: bool,
) -> StateFilter:
    """Return the filter that a text means for some entities.

    If it is `broad`, nothing tells which kinds are meant, and "on" means devices only.
    Raises ValidationError with the states that there are for a word that is no state of any of them.
    """
    domains = sorted({record.domain for record, _state in members})
    names: dict[tuple[str, str], dict[str, frozenset[str]]] = {}
    for spoken in dict.fromkeys((known_language(language), "en")):
        for key, text in (await async_get_translations(hass, spoken, CATEGORY, domains)).items():
            if named := _STATE_KEY.fullmatch(key):
                table = names.setdefault((named["domain"], named["kind"]), {})
                table[fold(text)] = table.get(fold(text), frozenset()) | {named["state"]}
    tests = []
    parts = [part.strip() for part in _SEPARATOR.split(said.strip().strip("'\""))]
    for word in [part for part in parts if part][:MAX_WORDS]:
        test = _comparison(word) or _of_word(word, members, names, broad=broad)
        if test is None:
            states = dict.fromkeys(
                one_line(state.state, MAX_WORD)
                for _record, state in members
                if as_number(state.state) is None and len(state.state) <= MAX_WORD
            )
            listed = ", ".join(list(states)[:MAX_KNOWN]) or "numbers, give >25"
            raise ValidationError(f"state: {word[:40]!r} is no state of these. They are: {listed}")
        tests.append(test)
    return StateFilter(one_line(said, 40), tests)


def _comparison(word: str) -> Test | None:
    """Return the test for a number: ">25", "<= 20 %", "25+"."""
    found = _COMPARISON.fullmatch(word)
    if found is None:
        return None
    number, sign = float(found[2].replace(",", ".")), (">=" if found[3] else found[1] or "=")

    def test(_record: EntityRecord, state: State) -> bool:
        value = as_number(state.state)
        for name in DOMAINS[state.domain].measures.values() if value is None else ():
            value = as_number(str(state.attributes.get(name)))
            if value is not None:
                break
        return value is not None and (
            (value > number and ">" in sign)
            or (value < number and "<" in sign)
            or (value == number and "=" in sign)
        )

    return test


def _of_word(
    said: str, members: Iterable[tuple[EntityRecord, State]], names: StateNames, *, broad: bool
) -> Test | None:
    """Return the test for a state in words; None if it is none of these entities' states."""
    word = fold(said.replace("_", " "))
    english = state_meanings().get(word, word)
    meant = _MEANINGS.get(english)

    def is_called_so(record: EntityRecord, state: State) -> bool:
        actions = [str(state.attributes[name]) for name in _ACTIONS if state.attributes.get(name)]
        texts = (state.state, describe_state(state, record, aged=False).partition(",")[0], *actions)
        if not {word, english}.isdisjoint(fold(text.replace("_", " ")) for text in texts):
            return True
        known = names.get((record.domain, record.device_class or "_")) or names.get((record.domain, "_"), {})
        return not known.get(word, frozenset()).isdisjoint((state.state, *actions))

    def test(record: EntityRecord, state: State) -> bool:
        if meant is not None and meant(record, state):
            return not broad or meant is not _is_on or _works(record, state)
        if broad and meant is not None:
            return False
        return is_called_so(record, state)

    known = meant is not None or english != word or any(word in table for table in names.values())
    return test if known or any(is_called_so(*member) for member in members) else None


def _works(record: EntityRecord, state: State) -> bool:
    """Return whether people mean an entity by "what is on": a device that is doing something."""
    facts = DOMAINS[record.domain]
    if state.attributes.get("hvac_action") in AT_REST or state.attributes.get("action") in AT_REST:
        return False
    return facts.is_switched_with_everything or facts.is_lively or facts.in_everything


def _is_on(record: EntityRecord, state: State) -> bool:
    facts = DOMAINS[record.domain]
    if facts.active in _OPEN:
        return False
    return state.state == "on" or (
        is_active(state) and ("turn_off" in facts.actions or state.state == facts.active)
    )


def _is_off(record: EntityRecord, state: State) -> bool:
    facts = DOMAINS[record.domain]
    if facts.active in _OPEN or state.state in GONE:
        return False
    return state.state == "off" or ("turn_off" in facts.actions and not is_active(state))


def _is_open(record: EntityRecord, state: State) -> bool:
    if record.domain == "lock":
        return state.state in {"open", "opening"}
    return DOMAINS[record.domain].active == "open" and is_active(state)


def _worded(word: str, fits: Test) -> Test:
    """Return a test that asks binary sensors for the word of their state, and all others as it says."""

    def test(record: EntityRecord, state: State) -> bool:
        if record.domain != "binary_sensor":
            return fits(record, state)
        words = BINARY_WORDS.get(record.device_class or "", ("on", "off"))
        return dict(zip(("on", "off"), words, strict=True)).get(state.state) == word

    return test


def _is_low(record: EntityRecord, state: State) -> bool:
    level = battery_level(state) if record.device_class == BATTERY else None
    return level is not None and level <= LOW_BATTERY


def _acts(action: str, mode: str) -> Test:
    """Return the test whether a thermostat is doing something; its mode tells where it does not say that."""

    def test(_record: EntityRecord, state: State) -> bool:
        doing = state.attributes.get("hvac_action")
        return doing == action if doing else state.state == mode

    return test


_OPEN: Final = frozenset({"open", "unlocked", "home"})
_MEANINGS: Final[Mapping[str, Test]] = {
    "on": _is_on,
    "off": _is_off,
    "open": _worded("open", _is_open),
    "closed": _worded("closed", lambda _record, state: state.state == "closed"),
    "unlocked": _worded("unlocked", lambda record, state: record.domain == "lock" and is_active(state)),
    "locked": _worded("locked", lambda record, state: record.domain == "lock" and state.state == "locked"),
    "low": _is_low,
    "home": _worded("home", lambda _record, state: state.state == "home"),
    "away": _worded(
        "away",
        lambda record, state: (
            record.domain in {"person", "device_tracker"} and state.state not in {"home", *GONE}
        ),
    ),
    "heating": _acts("heating", "heat"),
    "cooling": _acts("cooling", "cool"),
    "unavailable": lambda _record, state: state.state == "unavailable",
    "unknown": lambda _record, state: state.state == "unknown",
}
"""What states in the words of every home mean, whatever an entity calls them."""


MAX_CHARS: Final = 4000
MAX_ENTITIES: Final = 50
COUNT_FROM: Final = 6
"""From this many entities on, they are counted by kind: models do not count well."""
MAX_CHOICES: Final = 20
MAX_GONE: Final = 40
"""Unavailable entities that are named."""
ATTRIBUTES: Final = "attributes"
_PLAIN: Final = (str, int, float)
_OUR_NAMES: Final = NAMING | {"state", "unit"}
"""Names under which no attribute is told: the firewall does not read their values."""
NAME_CHARS: Final = 60
NARROW: Final = "+{} more; narrow by area, kind or name"

type Member = tuple[EntityRecord, State]
type Report = dict[str, JsonValueType]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateQuestion:
    """What is asked about some entities."""

    hass: HomeAssistant
    areas: Mapping[str, Area]
    attributes: Sequence[str] = ()
    """Names or patterns of attributes."""
    state: StateFilter | None = None
    named: frozenset[str] = field(default=frozenset())
    """Entities that were given by their ids, so that groups among them count."""


def present(question: StateQuestion, found: Sequence[Member]) -> Report:
    """Return the states of now: `matching` or `kinds`, `states`, `rest` (at rest, unavailable), `attributes`.

    Text from outside is in `attributes` only, and what is left out is counted in `more`.
    """
    # Groups are no further members, unless a group was asked for.
    kept = {record.entity_id for record, _state in without_groups(found)} | question.named
    members = [member for member in found if member[0].entity_id in kept]
    wanted, gone, resting = _sorted(question, members)
    answer: Report = {}
    if question.state is not None:
        answer["matching"] = f"{len(wanted) or 'none'} of {len(members)}"
    elif len(members) >= COUNT_FROM:
        if counts := kind_counts(members):
            answer["kinds"] = list(counts)
        answer["total"] = len(members)
    if question.attributes:
        answer |= _unknown(question, [state for _record, state in members[:MAX_ENTITIES]])
    rest: Report = {}
    if gone:
        rest["unavailable"] = _ids(gone, MAX_GONE, question.areas)
    room = MAX_CHARS - _size([answer, rest])
    is_alone = len(members) == 1
    in_rooms = is_alone or len({record.area_id for record, _state in members}) > 1
    told = _Told(question, alone=is_alone, room=room, in_rooms=in_rooms)
    listed = sum(told.add(*member) for member in wanted[:MAX_ENTITIES])
    left_out = len(wanted) - listed
    for shown, same in resting.items():
        ids = _ids(same, len(same), question.areas)
        if _size([shown, ids]) > told.room:
            left_out += len(same)
            continue
        told.room -= _size([shown, ids])
        rest[shown] = ids
    answer["states"] = told.states
    if rest:
        answer["rest"] = rest
    if told.attributes:
        answer[ATTRIBUTES] = told.attributes
    if told.is_cut:
        answer["cut"] = True
    if left_out:
        answer["more"] = NARROW.format(left_out)
    return answer


def _unknown(question: StateQuestion, states: Sequence[State]) -> Report:
    """Return which of the attributes that were asked for no entity has, and which there are."""
    unknown: list[JsonValueType] = [
        name
        for name in question.attributes
        if name not in _STATE_NAMES and not any(chosen_attributes(state, (name,)) for state in states)
    ]
    known: list[JsonValueType] = [*attribute_names(states[0])[:30]]
    return {"unknown_attributes": unknown[:10], "known_attributes": known} if unknown else {}


def _sorted(
    question: StateQuestion, members: Sequence[Member]
) -> tuple[Sequence[Member], Sequence[Member], Mapping[str, Sequence[Member]]]:
    """Return the entities to tell one by one, the unavailable ones, and those at rest by their state."""
    wanted: Sequence[Member] = members
    resting: dict[str, list[Member]] = {}
    if question.state is not None:
        wanted = [member for member in members if question.state.matches(*member)]
    elif len(members) >= COUNT_FROM and not question.attributes:
        for record, state in members:
            if not is_active(state) and state.state not in GONE:
                own = without_outside(question.hass, state)
                resting.setdefault(describe_state(own, record, aged=False), []).append((record, state))
        resting = {shown: same for shown, same in resting.items() if len(same) > 1}
    alone = {record.entity_id for same in resting.values() for record, _state in same}
    shown_ids = {record.entity_id for record, _state in wanted}
    gone: list[Member] = []
    if question.state is not None or len(members) >= COUNT_FROM:
        gone = [(record, state) for record, state in members if state.state == "unavailable"]
        if question.state is not None:
            gone = [member for member in gone if member[0].entity_id not in shown_ids]
        else:
            alone |= {record.entity_id for record, _state in gone}
    return [member for member in wanted if member[0].entity_id not in alone], gone, resting


def _ids(members: Iterable[Member], limit: int, areas: Mapping[str, Area]) -> list[JsonValueType]:
    """Return the ids of entities, with the name where the id does not tell it."""
    listed = list(members)
    ids: list[JsonValueType] = []
    for record, _state in listed[:limit]:
        told = _is_named(record, areas.get(record.area_id or ""))
        ids.append(record.entity_id if told else f"{record.entity_id} ({clean(record.name, NAME_CHARS)})")
    return [*ids, f"+{len(listed) - limit} more"] if len(listed) > limit else ids


class _Told:
    """What is told of entities one by one, as long as there is room."""

    def __init__(self, question: StateQuestion, *, alone: bool, room: int, in_rooms: bool) -> None:
        self.states: Report = {}
        self.attributes: Report = {}
        self.room = room
        self.is_cut = False
        self._question, self._alone, self._in_rooms = question, alone, in_rooms

    def add(self, record: EntityRecord, state: State) -> bool:
        """Tell the state of an entity and return whether it fitted."""
        line = self._line(record, state)
        attributes = self._attributes(record, state, line)
        size = _size([record.entity_id, line]) + (_size([record.entity_id, attributes]) if attributes else 0)
        while size > self.room and self._alone and attributes:
            attributes.popitem()
            self.is_cut = True
            size = _size([record.entity_id, line, attributes])
        if size > self.room and self.states:
            self.room = 0
            return False
        self.room -= size
        self.states[record.entity_id] = line
        if attributes:
            self.attributes[record.entity_id] = attributes
        return True

    def _line(self, record: EntityRecord, state: State) -> str:
        area = self._question.areas.get(record.area_id or "")
        hass, moves = self._question.hass, DOMAINS[record.domain].moves
        own = is_own_state(hass, state)
        text = describe_state(without_outside(hass, state), record) if own else f"see {ATTRIBUTES}"
        if not _is_named(record, area):
            text = f"{clean(record.name, NAME_CHARS)}: {text}"
        if area is not None and self._in_rooms and not moves:
            name = area.name.casefold()
            if name not in record.name.casefold() and name.replace(" ", "_") not in record.object_id:
                text = f"{text}, in {clean(area.name, NAME_CHARS)}"
        if self._alone:
            entry, work = er.async_get(hass).async_get(record.entity_id), DOMAINS[record.domain].rooms
            if work is not None and entry is not None:
                ids = work.areas(entry.options.get(record.domain, {}))
                areas = filter(None, map(self._question.areas.get, ids))
                if rooms := ", ".join(sorted(clean(each.name, NAME_CHARS) for each in areas)):
                    text = f"{text}, can be sent to: {rooms}"
            now = dt_util.utcnow()
            lasted = (now - state.last_changed).total_seconds()
            if not DOMAINS[record.domain].says_age or lasted < LASTING_SECONDS:
                text = f"{text}, changed {format_age(state.last_changed, now)}"
        return text

    def _attributes(self, record: EntityRecord, state: State, line: str) -> Report:
        """Return what was asked for, else text from outside and what the line does not tell."""
        asked = self._question.attributes
        hass = self._question.hass
        chosen = chosen_attributes(state, asked)
        if not asked:
            # What people ask about; of several entities only what is from outside.
            names = DOMAINS[state.domain].reported
            if names is None:
                names = tuple(attribute_names(state)[:10]) if self._alone else ()
            outside, own = outside_of(hass, state), state.attributes
            chosen = {
                name: own[name]
                for name in names
                if own.get(name) is not None
                and (name in outside or (self._alone and isinstance(own[name], _PLAIN)))
            }
        found: Report = {}
        for name in DOMAINS[record.domain].choices if self._alone and not asked else ():
            if isinstance(offered := state.attributes.get(name), list | tuple):
                found[name] = [one_line(str(each), NAME_CHARS) for each in offered[:MAX_CHOICES]]
        if not is_own_state(hass, state):
            found["state"] = one_line(state.state)
        for name, value in chosen.items():
            percent = as_percent(name, value)
            shown = plain(value) if percent is None else f"{percent}%"
            if name == ATTR_FRIENDLY_NAME:
                shown = one_line(record.name, 80)
            if name in _OUR_NAMES or shown is None or (not asked and str(shown).rstrip("%") in line):
                continue
            found[name] = shown
        return found


def _is_named(record: EntityRecord, area: Area | None) -> bool:
    kinds = domain_words()
    words = [word for word in record.name.split() if kinds.get(fold(word)) != record.domain]
    return tells_name(replace(record, name=" ".join(words) or record.name), area)


def _size(value: Any) -> int:
    return len(json_dumps(value))
