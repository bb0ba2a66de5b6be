"""Values and calls as models write them in text: the names of their parts, and a reader of both notations."""

import ast
from contextlib import suppress
import json
import re
from typing import Any, Final

from .regex import lazy_regex

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


def opened(value: Any) -> Any:
    """Return the object or list that a text represents; any other value as it is."""
    is_opened = isinstance(value, str) and value.lstrip()[:1] in ("{", "[", "(")
    return parsed(value) if is_opened else value


_QUOTES: Final = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'"})
_TOKENS: Final = lazy_regex(
    r"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')|(?<![\w.])(true|false|null|undefined)(?!\w)"""
    r"""|([{,]\s{0,20})([A-Za-z_]\w{0,60})(?=\s{0,20}:)"""
)
_PYTHON: Final = {"true": "True", "false": "False", "null": "None", "undefined": "None"}
_FENCED: Final = lazy_regex(r"\s*`{3,9}[\w+-]{0,20}\s(.*?)\s?`{3,9}\s*", re.DOTALL)
_AFTER: Final = lazy_regex(r"[\s}\])`;,]*(?:<[|/]?[\w|]{1,40}>[\s}\])`;,]*)*")
_BY_NAME: Final = lazy_regex(r"\s*[A-Za-z_]\w{0,60}\s{0,9}=(?!=)")


def read_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call from almost right JSON, Python or `name=value`; None if unreadable.

    Nothing is guessed: what was cut off stays unreadable.
    """
    found = parsed(text)
    if isinstance(found, str) and found != text:
        found = parsed(found)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if isinstance(found, dict):
        return found
    if len(text) > MAX_CHARS:
        return None
    body = fenced[1] if (fenced := _FENCED.fullmatch(text)) else text
    for attempt in dict.fromkeys((body, body.translate(_QUOTES))):
        for reader in (_first_object, _as_python, _by_name):
            if isinstance(value := reader(attempt.strip()), dict):
                return {str(key): item for key, item in value.items()}
    return None


def _first_object(text: str) -> Any:
    """Return the JSON at the beginning of a text that has only brackets and marks behind it."""
    with suppress(ValueError, RecursionError):
        value, end = json.JSONDecoder().raw_decode(text)
        if _AFTER.fullmatch(text, end):
            return value
    return None


def _as_python(text: str) -> Any:
    def write(found: re.Match[str]) -> str:
        if found[2]:
            return _PYTHON[found[2]]
        return f"{found[3]}'{found[4]}'" if found[4] else found[1]

    return parsed(_TOKENS.sub(write, text)) if text[:1] == "{" else None


def _by_name(text: str) -> dict[str, Any] | None:
    if not _BY_NAME.match(text):
        return None
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        node = ast.parse(f"f({text})", mode="eval").body
        if isinstance(node, ast.Call) and not node.args and all(key.arg for key in node.keywords):
            return {str(key.arg): ast.literal_eval(key.value) for key in node.keywords}
    return None
