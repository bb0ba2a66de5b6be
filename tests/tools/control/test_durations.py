"""Periods as models write them, and what a series of states comes to."""

from datetime import UTC, datetime, timedelta
from math import isclose

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.timespans import format_span
from custom_components.home_agent.tools.query.past import HistoryKind, Hour, Sample, Series, summarize
from custom_components.home_agent.tools.query.periods import Period, parse_period
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

NOON = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)


def before(**length: float) -> datetime:
    return NOON - timedelta(**length)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h", 3600),
        ("90m", 5400),
        ("2d", 172_800),
        ("1w", 604_800),
        ("1.5 hours", 5400),
        ("1 hour and 30 minutes", 5400),
        ("PT1H30M", 5400),
        ("P1DT2H", 93_600),
        ("P1W", 604_800),
        ("last 24 hours", 86_400),
        ("-24h", 86_400),
        ("the past week", 604_800),
        ("an hour", 3600),
    ],
)
def test_lengths(text: str, seconds: int) -> None:
    period = parse_period(text, NOON)
    assert (period.length.total_seconds(), period.end) == (seconds, NOON)


@pytest.mark.parametrize(
    "text", ["", "24", "soon", "0h", "10y", "P", "PT", "2027-01-01", "1h foo", "9" * 400 + "d"]
)
def test_refused_lengths_name_the_slot_in_few_words(text: str) -> None:
    with pytest.raises(ValidationError, match=r"^history\.duration") as refused:
        parse_period(text, NOON)
    assert len(str(refused.value)) <= 300


@given(st.text(max_size=40))
def test_any_text_is_a_period_or_refused(text: str) -> None:
    try:
        period = parse_period(text, NOON)
    except ValidationError:
        return
    assert period.start < NOON
    assert period.length <= timedelta(days=366)


async def test_days_of_the_calendar_are_local(hass: HomeAssistant) -> None:
    await hass.config.async_set_time_zone("America/Los_Angeles")
    now = datetime(2026, 3, 9, 5, 0, tzinfo=UTC)
    for text, start, hours in (
        ("today", "2026-03-08T00:00:00-08:00", 21),
        ("yesterday", "2026-03-07T00:00:00-08:00", 24),
        ("2026-03-07", "2026-03-07T00:00:00-08:00", 24),
        ("this month", "2026-03-01T00:00:00-08:00", 7 * 24 + 21),
        ("last month", "2026-02-01T00:00:00-08:00", 28 * 24),
    ):
        period = parse_period(text, now)
        assert dt_util.as_local(period.start).isoformat() == start
        assert period.length == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min"), (3599, "1 h"), (11_520, "3 h 12 min"), (200_000, "2 d 8 h")],
)
def test_spans(seconds: float, text: str) -> None:
    assert format_span(seconds) == text


WEEK = Period(before(days=7), NOON)


def test_directions_are_averaged_on_the_circle() -> None:
    series = Series(
        samples=[Sample(before(hours=2).timestamp(), "350"), Sample(before(hours=1).timestamp(), "10")]
    )
    answer = summarize(series, WEEK, "avg", HistoryKind(is_angle=True), max_changes=20)
    average = answer["avg"]
    assert isinstance(average, int | float)
    assert min(average, 360 - average) < 0.01


@given(st.lists(st.tuples(st.floats(1, 10_000), st.floats(-50, 50)), min_size=1, max_size=30))
def test_an_average_lies_between_the_extremes(steps: list[tuple[float, float]]) -> None:
    at = WEEK.start.timestamp()
    samples = []
    for seconds, value in steps:
        samples.append(Sample(at, str(value)))
        at += seconds
    series = Series(samples=samples)
    figures = {
        key: summarize(series, WEEK, key, HistoryKind(), max_changes=20)[key] for key in ("min", "avg", "max")
    }
    low, average, high = (float(str(figures[key])) for key in ("min", "avg", "max"))
    assert low - 0.01 <= average <= high + 0.01


def test_hours_before_samples_weigh_an_hour_each() -> None:
    start = WEEK.start.timestamp()
    series = Series(
        hours=[Hour(start + 3600 * index, 10, 9, 11, None) for index in range(167)],
        samples=[Sample(start + 3600 * 167, "178")],
    )
    average = summarize(series, WEEK, "avg", HistoryKind(), max_changes=20)["avg"]
    assert isinstance(average, int | float)
    assert isclose(average, 11)


@pytest.mark.parametrize(
    ("text", "language", "begin", "end"),
    [
        ("this morning", "en", "05:00", "12:00"),
        ("yesterday evening", "en", "-18:00", "00:00"),
        ("last night", "en", "-20:00", "08:00"),
        ("since 8:00", "en", "08:00", "12:00"),
        ("since breakfast", "en", "07:00", "12:00"),
        ("heute morgen", "de", "05:00", "12:00"),
        ("letzte Nacht", "de", "-20:00", "08:00"),
        ("seit 8 Uhr", "de", "08:00", "12:00"),
        ("ce matin", "fr", "05:00", "12:00"),
        ("esta mañana", "es", "05:00", "12:00"),
        ("vanochtend", "nl", "05:00", "12:00"),
        ("stamattina", "it", "05:00", "12:00"),
        ("esta manhã", "pt", "05:00", "12:00"),
        ("dziś rano", "pl", "05:00", "12:00"),
        ("i morse", "sv", "05:00", "12:00"),
        ("i morges", "da", "05:00", "12:00"),
        ("i morges", "nb", "05:00", "12:00"),
        ("сегодня утром", "ru", "05:00", "12:00"),
    ],
)
def test_parts_of_a_day(text: str, language: str, begin: str, end: str) -> None:
    """Periods in the words of people, as far as they have passed at noon."""
    period = parse_period(text, NOON, language)
    start, until = dt_util.as_local(period.start), dt_util.as_local(period.end)
    assert start.date() == (NOON - timedelta(days=begin.startswith("-"))).date()
    assert (start.strftime("%H:%M"), until.strftime("%H:%M")) == (begin.removeprefix("-"), end)
