"""The arguments of ha_control: what the model is told, and what it writes."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, override

import probatio

from ...domains import DOMAINS, verbs
from ...knowledge.spoken_words import words_of
from ...literals import parsed
from ...texts import fold
from ..resolving.targets import Target, texts
from .parameters import clean

MAX_ERROR = 300

_READS = words_of(
    "get get_state state status is_on is_off is_open is_closed check query read info describe list has_state"
)
_VERB_WORDS: Mapping[str, str] = {
    "on": "turn_on",
    "off": "turn_off",
    "switch_on": "turn_on",
    "switch_off": "turn_off",
    "power_on": "turn_on",
    "power_off": "turn_off",
    "enable": "turn_on",
    "disable": "turn_off",
    "set": "set_value",
    "adjust": "set_value",
    "change": "set_value",
    "set_brightness": "set_value",
    "dim": "set_value",
    "set_color": "set_value",
    "set_level": "set_value",
    "set_percentage": "set_speed",
    "set_fan_speed": "set_speed",
    "set_mode": "set_preset",
    "set_preset_mode": "set_preset",
    "set_operation_mode": "set_preset",
    "set_source": "select_source",
    "set_option": "select_option",
    "select": "select_option",
    "set_tilt_position": "set_tilt",
    "tilt": "set_tilt",
    "volume_set": "set_volume",
    "volume_mute": "mute",
    "resume": "play",
    "unpause": "play",
    "skip": "next",
    "dock": "return_to_base",
    "return": "return_to_base",
    "return_home": "return_to_base",
    "raise": "increase",
    "lower": "decrease",
    "activate_scene": "activate",
    "run": "activate",
    "arm": "arm_away",
    "open_latch": "open",
}
TARGET_SLOTS: Final = ("entity_id", "name", "area", "floor", "domain", "device_class")
LIST_SLOTS: Final = ("entity_id", "domain", "device_class")
SLOT_WORDS: Final[Mapping[str, str]] = {
    **{slot: slot for slot in ("action", *TARGET_SLOTS, "parameters")},
    **dict.fromkeys(("target_device", "target_entity", "entity", "entity_ids", "entities"), "entity_id"),
    **dict.fromkeys(("names", "friendly_name"), "name"),
    **dict.fromkeys(("area_id", "areas", "room"), "area"),
    **dict.fromkeys(("floor_id", "floors"), "floor"),
    "domains": "domain",
    "device_classes": "device_class",
    **dict.fromkeys(("service_data", "data", "params"), "parameters"),
}
"""Slots of a call by what models call them."""


class ControlSchema(probatio.Schema):
    """What the model is told; what it writes is put in order before it is checked."""

    def __init__(self) -> None:
        """Declare the slots."""
        super().__init__(
            {
                probatio.Required("action"): probatio.In(sorted(verbs())),
                probatio.Optional("entity_id"): [str],
                probatio.Optional("name"): str,
                probatio.Optional("area"): str,
                probatio.Optional("floor"): str,
                probatio.Optional("domain"): [str],
                probatio.Optional("device_class"): [str],
                probatio.Optional(
                    "parameters",
                    description="brightness_pct, color, color_temp, temperature, hvac_mode, position, "
                    "volume, percentage, source, option, value, duration, ...",
                ): dict,
            }
        )

    @override
    def __call__(self, data: Any, **options: Any) -> Any:
        """Return the arguments in order: lists where lists belong, parameters among the parameters."""
        if not isinstance(data, Mapping):
            raise probatio.Invalid("an object is needed")
        return super().__call__(_in_order(data), **options)


def _in_order(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments under the slots they belong to; what is beside the slots is a parameter."""
    slots: dict[str, Any] = {}
    loose: dict[str, Any] = {}
    for key, value in args.items():
        slot = SLOT_WORDS.get(key)
        if slot is None:
            loose[key] = value
        elif slot not in slots or key == slot:
            slots[slot] = value
    tidy: dict[str, Any] = {"action": read_verb(slots["action"])} if slots.get("action") else {}
    for slot in TARGET_SLOTS:
        if slot in slots and (found := texts(slots[slot])):
            tidy[slot] = list(found) if slot in LIST_SLOTS else ", ".join(found)
    given = {**loose, **_read_object(slots.get("parameters"))}
    return {**tidy, "parameters": given} if given else tidy


def read_args(args: Mapping[str, Any]) -> tuple[str, Target, dict[str, Any]]:
    """Return action, target and parameters of arguments that ControlSchema has put in order.

    Raises ValidationError for parameters that belong to the target.
    """
    return args["action"], Target.from_args(args), clean(args.get("parameters"))


def read_verb(value: Any) -> str:
    """Return the action that a word means: its name, a service of that meaning, a common synonym.

    Raises probatio.Invalid; reading is no action, and no other word is taken for one it resembles.
    """
    word = "_".join(fold(str(value if not isinstance(value, list) else " ".join(map(str, value)))).split())
    known = verbs()
    if word in known:
        return word
    meant = {**_service_words(known), **_VERB_WORDS, **{verb: verb for verb in known}}
    for domain, facts in DOMAINS.items():
        if facts.actions and word.startswith(f"{domain}_") and word[len(domain) + 1 :] in meant:
            word = word[len(domain) + 1 :]
            break
    if word in meant:
        return meant[word]
    if word in _READS or word.startswith(("is_", "get_")):
        raise probatio.Invalid(f"{word!r} changes nothing; read states with ha_query")
    near = get_close_matches(word, known, 3, 0.5)
    raise probatio.Invalid(f"{word[:40]!r} is no action; allowed: {', '.join(near or sorted(known))}"[:300])


def _service_words(known: Collection[str]) -> dict[str, str]:
    """Return the actions by the names of their services, where these are no actions themselves."""
    found = {
        str(action.service): verb
        for facts in DOMAINS.values()
        for verb, action in facts.actions.items()
        if action.service not in (None, *known) and not verb.startswith("turn_")
    }
    return found | {
        "set_cover_position": "set_position",
        "set_valve_position": "set_position",
        "increment": "increase",
        "decrement": "decrease",
    }


def _read_object(value: Any) -> dict[str, Any]:
    """Return an object from an object or its text."""
    if isinstance(value, str):
        value = parsed(value) if value.strip() else None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or value == []:
        return {}
    if not isinstance(value, dict):
        raise probatio.Invalid(f"parameters: an object is needed, not {str(value)[:40]!r}")
    return value
