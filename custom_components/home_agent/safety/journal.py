"""Ledger and audit log of each agent, in one store."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Required, Self, TypedDict, Unpack, cast

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..domains import DOMAINS
from ..errors import PermissionDenied
from ..knowledge.speaker import Speaker
from ..store import EntryStore, dump, load
from .contents import effects
from .frozen import ServiceCall
from .redaction import is_secret, redacted, without_secrets

SCENE: Final = "scene"
MAX_LEDGER_ACTIONS: Final = 100
MAX_STATES: Final = 1000
"""States kept before and after, over all calls."""
MAX_STORED: Final = 20
MAX_TEXT: Final = 200
MAX_ITEMS: Final = 20
"""Characters of a text, and items of a list, that are kept."""


@dataclass(frozen=True, slots=True)
class EarlierState:
    """What an entity showed."""

    state: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the recorded part of a state, without the content of password fields."""
        if state.attributes.get("mode") == "password":
            return cls("")
        kept = DOMAINS[state.domain].kept_attributes
        given = {name: state.attributes[name] for name in kept if state.attributes.get(name) is not None}
        return cls(state.state[:MAX_TEXT], given)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""
        return {
            "state": self.state,
            "attributes": {key: _plain(value) for key, value in self.attributes.items()},
        }


@dataclass(slots=True, kw_only=True)
class RecordedAction:
    """One service call."""

    at: datetime
    turn_id: str
    conversation_id: str
    user_id: str | None
    device_id: str | None
    context_id: str
    domain: str
    service: str
    entity_ids: tuple[str, ...]
    data: dict[str, Any]
    before: dict[str, EarlierState]
    after: dict[str, EarlierState] = field(default_factory=dict)
    success: bool = False
    error: str | None = None
    undoes: bool = False
    """Whether it put something back."""
    undone: bool = False
    undone_ids: frozenset[str] = frozenset()
    """The targets that were restored alone, while others stayed."""
    planned: datetime | None = None
    """When it was due, if it was planned earlier."""


class Ledger:
    """The last calls of one agent, bounded in calls and in states."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass
        self._actions: deque[RecordedAction] = deque(maxlen=MAX_LEDGER_ACTIONS)

    @callback
    def show(self, entity_ids: Iterable[str]) -> dict[str, EarlierState]:
        """Return the current states of entities."""
        states = {entity_id: self._hass.states.get(entity_id) for entity_id in entity_ids}
        return {entity_id: EarlierState.of(state) for entity_id, state in states.items() if state is not None}

    @callback
    def content(self, domain: str, service: str, entity_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the entities that scenes change; none if it is not known of all of them."""
        if domain != SCENE:
            return ()
        found = [effect for effect in effects(self._hass, domain, service, entity_ids) if effect.inside]
        ids = {effect.entity_id for effect in found if effect.entity_id and effect.domain != SCENE}
        if not all(effect.known for effect in found):
            return ()
        groups = {one for one in ids if (state := self._hass.states.get(one)) and _members(state) & ids}
        return tuple(sorted(ids - groups))

    @callback
    def add(self, action: RecordedAction) -> None:
        """Keep a call as the newest one."""
        self._actions.append(action)
        kept = 0
        for index, older in enumerate(reversed(self._actions)):
            kept += len(older.before)
            if kept > MAX_STATES and index:
                for _ in range(len(self._actions) - index):
                    self._actions.popleft()
                return

    @callback
    def settle(self, turn_id: str) -> None:
        """Read the changed states of a turn again: some devices report late."""
        later: set[str] = set()
        for action in reversed(self._actions):
            if action.turn_id != turn_id:
                continue
            action.after |= self.show(entity_id for entity_id in action.entity_ids if entity_id not in later)
            later.update(action.entity_ids)

    @callback
    def forget_user(self, user_id: str) -> int:
        """Forget the actions of a user; return how many."""
        kept = [action for action in self._actions if action.user_id != user_id]
        gone = len(self._actions) - len(kept)
        self._actions = deque(kept, self._actions.maxlen)
        return gone

    @callback
    def recent(self, limit: int) -> list[RecordedAction]:
        """Return the last calls, the newest first."""
        return [action for _, action in zip(range(limit), reversed(self._actions), strict=False)]

    @callback
    def of_speaker(
        self, conversation_id: str | None, user_id: str | None = None, device_id: str | None = None
    ) -> list[RecordedAction]:
        """Return the calls of a conversation, or of a person or a device elsewhere, the newest first.

        Without a conversation, person and device the calls of all are returned.
        """
        everybody = not (conversation_id or user_id or device_id)
        return [
            action
            for action in reversed(self._actions)
            if everybody
            or (conversation_id and action.conversation_id == conversation_id)
            or (user_id is not None and action.user_id == user_id)
            or (user_id is None and device_id is not None and action.device_id == device_id)
        ]

    @callback
    def stored(self) -> list[dict[str, Any]]:
        """Return the data that survives a restart."""
        return [
            {
                **dump(action),
                "before": {key: shown.as_dict() for key, shown in action.before.items()},
                "after": {key: shown.as_dict() for key, shown in action.after.items()},
            }
            for action in tuple(self._actions)[-MAX_STORED:]
        ]

    def restore(self, stored: Iterable[Any]) -> None:
        """Load stored actions. Raises one of `UNREADABLE` for invalid ones."""
        self._actions.extend(load(RecordedAction, action) for action in stored)


def _members(state: State) -> set[Any]:
    found = state.attributes.get("entity_id")
    return set(found) if isinstance(found, list | tuple) else set()


def clean_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call without codes, as JSON-compatible data, long texts cut."""
    return {key: _plain(value) for key, value in redacted(data).items() if not is_secret(key)}


def _plain(value: Any, *, counts_rest: bool = False) -> Any:
    """Return a value as JSON-compatible data, lists and texts cut; a log counts what is left out."""
    match value:
        case None | bool() | int() | float():
            return value
        case list() | tuple():
            cut = [_plain(item, counts_rest=counts_rest) for item in value[:MAX_ITEMS]]
            rest = len(value) - MAX_ITEMS
            return [*cut, f"and {rest} more"] if counts_rest and rest > 0 else cut
        case _:
            return str(value)[:MAX_TEXT]


MAX_ENTRIES: Final = 500


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
        kept = {key: _plain(value, counts_rest=True) for key, value in details.items() if value is not None}
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


STORE_KEY: Final = f"{DOMAIN}.journal"


class Journal:
    """The performed and the refused calls of one agent."""

    def __init__(self, ledger: Ledger, audit: AuditLog, on_change: Callable[[], None]) -> None:
        self.ledger = ledger
        self.audit = audit
        self._on_change = on_change

    @contextmanager
    def judging(self, call: ServiceCall, speaker: Speaker) -> Iterator[None]:
        """Keep a refusal that is raised meanwhile."""
        try:
            yield
        except PermissionDenied as err:
            self.deny(call, speaker, str(err))
            raise

    @contextmanager
    def acting(
        self,
        calls: Iterable[ServiceCall],
        speaker: Speaker,
        args: Mapping[str, Any],
        already: frozenset[str] = frozenset(),
    ) -> Iterator[None]:
        """Keep calls that are made meanwhile, whether they work, fail or are cut off.

        Codes among `args` are removed from errors.
        """
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
    def begin(self, call: ServiceCall, speaker: Speaker) -> RecordedAction:
        """Record the states of the targets before a call, and of what scenes change.

        Nothing is stored until it ends.
        """
        content = self.ledger.content(call.domain, call.service, call.entity_ids)
        entity_ids = tuple(dict.fromkeys((*call.entity_ids, *content)))
        return RecordedAction(
            at=dt_util.utcnow(),
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
    def deny(self, call: ServiceCall, speaker: Speaker, reason: str) -> None:
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
    def note(self, kind: AuditKind, speaker: Speaker | None = None, **details: Unpack[AuditFields]) -> None:
        """Record other entries, such as searches; of a speaker the user, the device and the conversation."""
        if speaker is not None:
            details["user_id"] = speaker.context.user_id
            details["device_id"] = speaker.device_id
            details["conversation_id"] = speaker.conversation_id
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
