"""Agents with an index on disk, whose embeddings come from a server of their own."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent
from tests.helpers.household import async_lock_door
from tests.servers.model_server import ModelServer

HOUR = 3600


def embedding_options(server: ModelServer, **more: Any) -> dict[str, Any]:
    return {
        "vector_db_embedding_provider": "openai",
        "vector_db_embedding_base_url": server.url,
        "vector_db_embedding_model": "words",
        **more,
    }


async def async_indexed(
    hass: HomeAssistant, server: ModelServer, options: Mapping[str, Any], folder: Path
) -> Agent:
    """Set up a furnished house and an agent with an index; files go to the folder."""
    hass.config.config_dir = str(folder)
    return await async_agent(hass, server, options)


@asynccontextmanager
async def equipped(
    hass: HomeAssistant, server: ModelServer, embedder: ModelServer, folder: Path
) -> AsyncIterator[Agent]:
    """Return an agent with an index and a folder of texts; it is unloaded at the end."""
    options = embedding_options(embedder, context_mode="vector_db", additional_collections=["manuals"])
    texts = folder / "texts" / "manuals"
    await hass.async_add_executor_job(partial(texts.mkdir, parents=True))
    await hass.async_add_executor_job((texts / "boiler.md").write_text, "E24 means no water.")
    agent = await async_indexed(hass, server, options, folder)
    await async_lock_door(hass)
    try:
        yield agent
    finally:
        await hass.config_entries.async_unload(agent.entry.entry_id)


def embedded(server: ModelServer) -> list[str]:
    """Return the texts that were embedded, without attempts whether it works."""
    texts = [
        text
        for request in server.requests
        if request.path.endswith("/embeddings")
        for text in request.json["input"]
    ]
    return [text for text in texts if not text.removeprefix("light ").replace(".", "").isdigit()]


async def settled(hass: HomeAssistant) -> None:
    await hass.async_block_till_done(wait_background_tasks=True)


async def later(hass: HomeAssistant, seconds: float = HOUR) -> None:
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=seconds))
    await settled(hass)


def issues(hass: HomeAssistant) -> set[str]:
    """Return the translation keys of the repair issues that are there."""
    found = ir.async_get(hass).issues.items()
    return {str(issue.translation_key) for (domain, _), issue in found if domain == DOMAIN}
