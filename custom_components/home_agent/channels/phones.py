"""Confirmations on phones, and as notifications of Home Assistant if no one is present to hear them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, override

from homeassistant.auth.models import User
from homeassistant.components import persistent_notification
from homeassistant.core import CALLBACK_TYPE, Context, Event, EventOrigin, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..agent.describe import async_error_sentence, async_phrase
from ..const import LOGGER
from ..errors import HomeAgentError
from ..events import EventEmitter
from ..safety.confirmation import (
    ActionOutcome,
    ConfirmationChannel,
    ConfirmationRefused,
    Confirmations,
    PendingAction,
    Refusal,
)
from ..texts import literal
from ..tools.own_calls import async_notify
from ..tools.recipients import Route, read_targets, reads_html, route_to, user_id_of

EVENT_PHONE = "mobile_app_notification_action"
"""Fired by the companion app when a button of a notification was pressed."""

APPROVE = "HOME_AGENT_APPROVE_"
REJECT = "HOME_AGENT_REJECT_"
CLEAR = "clear_notification"
"""The message by which the companion app takes a notification away."""


@dataclass(slots=True)
class _SentQuestion:
    """A question that was sent, and where to."""

    action: PendingAction
    routes: list[Route]
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """What is sent about one action is sent one after the other."""


@callback
def async_on_press(hass: HomeAssistant, take: Callable[[User, str, str], Awaitable[None]]) -> CALLBACK_TYPE:
    """Have buttons of notifications taken: the user whose phone it is, the button, and what was typed.

    Events that a script or an automation fires are no presses.
    """

    async def async_pressed(event: Event[Any]) -> None:
        user_id = event.context.user_id if event.origin is EventOrigin.remote else None
        if user_id and (user := await hass.auth.async_get_user(user_id)) is not None:
            reply = str(event.data.get("reply_text") or "").strip()
            await take(user, str(event.data.get("action", "")), reply)

    return hass.bus.async_listen(EVENT_PHONE, async_pressed)


async def async_send_to(
    hass: HomeAssistant,
    messages: Mapping[Route, Mapping[str, Any]],
    context: Context,
    failure: str,
    emitter: EventEmitter,
) -> set[Route]:
    """Send to each target; one that cannot be reached does not stop the others. Return those that took it.

    A message is shown as it is; `failure` is what the log and the event of the error say.
    """

    async def async_send(route: Route, message: Mapping[str, Any]) -> Route | None:
        if reads_html(hass, route):
            message = {**message, "message": escape(message["message"], quote=False)}
        try:
            await async_notify(hass, route.service, {**route.target, **message}, context)
        except HomeAgentError as err:
            LOGGER.warning("%s: %s", failure.capitalize(), err)
            emitter.fire_error("channels", err, failure, channel="notify")
            return None
        return route

    taken = await asyncio.gather(*(async_send(route, message) for route, message in messages.items()))
    return {route for route in taken if route is not None}


def tagged(tag: str, *, urgent: bool = False, **details: Any) -> dict[str, Any]:
    """Return the data of a notification that takes buttons; the tag is that by which it is replaced."""
    data = {"tag": tag, **details}
    if urgent:
        data |= {"ttl": 0, "priority": "high", "push": {"interruption-level": "time-sensitive"}}
    return {"data": data}


class PhoneChannel(ConfirmationChannel):
    """Asks the person who asked for it, on the notify targets of that person.

    What an automation asked for goes to everyone who may confirm it, and is shown in Home Assistant. An
    unknown voice is asked where it speaks, and on no phone.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        confirmations: Confirmations,
        stored: Iterable[Mapping[str, Any]],
        emitter: EventEmitter,
    ) -> None:
        self._hass = hass
        self._confirmations = confirmations
        self._targets = read_targets(stored)
        self._emitter = emitter
        self._asked: dict[str, _SentQuestion] = {}

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Begin to ask and to take answers; return how to stop."""
        self._confirmations.channels.append(self)
        return async_on_press(self._hass, self._async_answered)

    @override
    async def async_ask(self, action: PendingAction) -> None:
        """Send the question to the notify targets of those who may answer, without waiting for the phones."""
        if action.unattended and action.own is None:
            persistent_notification.async_create(
                self._hass,
                f"{literal(action.full)}\n\n{await self._async_how(action)}",
                await async_phrase(self._hass, action.speaker.language, "confirmation_title"),
                _tag(action),
            )
        routes: dict[Route, None] = {}
        for person, targets in self._targets.items():
            may_answer = await self._confirmations.async_asked_of(action, user_id_of(self._hass, person))
            for target in targets if may_answer else ():
                if (route := route_to(self._hass, target)) is None:
                    LOGGER.warning("%s is not there; nothing was sent to it", target)
                else:
                    routes[route] = None
        if routes:
            self._asked[action.id] = asked = _SentQuestion(action, list(routes))
            self._start(self._async_send_question(asked))

    @override
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Take the question away."""
        if action.unattended and action.own is None:
            persistent_notification.async_dismiss(self._hass, _tag(action))
        if asked := self._asked.pop(action.id, None):
            cleared = [route for route in asked.routes if route.can_clear]
            self._start(self._async_send(asked, dict.fromkeys(cleared, CLEAR)))

    async def _async_send_question(self, asked: _SentQuestion, hint: str = "") -> None:
        action, language = asked.action, asked.action.speaker.language
        wants_pin = self._confirmations.needs_pin(action)
        if wants_pin and not hint:
            hint = await async_phrase(self._hass, language, "confirmation_phone_pin")
        how = await self._async_how(action)
        yes: dict[str, Any] = {
            "action": f"{APPROVE}{action.id}",
            "title": await async_phrase(self._hass, language, "confirmation_yes"),
            "authenticationRequired": True,
        }
        if wants_pin:
            yes |= {
                "behavior": "textInput",
                "textInputButtonTitle": yes["title"],
                "textInputPlaceholder": await async_phrase(self._hass, language, "confirmation_pin"),
            }
        no = {
            "action": f"{REJECT}{action.id}",
            "title": await async_phrase(self._hass, language, "confirmation_no"),
        }
        seconds = max(1, int((action.expires_at - dt_util.utcnow()).total_seconds()))
        texts = {
            route: f"{action.full} {hint if route.has_buttons else how}".strip() for route in asked.routes
        }
        await self._async_send(asked, texts, actions=[yes, no], timeout=seconds)

    async def _async_how(self, action: PendingAction) -> str:
        """Return how a question is answered where it has no buttons, and until when."""
        key = "confirmation_how" if action.unattended else "confirmation_there"
        time = f"{dt_util.as_local(action.expires_at):%H:%M:%S}"
        return await async_phrase(self._hass, action.speaker.language, key, action_id=action.id, time=time)

    async def _async_send(self, asked: _SentQuestion, texts: Mapping[Route, str], **details: Any) -> None:
        title = await async_phrase(self._hass, asked.action.speaker.language, "confirmation_title")
        data = tagged(_tag(asked.action), urgent=True, **details)
        messages = {
            route: {"title": title, "message": text, **(data if route.has_buttons else {})}
            for route, text in texts.items()
        }
        context = Context(parent_id=asked.action.speaker.context.id)
        async with asked.turn:
            await async_send_to(
                self._hass, messages, context, "a question for a confirmation was not sent", self._emitter
            )

    async def _async_answered(self, user: User, button: str, reply: str) -> None:
        verb = next((verb for verb in (APPROVE, REJECT) if button.startswith(verb)), None)
        if verb is None or not self._confirmations.has(action_id := button.removeprefix(verb)):
            return
        asked = self._asked.get(action_id)
        try:
            if verb == APPROVE:
                await self._confirmations.async_approve(action_id, user=user, pin=reply or None)
            else:
                await self._confirmations.async_reject(action_id, user=user)
        except HomeAgentError as err:
            LOGGER.info("The answer of a phone does not count: %s", err)
            reason = err.reason if isinstance(err, ConfirmationRefused) else None
            if asked is None or reason is Refusal.NOT_YOURS:
                return
            sentence = await async_error_sentence(self._hass, asked.action.speaker.language, err)
            if reason in (Refusal.PIN_NEEDED, Refusal.PIN_WRONG):
                self._start(self._async_send_question(asked, sentence))
            else:
                self._start(self._async_send(asked, dict.fromkeys(asked.routes, sentence)))

    @callback
    def _start(self, sending: Any) -> None:
        self._hass.async_create_task(sending, "home_agent notification")


def _tag(action: PendingAction) -> str:
    return f"home_agent_{action.id}"
