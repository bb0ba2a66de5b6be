"""What models write for "when ... then, once": as the tools say, and with the mistakes of small ones."""

from typing import Any

import pytest

from custom_components.home_agent.planned.scheduler import Scheduler
from homeassistant.core import Context
from tests.helpers.agent import Agent
from tests.helpers.everyday_house import NOW
from tests.helpers.once import async_add_things, waited_for
from tests.helpers.planned import planned
from tests.helpers.secure_house import SecureHouse
from tests.helpers.tables import tables

TABLES = tables(__file__)

pytestmark = pytest.mark.freeze_time(NOW)


@pytest.fixture
async def things(secure: SecureHouse, agent: Agent) -> Scheduler:
    """Add what can be waited for."""
    await async_add_things(secure)
    return planned(agent)


@pytest.mark.parametrize("rows", [TABLES["right"], TABLES["small"]], ids=["right", "small"])
async def test_read(secure: SecureHouse, agent: Agent, things: Scheduler, rows: list[list[Any]]) -> None:
    """All of it is understood in one call, and waited for."""
    wrong: list[tuple[str, Any, Any]] = []
    for language, sentence, args, expected in rows:
        tool = "timer" if "name" in args else "ha_control"
        context = Context(user_id=secure.anna.id)
        told = await agent.call(tool, sentence, **args, language=language, context=context)
        if waited_for(agent) != [expected]:
            wrong.append((sentence, told["error"] or waited_for(agent), expected))
        await things.async_cancel([item.id for item in things.all()])
    assert not wrong, "\n".join(map(str, wrong))
    assert secure.calls == []
