"""Detects the capabilities of a server and its model during setup."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from .dialects.base import ServerRequest, is_cloud, join_address, parse_address, without_path
from .dialects.ollama import OllamaWire, learn_model
from .models import ChatRequest, ErrorKind, Message, ModelServerError, Probe

if TYPE_CHECKING:
    from .client import ModelClient

_TOKENS: Final = 512
_QUESTION: Final[Message] = {
    "role": "user",
    "content": "What is the temperature in the kitchen? Call the tool.",
}
_TOOL: Final = {
    "type": "function",
    "function": {
        "name": "get_temperature",
        "description": "Get the temperature of a room.",
        "parameters": {
            "type": "object",
            "properties": {"room": {"type": "string"}},
            "required": ["room"],
        },
    },
}
# Servers that have no list of models are fine; those that refuse the key or are down are not.
_NO_LIST: Final = (ErrorKind.BAD_REQUEST, ErrorKind.MALFORMED, ErrorKind.MODEL_NOT_FOUND)
_FATAL: Final = (ErrorKind.AUTH, ErrorKind.MALFORMED, ErrorKind.MODEL_NOT_FOUND)
# Where servers put a model's context size, the one it is loaded with before the one it could have.
_CONTEXT_SIZES: Final = (
    ("meta", "n_ctx"),
    ("max_model_len",),
    ("loaded_context_length",),
    ("context_length",),
    ("context_window",),
    ("max_context_length",),
    ("top_provider", "context_length"),
    ("meta", "n_ctx_train"),
)
# Addresses beside the API where llama.cpp and LM Studio tell more.
_MORE: Final = (
    ("/props", ("default_generation_settings", "n_ctx")),
    ("/api/v0/models/{model}", ("loaded_context_length",)),
)


async def probe(client: ModelClient) -> Probe:
    """Return the results; asks the model itself whether it calls tools, which also proves the key."""
    wire = await client.wire()
    if isinstance(wire, OllamaWire):
        learn_model(client.facts, await client.fetch(lambda _: wire.show(client.endpoint)))
        abilities = client.facts.abilities
        return Probe(None if abilities is None else "tools" in abilities, client.facts.context_length)
    models: list[dict[str, Any]] = []
    try:
        models = await client.model_list()
    except ModelServerError as err:
        if err.kind not in _NO_LIST:
            raise
    tool_calling: bool | None = None
    request = ChatRequest(
        messages=[_QUESTION], tools=[_TOOL], max_tokens=_TOKENS, temperature=0.0, thinking=False
    )
    try:
        answer = await client.complete(request)
        if answer.tool_calls or answer.finish_reason != "length":
            tool_calling = bool(answer.tool_calls)
    except ModelServerError as err:
        if err.kind in _FATAL:
            raise
        if err.kind is ErrorKind.BAD_REQUEST and "tool" in err.detail.lower():
            tool_calling = False
    listed = next((model for model in models if model["id"] == client.endpoint.model), {})
    size, *others = (_lookup(listed, path) for path in _CONTEXT_SIZES)
    base = parse_address(client.endpoint.base_url)
    if size is None and not is_cloud(base):
        root, headers = without_path(base, "/v1"), wire.headers(client.endpoint)
        for path, field in _MORE:
            call = ServerRequest(join_address(root, path.format(model=client.endpoint.model)))
            with suppress(ModelServerError):
                size = _lookup(await client.transport.json(call, headers), field)
            if size is not None:
                break
    return Probe(tool_calling, size if size is not None else next(filter(None, others), None))


def _lookup(data: Any, path: tuple[str, ...]) -> int | None:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, int) and data > 0 else None
