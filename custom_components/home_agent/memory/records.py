"""Memories and profile entries: records, their strength, and who may see them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import log1p
from typing import Any, Final

from ..knowledge.semantic import KnowledgeDocument, TextSource
from ..safety.disclosure import AT_HOME, Disclosure
from ..store import load
from ..texts import fold_letters

MAX_PROVENANCE: Final = 10
"""Sources of one memory, the newest ones."""


class MemoryType(StrEnum):
    """What kind of thing is remembered; each has its own time to live."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONTEXT = "context"
    """Temporary: plans, guests, current activities."""
    EVENT = "event"


class Origin(StrEnum):
    """How it came to be known."""

    TOLD = "told"
    """A person asked to remember it. It is never filtered, merged away, expired or pruned unasked."""
    EXTRACTED = "extracted"
    """Drawn from a conversation."""
    INFERRED = "inferred"
    """Inferred by the model from a person's words; only in profiles."""
    OBSERVED = "observed"
    """Learned from events in the home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The person who said it, and the time."""

    at: datetime
    person: str | None = None
    """Id of `persons.Person`; None if it is not known who spoke."""
    conversation_id: str | None = None
    said: str = ""
    """The words it comes from, where they differ from the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedName:
    """A name of an entity that a person has taught with a yes; no other way of remembering makes one."""

    name: str
    entity_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that is remembered."""

    id: str
    content: str
    type: MemoryType
    importance: float
    """From 0 to 1, as judged when it was learned."""
    person: str | None
    """The owner; None is the household."""
    origin: Origin
    private: bool = False
    """Only for its person; never for unknown speakers, never for a model in the cloud."""
    created_at: datetime
    accessed_at: datetime
    access_count: int = 0
    expires_at: datetime | None = None
    provenance: tuple[Provenance, ...] = ()
    """The oldest first; merging keeps all."""
    learned: LearnedName | None = None
    """The name that the content puts into words."""

    @property
    def text(self) -> str:
        """Return the sentence by which it is found."""
        return self.content

    @property
    def document(self) -> KnowledgeDocument | None:
        """Return what is embedded of it; a private one is found by its words only."""
        if self.private:
            return None
        return KnowledgeDocument(
            self.id, TextSource.MEMORY, self.type.value, self.content, person=self.person
        )

    @property
    def texts(self) -> list[str]:
        """Return the sentences by which it can be found elsewhere."""
        return [self.content, *(heard.said for heard in self.provenance if heard.said)]


def read_memory(stored: Mapping[str, Any]) -> Memory:
    """Return a stored memory. Raises one of `UNREADABLE` for invalid data."""
    memory = load(Memory, {**stored, "accessed_at": stored.get("accessed_at") or stored["created_at"]})
    if not (memory.id and memory.content):
        raise ValueError("not a memory")
    return replace(memory, importance=min(max(memory.importance, 0.0), 1.0))


def read_earlier_memory(stored: Mapping[str, Any]) -> Memory:
    """Return a memory as the first release stored it: with times in seconds, and of the whole household.

    Raises one of `UNREADABLE` for invalid data.
    """
    created = _iso(stored.get("created_at") or stored["extracted_at"])
    expires = stored.get("expires_at")
    metadata = stored.get("metadata")
    sources = metadata.values() if isinstance(metadata, Mapping) else ()
    return read_memory(
        {
            "id": stored["id"],
            "content": stored["content"],
            "type": stored.get("type") or MemoryType.FACT.value,
            "importance": stored.get("importance", 0.5),
            "person": None,
            "origin": Origin.TOLD if any("manual" in str(source) for source in sources) else Origin.EXTRACTED,
            "created_at": created,
            "accessed_at": _iso(stored["last_accessed"]) if stored.get("last_accessed") else created,
            "expires_at": _iso(expires) if expires else None,
        }
    )


def _iso(moment: Any) -> str:
    return str(moment) if isinstance(moment, str) else datetime.fromtimestamp(moment, UTC).isoformat()


ACCESS_BOOST: Final = 0.05
"""What using a memory adds, times the logarithm of how often."""
MAX_BOOST: Final = 0.3
DAY: Final = timedelta(days=1)


def strength(memory: Memory, now: datetime, decay: float) -> float:
    """Return the current strength of a memory, from 0 to 1.

    `decay` is the share of its importance that it loses for each day without use. What a person asked to
    remember loses nothing.
    """
    days = max((now - memory.accessed_at) / DAY, 0.0)
    kept = 1.0 if memory.origin is Origin.TOLD else (1.0 - decay) ** days
    boost = min(ACCESS_BOOST * log1p(memory.access_count), MAX_BOOST)
    return min(memory.importance * kept + boost * kept, 1.0)


def has_expired(memory: Memory, now: datetime) -> bool:
    """Return whether a memory has expired; never for one that a person asked to remember without a date."""
    return memory.expires_at is not None and memory.expires_at <= now


class Sensitivity(StrEnum):
    """Who may read an entry."""

    PUBLIC = "public"
    """Its person, everyone where it is the household's, and a model in the cloud if the option allows."""
    PRIVATE = "private"
    """Its person, everyone known where it is the household's; never a model in the cloud."""
    SENSITIVE = "sensitive"
    """As private, and shown only where a sentence touches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEntry:
    """One thing that is known about a person or the household."""

    category: str
    key: str
    value: str
    person: str | None
    """The owner; None is the household."""
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
        """Return the key of an entry, which is unique."""
        return f"profile:{self.person or ''}:{fold_letters(self.category)}:{fold_letters(self.key)}"

    @property
    def text(self) -> str:
        """Return the entry as it is read."""
        return f"{self.category}, {self.key}: {self.value}"

    @property
    def document(self) -> KnowledgeDocument | None:
        """Return what is embedded of it and found as knowledge; nothing of a sensitive one is."""
        if self.sensitivity is Sensitivity.SENSITIVE:
            return None
        title = f"{self.category}, {self.key}"
        return KnowledgeDocument(self.id, TextSource.PROFILE, title, self.text, person=self.person)


def read_entry(stored: Mapping[str, Any]) -> ProfileEntry:
    """Return a stored entry. Raises one of `UNREADABLE` for invalid data."""
    entry = load(ProfileEntry, stored)
    if not (entry.category and entry.key and entry.value):
        raise ValueError("not an entry")
    return replace(entry, confidence=min(max(entry.confidence, 0.0), 1.0))


def is_visible(memory: Memory, person_id: str | None, model: Disclosure = AT_HOME) -> bool:
    """Return whether this speaker may see a memory; None is an unknown speaker.

    Everyone sees what belongs to the household. What is a person's is seen by that person, and what is
    private never by an unknown speaker, and never by an external model.
    """
    return _is_for(memory.person, person_id, model, private=memory.private)


def is_entry_visible(entry: ProfileEntry, person_id: str | None, model: Disclosure = AT_HOME) -> bool:
    """Return whether this speaker may see an entry of a profile, as `is_visible` does."""
    private = entry.sensitivity is not Sensitivity.PUBLIC
    return _is_for(entry.person, person_id, model, private=private)


def _is_for(whose: str | None, person_id: str | None, model: Disclosure, *, private: bool) -> bool:
    if not model.home and (private or not model.people):
        return False
    return whose == person_id if whose is not None else not private or person_id is not None


def merged(old: Memory, new: Memory) -> Memory:
    """Return the merged memory after the same was said again.

    Words that a person asked to remember stay; otherwise the newer words are used.
    """
    keeps_words = old.origin is Origin.TOLD and new.origin is not Origin.TOLD
    told = Origin.TOLD in (old.origin, new.origin)
    return replace(
        old,
        content=old.content if keeps_words else new.content,
        type=old.type if keeps_words else new.type,
        importance=max(old.importance, new.importance),
        origin=Origin.TOLD if told else old.origin,
        private=old.private or new.private,
        accessed_at=new.created_at,
        access_count=old.access_count + 1,
        expires_at=None if told else new.expires_at,
        provenance=(*old.provenance, *new.provenance)[-MAX_PROVENANCE:],
    )
