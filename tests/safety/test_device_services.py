"""Updates, groups of players and rooms of vacuums: who may call which service, judged by the guard."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.errors import PermissionDenied
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.safety.frozen import ServiceCall
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.checks import every
from tests.servers.model_server import ModelServer

HUB, CORE, HIDDEN = "update.hub", "update.core", "update.hidden"
PLAYERS = ("media_player.kitchen", "media_player.bath", "media_player.hidden")
VACUUM = "vacuum.robot"
SERVICES = (
    ("update", "install"),
    ("update", "skip"),
    ("update", "clear_skipped"),
    ("media_player", "join"),
    ("media_player", "unjoin"),
    ("music_assistant", "transfer_queue"),
    ("music_assistant", "play_announcement"),
    ("vacuum", "clean_area"),
    ("vacuum", "send_command"),
)
WITH_BATH = {"group_members": [PLAYERS[1]]}
WITH_HIDDEN = {"group_members": [PLAYERS[2]]}
FROM_BATH, FROM_HIDDEN = ({"source_player": player} for player in PLAYERS[1:])
ROOMS = {"cleaning_area_id": ["kitchen"]}

RUNS, ASKS = "", "needs a person's confirmation"
ADMINISTRATOR, HIDES, RIGHT = "Only an administrator", "not exposed", "may not control"

# service, entity, data, and what comes of it for each of WHO
MATRIX = [
    ("update.install", HUB, {}, (ASKS, ADMINISTRATOR, ADMINISTRATOR, ASKS)),
    ("update.install", HUB, {"backup": True}, (ASKS, ADMINISTRATOR, ADMINISTRATOR, ASKS)),
    ("update.install", CORE, {}, (ASKS, ADMINISTRATOR, ADMINISTRATOR, ADMINISTRATOR)),
    ("update.install", HIDDEN, {}, (HIDES, ADMINISTRATOR, ADMINISTRATOR, HIDES)),
    ("update.skip", HUB, {}, (RUNS, ADMINISTRATOR, ADMINISTRATOR, RUNS)),
    ("update.skip", CORE, {}, (RUNS, ADMINISTRATOR, ADMINISTRATOR, ADMINISTRATOR)),
    ("update.skip", HIDDEN, {}, (HIDES, ADMINISTRATOR, ADMINISTRATOR, HIDES)),
    ("update.clear_skipped", HUB, {}, (RUNS, ADMINISTRATOR, ADMINISTRATOR, RUNS)),
    ("update.clear_skipped", CORE, {}, (RUNS, ADMINISTRATOR, ADMINISTRATOR, ADMINISTRATOR)),
    ("media_player.join", PLAYERS[0], WITH_BATH, (RUNS, RUNS, RIGHT, RUNS)),
    ("media_player.join", PLAYERS[0], WITH_HIDDEN, (HIDES, HIDES, RIGHT, HIDES)),
    ("media_player.join", PLAYERS[2], WITH_BATH, (HIDES, HIDES, HIDES, HIDES)),
    ("media_player.unjoin", PLAYERS[1], {}, (RUNS, RUNS, RIGHT, RUNS)),
    ("media_player.unjoin", PLAYERS[2], {}, (HIDES, HIDES, HIDES, HIDES)),
    ("music_assistant.transfer_queue", PLAYERS[0], FROM_BATH, (RUNS, RUNS, RIGHT, RUNS)),
    ("music_assistant.transfer_queue", PLAYERS[0], FROM_HIDDEN, (HIDES, HIDES, RIGHT, HIDES)),
    ("music_assistant.transfer_queue", PLAYERS[2], FROM_BATH, (HIDES, HIDES, HIDES, HIDES)),
    ("music_assistant.play_announcement", PLAYERS[0], {"message": "x"}, ("not offered",) * 4),
    ("vacuum.clean_area", VACUUM, ROOMS, (RUNS, RUNS, RIGHT, RUNS)),
    ("vacuum.clean_area", VACUUM, {**ROOMS, "area_id": "bath"}, ("Targets",) * 4),
    ("vacuum.send_command", VACUUM, {"command": "x"}, ("not offered",) * 4),
]
WHO = ("administrator", "user", "reader", "unknown")


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent in a home with updates, players and a vacuum."""
    for component in ("homeassistant", "conversation"):
        assert await async_setup_component(hass, component, {})
    er.async_get(hass).async_get_or_create("update", "hassio", "core", suggested_object_id="core")
    for entity_id in (HUB, CORE, HIDDEN, *PLAYERS, VACUUM):
        hass.states.async_set(entity_id, "on")
        async_expose_entity(hass, "conversation", entity_id, not entity_id.endswith("hidden"))
    for domain, service in SERVICES:
        hass.services.async_register(domain, service, lambda _: None)
    return await async_add_agent(hass, model_server)


def speaker(hass: HomeAssistant, who: str) -> Speaker:
    """Return somebody who speaks."""
    user = None if who == "unknown" else MockUser(is_owner=who == "administrator").add_to_hass(hass)
    if user is not None:
        user.mock_policy({"entities": {"all": {POLICY_READ: True}} if who == "reader" else True})
    return Speaker(context=Context(user_id=user and user.id), language="en")


async def outcome(agent: Agent, call: ServiceCall, who: Speaker) -> str:
    """Return the error of a call that is refused; nothing if it was made."""
    made = async_capture_events(agent.hass, EVENT_CALL_SERVICE)
    try:
        await agent.entry.runtime_data.handler.guard.async_call_service(call, who)
    except PermissionDenied as error:
        assert made == []
        return str(error)
    assert [(event.data["domain"], event.data["service"]) for event in made] == [(call.domain, call.service)]
    return ""


def call_of(service: str, entity_id: str, data: dict[str, Any]) -> ServiceCall:
    """Return a call."""
    domain, _, name = service.partition(".")
    return ServiceCall(domain=domain, service=name, entity_ids=(entity_id,), data=data)


@pytest.mark.parametrize(("service", "entity_id", "data", "expected"), MATRIX, ids=str)
async def test_matrix(
    agent: Agent, service: str, entity_id: str, data: dict[str, Any], expected: tuple[str, ...]
) -> None:
    """Each service for each person; what is not made reaches nothing."""
    for who, why in zip(WHO, expected, strict=True):
        found = await outcome(agent, call_of(service, entity_id, data), speaker(agent.hass, who))
        assert (why in found) if why else not found, (who, found)


async def test_allowed_by_the_household(agent: Agent) -> None:
    """A rule lifts the question, not what Home Assistant reserves for administrators."""
    await agent.set_options(policy_allowed=["update.install"])
    for who, why in (("administrator", ""), ("unknown", ""), ("user", ADMINISTRATOR)):
        found = await outcome(agent, call_of("update.install", HUB, {}), speaker(agent.hass, who))
        assert (why in found) if why else not found, (who, found)
    found = await outcome(agent, call_of("update.install", CORE, {}), speaker(agent.hass, "unknown"))
    assert ADMINISTRATOR in found


@pytest.mark.parametrize("decision", ["never", "ask"])
async def test_rules_of_the_household(agent: Agent, decision: str) -> None:
    """Whatever would run without a question is stopped by a rule for its entity, or asked about."""
    free = [(service, entity_id, data) for service, entity_id, data, why in MATRIX if why[0] == RUNS]
    await agent.set_options(
        policy_choices=[{"decision": decision, "entities": [HUB, CORE, *PLAYERS, VACUUM]}]
    )
    for service, entity_id, data in every(free):
        for who in ("administrator", "unknown"):
            found = await outcome(agent, call_of(service, entity_id, data), speaker(agent.hass, who))
            assert found, (service, who)
            assert decision == "never" or who == "unknown" or ASKS in found, found


async def test_a_rule_for_a_speaker_that_plays_along(agent: Agent) -> None:
    """A speaker that the rules protect joins no group, whoever leads it, and no music is taken from it."""
    await agent.set_options(policy_choices=[{"decision": "never", "entities": [PLAYERS[1]]}])
    for service, data in (("media_player.join", WITH_BATH), ("music_assistant.transfer_queue", FROM_BATH)):
        call = call_of(service, PLAYERS[0], data)
        assert await outcome(agent, call, speaker(agent.hass, "administrator"))
