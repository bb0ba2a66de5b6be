"""What an entity supports, by the names of Home Assistant's enums of features."""

from functools import cache, reduce
from importlib import import_module
from operator import or_
from typing import Final

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State

FEATURE_ENUMS: Final = {"todo": "TodoListEntityFeature"}
"""The enums that are not called after their domain."""


@cache
def feature_bits(domain: str, features: str) -> int:
    """Return the bits of `supported_features` for names from Home Assistant's enum, with spaces between them.

    The first use imports the integration of the domain, so it is not done while this package loads.
    """
    enum = getattr(import_module(feature_module(domain)), feature_enum(domain))
    return reduce(or_, (int(enum[name]) for name in features.split() if name in enum.__members__), 0)


def supports(state: State | None, features: str) -> bool:
    """Return whether an entity has one of some features, named with spaces between them; true for none."""
    bits = state.attributes.get(ATTR_SUPPORTED_FEATURES) if state else None
    return not features or (
        isinstance(bits, int) and bool(state and bits & feature_bits(state.domain, features))
    )


def feature_module(domain: str) -> str:
    """Return the module with Home Assistant's enum of features."""
    return f"homeassistant.components.{domain}.const"


def feature_enum(domain: str) -> str:
    """Return the name of this enum."""
    return FEATURE_ENUMS.get(domain, f"{domain.title().replace('_', '')}EntityFeature")
