"""The states that matter for a sentence, found by words, or by words and by meaning.

Entities that the sentence names come first, then what is on in the speaker's area, then all entities that
the options choose. If the catalogue could not list every entity, the found ones carry their names and
abilities as well.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, override

from homeassistant.core import State

from ...agent_options import CONF_VISIBLE
from ...const import (
    CONF_CONTEXT_FORMAT,
    CONF_CONTEXT_MODE,
    CONF_DIRECT_ATTRIBUTES,
    CONF_DIRECT_ENTITIES,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_THRESHOLD,
    CONF_VECTOR_TOP_K,
    MODE_VECTOR,
)
from ...domains import DOMAINS
from ...knowledge.documents import Source
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...safety.firewall.firewall import Removal
from ...safety.firewall.own_values import cleaned, without_outside
from ...texts import words
from ..concepts import class_concepts
from ..formats import StateWriter, introduced
from ..kind_lines import KindLine, is_active
from ..retrieval import async_retrieve
from ..selection import Group, Selection, async_prepare_selection, async_select
from ..tokens import estimate_tokens
from ..topics import read_topic
from ..written_lines import WrittenLines, async_write_lines
from .base import ContextProvider, ContextRequest, ProviderSetup, Slot

NARROWED_HITS = 50
"""Searched by meaning where the agent sees only some of them."""
STATES_BESIDE_FULL_CATALOGUE = 8
CUT_BESIDE_FULL_CATALOGUE = 0.7
"""Where the model sees every entity anyway, only the states that the sentence is clearly about are shown."""
STATES_TOKENS, STATES_SHARE = 40, 0.1
"""Tokens for those states: some, and a share of the catalogue. What changes from turn to turn stays small
beside what a server keeps in its cache."""
KINDS_TOKENS = 60
"""Tokens in addition for lines about kinds: few sentences need them, and these need all of them."""
FOUND_IN_LARGE_HOUSE = 20
LARGE_KINDS_TOKENS = 300
"""Tokens for lines about kinds in such a house, in place of what is found."""
CHARS_PER_TOKEN = 4
CLEARLY = 0.9
"""Share of the best score from which on a sentence is clearly about an entity."""


class Meant(NamedTuple):
    """Semantic results: entity ids with their similarity, best first, and the query."""

    hits: tuple[tuple[str, float], ...] = ()
    query: str | None = None
    """None if a vector store was not asked, or did not answer."""


class ToldState(NamedTuple):
    """An entity with its state as the model sees it."""

    record: EntityRecord
    state: State
    bare: State
    """Without texts from outside."""
    removed: Sequence[Removal] = ()
    """Text that was removed from these texts."""


class DirectContextProvider(ContextProvider):
    """Looks the sentence up by words; needs neither an index server nor an embedding model."""

    name = "direct"
    shows_chosen = True
    """Whether entities that the options choose are shown whatever the sentence is about."""

    def __init__(self, setup: ProviderSetup) -> None:
        self._hass = setup.hass
        self._away = setup.data_policy.away
        self._writer = StateWriter(
            setup.settings[CONF_CONTEXT_FORMAT], setup.settings[CONF_DIRECT_ATTRIBUTES]
        )
        self._chosen = bool(setup.settings[CONF_DIRECT_ENTITIES]) and self.shows_chosen

    @override
    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Build the index of words, and what the first sentence would have to read."""
        await async_retrieve(self._hass, house, "", 1)
        await async_prepare_selection(self._hass, house)

    @override
    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the states that matter, within the budget."""
        selection = None
        if request.catalogue.complete or request.before or self._counts(request):
            selection = await async_select(
                self._hass,
                request.house,
                request.sentence,
                language=request.speaker.language,
                area_id=request.speaker.area_id,
                before=request.before,
                places_only=not request.catalogue.complete,
            )
        if selection is not None and request.catalogue.complete:
            return await self._async_selected(selection, request)
        limit = STATES_BESIDE_FULL_CATALOGUE if request.catalogue.complete else FOUND_IN_LARGE_HOUSE
        meant = await self.async_meant(request)
        limit = max(limit, len(meant.hits))
        by_words: dict[str, float] = {}
        found = await async_retrieve(
            self._hass,
            request.house,
            request.sentence,
            limit,
            area_id=request.speaker.area_id,
            language=request.speaker.language,
            cut=CUT_BESIDE_FULL_CATALOGUE if request.catalogue.complete else 0.0,
            semantic=meant.hits,
            scores=by_words,
        )
        kinds = selection.groups if selection is not None and self._counts(request) else ()
        before = selection.records if selection is not None and selection.goes_on else ()
        if kinds and not meant.hits:
            found = [record for record in found if self._is_named(record, request)]
            limit = len(found)
        records = {record.entity_id: record for record in (*before, *found)}
        for record in self._lively(request):
            if len(records) >= limit:
                break
            records.setdefault(record.entity_id, record)
        if self._chosen:
            records |= {
                entity_id: record
                for entity_id, record in sorted(request.house.entities.items())
                if entity_id not in records and request.reader.sees(entity_id)
            }
        told = self._told(records.values(), request, [record.entity_id for record in found[:1]])
        counted, texts, removed = await self._async_counted(kinds, request, LARGE_KINDS_TOKENS)
        lines = self._lines(told, request, sum(estimate_tokens(line.text) for line in counted))
        told = told[: len(lines)]
        entity_ids = [one.record.entity_id for one in told]
        by_meaning = dict(meant.hits)
        outside = None
        if not self._away.states:
            shown = () if request.catalogue.complete else entity_ids
            outside = tuple(introduced(records[entity_id], request.house) for entity_id in shown)
        return Slot(
            heading=self._writer.heading_for(request.sentence, request.speaker.language),
            lines=(*lines, *(line.text for line in counted)),
            entity_ids=tuple(entity_ids),
            outside=outside,
            query=meant.query,
            texts=texts or any(self._shows_text(one, request.house) for one in told),
            removed=(*removed, *(found for one in told for found in one.removed)),
            about=self._clearly(entity_ids, by_words, before, counted),
            scores=tuple(_scores(entity_id, by_words, by_meaning) for entity_id in entity_ids),
        )

    async def _async_selected(self, selection: Selection, request: ContextRequest) -> Slot:
        records = {record.entity_id: record for record in selection.records}
        about = frozenset(records)
        if self._chosen:
            for entity_id, record in sorted(request.house.entities.items()):
                if request.reader.sees(entity_id):
                    records.setdefault(entity_id, record)
        told = self._told(records.values(), request, about)
        lines = self._lines(told, request)
        told = told[: len(lines)]
        left = min(request.budget.retrieved, KINDS_TOKENS + self._tokens(request))
        left -= sum(map(estimate_tokens, lines))
        counted, texts, removed = await self._async_counted(selection.groups, request, left)
        lines += [line.text for line in counted]
        ids = [one.record.entity_id for one in told]
        ids += [entity_id for line in counted for entity_id in line.entity_ids[: line.named]]
        return Slot(
            heading=self._writer.heading_for(request.sentence, request.speaker.language),
            lines=tuple(lines),
            entity_ids=tuple(dict.fromkeys(ids)),
            about=tuple(dict.fromkeys(ids)),
            scores=tuple(
                {"words": round(selection.scores[one.record.entity_id], 3)}
                if one.record.entity_id in selection.scores
                else {}
                for one in told
            )
            + ({},) * len(counted),
            outside=None if self._away.states else (),
            texts=texts or any(self._shows_text(one, request.house) for one in told),
            removed=(*removed, *(found for one in told for found in one.removed)),
        )

    async def _async_counted(
        self, groups: Sequence[Group], request: ContextRequest, tokens: int
    ) -> WrittenLines:
        return await async_write_lines(
            request.reader,
            groups,
            request.house,
            rooms=not request.catalogue.complete,
            fits=max(tokens, 0) * CHARS_PER_TOKEN,
        )

    @staticmethod
    def _counts(request: ContextRequest) -> bool:
        """Return whether a sentence asks which or how many, so that a line about the kind is needed."""
        topic = read_topic(request.sentence, request.speaker.language)
        if topic.commands:
            return False
        return topic.asks_which or (topic.is_asked and bool(topic.states) and not topic.kinds)

    @staticmethod
    def _clearly(
        found: Sequence[str],
        scores: Mapping[str, float],
        before: Iterable[EntityRecord],
        counted: Iterable[KindLine],
    ) -> tuple[str, ...]:
        best = max((scores.get(key, 0.0) for key in found), default=0.0) * CLEARLY
        ids = [record.entity_id for record in before]
        ids += [key for line in counted for key in line.entity_ids[: line.named]]
        ids += [key for key in found if best and scores.get(key, 0.0) >= best]
        return tuple(dict.fromkeys(ids))

    @staticmethod
    def _is_named(record: EntityRecord, request: ContextRequest) -> bool:
        spoken = set(words(request.sentence))
        area = request.house.areas.get(record.area_id or "")
        room = words(area.name) if area else ()
        return any(
            spoken.issuperset(name) and (len(name) > 1 or (room and spoken.issuperset(room)))
            for name in map(words, record.names)
        )

    async def async_meant(self, _request: ContextRequest) -> Meant:
        """Return the entities closest to a sentence in meaning; here words are enough."""
        return Meant()

    def _lively(self, request: ContextRequest) -> Iterable[EntityRecord]:
        if request.speaker.area_id is None:
            return
        for record in request.house.in_area(request.speaker.area_id):
            state = self._hass.states.get(record.entity_id)
            if DOMAINS[record.domain].is_lively and state is not None and is_active(state):
                yield record

    def _told(
        self, records: Iterable[EntityRecord], request: ContextRequest, best: Collection[str]
    ) -> list[ToldState]:
        """Return the states of entities, with texts from outside only where the sentence is about them.

        `best` are the ids of those. A song's title beside "turn on the light" would mark the turn without
        need. Where a person has chosen which entities are always included, they are included in full.
        """
        spoken = frozenset(words(request.sentence))
        languages = dict.fromkeys((request.speaker.language, "en"))
        told = []
        for record in records:
            state = self._hass.states.get(record.entity_id)
            if state is None or not request.reader.sees(record.entity_id):
                continue
            bare = without_outside(self._hass, state)
            removed: Sequence[Removal] = ()
            if bare is not state:
                about = self._chosen or record.entity_id in best or _is_about(record, spoken, languages)
                state, removed = cleaned(self._hass, state) if about else (bare, removed)
            told.append(ToldState(record, state, bare, removed))
        return told

    def _lines(self, told: Sequence[ToldState], request: ContextRequest, taken: int = 0) -> list[str]:
        """Return one line for each entity until the budget is used.

        If many are meant, the last ones get no introduction, so that more of them fit.
        """
        introduced = not request.catalogue.complete
        left = self._tokens(request) - taken
        shown = [(one.record, one.state) for one in told]
        write = partial(self._writer.line, house=request.house)
        lines = [write(record, state, introduced=introduced) for record, state in shown]
        spent = sum(map(estimate_tokens, lines))
        for index in reversed(range(len(lines) if introduced else 0)):
            if spent <= left:
                break
            spent -= estimate_tokens(lines[index])
            lines[index] = write(*shown[index], introduced=False)
            spent += estimate_tokens(lines[index])
        while lines and spent > left:
            spent -= estimate_tokens(lines.pop())
        return lines

    def _tokens(self, request: ContextRequest) -> int:
        """Return how many tokens the states may take."""
        left = request.budget.retrieved
        if request.catalogue.complete and self._writer.brief and not self._chosen:
            left = min(left, STATES_TOKENS + int(STATES_SHARE * request.catalogue.tokens))
        return left

    def _shows_text(self, one: ToldState, house: HouseSnapshot) -> bool:
        if one.state is one.bare:
            return False
        lines = {
            self._writer.line(one.record, state, house, introduced=False) for state in (one.state, one.bare)
        }
        return len(lines) > 1


class VectorDbContextProvider(DirectContextProvider):
    """Adds the entities that are closest in meaning, in the same format."""

    name = "vector_db"
    shows_chosen = False

    def __init__(self, setup: ProviderSetup) -> None:
        super().__init__(setup)
        self._semantic = setup.semantic
        self._collection: str = setup.settings[CONF_VECTOR_COLLECTION]
        self._top_k = int(setup.settings[CONF_VECTOR_TOP_K])
        self._narrowed = bool(setup.settings[CONF_VISIBLE])
        self._threshold = float(setup.settings[CONF_VECTOR_THRESHOLD])

    @override
    async def async_meant(self, request: ContextRequest) -> Meant:
        """Return the entities closest to the sentence; retrieval checks whether they are exposed."""
        hits = await self._semantic.async_search(
            self._collection,
            request.sentence,
            NARROWED_HITS if self._narrowed else self._top_k,
            self._threshold,
            where={"source": Source.ENTITY.value},
        )
        answered = self._semantic.available  # a search that fails finds that out
        # The index is of everything that is exposed; an agent with a list sees some of it.
        seen = [hit for hit in hits if hit.id in request.house.entities]
        return Meant(
            tuple((hit.id, hit.similarity) for hit in seen[: self._top_k]),
            query=request.sentence if answered else None,
        )


def entities_provider(setup: ProviderSetup) -> ContextProvider:
    """Return the provider of entities in the chosen mode."""
    vector = setup.settings[CONF_CONTEXT_MODE] == MODE_VECTOR
    return VectorDbContextProvider(setup) if vector else DirectContextProvider(setup)


def _is_about(record: EntityRecord, spoken: frozenset[str], languages: Iterable[str]) -> bool:
    if any(spoken.issuperset(words(name)) for name in record.names if words(name)):
        return True
    return not spoken.isdisjoint(words(class_concepts(record.domain, record.device_class, languages)))


def _scores(
    entity_id: str, by_words: Mapping[str, float], by_meaning: Mapping[str, float]
) -> Mapping[str, float]:
    """Return how well an entity fits; None for one that is shown without a search."""
    found = (("words", by_words.get(entity_id)), ("meaning", by_meaning.get(entity_id)))
    return {name: score for name, score in found if score is not None}
