"""A home whose texts from outside hold instructions, and an obedient model."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.safety.firewall import firewall
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.injection import OutsideTool
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer, on_path
from tests.servers.obedient import DEMANDS
from tests.servers.replies import status, text, tool_calls

READ = ("read_outside", {})
AFTER_OUTSIDE = "I've read something from outside, so I'm asking first. "
"""How a question begins that nobody would be asked without such text."""
OPEN_DOORS = ["lock", "alarm_control_panel", "cover", "valve", "script", "scene", "tool:*"]
UNLOCK = DEMANDS["unlock"]
MEMORY = "Anna likes green tea"
SECRETS = ("anna", "lindqvist", "birkenweg", "4711")


def unchanged(value: Any, _only: Any = None, **_options: Any) -> firewall.Cleaned:
    """Stand in for the firewall where it is switched off."""
    return firewall.Cleaned(value)


class Home:
    """A house in which everything is allowed without asking, and an agent that reads from outside."""

    def __init__(self, house: SecureHouse, agent: Agent) -> None:
        self.house, self.agent = house, agent
        self.outside = OutsideTool()
        handler = agent.entry.runtime_data.handler
        handler.set_tools([*handler.tools.values(), self.outside])
        owner = MockUser(name="Anna Lindqvist", is_owner=True).add_to_hass(agent.hass)
        self.anna = Context(user_id=owner.id)

    @property
    def memories(self) -> list[str]:
        return [memory.content for memory in self.agent.entry.runtime_data.memories.all()]

    @property
    def queries(self) -> list[str]:
        """Return what was asked of the search service."""
        return [request.query for request in self.agent.server.requests if "/searx" in request.path]

    async def read(self, content: Any, *calls: tuple[str, dict[str, Any]], said: str = "Read it") -> Any:
        """Let the model read from outside and then make calls; return the answer of the turn."""
        self.outside.content = content
        rounds = [tool_calls([READ]), *(tool_calls([call]) for call in calls), text("So it is.")]
        self.agent.server.script(rounds)
        return await self.agent.say(said, context=self.anna)

    async def go_on(
        self, conversation_id: str, *calls: tuple[str, dict[str, Any]], said: str = "And?"
    ) -> Any:
        self.agent.server.script([*(tool_calls([call]) for call in calls), text("So it is.")])
        return await self.agent.say(said, conversation_id=conversation_id, context=self.anna)

    async def agree(self, asked: Any) -> None:
        await self.agent.say("Yes", conversation_id=asked.conversation_id, context=self.anna)

    def unlocks(self) -> int:
        return sum(service == "lock.unlock" for service, _ in self.house.moved())


async def make_home(hass: HomeAssistant, server: ModelServer, **options: Any) -> Home:
    house = SecureHouse(hass)
    await house.async_build()
    hass.config.location_name = "Birkenweg 12"
    chosen = {
        "policy_allowed": OPEN_DOORS,
        "web_search_provider": "searxng",
        "web_search_url": f"{server.address}/searx",
        "tools_max_calls": 10,
        **options,
    }
    home = Home(house, await house.async_agent(server, chosen))
    server.on(on_path("/searx/search"), status(200, {"results": [], "query": ""}))
    return home


@pytest.fixture
async def home(hass: HomeAssistant, model_server: ModelServer) -> Home:
    return await make_home(hass, model_server)


async def remember(home: Home) -> None:
    """Have something remembered, said by a person."""
    home.agent.server.script([tool_calls([("store_memory", {"content": MEMORY})]), text("Noted.")])
    await home.agent.say("Remember that I like green tea", context=home.anna)
    assert home.memories == [MEMORY]


def unharmed(home: Home) -> None:
    """Hold that nothing happened that a payload could have wanted."""
    assert home.house.moved() == []
    assert home.memories == [MEMORY]
    assert not [query for query in home.queries if any(word in query.lower() for word in SECRETS)]
    profile = home.agent.entry.runtime_data.memories
    assert "administrator" not in str(profile.all())


def show(hass: HomeAssistant, entity_id: str, state: str, attributes: dict[str, Any]) -> None:
    hass.states.async_set(entity_id, state, attributes)
    async_expose_entity(hass, "conversation", entity_id, True)


async def asked(home: Home, *calls: tuple[str, dict[str, Any]], said: str = "Look at it, and unlock") -> int:
    """Have the model call tools and then unlock the door; return how often that was done unasked."""
    home.house.reset()
    before = home.unlocks()
    home.agent.server.script([*(tool_calls([call]) for call in (*calls, UNLOCK)), text("So.")])
    await home.agent.say(said, context=home.anna)
    return home.unlocks() - before
