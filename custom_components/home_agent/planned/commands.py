"""The planned commands of all agents in one store; each agent runs its own when they are due."""

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..const import DOMAIN, LOGGER
from ..knowledge.speaker import Speaker
from ..store import EntryStore, read_list
from ..timers.timers import DueItems, Timer, Timers
from .records import Held, Owner, PlannedCommand


@dataclass(slots=True, kw_only=True)
class Cancellation:
    """Timers and commands that one call cancelled."""

    owner: Owner
    """Who cancelled them, in which turn."""
    timers: Sequence[Timer] = ()
    commands: Sequence[PlannedCommand] = ()
    kept_in: Timers
    """Where the timers are set again."""
    at: datetime = field(default_factory=dt_util.utcnow)
    undone: bool = False

    def concerns(self, user_id: str) -> bool:
        """Return whether it was made by a user, or holds what a user has set."""
        owners = (
            self.owner.user_id,
            *(timer.user_id for timer in self.timers),
            *(user for one in self.commands for user in (one.owner.user_id, one.owner.reports_to)),
        )
        return user_id in owners


STORE_KEY: Final = f"{DOMAIN}.planned"
MAX_COMMANDS: Final = 100
"""Commands of one agent."""
MAX_CANCELLED: Final = 20
"""Cancellations that can be undone; a restart forgets them."""
CATCH_UP: Final = timedelta(minutes=15)
"""How late a command may still run, after a restart for example."""
CATCH_UP_CONFIRMED: Final = timedelta(minutes=1)
"""The same for what a person had to confirm: it was confirmed for that time and not for another one."""

type Run = Callable[[PlannedCommand, datetime], Coroutine[Any, Any, None]]
"""Runs a command; gets the time when it was due."""


def is_missed(command: PlannedCommand, due: datetime, now: datetime) -> bool:
    """Return whether it is too late to run a command; what is to be restored is never too late."""
    most = CATCH_UP if command.approved is None else CATCH_UP_CONFIRMED
    return not command.restores and now - due > most


class PlannedCommands(DueItems[PlannedCommand, Run]):
    """The planned commands of one agent."""

    def __init__(
        self, hass: HomeAssistant, changed: Callable[[], None], flush: Callable[[], Awaitable[object]]
    ) -> None:
        super().__init__(hass, changed, flush)
        self.cancelled: deque[Cancellation] = deque(maxlen=MAX_CANCELLED)
        """What was cancelled lately, timers too, the oldest first."""

    @property
    def full(self) -> bool:
        """Return whether there is no space for another one."""
        return sum(not command.restores for command in self._items.values()) >= MAX_COMMANDS

    def seen_by(self, speaker: Speaker) -> list[PlannedCommand]:
        """Return the commands of a speaker, of the device that is spoken to, and of unknown voices."""
        known = speaker.context.user_id
        return [
            command
            for command in self.all()
            if command.owner.user_id in (None, known)
            or (command.owner.device_id is not None and command.owner.device_id == speaker.device_id)
        ]

    def restore(self, stored: object) -> Exception | None:
        """Restore stored commands; return the problems of invalid ones. Raises TypeError for no list."""
        found, problem = read_list(stored, PlannedCommand.from_dict)
        self._items = {command.id: command for command in found}
        return problem

    async def async_add(self, command: PlannedCommand) -> None:
        """Keep a command and write it at once: a restart may be near. What is due runs at once."""
        self._items[command.id] = command
        if self._run is not None and command.due <= (now := dt_util.utcnow()):
            self._ring(now)
        else:
            self._note()
        await self._flush()

    @callback
    def take_held(self, entity_ids: Iterable[str]) -> dict[str, Held]:
        """Return what is to be restored of entities, and restore it no more.

        A second command for a while on the same entities restores what was before the first one.
        """
        wanted = set(entity_ids)
        taken: dict[str, Held] = {}
        for command in [command for command in self._items.values() if command.restores]:
            mine = {key: held for key, held in command.held.items() if key in wanted}
            if not mine:
                continue
            taken |= mine
            self._keep(command, {key: held for key, held in command.held.items() if key not in wanted})
        if taken:
            self._note()
        return taken

    @callback
    def drop_of_turn(self, turn_id: str) -> None:
        """Restore no more what a turn has changed, as it was undone."""
        self._forget(
            command for command in self.all() if command.restores and command.owner.turn_id == turn_id
        )

    def _keep(self, command: PlannedCommand, held: Mapping[str, Held]) -> None:
        """Keep only a part of what a command restores."""
        if held:
            self._items[command.id] = replace(command, held=held, entity_ids=tuple(held))
        else:
            del self._items[command.id]

    def of_user(self, user_id: str | None) -> list[PlannedCommand]:
        """Return the commands of a user; none without a user."""
        return [
            command
            for command in self.all()
            if user_id and user_id in (command.owner.user_id, command.owner.reports_to)
        ]

    @callback
    def forget_user(self, user_id: str) -> int:
        """Drop the commands of a user; return how many."""
        kept = [one for one in self.cancelled if not one.concerns(user_id)]
        self.cancelled = deque(kept, MAX_CANCELLED)
        return self._forget(self.of_user(user_id))

    @override
    @callback
    def _ring(self, now: datetime) -> None:
        """Run what is due. A repeated one waits for its next time; any other is dropped before it runs."""
        due = [command for command in self.all() if command.due <= now]
        for command in due:
            again = self._next_after(command, now)
            if again is None:
                del self._items[command.id]
            else:
                self._items[command.id] = command.at(again)
            if self._run is not None:
                self._hass.async_create_task(self._run(command, command.due), "home_agent planned command")
        if due:
            self._changed()
        self._wait()

    def _next_after(self, command: PlannedCommand, now: datetime) -> datetime | None:
        """Return when a command is due again; None if it is not repeated, or where the sun does not set."""
        try:
            return command.schedule.next_after(self._hass, now)
        except ValueError as err:
            LOGGER.warning("A planned command is not repeated any more: %s", err)
            return None


class PlannedStore(EntryStore[PlannedCommands]):
    """The file of all agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, lambda changed: PlannedCommands(hass, changed, self.async_flush))
