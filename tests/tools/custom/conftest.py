"""An agent whose household writes tools."""

from pathlib import Path

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.custom_tools import OwnTools
from tests.servers.model_server import ModelServer


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent in a furnished house that is called a lot."""
    return await async_agent(hass, model_server, {"automation_turns_per_minute": 1000})


@pytest.fixture
def own(agent: Agent, tmp_path: Path) -> OwnTools:
    """Return the agent with a folder for its tools."""
    return OwnTools(agent, tmp_path)
