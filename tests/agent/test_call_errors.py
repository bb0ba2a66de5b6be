"""What a model reads of a call that does not fit leads it to the right one."""

import json
from typing import Any

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import async_agent
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


@pytest.mark.parametrize(
    ("sentence", "language", "args", "told"),
    [
        ("The light", "en", {"entity_id": "light.ceiling"}, "action: is missing. Allowed: "),
        (
            "Schließ die Tür",
            "de",
            {"entity_id": "cover.x", "action": "zap"},
            "'zap' is not allowed. Allowed: ",
        ),
        ("Pause it", "en", {"entity_id": "x", "action": "pauze it"}, "'pauze_it' is not allowed"),
        ("Light", "en", {"entity_id": "light.x", "action": "get_state"}, "read states with ha_query"),
    ],
)
async def test_actions(
    hass: HomeAssistant,
    model_server: ModelServer,
    sentence: str,
    language: str,
    args: dict[str, Any],
    told: str,
) -> None:
    """What is allowed is named, what comes near first."""
    agent = await async_agent(hass, model_server)
    model_server.script([tool_calls([("ha_control", args)]), text("Hm.")])
    await agent.say(sentence, language=language)
    error = json.loads(model_server.chats[1].messages[-1]["content"])["error"]
    assert told in error
    assert len(error) <= 300
