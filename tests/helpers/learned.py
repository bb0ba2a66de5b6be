"""An agent that learned something of every kind."""

import json

from homeassistant.core import Context
from tests.helpers.agent import Agent
from tests.helpers.remembering import user
from tests.servers.loopback import Captured

MEMORY = "Anna drinks her tea with honey"
CODE = "The shed code is 4711"


def read(request: Captured) -> str:
    return json.dumps(request.json, ensure_ascii=False)


async def learned(agent: Agent) -> Context:
    """Let the agent learn things of Anna, of every kind; return her context."""
    anna = user(agent.hass, "Annabel")
    for said, call in (
        ("Remember it", ("store_memory", {"content": MEMORY, "importance": 0.9})),
        ("Remember that the shed code is 4711", ("store_memory", {"content": CODE, "importance": 0.9})),
        ("Note it", ("update_user_profile", {"category": "food", "key": "diet", "value": "vegetarian"})),
        ("Note it", ("update_user_profile", {"category": "health", "key": "allergy", "value": "hay fever"})),
        ("Note it", ("update_user_profile", {"category": "person", "key": "language", "value": "Dutch"})),
    ):
        await agent.act(call, sentence=said, context=anna)
    agent.server.clear()
    return anna
