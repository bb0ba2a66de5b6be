"""Undoing a part of what was done: what is named, here or elsewhere."""

from dataclasses import replace
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.safety.journal import RecordedAction
from custom_components.home_agent.store import load
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.turns import tool_results
from tests.helpers.undo import BED, LIGHT, act, control, undo
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent."""
    return await async_agent(hass, model_server)


async def undo_named(agent: Agent, sentence: str, *named: str, **options: Any) -> dict[str, Any]:
    """Have a part put back by name or id, and return what the model was told."""
    agent.server.script(
        [tool_calls([("activity", {"action": "undo", "entity_id": list(named)})]), text("Ok")]
    )
    await agent.say(sentence, **options)
    return tool_results(agent.server.chats[-1])[-1]


async def test_a_part_is_put_back(hass: HomeAssistant, agent: Agent) -> None:
    """What is named is restored, the rest of the request stays, and can be restored afterwards."""
    first = await act(agent, control("turn_on", [LIGHT, BED]))
    result = await undo_named(agent, "Not the bed light", BED, conversation_id=first.conversation_id)
    assert set(result["result"]["restored"]) == {BED}
    assert (hass.states.get(BED).state, hass.states.get(LIGHT).state) == ("off", "on")
    again = await undo_named(agent, "Not the bed light", "Bed Light", conversation_id=first.conversation_id)
    assert "Bed Light: not changed here by you" in again["error"]
    assert "Changed here: Kitchen Ceiling" in again["error"]
    rest = await undo(agent, first.conversation_id)
    assert set(rest["result"]["restored"]) == {LIGHT}
    assert hass.states.get(LIGHT).state == "off"
    assert "nothing to put back" in (await undo(agent, first.conversation_id))["error"]


async def test_a_part_survives_a_restart(agent: Agent) -> None:
    """What was restored alone is stored, and older stored actions load."""
    first = await act(agent, control("turn_on", [LIGHT, BED]))
    await undo_named(agent, "Not the bed light", BED, conversation_id=first.conversation_id)
    ledger = agent.entry.runtime_data.handler.guard.journal.ledger
    stored = next(action for action in ledger.stored() if not action["undoes"])
    assert load(RecordedAction, stored).undone_ids == {BED}
    del stored["undone_ids"]
    assert load(RecordedAction, stored).undone_ids == frozenset()


async def test_an_earlier_request_by_name(hass: HomeAssistant, agent: Agent) -> None:
    """A name reaches the newest request that changed it, not only the last one."""
    first = await act(agent, control("turn_on"))
    await act(agent, control("turn_on", BED), conversation_id=first.conversation_id)
    named = {"action": "undo", "name": "kitchen ceiling"}
    agent.server.script([tool_calls([("activity", named)]), text("Ok")])
    await agent.say("Undo the kitchen ceiling", conversation_id=first.conversation_id)
    assert (hass.states.get(LIGHT).state, hass.states.get(BED).state) == ("off", "on")


async def test_elsewhere_by_name(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """What the person changed elsewhere is restored if the sentence names it, not if only the model does."""
    own = Context(user_id=hass_admin_user.id)
    await act(agent, control("turn_on", BED), context=own, device_id="bedroom")
    unnamed = await undo_named(agent, "Put it back", BED, context=own, device_id="kitchen")
    assert "not changed here by you" in unnamed["error"]
    assert hass.states.get(BED).state == "on"
    named = await undo_named(agent, "Undo the bed light", BED, context=own, device_id="kitchen")
    assert set(named["result"]["restored"]) == {BED}


async def test_others_stay_by_name(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """A name does not reach what was done for another person."""
    other = MockUser(is_owner=False, name="Other").add_to_hass(hass)
    other.mock_policy({"entities": True})
    await act(agent, control("turn_on", BED), context=Context(user_id=hass_admin_user.id))
    result = await undo_named(agent, "Undo the bed light", BED, context=Context(user_id=other.id))
    assert "Nothing was changed here lately" in result["error"]
    assert hass.states.get(BED).state == "on"


async def test_what_has_no_state(hass: HomeAssistant, agent: Agent) -> None:
    """A call that left no state is named, and nothing is said to be restored."""
    first = await act(agent, control("turn_on"))
    ledger = agent.entry.runtime_data.handler.guard.journal.ledger
    (made,) = ledger.recent(1)
    message = {"turn_id": "message", "domain": "notify", "service": "phone", "entity_ids": (), "before": {}}
    ledger.add(replace(made, **message, after={}))
    result = await undo(agent, first.conversation_id)
    assert "Cannot be undone: notify.phone" in result["error"]
    assert hass.states.get(LIGHT).state == "on"
