"""The context a model on Ollama is loaded with: never the server's default, which cuts prompts."""

from collections.abc import Mapping
from dataclasses import replace
import re
from typing import Any, Final

import orjson

from ..regex import lazy
from .capabilities import ModelFacts
from .models import ChatRequest

USUAL_NUM_CTX: Final = 8192
_ANSWER_TOKENS: Final = 1024
_BYTES_PER_TOKEN: Final = 3.5
_IMAGE_TOKENS: Final = 1500
_SET_BY_MODEL: Final = lazy(r"^[ \t]{0,40}num_ctx[ \t]+(\d{1,9})", re.MULTILINE)


def learn(facts: ModelFacts, data: Any) -> None:
    """Keep what `/api/show` says of a model."""
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


def fit(facts: ModelFacts, request: ChatRequest) -> ChatRequest:
    """Return the request with a context size, and without thinking for a model that cannot.

    The size stays the same from request to request, since another one makes Ollama load the model anew; it
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
