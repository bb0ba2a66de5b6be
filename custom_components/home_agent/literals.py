"""Values and calls as models write them in text: the names of their parts, and a reader of both notations."""

import ast
from contextlib import suppress
import json
from typing import Any, Final

MAX_CHARS: Final = 20_000
"""Longest text that is read as Python; the parser of Python needs far more memory than the text has."""

NAME_KEYS: Final = ("name", "function", "tool", "tool_name", "function_name", "recipient_name")
"""Under which a call in JSON names its tool."""
ARGUMENT_KEYS: Final = (
    *("arguments", "parameters", "args", "params", "kwargs", "input", "action_input", "tool_input"),
)
"""Under which a call in JSON holds its arguments."""


def parsed(text: str) -> Any:
    """Return the value of a text in JSON or Python notation, or the text itself if it has neither."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) <= MAX_CHARS:
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return ast.literal_eval(text)
    return text


def opened(text: str) -> Any:
    """Return the object or list that a text represents, or the text itself if it represents neither."""
    return parsed(text) if text.lstrip()[:1] in ("{", "[", "(") else text
