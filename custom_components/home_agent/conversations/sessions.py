"""Which conversation a device or a person is in."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..store import EntryStore, dump, load

STORE_KEY = f"{DOMAIN}.conversation_sessions"

USER = "user:"
BETWEEN = f" {USER}"
"""Between a device and the person at it."""

MAX_SESSIONS = 200
"""Sessions kept of one agent; the longest silent go first."""


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation that is in progress."""

    history_id: str
    last: datetime


class Sessions:
    """The sessions of one agent, by device and person, the longest silent first."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._sessions: dict[str, Session] = {}
        self._persists = True

    def stored(self) -> dict[str, Any]:
        """Return the data to write."""
        return dump(dict(self._sessions)) if self._persists else {}

    def restore(self, stored: Any) -> None:
        """Take what is stored."""
        self._sessions = {str(key): load(Session, session) for key, session in stored.items()}

    @callback
    def set_persistence(self, *, enabled: bool) -> None:
        """Say whether the sessions survive that the agent is set up again; they are dropped if not."""
        self._persists = enabled
        if not enabled:
            self.clear()

    @callback
    def get(self, key: str) -> Session | None:
        """Return the session of a device or a person."""
        return self._sessions.get(key)

    @callback
    def set(self, key: str, session: Session) -> None:
        """Begin or continue a session."""
        self._sessions.pop(key, None)
        self._sessions[key] = session
        while len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        if self._persists:
            self._changed()

    @callback
    def expire(self, timeout_minutes: float, now: datetime) -> None:
        """Close the sessions that have been silent too long. Their histories stay, see history.py."""
        limit = timedelta(minutes=timeout_minutes)
        self._drop(lambda _key, session: abs(now - session.last) > limit)

    @callback
    def clear(self, *, user_id: str | None = None, device_id: str | None = None) -> int:
        """End sessions, of a person, of a device or all; return how many."""
        wanted = {key for key in (key_of(device_id, None), key_of(None, user_id)) if key}

        def ends(key: str, _session: Session) -> bool:
            device, between, user = key.partition(BETWEEN)
            return not wanted or not wanted.isdisjoint((device, f"{USER}{user}" if between else ""))

        return self._drop(ends)

    def _drop(self, is_unwanted: Callable[[str, Session], bool]) -> int:
        unwanted = [key for key, session in self._sessions.items() if is_unwanted(key, session)]
        for key in unwanted:
            del self._sessions[key]
        if unwanted:
            self._changed()
        return len(unwanted)


class ConversationSessionManager(EntryStore[Sessions]):
    """Keeps the open conversation of every device and person, for all agents, in one file."""

    def __init__(self, hass: HomeAssistant, has_history: Callable[[str, str], bool]) -> None:
        super().__init__(hass, STORE_KEY, Sessions)
        self._has_history = has_history

    @callback
    def resolve(
        self,
        entry_id: str,
        *,
        conversation_id: str,
        device_id: str | None,
        user_id: str | None,
        timeout_minutes: float,
        now: datetime,
    ) -> str:
        """Return the id of the history that a turn continues or begins.

        A conversation id with a history is used as it is. Otherwise the device, the person, or the person at
        the device continues what it was in until `timeout_minutes` of silence.
        """
        if (key := key_of(device_id, user_id)) is None:
            return conversation_id
        sessions, history_id = self.of(entry_id), conversation_id
        session, limit = sessions.get(key), timedelta(minutes=timeout_minutes)
        if session and abs(now - session.last) <= limit and not self._has_history(entry_id, conversation_id):
            history_id = session.history_id
        sessions.set(key, Session(history_id, now))
        return history_id


def key_of(device_id: str | None, user_id: str | None) -> str | None:
    """Return the key of a session: a device, a person, or a person at a device.

    What a known person was told is not for whoever speaks there next.
    """
    user = f"{USER}{user_id}" if user_id else None
    if not device_id:
        return user
    return f"device:{device_id}{BETWEEN}{user_id}" if user_id else f"device:{device_id}"
