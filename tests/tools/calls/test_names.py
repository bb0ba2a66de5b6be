"""Calls by older, prefixed and foreign names, on a real `hass` through the guard."""

from typing import Any

from custom_components.home_agent.safety.redaction import UNPARSED
from custom_components.home_agent.tools.calls.repair import adapt, fit, is_known
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from tests.helpers.agent import async_agent
from tests.helpers.schemas import LIGHT, TOOLS
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


def control(action: str, domain: str = "", parameters: dict[str, Any] | None = None, **target: Any) -> Any:
    """Return a call of ha_control."""
    limited = {"domain": [domain]} if domain else {}
    return "ha_control", {
        "action": action,
        **target,
        **limited,
        **({"parameters": parameters} if parameters else {}),
    }


DIM = control("light.turn_on", "light", {"brightness_pct": 5}, entity_id=[LIGHT])
RADIO = {"name": "Radio"}
CALLS: list[tuple[str, dict[str, Any], tuple[str, dict[str, Any]]]] = [
    (
        "HassTurnOn",
        {"name": "Hall", "domain": ["light"], "floor": ""},
        control("turn_on", "light", name="Hall"),
    ),
    ("intent__HassTurnOff", {"area": "Hall"}, control("turn_off", area="Hall")),
    ("assist__intent__HassTurnOn", {"name": "Hall"}, control("turn_on", name="Hall")),
    (
        "HassLightSet",
        {"area": "Hall", "brightness": 40, "temperature": 0},
        control("set_value", "light", {"brightness_pct": 40}, area="Hall"),
    ),
    (
        "HassSetVolume",
        {**RADIO, "volume_level": 50},
        control("set_volume", "media_player", {"volume_level": 0.5}, **RADIO),
    ),
    (
        "HassSetVolumeRelative",
        {**RADIO, "volume_step": "down"},
        control("volume_down", "media_player", **RADIO),
    ),
    (
        "HassSetVolumeRelative",
        {**RADIO, "volume_step": -20},
        control("volume_down", "media_player", {"step": 20.0}, **RADIO),
    ),
    ("HassSetPosition", {"position": 1}, control("set_position", parameters={"position": 1})),
    ("light.turn_on", {"entity_id": LIGHT, "brightness_pct": 5}, DIM),
    ("homeassistant.turn_off", {"target": {"entity_id": [LIGHT]}}, control("turn_off", entity_id=[LIGHT])),
    (
        "call_service",
        {"domain": "light", "service": "turn_on", "service_data": {"entity_id": LIGHT, "brightness_pct": 5}},
        DIM,
    ),
    (
        "HassCallService",
        {"service": "cover.open", "target_device": "cover.blind"},
        control("cover.open", "cover", entity_id=["cover.blind"]),
    ),
    ("GetLiveContext", {}, ("ha_query", {"entity_id": "*"})),
    ("homeassistant__GetLiveContext", {"area": "Hall"}, ("ha_query", {"area": "Hall"})),
    ("get_state", {"entity_id": LIGHT}, ("ha_query", {"entity_id": [LIGHT]})),
    ("functions.ha_control", {"action": "toggle"}, control("toggle")),
    ("HA-Control", {"action": "toggle"}, control("toggle")),
    ("haQuery", {"entity_id": LIGHT}, ("ha_query", {"entity_id": LIGHT})),
    ("HassTurnOn", {UNPARSED: "{"}, ("ha_control", {UNPARSED: "{"})),
]


def test_names_are_mapped() -> None:
    """Each becomes a call of ours that our tool takes."""
    for name, args, meant in CALLS:
        (adapted,) = adapt(llm.ToolInput(tool_name=name, tool_args=args), TOOLS)
        assert (adapted.call.tool_name, adapted.call.tool_args) == meant
        assert is_known(name, TOOLS)
        if UNPARSED not in args:
            fit(TOOLS[meant[0]], adapted.call.tool_args)


def test_other_names_are_left_alone() -> None:
    """What is not in the table goes to the guard as it came."""
    others: list[tuple[str, dict[str, Any]]] = [
        ("set_light", {"name": "Hall"}),
        ("homeassistant.restart", {}),
        ("shell_command.reboot", {}),
        ("call_service", {"domain": "hassio", "service": "host_reboot"}),
        ("call_service", {"service": "turn_on"}),
        ("execute_services", {"list": ["light.turn_on"]}),
        ("", {}),
    ]
    for name, args in others:
        (adapted,) = adapt(llm.ToolInput(tool_name=name, tool_args=args), TOOLS)
        assert (adapted.call.tool_name, adapted.call.tool_args, adapted.rule) == (name, args, None)


async def run_one(
    hass: HomeAssistant, server: ModelServer, sentence: str, name: str, args: dict[str, Any]
) -> dict[str, Any]:
    """Let the model make one call and return the envelope that it gets."""
    agent = await async_agent(hass, server, {"policy_allowed": ["lock"]})
    server.script([tool_calls([(name, args)]), text("Well.")])
    await agent.say(sentence)
    return tool_results(server.chats[1])[0]


async def test_on_means_lock_for_a_lock(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Home Assistant's intents lock by turning on, and the guard knows it."""
    call = ("HassTurnOn", {"name": "Front Door"})
    envelope = await run_one(hass, model_server, "Lock the front door", *call)
    assert envelope["success"], envelope
    assert hass.states.get("lock.front_door").state == "locked"


async def test_off_is_no_unlock_in_our_own_words(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The same words mean nothing for a lock where they do not come from an intent."""
    call = ("homeassistant.turn_off", {"entity_id": "lock.front_door"})
    assert not (await run_one(hass, model_server, "Front door off", *call))["success"]


async def test_a_second_target_is_refused(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Data cannot bring in another target than the one that was checked."""
    call = (
        "call_service",
        {"service": "light.turn_on", "entity_id": LIGHT, "data": {"entity_id": "light.bed_light"}},
    )
    envelope = await run_one(hass, model_server, "Kitchen ceiling on", *call)
    assert not envelope["success"]
    assert hass.states.get("light.bed_light").state == "off"
