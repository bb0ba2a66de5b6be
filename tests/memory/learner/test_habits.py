"""Habits: those that were put into a month are found, and no others."""

# ruff: noqa: S311 - months are made the same way every time

from datetime import timedelta
from random import Random

from hypothesis import given, settings, strategies as st

from custom_components.home_agent.memory.learner.habits import (
    EVERY_DAY,
    Habit,
    Observation,
    Thing,
    find_habits,
    load_habit,
    without_doubles,
)
from custom_components.home_agent.store import dump
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
        assert 0.0 <= item.confidence <= 1.0


# Habits of which several tell of one act, and such that only look like it

LAMP, STRIP, SPOT = "light.lamp", "light.strip", "light.spot"
PLUG, PLUG_POWER = "switch.kettle", "sensor.kettle_power"


def done(value: str = "on", minute: int = 7 * 60, days: frozenset[int] = EVERY_DAY) -> list[Observation]:
    """Return what somebody does with a lamp in a month."""
    return habit(Random(1), LAMP, value, days, minute, kept=1.0)


def also(
    seen: list[Observation], subject: str, value: str | None = None, late: float = 2
) -> list[Observation]:
    """Return the same of another entity, so many seconds later."""
    return [
        Observation(item.at + timedelta(seconds=late), subject, value or item.value, item.person)
        for item in seen
    ]


def told(seen: list[Observation], **things: Thing) -> list[Habit]:
    """Return the habits in what was seen."""
    by_subject: dict[str, list[Observation]] = {}
    for item in seen:
        by_subject.setdefault(item.subject, []).append(item)
    known = {name.replace("__", "."): thing for name, thing in things.items()}
    return without_doubles(find_habits(seen, FIRST, LAST), by_subject, known)


def test_what_one_button_switches_is_one_habit() -> None:
    """However many lamps there are; it is the same one when a lamp is added or taken away."""
    seen = done()
    (found,) = told([*seen, *also(seen, STRIP), *also(seen, SPOT)])
    assert found.subjects == (LAMP, SPOT, STRIP)
    (fewer,) = told(also(seen, STRIP))
    assert fewer.is_same(found)
    assert load_habit(dump(found)) == found
