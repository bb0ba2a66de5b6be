"""Messenger: sends unasked messages to phones or chats, not too often and not at night."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from homeassistant.components import persistent_notification
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..agent.describe import async_phrase
from ..const import (
    CONF_NOTIFY_TARGETS,
    CONF_PROACTIVE_MAX_PER_DAY,
    CONF_TELEGRAM,
    CONF_TELEGRAM_CHATS,
    DOMAIN,
    LOGGER,
)
from ..errors import HomeAgentError
from ..events import EventEmitter
from ..knowledge.speaker import PERSON
from ..quiet_hours import Hours
from ..texts import without_embeds
from ..tools.own_calls import async_notify
from ..tools.people import Route, async_write_to, chats_of, read_targets, route_to
from ..tools.resolving.resolver import plain
from .state import ProactiveState

URGENT_MORE: Final = 10
"""Urgent messages that a day takes beyond its limit."""
CLEAR: Final = "clear_notification"
"""The message by which the companion app takes a notification away."""


_NO_LINKS: Final = str.maketrans("[]()|*_#~\\!", "           ")


class Messenger:
    """Sends the proactive messages of one entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        settings: Mapping[str, Any],
        state: ProactiveState,
        emitter: EventEmitter,
    ) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._targets = read_targets(settings[CONF_NOTIFY_TARGETS])
        chats = settings[CONF_TELEGRAM_CHATS] if settings[CONF_TELEGRAM] else ()
        self._in_chats = tuple(item[PERSON] for item in chats)
        self._most = int(settings[CONF_PROACTIVE_MAX_PER_DAY])
        self._state = state
        self._emitter = emitter
        self.quiet = Hours.from_options(settings)

    @property
    def persons(self) -> Sequence[str]:
        """Return the people with notify targets or chats."""
        return tuple(dict.fromkeys((*self._targets, *self._in_chats)))

    @callback
    def may_send(self, now: datetime, *, urgent: bool = False) -> bool:
        """Return whether a message may be sent now, by quiet hours and the daily limit."""
        sent = self._state.sent_on(dt_util.as_local(now).date())
        if urgent:
            return sent < self._most + URGENT_MORE
        return not self.quiet.holds(now) and sent < self._most

    @callback
    def note_sent(self) -> None:
        """Count a message or a question of today."""
        self._state.note_sent(dt_util.as_local(dt_util.utcnow()).date())

    async def async_send(
        self,
        tag: str,
        message: str,
        persons: Iterable[str],
        *,
        shown: str | None = None,
        urgent: bool = False,
        asked_for: bool = False,
        openly: bool = True,
        buttons: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Send to the persons' targets; show it in Home Assistant if it reaches no one, or if `shown`.

        Requested messages do not count towards the daily limit. Private messages never appear in Home
        Assistant, where all users read it.
        """
        if not asked_for:
            self.note_sent()
        title = await async_phrase(self._hass, self._hass.config.language, "proactive_title")
        reached = await self._async_send(
            persons, {"title": title, "message": message}, _data(tag, urgent=urgent, buttons=buttons)
        )
        if openly and (shown is not None or not reached):
            text = without_embeds(shown or message)
            persistent_notification.async_create(self._hass, text, title, self._id(tag))

    async def async_clear(self, tag: str, persons: Iterable[str]) -> None:
        """Take a message back where that is possible."""
        persistent_notification.async_dismiss(self._hass, self._id(tag))
        await self._async_send(persons, {"message": CLEAR}, _data(tag), clearing=True)

    async def _async_send(
        self,
        persons: Iterable[str],
        message: Mapping[str, Any],
        data: Mapping[str, Any],
        *,
        clearing: bool = False,
    ) -> bool:
        """Send to each target and return whether any took it; one that fails does not stop others.

        A person whose notify targets all failed gets the message in a chat instead.
        """
        routes: dict[Route, set[str]] = {}
        asked = tuple(dict.fromkeys(persons))
        for person, target in ((one, target) for one in asked for target in self._targets.get(one, ())):
            if (route := route_to(self._hass, target)) and (route.can_clear or not clearing):
                routes.setdefault(route, set()).add(person)

        async def send(route: Route) -> bool:
            extra = {"data": dict(data)} if route.has_buttons else {}
            try:
                await async_notify(self._hass, route.service, {**route.target, **message, **extra}, Context())
            except HomeAgentError as err:
                LOGGER.warning("A message was not sent: %s", err)
                self._emitter.fire_error("channels", err, "a message was not sent", channel="notify")
                return False
            return True

        took = await asyncio.gather(*(send(route) for route in routes))
        reached = {one for whose, sent in zip(routes.values(), took, strict=True) if sent for one in whose}
        if not clearing and (chats := chats_of(self._hass, self._entry_id)):
            for person in asked:
                if person not in reached and await async_write_to(
                    chats, chats.of_person(person), str(message["message"])
                ):
                    reached.add(person)
        return bool(reached)

    def _id(self, tag: str) -> str:
        return f"{DOMAIN}_{self._entry_id}_{tag}"


def _data(tag: str, *, urgent: bool = False, buttons: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    data: dict[str, Any] = {"tag": f"{DOMAIN}_{tag}"}
    if urgent:
        data |= {"ttl": 0, "priority": "high", "push": {"interruption-level": "time-sensitive"}}
    if buttons:
        data["actions"] = [dict(button) for button in buttons]
    return data


def speakable(name: str) -> str:
    """Return a name that is only a name: on one line, cut to length, without links, code and markup."""
    name = name.replace("'", "\u2019")
    return " ".join(plain(name).translate(_NO_LINKS).replace("://", " ").split()) or "?"
