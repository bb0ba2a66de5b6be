"""Ledger and audit log of each agent, in one store."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final, Protocol, Required, TypedDict, Unpack, cast

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..errors import PermissionDenied
from ..knowledge.speaker import Speaker
from ..store import EntryStore
from .ledger import Ledger, RecordedAction, clean_data, now
from .redaction import without_secrets

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


class AuditFields(TypedDict, total=False):
    """What an entry is made from; each kind of entry has its own fields."""

    user_id: str | None
    device_id: str | None
    conversation_id: str | None
    turn_id: str | None
    """The turn of an action or a refusal; entries of earlier versions have none."""
    service: str | None
    targets: Sequence[str]
    success: bool
    reason: str | None
    undo: bool | None
    planned: str | None
    action_id: str
    outcome: str
    tool: str
    query: str
    sent: str | None
    blocked: bool
    error: str | None
    tainted: bool | None
    source: str
    rules: Sequence[str]
    removed: int
    text: str


class AuditEntry(AuditFields, total=False):
    """A line of the audit log; fields without a value are missing."""

    at: Required[str]
    kind: Required[str]


class AuditLog:
    """The last entries of one agent."""

    def __init__(self) -> None:
        self._entries: deque[AuditEntry] = deque(maxlen=MAX_ENTRIES)

    @callback
    def note(self, kind: AuditKind, **details: Unpack[AuditFields]) -> None:
        """Add an entry; details that are None are left out, lists and texts are cut."""
        kept = {key: _short(value) for key, value in details.items() if value is not None}
        entry = {"at": dt_util.utcnow().isoformat(), "kind": kind.value, **kept}
        self._entries.append(cast("AuditEntry", entry))

    @callback
    def entries(self, limit: int, kind: str | None = None) -> list[AuditEntry]:
        """Return the last entries, the newest first."""
        found = (entry for entry in reversed(self._entries) if kind in (None, entry.get("kind")))
        return [entry.copy() for _, entry in zip(range(limit), found, strict=False)]

    @callback
    def of_user(self, user_id: str) -> list[AuditEntry]:
        """Return the entries of a user, the newest first."""
        return [entry.copy() for entry in reversed(self._entries) if entry.get("user_id") == user_id]

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
    def stored(self) -> list[AuditEntry]:
        """Return the data that survives a restart."""
        return list(self._entries)

    def restore(self, stored: Iterable[Mapping[str, Any]]) -> None:
        """Load stored entries; raises TypeError or ValueError for invalid ones."""
        self._entries.extend(cast("AuditEntry", dict(entry)) for entry in stored)


def _short(value: Any) -> Any:
    match value:
        case bool() | int() | float():
            return value
        case list() | tuple():
            cut = [_short(item) for item in value[:MAX_TARGETS]]
            return [*cut, f"and {len(value) - MAX_TARGETS} more"] if len(value) > MAX_TARGETS else cut
        case _:
            return str(value)[:MAX_TEXT]


STORE_KEY: Final = f"{DOMAIN}.journal"


class JournaledCall(Protocol):
    """A service call on resolved targets."""

    @property
    def domain(self) -> str:
        """Return the domain of the service."""

    @property
    def service(self) -> str:
        """Return the service."""

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """Return the targets."""

    @property
    def data(self) -> Mapping[str, Any]:
        """Return the parameters."""


class Journal:
    """The performed and the refused calls of one agent."""

    def __init__(self, ledger: Ledger, audit: AuditLog, on_change: Callable[[], None]) -> None:
        self.ledger = ledger
        self.audit = audit
        self._on_change = on_change

    @contextmanager
    def judging(self, call: JournaledCall, speaker: Speaker) -> Iterator[None]:
        """Keep a refusal that is raised meanwhile."""
        try:
            yield
        except PermissionDenied as err:
            self.deny(call, speaker, str(err))
            raise

    @contextmanager
    def acting(
        self, call: JournaledCall, speaker: Speaker, already: frozenset[str] = frozenset()
    ) -> Iterator[None]:
        """Keep a call that is made meanwhile, whether it works, fails or is cut off."""
        with self.acting_all((call,), speaker, call.data, already):
            yield

    @contextmanager
    def acting_all(
        self,
        calls: Iterable[JournaledCall],
        speaker: Speaker,
        args: Mapping[str, Any],
        already: frozenset[str] = frozenset(),
    ) -> Iterator[None]:
        """Record several calls while they run; codes among `args` are removed from errors."""
        actions = [self.begin(call, speaker) for call in calls]
        error: str | None = "interrupted"
        try:
            yield
            error = None
        except HomeAssistantError as err:
            error = without_secrets(str(err), args) or type(err).__name__
            raise
        finally:
            for action in actions:
                self.end(action, error, already)

    @callback
    def begin(self, call: JournaledCall, speaker: Speaker) -> RecordedAction:
        """Record the states of the targets before a call, and of what scenes change.

        Nothing is stored until it ends.
        """
        content = self.ledger.content(call.domain, call.service, call.entity_ids)
        entity_ids = tuple(dict.fromkeys((*call.entity_ids, *content)))
        return RecordedAction(
            at=now(),
            turn_id=speaker.turn_id,
            conversation_id=speaker.conversation_id,
            user_id=speaker.context.user_id,
            device_id=speaker.device_id,
            context_id=speaker.context.id,
            domain=call.domain,
            service=call.service,
            entity_ids=entity_ids,
            data=clean_data(call.data),
            before=self.ledger.show(entity_ids),
            undoes=speaker.undoes,
            planned=speaker.planned,
        )

    @callback
    def end(
        self, action: RecordedAction, error: str | None = None, already: frozenset[str] = frozenset()
    ) -> None:
        """Keep a call that has ended.

        `already` names targets that showed what was asked for before the call. Where they show the same
        afterwards, nothing was done to them: there is nothing to tell of and nothing to put back.
        """
        action.error = error
        action.success = error is None
        action.after = self.ledger.show(action.entity_ids)
        if action.success and already:
            same = {one for one in already if action.before.get(one) == action.after.get(one)}
            action.entity_ids = tuple(one for one in action.entity_ids if one not in same)
            if not action.entity_ids:
                return
        self.ledger.add(action)
        self.audit.note(
            AuditKind.ACTION,
            service=f"{action.domain}.{action.service}",
            targets=action.entity_ids,
            success=action.success,
            reason=error,
            undo=True if action.undoes else None,
            planned=action.planned.isoformat() if action.planned else None,
            user_id=action.user_id,
            device_id=action.device_id,
            conversation_id=action.conversation_id or None,
            turn_id=action.turn_id,
        )
        self._on_change()

    @callback
    def deny(self, call: JournaledCall, speaker: Speaker, reason: str) -> None:
        """Keep a call that was refused."""
        self.audit.note(
            AuditKind.DENIAL,
            service=f"{call.domain}.{call.service}",
            targets=call.entity_ids,
            reason=reason,
            user_id=speaker.context.user_id,
            device_id=speaker.device_id,
            conversation_id=speaker.conversation_id or None,
            turn_id=speaker.turn_id,
        )
        self._on_change()

    @callback
    def note(self, kind: AuditKind, **details: Unpack[AuditFields]) -> None:
        """Record other entries: confirmations and searches."""
        self.audit.note(kind, **details)
        self._on_change()

    @callback
    def forget_user(self, user_id: str) -> int:
        """Forget the actions and entries of a user; return how many."""
        gone = self.ledger.forget_user(user_id) + self.audit.forget_user(user_id)
        if gone:
            self._on_change()
        return gone

    @callback
    def settle(self, turn_id: str) -> None:
        """Read the changed states of a turn again."""
        self.ledger.settle(turn_id)

    @callback
    def mark_undone(self, turn_id: str, entity_ids: Collection[str] | None = None) -> None:
        """Note that a turn has been put back, or only some of its targets."""
        for action in self.ledger.of_speaker(None):
            if action.turn_id != turn_id or action.undoes:
                continue
            if entity_ids is not None:
                action.undone_ids |= frozenset(action.entity_ids).intersection(entity_ids)
            action.undone = entity_ids is None or action.undone_ids.issuperset(action.entity_ids)
        self._on_change()

    def stored(self) -> dict[str, Any]:
        """Return all that is to be written; called in a worker thread."""
        return {"ledger": self.ledger.stored(), "audit": self.audit.stored()}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Load stored data. Raises the errors of reading it."""
        self.ledger.restore(stored["ledger"])
        self.audit.restore(stored["audit"])


class JournalStore(EntryStore[Journal]):
    """The journals of all entries in one file with one writer."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, lambda changed: Journal(Ledger(hass), AuditLog(), changed))
