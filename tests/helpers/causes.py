"""The demo house with a recorder and people, and what a model reads of the causes of changes."""

from dataclasses import dataclass
from typing import Any

from pytest_homeassistant_custom_component.common import MockUser

from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import Group
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import get_instance
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.recorder import DATA_INSTANCE
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.demo_house import async_demo_house
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

HALL = "light.hallway"
MOTION = "binary_sensor.hallway_motion"
VISITOR = "sensor.visitor"
"""What somebody outside has written."""
MORE = {
    "automation": [
        {
            "id": "hall_by_day",
            "alias": "Hall by day",
            "triggers": {"trigger": "state", "entity_id": MOTION, "to": "on"},
            "actions": {"action": "light.turn_on", "target": {"entity_id": HALL}},
        },
        {
            "id": "visitors",
            "alias": "Visitors",
            "triggers": {"trigger": "state", "entity_id": "input_boolean.guests", "to": "on"},
            "actions": {"action": "script.welcome"},
        },
        {
            "id": "bell",
            "alias": "Bell",
            "triggers": {"trigger": "state", "entity_id": VISITOR},
            "actions": {"action": "light.toggle", "target": {"entity_id": "light.terrace"}},
        },
        {
            "id": "afternoon",
            "alias": "Afternoon",
            "triggers": {"trigger": "time", "at": "15:00:00"},
            "actions": {"action": "scene.turn_on", "target": {"entity_id": "scene.movie_night"}},
        },
    ],
    "script": {
        "welcome": {
            "alias": "Welcome",
            "sequence": [
                {"action": "light.turn_on", "target": {"entity_id": "light.desk_lamp"}},
                {"action": "light.turn_on", "target": {"area_id": "hallway"}},
            ],
        }
    },
}
"""Automations and a script that run at once, at any time of day."""
PEOPLE = {"anna": True, "tom": False}
"""People with an account, and whether they are administrators."""


@dataclass(slots=True)
class CauseHouse:
    """A recorded demo house with people."""

    hass: HomeAssistant
    agent: Agent
    users: dict[str, MockUser]

    def by(self, person: str) -> Context:
        """Return a context of a person, as that of a tap in the app."""
        return Context(user_id=self.users[person].id)

    async def call(self, action: str, entity_id: str, context: Context | None = None, **data: Any) -> None:
        """Call a service, as its caller does, and wait until all that follows is done."""
        domain, _, service = action.partition(".")
        await self.hass.services.async_call(
            domain, service, {"entity_id": entity_id, **data}, blocking=True, context=context or Context()
        )
        await self.settle()

    async def become(self, entity_id: str, state: str, context: Context | None = None) -> None:
        """Let a device report another state by itself."""
        now = self.hass.states.get(entity_id)
        assert now is not None, entity_id
        self.hass.states.async_set(entity_id, state, now.attributes, context=context)
        await self.settle()

    async def settle(self) -> None:
        """Wait for automations and for the recorder."""
        await self.hass.async_block_till_done()
        if DATA_INSTANCE in self.hass.data:
            await get_instance(self.hass).async_block_till_done()

    async def read(
        self,
        tool: str = "ha_query",
        /,
        *,
        speaker: str | None = "anna",
        sentence: str = "Why did that happen?",
        **args: Any,
    ) -> Any:
        """Ask something and return what the model reads of its call; None means an unknown voice."""
        self.agent.server.clear()
        self.agent.server.script([tool_calls([(tool, args)]), text("I looked.")])
        agent = self.agent if speaker else self.agent.at_satellite()
        await agent.say(sentence, context=self.by(speaker) if speaker else None)
        return tool_results(self.agent.server.chats[-1])[-1]

    async def why(self, entity_id: str, **args: Any) -> Any:
        """Return what the model reads of the last change of an entity."""
        result = await self.read(entity_id=entity_id, why=True, **args)
        assert result["success"], result["error"]
        return result["result"]["why"][entity_id][-1]


async def async_cause_house(hass: HomeAssistant, server: ModelServer, **data: Any) -> CauseHouse:
    """Set up the demo house, its people and an agent."""
    await async_demo_house(hass, MORE)
    assert await async_setup_component(hass, "conversation", {})
    assert await async_setup_component(hass, "input_boolean", {"input_boolean": {"guests": {}}})
    group = Group(id=GROUP_ID_USER, name="Users", policy={"entities": True})
    users = {
        name: MockUser(name=name.title(), is_owner=is_admin, groups=[group]).add_to_hass(hass)
        for name, is_admin in PEOPLE.items()
    }
    people = [{"id": name, "name": name.title(), "user_id": user.id} for name, user in users.items()]
    assert await async_setup_component(hass, "person", {"person": people})
    async_expose_entity(hass, "conversation", "input_boolean.guests", True)
    await hass.async_block_till_done()
    agent = await async_add_agent(hass, server, {"memory_extraction_enabled": False}, **data)
    house = CauseHouse(hass, agent, users)
    await house.settle()
    return house
