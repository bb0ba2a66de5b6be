"""What the options say about remembering."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
import re
from typing import Any, Final, Self

from ..const import (
    CONF_MEMORY_COLLECTION,
    CONF_MEMORY_DECAY,
    CONF_MEMORY_DEDUP,
    CONF_MEMORY_MAX,
    CONF_MEMORY_TTL,
)
from ..regex import lazy
from .records import MemoryType

NEVER: Final = frozenset({"", "0", "-1", "never"})
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_PART: Final = lazy(r"(\d+)([smhdw]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The options of one entry."""

    most: int = 100
    """Memories kept, beside those that somebody asked for."""
    dedup_threshold: float = 0.85
    decay: float = 0.0
    """Share of its importance that a memory loses for each day without use."""
    collection: str = "home_agent_memories"
    lifetimes: Mapping[MemoryType, timedelta | None] = field(default_factory=dict)

    @classmethod
    def from_options(cls, settings: Mapping[str, Any]) -> Self:
        """Read the options."""
        return cls(
            most=settings[CONF_MEMORY_MAX],
            dedup_threshold=settings[CONF_MEMORY_DEDUP],
            decay=settings[CONF_MEMORY_DECAY],
            collection=settings[CONF_MEMORY_COLLECTION],
            lifetimes={
                MemoryType(kind): read_span(settings.get(key, "")) for kind, key in CONF_MEMORY_TTL.items()
            },
        )


def profile_collection(memories: str) -> str:
    """Return the collection of what is known of persons, beside that of the memories."""
    return f"{memories}_profile"


def read_span(text: object) -> timedelta | None:
    """Return a span of time such as 90d, 12h, 1d12h or seconds; None for never.

    Raises ValueError for anything else.
    """
    said = "".join(str(text).split()).lower()
    if said in NEVER:
        return None
    if not re.fullmatch(r"(?:\d+[smhdw]?)+", said):
        raise ValueError(said)
    seconds = sum(int(count) * _UNITS[unit or "s"] for count, unit in _PART.findall(said))
    return timedelta(seconds=seconds)
