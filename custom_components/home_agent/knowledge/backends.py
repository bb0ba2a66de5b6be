"""The vector store and the embedder that the options choose."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
import shutil
from typing import TYPE_CHECKING, Any, Final

from homeassistant.core import HomeAssistant, callback
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
    LOGGER,
)
from ..errors import AuthenticationError
from ..inference.client import ModelClient
from ..inference.errors import ErrorKind, ModelServerError
from ..issues import report, withdraw
from ..parts import async_part
from ..safety.disclosure import AT_HOME, DataPolicy, Disclosure
from ..vector.embeddings import REQUIREMENTS, BuiltinModel, CachedEmbedder, EmbeddingError, Model
from ..vector.store import StoreProblem, VectorStore, VectorStoreError
from .indexer import knowledge_collection, profile_collection

if TYPE_CHECKING:
    from ..vector.chroma import ChromaAddress
    from ..vector.embedded import FileReport

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


def _served(hass: HomeAssistant, settings: Mapping[str, Any]) -> Model:
    """Return a model on a server. Raises EmbeddingError if the options do not say which."""
    try:
        endpoint = embedding_endpoint(hass, settings)
    except AuthenticationError as err:
        raise EmbeddingError(str(err)) from err
    if not endpoint.model:
        raise EmbeddingError("no embedding model is named")
    client = model_client(hass, endpoint, first_byte_timeout=FIRST_BYTE_SECONDS, idle_timeout=IDLE_SECONDS)
    return ServedModel(client, settings.get(CONF_EMBEDDING_KEEP_ALIVE))


_MODELS: Final[Mapping[str, tuple[Sequence[str], Callable[[HomeAssistant, Mapping[str, Any]], Model]]]] = {
    EMBEDDING_BUILTIN: ((NUMPY, *REQUIREMENTS), lambda _hass, _settings: BuiltinModel()),
    EMBEDDING_OPENAI: ((NUMPY,), _served),
    EMBEDDING_OLLAMA: ((NUMPY,), _served),
}
"""Per provider: the packages it needs, and the model."""


async def async_create_embedder(hass: HomeAssistant, settings: Mapping[str, Any]) -> CachedEmbedder | None:
    """Return the chosen embedder, None if none is chosen.

    Packages that it needs are installed; nothing is asked or loaded yet. Raises EmbeddingError if it cannot
    be made.
    """
    provider = settings.get(CONF_EMBEDDING_PROVIDER, EMBEDDING_NONE)
    if provider not in _MODELS:
        return None
    packages, make = _MODELS[provider]
    try:
        await async_process_requirements(hass, DOMAIN, list(packages), is_built_in=False)
    except RequirementsNotFound as err:
        raise EmbeddingError(f"could not be installed: {', '.join(err.requirements)}") from err
    return CachedEmbedder(make(hass, settings))


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
        await async_process_requirements(hass, DOMAIN, [NUMPY], is_built_in=False)
    except RequirementsNotFound as err:
        missing = ", ".join(err.requirements)
        raise VectorStoreError(StoreProblem.UNAVAILABLE, f"could not be installed: {missing}") from err
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
    report = partial(_report, hass, entry_id)
    local: VectorStore = embedded.EmbeddedStore(
        folder_of(hass, entry_id), hass.async_add_executor_job, report
    )
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


@callback
def _report(hass: HomeAssistant, entry_id: str, file: FileReport) -> None:
    """Raise the repair issue about a file, or take it back."""
    from ..vector.embedded import FileState  # noqa: PLC0415 - loaded where files are written

    kind = "unreadable" if file.state is FileState.UNREADABLE else "unwritable"
    issue_id = f"vectors_{kind}_{entry_id}_{file.path.name}"
    if file.state is FileState.WRITTEN:
        withdraw(hass, issue_id)
        return
    LOGGER.error("The vectors in %s are %s: %s", file.path, kind, file.detail)
    fix = {"path": str(file.path)} if file.state is FileState.UNREADABLE else None
    report(hass, issue_id, f"vectors_{kind}", fix=fix, path=str(file.path), error=file.detail)
