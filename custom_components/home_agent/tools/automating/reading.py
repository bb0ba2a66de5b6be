"""From what a model writes to triggers and conditions: found by name, checked, as Home Assistant's YAML."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State, valid_entity_id

from ...automating.clauses import Clause
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...texts import as_number
from ..base import ToolRun
from ..query.targets import with_door_sensors
from ..resolving.resolver import Target, plain, resolve, texts
from .items import CONDITION_FORMS, FORMS, SENTENCE, Item, read_items
from .moments import DayTime, held_for, read_for, read_time, read_weekdays
from .people import Comings
from .sentences import WrittenClauses, read_number
from .states import StateWords
from .windows import NIGHT, SUN, SUNRISE, SUNSET, at_time, by_sun, lit, on_days, within

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
