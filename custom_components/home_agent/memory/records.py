"""What is remembered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from ..store import read_moment, read_text_or_none


class MemoryType(StrEnum):
    """What kind of thing is remembered; each has its own time to live."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONTEXT = "context"
    """Of these days: plans, guests, what somebody is busy with."""
    EVENT = "event"


class Origin(StrEnum):
    """How it came to be known."""

    TOLD = "told"
    """Somebody asked to remember it. It is never filtered, merged away, expired or pruned unasked."""
    EXTRACTED = "extracted"
    """Drawn from a conversation."""
    INFERRED = "inferred"
    """Inferred by the model from what a person said; only in profiles."""
    OBSERVED = "observed"
    """Learned from what happens in the house."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who said it, and when."""

    at: datetime
    person: str | None = None
    """Id of `persons.Person`; None where it is not known who spoke."""
    conversation_id: str | None = None
    said: str = ""
    """The words it comes from, where they differ from the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that is remembered."""

    id: str
    content: str
    type: MemoryType
    importance: float
    """From 0 to 1, as judged when it was learned."""
    person: str | None
    """Whose it is; None is the household's."""
    origin: Origin
    private: bool = False
    """Only for its person; never for unknown speakers, never for a model in the cloud."""
    created_at: datetime
    accessed_at: datetime
    access_count: int = 0
    expires_at: datetime | None = None
    provenance: tuple[Provenance, ...] = ()
    """The oldest first; merging keeps all."""

    @property
    def texts(self) -> list[str]:
        """Return the sentences by which it can be found elsewhere."""
        return [self.content, *(heard.said for heard in self.provenance if heard.said)]


def as_dict(memory: Memory) -> dict[str, Any]:
    """Return a memory as it is stored."""
    return {
        "id": memory.id,
        "content": memory.content,
        "type": memory.type.value,
        "importance": memory.importance,
        "person": memory.person,
        "origin": memory.origin.value,
        "private": memory.private,
        "created_at": memory.created_at.isoformat(),
        "accessed_at": memory.accessed_at.isoformat(),
        "access_count": memory.access_count,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
        "provenance": [
            {
                "at": heard.at.isoformat(),
                "person": heard.person,
                "conversation_id": heard.conversation_id,
                "said": heard.said,
            }
            for heard in memory.provenance
        ],
    }


def from_dict(stored: Mapping[str, Any]) -> Memory:
    """Return a stored memory. Raises KeyError, TypeError or ValueError for what is none."""
    expires = stored.get("expires_at")
    return Memory(
        id=_text(stored["id"]),
        content=_text(stored["content"]),
        type=MemoryType(stored["type"]),
        importance=min(max(float(stored["importance"]), 0.0), 1.0),
        person=read_text_or_none(stored.get("person")),
        origin=Origin(stored["origin"]),
        private=bool(stored.get("private", False)),
        created_at=read_moment(stored["created_at"]),
        accessed_at=read_moment(stored.get("accessed_at") or stored["created_at"]),
        access_count=int(stored.get("access_count", 0)),
        expires_at=read_moment(expires) if expires else None,
        provenance=tuple(_provenance(heard) for heard in stored.get("provenance", ())),
    )


def _provenance(stored: Mapping[str, Any]) -> Provenance:
    """Return where a memory comes from."""
    return Provenance(
        at=read_moment(stored["at"]),
        person=read_text_or_none(stored.get("person")),
        conversation_id=read_text_or_none(stored.get("conversation_id")),
        said=str(stored.get("said", "")),
    )


def _text(value: object) -> str:
    """Return text that has to be there. Raises TypeError for anything else."""
    if not isinstance(value, str) or not value:
        raise TypeError("not a text")
    return value
