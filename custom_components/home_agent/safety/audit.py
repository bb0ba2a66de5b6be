"""The audit log: actions, denials, confirmations and searches, without what was said and without codes."""

from collections import deque
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from homeassistant.core import callback
from homeassistant.util import dt as dt_util

MAX_ENTRIES: Final = 500
MAX_TARGETS: Final = 20
MAX_TEXT: Final = 200


class AuditKind(StrEnum):
    """What an entry is about."""

    ACTION = "action"
    DENIAL = "denial"
    CONFIRMATION = "confirmation"
    SEARCH = "search"
    INJECTION = "injection"


class AuditLog:
    """The last entries of one agent."""

    def __init__(self) -> None:
        """Start with none."""
        self._entries: deque[dict[str, Any]] = deque(maxlen=MAX_ENTRIES)

    @callback
    def note(self, kind: AuditKind, **details: Any) -> None:
        """Add an entry; details that are None are left out, lists and texts are cut."""
        entry: dict[str, Any] = {"at": dt_util.utcnow().isoformat(), "kind": kind.value}
        entry |= {key: _short(value) for key, value in details.items() if value is not None}
        self._entries.append(entry)

    @callback
    def entries(self, limit: int, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the last entries, the newest first."""
        found = (entry for entry in reversed(self._entries) if kind in (None, entry.get("kind")))
        return [dict(entry) for _, entry in zip(range(limit), found, strict=False)]

    @callback
    def of_user(self, user_id: str) -> list[dict[str, Any]]:
        """Return the entries of a user, the newest first."""
        return [dict(entry) for entry in reversed(self._entries) if entry.get("user_id") == user_id]

    @callback
    def forget_user(self, user_id: str) -> int:
        """Forget the entries of a user; return how many."""
        kept = [entry for entry in self._entries if entry.get("user_id") != user_id]
        gone = len(self._entries) - len(kept)
        self._entries = deque(kept, self._entries.maxlen)
        return gone

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    @callback
    def stored(self) -> list[dict[str, Any]]:
        """Return what survives a restart."""
        return list(self._entries)

    def restore(self, stored: Iterable[Mapping[str, Any]]) -> None:
        """Take what was stored; raises TypeError or ValueError for what is no entry."""
        self._entries.extend(dict(entry) for entry in stored)


def _short(value: Any) -> Any:
    """Return a detail as JSON can hold it, cut."""
    match value:
        case bool() | int() | float():
            return value
        case list() | tuple():
            cut = [_short(item) for item in value[:MAX_TARGETS]]
            return [*cut, f"and {len(value) - MAX_TARGETS} more"] if len(value) > MAX_TARGETS else cut
        case _:
            return str(value)[:MAX_TEXT]
