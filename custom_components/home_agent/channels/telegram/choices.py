"""What people's chats get unasked: messages, and questions with a button for each answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant

from ...agent.phrases import async_phrase
from ...safety.confirmation import Refusal
from ...tools.people import ChatQuestion, user_id_of
from ..choosing import meant
from .bot import Bot
from .chats import Chats

CHOOSE: Final = "home_agent choose "
BESIDE: Final = 5
"""Words beside an answer that is written; a longer message may be about something else."""


@dataclass(slots=True)
class _Open:
    """A question, and the messages that show it."""

    question: ChatQuestion
    messages: dict[int, int] = field(default_factory=dict)
    """By chat."""
    passed_in: set[int] = field(default_factory=set)
    """Chats in which something else was said since."""


class TelegramChoices:
    """The private chats of one entry, and the open questions in them. An answer can also be written."""

    def __init__(self, hass: HomeAssistant, bot: Bot, chats: Chats) -> None:
        self._hass = hass
        self._bot = bot
        self._chats = chats
        self._open: dict[str, _Open] = {}

    def of_person(self, person: str) -> Sequence[int]:
        """Return the chats in which a person is still allowed to write."""
        user_id = user_id_of(self._hass, person)
        return self.of_user(user_id) if user_id else []

    def of_user(self, user_id: str) -> Sequence[int]:
        """Return the chats of a user."""
        return [chat for chat, owner in self._chats.users().items() if owner == user_id]

    def message(self, chat: int, message: str) -> Mapping[str, Any]:
        """Return the data of the call that writes a message as it is: names in it may look like markup."""
        return self._bot.plain(chat, message)

    async def async_write(self, chat: int, message: str) -> bool:
        """Write a message as it is: names in it may look like markup."""
        return await self._bot.async_send(chat, message, markdown=False) is not None

    async def async_ask(self, question: ChatQuestion) -> None:
        """Write a question to the chats of those who are asked."""
        asked = self._open[question.id] = _Open(question)
        titles = question.titles.values()
        buttons = [(title, f"{CHOOSE}{question.id} {number}") for number, title in enumerate(titles)]
        for chat, user_id in self._chats.users().items():
            if user_id in question.users:
                message_id = await self._bot.async_send(chat, question.text, buttons, markdown=False)
                if message_id is not None:
                    asked.messages[chat] = message_id

    async def async_end(self, question_id: str, answer: str | None) -> None:
        """Remove the buttons of a question, and write the answer into the messages."""
        if (asked := self._open.pop(question_id, None)) is None:
            return
        language = self._hass.config.language
        title = asked.question.titles.get(answer or "")
        became = title or await async_phrase(self._hass, language, "outcome_expired")
        for chat, message_id in asked.messages.items():
            await self._bot.async_replace(chat, message_id, f"{asked.question.text}\n\n{became}")

    async def async_pressed(self, user: User, data: str) -> str:
        """Take the press of a button; return what is said to it."""
        question_id, _, number = data.removeprefix(CHOOSE).partition(" ")
        asked = self._open.get(question_id)
        answers = dict(enumerate(asked.question.titles)) if asked else {}
        answer = answers.get(int(number)) if number.isdecimal() else None
        if asked is None or answer is None or user.id not in asked.question.users:
            return await async_phrase(self._hass, self._hass.config.language, Refusal.UNKNOWN.value)
        return self._take(asked, user, answer)

    def take_answer(self, chat: int, user: User, text: str) -> str | None:
        """Take a message as the answer to the newest question in a chat; None if it is none."""
        for asked in reversed(self._open.values()):
            if chat not in asked.messages or chat in asked.passed_in or user.id not in asked.question.users:
                continue
            answer = meant(text, asked.question.titles, self._hass.config.language)
            if answer is None or len(text.split()) > len(asked.question.titles[answer].split()) + BESIDE:
                return None
            return self._take(asked, user, answer)
        return None

    def note_said(self, chat: int) -> None:
        """Note that the agent says something in a chat, which may itself be a question."""
        for asked in self._open.values():
            asked.passed_in.add(chat)

    @staticmethod
    def _take(asked: _Open, user: User, answer: str) -> str:
        """Pass an answer on; return it as it is shown."""
        asked.question.take(user.id, answer)
        return asked.question.titles[answer]


def is_choice(event: Mapping[str, object]) -> bool:
    """Return whether a pressed button is an answer to such a question."""
    return str(event.get("data") or "").startswith(CHOOSE)
