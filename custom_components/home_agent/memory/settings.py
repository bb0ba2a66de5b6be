"""What the options say about remembering."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

from ..const import (
    CONF_MEMORY_COLLECTION,
    CONF_MEMORY_DECAY,
    CONF_MEMORY_DEDUP,
    CONF_MEMORY_MAX,
    CONF_MEMORY_TTL,
)
from ..timespans import read_span
from .records import MemoryType


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The options of one entry."""

    most: int = 100
    """Memories kept, beside those that a person asked for."""
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
