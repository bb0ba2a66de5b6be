"""Arguments that do not fit: what is repaired, what is refused, and what the model reads then."""

from typing import Any

import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.tools.calls.repair import fit
from custom_components.home_agent.tools.calls.schema import MAX_ERROR
from custom_components.home_agent.tools.energy import EnergyTool
from custom_components.home_agent.tools.ha_control import ControlTool
from custom_components.home_agent.tools.ha_query import QueryTool
from homeassistant.helpers import llm
from tests.helpers.schemas import ASSIST, PLAYER, OtherTool

GATE = OtherTool(
    {"type": "object", "properties": {"what": {"type": "string", "enum": ["open", "close", "lock"]}}}
)
P = {"target_player": "Bar"}
LAMP = {"action": "turn_on", "entity_id": ["light.a"]}

REPAIRS: list[tuple[str, llm.Tool, dict[str, Any], dict[str, Any]]] = [
    ("unwrapped", PLAYER, {"arguments": {**P}}, P),
    ("unwrapped", PLAYER, {"name": "other", "parameters": '{"target_player": "Bar"}'}, P),
    ("unwrapped", PLAYER, {"args": "{'target_player': 'Bar'}"}, P),
    ("unwrapped", ControlTool(), {"parameters": LAMP}, LAMP),
    ("unwrapped", ControlTool(), {"name": "ha_control", "call": LAMP}, LAMP),
    ("value_read", PLAYER, {**P, "tracks": '["light"]'}, {**P, "tracks": ["light"]}),
    ("value_read", ASSIST, {"name": "Hall", "domain": "['light']"}, {"name": "Hall", "domain": ["light"]}),
    ("value_read", PLAYER, {**P, "options": '{"a": 1}'}, {**P, "options": {"a": 1}}),
    ("empty_dropped", ASSIST, {"name": "Hall", "floor": "", "domain": None}, {"name": "Hall"}),
    ("empty_dropped", PLAYER, {**P, "volume": None, "mode": "any"}, P),
    ("", ControlTool(), {**LAMP, "area": None, "parameters": None}, LAMP),
    ("slot_renamed", PLAYER, {"targetPlayer": "Bar"}, P),
    ("slot_renamed", PLAYER, {"target-player": "Bar", "Volume": 3}, {**P, "volume": 3}),
    ("slot_renamed", ASSIST, {"area_id": "Hall"}, {"area": "Hall"}),
    ("slot_renamed", ControlTool(), {"action": "turn_on", "entities": ["light.a"]}, LAMP),
    ("slot_renamed", ControlTool(), {**LAMP, "entity_id": [], "entities": ["light.a"]}, LAMP),
    ("slot_renamed", ControlTool(), {**LAMP, "delay": "5 minutes"}, {**LAMP, "when": "5 minutes"}),
    ("slot_renamed", EnergyTool(), {"timeframe": "7d", "entity_id": "x.y"}, {"period": "7d"}),
    ("value_read", PLAYER, {"target_player": ["Bar"]}, P),
    ("", ControlTool(), {"action": "open", "name": ["A", "B"]}, {"action": "open", "name": "A, B"}),
    ("value_read", PLAYER, {**P, "volume": "40 %"}, {**P, "volume": 40}),
    ("value_read", PLAYER, {**P, "loud": "true"}, {**P, "loud": True}),
    ("value_read", PLAYER, {"target_player": 12345678}, {"target_player": "12345678"}),
    ("value_read", ASSIST, {"device_class": "tv, curtain"}, {"device_class": ["tv", "curtain"]}),
    ("", ASSIST, {"domain": "light", "name": "Hall"}, {"domain": ["light"], "name": "Hall"}),
    ("", ControlTool(), {**LAMP, "entity_id": "light.a"}, LAMP),
    ("value_read", PLAYER, {**P, "mode": "Repeat All"}, {**P, "mode": "repeat_all"}),
    ("", ControlTool(), {**LAMP, "action": "power on"}, LAMP),
    ("", QueryTool(), {"name": "Air", "history": "1h"}, {"name": "Air", "history": {"duration": "1h"}}),
]


def test_what_was_written_is_put_in_order(subtests: pytest.Subtests) -> None:
    """What was meant comes out, the repair is named, and a second one is not needed."""
    for rule, tool, written, meant in REPAIRS:
        with subtests.test(rule=rule, tool=tool):
            fitted, rules = fit(tool, written)
            assert fitted == meant
            assert rule in rules if rule else not rules
            assert fit(tool, fitted) == (meant, ())


def test_no_guess_decides_what_opens() -> None:
    """A value that moves doors is never taken for one that it resembles."""
    for written in ("opn", "closee", "unlock", "lok"):
        with pytest.raises(ValidationError, match="what:"):
            fit(GATE, {"what": written})


def test_the_error_names_everything() -> None:
    """Slots, values and what is allowed, in 300 characters however much is wrong."""
    with pytest.raises(ValidationError) as caught:
        fit(PLAYER, {"volume": 400, "mode": "randomly", "weird": 1})
    error = str(caught.value)
    for part in ("target_player: is missing", "400", "at most 100", "'randomly'", "shuffle", "weird"):
        assert part in error
    assert len(error) <= MAX_ERROR
    with pytest.raises(ValidationError) as caught:
        fit(PLAYER, {f"key_{number}" * 20: "x" * 500 for number in range(80)})
    assert len(str(caught.value)) <= MAX_ERROR
