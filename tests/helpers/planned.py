"""Commands for later: given in one turn, and what reached the house."""

from collections.abc import Awaitable, Callable
from typing import Any

from custom_components.home_agent.planned.scheduler import Scheduler
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse
from tests.helpers.turns import tool_results
from tests.servers.replies import text, tool_calls

type Wait = Callable[[float], Awaitable[None]]
"""Lets so many seconds pass."""

HALL = "light.hall"
DOOR = "lock.front_door"
LATER = {"action": "turn_on", "entity_id": [HALL], "when": "10 minutes"}
UNLOCK = {"action": "unlock", "entity_id": [DOOR], "when": "10 minutes"}
ASKS = {"quick_confirmations": False, "memory_extraction_enabled": False}
"""The model is asked again, so that its request holds the results, and nothing else is asked."""
IN_TEN = "In ten minutes turn on the hall light"


async def give(agent: Agent, sentence: str, /, tool: str = "ha_control", **args: Any) -> dict[str, Any]:
    """Let a turn make one call and return what the model was told."""
    options = {key: args.pop(key) for key in ("context", "language", "conversation_id") if key in args}
    agent.server.clear()
    agent.server.script([tool_calls([(tool, args)]), text("Okay.")])
    await agent.say(sentence, **options)
    return tool_results(agent.server.chats[-1])[-1]


def planned(agent: Agent) -> Scheduler:
    """Return what is planned."""
    return agent.entry.runtime_data.planned


def made(secure: SecureHouse) -> list[tuple[str, tuple[str, ...]]]:
    """Return the calls that reached the house."""
    return [(call.service, call.entity_ids) for call in secure.calls]
