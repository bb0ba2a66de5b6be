"""What is planned of all agents, in one store: one loop waits for what is due, also over a restart."""

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, override

from homeassistant.components.intent import TimerInfo, async_device_supports_timers
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.intent.timers import TimerManager, TimerNotFoundError
from homeassistant.const import EVENT_HOMEASSISTANT_STOP
from homeassistant.core import CALLBACK_TYPE, CoreState, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_track_point_in_utc_time, async_track_state_change_event
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from ..const import DOMAIN, LOGGER
from ..knowledge.speaker import Speaker
from ..store import EntryStore, KeptStore, read_list
from .events import HOME
from .records import REMIND, Giver, Held, PlannedItem, Schedule, dump_item, load_item

STORE_KEY: Final = f"{DOMAIN}.planned"
OLD_TIMERS_KEY: Final = f"{DOMAIN}.timers"
"""Where version 0.1.0 kept timers."""
MAX_COMMANDS: Final = 100
"""Commands and messages of one agent."""
MAX_TIMERS: Final = 100
"""Timers of one agent."""
MAX_ALIKE: Final = 3
"""Similar commands that a result names."""
MAX_CANCELLED: Final = 20
"""Cancellations that can be undone; a restart forgets them."""
CATCH_UP: Final = timedelta(minutes=15)
"""How late a command may still run, after a restart for example."""
CATCH_UP_CONFIRMED: Final = timedelta(minutes=1)
"""The same for what a person had to confirm: it was confirmed for that time and not for another one."""
CATCH_UP_ALARM: Final = timedelta(hours=1)
"""The same for an alarm that has not begun to ring."""
MAX_SECONDS: Final = 24 * 3600
"""Longer timers are announced by the agent: no device counts down for days."""
AHEAD: Final = timedelta(seconds=1)
"""How long before its time it is asked whether a device is going to ring."""

type Run = Callable[[PlannedItem, datetime, bool], Coroutine[Any, Any, None]]
"""Runs an item; gets the time when it was due, and whether its device rings on its own."""


def is_missed(item: PlannedItem, due: datetime, now: datetime) -> bool:
    """Return whether it is too late to run an item; to restore and to remind it is never too late."""
    most = CATCH_UP if item.approved is None else CATCH_UP_CONFIRMED
    if item.is_alarm and item.rings_since is None:
        return now - due > CATCH_UP_ALARM
    return not item.restores and not item.is_timer and now - due > most


@dataclass(slots=True, kw_only=True)
class Cancellation:
    """What one call cancelled."""

    owner: Giver
    """Who cancelled it, in which turn."""
    items: Sequence[PlannedItem]
    at: datetime = field(default_factory=dt_util.utcnow)
    undone: bool = False


class Countdown:
    """Shows timers on the device where they were set; what became of them there is asked, never assumed."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass
        self._shown: dict[str, str] = {}
        """Id of a timer of ours: of Home Assistant's."""

    @callback
    def show(self, timer: PlannedItem, seconds: float) -> None:
        """Have the device where a timer was set count down, if it can."""
        manager, device_id = self._manager, timer.owner.device_id
        if manager is None or device_id is None or not 0 < seconds <= MAX_SECONDS:
            return
        if async_device_supports_timers(self._hass, device_id):
            whole = round(seconds)
            clock = whole // 3600, whole // 60 % 60, whole % 60
            self._shown[timer.id] = manager.start_timer(
                device_id, *clock, timer.owner.language, timer.told or None
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
    def others(self, device_id: str | None) -> Iterator[TimerInfo]:
        """Yield the timers of a device that Home Assistant's own sentences have set."""
        shown = set(self._shown.values())
        for timer in list(self._manager.timers.values()) if self._manager and device_id else ():
            if timer.device_id == device_id and timer.id not in shown and not timer.conversation_command:
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


class Scheduler:
    """What is planned of one agent: timers, reminders, commands and messages."""

    def __init__(
        self, hass: HomeAssistant, changed: Callable[[], None], flush: Callable[[], Awaitable[object]]
    ) -> None:
        self._hass = hass
        self._changed = changed
        self._flush = flush
        self._items: dict[str, PlannedItem] = {}
        self._run: Run | None = None
        self._job = HassJob(self._ring, "home_agent due", cancel_on_shutdown=True)
        self._cancel: CALLBACK_TYPE | None = None
        self._watched: frozenset[str] = frozenset()
        self._unwatch: CALLBACK_TYPE | None = None
        self._countdown = Countdown(hass)
        self.on_change: Callable[[], None] | None = None
        """Called after what is planned has changed, other than by time."""
        self.cancelled: deque[Cancellation] = deque(maxlen=MAX_CANCELLED)
        """What was cancelled lately, the oldest first."""

    def all(self) -> list[PlannedItem]:
        """Return all items, the next one first; of those due together the one that was set first."""
        return sorted(self._items.values(), key=lambda item: item.due)

    def timers(self) -> list[PlannedItem]:
        """Return timers and reminders, the next one first."""
        return [item for item in self.all() if item.is_timer]

    def commands(self) -> list[PlannedItem]:
        """Return commands, messages and what is to be restored, the next one first."""
        return [item for item in self.all() if not item.is_timer]

    @property
    def full(self) -> bool:
        """Return whether there is no space for another command."""
        return sum(not item.restores for item in self.commands()) >= MAX_COMMANDS

    def seen_by(self, speaker: Speaker) -> list[PlannedItem]:
        """Return the items of a speaker, of the device that is spoken to, and of unknown voices.

        Alarms that ring in the room are among them, whoever speaks.
        """
        return [
            item
            for item in self.all()
            if item.owner.user_id in (None, speaker.context.user_id) or _is_here(item, speaker)
        ]

    def ringing(self, speaker: Speaker, *, only_here: bool = False) -> list[PlannedItem]:
        """Return the alarms that ring now in the room of a speaker, and the speaker's own anywhere."""
        user_id = None if only_here else speaker.context.user_id
        return [
            item
            for item in self.all()
            if item.rings_since is not None
            and (_is_here(item, speaker) or (user_id is not None and item.owner.is_user(user_id)))
        ]

    def of_user(self, user_id: str | None) -> list[PlannedItem]:
        """Return the items of a user; none without a user."""
        return [item for item in self.all() if user_id and item.owner.is_user(user_id)]

    def stored(self) -> list[dict[str, Any]]:
        """Return all that is to be written; called in a worker thread."""
        now = dt_util.utcnow()
        return [dump_item(_unseen(item, now)) for item in list(self._items.values())]

    def restore(self, stored: object) -> Exception | None:
        """Add stored items; return the problems of invalid ones. Raises TypeError for no list."""
        items, problem = read_list(stored, load_item)
        self._items |= {item.id: item for item in items}
        return problem

    async def async_add(self, item: PlannedItem, *, counts: bool = False) -> None:
        """Keep an item, or one that was changed, and write it at once: a restart may be near.

        What is due runs at once. A timer that `counts` is shown on the device where it was set, if that can
        count down.
        """
        now = dt_util.utcnow()
        seconds = (item.due - now).total_seconds()
        if item.id in self._items:
            self._countdown.move(item.id, seconds)
        elif counts and not item.schedule.days:
            self._countdown.show(item, seconds)
        if (event := item.schedule.event) is not None and item.id not in self._items:
            item = item.at_event(event.begun(self._hass, now))
        self._items[item.id] = item
        if self._run is not None and item.due <= now:
            self._ring(now)
        else:
            self._note()
        await self._flush()

    async def async_put(self, item: PlannedItem) -> bool:
        """Keep an item in place of those that are the same; return whether there were any."""
        same = [other.id for other in self.all() if other.is_same(item)]
        for item_id in same:
            self._drop(item_id)
        await self.async_add(item)
        return bool(same)

    def told_beside(self, item: PlannedItem) -> list[str]:
        """Return what the model reads about what is planned that is like an item."""
        now = dt_util.utcnow()
        return [
            f"also planned: {other.told_at(now)}, id {other.id}; cancel it if this one replaces it"
            for other in self.commands()
            if other.is_like(item)
        ][:MAX_ALIKE]

    async def async_cancel(self, ids: Iterable[str]) -> None:
        """Drop items."""
        for item_id in ids:
            self._drop(item_id)
        self._note()
        await self._flush()

    @callback
    def take_held(self, entity_ids: Iterable[str]) -> dict[str, Held]:
        """Return what is to be restored of entities, and restore it no more.

        A second command for a while on the same entities restores what was before the first one.
        """
        wanted = set(entity_ids)
        taken: dict[str, Held] = {}
        for item in list(self._items.values()):
            if wanted.isdisjoint(item.held):
                continue
            taken |= {key: held for key, held in item.held.items() if key in wanted}
            if kept := {key: held for key, held in item.held.items() if key not in wanted}:
                self._items[item.id] = replace(item, held=kept, entity_ids=tuple(kept))
            else:
                del self._items[item.id]
        if taken:
            self._note()
        return taken

    @callback
    def drop_of_turn(self, turn_id: str) -> None:
        """Restore no more what a turn has changed, as it was undone."""
        self._forget(item for item in self.all() if item.restores and item.owner.turn_id == turn_id)

    @callback
    def forget_user(self, user_id: str) -> None:
        """Drop the items of a user, and what they or others cancelled of them."""
        kept = [
            made
            for made in self.cancelled
            if not any(owner.is_user(user_id) for owner in (made.owner, *(one.owner for one in made.items)))
        ]
        self.cancelled = deque(kept, MAX_CANCELLED)
        self._forget(self.of_user(user_id))

    @callback
    def look(self, device_id: str | None, language: str) -> None:
        """Learn what a device and Home Assistant's own sentences have done to its timers meanwhile."""
        shown = [timer for timer in self.timers() if self._countdown.is_shown(timer.id)]
        changed = [self._follow(timer) for timer in shown]
        for there in list(self._countdown.others(device_id)):
            timer = PlannedItem(
                verb=REMIND,
                told=there.name or "",
                schedule=Schedule(due=dt_util.utcnow() + timedelta(seconds=there.seconds_left)),
                owner=Giver(language=language, device_id=device_id),
            )
            self._items[timer.id] = timer
            self._countdown.adopt(timer.id, there.id)
            changed.append(True)
        if any(changed):
            self._note()

    @callback
    def async_start(self, run: Run) -> CALLBACK_TYPE:
        """Begin to hand out what is due, what became due meanwhile at once; return how to stop."""
        self._run = run

        @callback
        def look(*_: object) -> None:
            self._look()

        @callback
        def close(*_: object) -> None:
            now = dt_util.utcnow()
            if self._watched:
                self._items = {item.id: _unseen(item, now) for item in self._items.values()}
                self._changed()

        ends = [
            async_at_started(self._hass, look),
            self._hass.bus.async_listen(EVENT_HOMEASSISTANT_STOP, close),
        ]
        self._ring(dt_util.utcnow())

        @callback
        def stop() -> None:
            for end in ends:
                end()
            self._run = None
            close()
            self._wait()

        return stop

    @callback
    def _look(self, *_: object) -> None:
        """See what has become of the events that are waited for; states are complete once all has started."""
        now, is_changed, is_running = dt_util.utcnow(), False, self._hass.state is CoreState.running
        for item in list(self._items.values()) if is_running else ():
            if (event := item.schedule.event) is not None:
                looked = event.looked(self._hass, now)
                is_changed |= (looked.so, looked.lost) != (event.so, event.lost)
                self._items[item.id] = item.at_event(looked)
        if is_changed:
            self._changed()
        if any(self._asked_at(item) <= now for item in self._items.values()):
            self._ring(now)
        elif is_changed:
            self._wait()

    @callback
    def _ring(self, now: datetime) -> None:
        """Hand out what is due. A repeated item waits for its next time; any other is dropped before it runs.

        Timers are announced one after another. What an event starts knows when that came about.
        """
        due = [item for item in self.all() if self._asked_at(item) <= now]
        timers: list[tuple[PlannedItem, bool]] = []
        for item in due:
            if rings := self._countdown.is_shown(item.id):
                if self._follow(item):
                    continue
                self._countdown.leave(item.id)
            try:
                again = item.schedule.next_after(self._hass, now)
            except ValueError as err:
                LOGGER.warning("A planned command is not repeated any more: %s", err)
                again = None
            if again is None:
                del self._items[item.id]
            else:
                self._items[item.id] = item.at(again)
            if (event := item.schedule.event) is not None and event.ripe is not None and event.ripe <= now:
                item = item.at_event(replace(event, happened=event.ripe))  # noqa: PLW2901 - the same, begun
            if item.is_timer and not item.is_alarm:
                timers.append((item, rings))
            elif self._run is not None:
                self._hass.async_create_task(self._run(item, item.began, False), "home_agent planned command")
        if timers and (run := self._run) is not None:

            async def announce() -> None:
                for timer, rings in timers:
                    await run(timer, now if timer.schedule.event else timer.due, rings)

            self._hass.async_create_task(announce(), "home_agent timer")
        if due:
            self._changed()
        self._wait()

    def _follow(self, timer: PlannedItem) -> bool:
        """Take over when a device is going to ring; return whether anything has changed."""
        left = self._countdown.seconds_left(timer.id)
        if left is None:
            self._drop(timer.id)
            return True
        due = dt_util.utcnow() + timedelta(seconds=left)
        if abs(due - timer.due) <= 2 * AHEAD:
            return False
        self._items[timer.id] = timer.at(due)
        return True

    def _asked_at(self, item: PlannedItem) -> datetime:
        if (event := item.schedule.event) is not None:
            return min(item.due, event.ripe or item.due)
        return item.due - AHEAD if self._countdown.is_shown(item.id) else item.due

    def _drop(self, item_id: str) -> None:
        self._items.pop(item_id, None)
        self._countdown.end(item_id)

    def _forget(self, items: Iterable[PlannedItem]) -> None:
        if ids := [item.id for item in items]:
            for item_id in ids:
                self._drop(item_id)
            self._note()

    def _note(self) -> None:
        self._changed()
        self._wait()
        if self.on_change is not None:
            self.on_change()

    def _wait(self) -> None:
        watched = frozenset(
            entity_id
            for item in (self._items.values() if self._run is not None else ())
            if item.schedule.event is not None
            for entity_id in item.schedule.event.entity_ids
        )
        if HOME in watched:
            watched |= frozenset(self._hass.states.async_entity_ids("person"))
        if watched != self._watched:
            if self._unwatch is not None:
                self._unwatch()
            self._watched, self._unwatch = watched, None
            if watched:
                self._unwatch = async_track_state_change_event(self._hass, watched, self._look)
        if self._cancel is not None:
            self._cancel()
            self._cancel = None

        @callback
        def ring(now: datetime) -> None:
            self._cancel = None
            self._hass.async_run_hass_job(self._job, now)

        if self._run is not None and self._items:
            at = min(map(self._asked_at, self._items.values()))
            self._cancel = async_track_point_in_utc_time(self._hass, ring, at)


def _is_here(item: PlannedItem, speaker: Speaker) -> bool:
    """Return whether an item belongs to the device that is spoken to, or rings in its room."""
    owner = item.owner
    if owner.device_id is not None and owner.device_id == speaker.device_id:
        return True
    return item.rings_since is not None and bool(owner.area_id) and owner.area_id == speaker.area_id


def _unseen(item: PlannedItem, now: datetime) -> PlannedItem:
    event = item.schedule.event
    return item if event is None else item.at_event(event.unseen(now))


class PlannedStore(EntryStore[Scheduler]):
    """The file of all agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, lambda changed: Scheduler(hass, changed, self.async_flush))
        self._old_timers = KeptStore(hass, OLD_TIMERS_KEY, dict)

    def ringing(self, speaker: Speaker, *, only_here: bool) -> dict[Scheduler, list[PlannedItem]]:
        """Return the alarms of all agents that ring for a speaker: somebody who stops one names no agent."""
        ringing = {each: each.ringing(speaker, only_here=only_here) for each in self._entries.values()}
        return {each: alarms for each, alarms in ringing.items() if alarms}

    @override
    async def async_load(self) -> None:
        """Read the file, and the timers of version 0.1.0, which are in it from then on."""
        await super().async_load()
        if not (data := await self._old_timers.async_read()):
            return
        entries, problem = await self.hass.async_add_executor_job(self._read, data)
        if problem is not None:
            await self._old_timers.async_set_aside(problem, keep_in_place=True)
        for entry_id, timers in entries.items():
            self.of(entry_id).restore(timers.stored())
        self.schedule()
        if await self.async_flush():
            await self._old_timers.async_remove()

    @override
    async def async_forget_set_aside(self, entry_id: str | None = None) -> bool:
        """Delete unreadable files, or the data of one agent in them; return whether none is left."""
        old_is_gone = await self._old_timers.async_forget_set_aside(entry_id)
        return await super().async_forget_set_aside(entry_id) and old_is_gone
