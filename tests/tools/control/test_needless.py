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
    ("entity_id", "action", "value", "attributes", "is_asked"),
    [
        ("lock.front_door", "unlock", "unlocked", {}, False),
        ("cover.garage", "open", "open", {}, False),
        ("cover.garage", "open", "open", {"current_position": 100}, False),
        ("alarm_control_panel.home", "disarm", "disarmed", {}, False),
        ("siren.roof", "turn_on", "on", {}, False),
        ("lock.front_door", "unlock", "locked", {}, True),
        ("lock.front_door", "unlock", "unlocking", {}, True),
        ("lock.front_door", "unlock", "unknown", {}, True),
        ("cover.garage", "open", "opening", {}, True),
        ("lock.front_door", "unlock", "unlocked", {"assumed_state": True}, True),
        ("lock.front_door", "open", "unlocked", {}, True),
        ("cover.garage", "open", "open", {"current_position": 30}, True),
    ],
)
async def test_only_a_change_is_asked_about(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    entity_id: str,
    action: str,
    value: str,
    attributes: dict[str, Any],
    is_asked: bool,
) -> None:
    agent = await secure.async_agent(model_server, {"quick_confirmations": False})
    show(hass, entity_id, value, **attributes)
    call = ("ha_control", {"action": action, "entity_id": entity_id})
    model_server.script([tool_calls([call]), *([] if is_asked else [text("It is.")])])
    answer = await agent.say("Do that")
    assert secure.moved() == []
    if is_asked:
        assert speech(answer).startswith("Should I ")
        return
    assert speech(answer) == "It is."
    result = tool_results(model_server.chats[1])[-1]
    assert (result["success"], list(result["result"])) == (True, ["unchanged"])
    assert result["result"]["unchanged"][entity_id].startswith(value)


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
