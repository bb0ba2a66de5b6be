"""Settings of devices, compared before and after a change."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

COMPARED: Final = (
    "brightness",
    "temperature",
    "current_position",
    "percentage",
    "volume_level",
    "preset_mode",
)
"""Attributes whose old and new values are reported."""
FULL: Final[Mapping[str, float]] = {
    "brightness": 255,
    "volume_level": 1,
    "percentage": 100,
    "current_position": 100,
}
"""Attributes that are told in percent, and their value for 100 percent."""


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that changed, with their values before and after."""
    for name in COMPARED:
        old, new = before.get(name), after.get(name)
        if old != new and None not in (old, new):
            yield f"{name} {_shown(name, old)} -> {_shown(name, new)}"


def _shown(name: str, value: Any) -> str:
    full = FULL.get(name)
    is_share = full is not None and isinstance(value, int | float)
    return f"{round(value * 100 / full)}%" if is_share and full else str(value)
