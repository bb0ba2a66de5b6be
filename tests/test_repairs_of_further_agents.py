"""Repair issues, assistants, triggers and the panel of agents that were added to a connection."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.components.assist_pipeline.pipeline import KEY_ASSIST_PIPELINE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, issue_registry as ir
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.further import KITCHEN, async_add_further
from tests.helpers.repair_dialogs import Dialogs, dialog  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text


def issue(hass: HomeAssistant, key: str, agent_id: str) -> ir.IssueEntry | None:
    """Return the issue of an agent."""
    return ir.async_get(hass).async_get_issue("home_agent", f"{key}_{agent_id}")


async def test_an_assistant_that_answers_first(
    hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs
) -> None:
    """It is reported with the agent's name; the click changes this agent and no other one."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "assist_pipeline", {})
    agent = await async_agent(hass, model_server)
    guests = await async_add_further(hass, agent, **KITCHEN)
    (pipeline,) = async_get_pipelines(hass)
    await async_update_pipeline(
        hass, pipeline, conversation_engine=guests.entity_id, prefer_local_intents=True
    )
    await hass.async_block_till_done(wait_background_tasks=True)
    found = issue(hass, "prefer_local_bypass", guests.agent_id)
    assert found is not None
    assert (found.translation_placeholders or {})["title"] == "Guests"
    assert issue(hass, "prefer_local_bypass", agent.entry.entry_id) is None
    screen = await dialog()
    assert (await screen.mend(found.issue_id))["type"] == "create_entry"
    assert issue(hass, "prefer_local_bypass", guests.agent_id) is None
    assert agent.entry.subentries[guests.agent_id].data["local_first_enabled"] is True
    assert "local_first_enabled" not in agent.entry.options
    hass.config_entries.async_remove_subentry(agent.entry, guests.agent_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    store = hass.data[KEY_ASSIST_PIPELINE].pipeline_store
    assert [item.conversation_engine for item in store.data.values()] == ["conversation.home_assistant"]


async def test_a_template_that_fails(hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs) -> None:
    """The click opens the agent's page where it stands."""
    agent = await async_agent(hass, model_server)
    guests = await async_add_further(hass, agent, prompt_custom_additions="{{ 1 / 0 }}")
    model_server.script([text("Hello.")])
    await guests.say("Hello")
    found = issue(hass, "prompt_template_invalid", guests.agent_id)
    assert found is not None
    screen = await dialog()
    kind, flow_id = (await screen.mend(found.issue_id))["next_flow"]
    assert kind == "config_subentries_flow"
    assert hass.config_entries.subentries.async_get(flow_id)["step_id"] == "answers"


@pytest.mark.parametrize(
    "listed", [{"areas": ["kitchen", "bedroom"]}, {"areas": ["kitchen"], "excluded": {"areas": ["bedroom"]}}]
)
async def test_a_list_names_what_is_gone(hass: HomeAssistant, agent: Agent, listed: dict[str, Any]) -> None:
    """It is reported for the agent whose list it is."""
    guests = await async_add_further(hass, agent, visible_entities=listed)
    assert issue(hass, "rules_unmatched", guests.agent_id) is None
    ar.async_get(hass).async_delete("bedroom")
    await hass.async_block_till_done(wait_background_tasks=True)
    found = issue(hass, "rules_unmatched", guests.agent_id)
    assert found is not None
    assert "bedroom" in (found.translation_placeholders or {})["names"]
    assert issue(hass, "rules_unmatched", agent.entry.entry_id) is None


async def test_panel(
    hass: HomeAssistant, model_server: ModelServer, hass_ws_client: WebSocketGenerator, agent: Agent
) -> None:
    """The panel lists all agents, and shows what each of them sees and did."""
    guests = await async_add_further(hass, agent, **KITCHEN)
    model_server.script([text("Hello.")])
    await guests.say("Hello there")
    client = await hass_ws_client(hass)

    async def ask(command: str, **data: Any) -> dict[str, Any]:
        await client.send_json_auto_id({"type": f"home_agent/{command}", **data})
        answer = await client.receive_json()
        assert answer["success"], answer
        return dict(answer["result"])

    assert (await ask("agents"))["agents"] == [
        {"entry_id": agent.entry.entry_id, "title": "Home Agent"},
        {"entry_id": guests.agent_id, "title": "Guests", "config_entry_id": agent.entry.entry_id},
    ]
    exposed = [
        (await ask("overview", entry_id=one))["exposed"] for one in (agent.entry.entry_id, guests.agent_id)
    ]
    assert exposed[0] > exposed[1] > 0
