"""Makes texts, messages and descriptions of tools shorter without breaking their form."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from ..regex import lazy
from .tokens import estimate_tokens

CUT: Final = " … (cut)"
GAP: Final = " … "
MESSAGE_TOKENS: Final = 4
"""What a message costs beside its text."""
IMAGE_TOKENS: Final = 1500
HEAD_SHARE: Final = 0.6
CAUTION: Final = 0.97
DESCRIPTION_CHARS: Final = 160

_SENTENCE_END = lazy(r"[.!?](?=\s|$)")


def message_tokens(message: Mapping[str, Any]) -> int:
    """Return about how many tokens a message takes."""
    content = message.get("content") or ""
    total = MESSAGE_TOKENS + (
        _parts_tokens(content) if isinstance(content, list) else estimate_tokens(content)
    )
    for call in message.get("tool_calls") or ():
        function = call["function"]
        total += MESSAGE_TOKENS + estimate_tokens(function["name"]) + estimate_tokens(function["arguments"])
    return total


def _parts_tokens(parts: Sequence[Mapping[str, Any]]) -> int:
    """Return about how many tokens texts and images take."""
    return sum(
        estimate_tokens(str(part.get("text") or "")) if part.get("type") == "text" else IMAGE_TOKENS
        for part in parts
    )


def tools_tokens(tools: Sequence[Mapping[str, Any]]) -> int:
    """Return about how many tokens the descriptions of tools take."""
    return sum(_tool_tokens(orjson.dumps(tool["function"])) for tool in tools)


@lru_cache(maxsize=512)
def _tool_tokens(function: bytes) -> int:
    """Return about how many tokens one tool takes."""
    return MESSAGE_TOKENS + estimate_tokens(function.decode())


def cut_tail(text: str, tokens: int) -> str:
    """Return the beginning of a text, with a mark where it was cut; at most so many tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    return text[: _fitting(text, tokens, CUT)] + CUT


def cut_middle(text: str, tokens: int) -> str:
    """Return the beginning and the end of a text of at most so many tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    wanted = tokens
    while True:
        ends = _ends(text, wanted)
        found = estimate_tokens(ends)
        if found <= tokens or wanted <= 1:
            return ends
        # Of a long text only a part is counted, and its ends may be unlike.
        wanted = min(wanted - 1, int(wanted * tokens / found * CAUTION))


def _ends(text: str, tokens: int) -> str:
    """Return the beginning and the end of a text, together about so many tokens."""
    head = text[: _fitting(text, int(tokens * HEAD_SHARE), GAP)]
    back = text[::-1]
    end = back[: _fitting(back, tokens - estimate_tokens(head), GAP)][::-1]
    return f"{head}{GAP}{end}"


def _fitting(text: str, tokens: int, mark: str) -> int:
    """Return about how many characters fit, with the mark behind them; never too many."""
    size = len(text)
    while size > 0 and (found := estimate_tokens(text[:size] + mark)) > tokens:
        size = min(size - 1, int(size * max(0, tokens) / found * CAUTION))
    return max(0, size)


def slim_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tools without the descriptions of their parameters, and with one sentence about each.

    Names, types, choices and what is required stay.
    """
    return [{**tool, "function": _slim(tool["function"])} for tool in tools]


def _slim(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return one tool with as few words as it can be used with."""
    slim = {**function, "parameters": _undescribed(function.get("parameters") or {})}
    if description := function.get("description"):
        end = _SENTENCE_END.search(description)
        slim["description"] = (description[: end.end()] if end else description)[:DESCRIPTION_CHARS]
    return slim


def _undescribed(schema: Any, *, names: bool = False) -> Any:
    """Return a schema without descriptions; below `properties` the keys are names, not keywords."""
    if isinstance(schema, list):
        return [_undescribed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _undescribed(value, names=key == "properties" and not names)
        for key, value in schema.items()
        if names or key not in {"description", "title", "examples", "default"}
    }


def cut_fairly(texts: Sequence[str], tokens: int) -> list[str]:
    """Return texts that together take at most so many tokens; the shorter ones stay whole."""
    left, result = tokens, list(texts)
    order = sorted(range(len(texts)), key=lambda index: estimate_tokens(texts[index]))
    for done, index in enumerate(order):
        result[index] = cut_tail(texts[index], left // (len(order) - done))
        left -= estimate_tokens(result[index])
    return result
