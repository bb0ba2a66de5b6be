"""How large a call may be. Every call passes here before anything else reads it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from homeassistant.helpers import llm

from ...errors import ValidationError
from ...safety.redaction import UNPARSED
from ...timespans import TIME_CHARS
from ..results import plain_json

MAX_TOOL_NAME: Final = 128
MAX_KEY: Final = 100
MAX_VALUES: Final = 1_000
"""Values in one call, with those of nested objects and lists."""
MAX_DEPTH: Final = 20
MAX_CHARS: Final = 100_000
"""Characters of all texts in one call."""

TIMES: Final = frozenset(("when", "start", "end", "due", "day", "duration", "transition", "date", "time"))
"""Slots that hold a time, a date or a length of time, at any depth."""

TOO_LARGE: Final = (
    f"The arguments are too large: at most {MAX_CHARS} characters in {MAX_VALUES} values. "
    "Call again with shorter ones"
)
"""Takes the place of arguments that are not read."""


class _Size:
    """What of a call has been counted."""

    def __init__(self) -> None:
        self._values = self._chars = 0

    def fits(self, value: Any, depth: int = MAX_DEPTH) -> bool:
        """Count a value with all that it holds; return whether everything is within the limits."""
        self._values += 1
        if isinstance(value, str):
            self._chars += len(value)
        if depth == 0 or self._values > MAX_VALUES or self._chars > MAX_CHARS:
            return False
        if isinstance(value, Mapping):
            return all(len(str(key)) <= MAX_KEY and self.fits(item, depth - 1) for key, item in value.items())
        if isinstance(value, (list, tuple, set, frozenset)):
            return all(self.fits(item, depth - 1) for item in value)
        return True


def bounded(call: llm.ToolInput) -> llm.ToolInput:
    """Return a call that can be read, stored and sent; a note replaces arguments beyond the limits."""
    args: Any = call.tool_args
    if list(args) != [UNPARSED]:
        args = args if _Size().fits(args) else {UNPARSED: TOO_LARGE}
    elif len(str(args[UNPARSED])) > MAX_CHARS:
        args = {UNPARSED: TOO_LARGE}
    name, call_id, args = plain_json((call.tool_name[:MAX_TOOL_NAME], call.id[:MAX_TOOL_NAME], args))
    return replace(call, tool_name=name, id=call_id, tool_args=args)


def check_texts(value: Any, limit: int, slot: str = "", key: str = "") -> None:
    """Raise ValidationError for a text that is longer than its slot can mean.

    `slot` is where the value is, with the slots around it, and `key` its own slot.
    """
    if isinstance(value, str):
        most = min(limit, TIME_CHARS) if key in TIMES else limit
        if len(value) > most:
            raise ValidationError(f"{slot}: at most {most} characters, this has {len(value)}")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            check_texts(item, limit, f"{slot}.{name}" if slot else name, name)
    elif isinstance(value, list):
        for item in value:
            check_texts(item, limit, slot, key)
