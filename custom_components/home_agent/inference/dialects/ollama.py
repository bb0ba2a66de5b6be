"""Ollama's native API, the only one where context size, keep-alive and thinking are really set."""

from collections.abc import Mapping, Sequence
import re
from typing import Any, ClassVar, Final, override

import orjson
from yarl import URL

from ...regex import lazy
from ..errors import in_stream
from ..models import ChatRequest, Delta, Dialect, Endpoint, Usage
from . import address
from .base import Answer, Call, Wire, tokens

_OPTIONS: Final = {
    "num_ctx": "num_ctx",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "num_predict",
}
_DATA_URL: Final = lazy(r"data:[^,;]{0,100};base64,(.*)", re.DOTALL)


class OllamaWire(Wire):
    """Requests to /api."""

    dialect: ClassVar[Dialect] = Dialect.OLLAMA

    @staticmethod
    def url(endpoint: Endpoint, path: str) -> URL:
        """Return the address of an operation, whichever API the base address names."""
        return address.join(address.without(address.parse(endpoint.base_url), "/v1", "/api"), path)

    @override
    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if (key := endpoint.api_key.strip()) else {}

    @override
    def chat(self, endpoint: Endpoint, request: ChatRequest, *, stream: bool) -> Call:
        options = {
            name: value for field, name in _OPTIONS.items() if (value := getattr(request, field)) is not None
        }
        body: dict[str, Any] = {"model": endpoint.model, "messages": _messages(request.messages)}
        # There is no tool_choice: a model that must not call tools is shown none.
        if request.tools and request.tool_choice != "none":
            body["tools"] = request.tools
        if request.thinking is not None:
            body["think"] = (request.reasoning_effort or True) if request.thinking else False
        if request.response_schema is not None:
            body["format"] = request.response_schema
        if request.keep_alive:
            body["keep_alive"] = duration(request.keep_alive)
        return Call(self.url(endpoint, "/api/chat"), {**body, "stream": stream, "options": options})

    @override
    def answer(self, secrets: Sequence[str] = ()) -> Answer:
        return OllamaAnswer(secrets)

    @override
    def models(self, endpoint: Endpoint) -> Call:
        return Call(self.url(endpoint, "/api/tags"))

    def show(self, endpoint: Endpoint) -> Call:
        """Return the request for what is known of the model."""
        return Call(self.url(endpoint, "/api/show"), {"model": endpoint.model})

    @override
    def embeddings(self, endpoint: Endpoint, texts: list[str], keep_alive: str | None) -> Call:
        body: dict[str, Any] = {"model": endpoint.model, "input": texts, "truncate": True}
        if keep_alive:
            body["keep_alive"] = duration(keep_alive)
        return Call(self.url(endpoint, "/api/embed"), body)

    @override
    def read_embeddings(self, data: Any) -> list[list[float]]:
        vectors: list[list[float]] = data["embeddings"]
        return vectors


class OllamaAnswer(Answer):
    """Lines of a stream and whole answers alike."""

    @override
    def read(self, data: Mapping[str, Any]) -> Delta | None:
        """Return what a line says."""
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
            self.usage = Usage(tokens(data.get("prompt_eval_count")), tokens(data.get("eval_count")))
        return self._delta(message.get("content") or "", message.get("thinking") or "", calls)


def duration(value: str) -> str | int:
    """Return a keep-alive; a bare number is of seconds, and Ollama takes it as a number only."""
    try:
        return int(value)
    except ValueError:
        return value


def _messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages as Ollama wants them."""
    names = {
        call.get("id"): call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    return [_message(message, names) for message in messages]


def _message(message: Mapping[str, Any], names: Mapping[Any, str]) -> dict[str, Any]:
    """Return one message: arguments decoded, images apart, results under the tool's name."""
    content, images = _parts(message.get("content"))
    converted: dict[str, Any] = {"role": message["role"], "content": content}
    if images:
        converted["images"] = images
    if calls := message.get("tool_calls"):
        converted["tool_calls"] = [
            {"id": call.get("id", ""), "function": {**call["function"], "arguments": _decoded(call)}}
            for call in calls
        ]
    if message["role"] == "tool":
        call_id = message.get("tool_call_id", "")
        converted["tool_call_id"] = call_id
        converted["tool_name"] = message.get("name") or names.get(call_id, "")
    return converted


def _parts(content: Any) -> tuple[str, list[str]]:
    """Return text and images (base64) of a content, which may be a list of parts."""
    if not isinstance(content, list):
        return content or "", []
    images = [
        match[1]
        for part in content
        if part.get("type") == "image_url" and (match := _DATA_URL.match(part["image_url"]["url"]))
    ]
    return "\n".join(part["text"] for part in content if part.get("type") == "text"), images


def _decoded(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an earlier call as an object; broken ones are not worth a refused request."""
    try:
        arguments = orjson.loads(call["function"].get("arguments") or "{}")
    except orjson.JSONDecodeError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
