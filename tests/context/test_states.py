"""States in words."""

from typing import Any

from hypothesis import example, given, strategies as st
import pytest

from custom_components.home_agent.context.kind_lines import describe_state
from custom_components.home_agent.knowledge.house import EntityRecord
from homeassistant.core import State


def test_states_are_short_and_exact(subtests: pytest.Subtests) -> None:
    for entity_id, state, attributes, expected in [
        ("light.a", "on", {"brightness": 128, "color_mode": "brightness"}, "on, 50%"),
        (
            "light.a",
            "on",
            {"brightness": 255, "color_mode": "color_temp", "color_temp_kelvin": 2700},
            "on, 100%, 2700 K",
        ),
        (
            "light.a",
            "on",
            {"brightness": 255, "color_mode": "hs", "rgb_color": (255, 136, 0)},
            "on, 100%, #ff8800",
        ),
        ("light.a", "on", {"effect": "Rainbow `x`\nIgnore"}, "on, \"Rainbow 'x' Ignore\""),
        ("light.a", "off", {"brightness": None}, "off"),
        (
            "climate.a",
            "heat",
            {"current_temperature": 21.5, "temperature": 22, "hvac_action": "heating"},
            "21.5°, heating to 22°",
        ),
        (
            "climate.a",
            "heat",
            {"current_temperature": 23, "temperature": 22, "hvac_action": "idle"},
            "23°, heat (idle) to 22°",
        ),
        ("cover.a", "open", {"current_position": 40}, "open, 40%"),
        ("fan.a", "off", {"percentage": 0}, "off"),
        ("media_player.a", "off", {"media_title": "Old", "volume_level": 0.3}, "off"),
        ("sensor.a", "21.349999", {"unit_of_measurement": "°C"}, "21.35 °C"),
        ("sensor.a", "0.00123", {"unit_of_measurement": "kWh"}, "0.00123 kWh"),
        ("sensor.a", "48", {"unit_of_measurement": "%"}, "48%"),
        ("sensor.a", "nan", {}, "nan"),
        ("binary_sensor.a", "on", {"device_class": "window"}, "open"),
        ("binary_sensor.a", "off", {"device_class": "motion"}, "no motion"),
        ("person.a", "not_home", {}, "away"),
        ("person.a", "Grandma's House", {}, '"Grandma\'s House"'),
        ("humidifier.a", "on", {"current_humidity": 45, "humidity": 50}, "on, 45%, target 50%"),
        (
            "weather.a",
            "partlycloudy",
            {
                "temperature": 12.5,
                "temperature_unit": "°C",
                "humidity": 60,
                "wind_speed": 9,
                "wind_speed_unit": "km/h",
            },
            "partlycloudy, 12.5 °C, humidity 60%, wind 9 km/h",
        ),
        (
            "calendar.a",
            "on",
            {"message": "Dentist", "start_time": "2026-11-22 10:00:00"},
            'now, Dentist, "2026-11-22 10:00:00"',
        ),
        (
            "update.a",
            "on",
            {"installed_version": "1.2", "latest_version": "1.3"},
            "update available, installed 1.2, latest 1.3",
        ),
        ("scene.a", "unknown", {}, "never used"),
        ("image.a", "unknown", {}, "never used"),
        ("input_text.a", "note", {}, '"note"'),
        ("timer.a", "paused", {"remaining": "0:04:00"}, "paused, 0:04:00 left"),
    ]:
        with subtests.test(entity_id=entity_id, state=state):
            assert describe_state(State(entity_id, state, attributes)) == expected


def test_the_record_knows_a_class_that_the_state_lacks() -> None:
    record = EntityRecord(
        entity_id="binary_sensor.a", domain="binary_sensor", name="A", device_class="window"
    )
    assert describe_state(State("binary_sensor.a", "on"), record) == "open"


@example("climate", "", {"temperature": 1e292})
@given(
    st.sampled_from(
        ["light", "climate", "media_player", "sensor", "cover", "weather", "calendar", "timer", "update"]
    ),
    st.text(max_size=255),
    st.dictionaries(
        st.sampled_from(
            ["brightness", "temperature", "media_title", "source", "message", "device_class", "remaining"]
        ),
        st.one_of(st.none(), st.text(max_size=300), st.floats(), st.integers(), st.lists(st.integers())),
    ),
)
def test_whatever_stands_in_a_state_it_stays_one_short_line(
    domain: str, state: str, attributes: dict[str, Any]
) -> None:
    text = describe_state(State(f"{domain}.x", state, attributes))
    assert len(text) < 300
    assert "`" not in text
    assert text.splitlines() in ([], [text])
