"""The requests that arrived, and the wait for their answers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
import json
from pathlib import Path
from typing import Any, Final, cast

from .answers import (
    Answer,
    AnswerError,
    Call,
    Message,
    PreparedAnswer,
    read_answer,
    sentence_and_results,
    words,
)

KEPT_REQUESTS: Final = 500
CHARACTERS_PER_TOKEN: Final = 4
EXCERPT: Final = 80
PROBE_TOOL: Final = "get_temperature"


class State(StrEnum):
    """What became of a request."""

    WAITING = "waiting"
    ANSWERED = "answered"
    AUTOMATIC = "automatic"
    GONE = "gone"
    TIMEOUT = "timeout"


class RequestError(ValueError):
    """The body is no request for a chat; the message says why."""


@dataclass(slots=True, eq=False)
class ChatRequest:
    """A request for an answer; `new_from` is the index of the first message that the one before lacked."""

    number: int
    body: dict[str, Any]
    new_from: int | None
    answered: asyncio.Future[Answer]
    state: State = State.WAITING
    note: str = ""
    received: datetime = field(default_factory=lambda: datetime.now(UTC))
    answer: Answer | None = None

    @property
    def messages(self) -> list[Message]:
        """Return the messages."""
        return cast(list[Message], self.body["messages"])

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Return the functions that may be called."""
        return [tool["function"] for tool in self.body.get("tools") or ()]

    @property
    def offered(self) -> list[str]:
        """Return the names of the tools."""
        return [str(tool.get("name")) for tool in self.tools]

    @property
    def tokens(self) -> dict[str, int]:
        """Return about how many tokens messages and tools have."""
        return {"messages": estimate(self.messages), "tools": estimate(self.body.get("tools") or [])}

    def summary(self) -> dict[str, Any]:
        """Return what a list of requests shows."""
        sentence = " ".join(sentence_and_results(self.messages)[0].split())
        return {
            "number": self.number,
            "received": self.received.isoformat(timespec="milliseconds"),
            "state": self.state,
            "note": self.note,
            "model": self.body.get("model"),
            "tokens": self.tokens,
            "sentence": sentence if len(sentence) <= EXCERPT else f"…{sentence[-EXCERPT:]}",
            "answer": self.answer.as_dict() if self.answer else None,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return everything."""
        return {**self.summary(), "new_from": self.new_from, "request": self.body}


def estimate(value: Any) -> int:
    """Return about how many tokens a value has as JSON."""
    if not value:
        return 0
    return -(-len(json.dumps(value, ensure_ascii=False)) // CHARACTERS_PER_TOKEN)


class Requests:
    """Keeps the newest requests and answers those that need nobody."""

    def __init__(
        self, *, prepared: Sequence[PreparedAnswer] = (), auto_warm: bool = True, log: Path | None = None
    ) -> None:
        """Take the answers of a file, whether to answer preparations, and the file to write.

        Raises OSError if the file cannot be written.
        """
        if log is not None:
            log.touch(mode=0o600)
        self._prepared, self._auto_warm, self._log = prepared, auto_warm, log
        self._kept: dict[int, ChatRequest] = {}
        self._arrival = asyncio.Condition()
        self.newest = 0

    def get(self, number: int) -> ChatRequest | None:
        """Return a request, None if there is none or it is not kept any more."""
        return self._kept.get(number)

    def all(self) -> list[ChatRequest]:
        """Return the requests, oldest first."""
        return list(self._kept.values())

    def to_show(self) -> ChatRequest | None:
        """Return the newest request that waits, else the newest one."""
        newest_first = self.all()[::-1]
        waiting = (request for request in newest_first if request.state is State.WAITING)
        return next(waiting, newest_first[0] if newest_first else None)

    async def after(self, number: int, seconds: float) -> list[ChatRequest]:
        """Return the requests after a number; wait that long for the first."""
        async with self._arrival:
            try:
                async with asyncio.timeout(seconds):
                    await self._arrival.wait_for(lambda: self.newest > number)
            except TimeoutError:
                return []
        return [request for request in self.all() if request.number > number]

    async def add(self, body: Any) -> ChatRequest:
        """Keep a request, answered if it needs nobody. Raises RequestError."""
        _check(body)
        self.newest += 1
        request = ChatRequest(
            self.newest, body, self._new_from(body["messages"]), asyncio.get_running_loop().create_future()
        )
        self._kept[request.number] = request
        self._drop_old()
        if self._auto_warm:
            _answer_preparation(request)
        if request.state is State.WAITING:
            self._answer_from_file(request)
        async with self._arrival:
            self._arrival.notify_all()
        return request

    def end(self, request: ChatRequest, state: State) -> None:
        """Write the request to the log; one that still waited for an answer gets the state."""
        if request.state is State.WAITING:
            request.state = state
        if self._log is not None:
            with self._log.open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(json.dumps(request.as_dict(), ensure_ascii=False) + "\n")

    def _new_from(self, messages: list[Message]) -> int | None:
        """Return where messages begin to differ from the request before; None for the first one."""
        earlier = (request for request in self.all()[::-1] if request.state is not State.AUTOMATIC)
        if (before := next(earlier, None)) is None:
            return None
        same = 0
        for message, old in zip(messages, before.messages, strict=False):
            if message != old:
                break
            same += 1
        return same

    def _drop_old(self) -> None:
        for number in list(self._kept)[:-KEPT_REQUESTS]:
            if self._kept[number].state is not State.WAITING:
                del self._kept[number]

    def _answer_from_file(self, request: ChatRequest) -> None:
        sentence, results = sentence_and_results(request.messages)
        for prepared in self._prepared:
            if prepared.fits(sentence, results):
                try:
                    answer = read_answer(prepared.data, request.offered)
                except AnswerError as err:
                    request.note = f"the answer of the file does not fit: {err}"
                    return
                give(request, answer)
                request.note = "answered from the file"
                return


def give(request: ChatRequest, answer: Answer) -> None:
    """Answer a request. Raises AnswerError if it does not wait any more."""
    if request.state is not State.WAITING:
        raise AnswerError(f"request {request.number} does not wait for an answer: {request.state}")
    request.state = State.ANSWERED
    request.answer = answer
    request.answered.set_result(answer)


def _answer_preparation(request: ChatRequest) -> None:
    """Answer what nobody asked: a prompt read ahead, and the check whether a model calls tools."""
    if 1 in (request.body.get("max_tokens"), request.body.get("max_completion_tokens")):
        note, answer = "the prompt read ahead", Answer(words("OK"), finish_reason="length")
    elif request.offered == [PROBE_TOOL] and len(request.messages) == 1:
        note, answer = "the check for tool calls", Answer(calls=[Call(PROBE_TOOL, {"room": "kitchen"})])
    else:
        return
    give(request, answer)
    request.state, request.note = State.AUTOMATIC, note


def _check(body: Any) -> None:
    """Raise RequestError unless the parts of a body that are shown have the shape that OpenAI documents."""
    if not isinstance(body, dict):
        raise RequestError("the body is not a JSON object")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestError("messages is not a list with messages")
    if not all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages):
        raise RequestError("a message is not an object with a role")
    calls = [message.get("tool_calls") or [] for message in messages]
    if not all(isinstance(of_message, list) and all(map(_has_function, of_message)) for of_message in calls):
        raise RequestError("a tool call is not an object with a function")
    tools = body.get("tools") or []
    if not isinstance(tools, list) or not all(map(_has_function, tools)):
        raise RequestError("a tool is not an object with a function")


def _has_function(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("function"), Mapping)
