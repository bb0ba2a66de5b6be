"""The vector store that the options choose."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
import shutil
from typing import TYPE_CHECKING, Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.storage import STORAGE_DIR
from homeassistant.requirements import RequirementsNotFound, async_process_requirements

from ..const import (
    BACKEND_CHROMA,
    CONF_VECTOR_BACKEND,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_PORT,
    CONF_VECTOR_SSL,
    CONF_VECTOR_TENANT,
    CONF_VECTOR_TOKEN,
    DOMAIN,
    LOGGER,
)
from ..issues import report, withdraw
from ..parts import async_part
from ..vector.store import StoreProblem, VectorStore, VectorStoreError
from .embedder import NUMPY

if TYPE_CHECKING:
    from ..vector.chroma_api import ChromaAddress
    from ..vector.embedded import FileReport

FOLDER = f"{DOMAIN}.vectors"


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
        remote: VectorStore = chroma.ChromaStore(async_get_clientsession(hass), chroma_address(settings))
        return remote
    embedded = await async_part(hass, "vector.embedded")
    report = partial(_report, hass, entry_id)
    local: VectorStore = embedded.EmbeddedStore(
        folder_of(hass, entry_id), hass.async_add_executor_job, report
    )
    return local


def chroma_address(settings: Mapping[str, Any]) -> ChromaAddress:
    """Return the Chroma server of these options."""
    from ..vector.chroma_api import ChromaAddress  # noqa: PLC0415 - loads where it is chosen

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
