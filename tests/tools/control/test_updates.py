"""Updates: installed after a yes, skipped, told; parts of Home Assistant need an administrator."""

import asyncio

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from homeassistant.components import conversation
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.update import UpdateEntityFeature as Feature
from homeassistant.components.update.const import DATA_COMPONENT
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, speech
from tests.helpers.firmware import Firmware
from tests.servers.replies import text, tool_calls

HUB = "update.hub"


@pytest.fixture
def admin(hass: HomeAssistant) -> Context:
    """An administrator who writes."""
    return Context(user_id=MockUser(name="Anna", is_owner=True).add_to_hass(hass).id)


async def async_add(hass: HomeAssistant, features: Feature, platform: str = "") -> Firmware:
    """Add the update of the hub, or of a part of Home Assistant."""
    assert await async_setup_component(hass, "update", {})
    firmware = Firmware("Hub", features)
    firmware.entity_id = HUB
    if platform:
        entry = MockConfigEntry(domain=platform)
        entry.add_to_hass(hass)
        er.async_get(hass).async_get_or_create(
            "update", platform, "x", object_id_base="hub", config_entry=entry
        )
        hass.states.async_set(HUB, "on", {"supported_features": int(features), "friendly_name": "Hub"})
    else:
        await hass.data[DATA_COMPONENT].async_add_entities([firmware])
    async_expose_entity(hass, "conversation", HUB, True)
    await hass.async_block_till_done()
    return firmware


async def confirm(agent: Agent, context: Context | None, asked: str) -> str:
    """Say yes, and wait for nothing but the answer."""
    who = {} if context else {"device_id": agent.device_id, "satellite_id": "assist_satellite.hall"}
    answer = await conversation.async_converse(
        agent.hass, "Yes", asked, context or Context(), agent_id=agent.entity_id, language="en", **who
    )
    return speech(answer)


async def ask(agent: Agent, context: Context | None) -> tuple[str, str]:
    """Ask for the installation; return the question and the conversation."""
    agent.server.clear()
    agent.server.script(
        [tool_calls([("ha_control", {"action": "install", "entity_id": HUB})]), text("Fine.")]
    )
    answer = await agent.say("Install the update for the hub", context=context)
    return speech(answer), str(answer.conversation_id)


async def test_a_long_installation_is_not_waited_for(
    hass: HomeAssistant, agent: Agent, admin: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer comes when it has begun, and says that it goes on."""
    monkeypatch.setattr("custom_components.home_agent.tools.run.BEGIN_SECONDS", 0.05)
    firmware = await async_add(hass, Feature.INSTALL | Feature.PROGRESS)
    firmware.hold = asyncio.Event()
    asked, conversation_id = await ask(agent, admin)
    assert asked == "Should I install the update Hub?"
    assert firmware.installed == []
    assert await confirm(agent, admin, conversation_id) == "I started the update Hub."
    assert hass.states.get(HUB).attributes["in_progress"] is True
    firmware.hold.set()
    await hass.async_block_till_done(wait_background_tasks=True)
    assert firmware.installed == [False]
    assert hass.states.get(HUB).state == "off"


async def test_nothing_to_do(
    hass: HomeAssistant, agent: Agent, admin: Context, subtests: pytest.Subtests
) -> None:
    """Nobody is asked without an update, or while it is being installed."""
    firmware = await async_add(hass, Feature.INSTALL | Feature.PROGRESS)
    for action, shown, problem in [
        ("install", {"_attr_in_progress": True}, "is being installed already"),
        ("install", {"_attr_installed_version": "1.1"}, "has no update"),
        ("skip", {"_attr_installed_version": "1.1"}, "has no update"),
    ]:
        with subtests.test(action=action, shown=shown):
            for attribute, value in shown.items():
                setattr(firmware, attribute, value)
            firmware.async_write_ha_state()
            result = await agent.call(
                "ha_control", "Update the hub", context=admin, action=action, entity_id=HUB
            )
            assert problem in result["error"]
            assert firmware.installed == []


async def test_who_may(hass: HomeAssistant, agent: Agent) -> None:
    """Not a user who is no administrator; a satellite may update a device, but no part of Home Assistant."""
    user = MockUser(name="Tom").add_to_hass(hass)
    user.mock_policy({"entities": True})
    tom = Context(user_id=user.id)
    firmware = await async_add(hass, Feature.INSTALL)
    result = await agent.call("ha_control", "Update the hub", context=tom, action="install", entity_id=HUB)
    assert "administrator" in result["error"]
    satellite = agent.at_satellite()
    question, conversation_id = await ask(satellite, None)
    assert question == "Should I install the update Hub?"
    await confirm(satellite, None, conversation_id)
    assert firmware.installed == [False]
