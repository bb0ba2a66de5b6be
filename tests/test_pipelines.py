"""Assistants that run commands before the agent is asked are reported when they are saved."""

from collections.abc import Mapping
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.const import DOMAIN
from homeassistant.components.assist_pipeline import async_get_pipelines
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.repair_dialogs import Dialogs, dialog, only  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer

DOOR = "lock.front_door"
NEW = {
    "conversation_language": "en",
    "language": "en",
    "name": "Hallway",
    "prefer_local_intents": True,
    "stt_engine": None,
    "stt_language": None,
    "tts_engine": None,
    "tts_language": None,
    "tts_voice": None,
    "wake_word_entity": None,
    "wake_word_id": None,
}
"""What Home Assistant's dialog saves for a new assistant, apart from its agent."""


class Assistants:
    """The assistants in Home Assistant's settings."""

    def __init__(self, hass: HomeAssistant, client: Any) -> None:
        self.hass = hass
        self._client = client

    async def send(self, action: str, **data: Any) -> dict[str, Any]:
        await self._client.send_json_auto_id({"type": f"assist_pipeline/pipeline/{action}", **data})
        answer = await self._client.receive_json()
        assert answer["success"], answer
        return dict(answer["result"] or {})

    async def create(self, agent: str, **changes: Any) -> str:
        created = await self.send("create", **{**NEW, "conversation_engine": agent, **changes})
        return str(created["id"])

    async def update(self, pipeline_id: str, agent: str, **changes: Any) -> None:
        await self.send("update", pipeline_id=pipeline_id, **{**NEW, "conversation_engine": agent, **changes})


@pytest.fixture
async def assistants(
    hass: HomeAssistant, model_server: ModelServer, hass_ws_client: WebSocketGenerator
) -> Assistants:
    assert await async_setup_component(hass, "homeassistant", {})
    for component in ("assist_pipeline", "repairs", "ai_task"):  # before the client: it starts the web server
        assert await async_setup_component(hass, component, {})
    return Assistants(hass, await hass_ws_client(hass))


def told(agent: Agent) -> Mapping[str, str] | None:
    """Return the names of the assistants that an issue reports as an error."""
    issue = ir.async_get(agent.hass).async_get_issue(DOMAIN, f"prefer_local_bypass_{agent.entry.entry_id}")
    if issue is None:
        return None
    assert issue.severity is ir.IssueSeverity.ERROR
    return issue.translation_placeholders


async def test_a_new_assistant(assistants: Assistants, agent: Agent) -> None:
    """It is reported before anything else happens, and no longer when the setting is off or it is deleted."""
    assert told(agent) is None
    first = await assistants.create(agent.entity_id)
    assert told(agent) == {"title": "Home Agent", "pipelines": "Hallway"}
    await assistants.update(first, agent.entity_id, prefer_local_intents=False)
    assert told(agent) is None
    second = await assistants.create(agent.entity_id, name="Kitchen")
    assert told(agent) == {"title": "Home Agent", "pipelines": "Kitchen"}
    await assistants.send("delete", pipeline_id=second)
    assert told(agent) is None


async def test_what_is_exposed_later(
    hass: HomeAssistant, model_server: ModelServer, assistants: Assistants, freezer: FrozenDateTimeFactory
) -> None:
    """A house with nothing to unlock needs no warning; the lock that is exposed later does."""

    async def expose(*, wanted: bool) -> None:
        async_expose_entity(hass, "conversation", DOOR, wanted)
        freezer.tick(1)
        async_fire_time_changed(hass)
        await hass.async_block_till_done(wait_background_tasks=True)

    agent = await async_agent(hass, model_server)
    await expose(wanted=False)
    await assistants.create(agent.entity_id)
    assert told(agent) is None
    await expose(wanted=True)
    assert told(agent) is not None
    await expose(wanted=False)
    assert told(agent) is None


@pytest.mark.parametrize(
    "options",
    [
        {"policy_restricted": ["light"]},
        {"policy_blocked": ["light.bed_light"]},
        {"policy_choices": [{"decision": "only", "kinds": ["light"], "whom": ["person.kim"]}]},
    ],
)
async def test_rules_that_are_made_later(
    hass: HomeAssistant, model_server: ModelServer, assistants: Assistants, options: dict[str, Any]
) -> None:
    """Rules of the household are passed by too, also those for one person."""
    agent = await async_agent(hass, model_server)
    async_expose_entity(hass, "conversation", DOOR, False)
    await assistants.create(agent.entity_id)
    assert told(agent) is None
    await agent.set_options(**options)
    assert told(agent) is not None


async def test_one_click(
    hass: HomeAssistant,
    model_server: ModelServer,
    assistants: Assistants,
    dialog: Dialogs,
    hass_admin_user: MockUser,
) -> None:
    """The click has the agent asked first, which then tries the built-in sentences within its rules."""
    agent = await async_agent(hass, model_server)
    await hass.services.async_call("lock", "lock", {"entity_id": DOOR}, blocking=True)
    await assistants.create(agent.entity_id)
    other = await assistants.create("conversation.home_assistant", name="Other")
    screen = await dialog()
    shown = await screen.open(only(hass, "prefer_local_bypass"))
    assert shown["description_placeholders"]["pipelines"] == "Hallway"
    assert (await screen.go_on(shown))["type"] == "create_entry"
    assert [item.id for item in async_get_pipelines(hass) if item.prefer_local_intents] == [other]
    assert told(agent) is None
    model_server.clear()
    assert agent.entry.options["local_first_enabled"] is True
    question = await agent.say("unlock the front door", context=Context(user_id=hass_admin_user.id))
    assert question.continue_conversation
    assert hass.states.get(DOOR).state == "locked"
    assert model_server.chats == []
