"""Events contain nothing that was said, whatever error a call has."""

import json
from typing import Any

from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent import const
from custom_components.home_agent.const import EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.checks import for_each
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

EVENTS = [value for name, value in vars(const).items() if name.startswith("EVENT_")]
SECRET = "my diagnosis is lupus"
LIGHT = "light.kitchen_ceiling"


@for_each(
    ("call", "kind"),
    [
        (("ha_control", {"action": "turn_on", "name": "foo lamp"}), "ValidationError"),
        (("ha_control", {"entity_id": LIGHT}), "ValidationError"),
        (("ha_control", {"action": "turn_on", "entity_id": "lock.cellar"}), "ValidationError"),
        (("no_such_tool", {"note": SECRET}), "ToolNotFound"),
        (("store_memory", {"content": SECRET, "importance": SECRET}), "ValidationError"),
        (("forget_memory", {"query": 7, "what": SECRET}), "ValidationError"),
    ],
)
async def test_the_request_is_for_the_model_only(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent, call: tuple[str, dict[str, Any]], kind: str
) -> None:
    """The model is reminded of the request; events and the journal do not contain it."""
    model_server.clear()
    fired = {event: async_capture_events(hass, event) for event in EVENTS}
    again = [tool_calls([(call[0], {**call[1], "attempt": n})]) for n in range(3)]
    model_server.script([*again, text("Sorry.")])
    await agent.say(f"{SECRET}, so turn on the foo lamp")
    told = json.dumps([chat.json["messages"] for chat in model_server.chats[1:]])
    assert "Request: " in told
    assert SECRET in told.partition("Request: ")[2]
    assert len(fired[EVENT_TOOL_EXECUTED]) == 3
    seen = json.dumps([dict(event.data) for events in fired.values() for event in events], default=str)
    assert "lupus" not in seen
    ended = [event.data for event in fired[EVENT_TOOL_PROGRESS] if event.data["status"] == "failed"]
    assert [data["error_type"] for data in ended] == [kind] * 3
    journal = agent.entry.runtime_data.handler.guard.journal
    assert "lupus" not in str(journal.stored())
