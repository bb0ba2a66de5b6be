"""A model that takes notes after a turn."""

from datetime import timedelta
import json
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed

from custom_components.home_agent.memory.extractor import Reason
from custom_components.home_agent.memory.memories import Memories
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import IDLE_SECONDS, Agent, async_agent
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text

VEGETARIAN = {"content": "Anna is vegetarian", "type": "preference", "importance": 0.8, "about": "speaker"}


def asks_for_notes(request: Captured) -> bool:
    """Return whether a request is the one for notes."""
    return "worth knowing in weeks" in str(request.messages[-1]["content"])


class Notes:
    """An agent whose model takes notes."""

    def __init__(self, agent: Agent, context: Context, freezer: FrozenDateTimeFactory) -> None:
        self.agent = agent
        self.context = context
        self._freezer = freezer

    @property
    def memories(self) -> Memories:
        """Return what is remembered."""
        memories: Memories = self.agent.entry.runtime_data.memories
        return memories

    @property
    def requests(self) -> list[Captured]:
        """Return the requests for notes."""
        return [request for request in self.agent.server.chats if asks_for_notes(request)]

    @property
    def contents(self) -> list[str]:
        """Return what is remembered."""
        return sorted(memory.content for memory in self.memories.all())

    @property
    def reasons(self) -> list[Reason]:
        """Return why something was not kept."""
        return [refused.reason for refused in self.agent.entry.runtime_data.extractor.refused]

    def takes(self, *notes: dict[str, Any] | str) -> None:
        """Let the model answer with these notes from now on."""
        self.agent.server.on(asks_for_notes, text(json.dumps({"memories": list(notes)})))

    def answers(self, reply: Reply) -> None:
        """Let the model answer requests for notes so."""
        self.agent.server.on(asks_for_notes, reply)

    async def say(self, sentence: str, **options: Any) -> None:
        """Say something and let the time pass in which nobody speaks."""
        self.agent.server.script([text("All right.")])
        await self.agent.say(sentence, **{"context": self.context, **options})
        await self.wait()

    async def wait(self, seconds: float = IDLE_SECONDS + 1) -> None:
        """Let time pass."""
        self._freezer.tick(timedelta(seconds=seconds))
        async_fire_time_changed(self.agent.hass)
        await self.agent.hass.async_block_till_done(wait_background_tasks=True)


@pytest.fixture
async def notes(hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory) -> Notes:
    """An agent with default options, spoken to by Anna."""
    agent = await async_agent(hass, model_server)
    anna = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    return Notes(agent, Context(user_id=anna.id), freezer)
