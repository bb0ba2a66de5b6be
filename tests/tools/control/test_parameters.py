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
from tests.helpers.tables import tables

TABLES = tables(__file__)


def read(
    domain: str, verb: str, unit: str = UnitOfTemperature.CELSIUS, /, **given_parameters: Any
) -> dict[str, Any]:
    _verb, _target, values = read_args({"action": verb, "parameters": given_parameters})
    return normalise(domain, verb, DOMAINS[domain].actions[verb], values, unit)


def test_light(subtests: pytest.Subtests) -> None:
    for written, expected in TABLES["light"]:
        with subtests.test(written=written, expected=expected):
            assert read("light", "set_value", **written) == expected


def test_no_colour_is_guessed(subtests: pytest.Subtests) -> None:
    for said in ["dragon", "light", "teal green", "not red", "hell " * 20]:
        with subtests.test(said=said), pytest.raises(ValueError, match="a colour name"):
            read_color(said, "")


def test_other_domains(subtests: pytest.Subtests) -> None:
    for domain, verb, written, expected in TABLES["other_domains"]:
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
    for word, verb in TABLES["actions_by_other_names"]:
        with subtests.test(word=word, verb=verb):
            assert read_verb(word) == verb


def test_no_action_is_guessed(subtests: pytest.Subtests) -> None:
    for word in ["unlok", "turnon_all", "open sesame", "disarmm", "is_locked", "get_value", ""]:
        with subtests.test(word), pytest.raises(ValidationError, match=r"not allowed|missing|changes no"):
            fit(ControlTool(), {"action": word, "name": "Door"})
