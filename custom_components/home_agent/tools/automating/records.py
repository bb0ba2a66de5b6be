"""The automations that people have asked for, and what was changed about them, in one store."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Self

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ...const import DOMAIN
from ...knowledge.speaker import Speaker
from ...store import EntryStore, read_list, read_moment, read_text_or_none

STORE_KEY: Final = f"{DOMAIN}.automations"
ID_PREFIX: Final = f"{DOMAIN}_"
"""How the ids of automations begin that people have asked for."""
MAX_CHANGES: Final = 20
"""Changes that can be undone."""
MAX_AUTOMATIONS: Final = 200
RECORDED: Final = ("Made by Home Agent for ", "Changed by Home Agent for ")
"""How the lines of a description begin that say who asked, when, and in which words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAutomation:
    """One automation that a person has asked for."""

    id: str
    alias: str
    sentence: str = ""
    """What the person said."""
    language: str = "en"
    user_id: str | None = None
    """The administrator who said yes."""
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """As it was written, without its id."""
    created: datetime = field(default_factory=dt_util.utcnow)
    outside: bool = False
    """Whether text from outside had been read when it was written."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""
        return {
            "id": self.id,
            "alias": self.alias,
            "sentence": self.sentence,
            "language": self.language,
            "user_id": self.user_id,
            "config": dict(self.config),
            "created": self.created.isoformat(),
            "outside": self.outside,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored automation. Raises LookupError, TypeError or ValueError for anything else."""
        return cls(
            id=str(stored["id"]),
            alias=str(stored["alias"]),
            sentence=str(stored["sentence"]),
            language=str(stored["language"]),
            user_id=read_text_or_none(stored["user_id"]),
            config=dict(stored["config"]),
            created=read_moment(stored["created"]),
            outside=bool(stored.get("outside", False)),
        )

    def without_person(self, user_id: str) -> Self:
        """Return it without a user who asked for it, and without what people said."""
        config = {**self.config, "description": without_record(str(self.config.get("description") or ""))}
        if self.user_id != user_id:
            return replace(self, config=config)
        return replace(self, user_id=None, sentence="", config=config)


def without_record(description: str) -> str:
    """Return the description of an automation without the lines about who asked for it."""
    lines = description.split("\n")
    return "\n".join(line for line in lines if not line.startswith(RECORDED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of an automation, for an undo."""

    before: OwnAutomation | None
    """None for one that was created."""
    after: OwnAutomation | None
    """None for one that was deleted."""
    switched: bool | None = None
    """Whether it was switched on; None if it was written or deleted."""
    user_id: str | None = None
    conversation_id: str = ""
    device_id: str | None = None
    turn_id: str = ""
    at: datetime = field(default_factory=dt_util.utcnow)
    undone: bool = False

    @property
    def automation(self) -> OwnAutomation:
        """Return what it is about."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a change of nothing")
        return found

    @property
    def did(self) -> str:
        """Return what was done, in a word."""
        if self.switched is not None:
            return "switched on" if self.switched else "switched off"
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "changed"

    @classmethod
    def by(
        cls,
        speaker: Speaker,
        before: OwnAutomation | None,
        after: OwnAutomation | None,
        switched: bool | None = None,
    ) -> Self:
        """Return a change that a speaker makes now."""
        return cls(
            before=before,
            after=after,
            switched=switched,
            user_id=speaker.context.user_id,
            conversation_id=speaker.conversation_id,
            device_id=speaker.device_id,
            turn_id=speaker.turn_id,
        )

    def without_person(self, user_id: str) -> Self:
        """Return it without a user who asked for the automation, and without what people said."""
        return replace(
            self,
            before=self.before.without_person(user_id) if self.before else None,
            after=self.after.without_person(user_id) if self.after else None,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""
        return {
            "before": self.before.as_dict() if self.before else None,
            "after": self.after.as_dict() if self.after else None,
            "switched": self.switched,
            "user_id": self.user_id,
            "conversation_id": self.conversation_id,
            "device_id": self.device_id,
            "turn_id": self.turn_id,
            "at": self.at.isoformat(),
            "undone": self.undone,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored change. Raises LookupError, TypeError or ValueError for anything else."""
        before, after, switched = stored["before"], stored["after"], stored["switched"]
        if before is None and after is None:
            raise ValueError("a change of nothing")
        return cls(
            before=OwnAutomation.from_dict(before) if before else None,
            after=OwnAutomation.from_dict(after) if after else None,
            switched=None if switched is None else bool(switched),
            user_id=read_text_or_none(stored["user_id"]),
            conversation_id=str(stored["conversation_id"]),
            device_id=read_text_or_none(stored["device_id"]),
            turn_id=str(stored["turn_id"]),
            at=read_moment(stored["at"]),
            undone=bool(stored["undone"]),
        )


class OwnAutomations:
    """The automations of one agent."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._automations: dict[str, OwnAutomation] = {}
        self._changes: deque[Change] = deque(maxlen=MAX_CHANGES)
        self._listeners: list[Callable[[], None]] = []

    @property
    def full(self) -> bool:
        """Return whether there is no space for another one."""
        return len(self._automations) >= MAX_AUTOMATIONS

    def all(self) -> list[OwnAutomation]:
        """Return all automations, the newest first."""
        return sorted(self._automations.values(), key=lambda one: one.created, reverse=True)

    def get(self, automation_id: str) -> OwnAutomation | None:
        """Return the automation of an id."""
        return self._automations.get(automation_id)

    @property
    def changes(self) -> list[Change]:
        """Return what can be undone, the newest first."""
        return list(reversed(self._changes))

    @callback
    def note(self, change: Change) -> None:
        """Keep a change that was made, and how the automation is now."""
        self._changes.append(change)
        self._put(change, change.after)

    @callback
    def note_undone(self, change: Change) -> None:
        """Note that a change was undone."""
        kept = [replace(one, undone=True) if one is change else one for one in self._changes]
        self._changes = deque(kept, MAX_CHANGES)
        self._put(change, change.before)

    @callback
    def adopt(self, automation: OwnAutomation) -> None:
        """Keep an automation that was made in another way, unless it is known."""
        if automation.id not in self._automations:
            self._automations[automation.id] = automation
            self._changed()

    @callback
    def inherit(self, other: OwnAutomations) -> None:
        """Keep what another agent kept that is removed."""
        if other.all() or other.changes:
            changes = sorted((*self._changes, *other.changes), key=lambda one: one.at)
            self._automations = {**{one.id: one for one in other.all()}, **self._automations}
            self._changes = deque(changes, MAX_CHANGES)
            self._changed()

    @callback
    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a listener after each change; return how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _put(self, change: Change, automation: OwnAutomation | None) -> None:
        """Keep an automation as it is now, or forget it; one of the household's own is only switched."""
        if change.switched is None:
            if automation is None:
                self._automations.pop(change.automation.id, None)
            else:
                self._automations[automation.id] = automation
        self._changed()
        for listener in list(self._listeners):
            listener()

    def of_user(self, user_id: str | None) -> list[OwnAutomation]:
        """Return the automations that a user has asked for; none without a user."""
        return [one for one in self.all() if user_id is not None and one.user_id == user_id]

    def concerning(self, user_id: str) -> list[str]:
        """Return the ids of the automations that a user has asked for or changed."""
        changed = (one.automation.id for one in self._changes if one.user_id == user_id)
        return list(dict.fromkeys((*(one.id for one in self.of_user(user_id)), *changed)))

    @callback
    def forget_user(self, user_id: str) -> int:
        """Forget who asked for automations, and what they said; the automations stay. Return how many."""
        ids = self.concerning(user_id)
        kept = [one for one in self._changes if one.user_id != user_id]
        gone = len(self.of_user(user_id)) + len(self._changes) - len(kept)
        for each in ids:
            if (own := self._automations.get(each)) is not None:
                self._automations[each] = own.without_person(user_id)
        self._changes = deque(
            (one.without_person(user_id) if one.automation.id in ids else one for one in kept), MAX_CHANGES
        )
        if ids:
            self._changed()
        return gone

    def stored(self) -> dict[str, Any]:
        """Return all that is to be written; called in a worker thread."""
        return {
            "automations": [one.as_dict() for one in list(self._automations.values())],
            "changes": [one.as_dict() for one in list(self._changes)],
        }

    def restore(self, stored: Mapping[str, Any]) -> Exception | None:
        """Restore what was stored; return the problems of invalid items. Raises the errors of reading it."""
        found, problem = read_list(stored["automations"], OwnAutomation.from_dict)
        changes, other = read_list(stored["changes"], Change.from_dict)
        self._automations = {one.id: one for one in found}
        self._changes.extend(changes)
        return problem or other


class AutomationStore(EntryStore[OwnAutomations]):
    """The file of all agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, OwnAutomations)


def entities_of_clause(clause: Mapping[str, Any]) -> list[str]:
    """Return the entities that a trigger or a condition is about."""
    inner = [each for each in as_values(clause.get("conditions")) if isinstance(each, Mapping)]
    return [str(each) for part in (clause, *inner) for each in as_values(part.get(ATTR_ENTITY_ID))]


def as_values(value: Any) -> Sequence[Any]:
    """Return a value, or the values of a list; none for nothing."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)
