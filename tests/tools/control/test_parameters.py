"""Parameters as models write them."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.domains import DOMAINS
from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.tools.calls.repair import fit
from custom_components.home_agent.tools.control.arguments import normalise, read_args, read_verb
from custom_components.home_agent.tools.control.values import read_color
from custom_components.home_agent.tools.guard import TARGET_KEYS
from custom_components.home_agent.tools.ha_control import ControlTool
from homeassistant.const import UnitOfTemperature


def read(
    domain: str, verb: str, unit: str = UnitOfTemperature.CELSIUS, /, **given_parameters: Any
) -> dict[str, Any]:
    """Return the parameters of an action, normalised."""
    _verb, _target, values = read_args({"action": verb, "parameters": given_parameters})
    return normalise(domain, verb, DOMAINS[domain].actions[verb], values, unit)


def test_light(subtests: pytest.Subtests) -> None:
    for written, expected in [
        ({"brightness_pct": 50}, {"brightness_pct": 50}),
        ({"brightness_pct": "50%"}, {"brightness_pct": 50}),
        ({"brightness_pct": "50 %"}, {"brightness_pct": 50}),
        ({"brightness": 50}, {"brightness_pct": 50}),
        ({"brightness": "50"}, {"brightness_pct": 50}),
        ({"brightness": 128}, {"brightness": 128}),
        ({"brightness": "255"}, {"brightness": 255}),
        ({"brightness": 100}, {"brightness_pct": 100}),
        ({"brightness": 0.5}, {"brightness_pct": 50}),
        ({"brightness": "max"}, {"brightness_pct": 100}),
        ({"value": 30}, {"brightness_pct": 30}),
        ({"level": 30}, {"brightness_pct": 30}),
        ({"Brightness-Percent": 30}, {"brightness_pct": 30}),
        ({"color": "red"}, {"rgb_color": [255, 0, 0]}),
        ({"color_name": "Dark Red"}, {"rgb_color": [139, 0, 0]}),
        ({"color": "rot"}, {"rgb_color": [255, 0, 0]}),
        ({"color": "#ff8800"}, {"rgb_color": [255, 136, 0]}),
        ({"color": "#f80"}, {"rgb_color": [255, 136, 0]}),
        ({"color": "ff8800"}, {"rgb_color": [255, 136, 0]}),
        ({"rgb_color": [255, 136, 0]}, {"rgb_color": [255, 136, 0]}),
        ({"rgb": "255, 136, 0"}, {"rgb_color": [255, 136, 0]}),
        ({"color": "rgb(255,136,0)"}, {"rgb_color": [255, 136, 0]}),
        ({"color": {"r": 255, "g": 136, "b": 0}}, {"rgb_color": [255, 136, 0]}),
        ({"color": {"h": 30, "s": 100}}, {"hs_color": [30, 100]}),
        ({"hs_color": [30, 100]}, {"hs_color": [30, 100]}),
        ({"color": "warm white"}, {"color_temp_kelvin": 2700}),
        ({"color_temp": "warm"}, {"color_temp_kelvin": 2700}),
        ({"color_temp": 2700}, {"color_temp_kelvin": 2700}),
        ({"color_temp": "2700K"}, {"color_temp_kelvin": 2700}),
        ({"color_temp": 250}, {"color_temp_kelvin": 4000}),
        ({"color": "3000K"}, {"color_temp_kelvin": 3000}),
        ({"brightness_pct": 40, "brightness": 200}, {"brightness_pct": 40}),
        ({"brightness_pct": 40, "color": None, "effect": "", "rgb_color": []}, {"brightness_pct": 40}),
        ({"brightness_pct": 40, "transition": "2 s"}, {"brightness_pct": 40, "transition": 2}),
        ({"brightness_step_pct": -20}, {"brightness_step_pct": -20}),
    ]:
        with subtests.test(written=written, expected=expected):
            assert read("light", "set_value", **written) == expected


def test_no_colour_is_guessed(subtests: pytest.Subtests) -> None:
    for said in ["dragon", "light", "teal green", "not red", "hell " * 20]:
        with subtests.test(said=said), pytest.raises(ValueError, match="a colour name"):
            read_color(said, "")


def test_other_domains(subtests: pytest.Subtests) -> None:
    for domain, verb, written, expected in [
        ("climate", "set_temperature", {"temperature": "21.5°"}, {"temperature": 21.5}),
        ("climate", "set_temperature", {"temperature": "21,5 °C"}, {"temperature": 21.5}),
        ("climate", "set_temperature", {"temp": "70°F"}, {"temperature": 21.1}),
        ("climate", "set_temperature", {"value": 20}, {"temperature": 20}),
        ("climate", "set_hvac_mode", {"mode": "Heat"}, {"hvac_mode": "heat"}),
        ("climate", "set_hvac_mode", {"hvac_mode": "Heat/Cool"}, {"hvac_mode": "heat_cool"}),
        ("climate", "set_hvac_mode", {"hvac_mode": "cooling"}, {"hvac_mode": "cool"}),
        ("media_player", "set_volume", {"volume": 50}, {"volume_level": 0.5}),
        ("media_player", "set_volume", {"volume_level": 0.5}, {"volume_level": 0.5}),
        ("media_player", "set_volume", {"volume_level": "50%"}, {"volume_level": 0.5}),
        ("media_player", "set_volume", {"volume_level": "0.3"}, {"volume_level": 0.3}),
        ("media_player", "set_volume", {"volume_level": 1}, {"volume_level": 0.01}),
        ("media_player", "set_volume", {"volume_level": 1.0}, {"volume_level": 1.0}),
        ("cover", "set_position", {"position": "half"}, {"position": 50}),
        ("cover", "set_tilt", {"value": 20}, {"tilt_position": 20}),
        ("fan", "set_speed", {"speed": 66}, {"percentage": 66}),
        ("humidifier", "set_humidity", {"humidity": "45 %"}, {"humidity": 45}),
        ("timer", "start", {"duration": "1:30:00"}, {"duration": 5400}),
        ("timer", "start", {"duration": {"minutes": 5}}, {"duration": 300}),
        ("timer", "start", {"duration": "1 hour and 10 min"}, {"duration": 4200}),
        ("input_datetime", "set_value", {"time": "6:30"}, {"time": "06:30:00"}),
        ("date", "set_value", {"value": "2026-03-29"}, {"date": "2026-03-29"}),
        ("datetime", "set_value", {"value": "2026-03-29T06:30"}, {"datetime": "2026-03-29 06:30:00"}),
        ("media_player", "turn_on", {"shuffle": "on", "repeat": "All"}, {"shuffle": True, "repeat": "all"}),
        ("media_player", "increase", {"by": "10%"}, {"step": 0.1}),
        ("light", "increase", {"amount": 15}, {"step": 15}),
        ("climate", "decrease", {"value": "-1.5"}, {"step": 1.5}),
        ("input_select", "select_option", {"value": "Party"}, {"option": "Party"}),
    ]:
        with subtests.test(domain=domain, verb=verb):
            assert read(domain, verb, **written) == expected


def test_temperatures_come_in_the_unit_of_the_house() -> None:
    unit = UnitOfTemperature.FAHRENHEIT
    assert read("climate", "set_temperature", unit, temperature="20 °C") == {"temperature": 68}
    assert read("climate", "set_temperature", unit, temperature=68) == {"temperature": 68}


def test_errors_say_what_is_wanted(subtests: pytest.Subtests) -> None:
    for domain, verb, written, message in [
        ("light", "turn_on", {"brightness_pct": 130}, "'130' is not 0 to 100"),
        ("light", "turn_on", {"brightness_pct": True}, "is not a number"),
        ("light", "turn_on", {"brightnes": 30}, "did you mean brightness"),
        ("light", "turn_on", {"color": "purpel-ish"}, "a colour name"),
        ("light", "turn_off", {"brightness_pct": 10}, "turn_off on a light does not take"),
        ("switch", "turn_on", {"brightness_pct": 10}, "takes none"),
        ("climate", "set_temperature", {}, "needs parameters"),
        ("climate", "set_temperature", {"temperature": "warm"}, "a temperature such as"),
        ("fan", "set_speed", {"percentage": float("nan")}, "a number"),
        ("number", "set_value", {"value": 10**400}, "a number"),
        ("number", "set_value", {"value": "9" * 200}, "a number"),
        ("counter", "set_value", {"value": 1.5}, "a whole number"),
        ("media_player", "set_value", {"repeat": "maybe"}, "off or all or one"),
        ("media_player", "set_value", {"shuffle": "perhaps"}, "true or false"),
        ("date", "set_value", {"date": "tomorrow"}, "a date such as"),
        ("light", "turn_on", {"color_temp": 20}, "kelvin"),
        ("light", "turn_on", {"color": "blurple"}, "^color: 'blurple' is not .*nearest name is purple"),
        ("light", "turn_on", {"color_temp": "dragon"}, "warm, neutral, cool"),
        ("light", "turn_on", {"hs_color": "red"}, "a list of numbers"),
        ("light", "turn_on", {"flash": "often"}, "short or long"),
        ("text", "set_value", {"value": "x" * 300}, "at most 255"),
        ("timer", "start", {"duration": 10**7}, "at most a week"),
        ("timer", "start", {"duration": "soon"}, "a length of time"),
    ]:
        with subtests.test(domain=domain, verb=verb):
            with pytest.raises(ValidationError, match=message) as err:
                read(domain, verb, **written)
            assert len(str(err.value)) <= 300


def test_targets_are_refused(subtests: pytest.Subtests) -> None:
    for key in [*sorted(TARGET_KEYS), "Entity_ID", " target "]:
        with subtests.test(key=key), pytest.raises(ValidationError, match="does not belong here"):
            read_args({"action": "lock", "parameters": {key: "lock.front_door"}})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
WRITTEN = st.dictionaries(st.text(max_size=12), VALUES, max_size=4)


@given(WRITTEN, st.sampled_from(sorted(name for name, facts in DOMAINS.items() if facts.actions)), st.data())
def test_whatever_is_written_is_read_or_refused(
    written: dict[str, Any], domain: str, data: st.DataObject
) -> None:
    verb = data.draw(st.sampled_from(sorted(DOMAINS[domain].actions)))
    known = data.draw(
        st.sampled_from(("brightness_pct", "temperature", "color", "value", "duration", "position"))
    )
    if written:
        written[known] = next(iter(written.values()))
    try:
        read(domain, verb, **written)
    except ValidationError as err:
        assert len(str(err)) <= 300  # noqa: PT017


def test_actions_by_other_names(subtests: pytest.Subtests) -> None:
    for word, verb in [
        ("Turn On", "turn_on"),
        ("light.turn_on", "turn_on"),
        ("media_next_track", "next"),
        ("start_mowing", "start"),
        ("dock", "return_to_base"),
        ("set_brightness", "set_value"),
        ("resume", "play"),
        ("select_next", "next"),
        ("alarm_arm_home", "arm_home"),
        ("lock", "lock"),
        ("lock.unlock", "unlock"),
    ]:
        with subtests.test(word=word, verb=verb):
            assert read_verb(word) == verb


def test_no_action_is_guessed(subtests: pytest.Subtests) -> None:
    for word in ["unlok", "turnon_all", "open sesame", "disarmm", "is_locked", "get_value", ""]:
        with subtests.test(word), pytest.raises(ValidationError, match=r"not allowed|missing|changes no"):
            fit(ControlTool(), {"action": word, "name": "Door"})
