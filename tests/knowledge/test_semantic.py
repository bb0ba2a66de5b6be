"""SemanticIndex: nothing embedded twice, nothing raised, and back by itself."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events, async_fire_time_changed

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.events import EventEmitter
from custom_components.home_agent.knowledge import semantic
from custom_components.home_agent.knowledge.semantic import KnowledgeDocument, SemanticIndex, TextSource
from custom_components.home_agent.vector.embeddings import Embedder
from custom_components.home_agent.vector.store import StoreProblem, VectorStore
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.util import dt as dt_util
from tests.helpers.vectors import MemoryStore, WordEmbedder

if TYPE_CHECKING:
    pass

HOME = "home_entities"


def document(name: str, text: str, source: TextSource = TextSource.ENTITY) -> KnowledgeDocument:
    """Return a document."""
    return KnowledgeDocument(id=name, source=source, title=text, text=text, entity_ids=(name,))


LIGHTS = [
    document("light.kitchen", "kitchen ceiling light"),
    document("light.bedroom", "bedroom lamp"),
    document("cover.office", "office blind"),
]


class Bench:
    """An index with parts that can be broken."""

    def __init__(self, hass: HomeAssistant) -> None:
        self.hass = hass
        self.store = MemoryStore()
        self.embedder = WordEmbedder()
        self.index = SemanticIndex(
            hass,
            entry_id="one",
            title="Agent",
            emitter=EventEmitter(hass, True),
            open_store=self._open_store,
            open_embedder=self._open_embedder,
        )
        self.documents: Sequence[KnowledgeDocument] = LIGHTS
        self.index.owners[HOME] = self.fill

    async def _open_store(self) -> VectorStore:
        return self.store

    async def _open_embedder(self) -> Embedder:
        return self.embedder

    async def fill(self) -> semantic.SyncReport:
        """Sync the collection."""
        return await self.index.async_sync(HOME, self.documents)

    async def found(self, query: str) -> list[str]:
        """Search, and wait for what that starts in the background."""
        hits = await self.index.async_search(HOME, query, 1)
        await self.settled()
        return [hit.id for hit in hits]

    async def settled(self) -> None:
        """Wait for everything in the background."""
        await self.hass.async_block_till_done(wait_background_tasks=True)

    async def later(self, seconds: float = 3600) -> None:
        """Let the next pause pass."""
        async_fire_time_changed(self.hass, dt_util.utcnow() + timedelta(seconds=seconds))
        await self.settled()

    def works(self) -> bool:
        """Return whether the index may be searched."""
        return self.index.available

    def issues(self) -> set[str]:
        """Return the translation keys of the repair issues that are there."""
        return {
            str(issue.translation_key)
            for (domain, _), issue in ir.async_get(self.hass).issues.items()
            if domain == DOMAIN
        }


@pytest.fixture
async def bench(hass: HomeAssistant) -> Bench:
    """Return an index that was started and filled."""
    bench = Bench(hass)
    await bench.index.async_start()
    await bench.fill()
    return bench


async def test_finds_by_meaning_and_tells(bench: Bench, hass: HomeAssistant) -> None:
    """The closest come first, those below the threshold not at all, and an event tells what was found."""
    events = async_capture_events(hass, "home_agent.vector_db.queried")
    hits = await bench.index.async_search(HOME, "ceiling light in the kitchen", 5, 0.5)
    assert [hit.id for hit in hits] == ["light.kitchen"]
    await hass.async_block_till_done()
    data = dict(events[0].data)
    assert data.pop("timestamp")
    assert data == {
        "collection": HOME,
        "results_count": 1,
        "top_k": 5,
        "entity_ids": ["light.kitchen"],
    }


async def test_a_part_of_the_documents_deletes_nothing(bench: Bench) -> None:
    """One document can be put in without the others."""
    report = await bench.index.async_sync(HOME, [document("light.hall", "hall light")], complete=False)
    assert report.indexed == 1
    assert len(bench.store.kept[HOME]) == 4
    await bench.index.async_remove(HOME, ["light.hall"])
    assert len(bench.store.kept[HOME]) == 3


async def test_no_documents_leave_no_collection(bench: Bench) -> None:
    """An emptied collection is searched in vain without being filled again and again."""
    bench.documents = []
    await bench.fill()
    assert HOME not in bench.store.made_by
    before = len(bench.embedder.texts)
    assert await bench.found("kitchen") == []
    assert len(bench.embedder.texts) == before


@pytest.mark.parametrize("searched_first", [True, False])
async def test_another_dimension_builds_anew(bench: Bench, searched_first: bool) -> None:
    """The same model with vectors of another length: the collection is made again by itself."""
    bench.embedder.dimension = 32
    if searched_first:
        assert await bench.found("kitchen") == []
    else:
        bench.documents = [*LIGHTS, document("light.hall", "hall light")]
        report = await bench.fill()
        assert report.indexed == 4
    assert await bench.found("kitchen") == ["light.kitchen"]
    assert bench.store.made_by[HOME] == "test|words|32"
    assert not bench.issues()


async def test_store_down_and_back(bench: Bench) -> None:
    """Down: nothing is found, an issue says so, pauses grow; back: what was missed is filled in."""
    bench.store.problem = StoreProblem.UNAVAILABLE
    assert await bench.found("kitchen") == []
    assert not bench.works()
    assert await bench.index.async_missing(HOME) is None
    assert bench.issues() == {"vector_store_unavailable"}
    bench.documents = [*LIGHTS, document("light.hall", "hall light")]
    assert (await bench.fill()).failed == 4
    await bench.later()
    assert bench.issues() == {"vector_store_unavailable"}
    bench.store.problem = None
    await bench.later()
    assert bench.works()
    assert not bench.issues()
    assert await bench.found("hall") == ["light.hall"]


async def test_read_only_store_is_still_searched(bench: Bench) -> None:
    """A store that takes nothing answers as before; the writing is tried again."""
    bench.store.read_only = True
    bench.documents = [*LIGHTS, document("light.hall", "hall light")]
    assert (await bench.fill()).failed == 1
    await bench.settled()
    assert bench.issues() == {"vector_store_unwritable"}
    assert await bench.found("kitchen") == ["light.kitchen"]
    bench.store.read_only = False
    await bench.later()
    assert not bench.issues()
    assert await bench.found("hall") == ["light.hall"]


async def test_what_cannot_be_deleted_is_deleted_later(bench: Bench) -> None:
    """An entry that is to go goes when the store takes it."""
    bench.store.read_only = True
    bench.documents = LIGHTS[1:]
    await bench.index.async_remove(HOME, ["light.kitchen"])
    await bench.settled()
    assert bench.issues() == {"vector_store_unwritable"}
    bench.store.read_only = False
    await bench.later()
    assert not bench.issues()
    assert "light.kitchen" not in bench.store.kept[HOME]


async def test_one_text_that_cannot_be_embedded(bench: Bench) -> None:
    """It costs itself only."""
    bench.embedder.poison = "office"
    bench.documents = [*LIGHTS[:2], document("cover.office", "office shutter")]
    report = await bench.fill()
    assert (report.indexed, report.failed, report.skipped) == (0, 1, 2)
    bench.documents = [*LIGHTS, document("cover.office2", "office"), document("light.hall", "hall light")]
    report = await bench.fill()
    assert (report.indexed, report.failed) == (1, 1)
    await bench.settled()
    assert bench.works()
    assert not bench.issues()


async def test_slow_embedder_costs_no_turn(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search gives up; slower than a search can wait is not well."""
    monkeypatch.setattr(semantic, "SEARCH_SECONDS", 0.01)
    monkeypatch.setattr(semantic, "TRY_SECONDS", 0.01)
    bench.embedder.awake.clear()
    assert await bench.index.async_search(HOME, "kitchen", 1) == []
    assert not bench.works()
    await bench.settled()
    assert bench.issues() == {"embedder_unavailable"}
    monkeypatch.undo()
    bench.embedder.awake.set()
    await bench.later()
    assert bench.works()
    assert not bench.issues()


async def test_a_fault_that_comes_back_is_tried_after_a_pause(bench: Bench) -> None:
    """A part that answers attempts and fails at work is not tried without end."""
    bench.embedder.poison = "kitchen"
    assert await bench.found("kitchen") == []  # the attempt works, so it is well again
    assert not bench.issues()
    await bench.found("kitchen")
    assert bench.issues() == {"embedder_unavailable"}
    before = len(bench.embedder.texts)
    await bench.later(1)
    assert len(bench.embedder.texts) == before


async def test_collection_of_others(bench: Bench) -> None:
    """One that nobody here fills: it may be missing; of another dimension it is an issue."""
    assert await bench.index.async_search("manuals", "boiler", 3) == []
    assert await bench.index.async_missing("manuals")
    assert not await bench.index.async_missing(HOME)
    assert not bench.issues()
    await bench.index.async_sync("notes", [document("n1", "boiler", TextSource.AREA)])
    bench.store.made_by["notes"] = None
    assert await bench.index.async_search("notes", "boiler", 3)
    bench.embedder.dimension = 32
    assert await bench.index.async_search("notes", "boiler", 3) == []
    assert bench.issues() == {"collection_mismatch"}
    bench.embedder.dimension = 64
    assert await bench.index.async_search("notes", "boiler", 3)
    assert not bench.issues()


async def test_closed_while_it_opens(hass: HomeAssistant) -> None:
    """A store that comes too late is closed again."""
    bench = Bench(hass)
    bench.embedder.awake.clear()
    opening = hass.async_create_task(bench.index.async_start())
    bench.index._closed = True
    bench.embedder.awake.set()
    await opening
    assert bench.store.closed
    assert not bench.works()


async def test_close_ends_everything(bench: Bench) -> None:
    """No issue, no task and no timer outlive the entry."""
    bench.store.problem = StoreProblem.UNAVAILABLE
    await bench.found("kitchen")
    await bench.index.async_close()
    assert not bench.issues()
    assert bench.store.closed
    assert await bench.index.async_search(HOME, "kitchen", 1) == []
    await bench.later()
    assert not bench.issues()


async def test_syncs_of_one_collection_wait_for_each_other(bench: Bench) -> None:
    """Two at the same time embed nothing twice."""
    bench.documents = [*LIGHTS, document("light.hall", "hall light")]
    reports = await asyncio.gather(bench.fill(), bench.fill())
    assert sorted(report.indexed for report in reports) == [0, 1]
