"""A request about a conversation that is over for now."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..const import CONF_KEEP_ALIVE, CONF_NUM_CTX
from ..inference.models import ChatRequest


def afterthought(
    settings: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    instruction: str,
    max_tokens: int,
    *,
    schema: Mapping[str, Any] | None = None,
) -> ChatRequest:
    """Return a request that asks something about messages that a model has seen.

    It begins with these very messages and tools, so that the server has read most of it already, and finds
    them in its cache when the conversation goes on.
    """
    return ChatRequest(
        messages=[*map(dict, messages), {"role": "user", "content": instruction}],
        tools=[dict(tool) for tool in tools],
        tool_choice="none" if tools else None,
        temperature=0.0,
        max_tokens=max_tokens,
        keep_alive=settings[CONF_KEEP_ALIVE],
        num_ctx=settings.get(CONF_NUM_CTX),
        thinking=False,
        response_schema=dict(schema) if schema else None,
    )
