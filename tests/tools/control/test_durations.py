"""What a series of states comes to."""

from datetime import UTC, datetime, timedelta
from math import isclose

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.timespans import format_span
from custom_components.home_agent.tools.query.past import HistoryKind, Hour, Sample, Series, summarize
from custom_components.home_agent.when import Period

NOON = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)


def before(**length: float) -> datetime:
    return NOON - timedelta(**length)


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
