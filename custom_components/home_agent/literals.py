"""Values that were written as text, as JSON or as Python."""

import ast
import json
from typing import Any, Final

MAX_CHARS: Final = 20_000


def parsed(text: str) -> Any:
    """Return the value of a text in JSON or Python notation, or the text itself if it has neither."""
    if len(text) > MAX_CHARS:
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except ValueError, SyntaxError, RecursionError, MemoryError, TypeError:
            continue
    return text


def opened(text: str) -> Any:
    """Return the object or list that a text represents, or the text itself if it represents neither."""
    return parsed(text) if text.lstrip()[:1] in ("{", "[", "(") else text
