"""Any call a model could write: an envelope comes back, nothing raises, nothing protected moves unasked."""

from datetime import timedelta
import json
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.agent.speech import CallText
from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.safety.redaction import UNPARSED
from custom_components.home_agent.tools.calls.repair import INTENTS, TEXT_NAMES, adapt, fit, is_known
from custom_components.home_agent.tools.turn_calls import TurnCalls
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from tests.helpers.agent import async_agent
from tests.helpers.examples import many
from tests.helpers.schemas import ASSIST, PLAYER, TOOLS
from tests.servers.model_server import ModelServer

pytestmark = pytest.mark.slow

CALLS = many(500)
PROTECTED = ("lock", "cover", "valve", "alarm_control_panel")
TYPICAL: dict[str, Any] = {
    "max_examples": CALLS,
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}

WORDS = st.sampled_from(
    [
        *(
            "Kitchen Ceiling",
            "kitchen",
            "front door",
            "Smart Lock",
            "lock.front_door",
            "Living Room",
            "light",
        ),
        *("light.kitchen_ceiling", "lock", "cover", "all", "*", "light.*", "", "null", "none", '["light"]'),
        *("{}", "door", "unlock", "turn_on", "turn_off", "opne", "set_value", "toggle", "50%", "-1", "NaN"),
    ]
)
SLOTS = st.sampled_from(
    [
        *("action", "entity_id", "name", "area", "floor", "domain", "device_class", "parameters", "target"),
        *("arguments", "args", "service", "service_data", "data", "list", "entity", "history", "attributes"),
        *("position", "brightness", "volume_level", "code", "preferred_area_id", UNPARSED),
    ]
)
NAMES = st.one_of(
    st.sampled_from(
        [
            *("ha_control", "ha_query", "functions.ha_control", "call_service", "execute_services"),
            *("intent__HassTurnOff", "HassTurnOff", "HassTurnOn", "lock.unlock", "homeassistant.toggle"),
            *TEXT_NAMES,
        ]
    ),
    st.sampled_from(sorted(INTENTS)).map("Hass{}".format),
    st.text(max_size=12),
)
SCALARS = (
    WORDS | st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats() | st.text(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(SLOTS, st.text(max_size=8)), inner, max_size=4)
    ),
    max_leaves=8,
)
ARGS = st.dictionaries(st.one_of(SLOTS, SLOTS, st.text(max_size=8)), VALUES, max_size=6)


@settings(**TYPICAL)
@given(tool=st.sampled_from([*TOOLS.values(), ASSIST, PLAYER]), args=ARGS)
def test_arguments(tool: llm.Tool, args: dict[str, Any]) -> None:
    """Arguments fit, or are refused in 300 characters; what fits needs no second repair."""
    error = ""
    try:
        fitted, _ = fit(tool, args)
    except ValidationError as err:
        error = str(err)
    if error:
        assert len(error) <= 300
        return
    assert repr(fit(tool, fitted)[0]) == repr(fitted)


@settings(**TYPICAL)
@given(name=NAMES, args=ARGS)
def test_names(name: str, args: dict[str, Any]) -> None:
    """Every name is mapped or left alone."""
    for adapted in adapt(llm.ToolInput(tool_name=name, tool_args=args), TOOLS):
        assert adapted.call.tool_name in TOOLS or adapted.call.tool_name == name


@settings(**TYPICAL)
@given(
    pieces=st.lists(
        st.one_of(
            NAMES,
            VALUES.map(lambda value: json.dumps(value, default=str)),
            st.sampled_from(
                ["<tool_call>", "</tool_call>", "(", ")", "{", "}", "[", '"', "name=", ":", "\n", "```"]
            ),
        ),
        max_size=12,
    )
)
def test_texts(pieces: list[str]) -> None:
    """Any text is read without raising."""
    for call in CallText("".join(pieces), alone=True).read(lambda name: is_known(name, TOOLS)):
        assert isinstance(call.name, str)
        assert call.args is None or isinstance(call.args, dict)


async def test_calls(hass: HomeAssistant, model_server: ModelServer) -> None:
    """An envelope that is JSON for every call; no lock moves that was not named."""
    agent = await async_agent(hass, model_server, {"policy_allowed": list(PROTECTED)})
    handler = agent.entry.runtime_data.handler
    moved = async_capture_events(hass, EVENT_CALL_SERVICE)
    calls: list[tuple[str, dict[str, Any]]] = []

    @settings(max_examples=CALLS, deadline=timedelta(seconds=30), suppress_health_check=list(HealthCheck))
    @given(name=NAMES, args=ARGS)
    def collect(name: str, args: dict[str, Any]) -> None:
        calls.append((name, args))

    await hass.async_add_executor_job(collect)
    for name, args in calls:
        moved.clear()
        turn = TurnCalls(
            speaker=Speaker(context=Context(), language="en"),
            sentence="How are you today",
            conversation_id="fuzz",
            tools=handler.tools,
            llm_context=llm.LLMContext("fuzz", Context(), "en", "conversation", None),
            max_calls=5,
        )
        result = await handler.async_execute(llm.ToolInput(tool_name=name, tool_args=args), turn)
        assert {"success", "result", "error"} <= result.data.keys()
        json.dumps(result.data)
        assert result.data["success"] is (not result.error)
        for event in moved:
            if event.data["domain"] in PROTECTED:
                written = json.dumps([name, args], default=str).casefold()
                assert any(word in written for word in ("front_door", "front door", "lock")), event.data
