"""ha_control on an agent's home: which services each kind of device gets, and what the model reads of it."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.errors import ToolExecutionError
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant, ServiceCall, callback
from tests.helpers.agent import Agent, async_agent
from tests.helpers.tables import tables
from tests.helpers.turns import LIGHT
from tests.servers.model_server import ModelServer

TABLES = tables(__file__)

COUNTER = "light.kitchen_counter"
ASKED = ["lock", "alarm_control_panel", "valve", "siren", "cover", "automation"]
"""What would be asked about first."""


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent that may do everything at once."""
    return (await async_agent(hass, model_server, {"policy_allowed": ASKED})).at_satellite()


def add(hass: HomeAssistant, entity_id: str, state: str, attributes: dict[str, Any]) -> None:
    """Add an entity, or let it be something else from now on."""
    hass.states.async_set(entity_id, state, attributes)
    async_expose_entity(hass, "conversation", entity_id, True)


def serve(hass: HomeAssistant, service: str, act: Callable[[ServiceCall], Any]) -> None:
    hass.services.async_register(*service.split("."), callback(act))


async def test_each_domain_gets_its_own_services(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    for entity_id, state, attributes, args, expected, after in TABLES["domains"]:
        with subtests.test(entity_id=entity_id, args=args):
            made: list[Any] = []
            left = (after[0], {**attributes, **after[1]})

            def act(call: ServiceCall, made: list[Any] = made, left: Any = left) -> None:
                data = dict(call.data)
                made.append([call.service, data])
                hass.states.async_set(data.pop("entity_id")[0], *left)

            add(hass, entity_id, state, attributes)
            for service, _ in expected:
                serve(hass, f"{entity_id.partition('.')[0]}.{service}", act)
            result = await agent.call("ha_control", entity_id=entity_id, **args)
            assert result["error"] is None
            assert made == expected
            assert set(result["result"]["done"]) == {entity_id}


async def test_what_an_entity_cannot_do_is_said_before_any_call(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    calls = async_capture_events(hass, EVENT_CALL_SERVICE)
    for entity_id, state, attributes, args, reason in TABLES["refused"]:
        with subtests.test(entity_id=entity_id, args=args):
            add(hass, entity_id, state, attributes)
            assert reason in (await agent.call("ha_control", entity_id=entity_id, **args))["error"]
            assert calls == []


async def test_one_call_for_all_alike(hass: HomeAssistant, agent: Agent) -> None:
    calls = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await agent.call(
        "ha_control", "Kitchen lights on", action="turn_on", area="Kitchen", domain="light"
    )
    assert set(result["result"]["done"]) == {LIGHT, COUNTER}
    made = [event.data["service_data"] for event in calls if event.data["domain"] == "light"]
    assert [sorted(data["entity_id"]) for data in made] == [[LIGHT, COUNTER]]


async def test_what_did_not_happen_is_no_success(
    hass: HomeAssistant, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a device ignores, what it takes in part, and what it refuses, which is not tried again."""
    monkeypatch.setattr("custom_components.home_agent.tools.control.planning.SETTLE_SECONDS", 0.01)
    calls: list[ServiceCall] = []
    hass.services.async_register("light", "turn_on", lambda call: calls.append(call))  # noqa: PLW0108
    ignored = await agent.call("ha_control", action="turn_on", entity_id=LIGHT)
    assert "Kitchen Ceiling was told to turn_on but is still off" in ignored["error"]

    def dim(_call: ServiceCall) -> None:
        hass.states.async_set(LIGHT, "on", {"brightness": 77, "supported_color_modes": ["brightness"]})

    serve(hass, "light.turn_on", dim)
    other = await agent.call("ha_control", action="set_value", entity_id=LIGHT, brightness_pct=80)
    assert "told to set_value but is now on, 30%" in other["error"]

    def break_down(call: ServiceCall) -> None:
        calls.append(call)
        raise ValueError("bulb broken")

    calls.clear()
    serve(hass, "light.turn_on", break_down)
    broken = await agent.call("ha_control", action="turn_on", entity_id=COUNTER)
    assert "bulb broken. It is off" in broken["error"]
    assert len(calls) == 1


async def test_waits_for_a_state_that_comes_late(hass: HomeAssistant, agent: Agent) -> None:
    add(hass, "switch.coffee", "off", {})
    serve(
        hass,
        "switch.turn_on",
        lambda _call: hass.loop.call_later(0.05, lambda: hass.states.async_set("switch.coffee", "on")),
    )
    result = await agent.call("ha_control", action="turn_on", entity_id="switch.coffee")
    assert result["result"] == {"done": {"switch.coffee": "on"}}


async def test_a_group_stands_for_its_exposed_members(hass: HomeAssistant, agent: Agent) -> None:
    add(hass, "group.cooking", "off", {"entity_id": [LIGHT, COUNTER]})
    result = await agent.call("ha_control", action="turn_on", entity_id="group.cooking")
    assert set(result["result"]["done"]) == {LIGHT, COUNTER}
    add(hass, "group.cooking", "off", {"entity_id": ["lock.front_door"]})
    result = await agent.call("ha_control", action="turn_off", entity_id="group.cooking")
    assert "locks, covers" in result["error"]


async def test_does_not_run_outside_the_guard(hass: HomeAssistant, agent: Agent) -> None:
    with pytest.raises(ToolExecutionError, match="only through"):
        await agent.entry.runtime_data.handler.tools["ha_control"].async_call(hass, None, None)
