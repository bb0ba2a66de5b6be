"""Finds documents of the home's knowledge: by the entities that a query names, by words and by meaning."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, Protocol

from homeassistant.core import HomeAssistant

from ..safety.disclosure import AT_HOME, Disclosure
from ..texts import words
from ..vector.lexical import LexicalIndex, fuse
from ..vector.store import Hit, Value
from .documents import KnowledgeDocument, PersonalSource, Source
from .house_knowledge import Documents, HouseKnowledge
from .naming import NO_NAMES, FullNames
from .spoken_words import domain_words

MAX_FOUND: Final = 50
"""Ranked documents; the caller takes as many of them as fit."""
CANDIDATES: Final = 30
MIN_SIMILARITY: Final = 0.25
WORDS_CUT: Final = 0.5
"""Share of the best score that a document found by words needs."""
NAMED_WEIGHT: Final = 2.0
"""Of naming an entity or a title, against words and meaning: that comes before what only sounds alike."""
PLACED_WEIGHT: Final = 0.5
"""Of speaking of anything in a room that is named in full."""
CALLED: Final = frozenset({Source.AUTOMATION, Source.SCENE, Source.SCRIPT})
"""Sources whose titles are names that people call them by; the name of a room is said for what is in it."""
INLINE: Final = 100
"""Documents searched on the event loop; more go to the executor."""


class SemanticSearch(Protocol):
    """Search by meaning, such as SemanticIndex; it never raises."""

    @property
    def available(self) -> bool:
        """Return whether it can answer now."""
        ...

    async def async_search(
        self,
        collection: str,
        query: str,
        limit: int,
        threshold: float = 0.0,
        where: Mapping[str, Value] | None = None,
    ) -> list[Hit]:
        """Return the closest texts, best first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeQuery:
    """What is looked for."""

    text: str
    source: Source | None = None
    mentioned: Sequence[str] = ()
    """The entities that the text names, the surest first."""
    named: FullNames = NO_NAMES
    """What the text names in full; where documents speak of that, others are left out."""
    person_id: str | None = None
    """The speaker; unknown people get only the household's documents."""
    model: Disclosure = AT_HOME
    """What the model that asks may receive."""


class KnowledgeSearch:
    """Search for one entry: the home's documents, with its own index of meanings where it has one."""

    def __init__(
        self,
        hass: HomeAssistant,
        knowledge: HouseKnowledge,
        semantic: SemanticSearch | None = None,
        collection: str = "",
        personal: PersonalSource | None = None,
    ) -> None:
        self._personal = personal
        self._hass = hass
        self._knowledge = knowledge
        self._semantic = semantic
        self._collection = collection

    async def async_prepare(self) -> None:
        """Build what the first search would have to wait for."""
        await self._knowledge.async_index()

    async def async_search(
        self, question: KnowledgeQuery, visible: Callable[[str], bool]
    ) -> list[KnowledgeDocument]:
        """Return documents, best first. None of them speaks of an entity that is not visible now."""
        documents, index = await self._knowledge.async_index()
        allowed = {key for key, document in documents.items() if _is_for(document, question)}
        by_words = await self._async_by_words(index, question.text, allowed)
        by_meaning = await self._async_by_meaning(question, allowed)
        named = _naming(documents, allowed, question.mentioned)
        titled = _titled(documents, allowed, question.text)
        personal = await self._async_personal(question)
        ranked = fuse(
            (
                (titled, NAMED_WEIGHT),
                (named, NAMED_WEIGHT),
                (by_words, 1.0),
                (by_meaning, 1.0),
                (_naming(documents, allowed, sorted(question.named.entity_ids)), PLACED_WEIGHT),
                (list(personal), 1.0),
            )
        )
        # A person may have hidden an entity while we were searching.
        current = await self._knowledge.async_documents()
        found = [
            document
            for key in ranked
            if (document := personal.get(key) or current.get(key)) is not None
            and all(map(visible, document.entity_ids))
        ]
        if titled or _asks_for_called(question.text):
            found = _without_rooms(found, question.named)
        return _concerned(found, question.named, {*personal, *titled})[:MAX_FOUND]

    async def _async_personal(self, question: KnowledgeQuery) -> dict[str, KnowledgeDocument]:
        if self._personal is None or question.source not in (None, Source.PROFILE):
            return {}
        found = await self._personal.async_find(question.text, question.person_id, question.model)
        return {document.id: document for document in found}

    async def _async_by_words(self, index: LexicalIndex, text: str, allowed: set[str]) -> list[str]:
        if len(index) <= INLINE:
            found = index.search(text, CANDIDATES, allowed)
        else:
            found = await self._hass.async_add_executor_job(index.search, text, CANDIDATES, allowed)
        return [key for key, score in found if score >= WORDS_CUT * found[0][1]]

    async def _async_by_meaning(self, question: KnowledgeQuery, allowed: set[str]) -> list[str]:
        if self._semantic is None or not self._semantic.available:
            return []
        where: Mapping[str, Value] | None = {"source": question.source.value} if question.source else None
        hits = await self._semantic.async_search(
            self._collection, question.text, CANDIDATES, MIN_SIMILARITY, where=where
        )
        return [hit.id for hit in hits if hit.id in allowed]


def _asks_for_called(text: str) -> bool:
    said = {domain_words().get(word) for word in words(text)}
    return not said.isdisjoint(source.value for source in CALLED)


def _without_rooms(found: list[KnowledgeDocument], named: FullNames) -> list[KnowledgeDocument]:
    """Return the documents without rooms that are not named; all if there are no others."""
    kept = [document for document in found if document.source is not Source.AREA or named.concerns(document)]
    return kept or found


def _concerned(
    found: list[KnowledgeDocument], named: FullNames, sure: Collection[str]
) -> list[KnowledgeDocument]:
    """Return the documents about what is named in full, all where none is; `sure` are kept beside them."""
    about = {document.id for document in found if named.concerns(document)}
    return [document for document in found if document.id in about or document.id in sure] if about else found


def _is_for(document: KnowledgeDocument, question: KnowledgeQuery) -> bool:
    """Return whether a document is of the source that is wanted, and the household's or the person's own."""
    if question.source is not None and document.source is not question.source:
        return False
    if document.source is Source.SUMMARY and not question.model.states:
        return False
    return document.person is None or document.person == question.person_id


def _titled(documents: Documents, allowed: set[str], text: str) -> list[str]:
    """Return the documents whose whole title is in a text, the longest title first."""
    said = set(words(text))
    titles = {key: words(documents[key].title) for key in allowed if documents[key].source in CALLED}
    found = [key for key, title in titles.items() if title and said.issuperset(title)]
    return sorted(found, key=lambda key: (-len(titles[key]), key))[:MAX_FOUND]


def _naming(documents: Documents, allowed: set[str], mentioned: Sequence[str]) -> list[str]:
    """Return the documents that speak of entities, those that speak of little else first."""
    weights = {entity_id: 1 / (1 + rank) for rank, entity_id in enumerate(mentioned)}
    scores: dict[str, float] = {}
    for key in allowed:
        spoken_of = documents[key].entity_ids
        if score := sum(weights.get(entity_id, 0.0) for entity_id in spoken_of):
            scores[key] = score / sqrt(len(spoken_of))
    return sorted(scores, key=lambda key: (-scores[key], key))[:MAX_FOUND]
