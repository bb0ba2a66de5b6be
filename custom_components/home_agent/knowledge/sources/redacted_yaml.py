"""Automations and scripts as YAML for the model: on one line, with names for ids, without secrets.

Only keys of Home Assistant's own syntax are shown, and of the data of an action only what says what it
does. Everything else may hold a secret or an id.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...texts import clean
from .words import PRIVATE, TEXT_CHARS, Words, is_template

MAX_DEPTH: Final = 10
MAX_ITEMS: Final = 30
LEFT_OUT: Final = "…"

BLOCKS: Final = frozenset(
    (
        *("trigger", "triggers", "condition", "conditions", "action", "actions", "sequence", "parallel"),
        *("if", "then", "else", "choose", "default", "repeat", "count", "for_each", "while", "until"),
        *("and", "or", "not", "wait_for_trigger", "wait_template", "delay", "timeout"),
        *("service", "service_template", "event", "scene", "stop"),
    )
)
TYPES: Final = frozenset(("trigger", "platform", "condition"))
"""Their values are names of Home Assistant's own, also if they look like ids of entities."""
DETAILS: Final = frozenset(
    (
        *("platform", "id", "attribute", "to", "from", "not_to", "not_from", "state", "match", "for"),
        *("above", "below", "value_template", "at", "after", "before", "offset", "after_offset"),
        *("before_offset", "weekday", "days", "hours", "minutes", "seconds", "event_type", "zone"),
        *("source", "topic", "command", "domain", "type", "subtype"),
    )
)
TARGETS: Final = frozenset(("entity_id", "device_id", "area_id", "floor_id", "label_id"))
MERGED: Final = frozenset(("target", "data", "data_template", "options"))
"""Their contents are shown in the step itself."""
DATA: Final = frozenset(
    (
        *("brightness_pct", "brightness", "brightness_step_pct", "color_name", "color_temp_kelvin", "kelvin"),
        *("rgb_color", "effect", "transition", "temperature", "target_temp_high", "target_temp_low"),
        *("hvac_mode", "preset_mode", "fan_mode", "humidity", "position", "tilt_position", "percentage"),
        *("volume_level", "is_volume_muted", "source", "sound_mode", "option", "duration", "mode"),
        *("fan_speed", "title", "message", "date", "time", "datetime", "item", "summary", "tone"),
    )
)
"""Data of an action that describes it and is never secret."""
NUMBERS: Final = frozenset({"counter", "input_number", "number"})
"""Domains whose `value` is shown too."""
RECIPIENTS: Final = frozenset({"notify", "tts"})
"""Domains whose actions are named after a recipient or an engine."""
SCRIPT_ACTIONS: Final = frozenset({"turn_on", "turn_off", "toggle", "reload"})


def redacted_yaml(words: Words, config: Any) -> str:
    """Return a part of a configuration; what is disabled in it is left out."""
    shown = _shown(words, config, 0)
    if isinstance(shown, list) and len(shown) == 1:
        shown = shown[0]
    return flow_yaml(shown)


def redacted_data(words: Words, domain: str, data: Any) -> dict[str, Any]:
    """Return the data of an action of a domain as far as it may be shown."""
    if not isinstance(data, Mapping):
        return {}
    shown = {
        str(key): words.text(value)
        for key, value in data.items()
        if value is not None and (key in DATA or (key == "value" and domain in NUMBERS))
    }
    if isinstance(brightness := data.get("brightness"), int | float):
        shown["brightness"] = f"{round(brightness / 2.55)} %"
    return shown


def _shown(words: Words, value: Any, depth: int) -> Any:
    """Return the part of a configuration that may be shown: texts, lists and dictionaries."""
    if depth > MAX_DEPTH:
        return LEFT_OUT
    if isinstance(value, Mapping):
        return {} if value.get("enabled") is False else _step(words, value, depth)
    if isinstance(value, list | tuple):
        items = [item for part in value[:MAX_ITEMS] if (item := _shown(words, part, depth + 1))]
        return [*items, f"{len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else items
    return words.text(value)


def _step(words: Words, step: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    action = step.get("action") or step.get("service") or ""
    domain = str(action).partition(".")[0]
    for key, value in step.items():
        if key in TARGETS:
            shown.update(_targets(words, {key: value}))
        elif key in ("action", "service") and isinstance(value, str):
            shown[key] = _action(words, value)
        elif key in TYPES and isinstance(value, str) and not is_template(value):
            shown[key] = clean(value, TEXT_CHARS)
        elif key in MERGED:
            shown.update(_merged(words, key, value, domain))
        elif key in ("scene", "zone"):
            shown[key] = _names(words.entity(item) for item in _as_list(value))
        elif key in BLOCKS or key in DETAILS:
            shown[key] = _shown(words, value, depth + 1)
    return {key: value for key, value in shown.items() if value not in ("", [], {})}


def _merged(words: Words, key: str, value: Any, domain: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {key: words.text(value)} if is_template(value) else {}
    if key == "options":
        return {
            str(name): words.text(option) for name, option in value.items() if not PRIVATE.search(str(name))
        }
    if key == "target":
        return _targets(words, value)
    shown = {**_targets(words, value), **redacted_data(words, domain, value)}
    if isinstance(entities := value.get("entities"), Mapping):
        shown["entities"] = _names(words.entity(entity_id) for entity_id in entities)
    return shown


def _action(words: Words, action: str) -> str:
    domain, _, service = action.lower().partition(".")
    if domain in RECIPIENTS:
        return domain
    if domain == "script" and service not in SCRIPT_ACTIONS:
        return words.entity(action.lower())
    return words.text(action) if is_template(action) else clean(action, TEXT_CHARS)


def _targets(words: Words, given: Mapping[str, Any]) -> dict[str, Any]:
    named = {
        "entity_id": lambda value: value if value in ("all", "none") else words.entity(value),
        "device_id": words.device,
        "area_id": words.area,
        "floor_id": words.floor,
        "label_id": words.label,
    }
    return {key: _names(map(name, _as_list(given[key]))) for key, name in named.items() if key in given}


def _names(names: Iterable[str]) -> Any:
    distinct = list(dict.fromkeys(names))
    return distinct[0] if len(distinct) == 1 else distinct


def _as_list(value: Any) -> Sequence[Any]:
    """Return ids as a list; a text with commas is several, a template is one."""
    if isinstance(value, str) and not is_template(value):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value if isinstance(value, list | tuple) else [value]


def flow_yaml(value: Any) -> str:
    """Return a value as YAML in flow style, without quotes; an empty one as an empty text."""
    if not value:
        return ""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_yaml, value))}]"
    return str(value)
