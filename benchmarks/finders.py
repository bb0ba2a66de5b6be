"""The ways in which entities are found: by words alone, and with an embedder and a vector store beside."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
import tempfile
from typing import Any

from custom_components.home_agent import const
from custom_components.home_agent.context.retrieval import async_retrieve
from custom_components.home_agent.events import EventEmitter
from custom_components.home_agent.knowledge.documents import entity_text
from custom_components.home_agent.knowledge.house import HouseSnapshot
from custom_components.home_agent.knowledge.search import async_create_embedder
from custom_components.home_agent.knowledge.semantic import KnowledgeDocument, SemanticIndex, TextSource
from custom_components.home_agent.knowledge.spoken_words import async_class_words, known_language
from custom_components.home_agent.vector.embedded import EmbeddedStore
from custom_components.home_agent.vector.embeddings import CachedEmbedder
from homeassistant.core import HomeAssistant
from tests.servers.embedding_server import MODEL, embedding_server

COLLECTION = const.DEFAULTS[const.CONF_VECTOR_COLLECTION]
TOP_K = const.DEFAULTS[const.CONF_VECTOR_TOP_K]
SERVER_THREADS = 2
SERVED_TIMED_EACH = 10
"""The server takes a tenth of a second for one sentence, and half of that for one of a batch."""


class Finder:
    """Finds entities by words alone."""

    name = "words alone"
    timed_each = 1
    """The first of each so many sentences of a house is timed; the others only count for what they find."""

    @asynccontextmanager
    async def opened(
        self, hass: HomeAssistant, house: HouseSnapshot, _sentences: Sequence[str]
    ) -> AsyncGenerator[None]:
        """Make ready for a house and the sentences to come; the time of this does not count."""
        await async_retrieve(hass, house, "", 1)
        yield

    async def async_find(
        self, hass: HomeAssistant, house: HouseSnapshot, text: str, limit: int, language: str
    ) -> list[str]:
        """Return the entities that a sentence is about."""
        found = await async_retrieve(hass, house, text, limit, language=language)
        return [record.entity_id for record in found]


class _Remembering:
    """Embeds what is asked ahead once, though it stands in many houses, and everything else anew."""

    def __init__(self, inner: CachedEmbedder, known: dict[str, Any]) -> None:
        """Take what is known already; it grows while `filling`."""
        self._inner = inner
        self.fingerprint = inner.fingerprint
        self._known = known
        self.filling = False

    async def async_embed(self, texts: Sequence[str]) -> list[Any]:
        """Return one vector for each text."""
        new = [text for text in texts if text not in self._known]
        found = dict(zip(new, await self._inner.async_embed(new), strict=True))
        if self.filling:
            self._known.update(found)
        return [found[text] if text in found else self._known[text] for text in texts]

    async def async_ahead(self, sentences: Sequence[str], timed_each: int) -> None:
        """Embed the sentences that are not timed, and forget those that are."""
        timed = set(sentences[::timed_each])
        self.filling = True
        await self.async_embed([text for text in dict.fromkeys(sentences) if text not in timed])
        self.filling = False
        for text in timed:
            self._known.pop(text, None)

    async def async_close(self) -> None:
        """Stay open for the next house."""


class HybridFinder(Finder):
    """Finds entities by words and by meaning, as the mode `vector_db` does."""

    def __init__(
        self, name: str, provider: str, base_url: str = "", model: str = "", *, timed_each: int = 1
    ) -> None:
        self.name = f"words and {name}"
        self.timed_each = timed_each
        self._settings = {
            **const.DEFAULTS,
            const.CONF_BASE_URL: base_url or "http://127.0.0.1:9",
            const.CONF_MODEL: "none",
            const.CONF_EMBEDDING_PROVIDER: provider,
            const.CONF_EMBEDDING_MODEL: model,
        }
        self._known: dict[str, Any] = {}
        self._semantic: SemanticIndex | None = None

    @asynccontextmanager
    async def opened(
        self, hass: HomeAssistant, house: HouseSnapshot, sentences: Sequence[str]
    ) -> AsyncGenerator[None]:
        """Embed and store all entities."""
        async with AsyncExitStack() as stack:
            embedder = await async_create_embedder(hass, self._settings)
            assert embedder is not None
            stack.push_async_callback(embedder.async_close)
            model = _Remembering(embedder, self._known)

            async def open_store() -> EmbeddedStore:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                return EmbeddedStore(folder, hass.async_add_executor_job)

            async def open_embedder() -> CachedEmbedder:
                return CachedEmbedder(model)

            self._semantic = SemanticIndex(
                hass,
                entry_id="benchmark",
                title="Benchmark",
                emitter=EventEmitter(hass, enabled=False),
                open_store=open_store,
                open_embedder=open_embedder,
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
            model.filling = True
            report = await self._semantic.async_sync(COLLECTION, documents)
            assert report.failed == 0
            model.filling = False
            await model.async_ahead(sentences, self.timed_each)
            async with super().opened(hass, house, sentences):
                yield

    async def async_find(
        self, hass: HomeAssistant, house: HouseSnapshot, text: str, limit: int, language: str
    ) -> list[str]:
        """Return the entities that a sentence is about."""
        assert self._semantic is not None
        where = {"source": TextSource.ENTITY.value}
        hits = await self._semantic.async_search(COLLECTION, text, TOP_K, where=where)
        semantic = [(hit.id, hit.similarity) for hit in hits]
        found = await async_retrieve(hass, house, text, limit, language=language, semantic=semantic)
        return [record.entity_id for record in found]


@asynccontextmanager
async def all_finders() -> AsyncGenerator[list[Finder]]:
    """Return one finder of each kind; the embedding server runs as long as they are in use."""
    async with embedding_server(threads=SERVER_THREADS) as address:
        yield [
            Finder(),
            HybridFinder("built-in embedder", const.EMBEDDING_BUILTIN),
            HybridFinder(
                "embedding server", const.EMBEDDING_OPENAI, address, MODEL, timed_each=SERVED_TIMED_EACH
            ),
        ]
