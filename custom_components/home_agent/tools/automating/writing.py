"""automation: automations in plain language, which an administrator confirms before they are written.

A call describes one in Home Assistant's form: names become ids, words become states. Read are the forms
below, of which an error gives the right one; Home Assistant's own schemas judge the rest. What it does is
planned now and judged as if it ran now.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import time
import json
from typing import Any, Final, override

import probatio
import yaml

from homeassistant.auth.models import User
from homeassistant.const import (
    ATTR_ENTITY_ID,
    STATE_HOME,
    STATE_OFF,
    STATE_ON,
    STATE_UNAVAILABLE,
    STATE_UNKNOWN,
    WEEKDAYS,
)
from homeassistant.core import HomeAssistant, State, valid_entity_id
from homeassistant.helpers import llm
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType
from homeassistant.util.ulid import ulid_now

from ...const import CONF_ALLOW_AUTOMATIONS, CONF_ALLOW_SCRIPTS
from ...domains import DOMAINS, domains_of
from ...domains.binary_sensor import BINARY_WORDS
from ...errors import WAITS, ChangedSinceAsked, PermissionDenied, ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import squash
from ...knowledge.speaker import entity_of_person
from ...knowledge.spoken_words import state_meanings
from ...languages import DEFAULT
from ...safety.frozen import AutomationChange, FrozenAutomation, FrozenPlan, ServiceCall, frozen_call
from ...safety.redaction import is_secret
from ...safety.rules import Verdict
from ...texts import as_number, fold, leaves, one_line, opened
from ...timespans import EVERY_DAY
from ...when import read_clock, read_days, read_length
from ..base import HomeAgentTool, TargetsFailed, ToolRun
from ..calls.repair import adapt, fit
from ..control.arguments import read_args
from ..control.planning import calls_of, plan
from ..control.scripts import SCRIPT, plan_script
from ..everyday.notify_tool import MAX_MESSAGE, NotifyTool, self_words
from ..everyday.timer_tool import OUTSIDE
from ..ha_control import ControlTool, async_prepare_names, resolve_gated
from ..own_calls import async_switch_automation
from ..pending import as_values, freeze
from ..recipients import NOTIFY, is_called
from ..resolving.resolver import Target, plain, texts
from .kept import (
    AUTOMATION,
    ID_PREFIX,
    RECORDED,
    AutomationEdit,
    KnownAutomation,
    OwnAutomation,
    OwnAutomations,
    async_add,
    async_check,
    async_check_allowed,
    async_read,
    async_remove,
    calls_in,
    check_administrator,
    choose_automation,
    judge_switch,
    known_automations,
    note_in_journal,
    seen_automations,
)

type Config = dict[str, Any]
"""An automation, or a part of it, as Home Assistant writes it."""

TRIGGER: Final = "trigger"
CONDITION: Final = "condition"
PARTS: Final = ("triggers", "conditions", "actions")
ACTION_FORMS: Final = "{action: turn_on, entity_id}, {delay: '00:05:00'}, {tell: me, message}"
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
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "state": _WHERE | {"person", "from", "to", "for"},
    "numeric_state": _WHERE | {"attribute", "above", "below", "for"},
    "time": frozenset({"at", "after", "before", "weekday"}),
    "sun": frozenset({"event", "offset", "after", "before", "after_offset", "before_offset"}),
    "zone": frozenset({"entity_id", "person", "zone", "event"}),
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
MAX_TARGETS: Final = 50
"""Entities of one action."""
MAX_FOR: Final = 7 * 86_400
MAX_ALIAS: Final = 80
MAX_SENTENCE: Final = 400
MAX_STATE: Final = 60
SHOWN_WIDTH: Final = 34
"""Characters after which a line of YAML ends: long ones cut off the question in Assist's dialog."""
TEMPLATE_MARKS: Final = ("{{", "{%", "{#")
ENDS: Final[Mapping[str, str]] = {"turn_on": "turn_off", "start": "stop", "play": "pause", "open": "close"}
"""How an action for a while ends. What was open before is never opened again by itself."""

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
NOBODY, SOMEBODY, EVERYBODY = "nobody", "somebody", "everybody"
_ALL: Final[Mapping[str, str]] = {
    **dict.fromkeys((NOBODY, "noone"), NOBODY),
    **dict.fromkeys((SOMEBODY, "someone", "anybody", "anyone"), SOMEBODY),
    **dict.fromkeys((EVERYBODY, "everyone", "all"), EVERYBODY),
}
"""Words for persons who are not named."""
NO_PERSONS: Final = (
    "person: Home Assistant has no persons. The household adds them under Settings > People. Nothing was "
    "created; say so"
)


def check_plain(value: Any) -> None:
    """Raise ValidationError for a template anywhere in a value."""
    for text in leaves(value, keys=True):
        if isinstance(text, str) and any(mark in text for mark in TEMPLATE_MARKS):
            raise ValidationError("templates are not available; write plain values")


def _without_marks(text: str) -> str:
    for mark in TEMPLATE_MARKS:
        text = text.replace(mark, mark[:1])
    return text


def _items(value: Any, part: str) -> list[Any]:
    items = [opened(item) for item in as_values(opened(value))]
    if len(items) > MAX_ITEMS:
        raise ValidationError(f"{part}: at most {MAX_ITEMS}")
    return items


class ClauseReader:
    """Reads the triggers and conditions of one call."""

    def __init__(self, run: ToolRun, states: StateWords) -> None:
        self._run = run
        self._hass = run.hass
        self._states = states
        self._language = run.speaker.language

    def read(self, value: Any, role: str) -> list[Config]:
        """Return triggers, or conditions of which all must hold. Raises ValidationError."""
        configs: list[Config] = []
        for item in _items(value, f"{role}s"):
            kind, fields = _fields(item, role)
            if kind in ("time", "sun"):
                configs += self._times(role, kind, fields)
                continue
            lasts = {"for": as_duration(read_for(fields["for"], self._language))} if "for" in fields else {}
            if (config := self._persons(role, kind, fields)) is None:
                if kind == "numeric_state":
                    config = {role: kind, **self._compared(fields)}
                else:
                    states = self._entities(fields)
                    config = {role: "state", "entity_id": [state.entity_id for state in states]}
                    wanted: dict[str, Any] = {}
                    for key in ("from", "to"):
                        names = [self._states.read(states[0], each) for each in as_values(fields.get(key))]
                        wanted[key] = names[0] if len(names) == 1 else names
                    if role == TRIGGER:
                        config |= {"from": wanted["from"]} if wanted["from"] else {"not_from": [*_GONE]}
                        config |= {"to": wanted["to"]} if wanted["to"] else {"not_to": [*_GONE]}
                    elif wanted["to"]:
                        config["state"] = wanted["to"]
                    else:
                        raise ValidationError(f"conditions: state is missing. Give {FORMS[CONDITION][kind]}")
            configs.append(config | lasts)
        return configs

    def _times(self, role: str, kind: str, fields: Config) -> list[Config]:
        named = ", ".join(str(each).casefold() for each in as_values(fields.get("weekday")))
        numbers = {*(read_days(named, self._language, "weekday", alone=True) or EVERY_DAY)}
        days = {} if numbers == {*EVERY_DAY} else {"weekday": [WEEKDAYS[day] for day in sorted(numbers)]}
        if role == TRIGGER and kind == "time":
            return [{TRIGGER: kind, "at": self._clock(at), **days} for at in as_values(fields.get("at"))]
        if role == TRIGGER:
            if (event := str(fields.get("event")).casefold()) not in (SUNSET, SUNRISE):
                raise ValidationError(f"event: give sunset or sunrise, as in {FORMS[TRIGGER][kind]}")
            return [{TRIGGER: kind, "event": event} | self._offset(fields, "offset")]
        ends: dict[str, Config] = {"after": {}, "before": {}}
        for side in ends.keys() & fields.keys():
            if (event := str(fields[side]).casefold()) in (SUNSET, SUNRISE):
                ends[side] = {side: event, **self._offset(fields, f"{side}_offset")}
            else:
                ends[side] = {side: self._clock(fields[side])}
        configs = _window(ends["after"], ends["before"]) if any(ends.values()) else []
        if not configs and "weekday" not in fields:
            raise ValidationError(f"conditions: a time is missing. Give {FORMS[CONDITION][kind]}")
        return [*configs, {CONDITION: "time", **days}] if days else configs

    # Entities

    def _entities(self, fields: Config, most: int = MAX_ENTITIES) -> list[State]:
        named = texts(fields.get("entity_id"))
        ids = [each for each in named if valid_entity_id(each.casefold())]
        names = [each for each in named if each not in ids]
        target = Target.from_args({**fields, "entity_id": ids, "name": names})
        if target.is_empty:
            raise ValidationError("entity_id is missing: say which entity is meant")
        records = self._run.resolve(target, self._run.sentence)
        if len(records) > most or len({record.domain for record in records}) > 1:
            names = [plain(record.name) for record in records[:MAX_ENTITIES]]
            raise ValidationError(f"Which one? Name one of: {', '.join(names)}"[:200])
        states = [self._hass.states.get(record.entity_id) for record in records]
        seen = [state for state in states if state is not None and self._run.reader.sees(state.entity_id)]
        if len(seen) < len(records):
            raise ValidationError(f"{records[0].entity_id} does not exist or is not exposed to the assistant")
        return seen

    def _compared(self, fields: Config) -> Config:
        (state,) = self._entities(fields, most=1)
        attribute = _MEASURED.get(state.domain)
        is_number = as_number(state.state) is not None or state.attributes.get("unit_of_measurement")
        if attribute is None and not is_number:
            raise ValidationError(f"{state.entity_id} has no number. Give {FORMS[TRIGGER]['state']}")
        if (given := fields.get("attribute")) and given != attribute:
            raise ValidationError(f"attribute: {str(given)[:40]!r} is not available for {state.entity_id}")
        if not (limits := _limits(fields)):
            raise ValidationError(f"{state.entity_id}: above or below is missing")
        return {"entity_id": [state.entity_id], **({"attribute": attribute} if attribute else {}), **limits}

    # Persons, who need not be exposed: their state is not told

    def _persons(self, role: str, kind: str, fields: Config) -> Config | None:
        """Return a clause about persons who come or leave, are somewhere or away; a restart is neither.

        None for other entities. Raises ValidationError.
        """
        names = texts(fields.get("person") or fields.get("entity_id"))
        if kind == "numeric_state" and names == (_HOME,):
            if (limits := _limits(fields)) not in ({"below": 1}, {"above": 0}):
                raise ValidationError(f"{_HOME}: give below: 1 for nobody, or above: 0 for somebody")
            return {role: kind, "entity_id": _HOME, **limits}
        are_persons = all(
            each.startswith("person.") or squash(each) in _ALL or squash(each) in self_words()
            for each in names
        )
        if not names or not (are_persons or kind == "zone" or fields.get("person")):
            return None
        if extra := (fields.keys() & _WHERE) - ({"entity_id"} if "person" not in fields else set()):
            raise ValidationError(f"{min(extra)}: is not available beside a person")
        persons = sorted(self._hass.states.async_all("person"), key=lambda state: state.entity_id)
        if not persons:
            raise ValidationError(NO_PERSONS)
        comes, zone = self._place(fields)
        ids: list[str] = []
        if len(names) == 1 and (who := _ALL.get(squash(names[0]))) is not None:
            # "Everybody leaves" is said as well as "nobody is home" and "the last one leaves".
            nobody = who == NOBODY or (who == EVERYBODY and not comes)
            if who == EVERYBODY and comes and role == TRIGGER:
                raise ValidationError("person: everybody at home starts nothing; use it as a condition")
            if who == SOMEBODY and role == CONDITION and not comes:
                raise ValidationError("person: name who must be away, or use nobody")
            if nobody or (who == SOMEBODY and role == CONDITION):
                if zone != _HOME:
                    raise ValidationError(
                        "person: name the persons; nobody and somebody are known for home only"
                    )
                limit = {"below": 1} if nobody else {"above": 0}
                return {role: "numeric_state", "entity_id": _HOME, **limit}
            names, ids = (), [state.entity_id for state in persons]
        listed, speaker = ", ".join(plain(state.name) for state in persons), self._run.speaker
        for name in names:
            wanted = squash(name.removeprefix("person."))
            meant = [state.entity_id for state in persons if is_called(wanted, state.name, state.entity_id)]
            problem = f"{name[:40]!r} is not known. There are"
            if squash(name) in self_words():
                user_id = speaker.context.user_id
                own = entity_of_person(self._hass, person_id=speaker.person_id, user_id=user_id)
                meant = [own] if own else []
                whose = "" if user_id is None else ", and the user has no person"
                problem = f"it is not known which person is speaking{whose}. Give the name of a person"
            if len(meant) != 1:
                raise ValidationError(f"person: {problem}: {listed}"[:300])
            ids += meant
        if role == TRIGGER and zone == _HOME:
            gone = [*_GONE]
            moves = {"to": STATE_HOME, "not_from": gone} if comes else {"from": STATE_HOME, "not_to": gone}
            return {"trigger": "state", "entity_id": ids, **moves}
        if role == TRIGGER:
            event = "enter" if comes else "leave"
            return {"trigger": "zone", "entity_id": ids, "zone": zone, "event": event}
        if zone != _HOME:
            return {"condition": "zone", "entity_id": ids, "zone": zone}
        there = {"condition": "state", "entity_id": ids, "state": STATE_HOME}
        return there if comes else {"condition": "not", "conditions": [there]}

    def _place(self, fields: Config) -> tuple[bool, str]:
        """Return whether persons come or are there, rather than leave or are away, and the zone."""
        place, event = fields.get("zone"), str(fields.get("event", "enter"))
        if event not in ("enter", "leave"):
            raise ValidationError(f"event: {event[:40]!r} is not enter or leave")
        comes = event == "enter"
        if place is None and "from" in fields and "to" not in fields:
            place, comes = fields["from"], False
        name = next(iter(texts(place if place is not None else fields.get("to"))), STATE_HOME)
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

    def _clock(self, value: Any) -> str:
        text = str(value).strip()
        clock = read_clock(text.casefold()) or dt_util.parse_time(text)
        if clock is None:
            raise ValidationError(f"{text[:40]!r} is no time of the day. Give '22:30'")
        return clock.strftime("%H:%M:%S")

    def _offset(self, fields: Config, key: str) -> Config:
        text = str(fields.get(key) or "").strip().replace("\u2212", "-")
        if not text.strip("+-0:"):
            return {}
        seconds = read_for(text.lstrip("+-"), self._language, "offset")
        return {key: f"{'-' if text.startswith('-') else ''}{as_duration(seconds)}"}


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
    forms = ", ".join(FORMS[role].values())
    if not isinstance(item, Mapping):
        raise ValidationError(f"{role}s: {str(item)[:40]!r} is no object. Give {forms}")
    flat: Config = {}
    for key, value in item.items():
        flat |= value if key in ("target", "options") and isinstance(value, Mapping) else {key: value}
    fields: Config = {}
    for key, value in flat.items():
        name = str(key).strip().casefold()
        name = _NAMES.get(name, name)
        if name not in _IGNORED and value is not None and value not in ("", [], {}):
            fields.setdefault(name, value)
    if fields.get("entity_id") in (_SUN, [_SUN]) and fields.get("to") in _BY_HORIZON:
        # The state of the sun, as the events that it begins and ends with.
        begins, ends = _BY_HORIZON[fields["to"]]
        rest = {key: value for key, value in fields.items() if key not in ("entity_id", "to", "from", *FORMS)}
        events = {"event": begins} if role == TRIGGER else {"after": begins, "before": ends}
        fields = {**rest, **events, role: "sun"}
    kinds = [str(fields.pop(key)) for key in FORMS if key in fields]
    if not kinds and fields.keys() & {"above", "below"}:
        kinds = ["numeric_state"]
    elif not kinds and (fields.keys() & {"at", "after", "before"} or fields.keys() == {"weekday"}):
        kinds = ["time"]
    elif not kinds:
        is_sun = fields.get("event") in (SUNSET, SUNRISE)
        kinds = ["sun" if is_sun else "zone" if "zone" in fields else "state"]
    kind = kinds[0]
    if kind not in FORMS[role]:
        raise ValidationError(f"{role}s: {kind[:40]!r} is not available here. Give {forms}")
    if kind == "time" and fields.get("at") in (SUNSET, SUNRISE):
        kind, fields["event"] = "sun", fields.pop("at")
    if unknown := sorted(fields.keys() - _KEYS[kind]):
        raise ValidationError(f"{role}s: {unknown[0][:40]!r} is no part of it. Give {FORMS[role][kind]}")
    if not fields:
        raise ValidationError(f"{role}s: something is missing. Give {FORMS[role][kind]}")
    return kind, fields


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


def _limits(fields: Config) -> dict[str, float]:
    limits: dict[str, float] = {}
    for side in ("above", "below"):
        if side in fields:
            text = str(fields[side]).strip()
            number = None if isinstance(fields[side], bool) else as_number(text.replace(",", "."))
            if number is None:
                raise ValidationError(f"{side}: {text[:40]!r} is no number")
            limits[side] = int(number) if number.is_integer() else number
    return limits


async def async_begin_nothing() -> None:
    """Begin a step, which is a part of what is asked about."""


UNCHANGED: Final = "nothing is created or changed"


class ActionReader:
    """Reads what an automation is to do, step by step."""

    def __init__(
        self, run: ToolRun, control: ControlTool | None, messages: NotifyTool | None, *, gated: bool
    ) -> None:
        self._run = run
        self._control = control
        self._messages = messages
        self._gated = gated
        self.steps: list[FrozenPlan] = []
        self.calls: list[ServiceCall] = []
        self.config: list[Config] = []
        """The steps as Home Assistant writes them."""

    def _add(self, calls: Sequence[ServiceCall], seconds: int = 0, ends: Sequence[ServiceCall] = ()) -> None:
        self.calls += (*calls, *ends)
        frozen = tuple(map(frozen_call, calls))
        self.steps.append(FrozenPlan(calls=frozen, hold=seconds, begin=async_begin_nothing))
        waits = [{"delay": as_duration(seconds)}] if seconds else []
        self.config += [*map(_as_action, calls), *waits, *map(_as_action, ends)]

    async def async_read(self, item: Any) -> None:
        """Read one item. Raises ValidationError, and PermissionDenied for what is refused."""
        if item is None:
            raise ValidationError(f"actions: say what is to be done. Give {ACTION_FORMS}")
        if not isinstance(item, Mapping):
            raise ValidationError(f"actions: {str(item)[:40]!r} is no object. Give {ACTION_FORMS}")
        args = {str(key): value for key, value in item.items() if key not in _IGNORED}
        if args.keys() == {"delay"}:
            self._add((), read_for(args["delay"], self._run.speaker.language))
            return
        data = args.get("data")
        told = {**args, **data} if isinstance(data, Mapping) else args
        run, control = self._run, self._control
        if "tell" in told or str(args.get("action") or "").startswith(NOTIFY):
            message = one_line(str(told.get("message") or ""), MAX_MESSAGE)
            if not message:
                raise ValidationError("message: say what is to be told")
            if self._messages is None:
                raise ValidationError("actions: messages cannot be sent here")
            room = told.get("area") or told.get("room")
            whom = room or told.get("tell") or told.get("person") or "me"
            receivers = ", ".join(map(str, as_values(whom)))
            self._add(_merged(await self._messages.async_calls(receivers, message, run, to_phone=not room)))
            return
        if control is None:
            raise ValidationError("actions: devices cannot be controlled here")
        name = str(args.get("service") or args.get("action") or "")
        if "." in name:
            rest = {key: value for key, value in args.items() if key not in ("service", "action")}
            parts = adapt(llm.ToolInput(name, rest), {control.name: control})
            if len(parts) != 1 or parts[0].call.tool_name != control.name:
                raise ValidationError(f"actions: {name[:40]!r} is not available. Give {ACTION_FORMS}")
            args = dict(parts[0].call.tool_args)
        try:
            args = fit(control, args)[0]
        except ValidationError as err:
            raise ValidationError(f"actions: {err}"[:300]) from err
        verb, target, given = read_args(args)
        if any(is_secret(name) for name in given):
            raise ValidationError("actions: a code is not stored, so this cannot be part of an automation")
        if args.get("when") or args.get("repeat"):
            raise ValidationError("actions: when and repeat belong to the automation, not to an action of it")
        await async_prepare_names(run.hass, run.house)
        records = resolve_gated(run, target, domains_of(verb), run.sentence, gated=self._gated)
        if len(records) > MAX_TARGETS:
            raise ValidationError(f"actions: {len(records)} entities are too many; name the area")
        calls = self._planned(verb, given, records)
        if not args.get("for"):
            self._add(calls)
            return
        if verb not in ENDS:
            raise ValidationError(f"actions: for fits turn_on, start, play and open only, not {verb}")
        seconds = read_for(args["for"], run.speaker.language)
        self._add(calls, seconds, self._planned(ENDS[verb], {}, records))

    def _planned(
        self, verb: str, given: Mapping[str, Any], records: Sequence[EntityRecord]
    ) -> list[ServiceCall]:
        """Return the calls of an action on entities, whatever they show now. Raises ValidationError."""
        run = self._run
        unit = run.hass.config.units.temperature_unit
        calls: list[ServiceCall] = []
        for record in records:
            state = run.hass.states.get(record.entity_id)
            if state is None or not run.guard.is_exposed(record.entity_id):
                raise ValidationError(f"{record.entity_id} does not exist or is not exposed to the assistant")
            action = DOMAINS[state.domain].actions.get(verb)
            if action is not None and action.direction and state.domain != SCRIPT:
                raise ValidationError(
                    f"actions: {verb} takes no step in an automation; give the value that it is set to"
                )
            # The state must say nothing about now: an automation runs at another time.
            neutral = state
            if state.state in (*DOMAINS[state.domain].resting, STATE_UNAVAILABLE, STATE_UNKNOWN):
                neutral = State(state.entity_id, "idle", state.attributes)
            elif state.state == STATE_ON:
                neutral = State(state.entity_id, STATE_OFF, state.attributes)
            try:
                made = (
                    plan_script(run, neutral, verb, given, gated=self._gated)
                    if state.domain == SCRIPT
                    else plan(neutral, verb, given, unit, gated=self._gated, alone=len(records) == 1)
                )
            except ValidationError as err:
                raise ValidationError(f"actions: {record.entity_id} {err}"[:300]) from err
            calls += calls_of(made, record.entity_id)
        if not calls:
            raise ValidationError(f"actions: {verb} would do nothing")
        return _merged(calls)


def _merged(calls: Sequence[ServiceCall]) -> list[ServiceCall]:
    alike: dict[str, ServiceCall] = {}
    for call in calls:
        key = json.dumps([call.domain, call.service, dict(call.data)], sort_keys=True, default=str)
        if key in alike and call.entity_ids:
            ids = dict.fromkeys((*alike[key].entity_ids, *call.entity_ids))
            alike[key] = replace(alike[key], entity_ids=tuple(ids))
        else:
            alike.setdefault(key, call)
    return list(alike.values())


def _as_action(call: ServiceCall) -> Config:
    action: Config = {"action": f"{call.domain}.{call.service}"}
    if call.entity_ids:
        action["target"] = {ATTR_ENTITY_ID: list(call.entity_ids)}
    if call.data:
        action["data"] = dict(call.data)
    return action


_CATEGORY: Final = "entity_component"
_TRUE: Final = {True: "on", False: "off"}
"""What YAML makes of on and off."""
_MODES: Final[Mapping[str, str]] = {"climate": "hvac_modes", "water_heater": "operation_list"}
"""The attribute with the states of an entity, where not every entity of a domain has all of them."""
_MOMENTS: Final = frozenset({"event", "button", "input_button", "scene"})
"""Domains whose state is the time of what happened last."""
_TIMES: Final = frozenset({"timestamp", "date", "uptime"})
"""Device classes of sensors whose state is a time."""


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
        states: dict[str, list[str]] = {}
        device_class = str(state.attributes.get("device_class") or "_")
        for strings in self._strings:
            for each in (device_class, "_"):
                start = f"component.{state.domain}.{_CATEGORY}.{each}.state."
                own = {key[len(start) :]: name for key, name in strings.items() if key.startswith(start)}
                for key, name in own.items():
                    states.setdefault(key, []).append(name)
                if own:
                    break
        if state.domain == "binary_sensor":
            for key, word in zip(("on", "off"), BINARY_WORDS.get(device_class, ()), strict=False):
                states.setdefault(key, []).append(word)
        if modes := state.attributes.get(_MODES.get(state.domain, "")):
            states = {key: names for key, names in states.items() if key in modes}
        states |= {str(option): [] for option in state.attributes.get("options") or ()}
        if state.domain == "device_tracker":
            states |= {name: [] for name in self._zones}
        return {key: [*names, key] for key, names in states.items()}

    def shown(self, state: State, value: str) -> str:
        """Return the name of a state as a sentence says it."""
        return self.names(state).get(value, [value])[0]

    def read(self, state: State, word: object) -> str:
        """Return the state that a word means. Raises ValidationError naming the states that there are."""
        value = _TRUE[word] if isinstance(word, bool) else str(word).strip()
        names, attributes = self.names(state), state.attributes
        if value in names:
            return value
        folded = fold(value.replace("_", " "))
        meant = state_meanings().get(folded, folded)
        for each in (folded, meant):
            for key, own in names.items():
                if each in [fold(name.replace("_", " ")) for name in own]:
                    return key
        if meant in _GONE:
            return meant
        unit = str(attributes.get("unit_of_measurement") or "")
        if names and (state.domain != "sensor" or "options" in attributes):
            problem = f". Allowed: {', '.join(names)}"
        elif state.domain in _MOMENTS or attributes.get("device_class") in _TIMES:
            problem = ": its state is a time. As a trigger, leave out to: it starts whenever the time changes"
        elif unit or attributes.get("state_class"):
            now = f"{state.state} {unit}".strip()
            problem = f": it is a number, now {now}. Use numeric_state with above or below"
        else:
            return state.state if folded == fold(state.state) else value[:MAX_STATE]
        raise ValidationError(f"{value[:40]!r} is no state of {state.entity_id}{problem}"[:300])


CHANGES: Final = ("create", "list", "change", "delete", "on", "off")
MAX_LISTED: Final = 15
MAX_OTHERS: Final = 30
"""Automations that a list has, with all of what they do, and by name."""
MINE: Final = "made_by_you"
SILENT: Final = ("not_from", "not_to")
FOREIGN: Final = (
    "was not made by this assistant, so it is not changed or deleted here; an administrator edits it in Home "
    "Assistant under Settings, Automations. Nothing was done; say so"
)


SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("trigger", "when"), "triggers"),
    **dict.fromkeys(("condition", "if"), "conditions"),
    **dict.fromkeys(("do", "then", "sequence"), "actions"),
    **dict.fromkeys(("alias", "title", "automation", "id", "automation_id", "entity_id"), "name"),
}
ACTION_WORDS: Final[Mapping[str, str]] = {
    "add": "create",
    "update": "change",
    "remove": "delete",
    **dict.fromkeys(("turn_on", "enable"), "on"),
    **dict.fromkeys(("turn_off", "disable"), "off"),
}


type InWords = Callable[
    [HomeAssistant, str, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], Sequence[FrozenPlan]],
    Awaitable[str],
]
"""Returns triggers, conditions and steps as a sentence in a language."""


class AutomationTool(HomeAgentTool):
    """Writes automations that an administrator has confirmed, and switches them."""

    name = "automation"
    title = "Automations"
    description = (
        "triggers, conditions of Home Assistant: state, numeric_state, time, sun, zone, "
        "{trigger: state, person: me or nobody, to: home}. "
        "actions as ha_control, {delay: '00:05:00'}, {tell: me, message}."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    needs_component = AUTOMATION
    max_text = 1000
    slot_words = SLOT_WORDS
    parameters = probatio.Schema(
        {
            probatio.Required("action"): probatio.In(CHANGES),
            probatio.Optional("name"): str,
            **{probatio.Optional(part): list for part in PARTS},
        }
    )

    def __init__(
        self,
        own: OwnAutomations,
        control: ControlTool | None,
        messages: NotifyTool | None,
        in_words: InWords,
        *,
        gated: bool,
    ) -> None:
        self.own = own
        self._in_words = in_words
        self._control = control
        self._messages = messages
        self._gated = gated

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return an action that there is, and each part as a list, whose items say later what is wrong."""
        action = str(args.get("action") or "create").casefold().replace(" ", "_")
        ordered: dict[str, Any] = {**args, "action": ACTION_WORDS.get(action, action)}
        for part in PARTS:
            if part in args and not isinstance(args[part], list):
                ordered[part] = [args[part]]
        return ordered

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        return args.get("action") == "list"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the texts of automations that were written after text from outside was read."""
        rows = result.get(MINE) if isinstance(result, dict) else None
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get("from") == OUTSIDE:
                yield from (text for text in leaves(row) if isinstance(text, str))

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        user_id = None if run.speaker.is_automation else run.speaker.context.user_id
        user = await run.hass.auth.async_get_user(user_id) if user_id else None
        action, name = args["action"], str(args.get("name") or "")
        if action == "list":
            return await self._async_list(run, user)
        every = seen_automations(run, self.own, user)
        if action in ("on", "off"):
            if not every:
                check_administrator(user)
            known, on = choose_automation(every, name, self.own, run), action == "on"
            result: JsonValueType = {"switched": action, "name": known.name}
            if run.guard.is_exposed(known.entity_id):
                ids = (known.entity_id,)
                await run.call(ServiceCall(domain=AUTOMATION, service=f"turn_{action}", entity_ids=ids))
                return result

            async def switch() -> None:
                judge_switch(run, known.entity_id, user, on=on)
                await async_switch_automation(run.hass, known.entity_id, run.speaker.context, on=on)
                note_in_journal(run, action, known.entity_id, known.own.sentence if known.own else "")

            verdict = judge_switch(run, known.entity_id, user, on=on)
            if verdict.asks or run.tainted:
                change, pin = AutomationChange.ON if on else AutomationChange.OFF, verdict is Verdict.PIN
                self._ask(run, FrozenAutomation(change=change, name=known.name, pin=pin, begin=switch))
            await switch()
            return result
        check_administrator(user)
        if action == "create":
            return await self._async_write(None, args, run)
        try:
            known = choose_automation([each for each in every if each.own is not None], name, self.own, run)
        except ValidationError:
            others = [each for each in every if each.own is None] if name else []
            with suppress(ValidationError):
                other = choose_automation(others, name, self.own, run)
                raise PermissionDenied(f"{other.name} {FOREIGN}") from None
            raise
        if action == "change":
            return await self._async_write(known, args, run)

        async def delete() -> None:
            await async_remove(run.hass, known.id)
            self.own.note(AutomationEdit.by(run.speaker, known.own, None))
            note_in_journal(run, action, known.name, known.own.sentence if known.own else "")

        pin = judge_switch(run, known.entity_id, user, on=False) is Verdict.PIN
        item = FrozenAutomation(change=AutomationChange.DELETE, name=known.name, pin=pin, begin=delete)
        return self._ask(run, item)

    async def _async_write(
        self, known: KnownAutomation | None, args: Mapping[str, Any], run: ToolRun
    ) -> JsonValueType:
        before, earlier = (known.own, await async_read(run.hass, known.id)) if known else (None, None)
        if known is not None and (before is None or earlier is None):
            raise ValidationError(f"{known.name} is not in automations.yaml; nothing was changed")
        config, item = await self._async_draft(args, run, earlier)
        sentence, alias = one_line(_without_marks(run.sentence), MAX_SENTENCE), str(config.pop("alias", ""))
        who = plain(run.speaker.person or "") or "an administrator"
        record = f"{RECORDED[before is not None]}{who} on {dt_util.now():%Y-%m-%d %H:%M}: {sentence}"
        description = "\n".join(filter(None, (str(config.pop("description", None) or ""), record)))
        if before is None:
            others = known_automations(run.hass, self.own)
            for other in others:
                if other.own and all(other.own.config.get(part) == config[part] for part in PARTS):
                    raise ValidationError(
                        f"This automation exists already: {other.name}. Nothing was created; say so"
                    )
            clauses = (item.triggers, item.conditions, item.steps)
            rule = await self._in_words(run.hass, run.speaker.language, *clauses)
            # The sentence is no name: nobody knows later who "I" was.
            given = _without_marks(str(args.get("name") or "")).strip().rstrip(".!?")
            is_sentence = run.sentence.casefold().startswith(given.casefold())
            name = one_line(_without_marks(rule) if is_sentence else given, MAX_ALIAS)
            taken, name = {fold(other.name) for other in others}, name[:1].upper() + name[1:]
            names = (name, *(f"{name} {number}" for number in range(2, len(others) + 2)))
            alias = next(each for each in names if fold(each) not in taken)
            own = OwnAutomation(
                id=f"{ID_PREFIX}{ulid_now().lower()}",
                alias=alias,
                sentence=run.sentence,
                language=run.speaker.language,
                user_id=run.speaker.context.user_id,
            )
        else:
            own = before = replace(before, config=earlier or {})
            alias = alias or before.alias
        config = {"alias": alias, "description": description, **config}
        after = replace(own, alias=alias, config=config, outside=own.outside or run.tainted)
        # A part that stays may call what nobody may have called now.
        await async_check_allowed(calls_in(config), run, after.alias, UNCHANGED)
        await async_check(run.hass, after.id, config)

        async def write() -> None:
            if before is not None and await async_read(run.hass, before.id) != before.config:
                raise ChangedSinceAsked
            entity_id = await async_add(run.hass, after.id, config, run.speaker.context)
            self.own.note(AutomationEdit.by(run.speaker, before, after))
            note_in_journal(run, item.change.value, entity_id, after.sentence)

        calls = tuple(map(frozen_call, calls_in(config)))
        written = yaml.safe_dump(config, allow_unicode=True, sort_keys=False, width=SHOWN_WIDTH)
        return self._ask(run, replace(item, name=alias, calls=calls, yaml=str(written), begin=write))

    async def _async_draft(
        self, args: Mapping[str, Any], run: ToolRun, earlier: Mapping[str, Any] | None
    ) -> tuple[Config, FrozenAutomation]:
        """Return an automation as Home Assistant writes it, and what is new about it.

        Of one that is changed, parts that the call leaves out stay. Raises ValidationError.
        """
        check_plain([args.get(part) for part in PARTS])
        config, is_new = dict(earlier or {}), earlier is None
        clauses = ClauseReader(run, await StateWords.async_load(run.hass, run.speaker.language))
        actions = ActionReader(run, self._control, self._messages, gated=self._gated)
        triggers: list[Config] = []
        conditions: list[Config] = []
        if is_new or args.get("triggers"):
            triggers = config["triggers"] = clauses.read(args.get("triggers"), TRIGGER)
            if not triggers:
                raise ValidationError("triggers: say what starts it")
        if is_new or args.get("conditions") is not None:
            conditions = config["conditions"] = clauses.read(args.get("conditions"), CONDITION)
        if is_new or args.get("actions"):
            for item in _items(args.get("actions"), "actions") or [None]:
                await actions.async_read(item)
            # Judged as they were read: their form for Home Assistant does not say whose words a message has.
            await async_check_allowed(actions.calls, run, kept=UNCHANGED)
            config["actions"] = actions.config
            config["mode"] = "restart" if any(step.hold for step in actions.steps) else "single"
        if config == earlier and not args.get("name"):
            raise ValidationError(
                "Nothing would change. Give new triggers, conditions or actions, as a whole"
            )
        check_plain(config)
        return config, FrozenAutomation(
            change=AutomationChange.CREATE if is_new else AutomationChange.CHANGE,
            name="",
            triggers=tuple(triggers),
            conditions=tuple(conditions),
            steps=tuple(actions.steps),
            begin=async_begin_nothing,
        )

    def _ask(self, run: ToolRun, item: FrozenAutomation) -> JsonValueType:
        """Let a change wait for a yes. Raises TargetsFailed that tells the model so, with the YAML."""
        freeze(run.hass, run.draft, item)
        shown = {"name": item.name, "yaml": item.yaml} if item.yaml else {"name": item.name}
        raise TargetsFailed(f"{item.name}: {WAITS}", dict[str, JsonValueType](shown))

    async def _async_list(self, run: ToolRun, user: User | None) -> JsonValueType:
        """Return the automations: all for an administrator, for others those that are exposed."""
        mine: list[JsonValueType] = []
        others: list[JsonValueType] = []
        for known in seen_automations(run, self.own, user):
            state = run.hass.states.get(known.entity_id)
            row: dict[str, Any] = {"name": known.name, "on": state is not None and state.state == STATE_ON}
            if known.own is None:
                others.append(row)
            elif len(mine) < MAX_LISTED:
                config = await async_read(run.hass, known.id) or known.own.config
                # What only leaves out devices that come back says nothing to a person.
                for part in (part for part in PARTS if config.get(part)):
                    items = (item for item in as_values(config[part]) if isinstance(item, dict))
                    row[part] = [
                        {key: value for key, value in item.items() if key not in SILENT} for item in items
                    ]
                mine.append({**row, "from": OUTSIDE} if known.own.outside else row)
        result: dict[str, JsonValueType] = {MINE: mine} if mine else {}
        if others:
            result["of_the_household"] = others[:MAX_OTHERS]
        if len(others) > MAX_OTHERS:
            result["more"] = len(others) - MAX_OTHERS
        return result or "There are no automations that this person may know of."


def automation_tools(
    settings: Mapping[str, Any],
    own: OwnAutomations,
    control: ControlTool,
    messages: NotifyTool,
    disabled: Collection[str],
    in_words: InWords,
) -> list[HomeAgentTool]:
    """Return the tools for devices and messages, and that for automations if the household allows them."""
    tools: list[HomeAgentTool] = [control, messages]
    if settings[CONF_ALLOW_AUTOMATIONS]:
        used = (
            None if control.name in disabled else control,
            None if messages.name in disabled else messages,
        )
        tools.append(AutomationTool(own, *used, in_words, gated=settings[CONF_ALLOW_SCRIPTS]))
    return tools
