"""Messenger: sends unasked messages to phones or chats, not too often and not at night."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from homeassistant.components import persistent_notification
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..agent.describe import async_phrase
from ..channels.phones import CLEAR, async_send_to, tagged
from ..const import CONF_PROACTIVE_MAX_PER_DAY, DOMAIN
from ..events import EventEmitter
from ..texts import without_embeds
from ..timespans import QuietHours
from ..tools.recipients import People, Route, async_write_to, chats_of
from ..tools.resolving.resolver import plain
from .state import ProactiveState

URGENT_MORE: Final = 10
"""Urgent messages that a day takes beyond its limit."""

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
        self._people = People(hass, entry_id, settings)
        self._most = int(settings[CONF_PROACTIVE_MAX_PER_DAY])
        self._state = state
        self._emitter = emitter
        self.quiet = QuietHours.from_options(settings)

    @property
    def persons(self) -> Sequence[str]:
        """Return the people with notify targets or chats."""
        return self._people.reached

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
        persons: Collection[str],
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
        actions = {"actions": [dict(button) for button in buttons]} if buttons else {}
        data = tagged(f"{DOMAIN}_{tag}", urgent=urgent, **actions)
        reached = await self._async_send(persons, {"title": title, "message": message}, data)
        if chats := chats_of(self._hass, self._entry_id):
            # Whose notify targets all failed gets the message in a chat instead.
            for person in dict.fromkeys(persons):
                if person not in reached and await async_write_to(chats, chats.of_person(person), message):
                    reached.add(person)
        if openly and (shown is not None or not reached):
            text = without_embeds(shown or message)
            persistent_notification.async_create(self._hass, text, title, self._id(tag))

    async def async_clear(self, tag: str, persons: Iterable[str]) -> None:
        """Take a message back where that is possible."""
        persistent_notification.async_dismiss(self._hass, self._id(tag))
        await self._async_send(persons, {"message": CLEAR}, tagged(f"{DOMAIN}_{tag}"), clearing=True)

    async def _async_send(
        self, persons: Iterable[str], message: dict[str, Any], data: dict[str, Any], *, clearing: bool = False
    ) -> set[str]:
        """Send to each target; return the persons of those that took it."""
        routes: dict[Route, set[str]] = {}
        for person in persons:
            for route in self._people.routes(person):
                if route.can_clear or not clearing:
                    routes.setdefault(route, set()).add(person)
        messages = {route: {**message, **(data if route.has_buttons else {})} for route in routes}
        took = await async_send_to(self._hass, messages, Context(), "a message was not sent", self._emitter)
        return {person for route in took for person in routes[route]}

    def _id(self, tag: str) -> str:
        return f"{DOMAIN}_{self._entry_id}_{tag}"


def speakable(name: str) -> str:
    """Return a name that is only a name: on one line, cut to length, without links, code and markup."""
    name = name.replace("'", "\u2019")
    return " ".join(plain(name).translate(_NO_LINKS).replace("://", " ").split()) or "?"
