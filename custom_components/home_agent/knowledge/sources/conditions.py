"""What has to hold, in words."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from .triggers import Config, between, clock, described, device, lasting, measured, weekdays
from .words import Words, as_list, together

MAX_DEPTH: Final = 5
MAX_CONDITIONS: Final = 12
JOINED: Final = {"and": "and", "or": "or", "not": "or"}


def conditions_in_words(words: Words, conditions: Any, word: str = "and", depth: int = 0) -> str:
    """Return conditions, joined by a word."""
    items = conditions if isinstance(conditions, list | tuple) else [conditions]
    return together((condition_in_words(words, item, depth) for item in items), word, MAX_CONDITIONS)


def condition_in_words(words: Words, condition: Any, depth: int = 0) -> str:
    """Return one condition; nothing of one that is switched off."""
    if not isinstance(condition, Mapping):
        return words.text(condition)
    if condition.get("enabled") is False:
        return ""
    kind = condition.get("condition")
    for joined, word in JOINED.items():
        if kind == joined or (kind is None and joined in condition):
            return _group(words, condition.get("conditions", condition.get(joined)), joined, word, depth)
    if isinstance(kind, list):
        return _group(words, kind, "and", "and", depth)
    return _one(words, condition, kind)


def _one(words: Words, condition: Config, kind: Any) -> str:
    """Return a condition that stands for itself."""
    if not isinstance(kind, str) or "{" in kind:
        return words.text(kind)
    if special := CONDITIONS.get(kind):
        options = condition.get("options")
        return special(words, {**condition, **(options if isinstance(options, Mapping) else {})})
    return described(words, kind, condition)


def _group(words: Words, conditions: Any, kind: str, word: str, depth: int) -> str:
    """Return conditions that stand together."""
    if depth >= MAX_DEPTH:
        return "further conditions"
    said = conditions_in_words(words, conditions, word, depth + 1)
    if kind == "not":
        return f"not ({said})"
    return f"({said})" if depth and f" {word} " in said else said


def _state(words: Words, config: Config) -> str:
    """Return a state that something is in."""
    of = next(iter(as_list(config.get("entity_id"))), None)
    any_of = "or" if config.get("match") == "any" else "and"
    names = measured(words, config, any_of)
    return f"{names} is {words.states(config.get('state'), of)}{lasting(words, config)}"


def _number(words: Words, config: Config) -> str:
    """Return a number within limits."""
    return f"{measured(words, config)} is {between(words, config)}"


def _time(words: Words, config: Config) -> str:
    """Return a part of the day or the week."""
    parts = [
        f"{key} {clock(words, config[key])}" for key in ("after", "before") if config.get(key) is not None
    ]
    said = " and ".join(parts)
    return f"it is {said}{weekdays(config)}" if said else f"it is{weekdays(config)}"


def _sun(words: Words, config: Config) -> str:
    """Return daylight or darkness."""
    parts = []
    for key in ("after", "before"):
        if config.get(key):
            offset = config.get(f"{key}_offset")
            shift = f" ({words.duration(offset)} offset)" if offset else ""
            parts.append(f"{key} {config[key]}{shift}")
    return f"it is {' and '.join(parts)}"


def _zone(words: Words, config: Config) -> str:
    """Return where somebody is."""
    return f"{words.entities(config.get('entity_id'))} is in {words.entities(config.get('zone'), 'or')}"


CONDITIONS: Final[Mapping[str, Callable[[Words, Config], str]]] = {
    "device": device,
    "numeric_state": _number,
    "state": _state,
    "sun": _sun,
    "template": lambda words, config: words.template(config.get("value_template", "")),
    "time": _time,
    "trigger": lambda words, config: (
        f"started by trigger {together((words.text(item) for item in as_list(config.get('id'))), 'or')}"
    ),
    "zone": _zone,
}
"""By type; other types say their own name, target and options."""
