"""Habits: those that were put into a month are found, and no others."""

# ruff: noqa: S311 - months are made the same way every time

from datetime import timedelta
from random import Random

from hypothesis import given, settings, strategies as st
import pytest

from custom_components.home_agent.memory.learner.habits import (
    EVERY_DAY,
    WEEKEND,
    WORKDAYS,
    Habit,
    Observation,
    find_habits,
)
from tests.helpers.examples import many
from tests.helpers.habits import FIRST, LAST, SPAN, at, habit

SATURDAY = frozenset((5,))


def noise(random: Random, subject: str, value: str, per_day: float) -> list[Observation]:
    """Return what is done now and then in waking hours."""
    count = int(per_day * len(SPAN))
    return [
        Observation(at(random.choice(SPAN), random.uniform(7 * 60, 23.5 * 60)), subject, value)
        for _ in range(count)
    ]


def told(found: list[Habit]) -> set[tuple[str, str, frozenset[int], str | None]]:
    """Return what habits say, without their figures."""
    return {(item.subject, item.value, item.days, item.person) for item in found}


@pytest.mark.parametrize("seed", range(5))
def test_a_month_shows_the_habits_that_were_put_in_and_no_others(seed: int) -> None:
    """Among lights and switches that are used at any time."""
    random = Random(seed)
    month = [
        *habit(random, "switch.coffee", "on", WORKDAYS, 6 * 60 + 30, person="anna"),
        *habit(random, "cover.bedroom", "closed", EVERY_DAY, 22 * 60),
        *habit(random, "light.bedroom", "off", EVERY_DAY, 24 * 60 + 15, kept=0.9),
        *habit(random, "switch.sauna", "on", SATURDAY, 19 * 60, kept=1.0),
        *habit(random, "media_player.tv", "on", WEEKEND, 9 * 60, kept=1.0),
        *noise(random, "light.kitchen", "on", 6),
        *noise(random, "light.hall", "on", 2),
        *noise(random, "switch.fan", "on", 0.3),
        *noise(random, "switch.coffee", "on", 0.5),
    ]
    random.shuffle(month)
    found = find_habits(month, FIRST, LAST)
    assert {item[:3] for item in told(found)} == {
        ("switch.coffee", "on", WORKDAYS),
        ("cover.bedroom", "closed", EVERY_DAY),
        ("light.bedroom", "off", EVERY_DAY),
        ("switch.sauna", "on", SATURDAY),
        ("media_player.tv", "on", WEEKEND),
    }
    minutes = {item.subject: item.minute for item in found}
    assert minutes["switch.coffee"] == pytest.approx(6 * 60 + 30, abs=15)
    assert minutes["light.bedroom"] == pytest.approx(15, abs=15)
    assert all(item.confidence > 0.6 for item in found)


def test_one_person_s_habit_is_that_person_s() -> None:
    """What several people do is the household's."""
    random = Random(1)
    alone = habit(random, "switch.radio", "on", EVERY_DAY, 7 * 60, person="anna")
    (found,) = find_habits(alone, FIRST, LAST)
    assert found.person == "anna"
    mixed = [
        Observation(item.at, item.subject, item.value, "ben" if item.at.day % 2 else "anna") for item in alone
    ]
    (found,) = find_habits(mixed, FIRST, LAST)
    assert found.person is None


def test_a_habit_that_is_given_up_fades() -> None:
    """First it is less sure, then it is none any more."""
    random = Random(2)
    kept = habit(random, "switch.radio", "on", EVERY_DAY, 7 * 60, kept=1.0)
    confidences = []
    for silent in (0, 3, 6):
        last = LAST - timedelta(days=silent)
        seen = [item for item in kept if item.at.date() <= last]
        confidences.extend(item.confidence for item in find_habits(seen, FIRST, LAST))
    assert confidences == sorted(confidences, reverse=True)
    assert len(set(confidences)) == 3
    first_half = [item for item in kept if item.at.date() < FIRST + timedelta(days=14)]
    assert find_habits(first_half, FIRST, LAST) == []


def test_how_often_and_when() -> None:
    """Twice a day is two habits; what happens at any time is none, however often it happens."""
    random = Random(4)
    seen = [
        *habit(random, "switch.coffee", "on", EVERY_DAY, 7 * 60),
        *habit(random, "switch.coffee", "on", EVERY_DAY, 15 * 60),
    ]
    assert sorted(round(item.minute / 60) for item in find_habits(seen, FIRST, LAST)) == [7, 15]
    assert find_habits(noise(random, "light.kitchen", "on", 40), FIRST, LAST) == []


@settings(max_examples=many(50), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 27), st.integers(0, 1439)), max_size=60))
def test_any_month_can_be_read(moments: list[tuple[int, int]]) -> None:
    """Shares stay shares, and nothing is found that did not happen."""
    seen = [Observation(at(SPAN[day], minute), "light.x", "on") for day, minute in moments]
    for item in find_habits(seen, FIRST, LAST):
        assert 4 <= item.support <= item.of
        assert 0.0 <= item.confidence <= 1.0
