"""Detects the capabilities of a server and its model during setup."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .dialects.base import ServerRequest, is_cloud, join_address, parse_address, without_path
from .dialects.ollama import OllamaWire, learn_model
from .models import ChatRequest, ErrorKind, Message, ModelServerError, Probe
from .queue import GUESSED_SLOTS, MANY_SLOTS

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
_BATCHING: Final = frozenset({"sglang", "vllm"})
"""Servers that answer many requests at a time, as their lists of models name them."""
_MORE: Final = (
    ("/props", ("default_generation_settings", "n_ctx")),
    ("/api/v0/models/{model}", ("loaded_context_length",)),
)


async def probe(client: ModelClient) -> Probe:
    """Return the results; asks the model itself whether it calls tools, which also proves the key."""
    wire = await client.wire()
    endpoint = client.endpoint
    models: list[dict[str, Any]] = []
    try:
        models = await client.model_list()
    except ModelServerError as err:
        if err.kind not in _NO_LIST or not endpoint.model:
            raise
    tool_calling: bool | None = None
    size: int | None = None
    if isinstance(wire, OllamaWire):
        if endpoint.model:
            data = await client.fetch(lambda _: wire.show(endpoint))
            learn_model(client.facts, data)
            size, abilities = client.facts.context_length, client.facts.abilities
            tool_calling = "tools" in abilities if abilities is not None else None
    elif endpoint.model:
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
        size = await _context_size(client, next((m for m in models if m["id"] == endpoint.model), {}))
    return Probe(
        models=[model["id"] for model in models],
        tool_calling=tool_calling,
        context_size=size,
        dialect=wire.dialect,
    )


async def learn_slots(client: ModelClient, models: Sequence[Mapping[str, Any]]) -> None:
    """Tell the queue of a server at home how many requests it answers at a time.

    llama.cpp tells it. Ollama does not, and answers one with its defaults. Raises ModelServerError.
    """
    base = parse_address(client.endpoint.base_url)
    if is_cloud(base):
        return
    wire = await client.wire()
    if isinstance(wire, OllamaWire):
        client.queue.learn(1, exact=False)
    elif any(model.get("owned_by") in _BATCHING for model in models):
        client.queue.learn(MANY_SLOTS, exact=True)
    else:
        call = ServerRequest(join_address(without_path(base, "/v1"), "/props"))
        try:
            props = await client.transport.json(call, wire.headers(client.endpoint))
        except ModelServerError as err:
            if err.status is None and err.kind is not ErrorKind.MALFORMED:
                raise
            props = None
        slots = _lookup(props, ("total_slots",))
        client.queue.learn(slots or GUESSED_SLOTS, exact=slots is not None)


async def _context_size(client: ModelClient, model: Mapping[str, Any]) -> int | None:
    base = parse_address(client.endpoint.base_url)
    loaded, *others = (_lookup(model, path) for path in _CONTEXT_SIZES)
    if loaded is not None or is_cloud(base):
        return loaded if loaded is not None else next(filter(None, others), None)
    root = without_path(base, "/v1")
    headers = (await client.wire()).headers(client.endpoint)
    for path, field in _MORE:
        call = ServerRequest(join_address(root, path.format(model=client.endpoint.model)))
        try:
            size = _lookup(await client.transport.json(call, headers), field)
        except ModelServerError:
            continue
        if size is not None:
            return size
    return next(filter(None, others), None)


def _lookup(data: Any, path: tuple[str, ...]) -> int | None:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, int) and data > 0 else None
