"""The bridge: messages of known persons to the bot are turns, and the bot sends the answers."""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

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

from ...agent.phrases import async_phrase
from ...agent.pictures import sent_pictures
from ...const import CONF_TELEGRAM_CHATS, LOGGER
from ...entity import conversation_entity
from ...knowledge.speaker import Surface, surface, written_in
from ...runtime import HomeAgentConfigEntry
from ...safety.confirmation import Owner
from ...tools.own_calls import TELEGRAM
from ...tools.people import async_register_chats
from .bot import Bot
from .chats import Chats
from .choices import TelegramChoices, is_choice
from .commands import Asker, Chat, command_of
from .confirming import TelegramConfirmations, is_press
from .photos import PhotoUnusable, async_photo, is_picture

MAX_WAITING: Final = 5
"""Messages of a chat that wait for their turn; the sender of any more gets a notice."""
MAX_AGE: Final = timedelta(minutes=5)
"""What was written longer ago, while Home Assistant was away, is not done any more."""
MAX_SEEN: Final = 200
RECEIVED: Final = ("telegram_text", "telegram_command", "telegram_attachment")


@dataclass(frozen=True, slots=True)
class TelegramMessage:
    """What a bot has received: the type of its event, and the data of it."""

    kind: str
    data: dict[str, Any]


class TelegramBridge:
    """Serves the chats of one entry."""

    def __init__(self, hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
        self._hass = hass
        self._entry = entry
        self._known = Chats(hass, entry.runtime_data.settings[CONF_TELEGRAM_CHATS])
        self._bot = Bot(hass, entry.runtime_data.emitter)
        confirmations = entry.runtime_data.confirmations
        self._confirming = TelegramConfirmations(hass, confirmations, self._bot, self._known)
        self._choices = TelegramChoices(hass, self._bot, self._known)
        self._chats: dict[int, Chat] = {}
        self._waiting: dict[int, deque[tuple[User, TelegramMessage]]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._seen: OrderedDict[tuple[int, int], None] = OrderedDict()

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Begin to listen; return how to stop."""
        self._entry.runtime_data.confirmations.channels.append(self._confirming)
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
        ends.append(async_register_chats(self._hass, self._entry.entry_id, self._choices))

        @callback
        def stop() -> None:
            for end in (*ends, *bots.values()):
                end()
            for task in self._tasks.values():
                task.cancel()

        return stop

    async def _async_update(self, entry_id: str, kind: str, data: dict[str, Any]) -> None:
        """Take what a bot has received from a person with a chat; others get no answer."""
        user_id = self._known.user_of(data)
        user = await self._hass.auth.async_get_user(user_id) if user_id else None
        if user is None or not user.is_active:
            return
        self._bot.note_entry(data["chat_id"], entry_id)
        if kind == "telegram_callback":
            await self._async_pressed(user, data)
        elif kind in RECEIVED and not self._is_repeated(data):
            await self._async_received(user, TelegramMessage(kind, data))

    async def _async_received(self, user: User, event: TelegramMessage) -> None:
        chat_id: int = event.data["chat_id"]
        waiting = self._waiting.setdefault(chat_id, deque())
        if len(waiting) >= MAX_WAITING:
            await self._bot.async_send(chat_id, await self._async_say("telegram_too_many"))
            return
        waiting.append((user, event))
        if (task := self._tasks.get(chat_id)) is None or task.done():
            self._tasks[chat_id] = self._entry.async_create_background_task(
                self._hass, self._async_work(chat_id), "home_agent telegram"
            )

    async def _async_work(self, chat_id: int) -> None:
        surface.set(Surface.TELEGRAM)
        written_in.set(chat_id)
        chat, waiting = self._chats.setdefault(chat_id, Chat(chat_id)), self._waiting[chat_id]
        while waiting:
            user, event = waiting.popleft()
            try:
                await self._async_answer(chat, user, event)
            except HomeAssistantError as err:
                LOGGER.warning("A message from Telegram was not answered: %s", err)
                await self._bot.async_send(chat_id, await self._async_say("telegram_failed"))
            except Exception:  # noqa: BLE001 - a person is always answered, and so is who writes next
                LOGGER.exception("A message from Telegram failed unexpectedly")
                await self._bot.async_send(chat_id, await self._async_say("telegram_failed"))

    async def _async_answer(self, chat: Chat, user: User, event: TelegramMessage) -> None:
        if _is_old(event.data.get("date")):
            await self._bot.async_send(chat.id, await self._async_say("telegram_old"))
        elif event.kind == "telegram_command":
            said = " ".join(event.data.get("args", ()))
            asker = Asker(self._hass, self._entry.runtime_data, user, chat)
            answer = await command_of(event.data["command"])(asker, said)
            await self._bot.async_send(chat.id, answer, markdown=False)
        elif event.kind == "telegram_attachment" and is_picture(event.data):
            await self._async_show(chat, user, event)
        elif event.kind == "telegram_attachment" or not (text := event.data.get("text")):
            await self._bot.async_send(chat.id, await self._async_say("telegram_text_only"))
        elif told := await self._confirming.async_take_pin(chat.id, user, text):
            await self._bot.async_delete(chat.id, event.data["id"])
            await self._bot.async_send(chat.id, told)
        elif told := await self._confirming.async_take_answer(chat.id, user, text):
            await self._bot.async_send(chat.id, told)
        elif told := self._choices.take_answer(chat.id, user, text):
            await self._bot.async_send(chat.id, told, markdown=False)
        else:
            owner = Owner(conversation_id=chat.conversation_id or "", user_id=user.id, device_id=None)
            if self._confirming.is_pin(owner, text):
                await self._bot.async_delete(chat.id, event.data["id"])
            await self._async_converse(chat, user, text)

    async def _async_show(self, chat: Chat, user: User, event: TelegramMessage) -> None:
        """Let the agent answer about the photos of a message; without a caption it is asked what they show.

        Telegram sends each photo of an album as a message of its own.
        """
        pictures: list[str] = []
        captions: list[str] = []
        photo: TelegramMessage | None = event
        while photo is not None:
            try:
                async with self._bot.typing(chat.id):
                    pictures.append(await async_photo(self._hass, photo.data))
            except PhotoUnusable as err:
                await self._bot.async_send(chat.id, await self._async_say(err.key))
            captions += filter(None, [photo.data.get("text")])
            photo = self._next_of_album(chat.id, photo)
        if not pictures:
            return
        passed = sent_pictures.set(pictures)
        try:
            text = "\n".join(captions) or await self._async_say("telegram_photo_asked")
            await self._async_converse(chat, user, text)
        finally:
            sent_pictures.reset(passed)

    def _next_of_album(self, chat_id: int, photo: TelegramMessage) -> TelegramMessage | None:
        """Return the next photo of an album, which waits already: it was sent with the one before."""
        waiting = self._waiting[chat_id]
        if not waiting:
            return None
        other = waiting[0][1]
        together = (other.data.get("date"), other.data.get("id")) == (
            photo.data.get("date"),
            photo.data.get("id", 0) + 1,
        )
        if not together or other.kind != photo.kind or not is_picture(other.data):
            return None
        return waiting.popleft()[1]

    async def _async_converse(self, chat: Chat, user: User, text: str) -> None:
        async with self._bot.typing(chat.id):
            result = await conversation.async_converse(
                self._hass,
                text=text,
                conversation_id=chat.conversation_id,
                context=Context(user_id=user.id),
                language=self._hass.config.language,
                agent_id=self._agent_id,
            )
        chat.conversation_id = result.conversation_id
        self._confirming.note_said(chat.id)
        self._choices.note_said(chat.id)
        speech = result.response.speech.get("plain", {})
        answer = str(speech.get("original_speech") or speech.get("speech") or "")
        owner = Owner(conversation_id=result.conversation_id or "", user_id=user.id, device_id=None)
        action = self._entry.runtime_data.confirmations.waiting_for(owner)
        buttons = await self._confirming.async_buttons(action) if action else ()
        message_id = await self._bot.async_send(chat.id, answer, buttons)
        if action:
            self._confirming.note_message(action, chat.id, message_id)

    async def _async_pressed(self, user: User, data: dict[str, Any]) -> None:
        if not (is_press(data) or is_choice(data)):
            return
        chat_id: int = data["chat_id"]
        answered_by = self._choices if is_choice(data) else self._confirming
        told = await answered_by.async_pressed(user, data["data"])
        await self._bot.async_answer_press(chat_id, data["id"], told)
        await self._bot.async_send(chat_id, told)

    def _is_repeated(self, data: dict[str, Any]) -> bool:
        """Return whether a message came before: one that was edited is not done again."""
        key = (data["chat_id"], data.get("id", 0))
        repeated = key in self._seen
        self._seen[key] = None
        while len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)
        return repeated

    async def _async_say(self, key: str) -> str:
        return await async_phrase(self._hass, self._hass.config.language, key)

    @property
    def _agent_id(self) -> str | None:
        return conversation_entity(self._hass, self._entry.entry_id)


def _is_old(date: datetime | str | None) -> bool:
    at = dt_util.parse_datetime(date) if isinstance(date, str) else date
    return at is not None and dt_util.utcnow() - at > MAX_AGE
