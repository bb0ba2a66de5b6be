"""Commands for later: given in one turn, and what reached the house."""

from collections.abc import Awaitable, Callable

from custom_components.home_agent.planned.scheduler import Scheduler
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse

type Wait = Callable[[float], Awaitable[None]]
"""Lets so many seconds pass."""

HALL = "light.hall"
DOOR = "lock.front_door"
LATER = {"action": "turn_on", "entity_id": [HALL], "when": "10 minutes"}
UNLOCK = {"action": "unlock", "entity_id": [DOOR], "when": "10 minutes"}
ASKS = {"quick_confirmations": False, "memory_extraction_enabled": False}
"""The model is asked again, so that its request holds the results, and nothing else is asked."""
IN_TEN = "In ten minutes turn on the hall light"


def planned(agent: Agent) -> Scheduler:
    return agent.entry.runtime_data.planned


def made(secure: SecureHouse) -> list[tuple[str, tuple[str, ...]]]:
    return [(call.service, call.entity_ids) for call in secure.calls]
