"""Results as the model gets them: `{success, result, error}`, always JSON, never too long."""

from collections.abc import Sequence
from typing import Any

from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import json_loads

from ..const import MAX_RESULT_CHARS
from ..errors import ToolExecutionError

MAX_ERROR_CHARS = 600


def succeeded(result: Any) -> llm.ToolResult:
    """Return the envelope of a call that worked."""
    return llm.ToolResult(data={"success": True, "result": to_json(result), "error": None})


def failed(error: str, result: Any = None) -> llm.ToolResult:
    """Return the envelope of a call that did not work."""
    return llm.ToolResult(
        data={"success": False, "result": to_json(result), "error": error[:MAX_ERROR_CHARS]}, error=True
    )


def together(results: Sequence[llm.ToolResult]) -> llm.ToolResult:
    """Return one envelope for the parts of a call, in their order."""
    done = [result.data["result"] for result in results]
    errors = [str(result.data["error"]) for result in results if result.error]
    return failed("; ".join(errors), done) if errors else succeeded(done)


def envelope(result: Any, *, strict: bool = False) -> llm.ToolResult:
    """Return what a tool that is not ours gave, as an envelope.

    Raises ToolExecutionError for a failure if `strict`.
    """
    if not isinstance(result, llm.ToolResult):
        result = llm.ToolResult(data=result)
    if not result.error:
        return succeeded(result.data)
    text = str(result.data.get("error_text") or result.data.get("error") or result.data)
    if strict:
        raise ToolExecutionError(text)
    return failed(text)


def to_json(value: Any) -> Any:
    """Return a value as JSON can hold it, cut where it is longer than a model should read."""
    try:
        text = json_dumps(value)
    except TypeError, ValueError, RecursionError:
        value = _plain(value)
        text = json_dumps(value)
    if len(text) <= MAX_RESULT_CHARS:
        return json_loads(text)
    return f"{text[:MAX_RESULT_CHARS]} … (cut, {len(text)} characters in all)"


def _plain(value: Any, depth: int = 6) -> Any:
    """Return a value with everything that JSON cannot hold as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value - value == 0 else str(value)
        case _ if depth == 0:
            return "…"
        case dict():
            return {str(key): _plain(item, depth - 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item, depth - 1) for item in value]
        case _:
            return str(value)[:MAX_RESULT_CHARS]
