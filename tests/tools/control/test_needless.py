"""What is there already needs neither a call nor a confirmation."""

from typing import Any

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import speech
from tests.helpers.secure_house import SecureHouse
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


@pytest.fixture
async def secure(hass: HomeAssistant) -> SecureHouse:
    """Return the furnished house."""
    house = SecureHouse(hass)
    await house.async_build()
    return house


def show(hass: HomeAssistant, entity_id: str, value: str, **attributes: Any) -> None:
    """Let an entity show a state."""
    state = hass.states.get(entity_id)
    assert state is not None
    hass.states.async_set(entity_id, value, {**state.attributes, **attributes})


@pytest.mark.parametrize(
    ("entity_id", "action", "value", "attributes"),
    [
        ("lock.front_door", "unlock", "unlocked", {}),
        ("cover.garage", "open", "open", {}),
        ("cover.garage", "open", "open", {"current_position": 100}),
        ("alarm_control_panel.home", "disarm", "disarmed", {}),
        ("siren.roof", "turn_on", "on", {}),
    ],
)
async def test_what_is_so_already_is_not_asked_about(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    entity_id: str,
    action: str,
    value: str,
    attributes: dict[str, Any],
) -> None:
    agent = await secure.async_agent(model_server, {"quick_confirmations": False})
    show(hass, entity_id, value, **attributes)
    model_server.script(
        [tool_calls([("ha_control", {"action": action, "entity_id": entity_id})]), text("It is.")]
    )
    answer = await agent.say("Do that")
    assert speech(answer) == "It is."
    result = tool_results(model_server.chats[1])[-1]
    assert (result["success"], list(result["result"])) == (True, ["unchanged"])
    assert result["result"]["unchanged"][entity_id].startswith(value)
    assert secure.moved() == []


@pytest.mark.parametrize(
    ("entity_id", "action", "value", "attributes"),
    [
        ("lock.front_door", "unlock", "locked", {}),
        ("lock.front_door", "unlock", "unlocking", {}),
        ("lock.front_door", "unlock", "unknown", {}),
        ("cover.garage", "open", "opening", {}),
        ("lock.front_door", "unlock", "unlocked", {"assumed_state": True}),
        ("lock.front_door", "open", "unlocked", {}),
        ("cover.garage", "open", "open", {"current_position": 30}),
    ],
)
async def test_what_would_change_something_is_asked_about(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    entity_id: str,
    action: str,
    value: str,
    attributes: dict[str, Any],
) -> None:
    agent = await secure.async_agent(model_server)
    show(hass, entity_id, value, **attributes)
    model_server.script([tool_calls([("ha_control", {"action": action, "entity_id": entity_id})])])
    answer = await agent.say("Do that")
    assert speech(answer).startswith("Should I ")
    assert secure.moved() == []


async def test_only_the_rest_is_asked_about(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse
) -> None:
    """Of several things, those that are so already are left out of the question and stay as they are."""
    agent = await secure.async_agent(model_server)
    show(hass, "cover.garage", "open", current_position=100)
    calls = [
        ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}),
        ("ha_control", {"action": "open", "entity_id": ["cover.garage", "cover.blind"]}),
    ]
    model_server.script([tool_calls(calls)])
    answer = await agent.say("Unlock the front door and open the garage and the blind")
    assert speech(answer).endswith("Should I unlock the Front Door?")
    await agent.say("yes", conversation_id=answer.conversation_id)
    moved = secure.moved()
    assert ("lock.unlock", ("lock.front_door",)) in moved
    assert not [ids for _, ids in moved if "cover.garage" in ids]
