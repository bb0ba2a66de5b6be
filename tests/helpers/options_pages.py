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
from tests.helpers.tables import tables

TABLES = tables(__file__)

FILLED: dict[str, dict[str, Any]] = TABLES["filled"]
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
