"""The library: passages of the household's own texts, by collection.

It is the truth about the collections that it fills. They are searched by words here, and by meaning in the
vector store, which follows.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..store import UNREADABLE, Content, KeptStore
from ..vector.lexical import Document, LexicalIndex
from .documents import (
    MAX_PASSAGES,
    FolderContent,
    FolderRefused,
    KnowledgeDocument,
    Source,
    TextFile,
    find_folder,
    read_folder,
)
from .semantic import SemanticIndex, SyncReport

ID_CHARS: Final = 12
TITLE_WEIGHT: Final = 0.5
TEXT_WEIGHT: Final = 0.8

type Files = dict[str, TextFile]
"""Files of one collection by their path from the configuration directory."""


class FolderReport(NamedTuple):
    """What indexing a folder did."""

    files: int
    passages: SyncReport
    """Of the whole collection. Without an embedding model, the passages that are found by words."""
    refused: Mapping[str, str]
    """Files that were not taken, with the reason."""


class PassageIndex:
    """An index of passages; it never changes once built."""

    def __init__(self, documents: Iterable[KnowledgeDocument]) -> None:
        self.documents = {document.id: document for document in documents}
        self._index = LexicalIndex.build(
            Document(key, ((document.title, TITLE_WEIGHT), (document.text, TEXT_WEIGHT)))
            for key, document in self.documents.items()
        )

    def search(self, query: str, limit: int, threshold: float) -> list[tuple[KnowledgeDocument, float]]:
        """Return passages with the share of the query that they answer, the largest first."""
        found = self._index.shares(query, limit)
        return [(self.documents[key], share) for key, share in found if share >= threshold]


class Library:
    """The collections of one entry."""

    def __init__(self, hass: HomeAssistant, entry_id: str, semantic: SemanticIndex) -> None:
        self._hass = hass
        self._semantic = semantic
        self._collections: dict[str, Files] = {}
        self._indexes: dict[str, tuple[Files, asyncio.Future[PassageIndex]]] = {}
        """Per collection: the files that were indexed, and their index, which may still be in the making."""
        self._lock = asyncio.Lock()
        self._store = KeptStore(hass, _key(entry_id), self._content)

    async def async_load(self) -> None:
        """Read what is stored; what makes no sense is set aside."""
        stored = await self._store.async_read()
        try:
            self._collections = _read(stored)
        except UNREADABLE as err:
            await self._store.async_set_aside(err)
        for collection in self._collections:
            self._semantic.owners[collection] = partial(self._async_sync, collection)

    async def async_flush(self) -> None:
        """Write now what has not been written yet."""
        await self._store.async_flush()

    @callback
    def has(self, collection: str) -> bool:
        """Return whether the library fills this collection."""
        return bool(self._collections.get(collection))

    @callback
    def documents(self, collection: str) -> list[KnowledgeDocument]:
        """Return the passages of a collection."""
        return [
            KnowledgeDocument(id=passage_id(path, passage), source=Source.FILE, title=path, text=passage)
            for path, file in self._collections.get(collection, {}).items()
            for passage in file.passages
        ]

    async def async_index_folder(self, collection: str, folder: str) -> FolderReport:
        """Take over what a folder holds now: new and changed files, and that others are gone.

        The files of other folders stay. Raises FolderRefused, also for a collection of another program.
        """
        async with self._lock:
            if not self.has(collection) and await self._semantic.async_is_foreign(collection):
                raise FolderRefused("collection_foreign")
            before = {document.id for document in self.documents(collection)}
            content = await self._async_read(collection, folder)
            documents = self.documents(collection)
            new = sum(document.id not in before for document in documents)
            report = SyncReport(total=len(documents), indexed=new, skipped=len(documents) - new)
            if self._semantic.configured:
                report = await self._async_sync(collection)
            self._semantic.owners[collection] = partial(self._async_sync, collection)
            return FolderReport(files=len(content.files), passages=report, refused=content.failed)

    async def _async_read(self, collection: str, folder: str) -> FolderContent:
        """Read a folder into a collection. Raises FolderRefused."""
        kept = self._collections.get(collection, {})
        root = Path(self._hass.config.config_dir)
        name, place = await self._hass.async_add_executor_job(find_folder, root, folder)
        others = {path: file for path, file in kept.items() if not path.startswith(f"{name}/")}
        if place is None:
            if len(others) == len(kept):
                raise FolderRefused("folder_missing")
            content = FolderContent()
        else:
            room = MAX_PASSAGES - sum(len(file.passages) for file in others.values())
            read = partial(read_folder, name, place, kept, room)
            content = await self._hass.async_add_executor_job(read)
        self._take(collection, others | content.files)
        return content

    async def _async_sync(self, collection: str) -> SyncReport:
        return await self._semantic.async_sync(collection, self.documents(collection))

    @callback
    def _take(self, collection: str, files: Files) -> None:
        if files == self._collections.get(collection, {}):
            return
        self._collections[collection] = files
        if not files:
            del self._collections[collection]
        self._indexes.pop(collection, None)
        self._store.schedule()

    async def async_search(
        self, collection: str, query: str, limit: int, threshold: float
    ) -> Sequence[tuple[KnowledgeDocument, float]]:
        """Return the passages that answer at least this share of a query's words, the best first."""
        if not self.has(collection):
            return ()
        index = await self._async_index(collection)
        return await self._hass.async_add_executor_job(index.search, query, limit, threshold)

    async def async_prepare(self, collection: str) -> None:
        """Build what the first search would have to wait for."""
        if self.has(collection):
            await self._async_index(collection)

    async def _async_index(self, collection: str) -> PassageIndex:
        """Return the word index of a collection; a cancelled caller does not cancel building it."""
        files = self._collections[collection]
        known = self._indexes.get(collection)
        if known is None or known[0] is not files:
            build = self._hass.async_add_executor_job(PassageIndex, self.documents(collection))
            known = self._indexes[collection] = (files, build)
        return await asyncio.shield(known[1])

    def _content(self) -> Content:
        return {
            "collections": {
                collection: {
                    path: {"digest": file.digest, "passages": list(file.passages)}
                    for path, file in files.items()
                }
                for collection, files in dict(self._collections).items()
            }
        }


async def async_remove_library(hass: HomeAssistant, entry_id: str) -> None:
    """Delete the texts of an entry that is removed."""
    store = KeptStore(hass, _key(entry_id), dict)
    await store.async_remove()
    await store.async_forget_set_aside()


def _key(entry_id: str) -> str:
    return f"{DOMAIN}.library.{entry_id}"


def passage_id(path: str, passage: str) -> str:
    """Return the id of a passage, which depends on its text and not on its position in the file."""
    return f"{Source.FILE}:{path}#{sha256(passage.encode(errors='replace')).hexdigest()[:ID_CHARS]}"


def _read(stored: Mapping[str, Any]) -> dict[str, Files]:
    """Return stored collections. Raises AttributeError, KeyError or TypeError for what are none."""
    return {
        str(collection): {
            str(path): TextFile(digest=str(file["digest"]), passages=_texts(file["passages"]))
            for path, file in files.items()
        }
        for collection, files in stored.get("collections", {}).items()
    }


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    """Return stored passages. Raises TypeError if they are none."""
    texts = tuple(values)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not a passage")
    return tuple(str(text) for text in texts)
