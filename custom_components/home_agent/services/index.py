"""Services of the indexes: read the registries again, fill the indexes."""

from collections.abc import Mapping
from typing import Final

import probatio

from homeassistant.core import ServiceCall
from homeassistant.helpers import config_validation as cv

from ..const import CONF_COLLECTIONS
from ..knowledge.indexer import index_failed
from ..knowledge.library import FolderRefused
from ..runtime import Agent
from .base import Response, Service, invalid, row_of


async def _async_reload_context(call: ServiceCall, entry: Agent) -> Response:
    data = entry.runtime_data
    data.shared.house.async_invalidate()
    snapshot = await data.shared.house.async_snapshot()
    entry.async_create_background_task(call.hass, data.async_sync(), "home_agent index")
    entry.async_create_background_task(call.hass, data.warmer.async_warm(), "home_agent warm start")
    return {"entities": len(snapshot.entities), "areas": len(snapshot.areas)}


async def _async_reindex_entities(call: ServiceCall, entry: Agent) -> Response:
    _require_index(entry)
    report = await entry.runtime_data.async_sync()
    if not call.return_response:
        report.raise_for_failed()
    return row_of(report.entities, "total", "indexed", "failed", "skipped")


async def _async_index_entity(call: ServiceCall, entry: Agent) -> Response:
    _require_index(entry)
    entity_id = call.data["entity_id"]
    status = await entry.runtime_data.indexer.async_index_entity(entity_id)
    if status == "failed" and not call.return_response:
        raise index_failed(1, 1)
    return {"entity_id": entity_id, "status": status}


def _require_index(entry: Agent) -> None:
    if not entry.runtime_data.semantic.configured:
        raise invalid("index_off")


async def _async_index_documents(call: ServiceCall, entry: Agent) -> Response:
    data, collection = entry.runtime_data, call.data["collection"]
    collections = data.settings[CONF_COLLECTIONS]
    if collection not in collections:
        raise invalid("collection_unknown", collection=collection, collections=", ".join(collections) or "-")
    try:
        report = await data.library.async_index_folder(collection, call.data["folder"])
    except FolderRefused as err:
        raise invalid(err.key, collection=collection) from err
    await data.context.async_prepare()
    return {
        "files": report.files,
        "chunks": report.passages.total,
        **row_of(report.passages, "indexed", "skipped"),
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
