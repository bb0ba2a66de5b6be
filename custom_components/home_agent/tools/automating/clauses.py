"""Triggers and conditions in Home Assistant's form: names become ids, and words become states.

What is not in one of the forms below is refused with the form that is right. Home Assistant's own schemas
judge the rest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import time
from enum import StrEnum
from typing import Any, Final

from homeassistant.const import STATE_HOME, STATE_UNAVAILABLE, STATE_UNKNOWN, WEEKDAYS
from homeassistant.core import HomeAssistant, State, valid_entity_id
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util

from ...domains import DOMAINS
from ...domains.binary_sensor import BINARY_WORDS
from ...errors import ValidationError
from ...knowledge.names import squash
from ...knowledge.speaker import entity_of_person
from ...knowledge.spoken_words import state_meanings
from ...languages import DEFAULT
from ...texts import as_number, first_name, fold, opened
from ...timespans import EVERY_DAY
from ...when import read_clock, read_days, read_length
from ..base import ToolRun
from ..everyday.notify_tool import self_words
from ..resolving.resolver import Target, plain, resolve, texts

type Config = dict[str, Any]
"""A trigger or a condition as Home Assistant writes it."""

TRIGGER: Final = "trigger"
CONDITION: Final = "condition"
FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    TRIGGER: {
        "state": "{trigger: state, entity_id, to, for}",
        "numeric_state": "{trigger: numeric_state, entity_id, above: 8}",
        "time": "{trigger: time, at: '22:30', weekday: [mon]}",
        "sun": "{trigger: sun, event: sunset, offset}",
        "zone": "{trigger: zone, person: me, zone: home, event: enter}",
    },
    CONDITION: {
        "state": "{condition: state, entity_id or person: nobody, state}",
        "numeric_state": "{condition: numeric_state, entity_id, below: 8}",
        "time": "{condition: time, after: '22:00', before, weekday: [mon]}",
        "sun": "{condition: sun, after: sunset}",
        "zone": "{condition: zone, person: me, zone: home}",
    },
}
"""One example of each form that is read."""
_WHERE: Final = frozenset({"entity_id", "area", "floor", "domain", "device_class"})
_KEYS: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    TRIGGER: {
        "state": _WHERE | {"person", "from", "to", "for"},
        "numeric_state": _WHERE | {"attribute", "above", "below", "for"},
        "time": frozenset({"at", "weekday"}),
        "sun": frozenset({"event", "offset"}),
        "zone": frozenset({"entity_id", "person", "zone", "event"}),
    },
    CONDITION: {
        "state": _WHERE | {"person", "to", "for"},
        "numeric_state": _WHERE | {"attribute", "above", "below"},
        "time": frozenset({"after", "before", "weekday"}),
        "sun": frozenset({"after", "before", "after_offset", "before_offset"}),
        "zone": frozenset({"entity_id", "person", "zone"}),
    },
}
_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("entity", "entities", "entity_ids", "name"), "entity_id"),
    **dict.fromkeys(("area_id", "room"), "area"),
    **dict.fromkeys(("time", "when"), "at"),
    **dict.fromkeys(("days", "weekdays"), "weekday"),
    "floor_id": "floor",
    "state": "to",
    "platform": TRIGGER,
}
"""Keys by what models call them; the state of a condition is read like that of a trigger."""
_IGNORED: Final = frozenset({"id", "alias", "enabled"})
MAX_ITEMS: Final = 10
"""Triggers, conditions or actions of one automation."""
MAX_ENTITIES: Final = 20
MAX_FOR: Final = 7 * 86_400
TEMPLATE_MARKS: Final = ("{{", "{%", "{#")

_SUN: Final = "sun.sun"
SUNSET: Final = "sunset"
SUNRISE: Final = "sunrise"
_BY_HORIZON: Final = {"below_horizon": (SUNSET, SUNRISE), "above_horizon": (SUNRISE, SUNSET)}
"""The states of the sun, with the events that they begin and end with."""
_NOON: Final = time(12)
_HOME: Final = "zone.home"
_GONE: Final = [STATE_UNKNOWN, STATE_UNAVAILABLE]
"""States that tell nothing: what comes back from them has not changed."""
_MEASURED: Final[Mapping[str, str]] = {
    "climate": "current_temperature",
    "water_heater": "current_temperature",
    "humidifier": "current_humidity",
    "weather": "temperature",
    "cover": "current_position",
    "fan": "percentage",
}
"""The attribute that is compared with a number where the state is none."""
NO_PERSONS: Final = (
    "person: Home Assistant has no persons. The household adds them under Settings > People. Nothing was "
    "created; say so"
)


class _Who(StrEnum):
    """Persons who are not named."""

    NOBODY = "nobody"
    SOMEBODY = "somebody"
    EVERYBODY = "everybody"


_ALL: Final[Mapping[str, _Who]] = {
    **dict.fromkeys(("nobody", "noone"), _Who.NOBODY),
    **dict.fromkeys(("somebody", "someone", "anybody", "anyone"), _Who.SOMEBODY),
    **dict.fromkeys(("everybody", "everyone", "all"), _Who.EVERYBODY),
}


class ClauseReader:
    """Reads the triggers and conditions of one call."""

    def __init__(self, run: ToolRun, states: StateWords) -> None:
        self._run = run
        self._hass = run.hass
        self._states = states
        self._language = run.speaker.language

    def triggers(self, value: Any) -> list[Config]:
        """Return triggers. Raises ValidationError."""
        return self._read(value, TRIGGER, self._triggers)

    def conditions(self, value: Any) -> list[Config]:
        """Return conditions, of which all must hold. Raises ValidationError."""
        return self._read(value, CONDITION, self._conditions)

    def _read(self, value: Any, role: str, read: Callable[[str, Config], list[Config]]) -> list[Config]:
        items = _several(opened(value))
        if len(items) > MAX_ITEMS:
            raise ValidationError(f"{role}s: at most {MAX_ITEMS}")
        return [config for item in items for config in read(*_fields(opened(item), role))]

    def _triggers(self, kind: str, fields: Config) -> list[Config]:
        config: Config
        if kind == "time":
            times = [self._clock(at) for at in _several(fields.get("at"))]
            return [{"trigger": "time", "at": at, **self._weekday(fields)} for at in times]
        if kind == "sun":
            config = {"trigger": kind, "event": _sun_event(fields.get("event"))}
            offset = self._offset(fields.get("offset"))
            return [{**config, "offset": offset} if offset else config]
        if (who := self._who(kind, fields)) is not None:
            return [self._moves(who, fields) | self._for(fields)]
        if kind == "numeric_state":
            return [{"trigger": kind, **self._compared(fields)} | self._for(fields)]
        states = self._entities(fields)
        before, after = (self._read_states(states, fields.get(key)) for key in ("from", "to"))
        config = {"trigger": "state", "entity_id": [state.entity_id for state in states]}
        config |= {"from": _one(before)} if before else {"not_from": [*_GONE]}
        config |= {"to": _one(after)} if after else {"not_to": [*_GONE]}
        return [config | self._for(fields)]

    def _conditions(self, kind: str, fields: Config) -> list[Config]:
        if kind in ("time", "sun"):
            after, before = (self._end(fields, side) for side in ("after", "before"))
            days = self._weekday(fields)
            configs = _window(after, before) if after or before else []
            if not configs and "weekday" not in fields:
                raise ValidationError(f"conditions: a time is missing. Give {FORMS[CONDITION][kind]}")
            return [*configs, {"condition": "time", **days}] if days else configs
        if (who := self._who(kind, fields)) is not None:
            return [self._presence(who, fields) | self._for(fields)]
        if kind == "numeric_state":
            return [{"condition": kind, **self._compared(fields)}]
        states = self._entities(fields)
        wanted = self._read_states(states, fields.get("to"))
        if not wanted:
            raise ValidationError(f"conditions: state is missing. Give {FORMS[CONDITION][kind]}")
        ids = [state.entity_id for state in states]
        return [{"condition": "state", "entity_id": ids, "state": _one(wanted)} | self._for(fields)]

    # Entities

    def _read_states(self, states: Sequence[State], value: Any) -> list[str]:
        return [self._states.read(states[0], each) for each in _several(value)]

    def _entities(self, fields: Config) -> list[State]:
        """Return the states of the entities of a clause, all of one domain. Raises ValidationError."""
        named = texts(fields.get("entity_id"))
        ids = [each for each in named if valid_entity_id(each.casefold())]
        names = [each for each in named if each not in ids]
        target = Target.from_args({**fields, "entity_id": ids, "name": names})
        if target.is_empty:
            raise ValidationError("entity_id is missing: say which entity is meant")
        records = resolve(
            self._run.house,
            target,
            speaker=self._run.speaker,
            sentence=self._run.sentence,
            exists=lambda entity_id: self._hass.states.get(entity_id) is not None,
        )
        if len(records) > MAX_ENTITIES or len({record.domain for record in records}) > 1:
            names = [plain(record.name) for record in records[:MAX_ENTITIES]]
            raise ValidationError(f"Which one? Name one of: {', '.join(names)}"[:200])
        states = [self._hass.states.get(record.entity_id) for record in records]
        seen = [state for state in states if state is not None and self._run.reader.sees(state.entity_id)]
        if len(seen) < len(records):
            raise ValidationError(f"{records[0].entity_id} does not exist or is not exposed to the assistant")
        return seen

    def _compared(self, fields: Config) -> Config:
        state, *others = self._entities(fields)
        if others:
            ids = ", ".join(each.entity_id for each in (state, *others))
            raise ValidationError(f"Which one? Name one of: {ids}"[:200])
        attribute = _MEASURED.get(state.domain)
        is_number = as_number(state.state) is not None or state.attributes.get("unit_of_measurement")
        if attribute is None and not is_number:
            raise ValidationError(f"{state.entity_id} has no number. Give {FORMS[TRIGGER]['state']}")
        if (given := fields.get("attribute")) and given != attribute:
            raise ValidationError(f"attribute: {str(given)[:40]!r} is not available for {state.entity_id}")
        limits: Config = {side: _number(fields, side) for side in ("above", "below") if side in fields}
        if not limits:
            raise ValidationError(f"{state.entity_id}: above or below is missing")
        own = {"attribute": attribute} if attribute else {}
        return {"entity_id": [state.entity_id], **own, **limits}

    # Persons, who need not be exposed: their state is not told

    def _who(self, kind: str, fields: Config) -> list[str] | _Who | None:
        """Return the persons that a clause is about; None for one about other entities."""
        names = texts(fields.get("person") or fields.get("entity_id"))
        if kind == "numeric_state" and names == (_HOME,):
            limits = {side: _number(fields, side) for side in ("above", "below") if side in fields}
            if limits not in ({"below": 1}, {"above": 0}):
                raise ValidationError(f"{_HOME}: give below: 1 for nobody, or above: 0 for somebody")
            return _Who.NOBODY if "below" in limits else _Who.SOMEBODY
        are_persons = all(
            each.startswith("person.") or squash(each) in _ALL or squash(each) in self_words()
            for each in names
        )
        if not names or not (are_persons or kind == "zone" or fields.get("person")):
            return None
        if extra := (fields.keys() & _WHERE) - ({"entity_id"} if "person" not in fields else set()):
            raise ValidationError(f"{min(extra)}: is not available beside a person")
        persons = self._persons()
        if not persons:
            raise ValidationError(NO_PERSONS)
        if len(names) == 1 and (who := _ALL.get(squash(names[0]))) is not None:
            return who
        return [self._person(each, persons) for each in names]

    def _person(self, name: str, persons: Sequence[State]) -> str:
        names = ", ".join(plain(state.name) for state in persons)
        if squash(name) in self_words():
            speaker = self._run.speaker
            user_id = speaker.context.user_id
            if own := entity_of_person(self._hass, person_id=speaker.person_id, user_id=user_id):
                return own
            whose = "" if user_id is None else ", and the user has no person"
            problem = f"it is not known which person is speaking{whose}. Give the name of a person: {names}"
            raise ValidationError(f"person: {problem}"[:300])
        wanted = squash(name.removeprefix("person."))
        ids = [
            state.entity_id
            for state in persons
            if wanted in (squash(state.name), squash(state.object_id), squash(first_name(state.name)))
        ]
        if len(ids) != 1:
            raise ValidationError(f"person: {name[:40]!r} is not known. There are: {names}"[:300])
        return ids[0]

    def _persons(self) -> list[State]:
        return sorted(self._hass.states.async_all("person"), key=lambda state: state.entity_id)

    def _place(self, fields: Config) -> tuple[bool, str]:
        """Return whether persons come or are there, rather than leave or are away, and the zone."""
        place, event = fields.get("zone"), str(fields.get("event", "enter"))
        if event not in ("enter", "leave"):
            raise ValidationError(f"event: {event[:40]!r} is not enter or leave")
        comes = event == "enter"
        if place is None and "from" in fields and "to" not in fields:
            place, comes = fields["from"], False
        name = str(_one(texts(place if place is not None else fields.get("to"))) or STATE_HOME)
        word = fold(name.removeprefix("zone.").replace("_", " "))
        meant = state_meanings().get(word, word)
        if meant in ("not home", "away"):
            return not comes, _HOME
        if meant == STATE_HOME:
            return comes, _HOME
        zones = [state for state in self._hass.states.async_all("zone") if state.entity_id != _HOME]
        for state in zones:
            if squash(word) in (squash(state.name), squash(state.object_id)):
                return comes, state.entity_id
        names = ", ".join(["home", *(plain(state.name) for state in zones)])
        raise ValidationError(f"zone: {word[:40]!r} is not known. There are: {names}"[:300])

    def _moves(self, who: list[str] | _Who, fields: Config) -> Config:
        """Return the trigger of persons who come or leave; a restart is neither."""
        comes, zone = self._place(fields)
        # "Everybody leaves" is said as well as "nobody is home" and "the last one leaves".
        if who is _Who.NOBODY or (who is _Who.EVERYBODY and not comes):
            return _counted(TRIGGER, zone, below=1)
        if who is _Who.EVERYBODY:
            raise ValidationError("person: everybody at home starts nothing; use it as a condition")
        ids = [state.entity_id for state in self._persons()] if isinstance(who, _Who) else who
        if zone != _HOME:
            event = "enter" if comes else "leave"
            return {"trigger": "zone", "entity_id": ids, "zone": zone, "event": event}
        if comes:
            return {"trigger": "state", "entity_id": ids, "to": STATE_HOME, "not_from": [*_GONE]}
        return {"trigger": "state", "entity_id": ids, "from": STATE_HOME, "not_to": [*_GONE]}

    def _presence(self, who: list[str] | _Who, fields: Config) -> Config:
        """Return the condition that persons are somewhere, or away."""
        comes, zone = self._place(fields)
        if who is _Who.NOBODY or (who is _Who.EVERYBODY and not comes):
            return _counted(CONDITION, zone, below=1)
        if who is _Who.SOMEBODY:
            if not comes:
                raise ValidationError("person: name who must be away, or use nobody")
            return _counted(CONDITION, zone, above=0)
        ids = [state.entity_id for state in self._persons()] if isinstance(who, _Who) else who
        if zone != _HOME:
            return {"condition": "zone", "entity_id": ids, "zone": zone}
        there = {"condition": "state", "entity_id": ids, "state": STATE_HOME}
        return there if comes else {"condition": "not", "conditions": [there]}

    # Times

    def _clock(self, value: Any) -> str:
        text = str(value).strip()
        clock = read_clock(text.casefold()) or dt_util.parse_time(text)
        if clock is None:
            raise ValidationError(f"{text[:40]!r} is no time of the day. Give '22:30'")
        return clock.strftime("%H:%M:%S")

    def _end(self, fields: Config, side: str) -> Config:
        """Return one side of a window as Home Assistant writes it; empty if it is open."""
        if (value := fields.get(side)) is None:
            return {}
        if "sun" not in str(value).casefold():
            return {side: self._clock(value)}
        offset = self._offset(fields.get(f"{side}_offset"))
        return {side: _sun_event(value), **({f"{side}_offset": offset} if offset else {})}

    def _weekday(self, fields: Config) -> Config:
        """Return the days of a clause; nothing for every day. Raises ValidationError."""
        names = [str(each).casefold() for each in _several(fields.get("weekday"))]
        if all(each in WEEKDAYS for each in names):
            days = [WEEKDAYS.index(each) for each in names]
        else:
            days = list(read_days(", ".join(names), self._language, "weekday", alone=True) or EVERY_DAY)
        is_limited = set(days) not in (set(), set(EVERY_DAY))
        return {"weekday": [WEEKDAYS[day] for day in sorted(set(days))]} if is_limited else {}

    def _for(self, fields: Config) -> Config:
        return {"for": as_duration(read_for(fields["for"], self._language))} if "for" in fields else {}

    def _offset(self, value: Any) -> str:
        """Return a time before or after an event of the sun; empty for none. Raises ValidationError."""
        text = str(value or "").strip()
        sign = "-" if text.startswith(("-", "\u2212")) else ""
        seconds = read_for(text.lstrip("+-\u2212"), self._language, "offset") if text.strip("+-0:") else 0
        return f"{sign}{as_duration(seconds)}" if seconds else ""


def check_plain(text: str, slot: str) -> str:
    """Return a text. Raises ValidationError for a template."""
    if any(mark in text for mark in TEMPLATE_MARKS):
        raise ValidationError(f"{slot}: templates are not available; write plain values")
    return text.strip()


def read_for(value: Any, language: str, slot: str = "for") -> int:
    """Return a length of time in seconds. Raises ValidationError."""
    if isinstance(value, Mapping):
        value = " ".join(f"{number} {unit}" for unit, number in value.items() if number)
    text = str(value).strip()
    length = read_length(f"{text} seconds" if text.isdecimal() else text, language)
    seconds = int(length.total_seconds()) if length is not None else 0
    if not 0 < seconds <= MAX_FOR:
        raise ValidationError(f"{slot}: {text[:40]!r} is no length of time up to a week. Give '00:10:00'")
    return seconds


def as_duration(seconds: int) -> str:
    """Return a length of time as Home Assistant writes it."""
    hours, rest = divmod(seconds, 3600)
    return f"{hours:02}:{rest // 60:02}:{rest % 60:02}"


def _fields(item: Any, role: str) -> tuple[str, Config]:
    """Return the kind of a trigger or condition and its values. Raises ValidationError."""
    forms = ", ".join(FORMS[role].values())
    if not isinstance(item, Mapping):
        raise ValidationError(f"{role}s: {str(item)[:40]!r} is no object. Give {forms}")
    fields: Config = {}
    for key, value in _flat(item):
        name = _NAMES.get(key, key)
        if name in _IGNORED or value is None or value in ("", [], {}):
            continue
        for text in texts(value):
            check_plain(text, f"{role}s")
        fields.setdefault(name, value)
    fields = _by_sun(fields, role)
    kinds = [str(fields.pop(key)) for key in FORMS if key in fields]
    kind = kinds[0] if kinds else _kind(fields)
    if kind not in FORMS[role]:
        raise ValidationError(f"{role}s: {kind[:40]!r} is not available here. Give {forms}")
    if kind == "time" and fields.get("at") in (SUNSET, SUNRISE):
        kind, fields["event"] = "sun", fields.pop("at")
    if unknown := sorted(fields.keys() - _KEYS[role][kind]):
        raise ValidationError(f"{role}s: {unknown[0][:40]!r} is no part of it. Give {FORMS[role][kind]}")
    if not fields:
        raise ValidationError(f"{role}s: something is missing. Give {FORMS[role][kind]}")
    return kind, fields


def _flat(item: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in item.items():
        if key in ("target", "options") and isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield str(key).strip().casefold(), value


def _kind(fields: Config) -> str:
    """Return the kind of a clause that does not say it."""
    if fields.keys() & {"above", "below"}:
        return "numeric_state"
    if fields.keys() & {"at", "after", "before"} or fields.keys() == {"weekday"}:
        return "time"
    if fields.get("event") in (SUNSET, SUNRISE):
        return "sun"
    return "zone" if "zone" in fields else "state"


def _by_sun(fields: Config, role: str) -> Config:
    """Return a clause about the state of the sun as one about its events; any other as it is."""
    if fields.get("entity_id") not in (_SUN, [_SUN]) or fields.get("to") not in _BY_HORIZON:
        return fields
    begins, ends = _BY_HORIZON[fields["to"]]
    events = {"event": begins} if role == TRIGGER else {"after": begins, "before": ends}
    rest = {key: value for key, value in fields.items() if key not in ("entity_id", "to", "from", *FORMS)}
    return {**rest, **events, role: "sun"}


def _window(after: Config, before: Config) -> list[Config]:
    """Return the conditions of a window, either end of it by the clock or by the sun.

    Home Assistant judges a window whose ends are of both kinds as two, each within a day. So what is after
    sunset is before sunrise too, and of a night with one end by the clock the other half day is left out.
    """
    begins, ends = after.get("after", ""), before.get("before", "")
    starts_by_sun, ends_by_sun = begins in (SUNSET, SUNRISE), ends in (SUNSET, SUNRISE)
    if starts_by_sun == ends_by_sun or not (begins and ends):
        if begins == SUNSET and not ends:
            before = {"before": SUNRISE}
        return [{"condition": "sun" if starts_by_sun or ends_by_sun else "time", **after, **before}]
    if begins == SUNSET and time.fromisoformat(ends) < _NOON:
        night = {"condition": "sun", **after, "before": SUNRISE}
        return [night, {"condition": "time", "after": f"{_NOON}", **before}]
    if ends == SUNRISE and time.fromisoformat(begins) >= _NOON:
        night = {"condition": "sun", "after": SUNSET, **before}
        return [{"condition": "time", **after, "before": f"{_NOON}"}, night]
    sides = [(after, starts_by_sun), (before, ends_by_sun)]
    return [{"condition": "sun" if by_sun else "time", **side} for side, by_sun in sides]


def _counted(role: str, zone: str, **limit: int) -> Config:
    if zone != _HOME:
        raise ValidationError("person: name the persons; nobody and somebody are known for home only")
    return {role: "numeric_state", "entity_id": _HOME, **limit}


def _sun_event(value: Any) -> str:
    event = str(value).casefold()
    if event not in (SUNSET, SUNRISE):
        raise ValidationError(f"{event[:40]!r} is no event of the sun. Give sunset or sunrise")
    return event


def _number(fields: Config, side: str) -> float:
    text = str(fields[side]).strip()
    number = None if isinstance(fields[side], bool) else as_number(text.replace(",", "."))
    if number is None:
        raise ValidationError(f"{side}: {text[:40]!r} is no number")
    return int(number) if number.is_integer() else number


def _several(value: Any) -> list[Any]:
    """Return a value, or the values of a list; none for nothing."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _one(values: Sequence[str]) -> Any:
    """Return the only value of a list, or all of them; None if there is none."""
    return (values[0] if len(values) == 1 else list(values)) if values else None


_CATEGORY: Final = "entity_component"
_TRUE: Final = {True: "on", False: "off"}
"""What YAML makes of on and off."""
_MODES: Final[Mapping[str, str]] = {"climate": "hvac_modes", "water_heater": "operation_list"}
"""The attribute with the states of an entity, where not every entity of a domain has all of them."""
_MOMENTS: Final = frozenset({"event", "button", "input_button", "scene"})
"""Domains whose state is the time of what happened last."""
_TIMES: Final = frozenset({"timestamp", "date", "uptime"})
"""Device classes of sensors whose state is a time."""
_MAX_STATE: Final = 60


class StateWords:
    """The states that entities can have, and how people call them."""

    def __init__(self, strings: Sequence[Mapping[str, str]], zones: Sequence[str]) -> None:
        self._strings = strings
        self._zones = zones

    @classmethod
    async def async_load(cls, hass: HomeAssistant, language: str) -> StateWords:
        """Return the names of states in a language and in English, as Home Assistant shows them."""
        languages = dict.fromkeys((language, DEFAULT))
        strings = [await async_get_translations(hass, each, _CATEGORY) for each in languages]
        return cls(strings, [zone.name for zone in hass.states.async_all("zone")])

    def names(self, state: State) -> dict[str, list[str]]:
        """Return the states that an entity can have, each with its names, the shown one first.

        Empty if they are not known.
        """
        found: dict[str, list[str]] = {}
        device_class = str(state.attributes.get("device_class") or "_")
        for strings in self._strings:
            for each in (device_class, "_"):
                start = f"component.{state.domain}.{_CATEGORY}.{each}.state."
                own = {key[len(start) :]: name for key, name in strings.items() if key.startswith(start)}
                for key, name in own.items():
                    found.setdefault(key, []).append(name)
                if own:
                    break
        if state.domain == "binary_sensor":
            for key, word in zip(("on", "off"), BINARY_WORDS.get(device_class, ()), strict=False):
                found.setdefault(key, []).append(word)
        for action in DOMAINS[state.domain].actions.values():
            for key in (*action.expected, *action.passing):
                found.setdefault(key, [])
        if modes := state.attributes.get(_MODES.get(state.domain, "")):
            found = {key: names for key, names in found.items() if key in modes}
        found |= {str(option): [] for option in state.attributes.get("options") or ()}
        if state.domain == "device_tracker":
            found |= {name: [] for name in self._zones}
        return {key: [*names, key] for key, names in found.items()}

    def shown(self, state: State, value: str) -> str:
        """Return the name of a state as a sentence says it."""
        return self.names(state).get(value, [value])[0]

    def read(self, state: State, said: object) -> str:
        """Return the state that a word means. Raises ValidationError naming the states that there are."""
        value = _TRUE[said] if isinstance(said, bool) else str(said).strip()
        names = self.names(state)
        if value in names:
            return value
        word = fold(value.replace("_", " "))
        meant = state_meanings().get(word, word)
        for each in (word, meant):
            for key, own in names.items():
                if each in [fold(name.replace("_", " ")) for name in own]:
                    return key
        if meant in _GONE:
            return meant
        if names and (state.domain != "sensor" or "options" in state.attributes):
            raise ValidationError(
                f"{value[:40]!r} is no state of {state.entity_id}. Allowed: {', '.join(names)}"[:300]
            )
        if state.domain in _MOMENTS or state.attributes.get("device_class") in _TIMES:
            raise ValidationError(
                f"{value[:40]!r} is no state of {state.entity_id}: its state is a time. As a trigger, leave "
                "out to: it starts whenever the time changes"
            )
        unit = str(state.attributes.get("unit_of_measurement") or "")
        if unit or state.attributes.get("state_class"):
            now = f"{state.state} {unit}".strip()
            raise ValidationError(
                f"{value[:40]!r} is no state of {state.entity_id}: it is a number, now {now}. Use "
                "numeric_state with above or below"
            )
        return state.state if word == fold(state.state) else value[:_MAX_STATE]
