"""Finds documents of the home's knowledge: by the entities that a query names, by words and by meaning."""

from collections.abc import Awaitable, Callable, Mapping, Sequence, Set as AbstractSet
from functools import partial
from math import sqrt
from pathlib import Path
import shutil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from homeassistant.core import HomeAssistant
from homeassistant.helpers import instance_id
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.storage import STORAGE_DIR
from homeassistant.requirements import RequirementsNotFound, async_process_requirements

from ..connection import embedding_address, embedding_endpoint, model_client
from ..const import (
    BACKEND_CHROMA,
    CONF_EMBEDDING_KEEP_ALIVE,
    CONF_EMBEDDING_PROVIDER,
    CONF_MEMORY_COLLECTION,
    CONF_VECTOR_BACKEND,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_PORT,
    CONF_VECTOR_SSL,
    CONF_VECTOR_TENANT,
    CONF_VECTOR_TOKEN,
    DOMAIN,
    EMBEDDING_BUILTIN,
    EMBEDDING_NONE,
    EMBEDDING_OLLAMA,
    EMBEDDING_OPENAI,
)
from ..errors import AuthenticationError
from ..inference.client import ModelClient
from ..inference.models import ErrorKind, ModelServerError
from ..safety.disclosure import AT_HOME, DataPolicy, Disclosure
from ..settings import async_part
from ..texts import words
from ..vector.embeddings import REQUIREMENTS, BuiltinModel, CachedEmbedder, EmbeddingError
from ..vector.lexical import fuse
from ..vector.store import StoreProblem, VectorStore, VectorStoreError
from .indexer import Documents, HouseKnowledge, knowledge_collection, profile_collection
from .semantic import KnowledgeDocument, SemanticIndex, TextSource
from .spoken_words import domain_words

if TYPE_CHECKING:
    from ..vector.chroma import ChromaAddress


MAX_FOUND: Final = 50
"""Ranked documents; the caller takes as many of them as fit."""
CANDIDATES: Final = 30
OF_ALL_SOURCES: Final = 4
"""Times the candidates are looked at in the store where one source is wanted."""
MIN_SIMILARITY: Final = 0.25
WORDS_CUT: Final = 0.5
"""Share of the best score that a document found by words needs."""
NAMED_WEIGHT: Final = 2.0
"""Of naming an entity or a title, against words and meaning: that comes before what only sounds alike."""
PLACED_WEIGHT: Final = 0.5
"""Of speaking of anything that is surely meant."""
CALLED: Final = frozenset({TextSource.AUTOMATION, TextSource.SCENE, TextSource.SCRIPT})
"""Sources whose titles are names that people call them by; the name of a room is said for what is in it."""


class KnowledgeQuery(NamedTuple):
    """What is looked for."""

    text: str
    source: TextSource | None = None
    mentioned: Sequence[str] = ()
    """The entities that the text names, the surest first."""
    named: AbstractSet[str] = frozenset()
    """The entities that the text surely means; where documents speak of them, others are left out."""
    person_id: str | None = None
    """The speaker; unknown people get only the household's documents."""
    model: Disclosure = AT_HOME
    """What the model that asks may receive."""


type FindPersonal = Callable[[str, str | None, Disclosure], Awaitable[list[KnowledgeDocument]]]
"""Finds what is known of a person for a text, as far as that person and the model may see it."""


class KnowledgeSearch:
    """Search for one entry: the home's documents, with its own index of meanings where it has one."""

    def __init__(
        self,
        hass: HomeAssistant,
        knowledge: HouseKnowledge,
        semantic: SemanticIndex | None = None,
        collection: str = "",
        find_personal: FindPersonal | None = None,
    ) -> None:
        self._find_personal = find_personal
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
        text, named = question.text, question.named
        hits = await self._hass.async_add_executor_job(index.search, text, CANDIDATES, allowed)
        by_words = [key for key, score in hits if score >= WORDS_CUT * hits[0][1]]
        # The documents whose whole title is in the text, the longest title first.
        said = words(text)
        titles = {key: words(documents[key].title) for key in allowed if documents[key].source in CALLED}
        titled = [key for key, title in titles.items() if title and set(said).issuperset(title)]
        titled = sorted(titled, key=lambda key: (-len(titles[key]), key))[:MAX_FOUND]
        personal: dict[str, KnowledgeDocument] = {}
        by_meaning = await self._async_by_meaning(question, allowed)
        if self._find_personal is not None and question.source in (None, TextSource.PROFILE):
            of_person = await self._find_personal(text, question.person_id, question.model)
            personal = {document.id: document for document in of_person}
        ranked = fuse(
            (
                (titled, NAMED_WEIGHT),
                (_naming(documents, allowed, question.mentioned), NAMED_WEIGHT),
                (by_words, 1.0),
                (by_meaning, 1.0),
                (_naming(documents, allowed, sorted(named)), PLACED_WEIGHT),
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
        asks_for = {domain_words().get(word) for word in said}
        if titled or not asks_for.isdisjoint(source.value for source in CALLED):
            # Rooms that are not named are left out, if there is anything else.
            found = [
                document
                for document in found
                if document.source is not TextSource.AREA or not named.isdisjoint(document.entity_ids)
            ] or found
        # What is about a thing that is named in full leaves the others out, but what is sure.
        about = {document.id for document in found if not named.isdisjoint(document.entity_ids)}
        kept = {*about, *personal, *titled}
        return [document for document in found if not about or document.id in kept][:MAX_FOUND]

    async def _async_by_meaning(self, question: KnowledgeQuery, allowed: set[str]) -> list[str]:
        if self._semantic is None or not self._semantic.available:
            return []
        most = CANDIDATES if question.source is None else CANDIDATES * OF_ALL_SOURCES
        hits = await self._semantic.async_search(self._collection, question.text, most, MIN_SIMILARITY)
        return [hit.id for hit in hits if hit.id in allowed][:CANDIDATES]


def _is_for(document: KnowledgeDocument, question: KnowledgeQuery) -> bool:
    """Return whether a document is of the source that is wanted, and the household's or the person's own."""
    if question.source is not None and document.source is not question.source:
        return False
    if document.source is TextSource.SUMMARY and not question.model.states:
        return False
    return document.person is None or document.person == question.person_id


def _naming(documents: Documents, allowed: set[str], mentioned: Sequence[str]) -> list[str]:
    """Return the documents that speak of entities, those that speak of little else first."""
    weights = {entity_id: 1 / (1 + rank) for rank, entity_id in enumerate(mentioned)}
    scores: dict[str, float] = {}
    for key in allowed:
        spoken_of = documents[key].entity_ids
        if score := sum(weights.get(entity_id, 0.0) for entity_id in spoken_of):
            scores[key] = score / sqrt(len(spoken_of))
    return sorted(scores, key=lambda key: (-scores[key], key))[:MAX_FOUND]


NUMPY: Final = "numpy"
"""Home Assistant pins its version."""
FIRST_BYTE_SECONDS: Final = 60
IDLE_SECONDS: Final = 30
"""A server may have to load the model first."""


class ServedModel:
    """A model on a server that speaks OpenAI's or Ollama's protocol."""

    def __init__(self, client: ModelClient, keep_alive: str | None) -> None:
        self._client = client
        self._keep_alive = keep_alive
        self.fingerprint = f"{client.endpoint.dialect}|{client.endpoint.model}"

    async def async_embed(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return one vector for each text. Raises EmbeddingError."""
        try:
            return await self._client.embed(list(texts), keep_alive=self._keep_alive)
        except ModelServerError as err:
            raise EmbeddingError(err.plain, refused=err.kind is ErrorKind.AUTH) from err

    async def async_close(self) -> None:
        """Hold nothing: the session is Home Assistant's."""


async def async_create_embedder(hass: HomeAssistant, settings: Mapping[str, Any]) -> CachedEmbedder | None:
    """Return the chosen embedder, None if none is chosen.

    Packages that it needs are installed; nothing is asked or loaded yet. Raises EmbeddingError if it cannot
    be made.
    """
    provider = settings.get(CONF_EMBEDDING_PROVIDER, EMBEDDING_NONE)
    if provider not in (EMBEDDING_BUILTIN, EMBEDDING_OPENAI, EMBEDDING_OLLAMA):
        return None
    is_builtin = provider == EMBEDDING_BUILTIN
    try:
        await _async_install(hass, NUMPY, *(REQUIREMENTS if is_builtin else ()))
        endpoint = None if is_builtin else embedding_endpoint(hass, settings)
    except (RequirementsNotFound, AuthenticationError) as err:
        raise EmbeddingError(_missing(err) if isinstance(err, RequirementsNotFound) else str(err)) from err
    if endpoint is None:
        return CachedEmbedder(BuiltinModel())
    if not endpoint.model:
        raise EmbeddingError("no embedding model is named")
    client = model_client(hass, endpoint, first_byte_timeout=FIRST_BYTE_SECONDS, idle_timeout=IDLE_SECONDS)
    return CachedEmbedder(ServedModel(client, settings.get(CONF_EMBEDDING_KEEP_ALIVE)))


async def _async_install(hass: HomeAssistant, *packages: str) -> None:
    await async_process_requirements(hass, DOMAIN, list(packages), is_built_in=False)


def _missing(err: RequirementsNotFound) -> str:
    return f"could not be installed: {', '.join(err.requirements)}"


def embedder_disclosure(settings: Mapping[str, Any], policy: DataPolicy) -> Disclosure:
    """Return which data the embedding server may receive."""
    if settings[CONF_EMBEDDING_PROVIDER] in (EMBEDDING_NONE, EMBEDDING_BUILTIN):
        return AT_HOME
    return policy.of_address(embedding_address(settings))


FOLDER: Final = f"{DOMAIN}.vectors"


def folder_of(hass: HomeAssistant, entry_id: str) -> Path:
    """Return where the vectors of an entry are, its own folder."""
    return Path(hass.config.path(STORAGE_DIR, FOLDER, entry_id))


async def async_open_store(hass: HomeAssistant, entry_id: str, settings: Mapping[str, Any]) -> VectorStore:
    """Return the chosen store, not started yet. Raises VectorStoreError if it cannot be made."""
    try:
        await _async_install(hass, NUMPY)
    except RequirementsNotFound as err:
        raise VectorStoreError(StoreProblem.UNAVAILABLE, _missing(err)) from err
    if settings[CONF_VECTOR_BACKEND] == BACKEND_CHROMA:
        chroma = await async_part(hass, "vector.chroma")
        house, memories = settings[CONF_VECTOR_COLLECTION], settings[CONF_MEMORY_COLLECTION]
        own = (house, knowledge_collection(house), memories, profile_collection(memories))
        remote: VectorStore = chroma.ChromaStore(
            async_get_clientsession(hass),
            chroma_address(settings),
            home=await instance_id.async_get(hass),
            own=own,
        )
        return remote
    embedded = await async_part(hass, "vector.embedded")
    local: VectorStore = embedded.EmbeddedStore(folder_of(hass, entry_id), hass.async_add_executor_job)
    return local


def chroma_address(settings: Mapping[str, Any]) -> ChromaAddress:
    """Return the Chroma server of these options."""
    from ..vector.chroma import ChromaAddress  # noqa: PLC0415 - loads where it is chosen

    return ChromaAddress(
        host=settings[CONF_VECTOR_HOST],
        port=int(settings[CONF_VECTOR_PORT]),
        ssl=bool(settings[CONF_VECTOR_SSL]),
        token=settings[CONF_VECTOR_TOKEN],
        tenant=settings[CONF_VECTOR_TENANT],
        database=settings[CONF_VECTOR_DATABASE],
    )


async def async_remove_files(hass: HomeAssistant, entry_id: str) -> None:
    """Delete the vectors of an entry from the disk."""
    remove: Callable[[], None] = partial(shutil.rmtree, folder_of(hass, entry_id), ignore_errors=True)
    await hass.async_add_executor_job(remove)
