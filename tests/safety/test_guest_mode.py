"""Guest mode: one switch, until noon of the next day, for whoever speaks without an account."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_fire_time_changed,
    mock_restore_cache,
)

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity, async_should_expose
from homeassistant.components.switch.const import DATA_COMPONENT
from homeassistant.core import Context, HomeAssistant, State
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse, ask, pending_ids

SWITCH = "switch.home_agent_guest_mode"
RULE = {"decision": "never", "kinds": ["lock"], "whom": ["guest_mode"]}
EVENING = datetime(2026, 7, 15, 20, tzinfo=ZoneInfo("Europe/Berlin"))
NOON = "2026-07-16T10:00:00+00:00"
OWNED = {"device_persons": [{"device": "annas", "person": "person.anna"}]}


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse, freezer: FrozenDateTimeFactory) -> SecureHouse:
    """Return the house in the evening, with a person who owns a satellite."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to(EVENING)
    attributes = {"user_id": secure.anna.id, "id": "anna", "friendly_name": "Anna"}
    hass.states.async_set("person.anna", "home", attributes)
    for service in ("turn_on", "turn_off"):  # those of the house only note the call
        hass.data[DATA_COMPONENT].async_register_entity_service(service, None, f"async_{service}")
    return secure


async def turn(hass: HomeAssistant, to: str, **more: Any) -> State:
    """Turn guest mode on or off; return its state."""
    await hass.services.async_call("switch", f"turn_{to}", {"entity_id": SWITCH}, blocking=True, **more)
    found = hass.states.get(SWITCH)
    assert found
    return found


async def unlock(agent: Agent, **came: Any) -> str:
    """Have the front door unlocked; return what became of it."""
    call = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
    await ask(agent, call, **came)
    asked = bool(pending_ids(agent.hass))
    await agent.entry.runtime_data.confirmations.async_stop()
    return "asked" if asked else "refused"


def shown_to_model(agent: Agent) -> str:
    """Return the last request, with all that the model got."""
    return str(agent.server.chats[0].json["messages"])


async def test_until_noon_of_the_next_day(
    hass: HomeAssistant, secure: SecureHouse, freezer: FrozenDateTimeFactory
) -> None:
    """It says until when, ends by itself, and both are in the activity with who did it."""
    agent = await secure.async_with({"policy_choices": [RULE]})
    assert hass.states.get(SWITCH).state == "off"
    assert await unlock(agent) == "asked"
    on = await turn(hass, "on", context=Context(user_id=secure.anna.id))
    assert (on.state, on.attributes["until"]) == ("on", NOON)
    assert await unlock(agent) == "refused"
    assert await unlock(agent, context=Context(user_id=secure.ben.id)) == "asked"
    for moment, state in ((timedelta(hours=15, minutes=59), "on"), (timedelta(hours=16), "off")):
        freezer.move_to(EVENING + moment)
        async_fire_time_changed(hass)
        await hass.async_block_till_done()
        assert hass.states.get(SWITCH).state == state
    assert "until" not in hass.states.get(SWITCH).attributes
    assert await unlock(agent) == "asked"
    entries = agent.entry.runtime_data.handler.guard.journal.entries(9, "action")
    rows = [(one["service"], one["targets"], one.get("user_id")) for one in entries]
    assert rows == [
        ("switch.turn_off", [SWITCH], None),
        ("switch.turn_on", [SWITCH], secure.anna.id),
    ]


async def test_the_owner_of_a_satellite_is_not_assumed(hass: HomeAssistant, secure: SecureHouse) -> None:
    """A guest at Anna's satellite is not taken for her; what is forbidden to her stays forbidden there."""
    never = {"decision": "never", "kinds": ["lock"], "whom": ["person.anna"]}
    agent = await secure.async_with({"policy_choices": [never], **OWNED})
    for to, is_named in (("off", True), ("on", False)):
        await turn(hass, to)
        assert await unlock(agent, device_id="annas") == "refused"
        assert ("Speaker: Anna" in shown_to_model(agent)) is is_named
    await unlock(agent, device_id="annas", context=Context(user_id=secure.anna.id))
    assert "Speaker: Anna" in shown_to_model(agent)


@pytest.mark.parametrize(("until", "state"), [(NOON, "on"), ("2026-07-15T10:00:00+00:00", "off")])
async def test_a_restart(hass: HomeAssistant, secure: SecureHouse, until: str, state: str) -> None:
    """It goes on after a restart, unless its time has passed meanwhile."""
    mock_restore_cache(hass, [State(SWITCH, "on", {"until": until})])
    agent = await secure.async_with({"policy_choices": [RULE]})
    assert hass.states.get(SWITCH).state == state
    assert await unlock(agent) == ("refused" if state == "on" else "asked")


async def test_a_power_cut(hass: HomeAssistant, secure: SecureHouse, hass_storage: dict[str, Any]) -> None:
    """It is written at once."""
    await secure.async_with()
    await turn(hass, "on")
    stored = hass_storage["core.restore_state"]["data"]
    assert [one["state"]["attributes"]["until"] for one in stored if one["state"]["entity_id"] == SWITCH] == [
        NOON
    ]


async def test_only_an_administrator_turns_it_off_by_talking(
    hass: HomeAssistant, secure: SecureHouse
) -> None:
    """It is not exposed; where it is, guests and others cannot reach it through the agent."""
    agent = await secure.async_with()
    assert not async_should_expose(hass, "conversation", SWITCH)
    async_expose_entity(hass, "conversation", SWITCH, True)
    owner = MockUser(is_owner=True).add_to_hass(hass)
    await turn(hass, "on")
    call = ("ha_control", {"action": "turn_off", "entity_id": SWITCH})
    for user, state in ((None, "on"), (secure.anna, "on"), (owner, "off")):
        await ask(agent, call, said="Guest mode off", context=Context(user_id=user.id if user else None))
        assert hass.states.get(SWITCH).state == state
