"""Diagnostics say how an agent is set up, and nothing that is private."""

import json
from typing import Any

from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

PRIVATE = {
    "llm_api_key": "sk-private-key",
    "llm_base_url": "https://private-host.example.com:8443/private-path/v1",
    "llm_proxy_headers": "X-Auth: private-header",
    "name": "private name",
}
PRIVATE_OPTIONS = {
    "fallback_llm_base_url": "http://192.168.77.5:11434",
    "fallback_llm_api_key": "private-fallback",
    "prompt_custom": "private prompt",
    "prompt_custom_additions": "private addition",
    "persona": "private persona",
    "direct_entities": ["light.private_room"],
    "web_search_url": "http://private-search:8080",
    "web_search_api_key": "tvly-private",
    "sanitizer_keywords": ["private word"],
    "external_llm_base_url": "http://private-model:8000/v1",
    "external_llm_api_key": "sk-private",
    "influxdb_url": "http://private-influx:8086",
    "influxdb_username": "private",
    "influxdb_password": "private",
    "influxdb_token": "private",
    "notify_targets": [{"person": "person.private", "targets": ["notify.private"]}],
    "device_persons": [{"device": "1", "person": "person.private"}],
    "telegram_chat_persons": [{"chat_id": "1", "person": "person.private"}],
    "rest_allowed_hosts": ["private.example"],
}


def entry_with(hass: HomeAssistant, data: dict[str, Any], options: dict[str, Any]) -> MockConfigEntry:
    entry = MockConfigEntry(domain=DOMAIN, title="private name", data=data, options=options)
    entry.add_to_hass(hass)
    return entry


async def test_nothing_private(hass: HomeAssistant) -> None:
    entry = entry_with(
        hass,
        {**PRIVATE, "llm_model": "llama", "probed_context_size": 8192},
        {**PRIVATE_OPTIONS, "history_max_messages": 12},
    )
    er.async_get(hass).async_get_or_create("conversation", DOMAIN, entry.entry_id, config_entry=entry)
    found = await async_get_config_entry_diagnostics(hass, entry)
    written = json.dumps(found)
    assert "private" not in written
    assert "192.168" not in written
    assert found["data"]["llm_model"] == "llama"
    assert found["data"]["probed_context_size"] == 8192
    assert found["options"]["history_max_messages"] == 12
    assert found["server"] == {"scheme": "https", "port": 8443, "ends_with_v1": True, "cloud": True}
    assert found["fallback"] == {"scheme": "http", "port": 11434, "ends_with_v1": False, "cloud": False}
    assert found["entities"] == [{"domain": "conversation", "disabled": False}]


async def test_kind_of_key(hass: HomeAssistant) -> None:
    data = {"llm_base_url": "http://localhost:1/v1", "llm_model": "llama"}
    for key, kind in ((None, "none"), ("", "none"), ("abc", "plain"), ("{{ states('a.b') }}", "template")):
        entry = entry_with(hass, data if key is None else {**data, "llm_api_key": key}, {})
        found = await async_get_config_entry_diagnostics(hass, entry)
        assert (found["key"], found["fallback"]) == (kind, None)
