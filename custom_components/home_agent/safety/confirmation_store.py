"""Actions that waited or ended a short time ago, over a restart too, so that a late answer is recognized."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypedDict, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..store import UNREADABLE, KeptStore, StoredFile, read_moment, read_text_or_none
from .pending import ActionOutcome, Owner

STORE_KEY = f"{DOMAIN}.confirmations"
RECENT = timedelta(minutes=10)
MAX_LOST = 100


class StoredConfirmation(TypedDict):
    """What is kept of an action that waits. `expires_at` is ISO 8601."""

    action_id: str
    conversation_id: str
    user_id: str | None
    device_id: str | None
    expires_at: str


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
        """Return whether an answer may still arrive."""
        return dt_util.utcnow() < self.expires_at + RECENT

    def as_dict(self) -> StoredConfirmation:
        """Return the data to store."""
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
        self._waiting: dict[str, list[StoredConfirmation]] = {}
        self._lost: dict[str, list[Lost]] = {}
        self._store = KeptStore(hass, STORE_KEY, self._content)

    @override
    async def async_load(self) -> None:
        """Read the actions that were pending when Home Assistant stopped."""
        content = await self._store.async_read()
        for entry_id, items in content.items():
            if isinstance(items, list):
                self._lost[entry_id] = [lost for item in items[:MAX_LOST] if (lost := _read(item))]

    @callback
    def take_lost(self, entry_id: str) -> list[Lost]:
        """Return the lost actions of an entry, once."""
        lost = self._lost.pop(entry_id, [])
        if lost:
            self._store.schedule()
        return lost

    @callback
    def note(self, entry_id: str, waiting: Sequence[Lost]) -> None:
        """Store the pending actions; written at once, since they expire within a minute."""
        self._waiting[entry_id] = [item.as_dict() for item in waiting]
        self._store.hass.async_create_task(
            self._store.async_save(self._content()), "home_agent confirmations"
        )

    def _content(self) -> dict[str, list[StoredConfirmation]]:
        """Return the data to write."""
        kept = {entry_id: [lost.as_dict() for lost in items] for entry_id, items in self._lost.items()}
        return kept | {entry_id: list(items) for entry_id, items in self._waiting.items() if items}


def _read(item: object) -> Lost | None:
    """Return one stored action, None for invalid data."""
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


REMEMBER_SECONDS = 300.0
"""How long an action that expired is remembered, so that a late yes gets an answer."""

MAX_REMEMBERED = 100


def most_crowding(owners: Iterable[Owner]) -> Owner:
    """Return the first owner of the speaker who has the most entries.

    Where there are too many entries, one of this speaker makes room, so that no speaker can push out what
    belongs to another one.
    """
    every = list(owners)
    counted = Counter(owner.speaker for owner in every)
    return max(every, key=lambda owner: counted[owner.speaker])


class LateAnswers:
    """Remembers who was asked, and the outcome of the action."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take the clock that does not jump."""
        self._clock = clock
        self._ended: dict[Owner, tuple[ActionOutcome, float]] = {}
        self._asked: dict[Owner, float] = {}
        self._lost: list[Lost] = []

    def take_lost(self, lost: Sequence[Lost]) -> None:
        """Remember the actions that a restart has denied."""
        self._lost = list(lost)

    def note_asked(self, owner: Owner, deadline: float) -> None:
        """Remember that an owner is asked until a deadline."""
        self._ended.pop(owner, None)
        self._asked.pop(owner, None)
        self._asked[owner] = deadline + REMEMBER_SECONDS
        _bound(self._asked)

    def note_ended(self, owner: Owner, outcome: ActionOutcome) -> None:
        """Remember the outcome of an action that ended without an answer."""
        self._ended[owner] = (outcome, self._clock() + REMEMBER_SECONDS)
        _bound(self._ended)

    def was_asked(self, owner: Owner) -> bool:
        """Return whether this owner was asked a short while ago."""
        return self._clock() < self._asked.get(owner, 0.0) or any(
            lost.is_recent() and _is_owned(lost, owner) for lost in self._lost
        )

    def take_ended(self, owner: Owner) -> ActionOutcome | None:
        """Return how an action ended that this owner may still want to answer, and forget it."""
        outcome, until = self._ended.pop(owner, (None, 0.0))
        if outcome is not None and self._clock() < until:
            return outcome
        for lost in self._lost:
            if _is_owned(lost, owner):
                self._lost.remove(lost)
                return ActionOutcome.RESTARTED if lost.is_recent() else None
        return None


def _is_owned(lost: Lost, owner: Owner) -> bool:
    """Return whether an action waited for this owner when Home Assistant stopped."""
    return lost.is_owned_by(owner.conversation_id, owner.user_id, owner.device_id)


def _bound[T](known: dict[Owner, T]) -> None:
    """Drop entries if there are too many."""
    while len(known) > MAX_REMEMBERED:
        del known[most_crowding(known)]
