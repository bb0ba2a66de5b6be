"""Arguments that do not fit: what is repaired, what is refused, and what the model reads then."""

from typing import Any

import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.tools.calls.repair import READING, RULES, fit
from custom_components.home_agent.tools.calls.validation import MAX_ERROR
from custom_components.home_agent.tools.ha_control import ControlTool
from custom_components.home_agent.tools.ha_query import QueryTool
from homeassistant.helpers import llm
from tests.helpers.schemas import ASSIST, PLAYER, OtherTool

GATE = OtherTool(
    {"type": "object", "properties": {"what": {"type": "string", "enum": ["open", "close", "lock"]}}}
)
P = {"target_player": "Bar"}

REPAIRS: dict[str, list[tuple[llm.Tool, dict[str, Any], dict[str, Any]]]] = {
    "arguments_unwrapped": [
        (PLAYER, {"arguments": {**P}}, P),
        (PLAYER, {"name": "other", "parameters": '{"target_player": "Bar"}'}, P),
        (PLAYER, {"args": "{'target_player': 'Bar'}"}, P),
        (
            ControlTool(),
            {"parameters": {"action": "turn_on", "entity_id": ["light.a"]}},
            {"action": "turn_on", "entity_id": ["light.a"]},
        ),
    ],
    "json_text_read": [
        (ASSIST, {"name": "Hall", "domain": '["light"]'}, {"name": "Hall", "domain": ["light"]}),
        (ASSIST, {"name": "Hall", "domain": "['light']"}, {"name": "Hall", "domain": ["light"]}),
        (PLAYER, {**P, "options": '{"a": 1}'}, {**P, "options": {"a": 1}}),
    ],
    "empty_dropped": [
        (ASSIST, {"name": "Hall", "floor": "", "domain": None}, {"name": "Hall"}),
        (PLAYER, {**P, "volume": None, "mode": "any"}, P),
    ],
    "key_renamed": [
        (PLAYER, {"targetPlayer": "Bar"}, P),
        (PLAYER, {"target-player": "Bar", "volumes": 3}, {**P, "volume": 3}),
    ],
    "list_unwrapped": [(PLAYER, {"target_player": ["Bar"]}, P)],
    "number_read": [
        (PLAYER, {**P, "volume": "40 %"}, {**P, "volume": 40}),
        (PLAYER, {**P, "loud": "true"}, {**P, "loud": True}),
    ],
    "text_written": [(PLAYER, {"target_player": 12}, {"target_player": "12"})],
    "list_wrapped": [
        (ASSIST, {"domain": "light", "name": "Hall"}, {"domain": ["light"], "name": "Hall"}),
        (ASSIST, {"device_class": "tv, curtain"}, {"device_class": ["tv", "curtain"]}),
    ],
    "class_is_domain": [
        (ASSIST, {"area": "Hall", "device_class": ["light"]}, {"area": "Hall", "domain": ["light"]}),
        (
            ASSIST,
            {"area": "Hall", "device_class": ["light"], "domain": ["light"]},
            {"area": "Hall", "domain": ["light"]},
        ),
    ],
    "choice_spelled": [
        (PLAYER, {**P, "mode": "Repeat All"}, {**P, "mode": "repeat_all"}),
        (PLAYER, {**P, "mode": "shufle"}, {**P, "mode": "shuffle"}),
    ],
    "class_unknown_dropped": [
        (ASSIST, {"name": "Hall", "device_class": ["speakerz"]}, {"name": "Hall"}),
    ],
}


def test_every_rule_has_its_test() -> None:
    assert list(REPAIRS) == list(RULES)


@pytest.mark.parametrize(
    ("rule", "tool", "written", "meant"),
    [(rule, *case) for rule, cases in REPAIRS.items() for case in cases],
)
def test_rules(rule: str, tool: llm.Tool, written: dict[str, Any], meant: dict[str, Any]) -> None:
    """Each rule makes what was meant of what was written, and is named."""
    fitted = fit(tool, written)
    assert fitted.args == meant
    assert rule in fitted.rules
    again = fit(tool, fitted.args)
    assert (again.args, again.rules) == (meant, ())


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (ASSIST, {"name": "Hall", "domain": ["light"]}),
        (PLAYER, {**P, "volume": 0, "mode": "none", "loud": False}),
        (ControlTool(), {"action": "turn_on", "entity_id": ["light.a"], "parameters": {"brightness_pct": 4}}),
        (QueryTool(), {"entity_id": ["light.a"], "history": {"duration": "1h"}}),
    ],
)
def test_what_fits_is_left_alone(tool: llm.Tool, args: dict[str, Any]) -> None:
    fitted = fit(tool, args)
    assert (fitted.args, fitted.rules) == (args, ())


@pytest.mark.parametrize("written", ["opn", "closee", "unlock", "lok"])
def test_no_guess_decides_what_opens(written: str) -> None:
    """A value that moves doors is never taken for one that it resembles."""
    with pytest.raises(ValidationError, match="what:"):
        fit(GATE, {"what": written})


def test_domains_that_differ_are_not_mended() -> None:
    """A class that names another domain than the domains do says two things."""
    with pytest.raises(ValidationError, match="device_class"):
        fit(ASSIST, {"area": "Hall", "device_class": ["lock"], "domain": ["light"]})


def test_the_error_names_everything() -> None:
    """Slots, values, what is allowed and the request, in 300 characters."""
    with pytest.raises(ValidationError) as caught:
        fit(PLAYER, {"volume": 400, "mode": "randomly", "weird": 1}, "Play it loud")
    error = str(caught.value)
    for part in (
        "target_player: is missing",
        "400",
        "0 to 100",
        "'randomly'",
        "shuffle",
        "weird",
        "Play it loud",
    ):
        assert part in error
    assert len(error) <= MAX_ERROR


@pytest.mark.parametrize("count", [1, 5, 80])
def test_the_error_stays_short(count: int) -> None:
    """However much is wrong, and however long the request was."""
    with pytest.raises(ValidationError) as caught:
        fit(PLAYER, {f"key_{number}" * 20: "x" * 500 for number in range(count)}, "please " * 100)
    assert len(str(caught.value)) <= MAX_ERROR
    assert "Request: please" in str(caught.value)


def test_the_tools_own_reading_is_counted() -> None:
    """What the table does not know and the tool does counts as a repair too."""
    fitted = fit(ControlTool(), {"action": "power on", "entity": "light.a", "brightness_pct": 30})
    assert READING in fitted.rules
    assert fitted.checked == {
        "action": "turn_on",
        "entity_id": ["light.a"],
        "parameters": {"brightness_pct": 30},
    }
