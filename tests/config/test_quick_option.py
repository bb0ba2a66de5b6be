"""The option for quick confirmations, whose default depends on how the household lets the agent talk."""

from homeassistant.core import HomeAssistant
from tests.helpers.agent import async_agent
from tests.helpers.options_pages import page, save, shown
from tests.servers.model_server import ModelServer

OPTION = "quick_confirmations"


async def test_the_default_follows_the_prompt(hass: HomeAssistant, model_server: ModelServer) -> None:
    """With a persona or words of their own, the household hears the model; the form shows what holds."""
    agent = await async_agent(hass, model_server)
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


async def test_a_default_is_not_stored(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Who adds a persona and leaves the switch alone gets the default of a household with a persona."""
    agent = await async_agent(hass, model_server)
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
