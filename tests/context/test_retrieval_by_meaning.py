"""Entities found by meaning: real models, a real store, from the options to the entities."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent import const
from custom_components.home_agent.context.retrieval import async_retrieve
from custom_components.home_agent.events import EventEmitter
from custom_components.home_agent.knowledge.documents import entity_text
from custom_components.home_agent.knowledge.house import House
from custom_components.home_agent.knowledge.search import async_create_embedder
from custom_components.home_agent.knowledge.semantic import KnowledgeDocument, SemanticIndex, TextSource
from custom_components.home_agent.knowledge.spoken_words import async_class_words
from custom_components.home_agent.vector.embedded import EmbeddedStore
from custom_components.home_agent.vector.embeddings import CachedEmbedder
from homeassistant.core import HomeAssistant
from tests.helpers.homes import build_home, expose
from tests.servers.embedding_server import MODEL, embedding_server

COLLECTION = "home_entities"

type Ask = Callable[..., Awaitable[list[str]]]


@pytest.fixture
async def served(socket_enabled: None) -> AsyncGenerator[str]:
    """The address of an embedding server."""
    async with embedding_server() as address:
        yield address


async def _asking(hass: HomeAssistant, folder: Path, options: dict[str, Any]) -> AsyncGenerator[Ask]:
    settings = {
        **const.DEFAULTS,
        const.CONF_BASE_URL: "http://127.0.0.1:9",
        const.CONF_MODEL: "none",
        **options,
    }

    async def open_store() -> EmbeddedStore:
        return EmbeddedStore(folder, hass.async_add_executor_job)

    async def open_embedder() -> CachedEmbedder:
        embedder = await async_create_embedder(hass, settings)
        assert embedder is not None
        return embedder

    semantic = SemanticIndex(
        hass,
        entry_id="test",
        title="Test",
        emitter=EventEmitter(hass, enabled=False),
        open_store=open_store,
        open_embedder=open_embedder,
    )
    house = House(hass)
    await house.async_start()
    await semantic.async_start()
    snapshot = await house.async_snapshot()
    words = await async_class_words(hass, snapshot, (hass.config.language,))
    documents = [
        KnowledgeDocument(
            id=record.entity_id,
            source=TextSource.ENTITY,
            title=record.name,
            text=entity_text(record, snapshot, words),
        )
        for record in snapshot.entities.values()
    ]
    report = await semantic.async_sync(COLLECTION, documents)
    assert report.indexed == len(documents)

    async def ask(text: str, language: str, *, by_meaning: bool = True) -> list[str]:
        hits = await semantic.async_search(COLLECTION, text, 5) if by_meaning else []
        found = await async_retrieve(
            hass, snapshot, text, 10, language=language, semantic=[(hit.id, hit.similarity) for hit in hits]
        )
        return [record.entity_id for record in found]

    yield ask
    await semantic.async_close()
    await house.async_stop()


@pytest.fixture
async def built_in(house: HomeAssistant, tmp_path: Path) -> AsyncGenerator[Ask]:
    """Ask a house with the built-in embedder."""
    build_home(house, 48, rooms=4)
    async for ask in _asking(house, tmp_path, {const.CONF_EMBEDDING_PROVIDER: "builtin"}):
        yield ask


@pytest.fixture
async def with_server(house: HomeAssistant, tmp_path: Path, served: str) -> AsyncGenerator[Ask]:
    """Ask a house with an embedding server."""
    build_home(house, 48, rooms=4)
    options = {
        const.CONF_EMBEDDING_PROVIDER: "openai",
        const.CONF_EMBEDDING_BASE_URL: served,
        const.CONF_EMBEDDING_MODEL: MODEL,
    }
    async for ask in _asking(house, tmp_path, options):
        yield ask


QUERIES = [
    ("ja", "台所の照明を消して", "light.kitchen_light"),
    ("zh-Hans", "打开卧室的电视", "media_player.bedroom_tv"),
    ("ko", "주방 조명 꺼 줘", "light.kitchen_light"),
    ("ar", "أطفئ ضوء المطبخ", "light.kitchen_light"),
    ("th", "ปิดไฟในห้องครัว", "light.kitchen_light"),
    ("en", "turn off the lights in the kitchen", "light.kitchen_light"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "query", "expected"), QUERIES)
async def test_the_built_in_embedder_finds_what_words_do_not(
    built_in: Ask, language: str, query: str, expected: str
) -> None:
    assert expected in await built_in(query, language)
    if language in ("ar", "th", "zh-Hans"):
        assert expected not in await built_in(query, language, by_meaning=False)


async def test_an_embedding_server_finds_what_words_do_not(house: HomeAssistant, with_server: Ask) -> None:
    for language, query, expected in QUERIES:
        assert expected in await with_server(query, language)
    expose(house, "light.kitchen_light", exposed=False)
    for language, query, _ in QUERIES:
        assert "light.kitchen_light" not in await with_server(query, language)
