"""Timers of all agents in one store; each agent announces its own when they are due."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, override

from homeassistant.components.intent import TimerInfo, async_device_supports_timers
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.intent.timers import TimerManager, TimerNotFoundError
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..store import EntryStore, read_list
from .due import DueItems
from .records import Timer

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
