"""What automations and scripts do, in words. Of the data of a step only what the tables name is told."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .conditions import condition_in_words, conditions_in_words
from .triggers import Config, device, triggers_in_words
from .words import TARGETS, Words, is_template

MAX_DEPTH: Final = 6
MAX_STEPS: Final = 30

SHOWN: Final = frozenset(
    (
        *("brightness_pct", "brightness", "brightness_step_pct", "color_name", "color_temp_kelvin", "kelvin"),
        *("rgb_color", "effect", "transition", "temperature", "target_temp_high", "target_temp_low"),
        *("hvac_mode", "preset_mode", "fan_mode", "humidity", "position", "tilt_position", "percentage"),
        *("volume_level", "is_volume_muted", "source", "sound_mode", "option", "duration", "mode"),
        *("fan_speed", "title", "message", "date", "time", "datetime", "item", "summary", "tone"),
    )
)
"""Data of a step that says what it does and is nobody's secret."""
NUMBERS: Final = frozenset({"counter", "input_number", "number"})
"""Domains whose `value` is told too."""
PERCENT: Final = frozenset(
    ("brightness_pct", "brightness_step_pct", "humidity", "percentage", "position", "tilt_position")
)
SPOKEN: Final[Mapping[str, str]] = {
    "homeassistant.restart": "restart Home Assistant",
    "logbook.log": "write to the logbook",
    "persistent_notification.create": "show a notification",
    "scene.turn_on": "activate",
    "scene.apply": "set states",
    "script.turn_on": "run",
    "automation.trigger": "run",
    "automation.turn_on": "enable",
    "automation.turn_off": "disable",
    "input_select.select_option": "select",
    "select.select_option": "select",
}
"""Actions whose name alone does not say it."""
SENDS: Final[Mapping[str, str]] = {"notify": "send a notification", "tts": "say"}
"""Domains of which the name of the action is a recipient or an engine."""


def actions_in_words(words: Words, actions: Any, depth: int = 0) -> str:
    """Return the steps of a sequence, in order."""
    if depth >= MAX_DEPTH:
        return "further steps"
    steps = [said for step in _steps(actions) if (said := action_in_words(words, step, depth))]
    if len(steps) > MAX_STEPS:
        steps = [*steps[:MAX_STEPS], f"{len(steps) - MAX_STEPS} more steps"]
    return "; ".join(steps)


def action_in_words(words: Words, step: Any, depth: int = 0) -> str:
    """Return one step; nothing of one that is switched off."""
    if not isinstance(step, Mapping):
        return condition_in_words(words, step)
    if step.get("enabled") is False:
        return ""
    for key, said in ACTIONS.items():
        if key in step:
            return said(words, step, depth)
    return "another step"


def parameters_in_words(words: Words, domain: str, data: Any) -> str:
    """Return the data of a step that may be told."""
    if not isinstance(data, Mapping):
        return ""
    parts = []
    for key, value in data.items():
        if value is None or not (key in SHOWN or (key == "value" and domain in NUMBERS)):
            continue
        if key == "brightness" and isinstance(value, int | float):
            parts.append(f"brightness {round(value / 2.55)} %")
        elif key in ("duration", "transition"):
            parts.append(f"{key} {words.duration(value)}")
        else:
            name = key.removesuffix("_pct").replace("_", " ")
            parts.append(f"{name} {words.text(value)}{' %' if key in PERCENT else ''}")
    return f" ({', '.join(parts)})" if parts else ""


def _steps(actions: Any) -> Iterator[Any]:
    """Yield the steps of a sequence, of one step too."""
    if isinstance(actions, list | tuple):
        yield from actions
    elif actions:
        yield actions


def _call(words: Words, step: Config, _depth: int) -> str:
    """Return a call of a service."""
    name = step.get("action") or step.get("service") or step.get("service_template")
    data = {**_mapping(step.get("data_template")), **_mapping(step.get("data"))}
    if not isinstance(name, str) or is_template(name):
        return f"call {words.text(name)}"
    domain, _, service = name.lower().partition(".")
    target = words.target(step.get("target"), domain)
    beside = {key: step[key] for key in TARGETS if key in step}
    within = {key: data[key] for key in TARGETS if key in data}
    target = " and ".join(
        part for part in (target, words.target(beside, domain), words.target(within, domain)) if part
    )
    told = parameters_in_words(words, domain, data)
    if domain in SENDS:
        return f"{SENDS[domain]}{told}"
    if domain == "script" and service not in ("turn_on", "turn_off", "toggle", "reload"):
        return f"run {words.entity(f'script.{service}')}"
    verb = SPOKEN.get(name) or service.removesuffix(f"_{domain}").replace("_", " ")
    if not target and name not in SPOKEN:
        verb = f"{verb} ({domain.replace('_', ' ')})"
    return f"{verb} {target}".rstrip() + told


def _mapping(value: Any) -> Config:
    """Return data that is written as such."""
    return value if isinstance(value, Mapping) else {}


def _choose(words: Words, step: Config, depth: int) -> str:
    """Return the first of several ways that fits."""
    options = step["choose"] if isinstance(step["choose"], list | tuple) else [step["choose"]]
    parts = [
        f"if {conditions_in_words(words, option.get('conditions'))}: "
        f"{actions_in_words(words, option.get('sequence'), depth + 1)}"
        for option in options
        if isinstance(option, Mapping)
    ]
    if step.get("default"):
        parts.append(f"else: {actions_in_words(words, step['default'], depth + 1)}")
    return f"choose [{' | '.join(parts)}]"


def _if(words: Words, step: Config, depth: int) -> str:
    """Return a way for when something holds, and one for when it does not."""
    then = actions_in_words(words, step.get("then"), depth + 1)
    said = f"if {conditions_in_words(words, step['if'])}: [{then}]"
    if step.get("else"):
        said += f" else: [{actions_in_words(words, step['else'], depth + 1)}]"
    return said


def _repeat(words: Words, step: Config, depth: int) -> str:
    """Return what is done again and again."""
    repeat = _mapping(step["repeat"])
    how = ""
    if repeat.get("count") is not None:
        how = f"{words.text(repeat['count'])} times"
    elif repeat.get("for_each") is not None:
        how = f"for each of {words.text(repeat['for_each'])}"
    else:
        how = " ".join(
            f"{key} {conditions_in_words(words, repeat[key])}"
            for key in ("while", "until")
            if repeat.get(key)
        )
    return f"repeat {how}: [{actions_in_words(words, repeat.get('sequence'), depth + 1)}]"


def _parallel(words: Words, step: Config, depth: int) -> str:
    """Return what is done at the same time."""
    return f"at the same time [{actions_in_words(words, step['parallel'], depth + 1)}]"


def _wait(words: Words, step: Config, _depth: int) -> str:
    """Return what is waited for, and how long at most."""
    if "wait_template" in step:
        said = f"wait until {words.text(step['wait_template'])}"
    else:
        said = f"wait until {triggers_in_words(words, step['wait_for_trigger'])}"
    return f"{said}, at most {words.duration(step['timeout'])}" if step.get("timeout") else said


def _device(words: Words, step: Config, _depth: int) -> str:
    """Return what an integration does with its device."""
    what = str(step.get("type") or "").replace("_", " ")
    whose = device(words, {key: step[key] for key in ("entity_id", "device_id") if key in step}).rstrip(":")
    return f"{what} {whose}".strip()


def _scene_states(words: Words, step: Config, depth: int) -> str:
    """Return a call; of states that are set directly, the entities."""
    entities = _mapping(step.get("data")).get("entities")
    if step.get("action", step.get("service")) == "scene.apply" and isinstance(entities, Mapping):
        return f"set {words.entities(list(entities))} to given states"
    return _call(words, step, depth)


ACTIONS: Final[Mapping[str, Callable[[Words, Config, int], str]]] = {
    "choose": _choose,
    "if": _if,
    "repeat": _repeat,
    "parallel": _parallel,
    "sequence": lambda words, step, depth: actions_in_words(words, step["sequence"], depth + 1),
    "wait_template": _wait,
    "wait_for_trigger": _wait,
    "delay": lambda words, step, _depth: f"wait {words.duration(step['delay'])}",
    "action": _scene_states,
    "service": _scene_states,
    "service_template": _call,
    "condition": lambda words, step, _depth: f"go on only if {condition_in_words(words, step)}",
    "and": lambda words, step, _depth: f"go on only if {condition_in_words(words, step)}",
    "or": lambda words, step, _depth: f"go on only if {condition_in_words(words, step)}",
    "not": lambda words, step, _depth: f"go on only if {condition_in_words(words, step)}",
    "scene": lambda words, step, _depth: f"activate {words.entity(step['scene'])}",
    "event": lambda words, step, _depth: f"fire event {words.text(step['event'])}",
    "stop": lambda _words, _step, _depth: "stop",
    "set_conversation_response": lambda _words, _step, _depth: "answer the speaker",
    "variables": lambda _words, _step, _depth: "",
    "device_id": _device,
}
"""By the key that a step has; the first that fits counts."""
