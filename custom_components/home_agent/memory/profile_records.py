"""What a profile is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from ..store import read_moment
from ..texts import fold_letters
from .records import Origin


class Sensitivity(StrEnum):
    """Who may read an entry."""

    PUBLIC = "public"
    """Its person, everybody where it is the household's, and a model in the cloud if the option allows."""
    PRIVATE = "private"
    """Its person, everybody known where it is the household's; never a model in the cloud."""
    SENSITIVE = "sensitive"
    """As private, and shown only where a sentence touches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEntry:
    """One thing that is so of a person or the household."""

    category: str
    key: str
    value: str
    person: str | None
    """Whose it is; None is the household's."""
    sensitivity: Sensitivity
    confidence: float
    """From 0 to 1."""
    origin: Origin
    first_seen: datetime
    last_seen: datetime
    count: int = 1
    previous: str = ""
    """The value before the last change."""

    @property
    def id(self) -> str:
        """Return what an entry is known by: there is one of each key."""
        return f"profile:{self.person or ''}:{fold_letters(self.category)}:{fold_letters(self.key)}"

    @property
    def text(self) -> str:
        """Return the entry as it is read."""
        return f"{self.category}, {self.key}: {self.value}"


def as_dict(entry: ProfileEntry) -> dict[str, Any]:
    """Return an entry as it is stored."""
    return {
        "category": entry.category,
        "key": entry.key,
        "value": entry.value,
        "person": entry.person,
        "sensitivity": entry.sensitivity.value,
        "confidence": round(entry.confidence, 3),
        "origin": entry.origin.value,
        "first_seen": entry.first_seen.isoformat(),
        "last_seen": entry.last_seen.isoformat(),
        "count": entry.count,
        "previous": entry.previous,
    }


def from_dict(stored: Mapping[str, Any]) -> ProfileEntry:
    """Return a stored entry. Raises KeyError, TypeError or ValueError for what is none."""
    person = stored.get("person")
    texts = [stored[name] for name in ("category", "key", "value")]
    if not all(isinstance(text, str) and text for text in texts) or not isinstance(person, str | None):
        raise TypeError("not a text")
    return ProfileEntry(
        category=texts[0],
        key=texts[1],
        value=texts[2],
        person=person,
        sensitivity=Sensitivity(stored["sensitivity"]),
        confidence=min(max(float(stored["confidence"]), 0.0), 1.0),
        origin=_origin(stored["origin"]),
        first_seen=read_moment(stored["first_seen"]),
        last_seen=read_moment(stored["last_seen"]),
        count=int(stored.get("count", 1)),
        previous=str(stored.get("previous", "")),
    )


def _origin(stored: str) -> Origin:
    """Return a stored origin; inferred entries were formerly called extracted. Raises ValueError."""
    origin = Origin(stored)
    return Origin.INFERRED if origin is Origin.EXTRACTED else origin
