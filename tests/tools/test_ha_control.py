"""ha_control on real entities: what is called, and what is said of it."""

import asyncio
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.errors import ToolExecutionError, ValidationError
from custom_components.home_agent.tools.base import PartlyFailed, TargetsFailed
from homeassistant.components.cover import CoverDeviceClass
from homeassistant.components.light import ColorMode
from homeassistant.core import HomeAssistant, ServiceCall, callback
from tests.helpers.control_house import Blind, Bolt, Control, Lamp, Plug, Thermostat, Ventilator, async_set_up

ALARM = "alarm_control_panel.home"


@pytest.fixture
async def control(house: HomeAssistant) -> Control:
    """Return the tool in a house with a bit of everything."""
    await async_set_up(
        house,
        "light",
        [
            Lamp("Kitchen", ColorMode.BRIGHTNESS),
            Lamp("Counter", ColorMode.BRIGHTNESS),
            Lamp("Switchable", ColorMode.ONOFF),
            Lamp("Deaf Lamp", deaf=True),
            Lamp("Colour Bulb"),
        ],
    )
    await async_set_up(house, "switch", [Plug("Coffee")])
    await async_set_up(
        house,
        "cover",
        [
            Blind("Curtain", CoverDeviceClass.CURTAIN),
            Blind("Garage", CoverDeviceClass.GARAGE, positions=False),
        ],
    )
    await async_set_up(house, "lock", [Bolt("Front Door")])
    await async_set_up(house, "climate", [Thermostat("Heating")])
    await async_set_up(house, "fan", [Ventilator("Ventilator")])
    return Control(house)


async def test_only_what_is_as_before_is_unchanged(control: Control) -> None:
    for color, part in (("red", "done"), ("blue", "done"), ("blue", "unchanged")):
        result = await control(action="turn_on", name="colour bulb", parameters={"color": color})
        assert result.keys() == {part}
    assert result == {"unchanged": {"light.colour_bulb": "on, 100%, #0000ff"}}


async def test_one_call_for_all_alike(control: Control) -> None:
    result = await control("kitchen lights", action="turn_on", area="Kitchen", domain="light")
    assert set(result["done"]) == {"light.kitchen", "light.counter", "light.switchable"}
    assert len(control.calls) == 1
    assert control.calls[0][2] == ("light.counter", "light.kitchen", "light.switchable")


async def test_no_success_is_claimed_for_what_did_not_happen(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custom_components.home_agent.tools.control.planning.SETTLE_SECONDS", 0.01)
    with pytest.raises(ToolExecutionError, match=r"Deaf Lamp was told to turn_on but is still off"):
        await control(action="turn_on", entity_id="light.deaf_lamp")


async def test_waits_for_a_state_that_comes_late(control: Control) -> None:
    hass = control.hass

    async def turn_on(call: ServiceCall) -> None:
        hass.loop.call_later(0.05, lambda: hass.states.async_set("switch.coffee", "on"))

    hass.services.async_register("switch", "turn_on", turn_on)
    assert await control(action="turn_on", entity_id="switch.coffee") == {"done": {"switch.coffee": "on"}}


async def test_does_not_wait_for_a_cover_on_its_way(control: Control) -> None:
    assert await control(action="open", name="curtain") == {"done": {"cover.curtain": "opening, 0%"}}


@pytest.mark.parametrize(
    ("action", "entity_id", "allowed"),
    [
        ("turn_off", "lock.front_door", "lock, unlock"),
        ("turn_on", "lock.front_door", "lock, unlock"),
        ("toggle", "lock.front_door", "lock, unlock"),
        ("turn_on", "cover.garage", "open, close"),
        ("turn_off", "cover.curtain", "open, close"),
        ("unlock", "light.kitchen", "turn_on, turn_off"),
        ("toggle", "cover.garage", "say open or close"),
        ("turn_on", ALARM, "arm_home, arm_away"),
        ("turn_off", ALARM, "arm_home, arm_away"),
        ("toggle", ALARM, "arm_home, arm_away"),
        ("arm_night", ALARM, "does not support arm_night"),
    ],
)
async def test_an_action_never_means_another(
    control: Control, action: str, entity_id: str, allowed: str
) -> None:
    control.hass.states.async_set(ALARM, "disarmed", {"supported_features": 3})
    before = control.hass.states.get(entity_id).state
    with pytest.raises(ValidationError, match=allowed):
        await control(action=action, entity_id=entity_id)
    assert control.calls == []
    assert control.hass.states.get(entity_id).state == before


async def test_position_needs_a_cover_with_positions(control: Control) -> None:
    with pytest.raises(ValidationError, match=r"Garage does not support position"):
        await control(action="set_position", entity_id="cover.garage", parameters={"position": 30})
    result = await control(action="open", entity_id="cover.curtain", parameters={"position": "30%"})
    assert result == {"done": {"cover.curtain": "open, 30%"}}
    assert control.calls == [("cover", "set_cover_position", ("cover.curtain",), {"position": 30})]


async def test_unavailable_is_said_by_name(control: Control) -> None:
    control.hass.states.async_set("switch.coffee", "unavailable")
    with pytest.raises(TargetsFailed, match=r"coffee is unavailable"):
        await control(action="turn_on", entity_id="switch.coffee")


async def test_a_wildcard_leaves_out_what_is_hidden_and_never_names_it(control: Control) -> None:
    hidden = Control(control.hass, hidden=["light.kitchen"])
    result = await hidden(action="turn_on", entity_id="light.*", area="Kitchen")
    assert set(result["done"]) == {"light.counter", "light.switchable"}
    with pytest.raises(ValidationError) as err:
        await hidden(action="turn_on", entity_id="light.kitchen")
    assert "counter" not in str(err.value).partition(":")[0]
    assert control.hass.states.get("light.kitchen").state == "off"


async def test_exposure_is_asked_at_the_call(control: Control) -> None:
    control.guard._hidden.add("light.kitchen")
    with pytest.raises(ValidationError, match="not exposed"):
        await control(action="turn_on", entity_id="light.kitchen")
    assert control.calls == []


async def test_refusal_of_one_does_not_stop_the_others(control: Control) -> None:
    guarded = Control(control.hass, refused=["light.counter"])
    with pytest.raises(PartlyFailed, match=r"Counter was refused"):
        await guarded(action="turn_on", area="Kitchen", domain="light")
    assert control.hass.states.get("light.kitchen").state == "on"
    assert control.hass.states.get("light.counter").state == "off"


async def test_a_failed_call_is_not_made_again(control: Control) -> None:
    calls = []

    @callback
    def turn_on(call: ServiceCall) -> None:
        calls.append(call)
        raise ValueError("bulb broken")

    control.hass.services.async_register("light", "turn_on", turn_on)
    with pytest.raises(ToolExecutionError, match=r"bulb broken. It is off"):
        await control(action="turn_on", area="Kitchen", domain="light")
    assert len(calls) == 1


async def test_the_speaker_s_context_goes_with_the_call(control: Control) -> None:
    events = async_capture_events(control.hass, "call_service")
    await control(action="turn_on", entity_id="light.kitchen")
    assert [event.context.id for event in events] == [control.context.id]


async def test_models_write_arguments_in_many_ways(control: Control) -> None:
    for args in (
        {"entity_id": '["light.kitchen"]', "parameters": '{"brightness_pct": 20}'},
        {"entity_id": ["light.kitchen"], "brightness_pct": 20},
        {
            "entity_ids": ["light.kitchen"],
            "area": None,
            "name": "",
            "domain": [],
            "data": {"brightness_pct": 20},
        },
        {"device_class": ["light"], "name": ["Kitchen"], "parameters": {"brightness": "20%", "color": None}},
    ):
        await control(action="turn_on", **args)
        assert control.calls[-1] == ("light", "turn_on", ("light.kitchen",), {"brightness_pct": 20})


async def test_a_group_stands_for_its_exposed_members(control: Control) -> None:
    members = ["light.kitchen", "light.counter"]
    control.hass.states.async_set("group.cooking", "off", {"entity_id": members})
    result = await control(action="turn_on", entity_id="group.cooking")
    assert set(result["done"]) == set(members)
    control.hass.states.async_set("group.cooking", "off", {"entity_id": ["lock.front_door"]})
    with pytest.raises(ValidationError, match="locks, covers"):
        await control(action="turn_off", entity_id="group.cooking")


async def test_calls_on_one_entity_follow_each_other_and_on_two_run_side_by_side(control: Control) -> None:
    hass = control.hass
    running: list[str] = []
    most = {"same": 0, "other": 0}

    async def turn_on(call: ServiceCall) -> None:
        entity_id = call.data["entity_id"][0]
        running.append(entity_id)
        most["same"] = max(most["same"], running.count(entity_id))
        most["other"] = max(most["other"], len(set(running)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        hass.states.async_set(entity_id, "on")
        running.remove(entity_id)

    for domain in ("light", "switch"):
        hass.services.async_register(domain, "turn_on", turn_on)
    await asyncio.gather(
        control(action="turn_on", entity_id="light.kitchen"),
        control(action="turn_on", entity_id="light.kitchen"),
        control(action="turn_on", entity_id="switch.coffee"),
    )
    assert most == {"same": 1, "other": 2}


async def test_scripts_and_scenes_that_are_switched_off(house: HomeAssistant) -> None:
    house.states.async_set("script.leave", "off")
    house.states.async_set("scene.movie", "unknown")
    control = Control(house)
    for entity_id in ("script.leave", "scene.movie"):
        with pytest.raises(ValidationError, match="allow_scripts_and_scenes"):
            await control(action="turn_on", entity_id=entity_id)
    assert control.calls == []


async def test_does_not_run_outside_the_guard(control: Control) -> None:
    with pytest.raises(ToolExecutionError, match="only through"):
        await control.tool.async_call(control.hass, None, None)


async def test_a_value_that_was_not_taken_is_told(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custom_components.home_agent.tools.control.planning.SETTLE_SECONDS", 0.01)
    hass = control.hass

    @callback
    def turn_on(call: ServiceCall) -> None:
        hass.states.async_set(
            "light.kitchen", "on", {"brightness": 77, "supported_color_modes": ["brightness"]}
        )

    hass.services.async_register("light", "turn_on", turn_on)
    with pytest.raises(ToolExecutionError, match=r"told to set_value but is now on, 30%"):
        await control(action="set_value", entity_id="light.kitchen", brightness_pct=80)


TV = {"supported_features": 4 | 8 | 32 | 128 | 1024 | 2048 | 16384, "source_list": ["HDMI 1", "Netflix"]}


@pytest.mark.parametrize(
    ("entity_id", "state", "attributes", "args", "expected", "after"),
    [
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
        ("select.mode", "a", {"options": ["a", "b"]}, {"action": "next"}, [("select_next", {})], ("b", {})),
        ("text.note", "", {}, {"action": "set_value", "value": "milk"}, [("set_value", {"value": "milk"})],
         ("milk", {})),
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
    ],
)  # fmt: skip
async def test_each_domain_gets_its_own_services(
    house: HomeAssistant,
    entity_id: str,
    state: str,
    attributes: dict[str, Any],
    args: dict[str, Any],
    expected: list[tuple[str, dict[str, Any]]],
    after: tuple[str, dict[str, Any]],
) -> None:
    domain = entity_id.partition(".")[0]
    house.states.async_set(entity_id, state, attributes)

    @callback
    def act(call: ServiceCall) -> None:
        house.states.async_set(entity_id, after[0], {**attributes, **after[1]})

    for service, _ in expected:
        house.services.async_register(domain, service, act)
    control = Control(house)
    result = await control(entity_id=entity_id, **args)
    assert [(call[1], call[3]) for call in control.calls] == expected
    assert set(result["done"]) == {entity_id}


@pytest.mark.parametrize(
    ("entity_id", "state", "attributes", "args", "reason"),
    [
        (
            "media_player.tv",
            "on",
            {"supported_features": 0},
            {"action": "volume_up"},
            "does not support volume_up",
        ),
        (
            "media_player.tv",
            "on",
            TV,
            {"action": "select_source", "source": "Radio"},
            "one of HDMI 1, Netflix",
        ),
        ("vacuum.robo", "docked", {}, {"action": "start"}, "does not support start"),
        (
            "climate.flat",
            "heat",
            {"supported_features": 1, "max_temp": 35},
            {"action": "set_temperature", "temperature": 90},
            "above 35",
        ),
        ("lock.door", "locked", {}, {"action": "open"}, "does not support open"),
        ("climate.flat", "off", {}, {"action": "increase"}, "does not support increase"),
        ("number.speed", "unknown", {}, {"action": "increase"}, "no value to raise or lower"),
        ("sensor.heat", "3", {}, {"action": "turn_on"}, "cannot be controlled"),
        ("todo.list", "3", {}, {"action": "turn_on"}, "cannot be controlled"),
        (
            "light.strip",
            "on",
            {"supported_color_modes": ["onoff"]},
            {"action": "increase"},
            "cannot be dimmed",
        ),
        (
            "light.strip",
            "on",
            {"supported_color_modes": ["rgb"]},
            {"action": "turn_on", "color": "red", "color_temp": "warm"},
            "only one of",
        ),
    ],
)
async def test_what_an_entity_cannot_do_is_said_before_any_call(
    house: HomeAssistant,
    entity_id: str,
    state: str,
    attributes: dict[str, Any],
    args: dict[str, Any],
    reason: str,
) -> None:
    house.states.async_set(entity_id, state, attributes)
    control = Control(house)
    with pytest.raises(ValidationError, match=reason):
        await control(entity_id=entity_id, **args)
    assert control.calls == []
