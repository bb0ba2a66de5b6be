"""What can you do? Three sentences about this home, from Home Agent itself: a model would invent some."""

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.spoken_languages import SPOKEN, VARIANTS, WHOLE
from tests.servers.model_server import ModelServer


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    found = await async_agent(hass, model_server)
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light"}, blocking=True)
    return found


async def test_about_this_home(agent: Agent) -> None:
    told = speech(await agent.say("What can you do?"))
    assert told == (
        "You can say, for example: Turn off the Bed Light. Is the Front Door locked? "
        "Turn off the lights in the Kitchen."
    )
    assert not agent.server.chats


async def test_in_each_language(agent: Agent, hass: HomeAssistant, subtests: pytest.Subtests) -> None:
    """The sentence that the config flow proposes is understood."""
    from custom_components.home_agent.agent.describe import async_phrase  # noqa: PLC0415

    for language in (*WHOLE, *SPOKEN, *VARIANTS):
        with subtests.test(language=language):
            asked = await async_phrase(hass, language, "try_ability")
            assert "Bed Light" in speech(await agent.say(asked, language=language))
            assert not agent.server.chats


async def test_only_what_the_speaker_may_know(hass: HomeAssistant, agent: Agent) -> None:
    """Nobody hears of a device that is hidden from them."""
    visitor = MockUser(name="Visitor", groups=[]).add_to_hass(hass)
    told = speech(await agent.say("what can you do", context=Context(user_id=visitor.id)))
    assert "Bed Light" not in told
    async_expose_entity(hass, "conversation", "light.bed_light", False)
    assert "Bed Light" not in speech(await agent.say("What can I say?"))
