"""Spans of time in forms: stored as text such as 90d or 1h30m, shown in hours, minutes and seconds."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from ..errors import InvalidInput
from ..timespans import read_span

UNITS: Final = {"days": ("d", 86_400), "hours": ("h", 3600), "minutes": ("m", 60), "seconds": ("s", 1)}
"""The parts of a duration in a form, with the letter and the seconds of each."""


def written_span(length: timedelta) -> str:
    """Return a span as text, in the largest units that fit: 1h30m. Zero is 0."""
    left, parts = int(length.total_seconds()), []
    for letter, size in UNITS.values():
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0"


def clean_span(value: Any) -> str:
    """Return a span of time as text, from text or from the parts of a form. Raises InvalidInput."""
    try:
        if isinstance(value, Mapping):
            parts = {name: float(value.get(name) or 0) for name in UNITS}
            return written_span(timedelta(**parts))
        span = "".join(str(value).split()).lower()
        read_span(span)
    except (TypeError, ValueError, OverflowError) as err:
        raise InvalidInput("invalid_span") from err
    return span


def shown_span(value: Any) -> dict[str, int] | None:
    """Return a stored span in the parts of a form; None for one that cannot be read."""
    try:
        length = read_span(value)
    except ValueError, OverflowError:
        return None
    left, parts = int(length.total_seconds()) if length else 0, {}
    for name, (_, size) in UNITS.items():
        parts[name], left = divmod(left, size)
    return parts
