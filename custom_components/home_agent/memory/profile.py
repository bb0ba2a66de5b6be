"""Profiles: facts about each person and the household, one value for each key."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..errors import PermissionDenied, ValidationError
from ..knowledge.semantic import KnowledgeDocument
from ..safety.disclosure import Disclosure
from ..store import EntryStore
from ..texts import clean, fold_letters, words
from .memories import Kept
from .records import (
    Origin,
    ProfileEntry,
    Sensitivity,
    is_entry_visible,
    read_entry,
)
from .sentences import holds_secret

STORE_KEY: Final = f"{DOMAIN}.profile"
MAX_NAME: Final = 40
"""Characters of a category and of a key."""
MAX_VALUE: Final = 200
MAX_ENTRIES: Final = 200
"""Entries of one person, and of the household."""

CONFIDENCE: Final[Mapping[Origin, float]] = {
    Origin.TOLD: 0.9,
    Origin.INFERRED: 0.6,
    Origin.EXTRACTED: 0.6,
    Origin.OBSERVED: 0.5,
}
"""The confidence of something that was learned once."""
GAIN: Final = 0.3
"""Fraction of the missing confidence that a repetition adds."""
LOSS: Final = 0.6
"""What a contradiction leaves."""

HOUSEHOLD: Final = "household"
"""The category whose entries are the household's."""
DELICATE: Final = frozenset(
    {"health", "medical", "finance", "money", "religion", "politics", "sexuality", "legal"}
)
"""Categories that are sensitive unless a person says otherwise."""
CALLED: Final = frozenset({"name", "nickname", "language", "pronouns", "units"})
"""Keys that are public unless a person says otherwise: how a person is spoken to."""
SPOKEN_TO: Final = frozenset({*CALLED, "address", "style", "tone"})
"""Keys and categories that fit every request: how a person is spoken to."""
DIET: Final = frozenset({"diet", "allergies", "allergy", "vegetarian"})
"""Keys and categories that fit what is about the person, or about food."""
SINGLE: Final = frozenset({*CALLED, "address", "diet", "style", "tone"})
"""Keys of which a person has one value, so that a new one replaces it."""
LEAST_LETTERS: Final = 4
"""Shorter words say nothing of what a sentence is about."""
SIMILAR: Final = 0.3
"""Similarity in meaning from which an entry fits a sentence."""
FOUND: Final = 10
"""Entries found as knowledge."""


class Profile(Kept[ProfileEntry]):
    """The profile entries of one agent."""

    def __init__(self, changed: Callable[[], None], flush: Callable[[], Awaitable[bool]]) -> None:
        super().__init__(changed, flush, read_entry)

    @callback
    def entries(self, may_see: Callable[[ProfileEntry], bool], category: str = "") -> list[ProfileEntry]:
        """Return entries, the surest first; of one category if it is named."""
        wanted = fold_letters(category)
        found = [entry for entry in self._kept.values() if may_see(entry)]
        found = [entry for entry in found if not wanted or fold_letters(entry.category) == wanted]
        return sorted(found, key=lambda entry: (-entry.confidence, entry.category, entry.key))

    async def async_note(self, new: ProfileEntry) -> ProfileEntry:
        """Add a learned entry; return the resulting one.

        Raises ValidationError for an empty or excessive entry, and PermissionDenied for codes and passwords.
        """
        new = replace(
            new,
            category=clean(new.category, MAX_NAME),
            key=clean(new.key, MAX_NAME),
            value=clean(new.value, MAX_VALUE),
        )
        if not (new.category and new.key and new.value):
            raise ValidationError("category, key and value must not be empty")
        if holds_secret(f"{new.key}: {new.value}") or holds_secret(new.value):
            raise PermissionDenied("Codes, passwords and card numbers are not kept in a profile")
        old = self._kept.get(new.id)
        own = [entry for entry in self._kept.values() if entry.person == new.person]
        if old is None and len(own) >= MAX_ENTRIES:
            loose = [entry for entry in own if entry.origin is not Origin.TOLD]
            if not loose:
                raise ValidationError(f"The profile holds {MAX_ENTRIES} entries, no more; forget some first")
            weakest = min(loose, key=lambda entry: (entry.confidence, entry.last_seen))
            await self.async_drop([weakest.id])
        return await self._async_store(new if old is None else joined(old, new))

    async def async_adopt(self, new: ProfileEntry) -> None:
        """Take an entry of another agent over; a value that is known here stays."""
        if new.id not in self._kept:
            await self._async_store(new)

    async def async_search(
        self,
        query: str,
        limit: int,
        *,
        may_see: Callable[[ProfileEntry], bool],
        wording: str | None = None,
        least_meaning: float = SIMILAR,
    ) -> list[ProfileEntry]:
        """Return the matches of a query, best first.

        Where a `wording` is given, only its words are compared by their letters; `least_meaning` is from 0
        to 1.
        """
        allowed = {key: entry for key, entry in self._kept.items() if may_see(entry)}
        if not allowed:
            return []
        spoken = words(query if wording is None else wording)
        said = " ".join(word for word in spoken if len(word) >= LEAST_LETTERS or not word.isascii())
        ranked = await self._async_ranked(
            query, said, limit, allowed.__contains__, max(SIMILAR, least_meaning)
        )
        return [allowed[key] for key, _ in ranked]

    async def async_find(
        self, text: str, person_id: str | None, model: Disclosure
    ) -> list[KnowledgeDocument]:
        """Return the entries that this person may see with this model as documents, best first."""
        may_see = partial(is_entry_visible, person_id=person_id, model=model)
        entries = await self.async_search(text, FOUND, may_see=may_see)
        return [document for entry in entries if (document := entry.document)]

    @callback
    def always_relevant(self, may_see: Callable[[ProfileEntry], bool]) -> list[ProfileEntry]:
        """Return the entries that fit every request."""
        return self._of(SPOKEN_TO, may_see)

    @callback
    def about_diet(self, may_see: Callable[[ProfileEntry], bool]) -> list[ProfileEntry]:
        """Return the entries about what a person does not eat, the surest first."""
        return self._of(DIET, may_see)

    def _of(self, keys: frozenset[str], may_see: Callable[[ProfileEntry], bool]) -> list[ProfileEntry]:
        return [
            entry
            for entry in self.entries(may_see)
            if entry.sensitivity is not Sensitivity.SENSITIVE
            and not keys.isdisjoint((fold_letters(entry.category), fold_letters(entry.key)))
        ]


class ProfileManager(EntryStore[Profile]):
    """Keeps the profiles by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, lambda changed: Profile(changed, self.async_flush))


def joined(old: ProfileEntry, new: ProfileEntry) -> ProfileEntry:
    """Return the entry of a key after it was learned again.

    The same value raises the confidence. Another value replaces a less certain one; a stated value gives way
    only to another stated value.
    """
    told = Origin.TOLD in (old.origin, new.origin)
    seen = replace(old, last_seen=new.last_seen, count=old.count + 1, sensitivity=new.sensitivity)
    if fold_letters(old.value) == fold_letters(new.value):
        surer = old.confidence + GAIN * (1 - old.confidence)
        start = CONFIDENCE[Origin.TOLD] if told else 0.0
        return replace(seen, confidence=max(surer, start), origin=Origin.TOLD if told else old.origin)
    doubted = LOSS * old.confidence
    if new.origin is Origin.TOLD or (old.origin is not Origin.TOLD and doubted < new.confidence):
        return replace(new, first_seen=old.first_seen, count=old.count + 1, previous=old.value)
    return replace(seen, confidence=doubted)


def default_sensitivity(category: str, key: str, person: str | None) -> Sensitivity:
    """Return how an entry is treated where no one says it."""
    if fold_letters(category) in DELICATE:
        return Sensitivity.SENSITIVE
    if person is None or fold_letters(key) in CALLED:
        return Sensitivity.PUBLIC
    return Sensitivity.PRIVATE
