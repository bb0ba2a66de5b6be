"""What a scripted model server answers: replies as data, and how each protocol writes them."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from enum import Enum, auto
import json
from typing import Any


class Signal:
    """A one-shot event that any thread sets and any event loop awaits."""

    def __init__(self) -> None:
        self._future: Future[None] = Future()

    def set(self) -> None:
        try:
            self._future.set_result(None)
        except InvalidStateError:
            return

    def is_set(self) -> bool:
        return self._future.done()

    async def wait(self, seconds: float = 120) -> None:
        """Wait for it; TimeoutError when it never comes."""
        async with asyncio.timeout(seconds):
            await asyncio.shield(asyncio.wrap_future(self._future))


class Fault(Enum):
    """What goes wrong inside a reply."""

    HANG = auto()  # waits for `release`, then goes on as if nothing had been
    RESET = auto()  # TCP reset
    CUT = auto()  # connection closed inside the body
    NO_DONE = auto()  # ends well-formed, without finish, usage and [DONE]
    ERROR = auto()  # an error object in the stream, then the end


@dataclass(slots=True, kw_only=True)
class Reply:
    """One answer; `fault_at` is the number of events sent before the fault, -1 is before the headers."""

    text: str = ""
    chunks: Sequence[str] = ()
    thinking: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    usage: tuple[int, int, int] | None = None
    finish: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    pieces: Iterable[bytes] | None = None
    piece_size: int | None = None
    delay: float = 0
    gap: float = 0
    fault: Fault | None = None
    fault_at: int | None = None
    error: Any = None
    release: Signal = field(default_factory=Signal)

    @property
    def parts(self) -> Sequence[str]:
        """Return the text as the deltas that carry it."""
        return self.chunks or ((self.text,) if self.text else ())

    @property
    def finish_reason(self) -> str:
        """Return the reason the stream names at its end."""
        return self.finish or ("tool_calls" if self.calls else "stop")


def text(content: str = "", *, chunks: Sequence[str] = (), **options: Any) -> Reply:
    """Answer in words, whole or in the given chunks."""
    return Reply(text=content or "".join(chunks[:1000]), chunks=chunks, **options)


def tool_calls(
    calls: Sequence[tuple[str, Mapping[str, Any] | str]], *, text: str = "", **options: Any
) -> Reply:
    """Call tools; a string as arguments goes out as it is, broken or not."""
    return Reply(text=text, calls=calls, **options)


def thinking(thought: str, content: str = "", **options: Any) -> Reply:
    """Think in the protocol's own field, then answer."""
    return Reply(text=content, thinking=thought, **options)


def status(code: int, body: Any = None, *, headers: Mapping[str, str] | None = None, **options: Any) -> Reply:
    """Answer with a status; a dict becomes JSON, a string an error object of that message."""
    if isinstance(body, str):
        body = {"error": {"message": body, "type": "error", "param": None, "code": None}}
    raw = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    return Reply(status=code, body=raw, headers=headers or {}, **options)


def unknown_parameter(name: str, message: str = "Unsupported parameter: '{name}' is not supported.") -> Reply:
    """Refuse one parameter the way OpenAI does."""
    error = {
        "message": message.format(name=name),
        "type": "invalid_request_error",
        "param": name,
        "code": "unsupported_parameter",
    }
    return status(400, {"error": error})


def too_long() -> Reply:
    """Refuse a prompt that does not fit the model."""
    error = {
        "message": "This model's maximum context length is 8192 tokens. Please reduce the length.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
    return status(400, {"error": error})


def html(code: int = 200) -> Reply:
    """Answer with a web page, as a proxy or a wrong address does."""
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Welcome</body></html>"
    return Reply(status=code, body=page, content_type="text/html")


def empty() -> Reply:
    return Reply(body=b"")


def raw(
    body: bytes = b"",
    *,
    pieces: Iterable[bytes] | None = None,
    content_type: str = "text/event-stream",
    gap: float = 0,
) -> Reply:
    """Send these bytes as the body; `pieces` go out as one HTTP chunk each, `gap` seconds apart."""
    pieces = pieces if pieces is not None else [body]
    return Reply(body=body, pieces=pieces, content_type=content_type, gap=gap)


def reset(after: int = -1, content: str = "", **options: Any) -> Reply:
    """Reset the connection after that many events."""
    return Reply(text=content, fault=Fault.RESET, fault_at=after, **options)


def cut(after: int, *, chunks: Sequence[str], **options: Any) -> Reply:
    """Close the connection inside the body after that many events."""
    return Reply(chunks=chunks, fault=Fault.CUT, fault_at=after, **options)


def hang(after: int = -1, *, chunks: Sequence[str] = ("Hello ", "world."), **options: Any) -> Reply:
    """Stop after that many events until `release.set()`, then go on."""
    return Reply(chunks=chunks, fault=Fault.HANG, fault_at=after, **options)


def without_done(content: str = "", **options: Any) -> Reply:
    """End the stream without finish reason, usage and [DONE]."""
    return Reply(text=content, fault=Fault.NO_DONE, **options)


def error_in_stream(error: Any = "upstream broke", after: int = 0, **options: Any) -> Reply:
    """Send an error object after that many events, inside a stream that began with 200."""
    return Reply(error=error, fault=Fault.ERROR, fault_at=after, **options)


def huge_text(megabytes: int = 50) -> Reply:
    """Talk without end."""
    return Reply(chunks=("x" * 65536,) * (megabytes * 16))


def many_calls(count: int = 1000, name: str = "ha_control") -> Reply:
    """Call a tool far too often."""
    return Reply(calls=tuple((name, {"entity_id": f"light.number_{index}"}) for index in range(count)))


def _arguments(value: Mapping[str, Any] | str) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _usage(reply: Reply, prompt_bytes: int) -> tuple[int, int, int]:
    return reply.usage or (prompt_bytes // 4, max(1, len(reply.text) // 4), 0)


def _openai_usage(reply: Reply, prompt_bytes: int) -> dict[str, Any]:
    prompt, completion, cached = _usage(reply, prompt_bytes)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def openai_message(reply: Reply, model: str, number: int, prompt_bytes: int) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(reply.parts) or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number:04d}_{index:04d}",
                "type": "function",
                "function": {"name": name, "arguments": _arguments(arguments)},
            }
            for index, (name, arguments) in enumerate(reply.calls)
        ]
    return json.dumps(
        {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
            "usage": _openai_usage(reply, prompt_bytes),
        }
    ).encode()


def _openai_deltas(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    if reply.thinking:
        yield {"reasoning_content": reply.thinking}
    for part in reply.parts:
        yield {"content": part}
    for index, (name, arguments) in enumerate(reply.calls):
        written = _arguments(arguments)
        call = {"index": index, "id": f"call_{number:04d}_{index:04d}", "type": "function"}
        yield {"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]}
        for fragment in (written[: len(written) // 2], written[len(written) // 2 :]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": fragment}}]}


def openai_events(reply: Reply, model: str, number: int, prompt_bytes: int, usage: bool) -> Iterator[bytes]:
    """Yield the server-sent events of a streamed chat completion."""
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": model}

    def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
        chunk = json.dumps({**head, "choices": choices, **more}, ensure_ascii=False)
        return f"data: {chunk}\n\n".encode()

    for delta in _openai_deltas(reply, number):
        yield event([{"index": 0, "delta": delta, "finish_reason": None}])
    if reply.fault is Fault.NO_DONE:
        return
    yield event([{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}])
    if usage:
        yield event([], usage=_openai_usage(reply, prompt_bytes))
    yield b"data: [DONE]\n\n"


def _ollama_object(
    reply: Reply, model: str, prompt_bytes: int, message: dict[str, Any], *, done: bool
) -> bytes:
    line: dict[str, Any] = {
        "model": model,
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": done,
    }
    if done:
        prompt, completion, _ = _usage(reply, prompt_bytes)
        line |= {"done_reason": reply.finish or "stop", "prompt_eval_count": prompt, "eval_count": completion}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _ollama_calls(reply: Reply) -> list[dict[str, Any]]:
    """Return tool calls as Ollama writes them: whole, arguments as an object."""
    return [
        {"function": {"name": name, "arguments": json.loads(_arguments(arguments))}}
        for name, arguments in reply.calls
    ]


def ollama_message(reply: Reply, model: str, prompt_bytes: int) -> bytes:
    """Return a whole native chat answer."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(reply.parts)}
    if reply.thinking:
        message["thinking"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = _ollama_calls(reply)
    return _ollama_object(reply, model, prompt_bytes, message, done=True)


def ollama_events(reply: Reply, model: str, prompt_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a streamed native chat answer."""
    deltas: list[dict[str, Any]] = [{"content": "", "thinking": reply.thinking}] if reply.thinking else []
    deltas += [{"content": part} for part in reply.parts]
    deltas += [{"content": "", "tool_calls": [call]} for call in _ollama_calls(reply)]
    for delta in deltas:
        yield _ollama_object(reply, model, prompt_bytes, {"role": "assistant", **delta}, done=False)
    if reply.fault is not Fault.NO_DONE:
        yield _ollama_object(reply, model, prompt_bytes, {"role": "assistant", "content": ""}, done=True)
