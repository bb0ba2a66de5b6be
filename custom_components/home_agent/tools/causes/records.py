"""What is known of changes and of what ran in their contexts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from homeassistant.core import Context, State


class Kind(Enum):
    """What happened in a context."""

    AUTOMATION = auto()
    SCRIPT = auto()
    CALL = auto()
    """A service was called."""
    REQUEST = auto()
    """An agent of Home Agent was asked."""
    STATE = auto()
    """An entity changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The context of a change, by the ids of Home Assistant's `Context`."""

    context_id: str
    parent_id: str | None = None
    user_id: str | None = None

    @classmethod
    def of(cls, context: Context) -> Origin:
        """Return the origin that a context means."""
        return cls(context_id=context.id, parent_id=context.parent_id, user_id=context.user_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happened in a context; `at` is a timestamp."""

    kind: Kind
    at: float
    origin: Origin
    entity_id: str = ""
    state: str = ""
    """The state that an entity got."""
    source: str = ""
    """How an automation describes its trigger."""
    targets: frozenset[str] = frozenset()
    """The targets of a service call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of an entity; `at` is a timestamp, `before` is None where it is not known."""

    at: float
    before: State | None
    after: State
    origin: Origin

    @property
    def entity_id(self) -> str:
        """Return the entity that changed."""
        return self.after.entity_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which changes of an entity are wanted: the newest ones of a period, or of all that is recorded."""

    entity_id: str
    end: float
    start: float | None = None
    most: int = 4
    fits: Callable[[State], bool] | None = None
    """Whether a state is one that is asked about; None for all."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Changes, the oldest first, and what happened in their contexts and in the parents of these."""

    changes: Sequence[Change] = ()
    happenings: Mapping[str, Sequence[Happening]] = field(default_factory=dict)
    """By the id of the context, the oldest first."""
