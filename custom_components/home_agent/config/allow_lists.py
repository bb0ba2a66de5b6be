"""The lists of what an agent may see and control: a target selector, and how its value is stored."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.helpers.selector import TargetSelector

from ..errors import InvalidInput
from ..knowledge.view import AREAS, DEVICES, ENTITIES, EXCLUDED, FLOORS, LABELS
from ..safety.profiles import as_texts
from .fields import Field

MAX_NAMED: Final = 500
KEYS: Final = {
    ENTITIES: "entity_id",
    DEVICES: "device_id",
    AREAS: "area_id",
    FLOORS: "floor_id",
    LABELS: "label_id",
}
"""The name that Home Assistant's selector has for each."""
EXCLUDE: Final = "exclude"


def clean_allow_list(value: Any) -> dict[str, Any] | None:
    """Return what a target selector gave as it is stored, None for nothing. Raises InvalidInput."""
    if not isinstance(value, Mapping):
        return None
    named, excluded = _named(value), _named(value.get(EXCLUDE))
    if sum(map(len, (*named.values(), *excluded.values()))) > MAX_NAMED:
        raise InvalidInput("too_many_listed", limit=str(MAX_NAMED))
    return named | ({EXCLUDED: excluded} if excluded else {}) or None


def _named(value: Any) -> dict[str, list[str]]:
    """Return what a target names, by the stored keys."""
    if not isinstance(value, Mapping):
        return {}
    named = {key: list(dict.fromkeys(as_texts(value.get(picked)))) for key, picked in KEYS.items()}
    return {key: texts for key, texts in named.items() if texts}


def show_allow_list(stored: Any) -> dict[str, Any] | None:
    """Return a stored list as the selector shows it."""
    if not isinstance(stored, Mapping):
        return None
    shown: dict[str, Any] = {KEYS[key]: as_texts(texts) for key, texts in stored.items() if key in KEYS}
    excluded = show_allow_list(stored.get(EXCLUDED))
    return shown | ({EXCLUDE: excluded} if excluded else {})


def allow_list_field(key: str) -> Field:
    """Return the field of a list."""
    return Field(key=key, selector=TargetSelector(), clean=clean_allow_list, show=show_allow_list)
