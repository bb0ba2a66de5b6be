"""Lengths of time, read and written."""

from datetime import timedelta

import pytest

from custom_components.home_agent.timespans import format_largest, read_compact, read_seconds, read_span
from tests.helpers.checks import for_each


@for_each(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("1 hour and 30 minutes", 5400),
        ("an hour", 3600),
        ("5 minuten", 300),
        ("10 Sekunden", 10),
        ("1:30:00", 5400),
        ("PT1H30M", 5400),
        ("P1M", 30 * 86_400),
        ("1d12h", 129_600),
    ],
)
def test_lengths_are_read(text: str, seconds: float) -> None:
    assert read_seconds(text) == seconds


@for_each("text", ["", "30", "pm", "P", "18:30", "2 Stunden", "soon", "h" * 100, "1 h foo"])
def test_what_is_no_length_is_not_read(text: str) -> None:
    assert read_seconds(text) is None


@for_each(
    ("text", "seconds"),
    [("90", 90), (300, 300), ("1d30", 86_430), ("1 d 12 h", 129_600), ("2w", 14 * 86_400)],
)
def test_options_may_leave_out_seconds(text: object, seconds: float) -> None:
    assert read_span(text) == timedelta(seconds=seconds)


@for_each("text", ["", "never", "0", -1])
def test_options_may_say_never(text: object) -> None:
    assert read_span(text) is None


@for_each("text", ["d", "an hour", "9" * 30 + "d", "-1h"])
def test_other_spans_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text[:5]):
        read_compact(text)


@for_each(
    ("seconds", "units", "text"),
    [(3599.9, 1, "59 min"), (90_000, 1, "1 d"), (90_000, 2, "1 d 1 h"), (-4, 1, "0 s"), (0, 2, "0 s")],
)
def test_the_largest_units_are_written(seconds: float, units: int, text: str) -> None:
    assert format_largest(seconds, units) == text
