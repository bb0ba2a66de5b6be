"""Timers of all agents in one store; each agent announces its own when they are due."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Any, Final, Protocol, Self, override

from homeassistant.components.intent import TimerInfo, async_device_supports_timers
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.intent.timers import TimerManager, TimerNotFoundError
from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_track_point_in_utc_time
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..const import DOMAIN
from ..store import EntryStore, read_list, read_moment, read_text_or_none

EVERY_DAY: Final = tuple(range(7))
WORKDAYS: Final = tuple(range(5))
WEEKEND: Final = (5, 6)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NAMED: Final = {EVERY_DAY: "daily", WORKDAYS: "on weekdays", WEEKEND: "on weekends"}


def told_days(days: tuple[int, ...]) -> str:
    """Return sorted days of the week as the model reads them."""
    return _NAMED.get(days) or "every " + ", ".join(WEEKDAYS[day] for day in days)


def next_at(clock: time, days: Collection[int], after: datetime) -> datetime:
    """Return when clocks next show a time on one of some days of the week, in UTC.

    `days` counts from 0 for Monday, and is not empty.
    """
    day = dt_util.as_local(after).date()
    while True:
        due = dt_util.as_utc(datetime.combine(day, clock, dt_util.get_default_time_zone()))
        if due > after and day.weekday() in days:
            return due
        day += timedelta(days=1)


def read_clock(stored: object) -> time | None:
    """Return a stored time of day; earlier versions stored none. Raises ValueError for anything else."""
    return time.fromisoformat(str(stored)) if stored else None


class Repeat(StrEnum):
    """How often a reminder is repeated."""

    DAILY = "daily"
    WEEKDAYS = "weekdays"
    WEEKENDS = "weekends"
    WEEKLY = "weekly"


DAYS: Final = {Repeat.DAILY: EVERY_DAY, Repeat.WEEKDAYS: WORKDAYS, Repeat.WEEKENDS: WEEKEND}
"""The days of the week of a repetition; a weekly one keeps its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """A timer or reminder: when it is due, its text and its owner."""

    due: datetime
    """In UTC."""
    name: str = ""
    repeat: Repeat | None = None
    language: str = "en"
    user_id: str | None = None
    """The user who set it; None for an unknown voice."""
    device_id: str | None = None
    """Where it was set."""
    chat: int | None = None
    """The chat in which it was set."""
    days: tuple[int, ...] = ()
    """The days of the week of a weekly one, from 0 for Monday; empty for the day on which it is due."""
    clock: time | None = None
    """The local time of each day. `due` shows another one where the clocks are put forward over it."""
    outside: bool = False
    """Whether its name may be from an untrusted text."""
    id: str = field(default_factory=ulid_now)

    def __post_init__(self) -> None:
        """Read the time of day from `due`, where it was not given."""
        if self.repeat is not None and self.clock is None:
            object.__setattr__(self, "clock", dt_util.as_local(self.due).time())

    def next_after(self, now: datetime) -> datetime | None:
        """Return when it is due again, at the same time of a later local day; None if it is not repeated."""
        return next_at(self.clock, self.on_days, max(now, self.due)) if self.repeat and self.clock else None

    @property
    def on_days(self) -> tuple[int, ...]:
        """Return the days of the week on which it is repeated; empty if it is not."""
        if self.repeat is None:
            return ()
        return DAYS.get(self.repeat) or self.days or (dt_util.as_local(self.due).weekday(),)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""
        clock = self.clock.isoformat() if self.clock else None
        stored = {**asdict(self), "due": self.due.isoformat(), "days": list(self.days), "clock": clock}
        return {key: value for key, value in stored.items() if value or key not in {"days", "clock"}}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored timer. Raises LookupError, TypeError or ValueError for anything else."""
        return cls(
            id=str(stored["id"]),
            due=read_moment(stored["due"]),
            name=str(stored["name"]),
            repeat=Repeat(stored["repeat"]) if stored["repeat"] else None,
            language=str(stored["language"]),
            user_id=read_text_or_none(stored["user_id"]),
            device_id=read_text_or_none(stored["device_id"]),
            chat=_read_chat(stored.get("chat")),
            days=_read_days(stored.get("days", ())),
            clock=read_clock(stored.get("clock")),
            outside=bool(stored.get("outside", False)),
        )


def _read_days(stored: object) -> tuple[int, ...]:
    """Return stored days of the week. Raises TypeError for anything else."""
    if isinstance(stored, list | tuple) and all(day in EVERY_DAY for day in stored):
        return tuple(stored)
    raise TypeError("not days of the week")


def _read_chat(stored: object) -> int | None:
    """Return a stored chat. Raises TypeError if it is not a chat."""
    if stored is None or (isinstance(stored, int) and not isinstance(stored, bool)):
        return stored
    raise TypeError("not a chat")


class Due(Protocol):
    """Something that is due at a moment in UTC."""

    @property
    def id(self) -> str:
        """Return its id."""

    @property
    def due(self) -> datetime:
        """Return when it is due."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""


class DueItems[Item: Due, Run](ABC):
    """The timers, or the planned commands, of one agent. `Run` is called with what is due."""

    def __init__(
        self, hass: HomeAssistant, changed: Callable[[], None], flush: Callable[[], Awaitable[object]]
    ) -> None:
        self._hass = hass
        self._changed = changed
        self._flush = flush
        self._items: dict[str, Item] = {}
        self._run: Run | None = None
        self._job = HassJob(self._ring, "home_agent due", cancel_on_shutdown=True)
        self._cancel: CALLBACK_TYPE | None = None

    def all(self) -> list[Item]:
        """Return all items, the next one first; of those due together the one that was set first."""
        return sorted(self._items.values(), key=lambda item: item.due)

    def stored(self) -> list[dict[str, Any]]:
        """Return all that is to be written; called in a worker thread."""
        return [item.as_dict() for item in list(self._items.values())]

    async def async_cancel(self, ids: Iterable[str]) -> None:
        """Drop items."""
        for item_id in ids:
            self._drop(item_id)
        self._note()
        await self._flush()

    @callback
    def async_start(self, run: Run) -> CALLBACK_TYPE:
        """Begin to hand out what is due, what became due meanwhile at once; return how to stop."""
        self._run = run
        self._ring(dt_util.utcnow())

        @callback
        def stop() -> None:
            self._run = None
            self._wait()

        return stop

    @abstractmethod
    def _ring(self, now: datetime) -> None:
        """Hand out what is due. A repeated item waits for its next time, any other is dropped."""

    def _asked_at(self, item: Item) -> datetime:
        return item.due

    def _drop(self, item_id: str) -> None:
        self._items.pop(item_id, None)

    @callback
    def _forget(self, items: Iterable[Item]) -> int:
        """Drop items, and return how many."""
        ids = [item.id for item in items]
        for item_id in ids:
            self._drop(item_id)
        if ids:
            self._note()
        return len(ids)

    @callback
    def _note(self) -> None:
        """Have a change written, and wait for what is the next one now."""
        self._changed()
        self._wait()

    @callback
    def _wait(self) -> None:
        """Wait for the next item, as long as anybody runs what is due."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
        if self._run is not None and self._items:
            at = min(map(self._asked_at, self._items.values()))
            self._cancel = async_track_point_in_utc_time(self._hass, self._rung, at)

    @callback
    def _rung(self, now: datetime) -> None:
        self._cancel = None
        self._hass.async_run_hass_job(self._job, now)


MAX_SECONDS: Final = 24 * 3600
"""Longer timers are announced by the agent: no device counts down for days."""
STORE_KEY: Final = f"{DOMAIN}.timers"
MAX_TIMERS: Final = 100
"""Timers of one agent."""
AHEAD: Final = timedelta(seconds=1)
"""How long before its time it is asked whether a device is going to ring."""


class Countdown:
    """Shows timers on the device where they were set; what became of them there is asked, never assumed."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass
        self._shown: dict[str, str] = {}
        """Id of a timer of ours: of Home Assistant's."""

    @callback
    def show(self, timer_id: str, device_id: str | None, seconds: float, name: str, language: str) -> None:
        """Have a device count down, if it can."""
        manager = self._manager
        if manager is None or device_id is None or not 0 < seconds <= MAX_SECONDS:
            return
        if async_device_supports_timers(self._hass, device_id):
            whole = round(seconds)
            self._shown[timer_id] = manager.start_timer(
                device_id, whole // 3600, whole // 60 % 60, whole % 60, language, name or None
            )

    @callback
    def is_shown(self, timer_id: str) -> bool:
        """Return whether a device rings for a timer; not any more once the device no longer exists."""
        if timer_id not in self._shown:
            return False
        there = self._there(timer_id)
        if there is None or async_device_supports_timers(self._hass, there.device_id or ""):
            return True
        self.end(timer_id)
        return False

    @callback
    def seconds_left(self, timer_id: str) -> int | None:
        """Return how long a device still counts; None once it was cancelled there, or has rung."""
        there = self._there(timer_id)
        return there.seconds_left if there else None

    @callback
    def move(self, timer_id: str, seconds: float) -> None:
        """Have a device count down from so many seconds."""
        if (manager := self._manager) is not None and (there := self._there(timer_id)) is not None:
            manager.add_time(there.id, round(seconds) - there.seconds_left)

    @callback
    def end(self, timer_id: str) -> None:
        """Have a device count down no longer."""
        core_id = self._shown.pop(timer_id, None)
        if core_id is None or (manager := self._manager) is None:
            return
        try:
            manager.cancel_timer(core_id)
        except TimerNotFoundError:
            return

    @callback
    def leave(self, timer_id: str) -> None:
        """Leave a timer to its device."""
        self._shown.pop(timer_id, None)

    @callback
    def others(self, device_id: str) -> Iterator[TimerInfo]:
        """Yield the timers of a device that Home Assistant's own sentences have set."""
        known = set(self._shown.values())
        for timer in list(self._manager.timers.values()) if self._manager else ():
            if timer.device_id == device_id and timer.id not in known and not timer.conversation_command:
                yield timer

    @callback
    def adopt(self, timer_id: str, core_id: str) -> None:
        """Take a timer of a device as the one that shows one of ours."""
        self._shown[timer_id] = core_id

    @property
    def _manager(self) -> TimerManager | None:
        return self._hass.data.get(TIMER_DATA)

    def _there(self, timer_id: str) -> TimerInfo | None:
        manager, core_id = self._manager, self._shown.get(timer_id)
        return manager.timers.get(core_id) if manager and core_id else None


type Announce = Callable[[Timer, datetime, bool], Awaitable[None]]
"""Announces a timer; gets the time when it was due, and whether its device rings on its own."""


class Timers(DueItems[Timer, Announce]):
    """The timers of one agent."""

    def __init__(
        self, hass: HomeAssistant, changed: Callable[[], None], flush: Callable[[], Awaitable[object]]
    ) -> None:
        super().__init__(hass, changed, flush)
        self._countdown = Countdown(hass)

    @property
    def full(self) -> bool:
        """Return whether there is no space for another one."""
        return len(self._items) >= MAX_TIMERS

    def restore(self, stored: object) -> Exception | None:
        """Restore stored timers; return the problems of invalid ones. Raises TypeError for no list."""
        found, problem = read_list(stored, Timer.from_dict)
        self._items = {timer.id: timer for timer in found}
        self._countdown = Countdown(self._hass)
        return problem

    async def async_set(self, timer: Timer, *, counts: bool = False) -> None:
        """Keep a timer, or one that was changed, and write it at once: a restart may be near.

        One that `counts` is shown on the device where it was set, if that can count down.
        """
        seconds = (timer.due - dt_util.utcnow()).total_seconds()
        if timer.id in self._items:
            self._countdown.move(timer.id, seconds)
        elif counts and timer.repeat is None:
            self._countdown.show(timer.id, timer.device_id, seconds, timer.name, timer.language)
        self._items[timer.id] = timer
        self._note()
        await self._flush()

    @callback
    def look(self, device_id: str | None, language: str) -> None:
        """Learn what a device and Home Assistant's own sentences have done to its timers meanwhile."""
        moved = [timer for timer in self.all() if self._countdown.is_shown(timer.id)]
        changed = [self._follow(timer) for timer in moved]
        for there in list(self._countdown.others(device_id)) if device_id else ():
            due = dt_util.utcnow() + timedelta(seconds=there.seconds_left)
            timer = Timer(due=due, name=there.name or "", language=language, device_id=device_id)
            self._items[timer.id] = timer
            self._countdown.adopt(timer.id, there.id)
            changed.append(True)
        if any(changed):
            self._note()

    def _follow(self, timer: Timer) -> bool:
        """Take over when a device is going to ring; return whether anything has changed."""
        left = self._countdown.seconds_left(timer.id)
        if left is None:
            self._drop(timer.id)
            return True
        due = dt_util.utcnow() + timedelta(seconds=left)
        if abs(due - timer.due) <= 2 * AHEAD:
            return False
        self._items[timer.id] = replace(timer, due=due)
        return True

    @override
    def _drop(self, item_id: str) -> None:
        super()._drop(item_id)
        self._countdown.end(item_id)

    def of_user(self, user_id: str | None) -> list[Timer]:
        """Return the timers of a user; none without a user."""
        return [timer for timer in self.all() if user_id and timer.user_id == user_id]

    @callback
    def forget_user(self, user_id: str) -> int:
        """Drop the timers of a user; return how many."""
        return self._forget(self.of_user(user_id))

    @override
    def _asked_at(self, item: Timer) -> datetime:
        return item.due - AHEAD if self._countdown.is_shown(item.id) else item.due

    @override
    @callback
    def _ring(self, now: datetime) -> None:
        due: list[tuple[Timer, bool]] = []
        changed = False
        for timer in [timer for timer in self.all() if self._asked_at(timer) <= now]:
            changed = True
            if shown := self._countdown.is_shown(timer.id):
                if self._follow(timer):
                    continue
                self._countdown.leave(timer.id)
            due.append((timer, shown))
            if (again := timer.next_after(now)) is None:
                del self._items[timer.id]
            else:
                self._items[timer.id] = replace(timer, due=again)
        if due and self._run is not None:
            self._hass.async_create_task(_async_announce_all(self._run, due), "home_agent timer")
        if changed:
            self._changed()
        self._wait()


async def _async_announce_all(announce: Announce, due: list[tuple[Timer, bool]]) -> None:
    for timer, shown in due:
        await announce(timer, timer.due, shown)


class TimerStore(EntryStore[Timers]):
    """The file of all agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, lambda changed: Timers(hass, changed, self.async_flush))
