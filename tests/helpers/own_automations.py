"""A household whose automations are in a file, with an agent that writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_homeassistant_custom_component.common import MockUser
import yaml

from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import Group
from homeassistant.core import Context, HomeAssistant, ServiceCall, callback
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, speech
from tests.helpers.demo_house import async_demo_house
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply

PERSONS = ("Anna", "Tom", "Mia")
"""People with an account; Anna is the administrator."""


async def async_add_persons(hass: HomeAssistant, users: Mapping[str, MockUser]) -> None:
    people = [{"id": name.casefold(), "name": name, "user_id": user.id} for name, user in users.items()]
    assert await async_setup_component(hass, "zone", {})
    assert await async_setup_component(hass, "person", {"person": people})
    await hass.async_block_till_done()


async def async_include_automations(hass: HomeAssistant, folder: Path) -> None:
    hass.config.config_dir = str(folder)

    def write() -> None:
        (folder / "configuration.yaml").write_text("automation: !include automations.yaml\n")
        (folder / "automations.yaml").write_text("[]\n")

    await hass.async_add_executor_job(write)


async def async_read_automations(hass: HomeAssistant) -> int:
    """Return how many automations are in the file; none if there is no file."""
    path = Path(hass.config.path("automations.yaml"))

    def read() -> int:
        return len(yaml.safe_load(path.read_text()) or []) if path.exists() else 0

    return await hass.async_add_executor_job(read)


def add_users(hass: HomeAssistant) -> dict[str, MockUser]:
    """Add users, of whom Anna is an administrator."""
    group = Group(id=GROUP_ID_USER, name="Users", policy={"entities": True})
    return {
        name: MockUser(name=name, is_owner=name == "Anna", groups=[group]).add_to_hass(hass)
        for name in PERSONS
    }


@dataclass(slots=True)
class OwnHome:
    """The demo house with an agent."""

    hass: HomeAssistant
    agent: Agent
    users: dict[str, MockUser]
    folder: Path
    told: list[dict[str, Any]] = field(default_factory=list)
    """Messages that were sent to Anna's phone."""
    conversation_id: str | None = None

    async def say(self, text: str, *replies: Reply, who: str | None = "Anna", **options: Any) -> str:
        """Say a sentence, with what the model answers, and return what is spoken."""
        self.agent.server.clear()
        self.agent.server.script(replies)
        context = Context(user_id=self.users[who].id if who else None)
        answer = await self.agent.say(text, conversation_id=self.conversation_id, context=context, **options)
        self.conversation_id = answer.conversation_id
        return speech(answer)

    async def automations(self) -> list[dict[str, Any]]:
        written = await self.hass.async_add_executor_job((self.folder / "automations.yaml").read_text)
        return list(yaml.safe_load(written) or [])

    def shows(self, entity_id: str) -> str | None:
        state = self.hass.states.get(entity_id)
        return state.state if state else None

    async def restart(self) -> None:
        """Let Home Assistant read its automations again, and the agent what it keeps."""
        store = self.hass.data[DATA_SHARED].automations
        await store.async_flush()
        await self.hass.config_entries.async_unload(self.agent.entry.entry_id)
        store._entries.clear()
        await store.async_load()
        assert await self.hass.config_entries.async_setup(self.agent.entry.entry_id)
        await self.hass.services.async_call("automation", "reload", blocking=True)
        await self.hass.async_block_till_done(wait_background_tasks=True)
        self.conversation_id = None

    def own(self) -> list[str]:
        """Return the entities of the automations that were asked for."""
        states = self.hass.states.async_all("automation")
        return [
            state.entity_id for state in states if str(state.attributes.get("id")).startswith("home_agent_")
        ]


async def async_own_home(hass: HomeAssistant, server: ModelServer, folder: Path, **options: Any) -> OwnHome:
    """Set up the demo house with its persons, a phone of Anna's, and an agent."""
    await async_include_automations(hass, folder)
    users = add_users(hass)
    await async_demo_house(hass)
    await async_add_persons(hass, users)
    assert await async_setup_component(hass, "conversation", {})
    told: list[dict[str, Any]] = []

    @callback
    def note(call: ServiceCall) -> None:
        told.append(dict(call.data))

    hass.services.async_register("notify", "mobile_app_anna", note)
    agent = await async_add_agent(
        hass,
        server,
        {
            "memory_extraction_enabled": False,
            "notify_targets": [{"person": "person.anna", "targets": ["notify.mobile_app_anna"]}],
            **options,
        },
    )
    return OwnHome(hass, agent, users, folder, told)
