"""The vetted table, held against the services and features that Home Assistant has."""

from importlib import import_module

import pytest

from custom_components.home_agent.tools.control.actions import ACTIONS, ANY, GATED_DOMAINS, VERBS, is_vetted
from custom_components.home_agent.tools.control.parameter_table import PARAMETERS, STEP_SERVICES, STEPS
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component

FEATURES = {
    "alarm_control_panel": "AlarmControlPanelEntityFeature",
    "camera": "CameraEntityFeature",
    "climate": "ClimateEntityFeature",
    "cover": "CoverEntityFeature",
    "fan": "FanEntityFeature",
    "humidifier": "HumidifierEntityFeature",
    "lawn_mower": "LawnMowerEntityFeature",
    "light": "LightEntityFeature",
    "lock": "LockEntityFeature",
    "media_player": "MediaPlayerEntityFeature",
    "remote": "RemoteEntityFeature",
    "siren": "SirenEntityFeature",
    "vacuum": "VacuumEntityFeature",
    "valve": "ValveEntityFeature",
    "water_heater": "WaterHeaterEntityFeature",
}
BITS = {
    ("alarm_control_panel", "arm_vacation"): "ARM_VACATION",
    ("camera", "turn_on"): "ON_OFF",
    ("climate", "turn_on"): "TURN_ON",
    ("climate", "turn_off"): "TURN_OFF",
    ("cover", "open"): "OPEN",
    ("cover", "close"): "CLOSE",
    ("cover", "stop"): "STOP",
    ("lawn_mower", "return_to_base"): "DOCK",
    ("lawn_mower", "stop"): "STOP",
    ("lock", "open"): "OPEN",
    ("media_player", "play"): "PLAY",
    ("media_player", "pause"): "PAUSE",
    ("media_player", "stop"): "STOP",
    ("media_player", "next"): "NEXT_TRACK",
    ("media_player", "previous"): "PREVIOUS_TRACK",
    ("media_player", "mute"): "VOLUME_MUTE",
    ("vacuum", "start"): "START",
    ("vacuum", "pause"): "PAUSE",
    ("vacuum", "stop"): "STOP",
    ("vacuum", "return_to_base"): "RETURN_HOME",
    ("vacuum", "locate"): "LOCATE",
    ("vacuum", "clean_spot"): "CLEAN_SPOT",
    ("valve", "open"): "OPEN",
    ("water_heater", "turn_on"): "ON_OFF",
}
PARAMETER_BITS = {
    ("climate", "temperature"): "TARGET_TEMPERATURE",
    ("climate", "target_temp_low"): "TARGET_TEMPERATURE_RANGE",
    ("climate", "humidity"): "TARGET_HUMIDITY",
    ("climate", "fan_mode"): "FAN_MODE",
    ("climate", "preset_mode"): "PRESET_MODE",
    ("climate", "swing_mode"): "SWING_MODE",
    ("climate", "swing_horizontal_mode"): "SWING_HORIZONTAL_MODE",
    ("cover", "position"): "SET_POSITION",
    ("cover", "tilt_position"): "SET_TILT_POSITION",
    ("fan", "percentage"): "SET_SPEED",
    ("fan", "oscillating"): "OSCILLATE",
    ("fan", "direction"): "DIRECTION",
    ("fan", "preset_mode"): "PRESET_MODE",
    ("humidifier", "mode"): "MODES",
    ("light", "effect"): "EFFECT",
    ("media_player", "source"): "SELECT_SOURCE",
    ("media_player", "sound_mode"): "SELECT_SOUND_MODE",
    ("media_player", "volume_level"): "VOLUME_SET",
    ("media_player", "shuffle"): "SHUFFLE_SET",
    ("media_player", "repeat"): "REPEAT_SET",
    ("media_player", "seek_position"): "SEEK",
    ("remote", "activity"): "ACTIVITY",
    ("siren", "tone"): "TONES",
    ("siren", "duration"): "DURATION",
    ("siren", "volume_level"): "VOLUME_SET",
    ("vacuum", "fan_speed"): "FAN_SPEED",
    ("valve", "position"): "SET_POSITION",
    ("water_heater", "temperature"): "TARGET_TEMPERATURE",
    ("water_heater", "operation_mode"): "OPERATION_MODE",
    ("water_heater", "away_mode"): "AWAY_MODE",
}


def feature(domain: str, name: str) -> int:
    """Return a feature bit as Home Assistant defines it."""
    return int(getattr(import_module(f"homeassistant.components.{domain}"), FEATURES[domain])[name])


@pytest.mark.parametrize(("domain", "verb"), BITS)
def test_features_of_actions_are_those_of_home_assistant(domain: str, verb: str) -> None:
    assert ACTIONS[domain][verb].features == feature(domain, BITS[domain, verb])


@pytest.mark.parametrize(("domain", "name"), PARAMETER_BITS)
def test_features_of_parameters_are_those_of_home_assistant(domain: str, name: str) -> None:
    assert PARAMETERS[domain][name].features == feature(domain, PARAMETER_BITS[domain, name])


@pytest.mark.parametrize("domain", sorted(set(ACTIONS) - {"group", "script", "automation", "camera"}))
async def test_every_service_is_there(house: HomeAssistant, domain: str) -> None:
    config = {} if domain.startswith("input_") or domain in ("counter", "timer") else []
    assert await async_setup_component(house, domain, {domain: config})
    services = {action.service for action in ACTIONS[domain].values() if action.service}
    services |= {parameter.service for parameter in PARAMETERS.get(domain, {}).values() if parameter.service}
    services |= set(STEP_SERVICES.get(domain, ()))
    assert services <= set(house.services.async_services_for_domain(domain))


def test_the_table_is_wide_and_closed() -> None:
    assert len(ACTIONS) >= 28
    assert not is_vetted("homeassistant", "turn_off")
    assert not is_vetted("automation", "trigger")
    assert not is_vetted("lock", "turn_off")
    assert not is_vetted("alarm_control_panel", "alarm_trigger")
    assert not is_vetted("shell_command", "anything")
    assert not is_vetted("media_player", "play_media")
    assert not is_vetted("camera", "record")
    assert not is_vetted("remote", "send_command")
    assert is_vetted("light", "turn_on")
    assert is_vetted("climate", "set_hvac_mode")


def test_scripts_and_scenes_need_the_gate() -> None:
    assert {"scene", "script"} == GATED_DOMAINS
    for domain in GATED_DOMAINS:
        assert not is_vetted(domain, "turn_on")
        assert is_vetted(domain, "turn_on", gated=True)


def test_on_off_and_toggle_never_reach_what_lets_people_or_water_through() -> None:
    for domain in ("lock", "alarm_control_panel", "valve", "cover"):
        assert not {"turn_on", "turn_off"} & set(ACTIONS[domain])
    for domain in ("lock", "alarm_control_panel", "valve"):
        assert "toggle" not in ACTIONS[domain]


def test_every_parameter_named_by_an_action_is_there() -> None:
    for domain, actions in ACTIONS.items():
        for verb, action in actions.items():
            assert verb in VERBS
            if action.takes != ANY and not action.direction:
                assert set(action.takes) <= set(PARAMETERS.get(domain, {})), (domain, verb)
            if action.value and not action.direction:
                assert action.value in PARAMETERS[domain]
            if action.direction:
                assert STEPS[domain].parameter in PARAMETERS[domain]
