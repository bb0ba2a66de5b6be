"""States in words."""

from typing import Any

from hypothesis import example, given, strategies as st
import pytest

from custom_components.home_agent.context.kind_lines import describe_state
from custom_components.home_agent.knowledge.house import EntityRecord
from homeassistant.core import State
from tests.helpers.tables import tables

TABLES = tables(__file__)


def test_states_are_short_and_exact(subtests: pytest.Subtests) -> None:
    for entity_id, state, attributes, expected in TABLES["states_are_short_and_exact"]:
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
