"""The page about oneself: for everybody, with one's own data only."""

from collections.abc import Awaitable, Callable
import json
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import CLIENT_ID, MockUser
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.memory.records import ProfileEntry
from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util.ulid import ulid_now
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.panel import Panel
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

HALL = ("ha_control", {"action": "turn_on", "entity_id": "light.hall"})
UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
LATER = ("ha_control", {"action": "turn_on", "entity_id": "light.hall", "when": "10 minutes"})
TIMER = ("timer", {"action": "set", "when": "10 minutes", "name": "tea"})
NOTE = ("update_user_profile", {"category": "diet", "key": "style", "value": "vegetarian"})

type Opening = Callable[[MockUser], Awaitable[Panel]]


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse) -> Agent:
    """An agent that asks the model each time and learns nothing by itself."""
    assert await async_setup_component(hass, "websocket_api", {})
    return await async_add_agent(
        hass, model_server, {"memory_extraction_enabled": False, "quick_confirmations": False}
    )


@pytest.fixture
async def anna(hass: HomeAssistant) -> MockUser:
    """A user who is no administrator."""
    return await _user(hass, "Anna")


@pytest.fixture
async def ben(hass: HomeAssistant) -> MockUser:
    """Another one."""
    return await _user(hass, "Ben")


@pytest.fixture
def opened(hass: HomeAssistant, agent: Agent, hass_ws_client: WebSocketGenerator) -> Opening:
    """Return what opens the panel as a user."""

    async def open_as(user: MockUser) -> Panel:
        token = await hass.auth.async_create_refresh_token(
            user, CLIENT_ID, client_name=ulid_now(), token_type=TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN
        )
        return Panel(await hass_ws_client(hass, hass.auth.async_create_access_token(token)), agent)

    return open_as


async def test_everybody_sees_their_own(agent: Agent, opened: Opening, anna: MockUser, ben: MockUser) -> None:
    """Memories, profile, timers, planned commands and actions of the one who looks, and of nobody else."""
    await _live(agent, anna, "Anna likes tea")
    await _live(agent, ben, "Ben likes coffee")
    mine = await (await opened(anna)).get("mine")
    assert [memory["content"] for memory in mine["memories"]] == ["Anna likes tea"]
    assert [entry["value"] for entry in mine["profile"]] == ["vegetarian"]
    assert [timer["name"] for timer in mine["timers"]] == ["tea"]
    assert [planned["service"] for planned in mine["planned"]] == ["light.turn_on"]
    assert [entry["service"] for entry in mine["actions"]] == ["light.turn_on"]
    assert mine["actions"][0]["names"] == ["Hall"]
    assert mine["name"] == "Anna"
    assert ben.id not in json.dumps(mine)
    assert "coffee" not in json.dumps(mine)


async def test_nobody_reaches_what_others_have(
    agent: Agent, opened: Opening, anna: MockUser, ben: MockUser
) -> None:
    """Not by an id that was found out either: it is as if it did not exist."""
    await _live(agent, ben, "Ben likes coffee")
    theirs = await (await opened(ben)).get("mine")
    panel = await opened(anna)
    for command, key, row in (
        ("mine/memory/delete", "memory_id", theirs["memories"][0]),
        ("mine/profile/delete", "profile_id", theirs["profile"][0]),
        ("mine/timer/cancel", "timer_id", theirs["timers"][0]),
        ("mine/planned/cancel", "planned_id", theirs["planned"][0]),
    ):
        answer = await panel.ask(command, **{key: row["id"]})
        assert answer["error"]["translation_key"] == "memory_unknown"
    undone = await panel.ask("undo", turn_id=theirs["actions"][0]["turn_id"])
    assert undone["error"]["translation_key"] == "nothing_to_undo"
    assert await (await opened(ben)).get("mine") == theirs


async def test_adding_and_ending(agent: Agent, opened: Opening, anna: MockUser) -> None:
    """A memory is added for oneself; everything can be deleted, canceled and undone."""
    await _live(agent, anna, "Anna likes tea")
    panel = await opened(anna)
    added = await panel.get("mine/memory/add", content="Anna plays chess", private=True)
    mine = await panel.get("mine")
    (chess,) = (memory for memory in mine["memories"] if memory["id"] == added["memory_id"])
    assert (chess["private"], chess["name"]) == (True, "Anna")
    for memory in mine["memories"]:
        await panel.get("mine/memory/delete", memory_id=memory["id"])
    await panel.get("mine/profile/delete", profile_id=mine["profile"][0]["id"])
    await panel.get("mine/timer/cancel", timer_id=mine["timers"][0]["id"])
    await panel.get("mine/planned/cancel", planned_id=mine["planned"][0]["id"])
    assert mine["actions"][0]["undoable"]
    await panel.get("undo", turn_id=mine["actions"][0]["turn_id"])
    assert agent.hass.states.get("light.hall").state == "off"
    mine = await panel.get("mine")
    assert [mine[name] for name in ("memories", "profile", "timers", "planned")] == [[], [], [], []]
    assert not any(entry["undoable"] for entry in mine["actions"])


async def test_only_questions_that_one_may_answer_are_shown(
    agent: Agent, secure: SecureHouse, opened: Opening, anna: MockUser, ben: MockUser
) -> None:
    """A question to one person is not shown to another one, who can neither confirm nor reject it."""
    agent.server.script([tool_calls([UNLOCK])])
    await agent.say("Unlock the front door", context=Context(user_id=ben.id))
    panel = await opened(anna)
    assert (await panel.get("confirmations"))["actions"] == []
    theirs = await opened(ben)
    (waiting,) = (await theirs.get("confirmations"))["actions"]
    for command in ("confirm", "reject"):
        refused = await panel.ask(command, action_id=waiting["id"])
        assert refused["error"]["translation_key"] == "confirmation_not_yours"
    await theirs.get("confirm", action_id=waiting["id"])
    assert secure.moved() == [("lock.unlock", ("lock.front_door",))]


async def _user(hass: HomeAssistant, name: str) -> MockUser:
    group = await hass.auth.async_get_group(GROUP_ID_USER)
    return MockUser(name=name, groups=[group]).add_to_hass(hass)


async def _live(agent: Agent, user: MockUser, memory: str) -> None:
    context: dict[str, Any] = {"context": Context(user_id=user.id)}
    data = {"content": memory, "person": user.id}
    await agent.hass.services.async_call(
        DOMAIN, "add_memory", data, blocking=True, return_response=True, **context
    )
    agent.hass.states.async_set(
        "light.hall", "off", agent.hass.states.get("light.hall").attributes, force_update=True
    )
    for call, sentence in (
        (NOTE, "I am vegetarian"),
        (TIMER, "Set a tea timer for ten minutes"),
        (LATER, "Turn on the hall light in ten minutes"),
        (HALL, "Turn on the hall light"),
    ):
        agent.server.script([tool_calls([call]), text("Done.")])
        await agent.say(sentence, **context)
    profile: list[ProfileEntry] = agent.entry.runtime_data.profile.records()
    assert [entry for entry in profile if user.id in str(entry.person)]
