"""What may not be used is not listed, and its tools are not offered."""

from typing import Any

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.demo_house import async_demo_house
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


async def system(agent: Agent) -> str:
    await agent.say("Hello there")
    return str(agent.server.chats[-1].messages[0]["content"])


async def test_scenes_and_scripts(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """A blocked light stays, as its state can be read; a call of a scene that is left out is refused."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent = await async_add_agent(hass, model_server)
    async_expose_entity(hass, "conversation", "script.good_night", True)
    everything: dict[str, Any] = {"allow_scripts_and_scenes": True, "policy_blocked": []}
    for options, listed in [
        ({}, {"scene.movie_night", "script.good_night", "light.hallway"}),
        ({"allow_scripts_and_scenes": False}, {"light.hallway"}),
        ({"policy_blocked": ["scene"]}, {"script.good_night", "light.hallway"}),
        ({"policy_blocked": ["script.good_night", "light"]}, {"scene.movie_night", "light.hallway"}),
    ]:
        with subtests.test(options=options, listed=listed):
            await agent.set_options(**{**everything, **options})
            told = await system(agent)
            names = {"scene.movie_night", "script.good_night", "light.hallway"}
            assert {name for name in names if name in told} == listed
            if "scene.movie_night" not in listed:
                call = ("ha_control", {"action": "activate", "entity_id": "scene.movie_night"})
                await agent.act(call, sentence="Activate movie night")
                assert not agent.results[-1]["success"]


async def test_tools_of_a_blocked_kind(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A model is not told of them; a rule for one action leaves the rest."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent = await async_add_agent(hass, model_server)

    async def offered() -> set[str]:
        await agent.say("Hello there")
        return {tool["function"]["name"] for tool in agent.server.chats[-1].json["tools"]}

    assert "play_media" in await offered()
    await agent.set_options(policy_blocked=["media_player.turn_off"])
    assert "play_media" in await offered()
    await agent.set_options(policy_blocked=["media_player"])
    assert "play_media" not in await offered()
    agent.server.script([tool_calls([("play_media", {"query": "jazz"})]), text("No.")])
    await agent.say("Play jazz")
    assert not agent.results[-1]["success"]
