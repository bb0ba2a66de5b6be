"""From what a model writes to triggers and conditions: found by name, checked, as Home Assistant's YAML."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import time
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from math import isfinite
from typing import Any, Final

from homeassistant.const import STATE_HOME, STATE_NOT_HOME, STATE_UNAVAILABLE, STATE_UNKNOWN, WEEKDAYS
from homeassistant.core import HomeAssistant, State, valid_entity_id
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util

from ...automating.clauses import Clause
from ...domains import DOMAINS
from ...domains.binary_sensor import BINARY_WORDS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import name_index, squash, without_article, word_similarity
from ...knowledge.speaker import entity_of_person
from ...languages import DEFAULT, find, languages_with, table, words
from ...languages.times import in_english
from ...literals import opened
from ...memory.sentences import negations
from ...regex import lazy_regex
from ...texts import as_number, first_name, fold
from ...timers.timers import EVERY_DAY
from ..base import ToolRun
from ..control.timing import read_timing
from ..everyday.moments import read_clock, read_days, read_length, readable
from ..query.targets import with_door_sensors
from ..resolving.resolver import NO_VALUE, Target, plain, resolve, texts

SECTION: Final = "automations"
MAX_CHARS: Final = 200
MAX_DAY_WORDS: Final = 5
"""Words of one word for a day: "tous les jours de la semaine"."""
_SIGNS: Final = lazy_regex(r"[-\u2010-\u2015]")


def spoken_in(language: str) -> Iterator[str]:
    """Yield the languages whose words are looked for: the speaker's, English, the others."""
    known = languages_with(SECTION)
    own = find(language)
    yield from dict.fromkeys(one for one in (own, DEFAULT, *known) if one in known)


def split_by(text: str, name: str, language: str) -> tuple[str, str] | None:
    """Return a folded text before and after the first words of a table; None if it has none of them.

    Of several entries the longest counts, and of several languages the speaker's.
    """
    said = f" {fold(text[:MAX_CHARS])} "
    for each in spoken_in(language):
        for entry in _entries(each, name):
            if (at := said.find(f" {entry} ")) >= 0:
                return said[:at].strip(), said[at + len(entry) + 2 :].strip()
    return None


def means(text: str, name: str, language: str) -> bool:
    """Return whether a text is one of the entries of a table."""
    said = fold(text[:MAX_CHARS])
    return any(said in _entries(each, name) for each in spoken_in(language))


def days_in_english(text: str, language: str) -> Iterator[str]:
    """Yield a text about days with short names and other forms in English, of each language that has some."""
    said = [fold(word) for word in _SIGNS.sub(" to ", text[:MAX_CHARS]).replace(",", " , ").split()]
    for each in spoken_in(language):
        known, found, index = _days(each), list[str](), 0
        while index < len(said):
            sizes = range(min(MAX_DAY_WORDS, len(said) - index), 0, -1)
            size = next((size for size in sizes if " ".join(said[index : index + size]) in known), 0)
            found.append(known[" ".join(said[index : index + size])] if size else said[index])
            index += size or 1
        yield " ".join(found)


def is_self(text: str, language: str) -> bool:
    """Return whether a word means the speaker."""
    said = fold(text)
    own = [find(language), DEFAULT]
    tables = (word for each in own if each for word in words(each, "memory.self"))
    return said in SPEAKER or any(said == fold(word) for word in tables)


SPEAKER: Final = frozenset({"me", "i", "user", "speaker", "myself"})
"""What models call the person who speaks."""


@cache
def _entries(language: str, name: str) -> tuple[str, ...]:
    """Return the entries of a table, folded, the longest first."""
    return tuple(sorted(map(fold, words(language, f"{SECTION}.{name}")), key=len, reverse=True))


@cache
def _days(language: str) -> Mapping[str, str]:
    found = table(language, f"{SECTION}.days") or {}
    return {fold(word): english for english, said in found.items() for word in said}


TIME_FORMS: Final = "22:30, sunset or sunset - 30 minutes"
MAX_FOR: Final = 7 * 86_400
MAX_WORDS: Final = 12
LONGEST: Final = 5
"""Words of a length of time."""
_BARE_HOUR: Final = lazy_regex(r"(?:at )?(\d{1,2})(?: ?(?:h|oclock))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DayTime:
    """A time of each day."""

    clock: str = ""
    """As Home Assistant writes it, with seconds; empty if it is by the sun."""
    sun: str = ""
    """The event of the sun."""
    offset: int = 0
    """Seconds after it, negative before it."""
    days: tuple[int, ...] = ()
    """Days of the week from 0 for Monday; none for every day."""

    @property
    def spoken(self) -> str:
        """Return the time as it is spoken."""
        return self.clock.removesuffix(":00") if self.clock.count(":") > 1 else self.clock


def read_time(hass: HomeAssistant, value: Any, language: str, slot: str = "time") -> DayTime:
    """Return a time of each day, perhaps with its days. Raises ValidationError."""
    text = " ".join(str(value).split())
    said = text.split()
    if len(said) <= MAX_WORDS and not _is_length(text, language):
        for head, rest in _splits(said):
            days = _read_days(head, language)
            if days is not None and (found := _time(hass, rest, language)) is not None:
                return DayTime(clock=found.clock, sun=found.sun, offset=found.offset, days=days)
    raise ValidationError(f"{slot}: {text[:40]!r} is no time of the day. Give {TIME_FORMS}")


def read_weekdays(value: Any, language: str) -> tuple[int, ...]:
    """Return days of the week; none for every day. Raises ValidationError."""
    said = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if (parts := split_by(said, "except", language)) is not None:
        all_days = _named(parts[0], language) or EVERY_DAY
        return _of_week(tuple(day for day in all_days if day not in _named(parts[1], language)))
    return _of_week(_named(said, language))


def _named(text: str, language: str) -> tuple[int, ...]:
    """Return the days of a text that contains nothing else; none for every day. Raises ValidationError."""
    for form in days_in_english(text, language):
        with suppress(ValidationError):
            return read_days(form, language, "days", alone=True) or ()
    return read_days(text, language, "days", alone=True) or ()


def read_for(value: Any, language: str) -> int:
    """Return a length of time in seconds. Raises ValidationError."""
    if isinstance(value, Mapping):
        value = " ".join(f"{number} {unit}" for unit, number in value.items() if number)
    text = str(value).strip()
    length = read_length(readable(text, language))
    seconds = int(length.total_seconds()) if length is not None else 0
    if not 0 < seconds <= MAX_FOR:
        raise ValidationError(f"for: {text[:40]!r} is no length of time up to a week. Give 10 minutes")
    return seconds


def take_length(words: list[str], language: str) -> tuple[list[str], int]:
    """Return words without the length of time among them, and its seconds; 0 if there is none."""
    for size in range(min(LONGEST, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            text = " ".join(words[start : start + size])
            if words[start][0].isalnum() and any(map(str.isalpha, text)) and _is_length(text, language):
                return [*words[:start], *words[start + size :]], read_for(text, language)
    return words, 0


def as_duration(seconds: int) -> str:
    """Return a length of time as Home Assistant writes it."""
    hours, rest = divmod(abs(seconds), 3600)
    return f"{'-' if seconds < 0 else ''}{hours:02}:{rest // 60:02}:{rest % 60:02}"


def held_for(clause: Clause, seconds: int) -> Clause:
    """Return a clause that has to be so for some time."""
    return replace(clause, config={**clause.config, "for": as_duration(seconds)}, seconds=seconds)


def _splits(said: list[str]) -> Iterator[tuple[str, str]]:
    """Yield days and time of a text: all of it a time, or days before or behind it."""
    yield "", " ".join(said)
    for index in range(1, len(said)):
        yield " ".join(said[:index]), " ".join(said[index:])
        yield " ".join(said[index:]), " ".join(said[:index])


def _read_days(text: str, language: str) -> tuple[int, ...] | None:
    """Return days, none for every day; None for anything that is no days."""
    if not text:
        return ()
    try:
        days = read_days(text, language)
    except ValidationError:
        return None
    return None if days is None else _of_week(days)


def _of_week(days: tuple[int, ...]) -> tuple[int, ...]:
    return () if set(days) == set(EVERY_DAY) else days


def _time(hass: HomeAssistant, text: str, language: str) -> DayTime | None:
    """Return a time of each day; None for anything else."""
    for form in (text.casefold(), *in_english(text, language)):
        if bare := _BARE_HOUR.fullmatch(form):
            text = f"{bare[1]}:00"
            break
    if (clock := read_clock(text.casefold())) is not None or (clock := _iso_clock(text)) is not None:
        return DayTime(clock=clock.strftime("%H:%M:%S"))
    try:
        timing = read_timing(hass, {"when": text}, language)
    except ValidationError:
        return None
    if timing is None or timing.schedule is None:
        return None
    if timing.schedule.sun:
        return DayTime(sun=timing.schedule.sun, offset=timing.schedule.offset)
    return DayTime(clock=dt_util.as_local(timing.schedule.due).strftime("%H:%M:%S"))


def _iso_clock(text: str) -> time | None:
    """Return a time with seconds."""
    return dt_util.parse_time(text)


def _is_length(text: str, language: str) -> bool:
    return read_length(readable(text, language)) is not None and not text.count(":")


MAX_ITEMS: Final = 10
"""Triggers, conditions or actions of one automation."""
TEMPLATE_MARKS: Final = ("{{", "{%", "{#")
KIND: Final = "kind"
SENTENCE: Final = "sentence"
"""The slot of a clause that was written as text."""
SLOTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("entity", "entity_id", "entity_ids", "entities", "device", "sensor", "name"), "entity"),
    **dict.fromkeys(("area", "area_id", "room"), "area"),
    **dict.fromkeys(("floor", "floor_id"), "floor"),
    "domain": "domain",
    "device_class": "device_class",
    **dict.fromkeys(("to", "state", "is", "becomes", "value", "equals", "to_state", "changes_to"), "to"),
    **dict.fromkeys(("from", "from_state", "was"), "from"),
    **dict.fromkeys(("above", "over", "more_than", "greater_than", "gt", "higher_than", "min"), "above"),
    **dict.fromkeys(("below", "under", "less_than", "lower_than", "lt", "max"), "below"),
    **dict.fromkeys(("for", "duration", "hold", "for_duration"), "for"),
    **dict.fromkeys(("time", "at", "when", "clock"), "time"),
    **dict.fromkeys(("after", "start", "since"), "after"),
    **dict.fromkeys(("before", "end", "until"), "before"),
    **dict.fromkeys(("days", "day", "weekday", "weekdays", "repeat", "on_days"), "days"),
    **dict.fromkeys(("person", "who", "user", "people", "persons"), "person"),
    **dict.fromkeys(("event", "moves", "change"), "event"),
    **dict.fromkeys(("zone", "place", "location"), "zone"),
    "sun": "sun",
    "offset": "offset",
    **dict.fromkeys(("trigger", "platform", "condition", "type", "kind"), KIND),
    SENTENCE: SENTENCE,
}
"""Slots of a clause by what models call them."""
IGNORED: Final = frozenset({"id", "alias", "enabled", "description", "options", "behavior", "not_from"})
PLAIN_KINDS: Final = frozenset({"state", "numeric_state", "time", "sun", "zone", "person", "presence"})
"""Kinds that the slots tell by themselves."""
OTHER_KINDS: Final = frozenset(
    {
        *(
            "template",
            "event",
            "webhook",
            "mqtt",
            "tag",
            "device",
            "conversation",
            "calendar",
            "time_pattern",
        ),
        *("geo_location", "homeassistant", "persistent_notification", "trigger", "or", "and", "not"),
    }
)
FORMS: Final = (
    "{entity, to, for}, {entity, above or below, for}, {time: 22:30 or sunset - 30 minutes, days}, "
    "{person: me, to: home or away}, {person: nobody, to: home}"
)
CONDITION_FORMS: Final = f"{FORMS}, {{after: 22:00, before: 6:00, days}}"

type Item = dict[str, Any]


def read_items(value: Any, slot: str, forms: str = FORMS) -> list[Item]:
    """Return triggers or conditions by their slots. Raises ValidationError for anything else."""
    found = [_in_slots(item, slot, forms) for item in _each(value)]
    if len(found) > MAX_ITEMS:
        raise ValidationError(f"{slot}: at most {MAX_ITEMS}")
    return found


def _each(value: Any) -> Iterator[Any]:
    """Yield the items of a value: one, a list, or JSON text."""
    value = opened(value)
    if value is None or (isinstance(value, str) and value.strip().casefold() in NO_VALUE):
        return
    if isinstance(value, list | tuple):
        for item in value:
            yield from _each(item)
    else:
        yield value


def _in_slots(item: Any, slot: str, forms: str) -> Item:
    if isinstance(item, str):
        return {SENTENCE: check_plain(item, slot)}
    if not isinstance(item, Mapping):
        raise ValidationError(f"{slot}: {str(item)[:40]!r} is not understood. Give {forms}")
    found: Item = {}
    for key, value in _flat(item):
        name = SLOTS.get(str(key).strip().casefold().replace(" ", "_"))
        if name is None and key not in IGNORED:
            raise ValidationError(f"{slot}: {str(key)[:40]!r} is no part of it. Give {forms}")
        if name is None or _is_nothing(value):
            continue
        if isinstance(value, str):
            check_plain(value, slot)
        found.setdefault(name, value)
    if kind := str(found.pop(KIND, "")).strip():
        _read_kind(found, kind, slot, forms)
    if not found:
        raise ValidationError(f"{slot}: something is missing. Give {forms}")
    return found


def _flat(item: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of an item, and those of an object that holds the target or the options."""
    for key, value in item.items():
        is_holder = str(key) in ("options", "target", "trigger", "condition", "data")
        if is_holder and isinstance(value, Mapping):
            yield from _flat(value)
        elif key == "target":
            yield "entity", value
        else:
            yield key, value


def _read_kind(found: Item, kind: str, slot: str, forms: str) -> None:
    """Put what a kind says where it belongs: it may be the entity, an event of the sun, or a sentence."""
    word = kind.casefold()
    if word in PLAIN_KINDS:
        return
    if word in OTHER_KINDS:
        raise ValidationError(f"{slot}: {kind[:40]!r} is not available here. Give {forms}")
    if valid_entity_id(word):
        found.setdefault("entity", word)
    elif word in ("sunset", "sunrise"):
        found.setdefault("sun", word)
    elif "entity" in found or "person" in found:
        found.setdefault("event", kind)
    else:
        found.setdefault(SENTENCE, check_plain(kind, slot))


def check_plain(text: str, slot: str) -> str:
    """Return a text. Raises ValidationError for a template."""
    if any(mark in text for mark in TEMPLATE_MARKS):
        raise ValidationError(f"{slot}: templates are not available; write plain values")
    return text.strip()


def _is_nothing(value: Any) -> bool:
    """Return whether a value says nothing; "any" and "unknown" may be people and states."""
    if isinstance(value, str):
        return value.strip().casefold() in ("", "null", "none")
    return value is None or (isinstance(value, list | dict) and not value)


SUNSET: Final = "sunset"
SUNRISE: Final = "sunrise"
SUN: Final = "sun.sun"
DARK: Final = frozenset({"below horizon", "below", "down", "set", "night", "dark", "night time", "nighttime"})
"""What models call the time between sunset and sunrise."""
LIGHT: Final = frozenset({"above horizon", "above", "up", "risen", "day", "light", "daytime", "daylight"})
NIGHT: Final[Mapping[str, str]] = {"after": SUNSET, "before": SUNRISE}
DAY: Final[Mapping[str, str]] = {"after": SUNRISE, "before": SUNSET}
NOON: Final = "12:00:00"
MIDNIGHT: Final = "00:00"


def lit(text: str, language: str) -> Mapping[str, str] | None:
    """Return the window that words for darkness or daylight mean; None for any other text."""
    said = fold(text.replace("_", " "))
    if said in DARK or means(text, "dark", language):
        return NIGHT
    return DAY if said in LIGHT or means(text, "daylight", language) else None


def by_sun(item: Item, language: str) -> Item:
    """Return a condition by the sun as a window: "after sunset", "below_horizon"."""
    rest = {key: value for key, value in item.items() if key not in ("sun", "entity", "to")}
    text = str(item.get("sun", item.get("to", "")))
    if (window := lit(text, language)) is not None:
        return {**rest, **window}
    said = text.casefold().replace("_", " ").split()
    event = next((word for word in said if word in (SUNSET, SUNRISE)), None)
    way = next((word for word in said if word in ("after", "before")), None)
    if event is None:
        raise ValidationError(
            f"if: sun: {text[:40]!r} is not understood. Give after sunset, before sunrise, dark or daylight"
        )
    return {**rest, way or "after": event}


def at_time(moment: DayTime) -> Clause:
    """Return the trigger of a time of the day."""
    if not moment.sun:
        config: dict[str, Any] = {"trigger": "time", "at": moment.clock}
        return Clause(key="at", config=config, values={"time": moment.spoken}, is_moment=True)
    config = {"trigger": "sun", "event": moment.sun}
    if not moment.offset:
        return Clause(key=moment.sun, config=config, is_moment=True)
    side = "before" if moment.offset < 0 else "after"
    return Clause(
        key=f"{side}_{moment.sun}",
        config={**config, "offset": as_duration(moment.offset)},
        values={"offset": str(abs(moment.offset))},
        is_moment=True,
    )


def on_days(days: tuple[int, ...]) -> Clause:
    """Return the condition of days of the week."""
    config = {"condition": "time", "weekday": [WEEKDAYS[day] for day in days]}
    return Clause(key="days", config=config, days=days, is_moment=True)


def within(ends: Mapping[str, DayTime]) -> list[Clause]:
    """Return the conditions of a window from `after` to `before`, either of them by the clock or by the sun.

    Home Assistant lets a window without an end last until midnight, and judges a window whose ends are of
    both kinds as two. So what is after sunset is before sunrise too, and what begins in the evening and
    ends in the morning is a night whose one end is by the clock.
    """
    after, before = ends.get("after"), ends.get("before")
    if after is None or before is None:
        (side,) = ends
        if side == "after" and ends[side].sun == SUNSET:
            return _by_sun({**ends, "before": DayTime(sun=SUNRISE)})
        if side == "after" and not ends[side].sun:
            return [_by_clock(side, ends[side].clock, ends[side].spoken, MIDNIGHT)]
        return _one(side, ends[side])
    if after.sun and before.sun:
        return _by_sun({"after": after, "before": before})
    if not (after.sun or before.sun):
        clocks = {"after": after.clock, "before": before.clock}
        values = {"start": after.spoken, "end": before.spoken}
        config = {"condition": "time", **clocks}
        return [Clause(key="between_times", config=config, values=values, is_moment=True)]
    return _night(after, before) or [*_one("after", after), *_one("before", before)]


def _one(side: str, end: DayTime) -> list[Clause]:
    return _by_sun({side: end}) if end.sun else [_by_clock(side, end.clock, end.spoken)]


def _by_clock(side: str, clock: str, spoken: str, until: str = "") -> Clause:
    values = {"start": spoken, "end": until} if until else {"time": spoken}
    config = {"condition": "time", side: clock}
    return Clause(key="between_times" if until else side, config=config, values=values, is_moment=True)


def _night(after: DayTime, before: DayTime) -> list[Clause]:
    """Return the conditions of a window across midnight with one end by the sun; none for any other."""
    if after.sun == SUNSET and _is_morning(before.clock):
        clock = {"after": NOON, "before": before.clock}
        said = Clause(
            key="before",
            config={"condition": "time", **clock},
            values={"time": before.spoken},
            is_moment=True,
        )
        return [*_by_sun({"after": after, "before": DayTime(sun=SUNRISE)}), said]
    if before.sun == SUNRISE and not _is_morning(after.clock):
        clock = {"after": after.clock, "before": NOON}
        said = Clause(
            key="after", config={"condition": "time", **clock}, values={"time": after.spoken}, is_moment=True
        )
        return [said, *_by_sun({"after": DayTime(sun=SUNSET), "before": before})]
    return []


def _by_sun(ends: Mapping[str, DayTime]) -> list[Clause]:
    """Return the condition of a window by the sun; a side that is some time beside it is said by itself."""
    config = {"condition": "sun", **{side: end.sun for side, end in ends.items()}}
    config |= {f"{side}_offset": as_duration(end.offset) for side, end in ends.items() if end.offset}
    if not any(end.offset for end in ends.values()):
        key = "_".join(f"{side}_{end.sun}" for side, end in ends.items())
        return [Clause(key=f"is_{key}", config=config, is_moment=True)]
    return [
        replace(at_time(end), config=config, side="from" if side == "after" else "until")
        for side, end in ends.items()
    ]


def _is_morning(clock: str) -> bool:
    return time.fromisoformat(clock) < time.fromisoformat(NOON)


CATEGORY: Final = "entity_component"
SAME: Final = 0.86
ON_OFF: Final = frozenset({"on", "off"})
MAX_STATE: Final = 60
TRUE: Final = {True: "on", False: "off"}
"""What YAML makes of on and off."""
MODES: Final[Mapping[str, str]] = {"climate": "hvac_modes", "water_heater": "operation_list"}
"""The attribute with the states of an entity, where not every entity of a domain has all of them."""
MOMENTS: Final = frozenset({"event", "button", "input_button", "scene"})
"""Domains whose state is the time of what happened last."""
TIMES: Final = frozenset({"timestamp", "date", "uptime"})
"""Device classes of sensors whose state is a time."""
GONE_STATES: Final = "unavailable"


class StateWords:
    """The names of states in the speaker's language and in English."""

    def __init__(self, names: Mapping[str, str], language: str, zones: Sequence[str] = ()) -> None:
        self._names = names
        self._language = language
        self._zones = zones

    @classmethod
    async def async_load(cls, hass: HomeAssistant, language: str) -> StateWords:
        """Return the names of states that Home Assistant shows."""
        names: dict[str, str] = {}
        for each in dict.fromkeys((DEFAULT, language)):
            for key, name in (await async_get_translations(hass, each, CATEGORY)).items():
                names[f"{each}.{key}"] = name
        return cls(names, language, [zone.name for zone in hass.states.async_all("zone")])

    def allowed(self, state: State) -> dict[str, list[str]]:
        """Return the states that an entity can have, each with its names; empty if they are not known."""
        found: dict[str, list[str]] = {}
        if isinstance(options := state.attributes.get("options"), list | tuple):
            found |= {str(option): [str(option)] for option in options}
        classes = [str(state.attributes.get("device_class") or "_"), "_"]
        for each in (DEFAULT, self._language):
            for device_class in classes:
                start = f"{each}.component.{state.domain}.{CATEGORY}.{device_class}.state."
                own = {key[len(start) :]: name for key, name in self._names.items() if key.startswith(start)}
                if own:
                    for key, name in own.items():
                        found.setdefault(key, [key]).append(name)
                    break
        if state.domain == "binary_sensor":
            pair = BINARY_WORDS.get(classes[0], ())
            for key, word in zip(("on", "off"), pair, strict=False):
                found.setdefault(key, [key]).append(word)
        for action in DOMAINS[state.domain].actions.values():
            for key in (*action.expected, *action.passing):
                found.setdefault(key, [key])
        modes = state.attributes.get(MODES.get(state.domain, ""))
        if isinstance(modes, list | tuple) and modes:
            found = {key: said for key, said in found.items() if key in modes}
        if state.domain == "device_tracker":
            found |= {name: [name] for name in self._zones}
        return found

    def shown(self, state: State, value: str) -> str:
        """Return the name of a state as a sentence says it."""
        names = self.allowed(state).get(value, [value])
        device_class = str(state.attributes.get("device_class") or "_")
        for each in (device_class, "_"):
            key = f"{self._language}.component.{state.domain}.{CATEGORY}.{each}.state.{value}"
            if key in self._names:
                return self._names[key]
        return names[1] if len(names) > 1 else value

    def read(self, state: State, said: object) -> str:
        """Return the state that a word means. Raises ValidationError naming the states that there are."""
        value = TRUE[said] if isinstance(said, bool) else str(said).strip()
        allowed = self.allowed(state)
        if value in allowed or not value:
            return value
        word = fold(value.replace("_", " "))
        for key, names in allowed.items():
            if any(word == fold(name.replace("_", " ")) for name in names):
                return key
        if (meant := self._meant(word, allowed)) is not None:
            return meant
        verb, _, last = word.partition(" ")
        if last in ON_OFF and last in allowed and verb not in negations():  # "turns on"
            return last
        if word == GONE_STATES or self._meant(word, {GONE_STATES: [GONE_STATES]}) is not None:
            return GONE_STATES
        if not allowed or (state.domain == "sensor" and "options" not in state.attributes):
            _check_text(state, value)
            return state.state if word == fold(state.state) else value[:MAX_STATE]
        near = get_close_matches(word, [name for names in allowed.values() for name in names], 3, 0.5)
        raise ValidationError(
            f"to: {value[:40]!r} is no state of {state.entity_id}. "
            f"Allowed: {', '.join(dict.fromkeys((*near, *allowed)))}"[:300]
        )

    def _meant(self, word: str, allowed: Mapping[str, list[str]]) -> str | None:
        own = find(self._language)
        for each in dict.fromkeys((own, DEFAULT, *languages_with("names"))):
            if each is None or (canonical := _states(each).get(word)) is None:
                continue
            for key, names in allowed.items():
                if any(fold(canonical) == fold(name) for name in (key, *names)):
                    return key
        said = {**_states(DEFAULT), **(_states(own) if own else {})}
        near = {
            key
            for key, names in allowed.items()
            for known in (*names, *(each for each, state in said.items() if state in (key, *names)))
            if word_similarity(word, fold(known)) >= SAME
        }
        return near.pop() if len(near) == 1 else None


def _check_text(state: State, value: str) -> None:
    """Raise ValidationError for a state that an entity cannot have: a word for a number or for a time."""
    kinds = state.attributes
    if state.domain in MOMENTS or kinds.get("device_class") in TIMES:
        raise ValidationError(
            f"to: {value[:40]!r} is no state of {state.entity_id}: its state is a time. As a trigger, leave "
            "out to: it starts whenever the time changes"
        )
    unit = str(kinds.get("unit_of_measurement") or "")
    if unit or kinds.get("state_class"):
        now = f"{state.state} {unit}".strip()
        raise ValidationError(
            f"to: {value[:40]!r} is no state of {state.entity_id}: it is a number, now {now}. "
            "Give above or below"
        )


@cache
def _states(language: str) -> Mapping[str, str]:
    found = {
        fold(word): state
        for state, said in (table(language, "topics") or {}).items()
        if state in ("on", "off", "open", "closed", "locked", "playing") and isinstance(said, list)
        for word in said
        if "*" not in word
    }
    named = table(language, "names.states") or {}
    return found | {fold(word): state for state, said in named.items() for word in said}


PEOPLE: Final = "person"
ZONE: Final = "zone"
HOME: Final = "zone.home"
GONE_PEOPLE: Final = [STATE_UNKNOWN, STATE_UNAVAILABLE]
ENTERING: Final = frozenset({"enter", "enters", "arrive", "arrives", "home"})
LEAVING: Final = frozenset({"leave", "leaves", "not_home", "away"})

NO_PERSONS: Final = (
    "person: Home Assistant has no persons. The household adds them under Settings > People. Nothing was "
    "created; say so"
)


class Who(StrEnum):
    """Persons who are not named."""

    NOBODY = "nobody"
    SOMEBODY = "somebody"
    EVERYBODY = "everybody"


class Comings:
    """Reads clauses about persons of the household, who need not be exposed: their state is not told."""

    def __init__(self, run: ToolRun) -> None:
        self._run = run
        self._language = run.speaker.language

    def trigger(self, item: Item) -> Clause | None:
        """Return the trigger of an item about persons; None for any other. Raises ValidationError."""
        if (read := self._read(item)) is None:
            return None
        who, comes, zone = read
        if isinstance(who, Who):
            clause = self._of_all(who, comes=comes, role="trigger")
        else:
            clause = self._of_persons(who, zone, comes=comes)
        return self._held(clause, item)

    def condition(self, item: Item) -> Clause | None:
        """Return the condition of an item about persons; None for any other. Raises ValidationError."""
        if (read := self._read(item)) is None:
            return None
        who, comes, zone = read
        if who is Who.EVERYBODY and comes:
            who = [state.entity_id for state in self._persons()]
        if isinstance(who, Who):
            return self._of_all(who, comes=comes, role="condition")
        if zone is not None:
            config: dict[str, Any] = {"condition": "zone", "entity_id": who, "zone": zone.entity_id}
            return Clause(
                key="is_at", config=config, entity_ids=tuple(who), values={"zone": plain(zone.name)}
            )
        state = {"condition": "state", "entity_id": who, "state": STATE_HOME}
        if comes:
            return self._held(Clause(key="is_home", config=state, entity_ids=tuple(who)), item)
        away = {"condition": "not", "conditions": [state]}
        return Clause(key="is_away", config=away, entity_ids=tuple(who))

    def in_words(self, text: str) -> Item | None:
        """Return the slots of a text about persons; None for any other text."""
        words, seconds = take_length(text.split(), self._language)
        said = " ".join(words)
        held = {"for": {"seconds": seconds}} if seconds else {}
        for way, event in (("arrives", "enter"), ("leaves", "leave")):
            if (parts := split_by(said, way, self._language)) is not None and self._is_person(parts[0]):
                return {"person": parts[0], "event": event, **held}
        for who in Who:
            if (parts := split_by(said, who, self._language)) is not None:
                is_there = self._is_home(parts[1]) or self._is_home(parts[0])
                event = "enter" if is_there else "leave"
                return {"person": who.value, "event": event, **held}
        words = fold(said).split()
        for size in range(1, len(words)):
            head, tail = " ".join(words[:size]), " ".join(words[size:])
            if self._is_person(head) and (self._is_home(tail) or self._is_away(tail)):
                return {"person": head, "event": "leave" if self._is_away(tail) else "enter", **held}
        return None

    def _read(self, item: Item) -> tuple[list[str] | Who, bool, State | None] | None:
        """Return who an item is about, whether they come or are there, and the zone if it is not home."""
        said = item.get("person")
        if said is None and _names_people(item.get("entity")):
            said = item["entity"]
        if said is None and str(item.get("entity", "")).casefold() == HOME:
            return self._count(item)
        if said is None:
            return None
        event, zone = item.get("event"), item.get("zone")
        for slot, comes in (("to", True), ("from", False)):
            if event is None and slot in item:
                event = item[slot]
                if not comes and self._is_home(str(event)):
                    return self._who(said), False, None
        found = None if zone is None or self._is_home(str(zone)) else self._zone(str(zone))
        word = " ".join(str(event or "enter").replace("_", " ").split())
        if found is None and not self._is_known(word):
            found, word = self._zone(word), "enter"
        return self._who(said), not self._is_leaving(word), found

    def _count(self, item: Item) -> tuple[Who, bool, None] | None:
        if (below := item.get("below")) is not None and str(below) in ("1", "0.5"):
            return Who.NOBODY, True, None
        if str(item.get("to", "")) == "0":
            return Who.NOBODY, True, None
        if str(item.get("above", "")) in ("0", "0.5"):
            return Who.SOMEBODY, True, None
        return None

    def _who(self, said: Any) -> list[str] | Who:
        """Return the persons that are meant. Raises ValidationError naming those that there are."""
        listed = said if isinstance(said, list | tuple) else [said]
        if len(listed) == 1:
            word = str(listed[0]).replace("_", " ")
            for who in Who:
                if fold(word) == who or means(word, who, self._language):
                    return who
        return [self._person(str(each)) for each in listed]

    def _person(self, said: str) -> str:
        if is_self(said, self._language):
            speaker = self._run.speaker
            own = entity_of_person(
                self._run.hass, person_id=speaker.person_id, user_id=speaker.context.user_id
            )
            if own is not None:
                return own
            if not self._persons():
                raise ValidationError(NO_PERSONS)
            whose = "" if speaker.context.user_id is None else ", and the user has no person"
            raise ValidationError(
                f"person: it is not known which person is speaking{whose}. "
                f"Give the name of a person: {self._listed()}"[:300]
            )
        wanted = squash(said.removeprefix("person."))
        found = [
            state.entity_id
            for state in self._persons()
            if wanted in (squash(state.name), squash(state.object_id), squash(first_name(state.name)))
        ]
        if not self._persons():
            raise ValidationError(NO_PERSONS)
        if len(found) != 1:
            raise ValidationError(f"person: {said[:40]!r} is not known. There are: {self._listed()}"[:300])
        return found[0]

    def _is_person(self, text: str) -> bool:
        if is_self(text, self._language):
            return True
        try:
            self._who(text)
        except ValidationError:
            return False
        return bool(text.strip())

    def _persons(self) -> list[State]:
        return sorted(self._run.hass.states.async_all(PEOPLE), key=lambda state: state.entity_id)

    def _listed(self) -> str:
        return ", ".join(plain(state.name) for state in self._persons())

    def _zone(self, said: str) -> State:
        """Return the zone of a name. Raises ValidationError naming those that there are."""
        wanted = squash(said.removeprefix(f"{ZONE}."))
        zones = [state for state in self._run.hass.states.async_all(ZONE) if state.entity_id != HOME]
        for state in zones:
            if wanted in (squash(state.name), squash(state.object_id)):
                return state
        names = ", ".join(["home", *(plain(state.name) for state in zones)])
        raise ValidationError(f"zone: {said[:40]!r} is not known. There are: {names}"[:300])

    def _is_known(self, word: str) -> bool:
        plain_word = fold(word).replace(" ", "_")
        return (
            plain_word in ENTERING | LEAVING
            or self._is_home(word)
            or self._is_away(word)
            or any(split_by(word, way, self._language) is not None for way in ("arrives", "leaves"))
        )

    def _is_leaving(self, word: str) -> bool:
        if fold(word).replace(" ", "_") in LEAVING or self._is_away(word):
            return True
        return split_by(word, "leaves", self._language) is not None and not self._is_home(word)

    def _is_home(self, word: str) -> bool:
        return self._says(word, "home")

    def _is_away(self, word: str) -> bool:
        return fold(word).replace(" ", "_") == STATE_NOT_HOME or self._says(word, "away")

    def _says(self, word: str, state: str) -> bool:
        said = f" {fold(word.removeprefix('zone.'))} "
        for each in spoken_in(self._language):
            entries = (table(each, "names.states") or {}).get(state, ())
            if any(said.endswith(f" {fold(entry)} ") for entry in (state, *entries)):
                return not (state == "home" and self._says(word, "away"))
        return False

    def _of_persons(self, who: list[str], zone: State | None, *, comes: bool) -> Clause:
        if zone is not None:
            config: dict[str, Any] = {
                "trigger": "zone",
                "entity_id": who,
                "zone": zone.entity_id,
                "event": "enter" if comes else "leave",
            }
            key = "arrives" if comes else "leaves"
            return Clause(key=key, config=config, entity_ids=tuple(who), values={"zone": plain(zone.name)})
        return Clause(
            key="comes_home" if comes else "leaves_home", config=_moves(who, comes), entity_ids=tuple(who)
        )

    def _of_all(self, who: Who, *, comes: bool, role: str) -> Clause:
        persons = [state.entity_id for state in self._persons()]
        if not persons or self._run.hass.states.get(HOME) is None:
            raise ValidationError(NO_PERSONS)
        count: dict[str, Any] = {role: "numeric_state", "entity_id": HOME}
        # "Everybody leaves" is said as well as "nobody is home" and "the last one leaves".
        if who is Who.NOBODY or (who is Who.EVERYBODY and not comes):
            return Clause(key="nobody_home", config={**count, "below": 1})
        if who is Who.EVERYBODY:
            raise ValidationError("person: everybody at home starts nothing; use it as a condition: if")
        if role == "condition":
            if not comes:
                raise ValidationError("person: name who must be away, or use nobody")
            return Clause(key="somebody_home", config={**count, "above": 0})
        key = "somebody_comes" if comes else "somebody_leaves"
        return Clause(key=key, config=_moves(persons, comes))

    def _held(self, clause: Clause, item: Item) -> Clause:
        if "for" not in item:
            return clause
        if clause.config.get("trigger") == "zone":
            raise ValidationError("for: is not available for a zone other than home")
        return held_for(clause, read_for(item["for"], self._language))


def _moves(who: list[str], comes: bool) -> Mapping[str, Any]:
    """Return the trigger of persons who come home or leave it; a restart is neither."""
    if comes:
        return {"trigger": "state", "entity_id": who, "to": STATE_HOME, "not_from": GONE_PEOPLE}
    return {"trigger": "state", "entity_id": who, "from": STATE_HOME, "not_to": GONE_PEOPLE}


def _names_people(entity: Any) -> bool:
    listed = entity if isinstance(entity, list | tuple) else [entity]
    return bool(listed) and all(
        isinstance(one, str) and valid_entity_id(one) and one.startswith(f"{PEOPLE}.") for one in listed
    )


_NUMBER: Final = lazy_regex(r"[+]?(-?\d{1,9}(?:[.,]\d{1,6})?)\s*(?:%|°\s*[cfk]?|[^\W\d]{0,12})?\.?")
_COMPARED: Final = lazy_regex(r"([<>])=?\s*(.+)")
_FIRST: Final = lazy_regex(r"-?\d{1,9}(?:[.,]\d{1,6})?")
_BETWEEN: Final = lazy_regex(r" ?[-\u2013] ?| (?:to|until|and) ")
"""What is between the ends of a time window."""
SIDES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("after", "since", "from"), "after"),
    **dict.fromkeys(("before", "until"), "before"),
}
"""The end of a time window that a word begins."""


class WrittenClauses:
    """Reads the clauses of one call that are written as text."""

    def __init__(self, run: ToolRun, states: StateWords, comings: Comings) -> None:
        self._run = run
        self._states = states
        self._language = run.speaker.language
        self._comings = comings

    def opened(self, item: Item, slot: str) -> Item:
        """Return a clause that was written as text, or with a comparison in its state, by its slots."""
        if SENTENCE in item:
            return {**self._sentence(str(item[SENTENCE]), slot), **_without(item, SENTENCE)}
        said = item.get("to")
        if (
            isinstance(said, str)
            and not item.keys() & {"above", "below", "sun"}
            and item.get("entity") != SUN
        ):
            if match := _COMPARED.fullmatch(said.strip()):
                way = "above" if match[1] == ">" else "below"
                return {**_without(item, "to"), way: match[2]}
            for way in ("above", "below"):
                if (parts := split_by(said, way, self._language)) and parts[1]:
                    return {**_without(item, "to"), way: _number_in(said)}
        return item

    def _sentence(self, text: str, slot: str) -> Item:
        if (coming := self._comings.in_words(text)) is not None:
            return coming
        for way in ("above", "below"):
            if (parts := split_by(text, way, self._language)) and parts[0]:
                _, seconds = take_length(parts[1].split(), self._language)
                item: Item = {"entity": self._named_in(parts[0]), way: _number_in(text)}
                return {**item, "for": {"seconds": seconds}} if seconds else item
        return self._time(text, slot) or self._with_state(text, slot)

    def _time(self, text: str, slot: str) -> Item | None:
        """Return the slots of a text that is a time, a time window or days; None for any other text."""
        if slot == "if" and (window := self.window(text)):
            return window
        if slot == "if" and self._is_days(text):
            return {"days": text}
        if lit(text, self._language) is not None:
            return {"time": text}
        try:
            read_time(self._run.hass, text, self._language)
        except ValidationError:
            return None
        return {"time": text}

    def window(self, text: str) -> Item | None:
        """Return the ends of a time window: "after sunset", "between 22:00 and 6:00"; None for other text."""
        if (window := lit(text, self._language)) is not None:
            return {**window}
        for form in (text.casefold(), *in_english(text, self._language)):
            for separator in _BETWEEN.finditer(form):
                first, start = _side(form[: separator.start()].removeprefix("between "))
                second, end = _side(form[separator.end() :])
                if self._is_time(start) and self._is_time(end):
                    if (first, second) == ("before", "after"):
                        start, end = end, start
                    elif first == "before" or second == "after":
                        continue
                    return {"after": start, "before": end}
            side, rest = _side(form)
            if side and rest:
                return {side: rest}
        return None

    def _is_time(self, text: str) -> bool:
        try:
            return not read_time(self._run.hass, text, self._language).days
        except ValidationError:
            return False

    def _is_days(self, text: str) -> bool:
        try:
            read_weekdays(text, self._language)
        except ValidationError:
            return False
        return True

    def _named_in(self, text: str) -> str:
        said = without_article(text).split()
        exact = name_index(self._run.house).exact
        for size in range(len(said), 0, -1):
            if found := exact.get(squash(" ".join(said[:size]))):
                return found[0] if len(found) == 1 else " ".join(said[:size])
        return " ".join(said)

    def _with_state(self, text: str, slot: str) -> Item:
        """Return the entity and the state of a text: "the front door opens"."""
        words, seconds = take_length(without_article(text).split(), self._language)
        exact = name_index(self._run.house).exact
        for size in range(len(words), 0, -1):
            ids = exact.get(squash(" ".join(words[:size])), ())
            record = self._run.house.entities.get(ids[0]) if len(ids) == 1 else None
            if record is None:
                continue
            for start in range(size, len(words)):
                if negations().intersection(words[size:start]):
                    break
                # What a lock does not know may be a state of its door.
                for each in reversed(with_door_sensors(self._run.house, [record])):
                    if wanted := self._state_said(each.entity_id, " ".join(words[start:])):
                        item: Item = {"entity": each.entity_id, "to": wanted}
                        return {**item, "for": {"seconds": seconds}} if seconds else item
        forms = FORMS if slot == "when" else CONDITION_FORMS
        raise ValidationError(f"{slot}: {text[:40]!r} is not understood. Give {forms}"[:300])

    def _state_said(self, entity_id: str, text: str) -> str | None:
        """Return the state of an entity that a text means; None if it has none of that name."""
        state = self._run.hass.states.get(entity_id)
        try:
            return None if state is None else self._states.read(state, text)
        except ValidationError:
            return None


def read_number(value: Any, slot: str) -> float:
    """Return a number that may have a unit. Raises ValidationError."""
    text = str(value).strip().replace("\u2212", "-").replace("\u2013", "-")
    match = _NUMBER.fullmatch(text.casefold())
    number = float(match[1].replace(",", ".")) if match and not isinstance(value, bool) else float("nan")
    if not isfinite(number):
        raise ValidationError(f"{slot}: {text[:40]!r} is no number")
    return int(number) if number.is_integer() else number


def _number_in(text: str) -> str:
    """Return the first number of a text that is compared with one."""
    found = _FIRST.search(text.replace("\u2212", "-").replace("\u2013", "-"))
    return found[0] if found else text


def _without(item: Item, slot: str) -> Item:
    return {key: value for key, value in item.items() if key != slot}


def _side(form: str) -> tuple[str, str]:
    """Return which end of a window a text begins, empty if it does not say so, and the rest of it."""
    word, _, rest = form.strip().partition(" ")
    return (SIDES[word], rest.strip()) if word in SIDES else ("", form.strip())


GONE: Final = (STATE_UNKNOWN, STATE_UNAVAILABLE)
"""States that tell nothing: an entity that comes back from them has not changed."""
MAX_ENTITIES: Final = 20
MEASURED: Final[Mapping[str, str]] = {
    "climate": "current_temperature",
    "water_heater": "current_temperature",
    "humidifier": "current_humidity",
    "weather": "temperature",
    "cover": "current_position",
    "fan": "percentage",
}
"""The attribute that is compared with a number where the state is none."""
CHANGES: Final = frozenset({"change", "changes", "changed", "state_change", "state_changed", "state_changes"})
"""Events that are any change of a state."""
OF_LOCKS: Final = frozenset({"locked", "unlocked", "locking", "unlocking", "jammed"})
"""States that the door itself does not have."""


class ClauseReader:
    """Reads the triggers and conditions of one call."""

    def __init__(self, run: ToolRun, states: StateWords) -> None:
        self._run = run
        self._states = states
        self._language = run.speaker.language
        self._comings = Comings(run)
        self._written = WrittenClauses(run, states, self._comings)

    def triggers(self, value: Any) -> tuple[Clause, ...]:
        """Return triggers. Raises ValidationError."""
        return tuple(self._trigger(item) for item in read_items(value, "when"))

    def conditions(self, value: Any) -> tuple[Clause, ...]:
        """Return conditions, of which all must hold. Raises ValidationError."""
        items = read_items(value, "if", CONDITION_FORMS)
        return tuple(clause for item in items for clause in self._conditions(item))

    def conditions_beside(self, value: Any) -> tuple[Clause, ...]:
        """Return the days that triggers are limited to, as conditions."""
        return tuple(
            on_days(days)
            for item in read_items(value, "when")
            if (days := self._days_of(item)) and not item.keys() <= {"days"}
        )

    def _days_of(self, item: Item) -> tuple[int, ...]:
        if "days" in item:
            return read_weekdays(item["days"], self._language)
        said = item.get("time") or item.get(SENTENCE)
        if not isinstance(said, str):
            return ()
        try:
            return read_time(self._run.hass, said, self._language).days
        except ValidationError:
            return ()

    def _trigger(self, item: Item) -> Clause:
        item = self._written.opened(item, "when")
        if (clause := self._comings.trigger(item)) is not None:
            return clause
        if moment := self._moment(item):
            return at_time(moment)
        if "above" in item or "below" in item:
            return self._compared(item, "numeric_state", "trigger")
        event = str(item.get("event", "")).casefold().replace(" ", "_")
        if event and event not in CHANGES and "to" not in item and "from" not in item:
            item = {**item, "to": item["event"]}
        records = self._found(item, "when")
        config: dict[str, Any] = {"trigger": "state", "entity_id": _ids(records)}
        state = self._state(records[0])
        before = self._states.read(state, item["from"]) if "from" in item else ""
        wanted = [self._states.read(state, each) for each in _several(item.get("to"))]
        if before:
            config["from"] = before
        else:
            config["not_from"] = list(GONE)
        if wanted:
            config["to"] = wanted[0] if len(wanted) == 1 else wanted
        else:
            config["not_to"] = list(GONE)
        key = "from_to" if before and wanted else "is" if wanted else "from" if before else "changes"
        return self._held(
            Clause(
                key=key,
                config=config,
                entity_ids=tuple(_ids(records)),
                states=tuple(wanted) or ((before,) if before else ()),
                before=before,
            ),
            item,
        )

    def _conditions(self, item: Item) -> list[Clause]:
        """Return what one condition means; a time window with days is two."""
        item = self._written.opened(item, "if")
        if (clause := self._comings.condition(item)) is not None:
            return [clause]
        if isinstance(said := item.get("time"), str) and (window := self._written.window(said)):
            item = {key: value for key, value in item.items() if key != "time"} | window
        if "sun" in item or item.get("entity") == SUN:
            item = by_sun(item, self._language)
        if "time" in item:
            raise ValidationError("if: a time alone is no condition. Give {after: 22:00, before: 6:00}")
        found: list[Clause] = []
        if "after" in item or "before" in item:
            found += self._window(item)
        if "days" in item and (days := read_weekdays(item["days"], self._language)):
            found.append(on_days(days))
        if found or "days" in item:
            return found
        if "above" in item or "below" in item:
            return [self._compared(item, "numeric_state", "condition")]
        records = self._found(item, "if")
        wanted = [
            self._states.read(self._state(records[0]), each)
            for each in _several(item.get("to", item.get("from")))
        ]
        if not wanted:
            raise ValidationError(f"if: say in which state {records[0].entity_id} must be: to")
        config: dict[str, Any] = {
            "condition": "state",
            "entity_id": _ids(records),
            "state": wanted[0] if len(wanted) == 1 else wanted,
        }
        clause = Clause(key="is", config=config, entity_ids=tuple(_ids(records)), states=tuple(wanted))
        return [self._held(clause, item)]

    def _moment(self, item: Item) -> DayTime | None:
        """Return the time of a trigger; None if it has none."""
        said = item.get("time", item.get("sun"))
        if said is None and str(item.get("event", "")).casefold() in (SUNSET, SUNRISE):
            said = item["event"]
        if said is None and item.get("entity") == SUN:
            said = item.get("to", item.get("event"))
        if said is None:
            return None
        if (window := lit(str(said), self._language)) is not None:
            said = window["after"]
        if isinstance(said, list | tuple):
            if len(said) != 1:
                raise ValidationError("when: give one item for each time")
            said = said[0]
        if offset := item.get("offset"):
            sign = str(offset).strip()
            said = f"{said} {sign}" if sign[:1] in "+-" else f"{said} + {sign}"
            said = _spelled_offset(said)
        return read_time(self._run.hass, said, self._language)

    def _window(self, item: Item) -> list[Clause]:
        sides: tuple[str, ...] = ("after", "before")
        ends = {side: self._end(item[side], side) for side in sides if side in item}
        found = within(ends)
        if "days" not in item and (days := {day for end in ends.values() for day in end.days}):
            found.append(on_days(tuple(sorted(days))))
        return found

    def _end(self, value: Any, side: str) -> DayTime:
        """Return an end of a time window; one in words may be the darkness."""
        if (window := lit(str(value), self._language)) is not None:
            return DayTime(sun=SUNSET if window is NIGHT else SUNRISE)
        return read_time(self._run.hass, value, self._language, side)

    def _compared(self, item: Item, kind: str, role: str) -> Clause:
        records = self._found(item, "when" if role == "trigger" else "if")
        if len(records) > 1:
            raise ValidationError(f"Which one? Name one of: {', '.join(_ids(records))}"[:300])
        state = self._state(records[0])
        attribute = MEASURED.get(state.domain)
        if (
            attribute is None
            and as_number(state.state) is None
            and not state.attributes.get("unit_of_measurement")
        ):
            raise ValidationError(f"{state.entity_id} has no number; give the state that it changes to: to")
        sides: tuple[str, ...] = ("above", "below")
        limits = {side: read_number(item[side], side) for side in sides if side in item}
        config: dict[str, Any] = {role: kind, "entity_id": _ids(records)}
        if attribute:
            config["attribute"] = attribute
        config |= limits
        unit = str(state.attributes.get("unit_of_measurement") or "")
        if not unit and attribute and "temperature" in attribute:
            unit = str(self._run.hass.config.units.temperature_unit)
        said = {side: f"{_told_number(limit)} {unit}".strip() for side, limit in limits.items()}
        key = "between" if len(said) > 1 else next(iter(said))
        values = {"low": said["above"], "high": said["below"]} if len(said) > 1 else {"value": said[key]}
        clause = Clause(key=key, config=config, entity_ids=(state.entity_id,), values=values)
        return self._held(clause, item) if role == "trigger" else clause

    def _held(self, clause: Clause, item: Item) -> Clause:
        if "for" not in item:
            return clause
        return held_for(clause, read_for(item["for"], self._language))

    def _found(self, item: Item, slot: str) -> list[EntityRecord]:
        """Return the entities of a clause. Raises ValidationError."""
        named = texts(item.get("entity"))
        ids = tuple(one for one in named if valid_entity_id(one.casefold()))
        target = Target.from_args(
            {
                "entity_id": list(ids),
                "name": [one for one in named if one not in ids],
                "area": item.get("area"),
                "floor": item.get("floor"),
                "domain": item.get("domain"),
                "device_class": item.get("device_class"),
            }
        )
        if target.is_empty:
            raise ValidationError(f"{slot}: the entity is missing. Give {FORMS}"[:300])
        hass = self._run.hass
        found = resolve(
            self._run.house,
            target,
            speaker=self._run.speaker,
            sentence=self._run.sentence,
            exists=lambda entity_id: hass.states.get(entity_id) is not None,
        )
        found = self._doors(found, item)
        if len(found) > MAX_ENTITIES or len({record.domain for record in found}) > 1:
            listed = ", ".join(plain(record.name) for record in found[:MAX_ENTITIES])
            raise ValidationError(f"{slot}: which one? Name one of: {listed}"[:300])
        return found

    def _doors(self, found: list[EntityRecord], item: Item) -> list[EntityRecord]:
        """Return the sensor of a door in place of its lock, where the door opens or closes."""
        if len(found) != 1 or found[0].domain != "lock" or "to" not in item:
            return found
        sensor = next((one for one in with_door_sensors(self._run.house, found) if one != found[0]), None)
        if sensor is None or (state := self._run.hass.states.get(sensor.entity_id)) is None:
            return found
        try:
            if self._states.read(state, item["to"]) not in ("on", "off"):
                return found
        except ValidationError:
            return found
        try:
            of_lock = self._states.read(self._state(found[0]), item["to"])
        except ValidationError:
            return [sensor]
        return found if of_lock in OF_LOCKS else [sensor]

    def _state(self, record: EntityRecord) -> State:
        """Return the state of an entity. Raises ValidationError if it has none."""
        state = self._run.hass.states.get(record.entity_id)
        if state is None or not self._run.reader.sees(record.entity_id):
            raise ValidationError(f"{record.entity_id} does not exist or is not exposed to the assistant")
        return state


def _told_number(number: float) -> str:
    return f"{number:g}"


def _spelled_offset(text: str) -> str:
    """Return a time by the sun whose offset is written as a clock, with a length: "sunset - 00:30:00"."""
    head, sign, tail = text.partition(" -" if " -" in text else " +")
    parts = tail.strip().split(":")
    if not sign or len(parts) < 2 or not all(part.isdecimal() for part in parts):  # noqa: PLR2004 - a clock
        return text
    return f"{head} {sign.strip()} {int(parts[0]) * 60 + int(parts[1])} minutes"


def _ids(records: Sequence[EntityRecord]) -> list[str]:
    return [record.entity_id for record in records]


def _several(value: Any) -> list[Any]:
    """Return a value, or the values of a list; none for nothing."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
