"""Recorded actions with the states before and after: the basis of "what did you do" and "undo that"."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.util import dt as dt_util

from ..domains import DOMAINS
from ..store import dump, load
from .contents import effects
from .redaction import is_secret, redacted

SCENE: Final = "scene"
MAX_LEDGER_ACTIONS: Final = 100
MAX_STATES: Final = 1000
"""States kept before and after, over all calls."""
MAX_STORED: Final = 20
MAX_TEXT: Final = 200


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
        """Return a stored state. Raises one of `UNREADABLE` for anything else."""
        return load(cls, stored)

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
