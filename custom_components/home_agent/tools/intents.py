"""What intents, and tools of other LLM APIs, call: known before they run, so that the guard can judge it."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import config_validation as cv, entity_registry as er, intent, llm, selector

from ..const import ASSISTANT
from ..domains import DOMAINS
from ..domains.base import words
from ..errors import PermissionDenied
from ..knowledge.speaker import Speaker
from ..safety.frozen import ServiceCall
from ..safety.policy import Reader

COMMAND = "conversation_command"
"""A sentence that core's own agent carries out later, past the guard."""
INTENT_SCRIPT = "homeassistant.components.intent_script"

TIMER_INTENTS = words(
    "HassCancelAllTimers HassCancelTimer HassDecreaseTimer HassIncreaseTimer HassPauseTimer HassStartTimer "
    "HassTimerStatus HassUnpauseTimer"
)
LIST_INTENTS = words(
    "HassListAddItem HassListCompleteItem HassShoppingListAddItem HassShoppingListCompleteItem "
    "HassShoppingListLastItems"
)
READING = "HassGetState"
UNSEEING = TIMER_INTENTS | words("HassGetCurrentDate HassGetCurrentTime HassNevermind HassRespond")
"""Harmless intents that have nothing to do with entities."""
HARMLESS = UNSEEING | LIST_INTENTS | words(f"HassClimateGetTemperature HassGetWeather {READING}")
"""Intents that read, or touch nothing but a timer or a list."""

SPECIAL: Mapping[str, tuple[str, str]] = {
    "HassClimateSetTemperature": ("climate", "set_temperature"),
    "HassSetVolumeRelative": ("media_player", "volume_set"),
    "HassHumidifierSetpoint": ("humidifier", "set_humidity"),
    "HassHumidifierMode": ("humidifier", "set_mode"),
    "HassClimateSetFanMode": ("climate", "set_fan_mode"),
}
"""Handlers of their own kind, with the call that they make."""


def predicted_calls(
    hass: HomeAssistant, intent_type: str, slots: Mapping[str, Any], speaker: Speaker
) -> list[ServiceCall] | None:
    """Return the service calls that an intent would make; None if that cannot be known.

    `slots` maps slot names to plain values. An empty list means that nothing is called.
    """
    if slots.get(COMMAND):
        return None
    handler = _handler(hass, intent_type)
    # Anybody may put another one in the place of Home Assistant's own.
    if handler is not None and (_belongs(handler, INTENT_SCRIPT) or not _belongs(handler, "homeassistant")):
        return None
    if intent_type in HARMLESS:
        return []
    if intent_type in SPECIAL:
        domain, service = SPECIAL[intent_type]
        return [
            ServiceCall(domain=domain, service=service, entity_ids=(state.entity_id,))
            for state in _matched(hass, slots, speaker, {domain})
        ]
    if not isinstance(handler, intent.DynamicServiceIntentHandler):
        return None
    intent_obj = intent.Intent(
        hass,
        ASSISTANT,
        intent_type,
        {name: {"value": value} for name, value in slots.items()},
        None,
        speaker.context,
        speaker.language,
        ASSISTANT,
    )
    calls = []
    for state in _matched(hass, slots, speaker, handler.required_domains):
        domain, service = handler.get_domain_and_service(intent_obj, state)
        if domain == "homeassistant":
            domain = state.domain
            service = DOMAINS[domain].generic_services.get(service, service)
        calls.append(ServiceCall(domain=domain, service=service, entity_ids=(state.entity_id,)))
    return calls


def check_intent_slots(
    hass: HomeAssistant, reader: Reader, intent_type: str, slots: Mapping[str, Any]
) -> None:
    """Raise PermissionDenied for an intent that brings a command, or that reads what may not be told.

    Home Assistant answers from everything that is exposed, so the model is asked instead where that is not
    all for the speaker, unless the targets are known and may be read.
    """
    if slots.get(COMMAND):
        raise PermissionDenied(
            "A timer cannot carry a command, which nobody could confirm later. Set a timer without one"
        )
    if intent_type not in HARMLESS - UNSEEING or not reader.narrows:
        return
    states = _matched(hass, slots, reader.speaker, None) if intent_type == READING else []
    if not states or not all(reader.sees(state.entity_id) for state in states):
        raise PermissionDenied("The agent may not see all that this sentence is about")


def is_scripted(hass: HomeAssistant, intent_type: str) -> bool:
    """Return whether the household's `intent_script` handles an intent."""
    handler = _handler(hass, intent_type)
    return handler is not None and _belongs(handler, INTENT_SCRIPT)


def _handler(hass: HomeAssistant, intent_type: str) -> intent.IntentHandler | None:
    return next((item for item in intent.async_get(hass) if item.intent_type == intent_type), None)


def _belongs(handler: intent.IntentHandler, package: str) -> bool:
    """Return whether a package defines a handler, in whichever of its modules: they differ by release."""
    return f"{type(handler).__module__}.".startswith(f"{package}.")


def _matched(
    hass: HomeAssistant, slots: Mapping[str, Any], speaker: Speaker, domains: set[str] | None
) -> list[State]:
    name = slots.get("name")
    constraints = intent.MatchTargetsConstraints(
        name=None if name == "all" else name,
        area_name=slots.get("area"),
        floor_name=slots.get("floor"),
        domains=set(cv.ensure_list(slots.get("domain"))) or domains,
        device_classes=set(cv.ensure_list(slots.get("device_class"))) or None,
        assistant=ASSISTANT,
    )
    preferences = intent.MatchTargetsPreferences(area_id=speaker.area_id, floor_id=speaker.floor_id)
    result = intent.async_match_targets(hass, constraints, preferences)
    return result.states if result.is_match else []


CORE = "homeassistant.components."
CALL_ANYTHING: Final = "homeassistant__call_action"
"""Home Assistant's tool that calls any action on anything, exposed or not; `ha_control` is in its place."""


class OtherTool(llm.NamespacedTool):
    """A tool of another API under a name that servers accept and that no other tool has."""

    def __init__(self, name: str, tool: llm.Tool, api_id: str) -> None:
        super().__init__(api_id, tool)
        self.name = name


def inner_tool(tool: llm.Tool) -> llm.Tool:
    """Return a tool as its own API made it."""
    while isinstance(tool, llm.NamespacedTool):
        tool = tool.tool
    return tool


def tells_states(tool: llm.Tool) -> bool:
    """Return whether a tool of Home Assistant's own tells what is exposed, or more, whoever asks."""
    module = type(inner_tool(tool)).__module__
    return module.startswith(CORE) and module.endswith(".llm") and module != f"{CORE}llm.llm"


def inner_name(tool: llm.Tool) -> str:
    """Return the name that a tool's own API gave it."""
    return inner_tool(tool).name


def intent_of(tool: llm.Tool) -> str | None:
    """Return the intent behind a tool, if it is one."""
    inner = inner_tool(tool)
    return inner.intent_type if isinstance(inner, llm.IntentTool) else None


def script_of(hass: HomeAssistant, tool: llm.Tool) -> str | None:
    """Return the script behind a tool, if it is one."""
    inner = inner_tool(tool)
    if not isinstance(inner, llm.ActionTool):
        return None
    # ActionTool has no public way to tell what it calls.
    domain, action = getattr(inner, "_domain", ""), getattr(inner, "_action", "")
    if domain != "script":
        return None
    registered = er.async_get(hass).async_get_entity_id("script", "script", action)
    return registered or f"script.{action}"


def values_of(tool: llm.Tool, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a script gets as they are; core puts ids in the place of areas and floors."""
    schema = getattr(inner_tool(tool).parameters, "schema", None)
    fields = schema if isinstance(schema, Mapping) else {}
    replaced = {
        str(name)
        for name, validator in fields.items()
        if isinstance(validator, selector.AreaSelector | selector.FloorSelector)
    }
    return {name: value for name, value in args.items() if name not in replaced}
