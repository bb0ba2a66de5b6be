"""A stand-in for Telegram's Bot API on loopback, as strict as the real one about what a message may be."""

import asyncio
from collections.abc import Callable, Mapping
import contextlib
from html.parser import HTMLParser
import json
import time
from typing import Any, override
from urllib.parse import parse_qs

from .loopback import Captured, LoopbackServer, Rendered
from .replies import Reply

BOT = {"id": 4242, "is_bot": True, "first_name": "Home", "username": "home_bot"}
TAGS = frozenset({"a", "b", "i", "s", "u", "code", "pre"})
MAX_UNITS = 4096


class _Reader(HTMLParser):
    """Reads a message as Telegram does: known tags only, each closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.wrong = ""

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.wrong = f"Unsupported start tag {tag}"
        self.open.append(tag)

    @override
    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong = f"Unexpected end tag {tag}"

    @override
    def handle_data(self, data: str) -> None:
        self.text += data


class TelegramServer(LoopbackServer):
    """Hands out what people write, and keeps what the bot sends."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[dict[str, Any]] = []
        """Calls of the bot but polling: method and parameters."""
        self.messages: list[dict[str, Any]] = []
        """The bot's messages with their ids, as they were sent or edited."""
        self.refuse: Callable[[str, Mapping[str, Any]], str] = lambda _method, _params: ""
        """Returns why a call is refused."""
        self.files: dict[str, bytes] = {}
        """Files that people have sent, by their ids."""
        self._updates: list[dict[str, Any]] = []
        self._wake = asyncio.Event()
        self._number = 0

    def write(self, chat: int, text: str, *, user: int | None = None, **fields: Any) -> int:
        """Let somebody write a message; return its id."""
        self._number += 1
        message: dict[str, Any] = {
            "message_id": fields.pop("message_id", self._number),
            "date": fields.pop("date", int(time.time())),
            "chat": {"id": chat, "type": "private" if chat > 0 else "group"},
            "from": {"id": user or chat, "is_bot": False, "first_name": "Somebody"},
            "text": text,
        }
        if text.startswith("/"):
            length = len(text.split(maxsplit=1)[0])
            message["entities"] = [{"type": "bot_command", "offset": 0, "length": length}]
        kind = fields.pop("kind", "message")
        self._push({kind: {**message, **fields}})
        return int(message["message_id"])

    def show(
        self, chat: int, picture: bytes, *, caption: str | None = None, date: int | None = None, **fields: Any
    ) -> int:
        """Let somebody send a photo; return its id."""
        file_id = f"photo{self._number}"
        self.files[file_id] = picture
        sizes = {"width": 1, "height": 1, "file_size": len(picture), **fields}
        photo = [{"file_id": file_id, "file_unique_id": "1", **sizes}]
        given = {"caption": caption, "date": date}
        return self.write(chat, "", photo=photo, **{key: value for key, value in given.items() if value})

    def press(self, chat: int, data: str, *, user: int | None = None) -> None:
        self._number += 1
        self._push(
            {
                "callback_query": {
                    "id": str(10_000 + self._number),
                    "from": {"id": user or chat, "is_bot": False, "first_name": "Somebody"},
                    "chat_instance": "1",
                    "data": data,
                    "message": {
                        "message_id": 1,
                        "date": int(time.time()),
                        "chat": {"id": chat, "type": "private"},
                        "text": "a question",
                    },
                }
            }
        )

    def calls(self, method: str, chat: int | None = None) -> list[dict[str, Any]]:
        """Return the parameters of the bot's calls of a method."""
        return [
            call["params"]
            for call in self.sent
            if call["method"] == method and chat in (None, int(call["params"].get("chat_id", 0)))
        ]

    def texts(self, chat: int) -> list[str]:
        """Return what a chat was sent, as it was sent."""
        return [params["text"] for params in self.calls("sendMessage", chat)]

    def _push(self, update: dict[str, Any]) -> None:
        def add() -> None:
            self._updates.append({"update_id": self._number, **update})
            self._wake.set()

        self._loop.call_soon_threadsafe(add)

    @override
    async def _respond(
        self, request: Captured, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if request.path.endswith("/getUpdates"):
            params = _params(request)
            offset, seconds = int(params.get("offset", 0)), int(params.get("timeout", 0))
            self._updates = [update for update in self._updates if update["update_id"] >= offset]
            if not self._updates and seconds:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._wake.wait()
        return await super()._respond(request, reader, writer)

    @override
    def choose(self, request: Captured) -> Reply:
        method = request.path.rpartition("/")[2]
        params = _params(request)
        match method:
            case "getUpdates":
                return _result(self._updates)
            case "getMe":
                return _result(BOT)
        if method in self.files:
            return Reply(content_type="application/octet-stream", body=self.files[method])
        self.sent.append({"method": method, "params": params})
        if why := wrong_message(params) or self.refuse(method, params):
            error = {"ok": False, "error_code": 400, "description": f"Bad Request: {why}"}
            return Reply(status=400, body=json.dumps(error).encode())
        return _result(self._answer(method, params))

    def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        if method in ("sendMessage", "editMessageText"):
            return self._message(params)
        if method == "getFile":
            file_id = params["file_id"]
            return {"file_id": file_id, "file_unique_id": "1", "file_path": f"photos/{file_id}"}
        return True

    def _message(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._number += 1
        message = {
            "message_id": int(params.get("message_id") or 5_000 + self._number),
            "date": int(time.time()),
            "chat": {"id": int(params["chat_id"]), "type": "private"},
            "from": BOT,
            "text": params["text"],
        }
        self.messages.append(message)
        return message

    @override
    def render(self, request: Captured, reply: Reply) -> Rendered:
        """Return the reply as it is."""
        return Rendered(reply.content_type, whole=reply.body or b"")


def _result(value: Any) -> Reply:
    return Reply(body=json.dumps({"ok": True, "result": value}).encode())


def _params(request: Captured) -> dict[str, Any]:
    return {name: values[0] for name, values in parse_qs(request.raw.decode("utf-8", "replace")).items()}


def wrong_message(params: Mapping[str, Any]) -> str:
    """Return what Telegram would not take of a message."""
    text = params.get("text")
    if text is None:
        return ""
    if str(params.get("parse_mode", "")).upper() == "HTML":
        reader = _Reader()
        reader.feed(text)
        reader.close()
        if reader.wrong or reader.open:
            return f"can't parse entities: {reader.wrong or 'not closed'}"
        text = reader.text
    if not text.strip():
        return "message text is empty"
    return "message is too long" if len(text.encode("utf-16-le")) // 2 > MAX_UNITS else ""
