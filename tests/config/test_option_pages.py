"""The options as people see them: menus, sections, hidden fields, and what a saved page changes."""

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.config.options import MENUS
from custom_components.home_agent.config.schemas import PAGES
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from tests.helpers.agent import Agent, async_agent
from tests.helpers.options_pages import entry, fields, is_saved, page, save, shown, submit  # noqa: F401 - fixtures
from tests.servers.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("house")

MOST_FIELDS = 8
"""Visible at once on a page."""


async def test_a_saved_page_takes_effect_at_once(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The menu comes back and says so; nobody has to end the flow, and the dialog can be closed."""
    agent = await async_agent(hass, model_server)
    opened = await page(hass, agent.entry, "answers")
    assert opened["description_placeholders"]["agent"] == agent.entry.title
    menu = await submit(hass, opened, "answers", {"persona": "You talk like a pirate."})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert menu["step_id"] == "init"
    assert menu["menu_options"] == [*MENUS["init"], "done"]
    assert menu["description_placeholders"] == {"agent": agent.entry.title, "saved": "**Saved.**\n\n"}
    assert agent.entry.runtime_data.settings["persona"] == "You talk like a pirate."
    await agent.say("Hello")
    assert "pirate" in model_server.chats[-1].messages[0]["content"]
    hass.config_entries.options.async_abort(menu["flow_id"])
    assert agent.entry.options["persona"] == "You talk like a pirate."


async def test_most_fields_are_in_sections(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    for name in PAGES:
        schema = (await page(hass, entry, name))["data_schema"]
        assert schema
        sections = [part for part in schema.schema.values() if isinstance(part, section)]
        assert all(part.options["collapsed"] for part in sections)
        assert len(schema.schema) - len(sections) <= MOST_FIELDS, name


OPTION = "quick_confirmations"


async def test_the_default_follows_the_prompt(hass: HomeAssistant, agent: Agent) -> None:
    """With a persona or words of their own, the household hears the model; the form shows what holds."""
    cases: tuple[tuple[dict[str, object], bool], ...] = (
        ({}, True),
        ({"persona": "  "}, True),
        ({"persona": "You talk like a pirate."}, False),
        ({"prompt_custom_additions": "Always rhyme."}, False),
        ({"prompt_use_default": False, "prompt_custom": "You are a butler."}, False),
    )
    for options, default in cases:
        hass.config_entries.async_update_entry(agent.entry, options=options)
        await hass.async_block_till_done(wait_background_tasks=True)
        assert agent.entry.runtime_data.settings[OPTION] is default
        assert shown(await page(hass, agent.entry, "answers"))[OPTION] is default


async def test_a_default_is_not_stored(hass: HomeAssistant, agent: Agent) -> None:
    """Who adds a persona and leaves the switch alone gets the default of a household with a persona."""
    hass.config_entries.async_update_entry(agent.entry, options={})
    await hass.async_block_till_done(wait_background_tasks=True)

    await save(hass, agent.entry, "answers", {"persona": "You talk like a pirate.", OPTION: True})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert OPTION not in agent.entry.options
    assert agent.entry.runtime_data.settings[OPTION] is False

    await save(hass, agent.entry, "answers", {"persona": "You talk like a pirate.", OPTION: True})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert agent.entry.options[OPTION] is True
    assert agent.entry.runtime_data.settings[OPTION] is True
