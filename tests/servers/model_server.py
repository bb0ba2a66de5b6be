"""A scripted model server on loopback: OpenAI-compatible under /v1, Ollama's native API under /ollama.

In tests it runs in a thread with an event loop of its own, so that a blocked Home Assistant shows.
As a process: `python -m tests.servers.model_server --port N --script FILE.json`. It prints its address once
it listens. The file holds
`{"default": REPLY, "replies": [REPLY], "rules": [{"last_role": "tool", "contains": "...", "reply": REPLY}]}`,
where a REPLY is an object of `Reply`'s fields. `GET /_requests` tells what arrived and when (seconds of the
machine's monotonic clock), `POST /_script` replaces the script, `POST /_reset` forgets the requests.
"""

import argparse
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
import json
import math
from pathlib import Path
import re
from typing import Any, override
import zlib

from .loopback import Captured, LoopbackServer, Rendered
from .replies import Fault, Reply, ollama_events, ollama_message, openai_events, openai_message, status, text

type Answer = Reply | Callable[[Captured], Reply]
type Predicate = Callable[[Captured], bool]


def on_path(suffix: str) -> Predicate:
    """Match requests whose path ends like this."""
    return lambda request: request.path.endswith(suffix)


def has_parameter(name: str) -> Predicate:
    """Match chat requests whose body carries this parameter."""
    return lambda request: request.is_chat and name in (request.json or {})


class ModelServer(LoopbackServer):
    """The server; use it as a context manager or through the `model_server` fixture."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.default: Answer = text("Done.")
        self.models = ["test-model"]
        self.dimensions = 256
        self.context_length = 32_768
        self.capabilities = ["completion", "tools"]
        self._replies: deque[Answer] = deque()
        self._rules: list[tuple[Predicate, Answer]] = []

    @property
    def url(self) -> str:
        """Return the base URL of the OpenAI-compatible API."""
        return f"{self.address}/v1"

    @property
    def ollama_url(self) -> str:
        """Return the base URL of the native Ollama API."""
        return f"{self.address}/ollama"

    @property
    def chats(self) -> list[Captured]:
        """Return the chat requests only."""
        return [request for request in self.requests if request.is_chat]

    def script(self, replies: Sequence[Answer]) -> None:
        """Queue answers for the next chat requests."""
        self._replies.extend(replies)

    def replies(self, replies: Sequence[Answer]) -> None:
        """Answer the next chat requests like this, and with nothing that was queued before."""
        self._replies.clear()
        self.script(replies)

    def on(self, predicate: Predicate, reply: Answer) -> None:
        """Answer every request that fits like this, before the queue; later rules win."""
        self._rules.insert(0, (predicate, reply))

    def clear(self) -> None:
        """Forget rules, queue and captured requests."""
        self._rules.clear()
        self._replies.clear()
        self.requests.clear()

    # Answers

    @override
    def choose(self, request: Captured) -> Reply:
        """Return the answer: a rule, the queue (chat only), the built-in one."""
        answer: Answer | None = None
        with self._lock:
            for predicate, candidate in self._rules:
                if predicate(request):
                    answer = candidate
                    break
            else:
                if request.is_chat:
                    answer = self._replies.popleft() if self._replies else self.default
        if answer is None:
            return self._built_in(request)
        return answer if isinstance(answer, Reply) else answer(request)

    @override
    def render(self, request: Captured, reply: Reply) -> Rendered:
        if reply.pieces is not None:
            return Rendered(reply.content_type, events=reply.pieces)
        if reply.body is not None or not request.is_chat:
            return Rendered(reply.content_type, whole=reply.body or b"")
        body = request.json or {}
        native = request.path.endswith("/api/chat")
        error = json.dumps({"error": reply.error}).encode()
        if not body.get("stream", native):
            whole = error if reply.fault is Fault.ERROR else self._whole(request, reply, body)
            return Rendered(reply.content_type, whole=whole)
        if native:
            return Rendered(
                "application/x-ndjson", events=self._events(request, reply, body), error=error + b"\n"
            )
        error = b"data: " + error + b"\n\n"
        return Rendered("text/event-stream", events=self._events(request, reply, body), error=error)

    def _whole(self, request: Captured, reply: Reply, body: dict[str, Any]) -> bytes:
        model = body.get("model", "")
        if request.path.endswith("/api/chat"):
            return ollama_message(reply, model, len(request.raw))
        return openai_message(reply, model, request.number, len(request.raw))

    def _events(self, request: Captured, reply: Reply, body: dict[str, Any]) -> Iterator[bytes]:
        model = body.get("model", "")
        if request.path.endswith("/api/chat"):
            return ollama_events(reply, model, len(request.raw))
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return openai_events(reply, model, request.number, len(request.raw), usage)

    def _built_in(self, request: Captured) -> Reply:
        body = request.json or {}
        path = request.path
        if path.endswith("/embeddings"):
            vectors = [embedding(item, self.dimensions) for item in _inputs(body)]
            data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
            return status(200, {"object": "list", "data": data, "model": body.get("model")})
        if path.endswith("/ollama/api/embed"):
            return status(200, {"embeddings": [embedding(item, self.dimensions) for item in _inputs(body)]})
        answers: dict[str, Callable[[], Any]] = {
            "/ollama/api/version": lambda: {"version": "0.12.6"},
            "/ollama/api/tags": lambda: {"models": [{"name": name, "model": name} for name in self.models]},
            "/ollama/api/show": self._show,
            "/_requests": lambda: [captured.summary() for captured in self.requests],
            "/_script": lambda: self.load(body),
            "/_reset": self.requests.clear,
        }
        if path.endswith("/models") and not path.startswith("/ollama"):
            return status(
                200, {"object": "list", "data": [{"id": n, "object": "model"} for n in self.models]}
            )
        if answer := answers.get(path):
            return status(200, answer())
        return status(404, {"error": {"message": f"no such path: {path}"}})

    def _show(self) -> dict[str, Any]:
        info = {"general.architecture": "llama", "llama.context_length": self.context_length}
        return {"model_info": info, "capabilities": self.capabilities, "parameters": ""}

    def load(self, script: Mapping[str, Any]) -> None:
        """Replace the script with one read from JSON."""
        self._rules = [(_matcher(rule), Reply(**rule["reply"])) for rule in script.get("rules", ())]
        self._replies = deque(Reply(**reply) for reply in script.get("replies", ()))
        if "default" in script:
            self.default = Reply(**script["default"])


def embedding(content: str, dimensions: int) -> list[float]:
    """Return a unit vector in which texts that share words are close."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", content.lower()):
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _inputs(body: Mapping[str, Any]) -> list[str]:
    inputs = body.get("input") or []
    return [inputs] if isinstance(inputs, str) else list(inputs)


def _matcher(rule: Mapping[str, Any]) -> Predicate:
    def matches(request: Captured) -> bool:
        if not request.is_chat or not request.messages:
            return False
        last = request.messages[-1]
        role_fits = rule.get("last_role") in (None, last.get("role"))
        return role_fits and rule.get("contains", "") in json.dumps(last, ensure_ascii=False)

    return matches


def main() -> None:
    """Run as a process and print the port once it listens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    options = parser.parse_args()
    server = ModelServer(options.port)
    if options.script:
        server.load(json.loads(options.script.read_text(encoding="utf-8")))
    server.serve_forever(
        lambda: print(server.address, flush=True)  # noqa: T201
    )


if __name__ == "__main__":
    main()
