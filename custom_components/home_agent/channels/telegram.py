"""The bridge: messages of known persons to the bot are turns, and the bot sends the answers."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from html import escape
from pathlib import Path
import re
from typing import Any, Final, override

from homeassistant.auth.models import User
from homeassistant.components import conversation
from homeassistant.config_entries import (
    SIGNAL_CONFIG_ENTRY_CHANGED,
    ConfigEntry,
    ConfigEntryChange,
    ConfigEntryState,
)
from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..agent.describe import async_carry_out, async_error_sentence, async_phrase, ordered
from ..agent.pictures import MAX_BYTES, data_url, kind_of_picture
from ..const import CONF_TELEGRAM_CHATS, LOGGER
from ..entity import conversation_entity
from ..errors import HomeAgentError, InvalidInput, ToolExecutionError
from ..events import EventEmitter
from ..knowledge.speaker import PERSON, Surface, async_person_of_user, sent_pictures, surface, written_in
from ..languages.sentence import Mood, read as read_sentence
from ..memory.records import Memory, is_visible
from ..privacy import async_forget
from ..regex import lazy_regex
from ..runtime import HomeAgentConfigEntry
from ..safety.answers import Answer, read_answer
from ..safety.confirmation import (
    ActionOutcome,
    Addressee,
    ConfirmationChannel,
    Confirmations,
    PendingAction,
    Refusal,
)
from ..safety.journal import MAX_ENTRIES, AuditKind
from ..tools.own_calls import TELEGRAM, async_telegram
from ..tools.recipients import CHAT, ChatQuestion, async_register_chats, user_id_of
from .asking import NO, YES, meant

OURS: Final = "home_agent"
"""The first word of the data of our buttons; the answer and the id of the question follow."""
BESIDE: Final = 5
"""Words beside an answer that is written; a longer message may be about something else."""


@dataclass(slots=True)
class _Shown:
    """A question whether to do something, or for one of several answers, and the messages that show it."""

    asked: PendingAction | ChatQuestion
    answered_here: bool = False
    """Whether it is the answer to a message of a chat, whose conversation takes the PIN itself."""
    messages: list[tuple[int, int]] = field(default_factory=list)
    """Chat and message."""
    passed_in: set[int] = field(default_factory=set)
    """Chats in which something else was said since: a yes there may be the answer to that."""
    sending: asyncio.Task[None] | None = None

    @property
    def is_free(self) -> bool:
        """Return whether people answer in their own words."""
        return isinstance(self.asked, ChatQuestion) and not self.asked.titles

    def waits_in(self, chat: int) -> bool:
        """Return whether it was sent to a chat from somewhere else."""
        return not self.answered_here and any(where == chat for where, _message in self.messages)


class TelegramQuestions(ConfirmationChannel):
    """Asks in the private chats of those who may answer: for a yes, or for one of several answers."""

    def __init__(
        self,
        hass: HomeAssistant,
        confirmations: Confirmations,
        bot: Bot,
        stored: Iterable[Mapping[str, Any]],
    ) -> None:
        self._hass = hass
        self._confirmations = confirmations
        self._bot = bot
        self._persons = read_chats(stored)
        self._shown: dict[str, _Shown] = {}

    @callback
    def user_of(self, event: Mapping[str, Any]) -> str | None:
        """Return the Home Assistant user who wrote or pressed; None for anyone else.

        Only in a chat of their own: in a group others read along.
        """
        chat = event.get("chat_id")
        if chat is None or chat != event.get("user_id") or chat not in self._persons:
            return None
        return user_id_of(self._hass, self._persons[chat])

    @callback
    def _users(self) -> dict[int, str]:
        users = {chat: user_id_of(self._hass, person) for chat, person in self._persons.items()}
        return {chat: user_id for chat, user_id in users.items() if user_id is not None}

    def of_person(self, person: str) -> Sequence[int]:
        """Return the chats in which a person is still allowed to write."""
        user_id = user_id_of(self._hass, person)
        return self.of_user(user_id) if user_id else []

    def of_user(self, user_id: str) -> Sequence[int]:
        """Return the chats of a user."""
        return [chat for chat, owner in self._users().items() if owner == user_id]

    def message(self, chat: int, message: str) -> Mapping[str, Any]:
        """Return the data of the call that writes a message as it is: names in it may look like markup."""
        return self._bot.plain(chat, message)

    async def async_write(self, chat: int, message: str) -> bool:
        """Write a message as it is: names in it may look like markup."""
        return await self._bot.async_send(chat, message, markdown=False) is not None

    @override
    async def async_ask(self, action: PendingAction | ChatQuestion) -> None:
        """Send a question; not one that is the answer to a message that is being written here."""
        is_choice = isinstance(action, ChatQuestion)
        here = not is_choice and surface.get() is Surface.TELEGRAM
        self._shown[action.id] = shown = _Shown(action, here)
        if not here:
            # Whoever takes the question back meanwhile needs the messages that were sent.
            shown.sending = self._hass.async_create_task(
                self._async_send(shown), "home_agent telegram question"
            )
        if is_choice and shown.sending:
            await asyncio.shield(shown.sending)

    async def _async_send(self, shown: _Shown) -> None:
        """Send a question to each chat whose person may answer it."""
        asked = shown.asked
        if isinstance(asked, ChatQuestion):
            text, titles = asked.text, enumerate(asked.titles.values())
            buttons: Buttons = [(title, f"{OURS} {number} {asked.id}") for number, title in titles]
        else:
            text, buttons = asked.full, await self._async_buttons(asked)
            if self._confirmations.needs_pin(asked):
                pin = await async_phrase(self._hass, asked.speaker.language, "confirmation_pin_needed")
                text = f"{text} {pin}"
        for chat, user_id in self._users().items():
            if isinstance(asked, ChatQuestion):
                is_asked = user_id in asked.users
            else:
                is_asked = await self._confirmations.async_asked_of(asked, user_id)
            if is_asked:
                await self._async_show(shown, chat, text, buttons)

    async def _async_answer(self, shown: _Shown, user: User, key: str) -> str:
        """Take the answer of a user by its key, and return what is said."""
        asked, language = shown.asked, self._hass.config.language
        if isinstance(asked, ChatQuestion):
            if user.id not in asked.users or (asked.titles and key not in asked.titles):
                return await async_phrase(self._hass, language, Refusal.UNKNOWN.value)
            asked.take(user.id, key)
            return asked.titles.get(key) or await async_phrase(self._hass, language, "done")
        if key == YES:
            return await self._async_approve(asked, user, None)
        try:
            await self._confirmations.async_reject(asked.id, user=user)
        except HomeAgentError as err:
            return await async_error_sentence(self._hass, language, err)
        return await async_phrase(self._hass, asked.speaker.language, "confirmation_rejected")

    @override
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Remove the buttons, and write the outcome into the message."""
        if (shown := self._shown.pop(action.id, None)) is not None:
            became = await async_phrase(self._hass, action.speaker.language, f"outcome_{outcome.value}")
            self._hass.async_create_task(self._async_close(shown, became), "home_agent telegram settled")

    async def async_end(self, question_id: str, answer: str | None) -> None:
        """Remove the buttons of a question, and write the answer into the messages."""
        if (shown := self._shown.pop(question_id, None)) is not None:
            titles = shown.asked.titles if isinstance(shown.asked, ChatQuestion) else {}
            expired = await async_phrase(self._hass, self._hass.config.language, "outcome_expired")
            await self._async_close(shown, titles.get(answer or "") or answer or expired)

    async def _async_close(self, shown: _Shown, became: str) -> None:
        if shown.sending is not None:
            await asyncio.wait([shown.sending])
        text = shown.asked.text if isinstance(shown.asked, ChatQuestion) else shown.asked.full
        for chat, message_id in shown.messages:
            await self._bot.async_replace(chat, message_id, f"{text}\n\n{became}")

    async def _async_buttons(self, action: PendingAction) -> Buttons:
        """Return the buttons of a question. The PIN, where there is one, is written instead of a yes."""
        keys = (NO,) if self._confirmations.needs_pin(action) else (YES, NO)
        language = action.speaker.language
        return [
            (await async_phrase(self._hass, language, f"confirmation_{key}"), f"{OURS} {key} {action.id}")
            for key in keys
        ]

    @callback
    def note_said(self, chat: int, *, asks: bool) -> None:
        """Note that the agent says something in a chat, which may itself be a question.

        What has no buttons is open again as soon as the agent no longer waits for an answer of its own.
        """
        for shown in self._shown.values():
            if shown.is_free and not asks:
                shown.passed_in.discard(chat)
            elif not shown.answered_here:
                shown.passed_in.add(chat)

    async def async_take_pin(self, chat: int, user: User, text: str) -> str | None:
        """Take a message as the PIN of a question that was asked in this chat; None if it is none.

        What was asked for in this very chat is settled by the conversation itself.
        """
        asked = [shown.asked for shown in self._shown.values() if shown.waits_in(chat)]
        actions = (action for action in reversed(asked) if isinstance(action, PendingAction))
        action = next(actions, None)
        if action is None or not self._confirmations.needs_pin(action):
            return None
        read = read_answer(text, action.speaker.language)
        if read.answer is Answer.NUMBERS:
            return await async_phrase(self._hass, action.speaker.language, "confirmation_pin_unclear")
        return await self._async_approve(action, user, read.pin) if read.answer is Answer.PIN else None

    async def async_take_answer(
        self, chat: int, user: User, text: str, asked: Addressee, replied_to: int | None
    ) -> str | None:
        """Take a message as the answer to what Home Agent has asked on its own; None if it is none.

        After anything else was said in the chat, only its buttons answer it, and a reply to its message.
        """
        reply, newest = (chat, replied_to), [*reversed(self._shown.values())]
        for shown in sorted(newest, key=lambda one: reply not in one.messages):
            question, key, is_reply = shown.asked, None, reply in shown.messages
            if not shown.waits_in(chat) or (chat in shown.passed_in and not is_reply):
                continue
            if isinstance(question, PendingAction):
                if question.own is not None:
                    read = read_answer(text, question.speaker.language, ordered(self._hass, question.frozen))
                    key = {Answer.YES: YES, Answer.NO: NO}.get(read.answer)
            elif shown.is_free:
                key = text if self._may_pass_on(asked, text, is_reply=is_reply) else None
            else:
                key = meant(text, question.titles, self._hass.config.language)
                if key and len(text.split()) > len(question.titles[key].split()) + BESIDE:
                    key = None
            return await self._async_answer(shown, user, key) if key else None
        return None

    @callback
    def _may_pass_on(self, asked: Addressee, text: str, *, is_reply: bool) -> bool:
        """Return whether a message may be for another person: no PIN, no order, question, or awaited answer.

        All but the PIN may be in a reply to the message that asks.
        """
        if self.is_pin(asked, text):
            return False
        waiting, language = self._confirmations.waiting_for(asked), self._hass.config.language
        answer = waiting and read_answer(text, language, ordered(self._hass, waiting.frozen)).answer
        said = read_sentence(text, language)
        return is_reply or (
            said.kind is not Mood.ORDER and not said.only_asks and answer in (None, Answer.OTHER)
        )

    @callback
    def is_pin(self, asked: Addressee, text: str) -> bool:
        """Return whether a message may contain the PIN that the agent requested in a chat."""
        if not self._confirmations.expects_pin(asked):
            return False
        return read_answer(text, self._hass.config.language).has_pin

    async def async_pressed(self, user: User, data: str) -> str | None:
        """Take the press of a button; return what is said to it, None if it is not one of ours."""
        ours, _, rest = data.partition(" ")
        key, _, question_id = rest.partition(" ")
        if ours != OURS:
            return None
        if (shown := self._shown.get(question_id)) is None:
            return await async_phrase(self._hass, self._hass.config.language, Refusal.UNKNOWN.value)
        titles = shown.asked.titles if isinstance(shown.asked, ChatQuestion) else ()
        numbered = {str(number): title for number, title in enumerate(titles)}
        return await self._async_answer(shown, user, numbered.get(key, key))

    async def _async_approve(self, action: PendingAction, user: User, pin: str | None) -> str:
        approving = self._confirmations.async_approve(action.id, user=user, pin=pin)
        said, _err = await async_carry_out(self._hass, action, action.speaker.language, approving)
        return said

    async def async_answer(self, chat: int, answer: str, action: PendingAction | None) -> None:
        """Send an answer, which may be the question about an action."""
        buttons = await self._async_buttons(action) if action else ()
        shown = self._shown.get(action.id) if action else None
        await self._async_show(shown, chat, answer, buttons, markdown=True)

    async def _async_show(
        self, shown: _Shown | None, chat: int, text: str, buttons: Buttons, *, markdown: bool = False
    ) -> None:
        message_id = await self._bot.async_send(chat, text, buttons, markdown=markdown)
        if message_id is not None and shown is not None:
            shown.messages.append((chat, message_id))


MAX_SHOWN: Final = 20
MAX_QUERY: Final = 120


@dataclass(slots=True)
class Chat:
    """What is known of a chat while Home Assistant runs."""

    id: int
    conversation_id: str | None = None
    listed: list[str] = field(default_factory=list)
    """The memories of the last list, in its order."""
    waiting: deque[tuple[User, str, dict[str, Any]]] = field(default_factory=deque)
    """Who has written, the type of the bot's event, and its data."""
    task: asyncio.Task[None] | None = None
    seen: deque[int] = field(default_factory=lambda: deque(maxlen=MAX_SEEN))
    """The ids of the last messages."""


HTML: Final = "html"
PLAIN: Final = "plain_text"
MAX_TOAST: Final = 60
"""Characters of what is said at a button without a dialog."""
MAX_IN_ROW: Final = 2
"""Buttons beside each other; more would cut off their labels."""
TYPING_SECONDS: Final = 4
"""Telegram shows the typing indicator for five seconds."""

NO_PREVIEW: Final = {"disable_web_page_preview": True}
"""Telegram would fetch every address in an answer, and reveal what the address contains."""

type Buttons = Sequence[tuple[str, str]]
"""Label and data of each button of one row."""


class Bot:
    """Sends to the chats of one entry, with the bot that knows the chat."""

    def __init__(self, hass: HomeAssistant, emitter: EventEmitter) -> None:
        self._hass = hass
        self._emitter = emitter
        self.entries: dict[int, str] = {}
        """The bot by which each chat has written last."""

    @callback
    def plain(self, chat: int, message: str) -> dict[str, Any]:
        """Return the data of a message without markup, which fits into one piece."""
        return self._to(chat, {"message": message, "parse_mode": PLAIN, **NO_PREVIEW})

    async def async_send(
        self, chat: int, answer: str, buttons: Buttons = (), *, markdown: bool = True
    ) -> int | None:
        """Send an answer in as many messages as it takes; return the id of the last one.

        What Telegram does not take as HTML is sent as it was written. None if nothing could be sent.
        """
        parts = list(pieces(answer))
        sent = None
        for number, part in enumerate(parts, 1):
            row = [[label, data] for label, data in buttons] if number == len(parts) else []
            rows = [row] if len(row) <= MAX_IN_ROW else [[button] for button in row]
            extra = {"inline_keyboard": rows} if row else {}
            sent = await self._async_message(chat, part, extra, markdown=markdown)
        return sent

    async def async_replace(self, chat: int, message_id: int, text: str) -> None:
        """Put other words in a message's place, as they are; its buttons go."""
        first = next(pieces(text))
        data = {"message_id": message_id, "message": first, "parse_mode": PLAIN, **NO_PREVIEW}
        await self._async_try(chat, "edit_message", data)

    async def async_delete(self, chat: int, message_id: int) -> None:
        """Take a message away."""
        await self._async_try(chat, "delete_message", {"message_id": message_id})

    async def async_answer_press(self, chat: int, query_id: str, text: str) -> None:
        """Show the outcome at the button."""
        data = {"callback_query_id": query_id, "message": text[:200], "show_alert": len(text) > MAX_TOAST}
        await self._async_try(chat, "answer_callback_query", data, to_chat=False)

    @asynccontextmanager
    async def typing(self, chat: int) -> AsyncGenerator[None]:
        """Show the typing indicator until the work is done."""

        async def show() -> None:
            while True:
                await self._async_try(chat, "send_chat_action", {"chat_action": "typing"})
                await asyncio.sleep(TYPING_SECONDS)

        task = self._hass.async_create_background_task(show(), "home_agent telegram typing")
        try:
            yield
        finally:
            task.cancel()

    async def _async_message(
        self, chat: int, part: str, buttons: dict[str, Any], *, markdown: bool
    ) -> int | None:
        for message, mode in ((as_html(part), HTML), (part, PLAIN)) if markdown else ((part, PLAIN),):
            data = self._to(chat, {"message": message, "parse_mode": mode, **NO_PREVIEW, **buttons})
            try:
                answer = await async_telegram(self._hass, "send_message", data, answers=True)
            except ToolExecutionError as err:
                if mode == HTML and "parse" in str(err).lower():
                    continue
                LOGGER.warning("An answer was not sent to Telegram: %s", err)
                self._emitter.fire_error("channels", err, "an answer was not sent", channel="telegram")
                return None
            sent: dict[str, Any] = next(
                (item for item in answer.get("chats", []) if item.get("chat_id") == chat), {}
            )
            return sent.get("message_id")
        return None

    async def _async_try(
        self, chat: int, service: str, data: dict[str, Any], *, to_chat: bool = True
    ) -> None:
        try:
            await async_telegram(self._hass, service, self._to(chat, data, to_chat=to_chat))
        except ToolExecutionError as err:
            LOGGER.debug("Telegram: %s", err)

    def _to(self, chat: int, data: dict[str, Any], *, to_chat: bool = True) -> dict[str, Any]:
        target: dict[str, Any] = {"chat_id": chat} if to_chat else {}
        bots = (
            entry.entry_id
            for entry in self._hass.config_entries.async_loaded_entries(TELEGRAM)
            if any(part.data.get("chat_id") == chat for part in entry.subentries.values())
        )
        if entry_id := self.entries.get(chat) or next(bots, None):
            target["config_entry_id"] = entry_id
        return {**target, **data}


MAX_WAITING: Final = 5
"""Messages of a chat that wait for their turn; the sender of any more gets a notice."""
MAX_AGE: Final = timedelta(minutes=5)
"""What was written longer ago, while Home Assistant was away, is not done any more."""
MAX_SEEN: Final = 200
RECEIVED: Final = ("telegram_text", "telegram_command", "telegram_attachment")


class TelegramBridge:
    """Serves the chats of one entry."""

    def __init__(self, hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
        self._hass = hass
        self._entry = entry
        data = entry.runtime_data
        self._bot = Bot(hass, data.emitter)
        chats = data.settings[CONF_TELEGRAM_CHATS]
        self._questions = TelegramQuestions(hass, data.confirmations, self._bot, chats)
        self._chats: dict[int, Chat] = {}

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Begin to listen; return how to stop."""
        self._entry.runtime_data.confirmations.channels.append(self._questions)
        bots: dict[str, CALLBACK_TYPE] = {}

        @callback
        def follow(_change: ConfigEntryChange, bot: ConfigEntry[Any]) -> None:
            """Take what a bot receives while its entry is loaded, from the bot itself.

            Events on the bus that look like a bot's own may be fired by any automation.
            """
            if bot.domain != TELEGRAM:
                return
            if (end := bots.pop(bot.entry_id, None)) is not None:
                end()
            if bot.state is ConfigEntryState.LOADED:
                from homeassistant.components.telegram_bot.helpers import (  # noqa: PLC0415 - needs the bot's library
                    signal,
                )

                received = partial(self._async_update, bot.entry_id)
                bots[bot.entry_id] = async_dispatcher_connect(
                    self._hass, signal(bot.runtime_data.bot), received
                )

        for bot in self._hass.config_entries.async_loaded_entries(TELEGRAM):
            follow(ConfigEntryChange.ADDED, bot)
        ends = [async_dispatcher_connect(self._hass, SIGNAL_CONFIG_ENTRY_CHANGED, follow)]
        ends.append(async_register_chats(self._hass, self._entry.entry_id, self._questions))

        @callback
        def stop() -> None:
            for end in (*ends, *bots.values()):
                end()
            for chat in self._chats.values():
                if chat.task is not None:
                    chat.task.cancel()

        return stop

    async def _async_update(self, entry_id: str, kind: str, data: dict[str, Any]) -> None:
        """Take what a bot has received from a person with a chat; others get no answer."""
        user_id = self._questions.user_of(data)
        user = await self._hass.auth.async_get_user(user_id) if user_id else None
        if user is None or not user.is_active:
            return
        self._bot.entries[data["chat_id"]] = entry_id
        if kind == "telegram_callback":
            if said := await self._questions.async_pressed(user, str(data.get("data") or "")):
                await self._bot.async_answer_press(data["chat_id"], data["id"], said)
                await self._bot.async_send(data["chat_id"], said)
            return
        # A message that was edited is not done again.
        chat, message_id = self._chats.setdefault(data["chat_id"], Chat(data["chat_id"])), data.get("id", 0)
        if kind not in RECEIVED or message_id in chat.seen:
            return
        chat.seen.append(message_id)
        if len(chat.waiting) >= MAX_WAITING:
            await self._async_tell(chat.id, "telegram_too_many")
            return
        chat.waiting.append((user, kind, data))
        if chat.task is None or chat.task.done():
            chat.task = self._entry.async_create_background_task(
                self._hass, self._async_work(chat), "home_agent telegram"
            )

    async def _async_work(self, chat: Chat) -> None:
        surface.set(Surface.TELEGRAM)
        written_in.set(chat.id)
        while chat.waiting:
            user, kind, data = chat.waiting.popleft()
            try:
                await self._async_answer(chat, user, kind, data)
            except HomeAssistantError as err:
                LOGGER.warning("A message from Telegram was not answered: %s", err)
                await self._async_tell(chat.id, "telegram_failed")
            except Exception:  # noqa: BLE001 - a person is always answered, and so is who writes next
                LOGGER.exception("A message from Telegram failed unexpectedly")
                await self._async_tell(chat.id, "telegram_failed")

    async def _async_answer(self, chat: Chat, user: User, kind: str, data: dict[str, Any]) -> None:
        owner = Addressee(conversation_id=chat.conversation_id or "", user_id=user.id, device_id=None)
        replied_to, date = data.get("reply_to_message_id"), data.get("date")
        at = dt_util.parse_datetime(date) if isinstance(date, str) else date
        if at is not None and dt_util.utcnow() - at > MAX_AGE:
            await self._async_tell(chat.id, "telegram_old")
        elif kind == "telegram_command":
            said = " ".join(data.get("args", ()))
            answer = await self._async_command(chat, user, data["command"], said)
            await self._bot.async_send(chat.id, answer, markdown=False)
        elif kind == "telegram_attachment" and is_picture(data):
            await self._async_show(chat, user, data)
        elif kind == "telegram_attachment" or not (text := data.get("text")):
            await self._async_tell(chat.id, "telegram_text_only")
        elif told := await self._questions.async_take_pin(chat.id, user, text):
            await self._bot.async_delete(chat.id, data["id"])
            await self._bot.async_send(chat.id, told)
        elif told := await self._questions.async_take_answer(chat.id, user, text, owner, replied_to):
            await self._bot.async_send(chat.id, told, markdown=False)
        else:
            if self._questions.is_pin(owner, text):
                await self._bot.async_delete(chat.id, data["id"])
            await self._async_converse(chat, user, text)

    async def _async_show(self, chat: Chat, user: User, data: dict[str, Any]) -> None:
        """Let the agent answer about the photos of a message; without a caption it is asked what they show.

        Telegram sends each photo of an album as a message of its own.
        """
        pictures: list[str] = []
        captions: list[str] = []
        photo: dict[str, Any] | None = data
        while photo is not None:
            try:
                async with self._bot.typing(chat.id):
                    pictures.append(await async_photo(self._hass, photo))
            except PhotoUnusable as err:
                await self._async_tell(chat.id, err.key)
            captions += filter(None, [photo.get("text")])
            # What was sent with the one before waits already.
            wanted = (photo.get("date"), photo.get("id", 0) + 1)
            photo = None
            if chat.waiting:
                _user, kind, other = chat.waiting[0]
                is_next = (other.get("date"), other.get("id")) == wanted
                if is_next and kind == "telegram_attachment" and is_picture(other):
                    photo = chat.waiting.popleft()[2]
        if not pictures:
            return
        passed = sent_pictures.set(pictures)
        try:
            asked = await async_phrase(self._hass, self._hass.config.language, "telegram_photo_asked")
            text = "\n".join(captions) or asked
            await self._async_converse(chat, user, text)
        finally:
            sent_pictures.reset(passed)

    async def _async_converse(self, chat: Chat, user: User, text: str) -> None:
        async with self._bot.typing(chat.id):
            result = await conversation.async_converse(
                self._hass,
                text=text,
                conversation_id=chat.conversation_id,
                context=Context(user_id=user.id),
                language=self._hass.config.language,
                agent_id=conversation_entity(self._hass, self._entry.entry_id),
            )
        chat.conversation_id = result.conversation_id
        self._questions.note_said(chat.id, asks=result.continue_conversation)
        speech = result.response.speech.get("plain", {})
        answer = str(speech.get("original_speech") or speech.get("speech") or "")
        owner = Addressee(conversation_id=result.conversation_id or "", user_id=user.id, device_id=None)
        action = self._entry.runtime_data.confirmations.waiting_for(owner)
        await self._questions.async_answer(chat.id, answer, action)

    async def _async_tell(self, chat_id: int, key: str) -> None:
        await self._bot.async_send(chat_id, await self._async_say(key))

    async def _async_say(self, key: str, **placeholders: str) -> str:
        return await async_phrase(self._hass, self._hass.config.language, key, **placeholders)

    async def _async_command(self, chat: Chat, user: User, command: str, said: str) -> str:
        """Carry a command out and return what is said; `/help@bot` is `/help`, like what is unknown."""
        data = self._entry.runtime_data
        match command.partition("@")[0].casefold():
            case "/memories":
                return await self._async_memories(chat, user, said)
            case "/forget" if said:
                return await self._async_forget(chat, user, said)
            case "/forget":
                return await self._async_say("telegram_how_to_forget")
            case "/searchlog":
                # All for an administrator, else this user's own.
                lines: list[str] = []
                for row in data.handler.guard.journal.entries(MAX_ENTRIES, AuditKind.SEARCH):
                    if (user.is_admin or row.get("user_id") == user.id) and len(lines) < MAX_SHOWN:
                        at = dt_util.parse_datetime(row["at"])
                        shown = f"{dt_util.as_local(at):%d.%m. %H:%M}" if at else ""
                        held = (
                            f" ({await self._async_say('telegram_held_back')})" if row.get("blocked") else ""
                        )
                        sent = str(row.get("sent") or row.get("query") or "")
                        lines.append(f"{shown} {sent[:MAX_QUERY]}{held}")
                return "\n".join(lines) or await self._async_say("telegram_no_searches")
            case "/new":
                chat.conversation_id = None
                data.shared.sessions.of(data.entry_id).clear(user_id=user.id)
                await data.shared.sessions.async_flush()
                return await self._async_say("telegram_new")
            case _:
                return await self._async_say("telegram_help")

    async def _async_may_see(self, user: User) -> Callable[[Memory], bool]:
        person = await async_person_of_user(self._hass, user.id)
        return partial(is_visible, person_id=person.id if person else None)

    async def _async_memories(self, chat: Chat, user: User, said: str) -> str:
        may_see, memories = await self._async_may_see(user), self._entry.runtime_data.memories
        if said:
            hits = await memories.async_search(said, MAX_SHOWN, may_see=may_see)
            seen = [hit.memory for hit in hits]
        else:
            seen = [memory for memory in memories.all() if may_see(memory)]
        listed = seen[:MAX_SHOWN]
        chat.listed = [memory.id for memory in listed]
        if not listed:
            return await self._async_say("telegram_no_memories")
        lines = [f"{number}. {memory.content}" for number, memory in enumerate(listed, 1)]
        if len(seen) > len(listed):
            lines.append(await self._async_say("telegram_more", count=str(len(seen) - len(listed))))
        return "\n".join([*lines, "", await self._async_say("telegram_how_to_forget")])

    async def _async_forget(self, chat: Chat, user: User, said: str) -> str:
        """Forget one memory: by its number in the last list, or by words that fit only one."""
        may_see, memories = await self._async_may_see(user), self._entry.runtime_data.memories
        if said.isdecimal():
            keys = chat.listed[int(said) - 1 : int(said)] if int(said) else []
            fitting = [memory for key in keys if (memory := memories.get(key)) and may_see(memory)]
        else:
            wanted = said.casefold()
            fitting = [
                memory for memory in memories.all() if may_see(memory) and wanted in memory.content.casefold()
            ]
        if len(fitting) != 1:
            return await self._async_say("telegram_which_memory" if fitting else "telegram_unknown_memory")
        await async_forget(self._entry.runtime_data, [fitting[0].id])
        return await self._async_say("telegram_forgotten", memory=fitting[0].content)


def read_chats(stored: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Return the person of each chat."""
    return {int(item[CHAT]): item[PERSON] for item in stored}


MAX_UNITS: Final = 4096
"""Characters of one message, as Telegram counts them: UTF-16 code units."""

MAX_NESTED: Final = 6
"""Marks within marks; what is deeper is shown as it was written."""

_FENCE: Final = "```"
_INLINE: Final = lazy_regex(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?<!`)(?P<code>`{1,2})(?!`)(?P<verbatim>[^\n]+?)(?<!`)(?P=code)(?!`)"
    r"|\[(?P<label>[^\]\[\n]{1,300})\]\((?P<url>https?://[^\s()<>]{1,1000})\)"
    r"|(?P<strong>\*\*|__)(?=\S)(?P<bold>[^\n]+?)(?<=\S)(?P=strong)(?![*_])"
    r"|(?<![\w*])\*(?=[^\s*])(?P<slanted>[^*\n]+?)(?<=[^\s*])\*(?![\w*])"
    r"|(?<![\w_])_(?=[^\s_])(?P<underlined>[^_\n]+?)(?<=[^\s_])_(?![\w_])"
    r"|~~(?=\S)(?P<struck>[^\n]+?)(?<=\S)~~"
)
_HEADING: Final = lazy_regex(r"(?m)^[ \t]{0,3}#{1,6}[ \t]+(?P<title>[^\n]*)$")
_BULLET: Final = lazy_regex(r"(?m)^(?P<indent>[ \t]*)[-*+][ \t]+")
_STYLES: Final = {"bold": "b", "slanted": "i", "underlined": "i", "struck": "s"}


def as_html(text: str) -> str:
    """Return markdown as the HTML that Telegram knows; everything else stays as it was written."""
    parts = text.split(_FENCE)
    shown = []
    for number, part in enumerate(parts):
        is_code = number % 2 == 1
        if is_code and number < len(parts) - 1:
            first, line, rest = part.partition("\n")
            code = rest if line and re.fullmatch(r"[\w+#-]{0,20}", first.strip()) else part
            shown.append(f"<pre>{escape(code.strip('\n'), quote=False)}</pre>")
        else:
            prose = _HEADING.sub(
                lambda heading: f"**{heading['title'].rstrip(' \t#')}**",
                f"{_FENCE}{part}" if is_code else part,
            )
            shown.append(_inline(_BULLET.sub(r"\g<indent>• ", prose)))
    return "".join(shown).strip()


def _inline(text: str, depth: int = MAX_NESTED) -> str:
    if not depth:
        return escape(text, quote=False)
    shown, end = [], 0
    for found in _INLINE.finditer(text):
        shown.append(escape(text[end : found.start()], quote=False))
        end = found.end()
        if found["escaped"]:
            shown.append(escape(found["escaped"], quote=False))
        elif found["verbatim"]:
            shown.append(f"<code>{escape(found['verbatim'].strip(), quote=False)}</code>")
        elif found["label"]:
            shown.append(f'<a href="{escape(found["url"])}">{escape(found["label"], quote=False)}</a>')
        else:
            style = next(name for name in _STYLES if found[name])
            tag = _STYLES[style]
            shown.append(f"<{tag}>{_inline(found[style], depth - 1)}</{tag}>")
    return "".join([*shown, escape(text[end:], quote=False)])


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces: cut between paragraphs, else lines, else sentences, else words.

    A block of code that is cut is closed and opened again.
    """
    rest, fence = text.strip(), ""
    while rest:
        room = MAX_UNITS - _units(fence) - len(_FENCE) - 1
        if _units(fence) + _units(rest) <= MAX_UNITS:
            yield f"{fence}{rest}"
            return
        most = len(rest.encode("utf-16-le")[: 2 * room].decode("utf-16-le", "ignore"))
        ends = (rest.rfind(mark, most // 2, most) + len(mark) for mark in ("\n\n", "\n", ". ", " "))
        end = next((end for end in ends if end > most // 2), most)
        piece = f"{fence}{rest[:end].rstrip()}"
        rest = rest[end:].lstrip("\n" if piece.count(_FENCE) % 2 else None)
        fence = f"{_FENCE}\n" if piece.count(_FENCE) % 2 else ""
        yield f"{piece}\n{_FENCE}" if fence else piece


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


IMAGE: Final = "image/"


class PhotoUnusable(InvalidInput):
    """A photo cannot be shown to the model; `key` names the sentence that says why."""


def is_picture(event: Mapping[str, Any]) -> bool:
    """Return whether an attachment claims to be a picture."""
    return bool(event.get("file_id")) and str(event.get("file_mime_type") or "").startswith(IMAGE)


async def async_photo(hass: HomeAssistant, event: Mapping[str, Any]) -> str:
    """Return the picture of an attachment as a data URL. Raises PhotoUnusable.

    The bot writes each file into its own folder in the configuration. The file has a name of ours there, and
    is deleted as soon as it was read.
    """
    size = event.get("file_size")
    if isinstance(size, int) and size > MAX_BYTES:
        raise PhotoUnusable("telegram_photo_large")
    name = f"home_agent_{ulid_now()}"
    data: dict[str, Any] = {"file_id": event["file_id"], "file_name": name}
    if entry_id := event.get("bot", {}).get("config_entry_id"):
        data["config_entry_id"] = entry_id
    path = Path(hass.config.path(TELEGRAM, name))

    def read() -> bytes | None:
        return path.read_bytes() if path.stat().st_size <= MAX_BYTES else None

    try:
        await async_telegram(hass, "download_file", data, answers=True)
        picture = await hass.async_add_executor_job(read)
    except (ToolExecutionError, OSError) as err:
        LOGGER.warning("A photo from Telegram was not downloaded: %s", err)
        raise PhotoUnusable("telegram_photo_missing") from err
    finally:
        await hass.async_add_executor_job(partial(path.unlink, missing_ok=True))
    if picture is None:
        raise PhotoUnusable("telegram_photo_large")
    if (kind := kind_of_picture(picture)) is None:
        raise PhotoUnusable("telegram_text_only")
    return data_url(picture, kind)
