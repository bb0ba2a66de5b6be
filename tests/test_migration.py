"""Entries of an earlier version, and of another integration with the same domain."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.const import DEFAULTS, DOMAIN, MINOR_VERSION, VERSION
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from tests.helpers.household import async_furnish
from tests.helpers.options_pages import FILLED, STORED
from tests.helpers.repair_dialogs import Dialogs, dialog, issues, only
from tests.servers.model_server import ModelServer

__all__ = ["dialog"]


@pytest.fixture(autouse=True)
async def _house(hass: HomeAssistant) -> None:
    """Furnish the house once."""
    await async_furnish(hass)


async def load(
    hass: HomeAssistant, server: ModelServer, options: dict[str, Any], **more: Any
) -> MockConfigEntry:
    """Set up an entry as it was stored."""
    data = {"llm_base_url": server.url, "llm_model": "test-model"}
    entry = MockConfigEntry(domain=DOMAIN, title="Jarvis", options=options, **{"data": data, **more})
    entry.add_to_hass(hass)
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    return entry


async def test_an_entry_of_the_first_release(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Everything that the pages store stays as it was."""
    options = {
        key: int(value) if isinstance(value, float) and value == int(value) else value
        for page in FILLED.values()
        for key, value in page.items()
    }
    options |= {"direct_entities": ["light.kitchen", *options.pop("direct_patterns")], "policy_pin": "hash"}
    options |= STORED | {
        "of_a_later_version": 1,
        "proactive_enabled": False,
        "vector_db_embedding_provider": "none",
    }
    entry = await load(hass, model_server, options, minor_version=1)
    assert entry.state is ConfigEntryState.LOADED
    assert (entry.version, entry.minor_version) == (VERSION, MINOR_VERSION)
    assert dict(entry.options) == options
    assert issues(hass, "options_converted") == []


async def test_an_entry_of_another_integration(
    hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs
) -> None:
    """An option with another meaning gets its default, and a repair issue lists it."""
    kept = {"llm_temperature": 0.4, "llm_keep_alive": "10m", "streaming_enabled": False}
    kept |= {"policy_blocked": ["lock.*", "bad rule!!"]}
    foreign = {
        "vector_db_similarity_threshold": 250.0,
        "session_timeout": 3600,
        "context_mode": "semantic",
        "llm_max_tokens": "many",
        "thinking_enabled": "sometimes",
        "memory_cleanup_interval": 300.5,
    }
    entities = [{"entity_id": "light.kitchen", "attributes": ["brightness"]}, "climate.*", 7]
    entry = await load(
        hass, model_server, {**kept, **foreign, "direct_entities": entities}, version=1, minor_version=1
    )
    assert entry.state is ConfigEntryState.LOADED
    assert dict(entry.options) == {**kept, "direct_entities": ["light.kitchen", "climate.*"]}
    assert entry.runtime_data.settings["session_timeout"] == DEFAULTS["session_timeout"]
    shown = await (await dialog()).open(only(hass, "options_converted"))
    assert all(f"`{key}`" in shown["description_placeholders"]["options"] for key in foreign)
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    done = await (await dialog()).mend(only(hass, "options_converted"))
    assert done["type"] == "create_entry"
    assert issues(hass, "options_converted") == []


async def test_an_entry_that_cannot_be_used(hass: HomeAssistant, model_server: ModelServer) -> None:
    """It is not loaded with settings that have another meaning; the issue is removed with it."""
    entry = await load(hass, model_server, {}, data={"host": "192.168.1.5"})
    assert entry.state is ConfigEntryState.MIGRATION_ERROR
    assert only(hass, "entry_refused")
    assert not model_server.requests
    await hass.config_entries.async_remove(entry.entry_id)
    assert issues(hass, "entry_refused") == []
    newer = await load(hass, model_server, {}, version=2)
    assert newer.state is ConfigEntryState.MIGRATION_ERROR
