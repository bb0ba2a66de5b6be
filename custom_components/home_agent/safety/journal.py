"""The journal of each agent: its last calls with the states before and after them, and its audit log."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import accumulate
from typing import Any, Final, Self

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


type AuditEntry = dict[str, Any]
"""A line of the audit log: when (`at`, ISO 8601) and what (`kind`), and further fields by its kind."""

STORE_KEY: Final = f"{DOMAIN}.journal"


class Journal:
    """The performed and the refused calls of one agent: the last calls for undo, and the audit log."""

    def __init__(self, hass: HomeAssistant, on_change: Callable[[], None]) -> None:
        self._hass = hass
        self._on_change = on_change
        self._actions: deque[RecordedAction] = deque(maxlen=MAX_LEDGER_ACTIONS)
        self._entries: deque[AuditEntry] = deque(maxlen=MAX_ENTRIES)

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
    def entries(self, limit: int, kind: str | None = None) -> list[AuditEntry]:
        """Return the last entries of the audit log, the newest first."""
        found = (entry for entry in reversed(self._entries) if kind in (None, entry.get("kind")))
        return [entry.copy() for _, entry in zip(range(limit), found, strict=False)]

    @callback
    def entries_of(self, user_id: str) -> list[AuditEntry]:
        """Return the entries of a user, the newest first."""
        return [entry for entry in self.entries(MAX_ENTRIES) if entry.get("user_id") == user_id]

    @contextmanager
    def judging(self, call: ServiceCall, speaker: Speaker) -> Iterator[None]:
        """Keep a refusal that is raised meanwhile."""
        try:
            yield
        except PermissionDenied as err:
            self.note(
                AuditKind.DENIAL,
                speaker,
                service=f"{call.domain}.{call.service}",
                targets=call.entity_ids,
                reason=str(err),
                turn_id=speaker.turn_id,
            )
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
        entity_ids = tuple(dict.fromkeys((*call.entity_ids, *self._content(call))))
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
            before=self.show(entity_ids),
            undoes=speaker.undoes,
            planned=speaker.planned,
        )

    @callback
    def show(self, entity_ids: Iterable[str]) -> dict[str, EarlierState]:
        """Return the current states of entities."""
        states = {entity_id: self._hass.states.get(entity_id) for entity_id in entity_ids}
        return {entity_id: EarlierState.of(state) for entity_id, state in states.items() if state is not None}

    def _content(self, call: ServiceCall) -> list[str]:
        """Return the entities that scenes change; none if it is not known of all of them."""
        if call.domain != SCENE:
            return []
        opened = effects(self._hass, call.domain, call.service, call.entity_ids)
        inside = [effect for effect in opened if effect.inside]
        ids = {effect.entity_id for effect in inside if effect.entity_id and effect.domain != SCENE}

        def is_group(entity_id: str) -> bool:
            state = self._hass.states.get(entity_id)
            members = state.attributes.get("entity_id") if state else None
            return isinstance(members, list | tuple) and not ids.isdisjoint(members)

        return sorted(one for one in ids if not is_group(one)) if all(each.known for each in inside) else []

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
        action.after = self.show(action.entity_ids)
        if action.success and already:
            same = {one for one in already if action.before.get(one) == action.after.get(one)}
            action.entity_ids = tuple(one for one in action.entity_ids if one not in same)
            if not action.entity_ids:
                return
        self._actions.append(action)
        kept = accumulate(len(older.before) for older in reversed(self._actions))
        most = max(1, sum(states <= MAX_STATES for states in kept))
        while len(self._actions) > most:
            self._actions.popleft()
        self.note(
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

    @callback
    def note(self, kind: AuditKind, speaker: Speaker | None = None, **details: Any) -> None:
        """Add an entry to the audit log; of a speaker the user, the device and the conversation.

        Details that are None are left out, lists and texts are cut.
        """
        if speaker is not None:
            details["user_id"] = speaker.context.user_id
            details["device_id"] = speaker.device_id
            details["conversation_id"] = speaker.conversation_id or None
        kept = {key: _plain(value, counts_rest=True) for key, value in details.items() if value is not None}
        self._entries.append({"at": dt_util.utcnow().isoformat(), "kind": kind.value, **kept})
        self._on_change()

    @callback
    def forget_user(self, user_id: str) -> int:
        """Forget the actions and entries of a user; return how many."""
        actions = [action for action in self._actions if action.user_id != user_id]
        entries = [entry for entry in self._entries if entry.get("user_id") != user_id]
        gone = len(self._actions) + len(self._entries) - len(actions) - len(entries)
        self._actions = deque(actions, MAX_LEDGER_ACTIONS)
        self._entries = deque(entries, MAX_ENTRIES)
        if gone:
            self._on_change()
        return gone

    @callback
    def settle(self, turn_id: str) -> None:
        """Read the changed states of a turn again: some devices report late."""
        later: set[str] = set()
        for action in reversed(self._actions):
            if action.turn_id == turn_id:
                action.after |= self.show(one for one in action.entity_ids if one not in later)
                later.update(action.entity_ids)

    @callback
    def mark_undone(self, turn_id: str, entity_ids: Collection[str] | None = None) -> None:
        """Note that a turn has been put back, or only some of its targets."""
        for action in self._actions:
            if action.turn_id != turn_id or action.undoes:
                continue
            if entity_ids is not None:
                action.undone_ids |= frozenset(action.entity_ids).intersection(entity_ids)
            action.undone = entity_ids is None or action.undone_ids.issuperset(action.entity_ids)
        self._on_change()

    def stored(self) -> dict[str, Any]:
        """Return all that is to be written; called in a worker thread."""
        actions = tuple(self._actions)[-MAX_STORED:]
        return {"ledger": list(map(dump, actions)), "audit": list(self._entries)}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Load stored data. Raises the errors of reading it."""
        self._actions.extend(load(RecordedAction, action) for action in stored["ledger"])
        self._entries.extend(dict(entry) for entry in stored["audit"])


class JournalStore(EntryStore[Journal]):
    """The journals of all entries in one file with one writer."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, lambda changed: Journal(hass, changed))
