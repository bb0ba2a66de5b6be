"""Alarms that ring: aloud where they were set, else on phones and in chats, each minute until stopped."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..agent.describe import async_phrase
from ..const import LOGGER
from ..errors import ConfirmationNeeded, HomeAgentError
from ..planned.records import RINGS_FOR, Giver, PlannedItem
from ..planned.scheduler import Scheduler
from ..safety.frozen import CallOrigin
from ..tools.handler import ToolHandler
from ..tools.messages import Messages
from ..tools.recipients import People
from .announcing import Announcer
from .asking import Chosen, Questions, Receivers

STOP, SNOOZE = "alarm_stop", "alarm_snooze"
"""The keys of the buttons."""
LOUD: Final[Mapping[str, Any]] = {
    "ttl": 0,
    "priority": "high",
    "channel": "alarm_stream",
    "push": {"interruption-level": "critical", "sound": {"name": "default", "critical": 1, "volume": 1.0}},
}
"""What makes a phone ring although it is silent, on Android and on iOS."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Buttons:
    """The buttons of an alarm that rings, on phones and in chats."""

    titles: Mapping[str, str]
    """The titles in the language of the alarm, by their keys."""
    pressed: asyncio.Future[Chosen]
    task: asyncio.Task[None] | None = None


class Alarms:
    """Rings the alarms of one agent. That one rings is kept with what is planned, over a restart."""

    def __init__(
        self,
        hass: HomeAssistant,
        *,
        planned: Scheduler,
        handler: ToolHandler,
        people: People,
        messages: Messages,
        announcer: Announcer,
        asker: Questions,
    ) -> None:
        self._hass = hass
        self._planned = planned
        self._handler = handler
        self._people = people
        self._messages = messages
        self._announcer = announcer
        self._asker = asker
        self._buttons: dict[str, _Buttons] = {}
        self._stopped = False

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Begin to follow which alarms ring; return how to stop."""
        self._planned.on_change = self._look

        @callback
        def stop() -> None:
            self._planned.on_change = None
            self._stopped = True
            for buttons in self._buttons.values():
                if buttons.task is not None:
                    buttons.task.cancel()

        return stop

    async def async_ring(self, alarm: PlannedItem, due: datetime, _rings: bool) -> None:
        """Announce an alarm that was due then, and keep it for the next time; or tell that it gave up."""
        if (ringing := alarm.ringing(dt_util.utcnow())) is None:
            self._look()
            await self._announcer.async_tell_planned(alarm, alarm.rings_since or due, "alarm_gave_up", (), ())
            return
        owner = self._placed(alarm)
        ringing = replace(ringing, owner=owner)
        await self._planned.async_add(ringing)
        text = await self._announcer.async_text(ringing, due if alarm.rings_since is None else None)
        # Quiet hours do not hold back what a person has set to wake them; the rules of the household do.
        told_by = "satellite" if await self._announcer.async_say(owner, text) else None
        if told_by is None:
            # Its name was in the person's own words, or confirmed.
            speaker = replace(owner.speaker(ringing.rings_since or ringing.due), tainted=False, wakes=True)
            run = await self._handler.async_run_of(CallOrigin(speaker=speaker))
            for device in self._messages.devices():
                is_there = device.area_id is not None and device.area_id == owner.area_id
                if not is_there or not self._messages.is_online(device):
                    continue
                try:
                    await run.call(self._messages.call_on(device, text, owner.language))
                except (HomeAgentError, ConfirmationNeeded) as err:
                    LOGGER.warning("An alarm does not ring on %s: %s", device.entity_id, err)
                else:
                    told_by = "satellite" if device.is_satellite else "speaker"
        person = self._people.person_of(owner.reports_to)
        receivers = Receivers(persons=(person,) if person else ())
        if self._ringing(ringing.id) is None:
            return  # it was stopped while it was spoken
        if self._asker.reaches(receivers):
            if told_by is None or ringing.id not in self._buttons:
                await self._async_show(ringing, text, receivers, LOUD if told_by is None else {})
            told_by = told_by or "phone"
        elif told_by is None:
            told_by = await self._announcer.async_show(ringing, text)
        if alarm.rings_since is None:
            self._announcer.fire(ringing, due, told_by)

    def _placed(self, alarm: PlannedItem) -> Giver:
        """Return the owner of an alarm with where it rings: what was written rings at a device of theirs."""
        owner = alarm.owner
        person = self._people.person_of(owner.reports_to)
        if owner.area_id is None and person is not None:
            owned = self._people.owned_devices(person)
            rooms = (one.area_id for one in self._messages.devices() if one.device_id in owned)
            return replace(owner, area_id=next(filter(None, rooms), None))
        return owner

    async def _async_show(
        self, alarm: PlannedItem, text: str, receivers: Receivers, data: Mapping[str, Any]
    ) -> None:
        """Show the buttons, instead of those from a minute ago: a phone rings again."""
        if (before := self._buttons.pop(alarm.id, None)) is not None and before.task is not None:
            before.task.cancel()
            await asyncio.wait([before.task])
        titles = {key: await async_phrase(self._hass, alarm.owner.language, key) for key in (STOP, SNOOZE)}
        if self._stopped:
            return  # from here on the next instance shows them
        buttons = _Buttons(titles=titles, pressed=self._hass.loop.create_future())
        self._buttons[alarm.id] = buttons

        async def async_wait() -> None:
            try:
                chosen = await self._asker.async_choose(
                    text,
                    list(titles.values()),
                    receivers,
                    RINGS_FOR.total_seconds(),
                    asked_id=alarm.id,
                    chosen=buttons.pressed,
                    data=data,
                )
            finally:
                if self._buttons.get(alarm.id) is buttons:
                    del self._buttons[alarm.id]
            if chosen is None or (item := self._ringing(alarm.id)) is None:
                return
            if chosen.answer == titles[SNOOZE]:
                await self._planned.async_add(item.snoozed(dt_util.utcnow()))
            else:
                await self._planned.async_cancel([item.id])

        buttons.task = self._hass.async_create_background_task(async_wait(), "home_agent alarm")

    def _ringing(self, alarm_id: str) -> PlannedItem | None:
        items = (item for item in self._planned.timers() if item.id == alarm_id and item.rings_since)
        return next(items, None)

    @callback
    def _look(self) -> None:
        """Take the buttons away of what does not ring any more."""
        planned = {item.id: item for item in self._planned.timers()}
        for alarm_id, buttons in self._buttons.items():
            item = planned.get(alarm_id)
            if (item is None or item.rings_since is None) and not buttons.pressed.done():
                key = STOP if item is None else SNOOZE
                buttons.pressed.set_result(Chosen(buttons.titles[key], ""))
