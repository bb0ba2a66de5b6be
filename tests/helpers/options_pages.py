"""The pages of the options."""

from typing import Any

import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.config.options import MENUS
from custom_components.home_agent.config.schemas import EXPERT, PAGES
from custom_components.home_agent.const import DOMAIN
from homeassistant.config_entries import ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType, section
from homeassistant.helpers import config_validation as cv
from tests.helpers.checks import every

FILLED: dict[str, dict[str, Any]] = {
    "answers": {
        "persona": "A butler.",
        "response_style": "detailed",
        "prompt_custom_additions": "Be kind.",
        "local_first_enabled": True,
        "quick_confirmations": False,
        "silent_in_room": True,
        "one_moment": False,
        "keep_listening": True,
        "thinking_enabled": True,
    },
    "permissions": {
        "policy_choices": [{"decision": "Only these", "kinds": ["light"], "whom": ["Anyone in Attic"]}],
        "policy_pin_always": False,
        "policy_confirmation_timeout": 30.0,
        "allow_scripts_and_scenes": True,
    },
    "memory": {
        "memory_enabled": True,
        "memory_extraction_enabled": False,
        "profile_enabled": False,
        "device_persons": [{"device": "0123456789abcdef", "person": "person.anna"}],
    },
    "messages": {
        "notify_targets": [{"person": "person.anna", "targets": ["notify.mobile_app_anna"]}],
        "proactive_enabled": True,
        "proactive_suggestions": False,
        "proactive_quiet_start": "21:30:00",
        "proactive_quiet_end": "06:00:00",
        "proactive_max_per_day": 9.0,
    },
    "web": {
        "external_llm_enabled": False,
        "external_llm_base_url": "http://192.168.1.7:11434",
        "external_llm_model": "big",
        "cloud_send_profile": True,
        "cloud_send_ha_state": False,
        "sanitizer_keywords": ["project x", "bunker*"],
    },
    "llm": {
        "llm_temperature": 0.15,
        "llm_top_p": 0.9,
        "llm_max_tokens": 1000.0,
        "llm_keep_alive": "1h30m",
        "llm_num_ctx": 16384.0,
        "reasoning_effort": "low",
        "streaming_enabled": False,
        "local_fallback_enabled": False,
        "external_llm_temperature": 0.4,
        "external_llm_max_tokens": 2000.0,
        "external_llm_keep_alive": "10m",
        "external_llm_tool_description": "Ask it about physics.",
    },
    "prompt": {
        "prompt_use_default": False,
        "prompt_custom": "You live in {{ ha_name }}.",
        "prompt_include_labels": True,
    },
    "context": {
        "context_mode": "vector_db",
        "direct_entities": ["light.kitchen", "lock.front_door"],
        "direct_patterns": ["climate.*"],
        "direct_attributes": ["brightness", "media_*"],
        "context_format": "hybrid",
        "max_context_tokens": 4000.0,
        "budget_rules": 500.0,
        "budget_tools": 1000.0,
        "budget_home": 1500.0,
        "budget_history": 1200.0,
        "budget_retrieved": 300.0,
        "budget_documents": 0.0,
        "budget_memories": 150.0,
        "budget_profile": 0.0,
    },
    "vector_store": {
        "vector_db_embedding_provider": "none",
        "vector_db_embedding_base_url": "http://192.168.1.5:11434",
        "vector_db_embedding_model": "nomic-embed-text",
        "embedding_keep_alive": "24h",
        "vector_db_backend": "embedded",
        "vector_db_host": "192.168.1.6",
        "vector_db_port": 8001.0,
        "vector_db_ssl": True,
        "vector_db_tenant": "home",
        "vector_db_database": "agents",
        "vector_db_collection": "my_house",
        "vector_db_top_k": 8.0,
        "vector_db_similarity_threshold": 0.25,
        "additional_top_k": 3.0,
        "additional_similarity_threshold": 0.5,
    },
    "history": {
        "history_enabled": False,
        "history_max_messages": 20.0,
        "history_max_tokens": 500.0,
        "history_persist": False,
        "history_retention_days": 30.0,
        "history_summarize": True,
        "session_persistence_enabled": False,
        "session_timeout": 60.0,
    },
    "memory_details": {
        "memory_extraction_llm": "external",
        "memory_min_importance": 0.5,
        "memory_context_top_k": 3.0,
        "memory_max_memories": 500.0,
        "memory_dedup_threshold": 0.9,
        "memory_importance_decay": 0.05,
        "memory_collection_name": "our_memories",
        "memory_event_ttl": {"days": 30, "hours": 0, "minutes": 0, "seconds": 0},
        "memory_context_ttl": {"days": 3, "hours": 0, "minutes": 0, "seconds": 0},
        "memory_fact_ttl": {"days": 364, "hours": 0, "minutes": 0, "seconds": 0},
        "memory_preference_ttl": {"days": 365, "hours": 0, "minutes": 0, "seconds": 0},
        "memory_cleanup_interval": {"days": 0, "hours": 6, "minutes": 0, "seconds": 0},
    },
    "tools": {
        "tools_enable_native": False,
        "tools_disabled": ["ha_query", "my_tool"],
        "tools_max_calls_per_turn": 7.0,
        "tools_timeout": 60.0,
    },
    "safety": {
        "policy_blocked": ["siren"],
        "policy_restricted": ["switch.oven", "light.turn_off"],
        "policy_allowed": ["cover:garage"],
        "mcp_allow_writes": True,
        "automation_turns_per_minute": 60.0,
    },
    "debug": {"debug_logging": True, "emit_events": False},
}
STORED = {
    "policy_choices": [{"decision": "only", "kinds": ["light"], "whom": ["area:attic"]}],
    "memory_event_ttl": "30d",
    "memory_context_ttl": "3d",
    "memory_fact_ttl": "364d",
    "memory_preference_ttl": "365d",
    "memory_cleanup_interval": "6h",
}
"""What of FILLED is stored in another form."""


@pytest.fixture
def entry(hass: HomeAssistant) -> MockConfigEntry:
    """Return an entry that is not set up: its pages need no running agent."""
    found = MockConfigEntry(
        domain=DOMAIN, data={"llm_base_url": "http://127.0.0.1:1/v1", "llm_model": "test-model"}
    )
    found.add_to_hass(hass)
    return found


async def page(hass: HomeAssistant, entry: MockConfigEntry, name: str) -> ConfigFlowResult:
    """Open a page by the menus."""
    options = hass.config_entries.options
    menu = await options.async_init(entry.entry_id)
    assert menu["type"] is FlowResultType.MENU
    assert menu["menu_options"] == [*MENUS["init"]]
    if name in EXPERT:
        menu = await options.async_configure(menu["flow_id"], {"next_step_id": "expert"})
        assert menu["menu_options"] == [*EXPERT, "init"]
    return await options.async_configure(menu["flow_id"], {"next_step_id": name})


async def save(
    hass: HomeAssistant, entry: MockConfigEntry, name: str, typed: dict[str, Any]
) -> ConfigFlowResult:
    """Open a page and submit it; `typed` does not know of sections."""
    return await submit(hass, await page(hass, entry, name), name, typed)


async def submit(
    hass: HomeAssistant, result: ConfigFlowResult, name: str, typed: dict[str, Any]
) -> ConfigFlowResult:
    """Submit a page that is open."""
    data = in_sections(name, typed)
    return await hass.config_entries.options.async_configure(result["flow_id"], data)


def in_sections(name: str, typed: dict[str, Any]) -> dict[str, Any]:
    """Return values of a page as its form nests them."""
    sections = {field.key: field.section for field in PAGES[name]}
    data: dict[str, Any] = {}
    for key, value in typed.items():
        inside = data.setdefault(sections[key], {}) if sections.get(key) else data
        inside[key] = value
    return data


def is_saved(result: ConfigFlowResult) -> bool:
    """Return whether a page was saved: the menu is there again and says so."""
    is_menu = result["type"] is FlowResultType.MENU and result["step_id"] in ("init", "expert")
    return is_menu and "done" in result["menu_options"]


def fields(schema: probatio.Schema) -> dict[Any, Any]:
    """Return the fields of a form with their selectors, those in sections too."""
    found: dict[Any, Any] = {}
    for key, item in schema.schema.items():
        found |= fields(item.schema) if isinstance(item, section) else {key: item}
    return found


def selector_of(result: ConfigFlowResult, name: str) -> Any:
    """Return the selector of a field."""
    schema = result["data_schema"]
    assert schema
    return next(item for key, item in fields(schema).items() if key == name)


def shown(result: ConfigFlowResult) -> dict[str, Any]:
    """Return what the fields of a page are filled with."""
    schema = result["data_schema"]
    assert schema
    assert probatio.to_field_list(schema, custom_serializer=cv.custom_serializer)
    found = fields(schema)
    assert all(key.default is probatio.UNDEFINED for key in every(found))
    return {str(key): (key.description or {}).get("suggested_value") for key in found}
