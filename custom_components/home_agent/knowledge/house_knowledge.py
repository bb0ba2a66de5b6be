"""Knowledge about the home: automations, scenes, scripts, areas and the last 24 hours, as documents."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers.translation import async_get_translations

from ..const import LOGGER
from ..vector.lexical import Document, LexicalIndex
from .documents import KnowledgeDocument, KnowledgeSource, Source
from .house import House, HouseSnapshot
from .sources.areas import AreaSource
from .sources.configured import AutomationSource, SceneSource, ScriptSource
from .sources.summaries import SummarySource

TITLE_WEIGHT: Final = 1.6
TEXT_WEIGHT: Final = 0.7
KIND_WEIGHT: Final = 0.4
DOMAINS: Final[Mapping[Source, str]] = {
    Source.AUTOMATION: "automation",
    Source.SCENE: "scene",
    Source.SCRIPT: "script",
}
"""Sources that Home Assistant has a name for, in the home's language."""

type Documents = Mapping[str, KnowledgeDocument]


class HouseKnowledge:
    """The documents of all sources with the index of their words; recreated when asked after a change."""

    def __init__(self, hass: HomeAssistant, house: House) -> None:
        self._hass = hass
        self._house = house
        self._summaries = SummarySource(hass, house)
        self.sources: tuple[KnowledgeSource, ...] = (
            AutomationSource(hass, house),
            SceneSource(hass, house),
            ScriptSource(hass, house),
            AreaSource(house),
            self._summaries,
        )
        self._documents: Documents = {}
        self._snapshot: HouseSnapshot | None = None
        self._dirty = True
        self._index: tuple[Documents, str, LexicalIndex] | None = None
        self._lock = asyncio.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._unsubscribe: list[CALLBACK_TYPE] = []
        self._users = 0

    @callback
    def async_use(self) -> CALLBACK_TYPE:
        """Start for one more agent; return its stop function. The last agent stops the sources."""
        self._users += 1
        self.async_start()

        @callback
        def leave() -> None:
            self._users -= 1
            if not self._users:
                self.async_stop()

        return leave

    @callback
    def async_start(self) -> None:
        """Follow the sources, and read the last 24 hours every six."""
        if not self._unsubscribe:
            self._dirty = True
            self._unsubscribe = [source.async_listen(self._on_change) for source in self.sources]
            self._unsubscribe.append(self._summaries.async_start())

    @callback
    def async_stop(self) -> None:
        """Stop following."""
        while self._unsubscribe:
            self._unsubscribe.pop()()

    @callback
    def async_listen(self, listener: Callable[[], None]) -> CALLBACK_TYPE:
        """Call a listener whenever documents may differ; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def async_refresh(self) -> None:
        """Read everything again, the last 24 hours too."""
        await self._summaries.async_refresh()
        self._on_change()

    async def async_documents(self) -> Documents:
        """Return all documents by id, as of now."""
        async with self._lock:
            snapshot = await self._house.async_snapshot()
            if self._dirty or snapshot is not self._snapshot:
                self._dirty = False
                self._snapshot = snapshot
                self._documents = await self._async_read()
            return self._documents

    async def async_index(self) -> tuple[Documents, LexicalIndex]:
        """Return the documents and the index of their words."""
        documents = await self.async_documents()
        language = self._hass.config.language
        if self._index is None or self._index[0] is not documents or self._index[1] != language:
            kinds = await self._async_kinds(language)
            index = await self._hass.async_add_executor_job(_build, documents, kinds)
            self._index = (documents, language, index)
        return documents, self._index[2]

    async def _async_read(self) -> Documents:
        """Return the documents of all sources; one that fails costs its own."""
        found: dict[str, KnowledgeDocument] = {}
        for source in self.sources:
            try:
                documents = await source.async_documents()
            except Exception:  # noqa: BLE001 - configurations of others are read here
                LOGGER.exception("What is known of each %s could not be read", source.source)
                continue
            found.update((document.id, document) for document in documents)
        return found

    async def _async_kinds(self, language: str) -> dict[Source, str]:
        texts = [
            await async_get_translations(self._hass, each, "title", DOMAINS.values())
            for each in dict.fromkeys((language, "en"))
        ]
        return {
            source: " ".join((domain, *(found.get(f"component.{domain}.title", "") for found in texts)))
            for source, domain in DOMAINS.items()
        }

    @callback
    def _on_change(self) -> None:
        """Note that documents may differ, and tell."""
        self._dirty = True
        for listener in self._listeners:
            listener()


def _build(documents: Documents, kinds: Mapping[Source, str]) -> LexicalIndex:
    return LexicalIndex.build(
        Document(
            key,
            (
                (document.title, TITLE_WEIGHT),
                (document.text.removeprefix(f"{document.title}."), TEXT_WEIGHT),
                (kinds.get(document.source, document.source.value), KIND_WEIGHT),
            ),
        )
        for key, document in documents.items()
    )
