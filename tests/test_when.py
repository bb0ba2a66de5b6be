"""Times and days as models and people write them."""

from contextlib import suppress
from datetime import UTC, datetime, time, timedelta

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.timespans import WORKDAYS
from custom_components.home_agent.when import (
    Period,
    Sun,
    read,
    read_asked,
    read_clock,
    read_days,
    read_moment,
    read_period,
)
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.checks import for_each
from tests.helpers.tables import tables

TABLES = tables(__file__)

NOON = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)
"""A Wednesday."""


def meaning(value: object) -> object:
    match value:
        case Period():
            return f"{value.start.date()} to {value.end.date()}"
        case Sun():
            return f"{value.event} {value.offset:+}{' tomorrow' if value.tomorrow else ''}"
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M")
        case None:
            return None
    return str(value)


@for_each(("language", "text", "meant"), TABLES["coming"])
async def test_what_is_to_come(hass: HomeAssistant, text: str, language: str, meant: object) -> None:
    await hass.config.async_set_time_zone("UTC")
    assert meaning(read(text, language, NOON)) == meant


@for_each(
    ("now", "text", "due"),
    [
        ("2026-03-28T20:00:00+00:00", "02:30", "2026-03-29T01:30:00+00:00"),
        ("2026-03-29T00:30:00+00:00", "4:00", "2026-03-29T02:00:00+00:00"),
        ("2026-10-24T20:00:00+00:00", "02:30", "2026-10-25T00:30:00+00:00"),
        ("2026-10-24T22:30:00+00:00", "tomorrow 7:00", "2026-10-26T06:00:00+00:00"),
    ],
)
async def test_times_where_clocks_change(hass: HomeAssistant, now: str, text: str, due: str) -> None:
    """A time that the clocks skip is an hour later, one that they show twice is the first."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    moment = read(text, "en", datetime.fromisoformat(now))
    assert isinstance(moment, datetime)
    assert dt_util.as_utc(moment).isoformat() == due


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    """Nothing but a time or a sentence for the model comes out."""
    with suppress(ValidationError):
        assert read_moment(text, "en", "when")
    try:
        period = read_period(text, "", NOON)
    except ValidationError:
        return
    assert period.start < NOON
    assert period.length <= timedelta(days=366)


def test_times_of_day() -> None:
    for text, clock in {"18:30": time(18, 30), "7 a.m.": time(7), "midnight": time(0), "7": None}.items():
        assert read_clock(text) == clock


def test_refused_lengths_name_the_slot_in_few_words() -> None:
    for text in ("", "24", "soon", "0h", "10y", "P", "PT", "2027-01-01", "1h foo", "9" * 400 + "d"):
        with pytest.raises(ValidationError, match=r"^history\.duration") as refused:
            read_period(text, "", NOON)
        assert len(str(refused.value)) <= 300


async def test_days_of_the_calendar_are_local(hass: HomeAssistant) -> None:
    await hass.config.async_set_time_zone("America/Los_Angeles")
    now = datetime(2026, 3, 9, 5, 0, tzinfo=UTC)
    for text, start, hours in (
        ("today", "2026-03-08T00:00:00-08:00", 21),
        ("yesterday", "2026-03-07T00:00:00-08:00", 24),
        ("2026-03-07", "2026-03-07T00:00:00-08:00", 24),
        ("this month", "2026-03-01T00:00:00-08:00", 7 * 24 + 21),
        ("last month", "2026-02-01T00:00:00-08:00", 28 * 24),
        ("2025-11-01 to 2025-11-02", "2025-11-01T00:00:00-07:00", 49),
    ):
        period = read_period(text, "", now)
        assert dt_util.as_local(period.start).isoformat() == start
        assert period.length == timedelta(hours=hours)


@for_each(("text", "language", "begin", "end"), TABLES["parts_of_a_day"])
def test_parts_of_a_day(text: str, language: str, begin: str, end: str) -> None:
    period = read_period(text, language, NOON)
    start, until = dt_util.as_local(period.start), dt_util.as_local(period.end)
    assert start.date() == (NOON - timedelta(days=begin.startswith("-"))).date()
    assert (start.strftime("%H:%M"), until.strftime("%H:%M")) == (begin.removeprefix("-"), end)


@for_each(
    ("at", "day", "start", "is_minute"),
    [
        ("03:00", "", "2026-01-14T03:00", True),
        ("15:00", "", "2026-01-13T15:00", True),
        ("yesterday 3", "", "2026-01-13T03:00", True),
        ("3 pm", "2026-01-02", "2026-01-02T15:00", True),
        ("2 hours ago", "", "2026-01-14T10:00", True),
        ("gestern um 3 Uhr", "", "2026-01-13T03:00", True),
        ("this morning", "24h", "2026-01-14T05:00", False),
        ("2026-01-02", "", "2026-01-02T00:00", False),
        ("", "", "2026-01-13T12:00", False),
    ],
)
async def test_what_is_asked_about(
    hass: HomeAssistant, at: str, day: str, start: str, is_minute: bool
) -> None:
    await hass.config.async_set_time_zone("UTC")
    period, at_once = read_asked(at, day, "de", NOON)
    assert (period.start.strftime("%Y-%m-%dT%H:%M"), at_once) == (start, is_minute)


def test_days_of_a_repetition() -> None:
    for text, language in TABLES["working_days"]:
        assert read_days(text, language) == WORKDAYS
    with pytest.raises(ValidationError, match="weekdays, weekends, weekly or days such as monday"):
        read_days("now and then", "en")
