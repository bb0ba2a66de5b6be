"""Puts tool calls together from the fragments in which servers send them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import secrets
import string
from typing import Any, Final

import orjson

from ..regex import lazy_regex
from .models import ToolCall

MAX_CALLS: Final = 64
ARGUMENTS_CHARS: Final = 256 * 1024
ID_CHARS: Final = 128

# Mistral's templates insist on nine letters and digits; everyone else takes them too.
_ID_CHARS: Final = 9
_ALPHABET: Final = string.ascii_letters + string.digits
_COUNTED: Final = lazy_regex(r"(?:call)?[-_]?\d{0,6}")


@dataclass(slots=True)
class _Call:
    """A call of which more may come."""

    id: str
    name: str
    parts: list[str] = field(default_factory=list)
    size: int = 0
    emitted: bool = False
    extra: Any = None

    def add(self, fragment: str) -> int:
        """Append a piece of the arguments and return how much was added.

        Past the limit they stay broken on purpose.
        """
        if not fragment or self.size > ARGUMENTS_CHARS:
            return 0
        if self.size == len(fragment) and self.parts[0] == fragment and self.complete:
            return 0  # sent whole, and once more
        self.parts.append(fragment)
        self.size += len(fragment)
        return len(fragment)

    @property
    def arguments(self) -> str:
        """Return the arguments as text; missing ones are an empty object."""
        text = "".join(self.parts).strip()
        if text.startswith("{}") and is_json(text[2:]):
            return text[2:].strip()  # an empty object first, then the real one
        return "{}" if text in ("", "null") else text

    @property
    def complete(self) -> bool:
        """Tell whether the arguments can be read as they are."""
        return is_json(self.arguments)


class CallAssembler:
    """Takes the `tool_calls` entries of deltas and gives back calls that are whole."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._ids: set[str] = set()
        self.seen = 0
        self.size = 0
        """Characters of names and arguments that have come."""
        self.extras: dict[str, Any] = {}

    def add(self, entry: Mapping[str, Any]) -> list[ToolCall]:
        """Take one entry; return the calls before it that are whole now."""
        function = entry.get("function") or entry
        call_id, name = _text(entry.get("id")), _text(function.get("name"))
        fragment = _fragment(function.get("arguments"))
        index = entry.get("index")
        index = index if isinstance(index, int) else None
        call = self._find(index, call_id, name, fragment)
        done: list[ToolCall] = []
        if call is None:
            if len(self._calls) >= MAX_CALLS:
                return []
            done = self._whole()
            call = _Call(call_id, name)
            self._calls.append(call)
            self.size += len(name)
            if index is not None:
                self._by_index[index] = call
        call.id = call.id or call_id
        call.name = call.name or name
        call.extra = call.extra or entry.get("extra_content")
        self.size += call.add(fragment)
        return done

    def flush(self) -> list[ToolCall]:
        """Return every call that is still open."""
        return [self._emit(call) for call in self._calls if not call.emitted and (call.name or call.parts)]

    def _find(self, index: int | None, call_id: str, name: str, fragment: str) -> _Call | None:
        """Return the call an entry continues; None if it begins another."""
        if index is not None:
            call = self._by_index.get(index)
        else:
            call = next((known for known in self._calls if call_id and known.id == call_id), None)
            if call is None and self._calls and not (call_id and name):
                call = self._calls[-1]
        if call is None or not name or not call.name:
            return call
        # Some servers give every call index 0, or neither index nor id; others repeat the name each time.
        if call_id and call.id:
            return call if call_id == call.id else None
        return None if name != call.name or (fragment and call.complete and call.parts) else call

    def _whole(self) -> list[ToolCall]:
        """Return the open calls, in order, up to the first whose arguments are unfinished."""
        done = []
        for call in self._calls:
            if call.emitted:
                continue
            if not call.complete:
                break
            done.append(self._emit(call))
        return done

    def _emit(self, call: _Call) -> ToolCall:
        call.emitted = True
        self.seen += 1
        call_id = well_formed(call.id)
        while len(call_id) > ID_CHARS or _COUNTED.fullmatch(call_id) or call_id in self._ids:
            call_id = new_call_id()
        self._ids.add(call_id)
        if call.extra:
            self.extras[call_id] = call.extra
        return ToolCall(call_id, well_formed(call.name), well_formed(call.arguments))


def well_formed(text: str) -> str:
    """Return a whole text that can be encoded: halves that belong together are joined, others replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def new_call_id() -> str:
    """Return an id for a call, as every server takes it."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_ID_CHARS))


def is_json(text: str) -> bool:
    """Tell whether the text is one JSON value."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _fragment(arguments: Any) -> str:
    """Return arguments as text; some servers send them decoded."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else orjson.dumps(arguments).decode()
