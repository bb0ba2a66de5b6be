"""Times and days as models and people write them."""

from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta

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

NOON = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)
"""A Wednesday."""


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


COMING: dict[str, list[tuple[str, object]]] = {
    "en": [
        ("18:30", "2026-01-14T18:30"),
        ("9:00", "2026-01-15T09:00"),
        ("7 pm", "2026-01-14T19:00"),
        ("at 7pm", "2026-01-14T19:00"),
        ("at 7", "2026-01-14T19:00"),
        ("noon", "2026-01-15T12:00"),
        ("tomorrow", date(2026, 1, 15)),
        ("tomorrow at 7:00", "2026-01-15T07:00"),
        ("Friday 8 am", "2026-01-16T08:00"),
        ("wednesday", date(2026, 1, 21)),
        ("2026-06-05", date(2026, 6, 5)),
        ("2026-06-05 08:00", "2026-06-05T08:00"),
        ("2026-06-05T08:00:00+02:00", "2026-06-05T06:00"),
        ("10 minutes", minutes(10)),
        ("in 10 minutes", minutes(10)),
        ("1 hour 30 minutes", minutes(90)),
        ("90s", minutes(1.5)),
        ("an hour", minutes(60)),
        ("1:30:00", minutes(90)),
        ("-5 min", minutes(-5)),
        ("5 minutes from now", minutes(5)),
        ("sunset - 30 minutes", Sun("sunset", -1800, tomorrow=False)),
        ("30 minutes before sunset", Sun("sunset", -1800, tomorrow=False)),
        ("tomorrow at sunrise", Sun("sunrise", 0, tomorrow=True)),
        ("this weekend", ("2026-01-17", "2026-01-19")),
        ("this week", ("2026-01-14", "2026-01-19")),
        ("next month", ("2026-02-01", "2026-03-01")),
        *((text, None) for text in ("", "soon", "25", "tomorrow 7", "32:99:99x", "sunset to sunrise")),
    ],
    "de": [
        ("20 Minuten", minutes(20)),
        ("morgen um 7:30 Uhr", "2026-01-15T07:30"),
        ("um 18 Uhr", "2026-01-14T18:00"),
        ("in anderthalb Stunden", minutes(90)),
        ("30 Minuten vor Sonnenuntergang", Sun("sunset", -1800, tomorrow=False)),
    ],
    "fr": [
        ("dans 7h", minutes(420)),
        ("demain à 7h", "2026-01-15T07:00"),
        ("lundi 8h", "2026-01-19T08:00"),
        ("à 18h30", "2026-01-14T18:30"),
    ],
    "es": [("en 10 minutos", minutes(10)), ("a las 18:30", "2026-01-14T18:30")],
    "ru": [("завтра в 7:00", "2026-01-15T07:00")],
}


@pytest.mark.parametrize(
    ("text", "language", "meant"),
    [(text, language, meant) for language, rows in COMING.items() for text, meant in rows],
)
async def test_what_is_to_come(hass: HomeAssistant, text: str, language: str, meant: object) -> None:
    await hass.config.async_set_time_zone("UTC")
    value = read(text, language, NOON)
    if isinstance(value, Period):
        assert (value.start.date().isoformat(), value.end.date().isoformat()) == meant
    else:
        assert (value.strftime("%Y-%m-%dT%H:%M") if isinstance(value, datetime) else value) == meant


@pytest.mark.parametrize(
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


@for_each(
    ("text", "language", "begin", "end"),
    [
        ("this morning", "en", "05:00", "12:00"),
        ("yesterday evening", "en", "-18:00", "00:00"),
        ("last night", "en", "-20:00", "08:00"),
        ("since 8:00", "en", "08:00", "12:00"),
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
    period = read_period(text, language, NOON)
    start, until = dt_util.as_local(period.start), dt_util.as_local(period.end)
    assert start.date() == (NOON - timedelta(days=begin.startswith("-"))).date()
    assert (start.strftime("%H:%M"), until.strftime("%H:%M")) == (begin.removeprefix("-"), end)


@pytest.mark.parametrize(
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
    """The singular means the working days too, also where a model writes another language."""
    for text, language in (
        ("Werktag", "de"),
        ("jeden Werktag", "de"),
        ("every working day", "en"),
        ("monday through friday", "en"),
        ("jour ouvrable", "fr"),
        ("día laborable", "es"),
        ("werkdag", "nl"),
        ("giorno feriale", "it"),
        ("dia útil", "pt"),
        ("dzień roboczy", "pl"),
        ("vardag", "sv"),
        ("hverdag", "da"),
        ("ukedag", "nb"),
        ("будний день", "ru"),
        ("Werktag", "en"),
    ):
        assert read_days(text, language) == WORKDAYS
    with pytest.raises(ValidationError, match="weekdays, weekends, weekly or days such as monday"):
        read_days("now and then", "en")
