"""What a call did, told by its tool, so that a sentence about it needs no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ValueKind(StrEnum):
    """What a value is, which decides how it is said."""

    PERCENT = "percent"
    DEGREES = "degrees"
    COLOR = "color"
    """The English name of a colour."""
    MODE = "mode"
    """A state of climate, as Home Assistant writes it."""
    TEXT = "text"
    """Something that is said as it is."""


@dataclass(frozen=True, slots=True)
class ToldValue:
    """One value that something was set to."""

    kind: ValueKind
    value: str | float


@dataclass(frozen=True, slots=True)
class Moment:
    """When something happens that was planned."""

    due: datetime
    """In UTC."""
    days: Sequence[int] = ()
    """The days of the week on which it is repeated, from 0 for Monday."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldAct:
    """One thing that a call did: the whole answer to a plain command.

    It is told in the sentence `quick_<key>` of the translations.
    """

    key: str
    names: Sequence[str] = ()
    """What it was done to, by name."""
    count: int = 0
    """How many these are, where they are too many to name."""
    kind: str = ""
    """The domain that these have in common."""
    place: str = ""
    """The area or the floor in which all of them are, if that was what the call named."""
    values: Sequence[ToldValue] = ()
    when: Moment | None = None
    """When it happens, or ends, if that is not now."""
    referents: int = 1
    """How many things the call named, so that half of "the light and the fan" is not taken for the whole."""
