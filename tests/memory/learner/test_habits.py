"""Habits: those that were put into a month are found, and no others."""

# ruff: noqa: S311 - months are made the same way every time

from datetime import timedelta
from random import Random

from hypothesis import given, settings, strategies as st

from custom_components.home_agent.memory.learner.habits import EVERY_DAY, Observation, find_habits
from tests.helpers.examples import many
from tests.helpers.habits import FIRST, LAST, SPAN, at, habit


def noise(random: Random, subject: str, value: str, per_day: float) -> list[Observation]:
    """Return what is done now and then in waking hours."""
    count = int(per_day * len(SPAN))
    return [
        Observation(at(random.choice(SPAN), random.uniform(7 * 60, 23.5 * 60)), subject, value)
        for _ in range(count)
    ]


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
