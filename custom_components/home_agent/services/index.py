"""Services of the indexes: read the registries again, fill the indexes."""

from collections.abc import Mapping
from typing import Final, TypedDict

import probatio

from homeassistant.core import ServiceCall
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv

from ..const import CONF_COLLECTIONS, DOMAIN
from ..knowledge.indexer import index_failed
from ..knowledge.library import FolderRefused
from ..runtime import Agent
from .base import Service


class ContextResponse(TypedDict):
    """How much of the home an agent knows."""

    entities: int
    areas: int


class ReindexResponse(TypedDict):
    """Entities, and what became of them; `skipped` did not change."""

    total: int
    indexed: int
    failed: int
    skipped: int


class EntityResponse(TypedDict):
    """What became of one entity."""

    entity_id: str
    status: str


class DocumentsResponse(TypedDict):
    """What became of the texts of a folder; `refused` gives the reason for each file that was not read."""

    files: int
    chunks: int
    indexed: int
    skipped: int
    failed: int
    refused: dict[str, str]


async def _async_reload_context(call: ServiceCall, entry: Agent) -> ContextResponse:
    data = entry.runtime_data
    data.shared.house.async_invalidate()
    snapshot = await data.shared.house.async_snapshot()
    entry.async_create_background_task(call.hass, data.async_sync(), "home_agent index")
    entry.async_create_background_task(call.hass, data.warmer.async_warm(), "home_agent warm start")
    return {"entities": len(snapshot.entities), "areas": len(snapshot.areas)}


async def _async_reindex_entities(call: ServiceCall, entry: Agent) -> ReindexResponse:
    """Update the index, and report what was done."""
    _require_index(entry)
    report = await entry.runtime_data.async_sync()
    if not call.return_response:
        report.raise_for_failed()
    entities = report.entities
    return {
        "total": entities.total,
        "indexed": entities.indexed,
        "failed": entities.failed,
        "skipped": entities.skipped,
    }


async def _async_index_entity(call: ServiceCall, entry: Agent) -> EntityResponse:
    _require_index(entry)
    entity_id = call.data["entity_id"]
    status = await entry.runtime_data.indexer.async_index_entity(entity_id)
    if status == "failed" and not call.return_response:
        raise index_failed(1, 1)
    return {"entity_id": entity_id, "status": status}


def _require_index(entry: Agent) -> None:
    """Raise ServiceValidationError if there is no index."""
    if not entry.runtime_data.semantic.configured:
        raise ServiceValidationError(translation_domain=DOMAIN, translation_key="index_off")


async def _async_index_documents(call: ServiceCall, entry: Agent) -> DocumentsResponse:
    data, collection = entry.runtime_data, call.data["collection"]
    collections = data.settings[CONF_COLLECTIONS]
    if collection not in collections:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="collection_unknown",
            translation_placeholders={"collection": collection, "collections": ", ".join(collections) or "-"},
        )
    try:
        report = await data.library.async_index_folder(collection, call.data["folder"])
    except FolderRefused as err:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key=err.key,
            translation_placeholders={"collection": collection},
        ) from err
    await data.context.async_prepare()
    return {
        "files": report.files,
        "chunks": report.passages.total,
        "indexed": report.passages.indexed,
        "skipped": report.passages.skipped,
        "failed": report.passages.failed + len(report.refused),
        "refused": {**report.refused},
    }


SERVICES: Final[Mapping[str, Service]] = {
    "reload_context": Service(_async_reload_context, {}, admin=True),
    "reindex_entities": Service(_async_reindex_entities, {}, admin=True),
    "index_entity": Service(_async_index_entity, {probatio.Required("entity_id"): cv.entity_id}, admin=True),
    "index_documents": Service(
        _async_index_documents,
        {probatio.Required("collection"): cv.string, probatio.Required("folder"): cv.string},
        admin=True,
    ),
}
