"""Recorded actions with the states before and after: the basis of "what did you do" and "undo that"."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NotRequired, Self, TypedDict

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.util import dt as dt_util

from ..domains import DOMAINS
from ..store import read_moment, read_text_or_none
from .contents import effects
from .redaction import is_secret, redacted

SCENE: Final = "scene"
MAX_LEDGER_ACTIONS: Final = 100
MAX_STATES: Final = 1000
"""States kept before and after, over all calls."""
MAX_STORED: Final = 20
MAX_TEXT: Final = 200


class StoredState(TypedDict):
    """An earlier state as it is stored."""

    state: str
    attributes: dict[str, Any]


class StoredAction(TypedDict):
    """A service call as it is stored. `at` is ISO 8601; states are by entity id."""

    turn_id: str
    conversation_id: str
    context_id: str
    domain: str
    service: str
    user_id: str | None
    device_id: str | None
    error: str | None
    success: bool
    undoes: bool
    undone: bool
    at: str
    entity_ids: list[str]
    data: dict[str, Any]
    before: dict[str, StoredState]
    after: dict[str, StoredState]
    undone_ids: NotRequired[list[str]]
    """The targets that were restored alone."""
    planned: NotRequired[str]
    """When it was due, in ISO 8601, if it was planned earlier."""


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

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored state. Raises LookupError, TypeError or ValueError for anything else."""
        return cls(str(stored["state"]), dict(stored["attributes"]))

    def as_dict(self) -> StoredState:
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

    def as_dict(self) -> StoredAction:
        """Return it as JSON-compatible data."""
        stored: StoredAction = {
            "turn_id": self.turn_id,
            "conversation_id": self.conversation_id,
            "context_id": self.context_id,
            "domain": self.domain,
            "service": self.service,
            "user_id": self.user_id,
            "device_id": self.device_id,
            "error": self.error,
            "success": self.success,
            "undoes": self.undoes,
            "undone": self.undone,
            "at": self.at.isoformat(),
            "entity_ids": list(self.entity_ids),
            "data": self.data,
            "before": {key: shown.as_dict() for key, shown in self.before.items()},
            "after": {key: shown.as_dict() for key, shown in self.after.items()},
        }
        if self.undone_ids:
            stored["undone_ids"] = sorted(self.undone_ids)
        if self.planned is not None:
            stored["planned"] = self.planned.isoformat()
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored action.

        Raises LookupError, TypeError, ValueError or AttributeError for anything else.
        """
        return cls(
            turn_id=str(stored["turn_id"]),
            conversation_id=str(stored["conversation_id"]),
            context_id=str(stored["context_id"]),
            domain=str(stored["domain"]),
            service=str(stored["service"]),
            user_id=read_text_or_none(stored["user_id"]),
            device_id=read_text_or_none(stored["device_id"]),
            error=read_text_or_none(stored["error"]),
            success=bool(stored["success"]),
            undoes=bool(stored["undoes"]),
            undone=bool(stored["undone"]),
            undone_ids=frozenset(map(str, stored.get("undone_ids", ()))),
            at=read_moment(stored["at"]),
            entity_ids=tuple(map(str, stored["entity_ids"])),
            data=dict(stored["data"]),
            before=_shown(stored["before"]),
            after=_shown(stored["after"]),
            planned=read_moment(planned) if (planned := stored.get("planned")) else None,
        )


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
    def stored(self) -> list[StoredAction]:
        """Return the data that survives a restart."""
        return [action.as_dict() for action in tuple(self._actions)[-MAX_STORED:]]

    def restore(self, stored: Iterable[Mapping[str, Any]]) -> None:
        """Load stored actions; raises the errors of `RecordedAction.from_dict`."""
        self._actions.extend(map(RecordedAction.from_dict, stored))


def _members(state: State) -> set[Any]:
    found = state.attributes.get("entity_id")
    return set(found) if isinstance(found, list | tuple) else set()


def clean_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call without codes, as JSON-compatible data, long texts cut."""
    return {key: _plain(value) for key, value in redacted(data).items() if not is_secret(key)}


def now() -> datetime:
    """Return the time of a call."""
    return dt_util.utcnow()


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case list() | tuple():
            return [_plain(item) for item in value[:20]]
        case _:
            return str(value)[:MAX_TEXT]


def _shown(stored: Mapping[str, Any]) -> dict[str, EarlierState]:
    return {str(entity_id): EarlierState.from_dict(item) for entity_id, item in stored.items()}
