"""What is planned: timers, reminders, commands and messages for later, and ends of commands for a while."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any, Final, Self

from homeassistant.const import SUN_EVENT_SUNRISE, SUN_EVENT_SUNSET
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.sun import get_astral_event_next
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..errors import ValidationError
from ..knowledge.speaker import Speaker, Surface
from ..safety.frozen import FrozenCall
from ..safety.journal import EarlierState
from ..safety.redaction import is_secret
from ..store import dump, load, read_moment
from ..timespans import EVERY_DAY, WEEKEND, WORKDAYS, format_local, next_at, told_days
from ..when import Coming, Period, Sun, at_clock, read
from .events import Clause, Event, entities_of

REMIND: Final = "remind"
"""The verb of timers and reminders, which only announce."""
RESTORE: Final = "restore"
"""The verb of what restores the states from before a command for a while."""
TELL: Final = "tell"
"""The verb of messages."""
SUN_EVENTS: Final = (SUN_EVENT_SUNRISE, SUN_EVENT_SUNSET)
MAX_OFFSET: Final = 12 * 3600
RINGS_FOR: Final = timedelta(minutes=15)
"""So long an alarm rings if nobody stops it."""
RINGS_EVERY: Final = timedelta(minutes=1)
SNOOZE: Final = timedelta(minutes=9)
"""How long an alarm is silent where nobody has said for how long."""
REPEATS: Final = {EVERY_DAY: "daily", WORKDAYS: "weekdays", WEEKEND: "weekends"}
"""Repetitions by their days; all others are weekly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When something is due: at a time or with the sun, once or on days of the week, or once at an event."""

    due: datetime
    """The next time, in UTC; of an event the time after which it is not waited for any more."""
    days: tuple[int, ...] = ()
    """The days of the week on which it is repeated, from 0 for Monday; empty if it is not."""
    sun: str | None = None
    """The event of the sun by which the time is calculated again for each day."""
    offset: int = 0
    """Seconds after the event, negative before it."""
    clock: time | None = field(default=None, compare=False)
    """The local time of each day. `due` shows another one where the clocks are put forward over it."""
    event: Event | None = None
    """What is waited for."""
    conditions: tuple[Mapping[str, Any], ...] = ()
    """What must hold then."""

    def __post_init__(self) -> None:
        """Read the time of day from `due`, where it was not given."""
        if self.days and self.sun is None and self.clock is None:
            object.__setattr__(self, "clock", dt_util.as_local(self.due).time())

    @property
    def repeat(self) -> str | None:
        """Return how often it is repeated: daily, weekdays, weekends or weekly."""
        return REPEATS.get(self.days, "weekly") if self.days else None

    def next_after(self, hass: HomeAssistant, now: datetime) -> datetime | None:
        """Return when it is due again, in UTC; None if it is not repeated.

        Raises ValueError where the sun does not set or rise for a year.
        """
        if not self.days:
            return None
        if self.clock is not None:
            return next_at(self.clock, self.days, max(now, self.due))
        assert self.sun is not None
        # Sunset moves by minutes from day to day, so the next one is never the one that has just been.
        return _next_sun(hass, self.sun, self.offset, max(now, self.due + timedelta(hours=1)), self.days)

    @property
    def lasting(self) -> Self:
        """Return it without the time after which an event is not waited for any more."""
        return replace(self, due=dt_util.utc_from_timestamp(0)) if self.event else self

    @property
    def clauses(self) -> list[Clause]:
        """Return what it depends on beside a time."""
        return [*((self.event.clause,) if self.event else ()), *self.conditions]

    @property
    def watched(self) -> list[str]:
        """Return the entities of these clauses."""
        return [entity_id for clause in self.clauses for entity_id in entities_of(clause)]

    def told(self, now: datetime) -> str:
        """Return the time, or what is waited for, in words, as the model reads it."""
        local, today = dt_util.as_local(self.due), dt_util.as_local(now).date()
        clock, sun = f"{local:%H:%M}", self.sun
        if sun and self.offset:
            sun += f" {'-' if self.offset < 0 else '+'} {abs(self.offset) // 60} min"
        at = f"at {clock} ({sun})" if sun else f"at {clock}"
        if self.days and self.clock is not None:
            when = f"{told_days(self.days)} at {self.clock:%H:%M}"
        elif self.days:
            when = f"{told_days(self.days)} at {sun}, next {local:%a} {clock}"
        elif local.date() == today:
            when = at
        elif local.date() == today + timedelta(days=1):
            when = f"tomorrow {at}"
        else:
            when = f"on {local:%a %Y-%m-%d} {at}"
        if self.event is not None:
            when = f"when {told_clause(self.event.clause)}, if that comes before it is dropped {when}"
        if self.conditions:
            when += f", only if {' and '.join(map(told_clause, self.conditions))}"
        return when


CLAUSE_WORDS: Final = {"to": "is", "state": "is", "from": "is no longer", "zone": "at", "event": "by"}


def told_clause(clause: Clause) -> str:
    """Return what a clause says, as the model reads it."""
    if clause.get("condition") == "not":
        return f"not {told_clause(clause['conditions'][0])}"
    silent = ("trigger", "condition", "entity_id", "not_to", "not_from")
    told = [", ".join(entities_of(clause))]
    for key, value in sorted(clause.items(), key=lambda pair: pair[0] == "for"):
        if key not in silent and value is not None:
            text = " or ".join(value) if isinstance(value, list) else value
            told.append(f"{CLAUSE_WORDS.get(key, key)} {text}")
    return " ".join(told if len(told) > 1 else (*told, "changes")).strip()


def read_schedule(
    hass: HomeAssistant,
    text: str,
    days: tuple[int, ...] | None,
    language: str,
    *,
    accepted: str,
    years: int,
    clock: time | None = None,
) -> Schedule:
    """Return when something is due: the first time on one of the days, if it is repeated.

    `days` are empty for the day of the time, `accepted` are forms for an error, `years` how far ahead it may
    be, and `clock` is the time of day of a date alone. Raises ValidationError for an unclear or past time.
    """
    now = dt_util.utcnow()
    value = read(text, language, now)
    if clock is not None and isinstance(value, date | Period) and not isinstance(value, datetime):
        value = at_clock(value.start.date() if isinstance(value, Period) else value, clock)
    schedule = None if value is None else schedule_of(hass, value, now)
    if schedule is None:
        has_time = "" if clock is not None else " or has no time"
        raise ValidationError(f"when: {text[:40]!r} is not understood{has_time}; give {accepted}")
    if days is not None:
        weekday = dt_util.as_local(schedule.due).weekday()
        schedule = replace(schedule, days=days or (weekday,))
        if schedule.due <= now or weekday not in schedule.days:  # it begins on the first of its days
            schedule = replace(schedule, due=schedule.next_after(hass, now) or schedule.due)
    if schedule.due <= now:
        raise ValidationError(f"when: {text[:40]!r} is over already; it is {format_local(now)}")
    if schedule.due - now > timedelta(days=366 * years):
        raise ValidationError(f"when: at most {'a year' if years == 1 else f'{years} years'} ahead")
    return schedule


def schedule_of(hass: HomeAssistant, value: Coming, now: datetime) -> Schedule | None:
    """Return when a time is due; None for a day without a time."""
    match value:
        case Sun() if abs(value.offset) <= MAX_OFFSET:
            tomorrow = dt_util.as_utc(dt_util.start_of_local_day() + timedelta(days=1))
            try:
                due = _next_sun(hass, value.event, value.offset, tomorrow if value.tomorrow else now)
            except ValueError:
                return None
            return Schedule(due=due, sun=value.event, offset=value.offset)
        case timedelta():
            return Schedule(due=now + value) if value > timedelta() else None
        case datetime():
            return Schedule(due=dt_util.as_utc(value), clock=value.time())
    return None


def _next_sun(
    hass: HomeAssistant, event: str, offset: int, after: datetime, days: tuple[int, ...] = EVERY_DAY
) -> datetime:
    while True:
        due = get_astral_event_next(hass, event, after, timedelta(seconds=offset))
        if dt_util.as_local(due).weekday() in days:
            return dt_util.as_utc(due)
        after = due


@dataclass(frozen=True, slots=True)
class Held:
    """What an entity showed before a command for a while, and after it."""

    before: EarlierState
    after: EarlierState


_SHARED: Final = (
    "language",
    "person",
    "person_id",
    "device_id",
    "area_id",
    "chat",
    "surface",
    "conversation_id",
)
"""What a speaker in the turn that planned something, and the one of its run, have in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Giver:
    """Who planned something, and where: it runs and is reported for them."""

    language: str = "en"
    user_id: str | None = None
    """None for an unknown voice. Of a timer it is the one whose device it is, too."""
    reports_to: str | None = None
    """The user who is told of problems: also the one whose device it is."""
    person: str | None = None
    person_id: str | None = None
    device_id: str | None = None
    area_id: str | None = None
    chat: int | None = None
    surface: Surface = Surface.CHAT
    conversation_id: str = ""
    turn_id: str = ""
    """The turn that planned it."""
    outside: bool = False
    """Whether that turn had read text from outside."""

    @classmethod
    def of(cls, speaker: Speaker, reports_to: str | None) -> Self:
        """Return who plans something now."""
        shared = {name: getattr(speaker, name) for name in _SHARED}
        return cls(
            **shared,
            user_id=speaker.context.user_id,
            reports_to=reports_to,
            turn_id=speaker.turn_id,
            outside=speaker.tainted,
        )

    def speaker(self, planned: datetime) -> Speaker:
        """Return the speaker of a run, in a turn of its own."""
        shared = {name: getattr(self, name) for name in _SHARED}
        own = Context(user_id=self.user_id)
        return Speaker(**shared, context=own, tainted=self.outside, planned=planned)

    def is_user(self, user_id: str) -> bool:
        """Return whether it is a user, or something at the user's device."""
        return user_id in (self.user_id, self.reports_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What is said to people. Who hears it where is decided when it is due."""

    receiver: str
    """Persons, rooms or everybody, as the call named them."""
    text: str
    to_phone: bool = False
    private: bool = False
    """Whether it tells something of a person that the one who planned it had not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedItem:
    """What is due later: an action on entities that were found when it was given, a message or a timer."""

    verb: str
    """The action, or `REMIND`, `TELL` or `RESTORE`."""
    entity_ids: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    """The values of the action. Codes are never among them."""
    message: Notice | None = None
    """What is told, if it is a message; it has no entities then."""
    told: str = ""
    """The action in words, as the model reads it; the name of a timer."""
    is_alarm: bool = False
    """Whether a timer rings until somebody stops it."""
    rings_since: datetime | None = None
    """When an alarm that rings began to; it is due when it is announced again."""
    schedule: Schedule
    hold: float = 0
    """Seconds after which the states from before are restored; 0 if they are not."""
    ends: datetime | None = None
    """When what was before should have been restored; it is tried again while a device is offline."""
    held: Mapping[str, Held] = field(default_factory=dict)
    """What is restored, by entity."""
    approved: tuple[FrozenCall, ...] | None = None
    """The calls that a person has confirmed; None if none needed it."""
    registered: Mapping[str, str | None] = field(default_factory=dict)
    """The registry's id of each entity: an entity id can be given to another entity meanwhile."""
    owner: Giver = field(default_factory=Giver)
    created: datetime = field(default_factory=dt_util.utcnow)
    id: str = field(default_factory=ulid_now)

    @property
    def due(self) -> datetime:
        """Return when it is due next, in UTC."""
        return self.schedule.due

    @property
    def began(self) -> datetime:
        """Return when it became due: when its event came about, if that is what started it."""
        event = self.schedule.event
        return (event and event.happened) or self.due

    @property
    def is_timer(self) -> bool:
        """Return whether it is a timer, a reminder or an alarm."""
        return self.verb == REMIND

    @property
    def restores(self) -> bool:
        """Return whether it is the end of a command for a while."""
        return bool(self.held)

    def is_same(self, other: Self) -> bool:
        """Return whether another item of the same person does the same at the same times."""
        return (
            not self.restores
            and (self.verb, self.given, self.message, self.schedule.lasting, self.hold)
            == (other.verb, other.given, other.message, other.schedule.lasting, other.hold)
            and set(self.entity_ids) == set(other.entity_ids)
            and self.owner.user_id == other.owner.user_id
        )

    def is_like(self, other: Self) -> bool:
        """Return whether another item may be meant in place of it: one for the same things or people."""
        if self.restores or self.is_same(other) or self.owner.user_id not in (None, other.owner.user_id):
            return False
        if self.message is not None and other.message is not None:
            return self.message.receiver == other.message.receiver
        return self.verb == other.verb and not set(self.entity_ids).isdisjoint(other.entity_ids)

    def at(self, due: datetime) -> Self:
        """Return it at another time, in UTC."""
        return replace(self, schedule=replace(self.schedule, due=due))

    def ringing(self, now: datetime) -> Self | None:
        """Return an alarm as it rings from now on, until it is announced again; None if it has rung enough.

        What is repeated stays planned beside it.
        """
        since = self.rings_since or now
        if now - since >= RINGS_FOR:
            return None
        alone = Schedule(due=now + RINGS_EVERY)
        return replace(
            self, rings_since=since, schedule=alone, id=ulid_now() if self.schedule.days else self.id
        )

    def snoozed(self, now: datetime, length: timedelta = SNOOZE) -> Self:
        """Return an alarm that rings as one that will ring again."""
        return replace(self, rings_since=None, schedule=Schedule(due=now + length))

    def at_event(self, event: Event) -> Self:
        """Return it with what was seen of its event."""
        return replace(self, schedule=replace(self.schedule, event=event))

    def told_at(self, now: datetime) -> str:
        """Return what happens and when, as the model reads it."""
        return f"{self.told} {self.schedule.told(now)}"

    def told_for(self, entity_id: str, now: datetime) -> str:
        """Return what happens to an entity and when, as the model reads it."""
        if (held := self.held.get(entity_id)) is None:
            return self.told_at(now)
        before, after = held.before.attributes, held.after.attributes
        values = [f"{key} {value}" for key, value in before.items() if after.get(key) not in (None, value)]
        return f"back to {', '.join([held.before.state, *values])} {self.schedule.told(now)}"


OF_EVENT: Final = "event"
"""What is stored as the sun of an event, so that an earlier release, which has no events, skips the item."""
_STORED: Final = ("domain", "service", "entity_ids", "data", "contents", "pin")
"""What is stored of a call that a person has confirmed."""


def dump_item(item: PlannedItem) -> dict[str, Any]:
    """Return an item as it is stored: its owner's fields among its own, and no codes."""
    stored: dict[str, Any] = dump(replace(item, approved=None))
    schedule: dict[str, Any] = stored["schedule"]
    if item.schedule.event is not None:
        schedule["sun"] = OF_EVENT
    for fields, name in (
        (schedule, "event"),
        (schedule, "conditions"),
        (stored, "is_alarm"),
        (stored, "rings_since"),
    ):
        if not fields[name]:
            del fields[name]
    if item.approved is not None:
        stored["approved"] = [
            dump({name: value for name in _STORED if (value := getattr(call, name)) is not False})
            for call in item.approved
        ]
    for values in (stored["given"], *(call["data"] for call in stored["approved"] or ())):
        for key in filter(is_secret, list(values)):
            del values[key]
    owner: dict[str, Any] = stored.pop("owner")
    return stored | owner


def load_item(stored: Mapping[str, Any]) -> PlannedItem:
    """Return a stored item, also a timer as version 0.1.0 stored it. Raises one of `UNREADABLE`."""
    if "repeat" in stored:
        due, repeat = read_moment(stored["due"]), stored["repeat"]
        # A weekly one could be without its day.
        weekly = stored.get("days") or [dt_util.as_local(due).weekday()]
        days = {name: list(days) for days, name in REPEATS.items()} | {"weekly": weekly}
        timing = {
            "due": stored["due"],
            "days": days[repeat] if repeat else [],
            "clock": stored.get("clock"),
        }
        told, user_id = str(stored["name"]), stored["user_id"]
        stored = {**stored, "verb": REMIND, "told": told, "schedule": timing, "reports_to": user_id}
    schedule = stored["schedule"]
    if schedule.get("sun") == OF_EVENT and schedule.get("event"):
        stored = {**stored, "schedule": {**schedule, "sun": None}}
    item = load(PlannedItem, {**stored, "owner": stored})
    schedule = item.schedule
    if not set(schedule.days) <= set(EVERY_DAY) or schedule.sun not in (None, *SUN_EVENTS):
        raise ValueError("no time of the week or of the sun")
    if schedule.event is not None and not schedule.event.entity_ids:
        raise ValueError("an event of nothing")
    if abs(schedule.offset) > MAX_OFFSET:
        raise ValueError("too far from the sun")
    return item
