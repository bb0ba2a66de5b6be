"""What the bot sends: messages, buttons and the typing indicator."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback

from ...const import LOGGER
from ...errors import ToolExecutionError
from ...events import EventEmitter
from ...tools.own_calls import TELEGRAM, async_telegram
from .text import as_html, pieces

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
        self._entries: dict[int, str] = {}

    @callback
    def note_entry(self, chat: int, entry_id: str | None) -> None:
        """Answer with the bot that a message came through."""
        if entry_id:
            self._entries[chat] = entry_id

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
        """Send one message; return its id."""
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
        """Call a service whose failure does not matter."""
        try:
            await async_telegram(self._hass, service, self._to(chat, data, to_chat=to_chat))
        except ToolExecutionError as err:
            LOGGER.debug("Telegram: %s", err)

    def _to(self, chat: int, data: dict[str, Any], *, to_chat: bool = True) -> dict[str, Any]:
        target: dict[str, Any] = {"chat_id": chat} if to_chat else {}
        if entry_id := self._entries.get(chat) or self._entry_of(chat):
            target["config_entry_id"] = entry_id
        return {**target, **data}

    @callback
    def _entry_of(self, chat: int) -> str | None:
        """Return the bot that may write to a chat."""
        for entry in self._hass.config_entries.async_loaded_entries(TELEGRAM):
            if any(part.data.get("chat_id") == chat for part in entry.subentries.values()):
                return entry.entry_id
        return None
