"""Confirmations in Telegram: the question with buttons, and the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, override

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant, callback

from ...agent.confirmed import async_carry_out
from ...agent.ordered import ordered
from ...agent.phrases import async_error_sentence, async_phrase
from ...errors import HomeAgentError
from ...knowledge.speaker import Surface, surface
from ...safety.answers import Answer, read_answer
from ...safety.confirmation import (
    ActionOutcome,
    ConfirmationChannel,
    Confirmations,
    Owner,
    PendingAction,
    Refusal,
)
from .bot import Bot, Buttons
from .chats import Chats

APPROVE: Final = "home_agent yes "
REJECT: Final = "home_agent no "


@dataclass(slots=True)
class _ChatQuestion:
    """A question, and the messages that show it."""

    action: PendingAction
    messages: list[tuple[int, int]] = field(default_factory=list)
    """Chat and message."""
    answered_here: bool = False
    """Whether it is the answer to a message of a chat, whose conversation takes the PIN itself."""
    passed_in: set[int] = field(default_factory=set)
    """Chats in which something else was said since: a yes there may be the answer to that."""


class TelegramConfirmations(ConfirmationChannel):
    """Asks in the chats of those who may confirm."""

    def __init__(self, hass: HomeAssistant, confirmations: Confirmations, bot: Bot, chats: Chats) -> None:
        self._hass = hass
        self._confirmations = confirmations
        self._bot = bot
        self._chats = chats
        self._asked: dict[str, _ChatQuestion] = {}

    @override
    async def async_ask(self, action: PendingAction) -> None:
        """Send the question, unless it is the answer to a message that is being written here."""
        here = surface.get() is Surface.TELEGRAM
        self._asked[action.id] = _ChatQuestion(action, answered_here=here)
        if not here:
            self._hass.async_create_task(self._async_send_question(action), "home_agent telegram question")

    @override
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Remove the buttons, and write the outcome into the message."""
        asked = self._asked.pop(action.id, None)
        if asked is None or not asked.messages:
            return
        became = await async_phrase(self._hass, action.speaker.language, f"outcome_{outcome.value}")
        text = f"{action.full}\n\n{became}"
        for chat, message_id in asked.messages:
            self._hass.async_create_task(
                self._bot.async_replace(chat, message_id, text), "home_agent telegram settled"
            )

    async def async_buttons(self, action: PendingAction) -> Buttons:
        """Return the buttons of a question. The PIN, where there is one, is written instead of a yes."""
        language = action.speaker.language
        no = (await async_phrase(self._hass, language, "confirmation_no"), f"{REJECT}{action.id}")
        if self._confirmations.needs_pin(action):
            return [no]
        yes = await async_phrase(self._hass, language, "confirmation_yes")
        return [(yes, f"{APPROVE}{action.id}"), no]

    @callback
    def note_message(self, action: PendingAction, chat: int, message_id: int | None) -> None:
        """Remember the message that shows a question."""
        if message_id is not None and (asked := self._asked.get(action.id)):
            asked.messages.append((chat, message_id))

    @callback
    def note_said(self, chat: int) -> None:
        """Note that the agent says something in a chat, which may itself be a question."""
        for asked in self._asked.values():
            if not asked.answered_here:
                asked.passed_in.add(chat)

    async def async_take_pin(self, chat: int, user: User, text: str) -> str | None:
        """Take a message as the PIN of a question that was asked in this chat; None if it is none.

        What was asked for in this very chat is settled by the conversation itself.
        """
        action = self._waiting_in(chat)
        if action is None or not self._confirmations.needs_pin(action):
            return None
        read = read_answer(text, action.speaker.language)
        if read.answer is Answer.NUMBERS:
            return await async_phrase(self._hass, action.speaker.language, "confirmation_pin_unclear")
        if read.answer is not Answer.PIN:
            return None
        return await self._async_approve(action, user, read.pin)

    async def async_take_answer(self, chat: int, user: User, text: str) -> str | None:
        """Take a message as the yes or no to what Home Agent has asked on its own; None if it is none.

        After anything else was said in the chat, only the buttons of the question answer it.
        """
        action = self._waiting_in(chat)
        if action is None or action.own is None or chat in self._asked[action.id].passed_in:
            return None
        read = read_answer(text, action.speaker.language, ordered(self._hass, action.frozen))
        if read.answer is Answer.NO:
            return await self._async_reject(action, user)
        if read.answer is Answer.YES:
            return await self._async_approve(action, user, None)
        return None

    @callback
    def is_pin(self, owner: Owner, text: str) -> bool:
        """Return whether a message may contain the PIN that the agent requested in a chat."""
        if not self._confirmations.expects_pin(owner):
            return False
        return read_answer(text, self._hass.config.language).has_pin

    async def async_pressed(self, user: User, data: str) -> str:
        """Take the press of a button; return what is said to it."""
        verb = APPROVE if data.startswith(APPROVE) else REJECT
        asked = self._asked.get(data.removeprefix(verb))
        language = self._hass.config.language
        if asked is None:
            return await async_phrase(self._hass, language, Refusal.UNKNOWN.value)
        if verb == APPROVE:
            return await self._async_approve(asked.action, user, None)
        return await self._async_reject(asked.action, user)

    async def _async_reject(self, action: PendingAction, user: User) -> str:
        """Drop what was asked about; return what is said."""
        try:
            await self._confirmations.async_reject(action.id, user=user)
        except HomeAgentError as err:
            return await async_error_sentence(self._hass, self._hass.config.language, err)
        return await async_phrase(self._hass, action.speaker.language, "confirmation_rejected")

    async def _async_approve(self, action: PendingAction, user: User, pin: str | None) -> str:
        """Do what was asked about; return what is said."""
        language = action.speaker.language
        approving = self._confirmations.async_approve(action.id, user=user, pin=pin)
        said, _err = await async_carry_out(self._hass, action, language, approving)
        return said

    @callback
    def _waiting_in(self, chat: int) -> PendingAction | None:
        """Return the newest question that was sent to a chat from somewhere else."""
        return next(
            (
                asked.action
                for asked in reversed(self._asked.values())
                if not asked.answered_here and any(where == chat for where, _message in asked.messages)
            ),
            None,
        )

    async def _async_send_question(self, action: PendingAction) -> None:
        """Send a question to each chat whose person may answer it."""
        question = action.full
        if self._confirmations.needs_pin(action):
            pin = await async_phrase(self._hass, action.speaker.language, "confirmation_pin_needed")
            question = f"{question} {pin}"
        buttons = await self.async_buttons(action)
        for chat, user_id in self._chats.users().items():
            if action.owner.user_id is None and not action.unattended:
                continue
            user = await self._hass.auth.async_get_user(user_id)
            if self._confirmations.may_answer(action, user):
                message_id = await self._bot.async_send(chat, question, buttons, markdown=False)
                self.note_message(action, chat, message_id)


def is_press(event: Mapping[str, Any]) -> bool:
    """Return whether a pressed button is one of ours."""
    return str(event.get("data") or "").startswith((APPROVE, REJECT))
