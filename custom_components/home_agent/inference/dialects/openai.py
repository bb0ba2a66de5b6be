"""OpenAI's chat completions and the many servers that speak them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, override

from yarl import URL

from ..models import ChatRequest, Dialect, Endpoint
from . import address
from .base import Answer, Call, Wire
from .openai_answer import OpenAIAnswer

_OPTIONAL = ("temperature", "top_p", "max_tokens", "reasoning_effort", "tool_choice")


class OpenAIWire(Wire):
    """Requests as OpenAI documents them, with what local servers understand besides."""

    dialect: ClassVar[Dialect] = Dialect.OPENAI

    def base(self, endpoint: Endpoint) -> URL:
        """Return the address the paths are added to; a bare host gets /v1."""
        base = address.parse(endpoint.base_url)
        return address.join(base, "/v1") if base.path == "/" else base

    @override
    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if (key := endpoint.api_key.strip()) else {}

    @override
    def chat(self, endpoint: Endpoint, request: ChatRequest, *, stream: bool) -> Call:
        body: dict[str, Any] = {"model": endpoint.model, "messages": request.messages}
        if request.tools:
            body["tools"] = request.tools
        for name in _OPTIONAL:
            if (value := getattr(request, name)) is not None:
                body[name] = value
        if not request.tools:
            body.pop("tool_choice", None)
        if request.response_schema is not None:
            body["response_format"] = _response_format(request.response_schema)
        url = self.chat_url(endpoint)
        if request.thinking is False and not address.is_cloud(url):
            body["chat_template_kwargs"] = {"enable_thinking": False}
        body["stream"] = stream
        if stream:
            body["stream_options"] = {"include_usage": True}
        return Call(url, body)

    def chat_url(self, endpoint: Endpoint) -> URL:
        """Return where chats go."""
        return address.join(self.base(endpoint), "/chat/completions")

    @override
    def answer(self, secrets: Sequence[str] = ()) -> Answer:
        return OpenAIAnswer(secrets)

    @override
    def models(self, endpoint: Endpoint) -> Call:
        return Call(address.join(self.base(endpoint), "/models"))

    @override
    def embeddings(self, endpoint: Endpoint, texts: list[str], keep_alive: str | None) -> Call:
        body = {"model": endpoint.model, "input": texts, "encoding_format": "float"}
        return Call(address.join(self.base(endpoint), "/embeddings"), body)

    @override
    def read_embeddings(self, data: Any) -> list[list[float]]:
        items = data if isinstance(data, list) else data["data"]
        return [item["embedding"] for item in sorted(items, key=lambda item: item.get("index", 0))]


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameter that asks for JSON of this shape."""
    named = {"name": "answer", "strict": _is_strict(schema), "schema": schema}
    return {"type": "json_schema", "json_schema": named}


def _is_strict(schema: Any) -> bool:
    """Tell whether OpenAI's strict mode takes a schema: every object closed, every property required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if isinstance(properties := schema.get("properties"), Mapping):
        required = schema.get("required") or ()
        if schema.get("additionalProperties") is not False or set(properties) != set(required):
            return False
        return all(map(_is_strict, properties.values()))
    if schema.get("type") == "object":
        return False
    return all(map(_is_strict, schema.values()))
