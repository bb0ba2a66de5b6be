"""ConversationSessionManager: which conversation a device or a person is in."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, override

from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..store import UNREADABLE, Content, KeptStore, StoredFile, read_moment

STORE_KEY = f"{DOMAIN}.conversation_sessions"
STORE_VERSION = 1

USER = "user:"
BETWEEN = f" {USER}"
"""Between a device and the person at it."""

MAX_SESSIONS = 200
"""Sessions kept of one entry; the longest silent go first."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a turn belongs to: a history, and whether it just began."""

    history_id: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class _OpenSession:
    """A conversation that is in progress."""

    history_id: str
    last: datetime
    restored: bool = False
    """Whether it has had no turn since the last start."""


class ConversationSessionManager(StoredFile):
    """Keeps the open conversation of every device and person, for all entries, in one store."""

    def __init__(self, hass: HomeAssistant, has_history: Callable[[str, str], bool]) -> None:
        self._hass = hass
        self._has_history = has_history
        self._entries: dict[str, dict[str, _OpenSession]] = {}
        self._forgetful: set[str] = set()
        self._store = KeptStore(hass, STORE_KEY, self._content, version=STORE_VERSION)

    @override
    async def async_load(self) -> None:
        """Read the store; sessions that cannot be read are kept aside and left out."""
        data = await self._store.async_read()
        if not data:
            return
        entries, problem = _parse(data)
        if problem is not None:
            await self._store.async_set_aside(problem, keep_in_place=True)
        for entry_id, sessions in entries.items():
            if entry_id not in self._forgetful:
                self._entries[entry_id] = sessions | self._entries.get(entry_id, {})

    @callback
    def set_persistence(self, entry_id: str, enabled: bool) -> None:
        """Say whether the sessions of an entry survive a restart; those that did are dropped if not."""
        if enabled:
            self._forgetful.discard(entry_id)
            return
        self._forgetful.add(entry_id)
        if sessions := self._entries.get(entry_id):
            for key in [key for key, session in sessions.items() if session.restored]:
                del sessions[key]
            self._store.schedule()

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
    ) -> Session:
        """Return the conversation that a turn continues or begins.

        A conversation id with a history is used as it is. Otherwise the device, the person, or the person at
        the device continues what it was in until `timeout_minutes` of silence.
        """
        key = _key(device_id, user_id)
        known = self._has_history(entry_id, conversation_id)
        open_session = self._entries.get(entry_id, {}).get(key) if key else None
        session = Session(conversation_id, not known)
        if open_session is not None and not known:
            if abs(now - open_session.last) <= timedelta(minutes=timeout_minutes):
                session = Session(open_session.history_id, is_new=False)
            elif open_session.history_id != conversation_id:
                session = Session(conversation_id, is_new=True)
        if key:
            self._set(entry_id, key, _OpenSession(session.history_id, now))
        return session

    @callback
    def expire(self, entry_id: str, *, timeout_minutes: float, now: datetime) -> None:
        """Close the sessions that have been silent too long. Their histories stay, see history.py."""
        sessions = self._entries.get(entry_id, {})
        limit = timedelta(minutes=timeout_minutes)
        silent = [key for key, session in sessions.items() if abs(now - session.last) > limit]
        for key in silent:
            del sessions[key]
        if silent:
            self._store.schedule()

    @callback
    def clear(
        self, entry_id: str | None = None, *, user_id: str | None = None, device_id: str | None = None
    ) -> int:
        """End sessions, of a person, of a device or all; return how many."""
        wanted = {key for key in (_key(device_id, None), _key(None, user_id)) if key}

        def ends(key: str) -> bool:
            device, between, user = key.partition(BETWEEN)
            return not wanted or not wanted.isdisjoint((device, f"{USER}{user}" if between else ""))

        ended = 0
        for known_id, sessions in list(self._entries.items()):
            if entry_id not in (None, known_id):
                continue
            for key in [key for key in sessions if ends(key)]:
                del sessions[key]
                ended += 1
        if ended:
            self._store.schedule()
            self._hass.async_create_task(self._store.async_flush(), "home_agent clear sessions")
        return ended

    def _set(self, entry_id: str, key: str, session: _OpenSession) -> None:
        sessions = self._entries.setdefault(entry_id, {})
        sessions.pop(key, None)
        sessions[key] = session
        while len(sessions) > MAX_SESSIONS:
            del sessions[next(iter(sessions))]
        if entry_id not in self._forgetful:
            self._store.schedule()

    def _content(self) -> Content:
        """Return the content to write; runs in a worker thread on immutable copies."""
        forgetful = set(self._forgetful)
        return {
            "entries": {
                entry_id: {
                    key: {"history_id": session.history_id, "last": session.last.isoformat()}
                    for key, session in dict(sessions).items()
                }
                for entry_id, sessions in dict(self._entries).items()
                if sessions and entry_id not in forgetful
            }
        }


def _key(device_id: str | None, user_id: str | None) -> str | None:
    """Return the key of a session: a device, a person, or a person at a device.

    What a known person was told is not for whoever speaks there next.
    """
    user = f"{USER}{user_id}" if user_id else None
    if not device_id:
        return user
    return f"device:{device_id}{BETWEEN}{user_id}" if user_id else f"device:{device_id}"


def _parse(data: Content) -> tuple[dict[str, dict[str, _OpenSession]], Exception | None]:
    """Return the valid part of a store, and the problems of the rest."""
    problem: Exception | None = None
    entries: dict[str, dict[str, _OpenSession]] = {}
    stored: Any = data.get("entries")
    if not isinstance(stored, dict):
        return {}, ValueError("no entries")
    for entry_id, sessions in stored.items():
        try:
            entries[entry_id] = {
                str(key): _OpenSession(
                    str(session["history_id"]), read_moment(session["last"]), restored=True
                )
                for key, session in sessions.items()
            }
        except UNREADABLE as err:
            problem = err
    return entries, problem
