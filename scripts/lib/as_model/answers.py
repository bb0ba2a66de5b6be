"""Answers that a person, a program or a file gives, and how they go over the wire."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
import re
from typing import Any, Final, NotRequired, TypedDict, cast

ARGUMENT_PIECE: Final = 16
MAX_DELAY: Final = 10.0
_KEYS: Final = {"text", "tool_calls", "chunks", "thinking", "delay"}
_WORD: Final = re.compile(r"\s*\S+|\s+")


class Message(TypedDict):
    """A message of a request."""

    role: str
    content: NotRequired[Any]
    tool_calls: NotRequired[list[dict[str, Any]]]
    tool_call_id: NotRequired[str]


class AnswerError(ValueError):
    """An answer cannot be sent; the message says why."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says; `delay` is the pause after each piece in seconds, None for the server's."""

    chunks: Sequence[str] = ()
    calls: Sequence[Call] = ()
    thinking: str = ""
    delay: float | None = None
    finish_reason: str = "stop"

    @property
    def text(self) -> str:
        """Return the whole text."""
        return "".join(self.chunks)

    @property
    def finish(self) -> str:
        """Return the reason why the answer ends."""
        return "tool_calls" if self.calls else self.finish_reason

    def message(self, number: int) -> dict[str, Any]:
        """Return the message of a whole completion."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.thinking:
            message["reasoning_content"] = self.thinking
        if self.calls:
            message["tool_calls"] = [
                _function(number, index, call.name, json.dumps(call.arguments, ensure_ascii=False))
                for index, call in enumerate(self.calls)
            ]
        return message

    def deltas(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the pieces of a stream."""
        yield {"role": "assistant", "content": ""}
        for word in words(self.thinking):
            yield {"reasoning_content": word}
        for chunk in self.chunks:
            yield {"content": chunk}
        for index, call in enumerate(self.calls):
            yield {"tool_calls": [{"index": index, **_function(number, index, call.name, "")}]}
            arguments = json.dumps(call.arguments, ensure_ascii=False)
            for start in range(0, len(arguments), ARGUMENT_PIECE):
                piece = arguments[start : start + ARGUMENT_PIECE]
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as the API shows it."""
        calls = [{"name": call.name, "arguments": call.arguments} for call in self.calls]
        return {"text": self.text, "tool_calls": calls, "thinking": self.thinking}


def _function(number: int, index: int, name: str, arguments: str) -> dict[str, Any]:
    return {
        "id": f"call_{number}_{index}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def words(text: str) -> list[str]:
    """Return the words of a text, each with the space before it; joined they are the text."""
    return _WORD.findall(text)


def read_answer(data: Any, offered: Sequence[str] | None) -> Answer:
    """Return the answer that an object describes.

    `offered` are the names of the tools of the request, None if they are not known yet. Raises AnswerError.
    """
    if not isinstance(data, dict):
        raise AnswerError('the answer is not an object such as {"text": "Hello"}')
    if unknown := sorted(set(data) - _KEYS):
        raise AnswerError(f"unknown field {unknown[0]!r}: an answer has {', '.join(sorted(_KEYS))}")
    if not set(data) & {"text", "chunks", "tool_calls", "thinking"}:
        raise AnswerError("the answer has neither text nor tool calls")
    if "text" in data and "chunks" in data:
        raise AnswerError("give either text or chunks: chunks are the text in pieces")
    chunks = data.get("chunks")
    if chunks is None:
        chunks = words(_string(data, "text"))
    elif not isinstance(chunks, list) or not all(isinstance(chunk, str) for chunk in chunks):
        raise AnswerError("chunks is not a list of strings")
    calls = data.get("tool_calls", [])
    if not isinstance(calls, list):
        raise AnswerError("tool_calls is not a list")
    return Answer(chunks, [_call(call, offered) for call in calls], _string(data, "thinking"), _delay(data))


def _string(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        raise AnswerError(f"{name} is not a string")
    return value


def _delay(data: Mapping[str, Any]) -> float | None:
    delay = data.get("delay")
    if delay is None:
        return None
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= MAX_DELAY:
        raise AnswerError(f"delay is not a number of seconds from 0 to {MAX_DELAY:.0f}")
    return float(delay)


def _call(data: Any, offered: Sequence[str] | None) -> Call:
    """Return a call; the arguments may be an object or a string with one, as in OpenAI's form."""
    if not isinstance(data, dict) or not isinstance(name := data.get("name"), str):
        raise AnswerError('a tool call is not an object such as {"name": "…", "arguments": {}}')
    if offered is not None and name not in offered:
        raise AnswerError(f"no tool {name!r}: the request offers {', '.join(offered) or 'none'}")
    arguments = data.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError as err:
            raise AnswerError(f"arguments of {name}: not JSON: {err}") from err
    if not isinstance(arguments, dict):
        raise AnswerError(f"arguments of {name}: not a JSON object")
    return Call(name, arguments)


@dataclass(frozen=True, slots=True)
class PreparedAnswer:
    """A line of a file of answers."""

    match: str
    result: str | None
    data: dict[str, Any]

    def fits(self, sentence: str, results: Sequence[str]) -> bool:
        """Tell whether this answers a sentence, given the results of tools that came after it."""
        if self.match.casefold() not in sentence.casefold():
            return False
        if self.result is None:
            return not (results and self.data.get("tool_calls"))
        return any(self.result.casefold() in result.casefold() for result in results)


def load_answers(path: Path) -> list[PreparedAnswer]:
    """Return the answers of a file. Raises AnswerError with the line, or OSError."""
    prepared = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            prepared.append(_prepared(line))
        except AnswerError as err:
            raise AnswerError(f"{path}, line {number}: {err}") from err
    return prepared


def _prepared(line: str) -> PreparedAnswer:
    try:
        data = json.loads(line)
    except ValueError as err:
        raise AnswerError(f"not JSON: {err}") from err
    if not isinstance(data, dict) or not isinstance(match := data.pop("match", None), str):
        raise AnswerError('not an object with "match", a part of the sentence')
    result = data.pop("result", None)
    if result is not None and not isinstance(result, str):
        raise AnswerError("result is not a string")
    read_answer(data, None)
    return PreparedAnswer(match, result, data)


def sentence_and_results(messages: Sequence[Message]) -> tuple[str, list[str]]:
    """Return the text of the newest user message, and the results of tools after it."""
    results: list[str] = []
    for message in reversed(messages):
        if message["role"] == "user":
            return text_of(message), results
        if message["role"] == "tool":
            results.append(text_of(message))
    return "", results


def text_of(message: Message) -> str:
    """Return the content of a message as text; a picture is named with its size."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(_part(part) for part in parts)


def _part(part: Any) -> str:
    if isinstance(part, dict):
        if isinstance(part.get("text"), str):
            return cast(str, part["text"])
        if part.get("type") == "image_url":
            return f"[picture: {len(json.dumps(part)) // 1000} kB]"
    return json.dumps(part, ensure_ascii=False)
