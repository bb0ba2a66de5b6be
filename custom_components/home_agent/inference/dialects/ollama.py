"""Ollama's native API, the only one where context size, keep-alive and thinking are really set.

A model is never left to the server's default context size, which cuts prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import re
from typing import Any, ClassVar, Final, override

import orjson
from yarl import URL

from ...regex import lazy_regex
from ...texts import read_arguments
from ..models import ChatRequest, Delta, Dialect, Endpoint, ModelFacts, in_stream
from .base import (
    LEAST_EFFORT,
    AnswerReader,
    ServerRequest,
    Wire,
    always_thinks,
    join_address,
    parse_address,
    token_usage,
    without_path,
)

_OPTIONS: Final = {
    "num_ctx": "num_ctx",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "num_predict",
}
USUAL_NUM_CTX: Final = 8192
_ANSWER_TOKENS: Final = 1024
_BYTES_PER_TOKEN: Final = 3.5
_IMAGE_TOKENS: Final = 1500
_SET_BY_MODEL: Final = lazy_regex(r"^[ \t]{0,40}num_ctx[ \t]+(\d{1,9})", re.MULTILINE)
_DATA_URL: Final = lazy_regex(r"data:[^,;]{0,100};base64,(.*)", re.DOTALL)


class OllamaAnswer(AnswerReader):
    """Lines of a stream and whole answers alike."""

    @override
    def read(self, data: Mapping[str, Any]) -> Delta | None:
        """Return the delta of a line."""
        if data.get("error"):
            raise in_stream(data, secrets=self.secrets)
        message = data.get("message") or {}
        self.recognised = self.recognised or "message" in data or "done" in data
        calls = []
        for entry in message.get("tool_calls") or ():
            calls += self.calls.add({key: value for key, value in entry.items() if key != "index"})
            calls += self.calls.flush()
        if data.get("done"):
            self.finish_reason = data.get("done_reason") or "stop"
            self.usage = token_usage(data.get("prompt_eval_count"), data.get("eval_count"))
        return self._delta(message.get("content") or "", message.get("thinking") or "", calls)


class OllamaWire(Wire):
    """Requests to /api."""

    dialect: ClassVar[Dialect] = Dialect.OLLAMA
    answer: ClassVar[type[AnswerReader]] = OllamaAnswer

    @staticmethod
    def url(endpoint: Endpoint, path: str) -> URL:
        """Return the address of an operation, whichever API the base address names."""
        return join_address(without_path(parse_address(endpoint.base_url), "/v1", "/api"), path)

    @override
    def chat(self, endpoint: Endpoint, request: ChatRequest, *, stream: bool) -> ServerRequest:
        options = {
            name: value for field, name in _OPTIONS.items() if (value := getattr(request, field)) is not None
        }
        body: dict[str, Any] = {"model": endpoint.model, "messages": _messages(request.messages)}
        # There is no tool_choice: a model that must not call tools is shown none.
        if request.tools and request.tool_choice != "none":
            body["tools"] = request.tools
        if request.thinking is not None:
            least = LEAST_EFFORT if always_thinks(endpoint.model) else False
            body["think"] = (request.reasoning_effort or True) if request.thinking else least
        if request.response_schema is not None:
            body["format"] = request.response_schema
        if request.keep_alive:
            body["keep_alive"] = duration(request.keep_alive)
        return ServerRequest(self.url(endpoint, "/api/chat"), {**body, "stream": stream, "options": options})

    @override
    def models(self, endpoint: Endpoint) -> ServerRequest:
        return ServerRequest(self.url(endpoint, "/api/tags"))

    def show(self, endpoint: Endpoint) -> ServerRequest:
        """Return the request for the model's known data."""
        return ServerRequest(self.url(endpoint, "/api/show"), {"model": endpoint.model})

    @override
    def embeddings(self, endpoint: Endpoint, texts: list[str], keep_alive: str | None) -> ServerRequest:
        body: dict[str, Any] = {"model": endpoint.model, "input": texts, "truncate": True}
        if keep_alive:
            body["keep_alive"] = duration(keep_alive)
        return ServerRequest(self.url(endpoint, "/api/embed"), body)

    @override
    def read_embeddings(self, data: Any) -> list[list[float]]:
        vectors: list[list[float]] = data["embeddings"]
        return vectors


def duration(value: str) -> str | int:
    """Return a keep-alive; a bare number is of seconds, and Ollama takes it as a number only."""
    try:
        return int(value)
    except ValueError:
        return value


def _messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with arguments decoded, images apart, and results under the tool's name."""
    names: dict[str, str] = {}
    converted: list[dict[str, Any]] = []
    for message in messages:
        content, images = message.get("content") or "", []
        if isinstance(content, list):
            urls = [part["image_url"]["url"] for part in content if part.get("type") == "image_url"]
            images = [match[1] for url in urls if (match := _DATA_URL.match(url))]
            content = "\n".join(part["text"] for part in content if part.get("type") == "text")
        row: dict[str, Any] = {"role": message["role"], "content": content}
        if images:
            row["images"] = images
        for call in message.get("tool_calls") or ():
            function, call_id = call["function"], call.get("id", "")
            names[call_id] = function["name"]
            # Broken arguments of an earlier call are not worth a refused request.
            arguments = read_arguments(function.get("arguments") or "{}") or {}
            row.setdefault("tool_calls", []).append(
                {"id": call_id, "function": {**function, "arguments": arguments}}
            )
        if message["role"] == "tool":
            row["tool_call_id"] = call_id = message.get("tool_call_id", "")
            row["tool_name"] = message.get("name") or names.get(call_id, "")
        converted.append(row)
    return converted


def learn_model(facts: ModelFacts, data: Any) -> None:
    """Store the data of `/api/show` about a model."""
    facts.asked = True
    if not isinstance(data, Mapping):
        return
    info = data.get("model_info")
    lengths = [
        value
        for name, value in (info.items() if isinstance(info, Mapping) else ())
        if name.endswith(".context_length") and isinstance(value, int) and value > 0
    ]
    facts.context_length = lengths[0] if lengths else None
    if match := _SET_BY_MODEL.search(str(data.get("parameters") or "")):
        facts.num_ctx = int(match[1])
    abilities = data.get("capabilities")
    if isinstance(abilities, list):
        facts.abilities = frozenset(map(str, abilities))


def with_context_size(facts: ModelFacts, request: ChatRequest) -> ChatRequest:
    """Return the request with a context size, and without thinking for a model that cannot.

    The size stays the same from request to request, since another one makes Ollama load the model again; it
    doubles when a prompt would not fit, as far as the model goes.
    """
    if request.thinking and facts.abilities is not None and "thinking" not in facts.abilities:
        request = replace(request, thinking=None)
    if request.num_ctx is not None:
        return request
    limit = facts.context_length
    size = facts.num_ctx or min(USUAL_NUM_CTX, limit or USUAL_NUM_CTX)
    needed = prompt_tokens(request) + (request.max_tokens or _ANSWER_TOKENS)
    while size < needed and limit is not None and size < limit:
        size = min(size * 2, limit)
    facts.num_ctx = size
    return replace(request, num_ctx=size)


def prompt_tokens(request: ChatRequest) -> int:
    """Return a cautious estimate of a prompt's size in tokens."""
    images = 0
    messages = []
    for message in request.messages:
        content = message.get("content")
        if isinstance(content, list):
            images += sum(part.get("type") == "image_url" for part in content)
            content = [part for part in content if part.get("type") != "image_url"]
        messages.append({**message, "content": content})
    size = len(orjson.dumps([messages, request.tools], default=str))
    return int(size / _BYTES_PER_TOKEN) + images * _IMAGE_TOKENS
