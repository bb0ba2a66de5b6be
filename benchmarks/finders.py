"""The ways in which entities are found: by words alone, and with an embedder and a vector store beside."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
import tempfile

from custom_components.home_agent import const
from custom_components.home_agent.context.retrieval import async_retrieve
from custom_components.home_agent.events import EventEmitter
from custom_components.home_agent.knowledge.documents import entity_text
from custom_components.home_agent.knowledge.house import HouseSnapshot
from custom_components.home_agent.knowledge.search import async_create_embedder
from custom_components.home_agent.knowledge.semantic import KnowledgeDocument, SemanticIndex, TextSource
from custom_components.home_agent.knowledge.spoken_words import async_class_words, known_language
from custom_components.home_agent.vector.embedded import EmbeddedStore
from homeassistant.core import HomeAssistant

COLLECTION = const.DEFAULTS[const.CONF_VECTOR_COLLECTION]
TOP_K = const.DEFAULTS[const.CONF_VECTOR_TOP_K]
SETTINGS = {
    **const.DEFAULTS,
    const.CONF_BASE_URL: "http://127.0.0.1:9",
    const.CONF_MODEL: "none",
    const.CONF_EMBEDDING_PROVIDER: const.EMBEDDING_BUILTIN,
}


class Finder:
    """Finds entities by words alone."""

    name = "words alone"

    @asynccontextmanager
    async def opened(self, hass: HomeAssistant, house: HouseSnapshot) -> AsyncGenerator[None]:
        """Make ready for a house; the time of this does not count."""
        await async_retrieve(hass, house, "", 1)
        yield

    async def async_find(
        self, hass: HomeAssistant, house: HouseSnapshot, text: str, limit: int, language: str
    ) -> list[str]:
        """Return the entities that a sentence is about."""
        found = await async_retrieve(hass, house, text, limit, language=language)
        return [record.entity_id for record in found]


class HybridFinder(Finder):
    """Finds entities by words and by meaning, as the mode `vector_db` does."""

    name = "words and built-in embedder"

    def __init__(self) -> None:
        self._semantic: SemanticIndex | None = None

    @asynccontextmanager
    async def opened(self, hass: HomeAssistant, house: HouseSnapshot) -> AsyncGenerator[None]:
        """Embed and store all entities."""
        async with AsyncExitStack() as stack:

            async def open_store() -> EmbeddedStore:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                return EmbeddedStore(folder, hass.async_add_executor_job)

            self._semantic = SemanticIndex(
                hass,
                entry_id="benchmark",
                title="Benchmark",
                emitter=EventEmitter(hass, enabled=False),
                open_store=open_store,
                open_embedder=lambda: async_create_embedder(hass, SETTINGS),
            )
            await self._semantic.async_start()
            stack.push_async_callback(self._semantic.async_close)
            words = await async_class_words(hass, house, (known_language(hass.config.language),))
            documents = [
                KnowledgeDocument(
                    id=record.entity_id,
                    source=TextSource.ENTITY,
                    title=record.name,
                    text=entity_text(record, house, words),
                )
                for record in house.entities.values()
            ]
            report = await self._semantic.async_sync(COLLECTION, documents)
            assert report.failed == 0
            async with super().opened(hass, house):
                yield

    async def async_find(
        self, hass: HomeAssistant, house: HouseSnapshot, text: str, limit: int, language: str
    ) -> list[str]:
        """Return the entities that a sentence is about."""
        assert self._semantic is not None
        hits = await self._semantic.async_search(COLLECTION, text, TOP_K)
        semantic = [(hit.id, hit.similarity) for hit in hits]
        found = await async_retrieve(hass, house, text, limit, language=language, semantic=semantic)
        return [record.entity_id for record in found]
