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
from tests.helpers.turns import LIGHT
from tests.servers.model_server import ModelServer

COUNTER = "light.kitchen_counter"
ALARM = "alarm_control_panel.home"
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
    """Let a service do this."""
    hass.services.async_register(*service.split("."), callback(act))


TV = {"supported_features": 4 | 8 | 32 | 128 | 1024 | 2048 | 16384, "source_list": ["HDMI 1", "Netflix"]}
type Row = tuple[
    str, str, dict[str, Any], dict[str, Any], list[tuple[str, dict[str, Any]]], tuple[str, dict[str, Any]]
]
DOMAINS: list[Row] = [
    ("media_player.tv", "off", TV, {"action": "turn_on", "source": "netflix"},
     [("turn_on", {}), ("select_source", {"source": "Netflix"})], ("on", {"source": "Netflix"})),
    ("media_player.tv", "on", {**TV, "volume_level": 0.2}, {"action": "set_volume", "volume": "50%"},
     [("volume_set", {"volume_level": 0.5})], ("on", {"volume_level": 0.5})),
    ("media_player.tv", "on", {**TV, "volume_level": 0.2}, {"action": "volume_up", "step": 10},
     [("volume_set", {"volume_level": 0.3})], ("on", {"volume_level": 0.3})),
    ("media_player.tv", "on", TV,
     {"action": "volume_up"}, [("volume_up", {})], ("on", {"volume_level": 0.3})),
    ("media_player.tv", "on", TV,
     {"action": "mute"}, [("volume_mute", {"is_volume_muted": True})], ("on", {})),
    ("media_player.tv", "paused", TV, {"action": "resume"}, [("media_play", {})], ("playing", {})),
    ("vacuum.robo", "docked", {"supported_features": 8192 | 32, "fan_speed_list": ["Quiet", "Max"]},
     {"action": "start", "fan_speed": "max"}, [("start", {}), ("set_fan_speed", {"fan_speed": "Max"})],
     ("cleaning", {"fan_speed": "Max"})),
    ("vacuum.robo", "cleaning", {"supported_features": 16}, {"action": "turn_off"},
     [("return_to_base", {})], ("returning", {})),
    ("lawn_mower.mo", "docked", {"supported_features": 1}, {"action": "start"},
     [("start_mowing", {})], ("mowing", {})),
    ("valve.garden", "closed", {"supported_features": 7}, {"action": "open", "position": 40},
     [("set_valve_position", {"position": 40})], ("open", {"current_position": 40})),
    ("lock.door", "locked", {"supported_features": 1},
     {"action": "open"}, [("open", {})], ("opening", {})),
    ("lock.door", "locked", {}, {"action": "unlock", "code": 1234}, [("unlock", {"code": "1234"})],
     ("unlocking", {})),
    ("alarm_control_panel.home", "disarmed", {"supported_features": 2}, {"action": "arm_away"},
     [("alarm_arm_away", {})], ("arming", {})),
    ("humidifier.air", "off", {"min_humidity": 30, "max_humidity": 60},
     {"action": "turn_on", "humidity": 45}, [("turn_on", {}), ("set_humidity", {"humidity": 45})],
     ("on", {"humidity": 45})),
    ("humidifier.air", "on", {"supported_features": 1, "available_modes": ["eco", "baby"], "mode": "eco"},
     {"action": "set_humidity", "humidity": 45, "mode": "baby"},
     [("set_mode", {"mode": "baby"}), ("set_humidity", {"humidity": 45})],
     ("on", {"humidity": 45, "mode": "baby"})),
    ("water_heater.tank", "eco", {"supported_features": 1 | 4, "away_mode": "on"},
     {"action": "set_temperature", "temperature": 50, "away_mode": False},
     [("set_away_mode", {"away_mode": False}), ("set_temperature", {"temperature": 50})],
     ("eco", {"temperature": 50, "away_mode": "off"})),
    ("water_heater.tank", "eco", {"supported_features": 3, "operation_list": ["eco", "performance"]},
     {"action": "set_preset", "mode": "Performance"},
     [("set_operation_mode", {"operation_mode": "performance"})], ("performance", {})),
    ("siren.roof", "off", {"supported_features": 1 | 2 | 16}, {"action": "turn_on", "duration": 5},
     [("turn_on", {"duration": 5})], ("on", {})),
    ("number.speed", "3", {"min": 0, "max": 10, "step": 0.5}, {"action": "decrease"},
     [("set_value", {"value": 2.5})], ("2.5", {})),
    ("date.day", "2026-01-01", {}, {"action": "set_value", "value": "2026-03-29"},
     [("set_value", {"date": "2026-03-29"})], ("2026-03-29", {})),
    ("cover.blind", "open", {"supported_features": 15, "current_position": 50},
     {"action": "decrease", "step": "15%"}, [("set_cover_position", {"position": 35})],
     ("open", {"current_position": 35})),
    ("light.strip", "on", {"supported_color_modes": ["color_temp"], "min_color_temp_kelvin": 2700},
     {"action": "set_value", "color_temp": "candle"}, [("turn_on", {"color_temp_kelvin": 2700})],
     ("on", {"color_temp_kelvin": 2700})),
    ("light.strip", "on", {"supported_color_modes": ["brightness"]}, {"action": "decrease"},
     [("turn_on", {"brightness_step_pct": -20})], ("on", {"brightness": 100})),
    ("fan.air", "on", {"supported_features": 1, "percentage": 33}, {"action": "increase"},
     [("increase_speed", {})], ("on", {"percentage": 66})),
    ("fan.air", "off", {"supported_features": 3, "percentage": 0},
     {"action": "turn_on", "percentage": 66, "oscillate": "yes"},
     [("turn_on", {"percentage": 66}), ("oscillate", {"oscillating": True})],
     ("on", {"percentage": 66, "oscillating": True})),
    ("light.strip", "on", {"supported_color_modes": ["brightness"]},
     {"action": "set_value", "brightness_pct": 0}, [("turn_off", {})], ("off", {})),
    ("climate.flat", "off", {"supported_features": 1, "hvac_modes": ["off", "heat"]},
     {"action": "set_temperature", "temperature": "21,5 °C", "hvac_mode": "HEAT"},
     [("set_hvac_mode", {"hvac_mode": "heat"}), ("set_temperature", {"temperature": 21.5})],
     ("heat", {"temperature": 21.5})),
    ("cover.blind", "open", {"supported_features": 3}, {"action": "set_value", "position": 0},
     [("close_cover", {})], ("closing", {})),
    ("timer.eggs", "idle", {}, {"action": "start", "duration": "5 minutes"},
     [("start", {"duration": 300})], ("active", {})),
    ("input_datetime.alarm", "06:00:00", {}, {"action": "set_value", "time": "06:30"},
     [("set_datetime", {"time": "06:30:00"})], ("06:30:00", {})),
    ("counter.cups", "0", {}, {"action": "increase"}, [("increment", {})], ("1", {})),
    ("automation.night", "on", {}, {"action": "turn_off"}, [("turn_off", {})], ("off", {})),
    ("button.bell", "unknown", {},
     {"action": "press"}, [("press", {})], ("2026-03-29T10:00:00+00:00", {})),
    ("text.note", "", {}, {"action": "set_value", "value": "milk"}, [("set_value", {"value": "milk"})],
     ("milk", {})),
]  # fmt: skip
"""An entity, its state and attributes, a call, the services that it becomes, and what they leave behind."""


async def test_each_domain_gets_its_own_services(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    for entity_id, state, attributes, args, expected, after in DOMAINS:
        with subtests.test(entity_id=entity_id, args=args):
            made: list[tuple[str, dict[str, Any]]] = []

            def act(
                call: ServiceCall,
                row: Row = (entity_id, state, attributes, args, expected, after),
                made: list[Any] = made,
            ) -> None:
                made.append(
                    (call.service, {key: value for key, value in call.data.items() if key != "entity_id"})
                )
                hass.states.async_set(row[0], row[5][0], {**row[2], **row[5][1]})

            add(hass, entity_id, state, attributes)
            for service, _ in expected:
                serve(hass, f"{entity_id.partition('.')[0]}.{service}", act)
            result = await agent.call("ha_control", entity_id=entity_id, **args)
            assert result["error"] is None
            assert made == expected
            assert set(result["result"]["done"]) == {entity_id}


LOCKS, COVERS = "lock, unlock", "open, close"
REFUSED: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
    ("media_player.tv", "on", {}, {"action": "volume_up"}, "does not support volume_up"),
    ("media_player.tv", "on", TV, {"action": "select_source", "source": "Radio"}, "one of HDMI 1, Netflix"),
    ("vacuum.robo", "docked", {}, {"action": "start"}, "does not support start"),
    ("climate.flat", "heat", {"supported_features": 1, "max_temp": 35},
     {"action": "set_temperature", "temperature": 90}, "above 35"),
    ("climate.flat", "off", {}, {"action": "increase"}, "does not support increase"),
    ("number.speed", "unknown", {}, {"action": "increase"}, "no value to raise or lower"),
    ("sensor.heat", "3", {}, {"action": "turn_on"}, "cannot be controlled"),
    ("todo.list", "3", {}, {"action": "turn_on"}, "cannot be controlled"),
    ("light.strip", "on", {"supported_color_modes": ["onoff"]}, {"action": "increase"}, "cannot be dimmed"),
    ("light.strip", "on", {"supported_color_modes": ["rgb"]},
     {"action": "turn_on", "color": "red", "color_temp": "warm"}, "only one of"),
    ("light.strip", "off", {}, {"action": "unlock"}, "turn_on, turn_off"),
    ("lock.door", "locked", {}, {"action": "open"}, "does not support open"),
    *(("lock.door", "locked", {}, {"action": action}, LOCKS) for action in ("turn_off", "turn_on", "toggle")),
    ("cover.garage", "closed", {"supported_features": 3}, {"action": "turn_on"}, COVERS),
    ("cover.garage", "open", {"supported_features": 3}, {"action": "turn_off"}, COVERS),
    ("cover.garage", "closed", {"supported_features": 3, "device_class": "garage"}, {"action": "toggle"},
     "say open or close"),
    ("cover.garage", "closed", {"supported_features": 3}, {"action": "set_position", "position": 30},
     "does not support position"),
    *((ALARM, "disarmed", {"supported_features": 3}, {"action": action}, "arm_home, arm_away")
      for action in ("turn_on", "turn_off", "toggle")),
    (ALARM, "disarmed", {"supported_features": 3}, {"action": "arm_night"}, "does not support arm_night"),
]  # fmt: skip
"""What an entity cannot do, with what the model reads: no action ever means another."""


async def test_what_an_entity_cannot_do_is_said_before_any_call(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    calls = async_capture_events(hass, EVENT_CALL_SERVICE)
    for entity_id, state, attributes, args, reason in REFUSED:
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
