"""OpenAI's chat completions and the many servers that speak them, which agree less than the name says."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, override

from yarl import URL

from ..models import ChatRequest, Delta, Dialect, Endpoint, ErrorKind, ModelServerError, ToolCall, in_stream
from .base import (
    LEAST_EFFORT,
    TEMPLATE_SWITCHES,
    AnswerReader,
    ServerRequest,
    Wire,
    always_thinks,
    is_cloud,
    join_address,
    parse_address,
    token_usage,
    without_path,
    without_thinking,
)

_OPTIONAL = ("temperature", "top_p", "max_tokens", "reasoning_effort", "tool_choice")
_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_UNKNOWN_REASONS = ("", "null", "none")


class OpenAIAnswer(AnswerReader):
    """Chunks of a stream and whole completions alike."""

    @override
    def read(self, data: Mapping[str, Any]) -> Delta | None:
        """Return the delta of a chunk or a completion."""
        choices = data.get("choices")
        if (
            data.get("error")
            or data.get("object") == "error"
            or (choices is None and (bool(data.get("detail")) or isinstance(data.get("message"), str)))
        ):
            raise in_stream(data, secrets=self.secrets)
        self._count(data)
        self.recognised = self.recognised or choices is not None
        for choice in choices or ():
            if not choice.get("index"):
                delta = choice.get("delta")
                delta = (choice.get("message") if delta is None else delta) or {}
                content, thinking = _split(delta.get("content"))
                if refusal := delta.get("refusal"):
                    content += _string(refusal)
                thoughts = [
                    text for name in _THINKING_FIELDS if name in delta and (text := _string(delta[name]))
                ]
                thinking += thoughts[0] if thoughts else ""
                extra = delta.get("extra_content") or {}
                if bool((extra.get("google") or {}).get("thought")):
                    content, thinking = "", thinking + content
                calls: list[ToolCall] = []
                for entry in delta.get("tool_calls") or ():
                    if entry:
                        calls += self.calls.add(entry)
                reason = str(choice.get("finish_reason") or "").lower()
                if reason == "error":
                    raise ModelServerError(
                        ErrorKind.UNAVAILABLE, "the server gave up in the middle of its answer"
                    )
                if reason not in _UNKNOWN_REASONS:
                    self.finish_reason = "tool_calls" if reason == "function_call" else reason
                    calls += self.calls.flush()
                return self._delta(content, thinking, calls) if content or thinking or calls else None
        return None

    def _count(self, data: Mapping[str, Any]) -> None:
        """Keep the newest token counts; cached ones have three names."""
        usage = data.get("usage") or (data.get("x_groq") or {}).get("usage")
        timings = data.get("timings") or {}
        if not usage:
            if timings and self.usage:
                self.usage = token_usage(self.usage.prompt, self.usage.completion, timings.get("cache_n"))
            return
        details = usage.get("prompt_tokens_details") or {}
        cached = (
            details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or timings.get("cache_n")
        )
        self.usage = token_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


class OpenAIWire(Wire):
    """Requests as OpenAI documents them, with extensions of local servers."""

    dialect: ClassVar[Dialect] = Dialect.OPENAI
    answer: ClassVar[type[AnswerReader]] = OpenAIAnswer

    def base(self, endpoint: Endpoint) -> URL:
        """Return the address the paths are added to; a bare host gets /v1."""
        base = parse_address(endpoint.base_url)
        return join_address(base, "/v1") if base.path == "/" else base

    @override
    def chat(self, endpoint: Endpoint, request: ChatRequest, *, stream: bool) -> ServerRequest:
        body: dict[str, Any] = {"model": endpoint.model, "messages": request.messages}
        if request.tools:
            body["tools"] = request.tools
        for name in _OPTIONAL:
            if (value := getattr(request, name)) is not None:
                body[name] = value
        if not request.tools:
            body.pop("tool_choice", None)
        if request.response_schema is not None:
            named = {
                "name": "answer",
                "strict": _is_strict(request.response_schema),
                "schema": request.response_schema,
            }
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        url = self.chat_url(endpoint)
        if request.thinking is False:
            body["messages"] = without_thinking(request.messages, endpoint.model)
            if request.reasoning_effort is None and always_thinks(endpoint.model):
                body["reasoning_effort"] = LEAST_EFFORT
            if not is_cloud(url):
                body["chat_template_kwargs"] = TEMPLATE_SWITCHES
        body["stream"] = stream
        if stream:
            body["stream_options"] = {"include_usage": True}
        return ServerRequest(url, body)

    def chat_url(self, endpoint: Endpoint) -> URL:
        """Return where chats go."""
        return join_address(self.base(endpoint), "/chat/completions")

    @override
    def models(self, endpoint: Endpoint) -> ServerRequest:
        return ServerRequest(join_address(self.base(endpoint), "/models"))

    @override
    def embeddings(self, endpoint: Endpoint, texts: list[str], keep_alive: str | None) -> ServerRequest:
        body = {"model": endpoint.model, "input": texts, "encoding_format": "float"}
        return ServerRequest(join_address(self.base(endpoint), "/embeddings"), body)

    @override
    def read_embeddings(self, data: Any) -> list[list[float]]:
        items = data if isinstance(data, list) else data["data"]
        return [item["embedding"] for item in sorted(items, key=lambda item: item.get("index", 0))]


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


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _split(content: Any) -> tuple[str, str]:
    if not isinstance(content, list):
        return _string(content), ""
    words = thoughts = ""
    for part in content:
        if not isinstance(part, Mapping):
            words += _string(part)
        elif part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking") or part.get("text")
            thoughts += _split(inner)[0]
        else:
            words += _string(part.get("text"))
    return words, thoughts


API_VERSION: Final = "2024-10-21"
_DEPLOYMENTS: Final = "/openai/deployments"


class AzureWire(OpenAIWire):
    """The key in a header of its own, the deployment in the path, the version in the query."""

    dialect: ClassVar[Dialect] = Dialect.AZURE

    @override
    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        return {"api-key": key} if (key := endpoint.api_key.strip()) else {}

    @override
    def chat_url(self, endpoint: Endpoint) -> URL:
        return self._address(endpoint, "/chat/completions")

    @override
    def models(self, endpoint: Endpoint) -> ServerRequest:
        base = parse_address(endpoint.base_url)
        if _is_current(base):
            return ServerRequest(join_address(base, "/models", **_version(endpoint, base, None)))
        resource = base.with_path(base.path.partition(_DEPLOYMENTS)[0]).with_query(base.query)
        resource = without_path(resource, "/openai")
        return ServerRequest(
            join_address(resource, "/openai/models", **_version(endpoint, base, API_VERSION))
        )

    @override
    def embeddings(self, endpoint: Endpoint, texts: list[str], keep_alive: str | None) -> ServerRequest:
        body = super().embeddings(endpoint, texts, keep_alive).body
        return ServerRequest(self._address(endpoint, "/embeddings"), body)

    @staticmethod
    def _address(endpoint: Endpoint, path: str) -> URL:
        base = parse_address(endpoint.base_url)
        if _is_current(base):
            return join_address(base, path, **_version(endpoint, base, None))
        if _DEPLOYMENTS not in base.path:
            base = join_address(without_path(base, "/openai"), f"{_DEPLOYMENTS}/{endpoint.model}")
        return join_address(base, path, **_version(endpoint, base, API_VERSION))


def _is_current(base: URL) -> bool:
    """Tell whether the address is of the newer API, which needs neither deployment nor version."""
    return base.path.endswith("/v1")


def _version(endpoint: Endpoint, base: URL, default: str | None) -> dict[str, str]:
    """Return the version parameter: the option, what the address has, the default."""
    version = endpoint.api_version or base.query.get("api-version") or default
    return {"api-version": version} if version else {}
