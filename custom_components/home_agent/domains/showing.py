"""States in words: the parts from which the descriptions of the domains are made."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ..regex import lazy_regex
from ..texts import quoted
from ..timespans import format_largest

TEXT_CHARS: Final = 60
"""Characters kept of text that someone else wrote."""

AT_REST: Final = frozenset(
    {"off", "closed", "locked", "idle", "standby", "docked", "not_home", "disarmed", "clear"}
)
"""States in which nothing is on, open, unlocked or moving."""
GONE: Final = frozenset({"unavailable", "unknown"})
"""States that say nothing about the device."""

_SIMPLE: Final = lazy_regex(r"[\w+./:-]{1,40}")
"""States that are one word."""


def text_of(
    key: str, state: State, *, prefix: str = "", unless: frozenset[str] | set[str] = frozenset()
) -> Iterator[str]:
    """Yield an attribute that is text, unless it says nothing."""
    value = state.attributes.get(key)
    if value is not None and str(value) not in {"", *unless}:
        yield prefix + word_or_quote(str(value))


def word_or_quote(text: str) -> str:
    """Return one word as it is, anything else in quotes."""
    return text if _SIMPLE.fullmatch(text) else quoted(text, TEXT_CHARS)


def quoted_text(text: str) -> str:
    """Return text that someone else wrote in quotes, cut."""
    return quoted(text, TEXT_CHARS)


def pick(on_off: tuple[str, str], state: str) -> str:
    """Return the word for on or off."""
    return {"on": on_off[0], "off": on_off[1]}.get(state, word_or_quote(state))


def number_of(value: object) -> str:
    """Return a number with at most two decimals, or an empty text if it is not a number."""
    if value is None or isinstance(value, bool):
        return ""
    try:
        number = float(str(value))
    except ValueError:
        return ""
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124
        return ""
    text = f"{number:.2f}" if 1 <= abs(number) < 1e15 or number == 0 else f"{number:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def with_unit(number: str, unit: str) -> str:
    """Return a number with its unit."""
    return f"{number}{unit}" if unit in {"", "%", "°"} else f"{number} {unit}"


def moment(text: str) -> str:
    """Return a point in time in local time with its distance."""
    found = dt_util.parse_datetime(text)
    if found is None:
        return word_or_quote(text)
    return f"{dt_util.as_local(found):%Y-%m-%d %H:%M} ({ago(found)})"


def ago(found: datetime) -> str:
    """Return how long ago or ahead a point in time is."""
    seconds = (dt_util.utcnow() - dt_util.as_utc(found)).total_seconds()
    return f"{format_largest(seconds)} ago" if seconds >= 0 else f"in {format_largest(-seconds)}"
