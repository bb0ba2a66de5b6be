"""Announcements of timers: where they were set, else by phone or chat, else in Home Assistant."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from homeassistant.components import persistent_notification
from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from ..agent.describe import async_on_day, async_phrase, async_when, names
from ..const import EVENT_TIMER_FINISHED, LOGGER
from ..domains.features import supports
from ..errors import HomeAgentError, PermissionDenied
from ..events import EventEmitter
from ..memory.sentences import holds_secret
from ..planned.records import Giver, PlannedItem
from ..texts import literal
from ..tools.own_calls import async_announce
from ..tools.recipients import People, Route, async_write_to, chats_of, route_to_own_phone
from ..tools.resolving.resolver import plain
from .phones import async_send_to

SATELLITE: Final = "assist_satellite"
LATE: Final = timedelta(minutes=1)
"""A delay from which the announcement says that it is late."""
TOO_LATE: Final = timedelta(hours=24)
"""From here on it is only shown."""
EXPIRED: Final = "once_expired"
"""The sentence about an event that was not waited for any longer."""


class Announcer:
    """Announces the timers of one agent, and what became of its planned commands."""

    def __init__(self, hass: HomeAssistant, entry_id: str, people: People, emitter: EventEmitter) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._people = people
        self._emitter = emitter

    async def async_announce(self, timer: PlannedItem, due: datetime, rings: bool) -> None:
        """Announce a timer that was due then, unless its device rings on its own; an event is fired."""
        told_by = "device"
        if not rings:
            late = dt_util.utcnow() - due
            message = await self.async_text(timer, due)
            told_by = await self.async_show(timer, message, shown=late >= TOO_LATE)
        self.fire(timer, due, told_by)

    async def async_text(self, timer: PlannedItem, due: datetime | None) -> str:
        """Return what is said of a timer that was due then, which is told where it is late."""
        language, now = timer.owner.language, dt_util.utcnow()
        told = []
        if timer.is_alarm:
            time = await self._async_clock(now, timedelta(), language)
            told.append(await async_phrase(self._hass, language, "alarm_rings", time=time))
        if timer.told or not timer.is_alarm:
            key = "timer_named" if timer.told else "timer_unnamed"
            told.append(await async_phrase(self._hass, language, key, name=timer.told))
        if due is not None and now - due >= LATE:
            time = await self._async_clock(due, now - due, language)
            told.append(await async_phrase(self._hass, language, "timer_late", time=time))
        return " ".join(told)

    async def async_show(self, timer: PlannedItem, message: str, *, shown: bool = False) -> str:
        """Tell of a timer in the first way that works, or only show it in Home Assistant; return which."""
        title = await self._async_title(timer)
        return await self._async_tell(timer.owner, title, message, f"timer_{timer.id}", shown=shown)

    async def _async_title(self, timer: PlannedItem) -> str:
        key = "alarm_title" if timer.is_alarm else "timer_title"
        return await async_phrase(self._hass, timer.owner.language, key)

    def fire(self, timer: PlannedItem, due: datetime, told_by: str) -> None:
        """Fire the event of a timer that was told."""
        self._emitter.fire(
            EVENT_TIMER_FINISHED,
            {
                "timer_id": timer.id,
                "name": timer.told,
                "due": due.isoformat(),
                "user_id": timer.owner.user_id,
                "device_id": timer.owner.device_id,
                "told_by": told_by,
            },
        )

    async def async_tell_planned(
        self,
        command: PlannedItem,
        due: datetime,
        key: str,
        entity_ids: Sequence[str],
        why: Sequence[PermissionDenied],
    ) -> None:
        """Tell what became of a planned command where it was given; `key` names the sentence."""
        owner, now = command.owner, dt_util.utcnow()
        time = await self._async_clock(due, now - due, owner.language)
        targets = names(self._hass, entity_ids, owner.language)
        if command.message is not None:
            targets = plain(command.message.receiver)
        elif command.is_timer:
            targets = command.told or await self._async_title(command)
        when = (
            await async_when(self._hass, owner.language, command.schedule) if command.schedule.clauses else ""
        )
        told = [await async_phrase(self._hass, owner.language, key, time=time, targets=targets, when=when)]
        told += [
            await async_phrase(self._hass, owner.language, err.reason, **(err.translation_placeholders or {}))
            for err in why
            if err.reason
        ]
        message = " ".join(dict.fromkeys(told))
        title = await async_phrase(self._hass, owner.language, "planned_title")
        # Nobody waits for what has not come about any more.
        shown = now - due >= TOO_LATE or key == EXPIRED
        await self._async_tell(owner, title, message, f"planned_{command.id}", shown=shown)

    async def async_tell_reply(self, owner: Giver, name: str, question: str, answer: str) -> None:
        """Tell what somebody has replied, or that nobody has, to the one who had it asked.

        A code or a password goes to a phone or a chat of theirs only; others hear or see that it was given.
        """
        key = "intercom_answer" if answer else "intercom_silence"
        message = await async_phrase(self._hass, owner.language, key, name=name, answer=answer)
        openly = None
        if answer and holds_secret(f"{question}: {answer}"):
            openly = await async_phrase(self._hass, owner.language, "intercom_secret", name=name)
        key = f"reply_{owner.turn_id}"
        await self._async_tell(owner, "Home Agent", message, key, shown=False, openly=openly)

    async def _async_tell(
        self, to: Giver, title: str, message: str, key: str, *, shown: bool, openly: str | None = None
    ) -> str:
        """Announce a message on the device, send it, or show it in Home Assistant; return which.

        Where there are words to say `openly`, these are announced and shown, if nothing could be sent.
        """
        if not shown:
            if await self._async_write(to, message, where_set=True):
                return "telegram"
            if openly is None and await self.async_say(to, message):
                return "satellite"
            here = route_to_own_phone(self._hass, to.device_id, to.reports_to)
            if here is not None and await self._async_send([here], title, message):
                return "phone"
            person = self._people.person_of(to.reports_to)
            if person and await self._async_send(self._people.routes(person), title, message):
                return "phone"
            if await self._async_write(to, message, where_set=False):
                return "telegram"
            if openly is not None and await self.async_say(to, openly):
                return "satellite"
        persistent_notification.async_create(
            self._hass, literal(openly or message), title, f"home_agent_{key}"
        )
        return "notification"

    async def async_say(self, to: Giver, message: str) -> bool:
        """Announce it on the device where it was set; False if the device cannot."""
        registry = er.async_get(self._hass)
        entries = er.async_entries_for_device(registry, to.device_id) if to.device_id is not None else ()
        for entry in entries:
            state = self._hass.states.get(entry.entity_id) if entry.domain == SATELLITE else None
            if state is None or state.state == STATE_UNAVAILABLE or not supports(state, "ANNOUNCE"):
                continue
            try:
                await async_announce(self._hass, entry.entity_id, message)
            except HomeAgentError as err:
                LOGGER.warning("A timer was not announced: %s", err)
                self._emitter.fire_error("channels", err, "a timer was not announced", channel="satellite")
            else:
                return True
        return False

    async def _async_write(self, to: Giver, message: str, *, where_set: bool) -> bool:
        """Write it to the chat where it was set, or to any chat of its owner; False if there is none.

        Only chats that are that person's now count: the option may have changed since.
        """
        chats = chats_of(self._hass, self._entry_id)
        if chats is None or to.reports_to is None:
            return False
        own = chats.of_user(to.reports_to)
        if where_set:
            own = [chat for chat in own if chat == to.chat]
        return await async_write_to(chats, own, message)

    async def _async_send(self, routes: Iterable[Route], title: str, message: str) -> bool:
        """Send it to the phone where it was set, or to all of its owner; False if none takes it."""
        messages = {route: {"title": title, "message": message} for route in routes}
        return bool(
            await async_send_to(self._hass, messages, Context(), "a timer was not sent", self._emitter)
        )

    async def _async_clock(self, due: datetime, late: timedelta, language: str) -> str:
        if late < TOO_LATE:
            return f"{dt_util.as_local(due):%H:%M}"
        return await async_on_day(self._hass, language, due)
