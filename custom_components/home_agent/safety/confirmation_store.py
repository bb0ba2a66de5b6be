"""Which actions were waiting, over a restart: they are denied then, and it is said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..store import UNREADABLE, KeptStore, StoredFile, read_moment, read_text_or_none

STORE_KEY = f"{DOMAIN}.confirmations"
RECENT = timedelta(minutes=10)
MAX_LOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """An action that waited when Home Assistant stopped. What it would have done is not kept."""

    action_id: str
    conversation_id: str
    user_id: str | None
    device_id: str | None
    expires_at: datetime

    def is_owned_by(self, conversation_id: str, user_id: str | None, device_id: str | None) -> bool:
        """Return whether it waited for this person; conversations get new ids by a restart."""
        if (self.user_id, self.device_id) == (None, None):
            return self.conversation_id == conversation_id and user_id is None and device_id is None
        return (self.user_id, self.device_id) == (user_id, device_id)

    def is_recent(self) -> bool:
        """Return whether somebody may still want to answer."""
        return dt_util.utcnow() < self.expires_at + RECENT

    def as_dict(self) -> dict[str, Any]:
        """Return what is stored."""
        return {
            "action_id": self.action_id,
            "conversation_id": self.conversation_id,
            "user_id": self.user_id,
            "device_id": self.device_id,
            "expires_at": self.expires_at.isoformat(),
        }


class ConfirmationStore(StoredFile):
    """The file of all entries."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        self._waiting: dict[str, list[dict[str, Any]]] = {}
        self._lost: dict[str, list[Lost]] = {}
        self._store = KeptStore(hass, STORE_KEY, self._content)

    @override
    async def async_load(self) -> None:
        """Read what waited when Home Assistant stopped."""
        content = await self._store.async_read()
        for entry_id, items in content.items():
            if isinstance(items, list):
                self._lost[entry_id] = [lost for item in items[:MAX_LOST] if (lost := _read(item))]

    @callback
    def take_lost(self, entry_id: str) -> list[Lost]:
        """Return what was lost of an entry, once."""
        lost = self._lost.pop(entry_id, [])
        if lost:
            self._store.schedule()
        return lost

    @callback
    def note(self, entry_id: str, waiting: Sequence[Lost]) -> None:
        """Remember what waits now; written at once, since a minute is all it lives."""
        self._waiting[entry_id] = [item.as_dict() for item in waiting]
        self._store.hass.async_create_task(
            self._store.async_save(self._content()), "home_agent confirmations"
        )

    def _content(self) -> dict[str, Any]:
        """Return what is written."""
        kept = {entry_id: [lost.as_dict() for lost in items] for entry_id, items in self._lost.items()}
        return kept | {entry_id: list(items) for entry_id, items in self._waiting.items() if items}


def _read(item: object) -> Lost | None:
    """Return one stored action, None for what is none."""
    if not isinstance(item, Mapping):
        return None
    try:
        return Lost(
            action_id=str(item["action_id"]),
            conversation_id=str(item["conversation_id"]),
            user_id=read_text_or_none(item["user_id"]),
            device_id=read_text_or_none(item["device_id"]),
            expires_at=read_moment(item["expires_at"]),
        )
    except UNREADABLE:
        return None
