"""Times of the day and of the week as triggers and conditions: by the clock, by the sun, on days."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import time
from typing import Any, Final

from homeassistant.const import WEEKDAYS

from ...automating.clauses import Clause
from ...errors import ValidationError
from ...texts import fold
from .items import Item
from .moments import DayTime, as_duration
from .words import means

SUNSET: Final = "sunset"
SUNRISE: Final = "sunrise"
SUN: Final = "sun.sun"
DARK: Final = frozenset({"below horizon", "below", "down", "set", "night", "dark", "night time", "nighttime"})
"""What models call the time between sunset and sunrise."""
LIGHT: Final = frozenset({"above horizon", "above", "up", "risen", "day", "light", "daytime", "daylight"})
NIGHT: Final[Mapping[str, str]] = {"after": SUNSET, "before": SUNRISE}
DAY: Final[Mapping[str, str]] = {"after": SUNRISE, "before": SUNSET}
NOON: Final = "12:00:00"
MIDNIGHT: Final = "00:00"


def lit(text: str, language: str) -> Mapping[str, str] | None:
    """Return the window that words for darkness or daylight mean; None for any other text."""
    said = fold(text.replace("_", " "))
    if said in DARK or means(text, "dark", language):
        return NIGHT
    return DAY if said in LIGHT or means(text, "daylight", language) else None


def by_sun(item: Item, language: str) -> Item:
    """Return a condition by the sun as a window: "after sunset", "below_horizon"."""
    rest = {key: value for key, value in item.items() if key not in ("sun", "entity", "to")}
    text = str(item.get("sun", item.get("to", "")))
    if (window := lit(text, language)) is not None:
        return {**rest, **window}
    said = text.casefold().replace("_", " ").split()
    event = next((word for word in said if word in (SUNSET, SUNRISE)), None)
    way = next((word for word in said if word in ("after", "before")), None)
    if event is None:
        raise ValidationError(
            f"if: sun: {text[:40]!r} is not understood. Give after sunset, before sunrise, dark or daylight"
        )
    return {**rest, way or "after": event}


def at_time(moment: DayTime) -> Clause:
    """Return the trigger of a time of the day."""
    if not moment.sun:
        config: dict[str, Any] = {"trigger": "time", "at": moment.clock}
        return Clause(key="at", config=config, values={"time": moment.spoken}, is_moment=True)
    config = {"trigger": "sun", "event": moment.sun}
    if not moment.offset:
        return Clause(key=moment.sun, config=config, is_moment=True)
    side = "before" if moment.offset < 0 else "after"
    return Clause(
        key=f"{side}_{moment.sun}",
        config={**config, "offset": as_duration(moment.offset)},
        values={"offset": str(abs(moment.offset))},
        is_moment=True,
    )


def on_days(days: tuple[int, ...]) -> Clause:
    """Return the condition of days of the week."""
    config = {"condition": "time", "weekday": [WEEKDAYS[day] for day in days]}
    return Clause(key="days", config=config, days=days, is_moment=True)


def within(ends: Mapping[str, DayTime]) -> list[Clause]:
    """Return the conditions of a window from `after` to `before`, either of them by the clock or by the sun.

    Home Assistant lets a window without an end last until midnight, and judges a window whose ends are of
    both kinds as two. So what is after sunset is before sunrise too, and what begins in the evening and
    ends in the morning is a night whose one end is by the clock.
    """
    after, before = ends.get("after"), ends.get("before")
    if after is None or before is None:
        (side,) = ends
        if side == "after" and ends[side].sun == SUNSET:
            return _by_sun({**ends, "before": DayTime(sun=SUNRISE)})
        if side == "after" and not ends[side].sun:
            return [_by_clock(side, ends[side].clock, ends[side].spoken, MIDNIGHT)]
        return _one(side, ends[side])
    if after.sun and before.sun:
        return _by_sun({"after": after, "before": before})
    if not (after.sun or before.sun):
        clocks = {"after": after.clock, "before": before.clock}
        values = {"start": after.spoken, "end": before.spoken}
        config = {"condition": "time", **clocks}
        return [Clause(key="between_times", config=config, values=values, is_moment=True)]
    return _night(after, before) or [*_one("after", after), *_one("before", before)]


def _one(side: str, end: DayTime) -> list[Clause]:
    return _by_sun({side: end}) if end.sun else [_by_clock(side, end.clock, end.spoken)]


def _by_clock(side: str, clock: str, spoken: str, until: str = "") -> Clause:
    values = {"start": spoken, "end": until} if until else {"time": spoken}
    config = {"condition": "time", side: clock}
    return Clause(key="between_times" if until else side, config=config, values=values, is_moment=True)


def _night(after: DayTime, before: DayTime) -> list[Clause]:
    """Return the conditions of a window across midnight with one end by the sun; none for any other."""
    if after.sun == SUNSET and _is_morning(before.clock):
        clock = {"after": NOON, "before": before.clock}
        said = Clause(
            key="before",
            config={"condition": "time", **clock},
            values={"time": before.spoken},
            is_moment=True,
        )
        return [*_by_sun({"after": after, "before": DayTime(sun=SUNRISE)}), said]
    if before.sun == SUNRISE and not _is_morning(after.clock):
        clock = {"after": after.clock, "before": NOON}
        said = Clause(
            key="after", config={"condition": "time", **clock}, values={"time": after.spoken}, is_moment=True
        )
        return [said, *_by_sun({"after": DayTime(sun=SUNSET), "before": before})]
    return []


def _by_sun(ends: Mapping[str, DayTime]) -> list[Clause]:
    """Return the condition of a window by the sun; a side that is some time beside it is said by itself."""
    config = {"condition": "sun", **{side: end.sun for side, end in ends.items()}}
    config |= {f"{side}_offset": as_duration(end.offset) for side, end in ends.items() if end.offset}
    if not any(end.offset for end in ends.values()):
        key = "_".join(f"{side}_{end.sun}" for side, end in ends.items())
        return [Clause(key=f"is_{key}", config=config, is_moment=True)]
    return [
        replace(at_time(end), config=config, side="from" if side == "after" else "until")
        for side, end in ends.items()
    ]


def _is_morning(clock: str) -> bool:
    return time.fromisoformat(clock) < time.fromisoformat(NOON)
