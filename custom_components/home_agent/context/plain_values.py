"""Whatever integrations put into attributes, as short plain JSON."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from math import isfinite
from typing import Any

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..texts import one_line
from ..timespans import format_span

MAX_ITEMS = 20
MAX_DEPTH = 3
MAX_INTEGER = 2**63 - 1


def plain(value: object, depth: int = MAX_DEPTH) -> JsonValueType:
    """Return a value as JSON-compatible data and a model can read it; None for what says nothing.

    Times are local, long texts and collections are cut and say so, NaN and sentinels become None.
    """
    for types, convert in _CONVERTERS:
        if isinstance(value, types):
            return convert(value, depth)
    return _unknown(value)


def _enum(value: Enum, depth: int) -> JsonValueType:
    """Return the meaning of a member; a private name marks a sentinel."""
    return None if value.name.startswith("_") else plain(value.value, depth)


def _integer(value: int, _depth: int) -> JsonValueType:
    """Return a whole number, as text where JSON readers would round it."""
    return int(value) if abs(value) <= MAX_INTEGER else one_line(hex(value))


def _number(value: float | Decimal, _depth: int) -> JsonValueType:
    return round(float(value), 5) if isfinite(value) else None


def _moment(value: datetime, _depth: int) -> JsonValueType:
    """Return a point in time as local ISO text."""
    return dt_util.as_local(value).isoformat(timespec="seconds")


def _mapping(value: Mapping[object, object], depth: int) -> JsonValueType:
    """Return the first items of a mapping under text keys."""
    if not depth:
        return f"… ({len(value)} items)"
    items: dict[str, JsonValueType] = {
        str(plain(key)): plain(item, depth - 1) for key, item in islice(value.items(), MAX_ITEMS)
    }
    if len(value) > MAX_ITEMS:
        items["…"] = f"and {len(value) - MAX_ITEMS} more"
    return items


def _collection(value: Collection[object], depth: int) -> JsonValueType:
    """Return the first items of a list or a set."""
    if not depth:
        return f"… ({len(value)} items)"
    ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    items = [plain(item, depth - 1) for item in islice(ordered, MAX_ITEMS)]
    if len(value) > MAX_ITEMS:
        items.append(f"… and {len(value) - MAX_ITEMS} more")
    return items


def _unknown(value: object) -> JsonValueType:
    if type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__:
        return None
    with suppress(Exception):  # the object's own code runs here
        return one_line(str(value))
    return None


_CONVERTERS: tuple[tuple[Any, Callable[[Any, int], JsonValueType]], ...] = (
    ((bool, type(None)), lambda value, _depth: value),
    (Enum, _enum),
    (int, _integer),
    ((float, Decimal), _number),
    (str, lambda value, _depth: one_line(value)),
    (datetime, _moment),
    ((date, time), lambda value, _depth: value.isoformat()),
    (timedelta, lambda value, _depth: format_span(value.total_seconds())),
    ((bytes, bytearray, memoryview), lambda value, _depth: f"{len(value)} bytes"),
    (Mapping, _mapping),
    ((set, frozenset, list, tuple), _collection),
)
