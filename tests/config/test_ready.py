"""The last page of the config flow: what is exposed, what to try, and the voice assistant."""

from typing import Any

from custom_components.home_agent.const import DOMAIN
from homeassistant.components.assist_pipeline import Pipeline, async_get_pipelines
from homeassistant.components.assist_pipeline.pipeline import async_get_pipeline
from homeassistant.config_entries import SOURCE_USER, ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
from tests.helpers.flow_steps import calls_tools, finish, go_on, shown  # noqa: F401 - a fixture
from tests.helpers.household import async_furnish
from tests.servers.model_server import ModelServer

OWN = "conversation.home_assistant"


async def ready(hass: HomeAssistant, server: ModelServer, name: str = "Home Agent") -> ConfigFlowResult:
    """Go through the flow up to its last page."""
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    result = await go_on(hass, result, {"llm_base_url": server.url, "name": name})
    result = await go_on(hass, result, {"llm_model": f"model of {name}"})
    assert result["step_id"] == "ready"
    assert result["last_step"] is True
    return result


async def assist(hass: HomeAssistant) -> None:
    """Set up the assistants, as Home Assistant does before integrations of people."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "assist_pipeline", {})


def names(hass: HomeAssistant) -> dict[str, str]:
    """Return the agents of the assistants by their names."""
    return {pipeline.name: pipeline.conversation_engine for pipeline in async_get_pipelines(hass)}


def preferred(hass: HomeAssistant) -> Pipeline:
    """Return the preferred assistant."""
    return async_get_pipeline(hass)


# The words


async def test_what_is_exposed_and_what_to_try(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The sentences are about this home, each of another kind, and none about what is hidden."""
    await async_furnish(hass)
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light"}, blocking=True)
    result = await ready(hass, model_server)
    told = result["description_placeholders"]
    assert told is not None
    exposed = [state for state in hass.states.async_all() if state.entity_id.startswith("light.")]
    assert int(told["count"]) >= len(exposed) - 1
    assert told["sentences"].splitlines() == [
        "- *Turn off the Bed Light*",
        "- *Is the Front Door locked?*",
        "- *Turn off the lights in the Kitchen*",
    ]
    assert "make_assistant" not in shown(result)
    result = await finish(hass, result)
    assert result["description_placeholders"] == {**told, "expose": "/config/voice-assistants/expose"}


# The assistant


async def test_the_assistant_is_made(hass: HomeAssistant, model_server: ModelServer) -> None:
    """It is preferred, asks the agent first, and has the speech of the one that was preferred."""
    await assist(hass)
    before = preferred(hass)
    result = await ready(hass, model_server)
    assert shown(result) == {"make_assistant": True}
    result = await finish(hass, result, assistant=True)
    assert result["description"] == "assistant"
    made = preferred(hass)
    assert (made.name, made.conversation_engine) == ("Home Agent", "conversation.home_agent")
    assert made.prefer_local_intents is False
    changed = {"id", "name", "conversation_engine", "prefer_local_intents"}
    assert [
        key for key, value in made.to_json().items() if before.to_json()[key] != value and key not in changed
    ] == []
    assert names(hass) == {"Home Assistant": OWN, "Home Agent": "conversation.home_agent"}
    entry_id = result["result"].entry_id
    await hass.async_block_till_done()
    assert ir.async_get(hass).async_get_issue(DOMAIN, f"prefer_local_bypass_{entry_id}") is None


async def test_no_assistant_without_the_switch(hass: HomeAssistant, model_server: ModelServer) -> None:
    await assist(hass)
    result = await finish(hass, await ready(hass, model_server), assistant=False)
    assert result["description"] == "default"
    assert names(hass) == {"Home Assistant": OWN}


async def test_another_agent_that_the_household_has_chosen_stays(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """The switch is off for a second agent, and takes over if somebody turns it on."""
    await assist(hass)
    await finish(hass, await ready(hass, model_server), assistant=True)
    result = await ready(hass, model_server, "Second")
    assert shown(result) == {"make_assistant": False}
    await finish(hass, result, assistant=True)
    assert preferred(hass).name == "Second"
    assert list(names(hass)) == ["Home Assistant", "Home Agent", "Second"]


async def test_without_assist(hass: HomeAssistant, model_server: ModelServer) -> None:
    """There is nothing to switch on, and the agent is added all the same."""
    assert await async_setup_component(hass, "homeassistant", {})
    result = await ready(hass, model_server)
    schema: Any = result["data_schema"]
    assert schema.schema == {}
    result = await finish(hass, result)
    assert result["title"] == "Home Agent"
