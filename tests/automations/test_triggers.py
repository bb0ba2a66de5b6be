"""Each trigger of the automation editor starts an automation, with the variables that are documented."""

from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.trigger import TRIGGERS
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.automations import as_user, async_automate, async_household, is_enabled, started_by
from tests.helpers.everyday_house import NOW, async_pass
from tests.helpers.planned import give
from tests.helpers.remembering import remember
from tests.helpers.suggested import async_suggested
from tests.helpers.timers import call
from tests.servers.model_server import ModelServer
from tests.servers.replies import reset, text, tool_calls

pytestmark = pytest.mark.freeze_time(NOW)

UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
LIGHT = "light.kitchen_ceiling"


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Keep the stores of one test from those of others."""
    return str(tmp_path)


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser) -> Agent:
    """Return an agent without events on the bus: triggers do not need them."""
    return await async_household(hass, model_server, hass_admin_user, emit_events=False)


async def ask_to_unlock(agent: Agent, context: Context | None = None) -> None:
    """Let somebody ask for what needs a confirmation."""
    agent.server.script([tool_calls([UNLOCK])])
    await agent.say("Unlock the front door", context=context)


def own(agent: Agent, person: str | None, **variables: Any) -> dict[str, Any]:
    """Return the variables that every trigger has, and those of this one."""
    shared = {"id": "0", "idx": "0", "alias": None}
    mine = {"config_entry_id": agent.entry.entry_id, "agent": "Home Agent", "person": person}
    return shared | mine | variables


async def test_confirmation_requested(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """It has what is needed to answer, and the run goes back to the request."""
    seen = await async_automate(hass, {"trigger": "home_agent.confirmation_requested"})
    context = as_user(hass_admin_user)
    await ask_to_unlock(agent, context)
    (run,) = seen
    (action,) = agent.entry.runtime_data.confirmations.pending
    assert started_by(run) == own(
        agent,
        "person.anna",
        platform="home_agent.confirmation_requested",
        description="home_agent.confirmation_requested of Home Agent",
        action_id=action.id,
        summary=action.question,
        expires_at=action.expires_at.isoformat(),
        conversation_id=action.owner.conversation_id,
    )
    assert run.context.parent_id == context.id


async def test_timer_finished(
    hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser, freezer: FrozenDateTimeFactory
) -> None:
    seen = await async_automate(
        hass, {"trigger": "home_agent.timer_finished", "options": {"person": "person.anna"}}
    )
    context = as_user(hass_admin_user)
    timer = (await call(agent, action="set", when="5 min", name="tea", context=context))["result"]["set"]
    await async_pass(hass, freezer, 299)
    assert seen == []
    await async_pass(hass, freezer, 2)
    (run,) = seen
    assert started_by(run) == own(
        agent,
        "person.anna",
        platform="home_agent.timer_finished",
        description="home_agent.timer_finished of Home Agent",
        timer_id=timer["id"],
        name="tea",
        due="2026-06-03T10:05:00+00:00",
        device_id=None,
        told_by="notification",
    )


async def test_suggestion_made(hass: HomeAssistant, agent: Agent) -> None:
    await agent.set_options(proactive_enabled=True, learning_enabled=True)
    seen = await async_automate(hass, {"trigger": "home_agent.suggestion_made"})
    suggestion_id = await async_suggested(agent)
    await hass.async_block_till_done()
    (run,) = seen
    variables = started_by(run)
    assert variables["suggestion_id"] == suggestion_id
    assert variables["summary"].startswith("Bed Light is turned on")
    assert variables["expires_at"] > NOW


async def test_turn_failed(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """A request that works starts nothing."""
    seen = await async_automate(hass, {"trigger": "home_agent.turn_failed"})
    context = as_user(hass_admin_user)
    agent.server.script([text("Good morning.")])
    await agent.say("Good morning", context=context)
    assert seen == []
    agent.server.default = reset()
    result = await agent.say("Tell me a story", context=context)
    (run,) = seen
    variables = started_by(run)
    assert variables["error_type"] == "LLMUnavailable"
    assert variables["error_message"]
    assert (variables["person"], variables["conversation_id"]) == ("person.anna", result.conversation_id)
    assert run.context.parent_id == context.id


async def test_memory_stored(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """The variables name the memory and not its content, for runs are kept in traces."""
    seen = await async_automate(hass, {"trigger": "home_agent.memory_stored"})
    context = as_user(hass_admin_user)
    await remember(agent, "Anna drinks her tea with honey", context)
    (run,) = seen
    (memory,) = agent.entry.runtime_data.memories.all()
    assert started_by(run) == own(
        agent,
        "person.anna",
        platform="home_agent.memory_stored",
        description="home_agent.memory_stored of Home Agent",
        memory_id=memory.id,
        memory_type="fact",
        source="told",
        private=False,
    )
    assert run.context.parent_id == context.id
    await remember(agent, "Anna drinks her tea with honey", context)
    assert len(seen) == 1


async def test_memory_of_the_household(hass: HomeAssistant, agent: Agent) -> None:
    """It belongs to nobody, so a trigger about a person does not start."""
    seen = await async_automate(
        hass, {"trigger": "home_agent.memory_stored", "options": {"person": ["person.anna"]}}
    )
    data = {"content": "The bins are collected on Tuesday"}
    await hass.services.async_call(DOMAIN, "add_memory", data, blocking=True)
    await hass.services.async_call(DOMAIN, "add_memory", {**data, "person": "person.anna"}, blocking=True)
    await hass.async_block_till_done()
    assert [started_by(run)["person"] for run in seen] == ["person.anna"]


async def test_planned_command_run(
    hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser, freezer: FrozenDateTimeFactory
) -> None:
    seen = await async_automate(hass, {"trigger": "home_agent.planned_command_run"})
    context = as_user(hass_admin_user)
    later = {"action": "turn_on", "entity_id": [LIGHT], "when": "10 minutes"}
    told = await give(agent, "In ten minutes turn on the kitchen ceiling", **later, context=context)
    assert seen == []
    await async_pass(hass, freezer, 601)
    (run,) = seen
    assert started_by(run) == own(
        agent,
        "person.anna",
        platform="home_agent.planned_command_run",
        description="home_agent.planned_command_run of Home Agent",
        command_id=told["result"]["id"],
        action="turn_on",
        entity_ids=[LIGHT],
        due="2026-06-03T10:10:00+00:00",
        outcome="done",
        failed=[],
    )


@pytest.mark.parametrize(
    ("state", "outcome"), [("unavailable", "failed"), (None, "refused")], ids=["offline", "tool off"]
)
async def test_planned_command_that_cannot_run(
    hass: HomeAssistant, agent: Agent, freezer: FrozenDateTimeFactory, state: str | None, outcome: str
) -> None:
    seen = await async_automate(hass, {"trigger": "home_agent.planned_command_run"})
    later = {"action": "turn_on", "entity_id": [LIGHT], "when": "10 minutes"}
    await give(agent.at_satellite(), "In ten minutes turn on the kitchen ceiling", **later)
    if state is None:
        await agent.set_options(tools_disabled=["ha_control"])
    else:
        hass.states.async_set(LIGHT, state)
    await async_pass(hass, freezer, 601)
    assert [(started_by(run)["outcome"], started_by(run)["failed"]) for run in seen] == [(outcome, [LIGHT])]


async def test_only_these_people(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """What another person or an unknown voice asks for does not start it."""
    seen = await async_automate(
        hass, {"trigger": "home_agent.confirmation_requested", "options": {"person": ["person.ben"]}}
    )
    await ask_to_unlock(agent, as_user(hass_admin_user))
    await ask_to_unlock(agent.at_satellite())
    assert len(agent.entry.runtime_data.confirmations.pending) == 2
    assert seen == []


async def test_only_this_agent(
    hass: HomeAssistant, agent: Agent, other_model_server: ModelServer, hass_admin_user: MockUser
) -> None:
    """One of two agents is followed."""
    other = await async_add_agent(hass, other_model_server)
    options = {"config_entry_id": other.entry.entry_id}
    seen = await async_automate(hass, {"trigger": "home_agent.confirmation_requested", "options": options})
    await ask_to_unlock(agent, as_user(hass_admin_user))
    assert seen == []
    await ask_to_unlock(other, as_user(hass_admin_user))
    assert [started_by(run)["config_entry_id"] for run in seen] == [other.entry.entry_id]


@pytest.mark.parametrize(
    "options",
    [{"config_entry_id": "gone"}, {"person": ["light.kitchen_ceiling"]}, {"persons": "person.anna"}],
    ids=["no agent", "no person", "no such option"],
)
async def test_refused(hass: HomeAssistant, agent: Agent, options: dict[str, Any]) -> None:
    """What could never happen is not accepted."""
    await async_automate(hass, {"trigger": "home_agent.confirmation_requested", "options": options})
    assert not is_enabled(hass)


async def test_waits_for_an_agent_that_loads_later(
    hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser
) -> None:
    """A reload of the agent does not end the trigger."""
    seen = await async_automate(hass, {"trigger": "home_agent.confirmation_requested"})
    assert await hass.config_entries.async_reload(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    await ask_to_unlock(agent, as_user(hass_admin_user))
    assert len(seen) == 1


async def test_the_editor_offers_them(
    hass: HomeAssistant, agent: Agent, hass_ws_client: WebSocketGenerator
) -> None:
    """The editor learns of all triggers and their fields."""
    client = await hass_ws_client()
    await client.send_json_auto_id({"type": "trigger_platforms/subscribe"})
    assert (await client.receive_json())["success"]
    offered = (await client.receive_json())["event"]
    ours = {key: value for key, value in offered.items() if key.startswith(f"{DOMAIN}.")}
    assert set(ours) == {f"{DOMAIN}.{name}" for name in TRIGGERS}
    for name, trigger in TRIGGERS.items():
        taken = {str(key) for key in trigger.schema.schema["options"]}
        assert set(ours[f"{DOMAIN}.{name}"]["fields"]) == taken, name
