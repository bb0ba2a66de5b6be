"""Habits of which several tell of one act, and such that only look like it."""

# ruff: noqa: S311 - months are made the same way every time

from datetime import timedelta
from random import Random

import pytest

from custom_components.home_agent.memory.learner.habits import (
    EVERY_DAY,
    IN_USE,
    Habit,
    Observation,
    Thing,
    find_habits,
    load_habit,
    without_doubles,
)
from custom_components.home_agent.store import dump
from tests.helpers.habits import FIRST, LAST, habit

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


def test_what_is_no_single_act() -> None:
    """Minutes apart it is two acts; by several people it is nobody's."""
    seen = done()
    assert len(told([*seen, *also(seen, STRIP, late=300)])) == 2
    hers = [Observation(item.at, STRIP, item.value, "anna") for item in seen]
    (found,) = told([*seen, *hers])
    assert found.person is None


@pytest.mark.parametrize(
    ("value", "late", "device", "habits"),
    [("on", 120, "kettle", 1), ("on", 120, "other", 2), ("off", 120, "kettle", 2), ("on", 9000, "kettle", 2)],
)
def test_a_plug_and_what_it_draws(value: str, late: float, device: str, habits: int) -> None:
    """The act stays; what is switched off just then, or hours apart, is something else."""
    seen = also(done(value), PLUG)
    used = also(seen, PLUG_POWER, IN_USE, late)
    found = told([*seen, *used], switch__kettle=Thing("kettle"), sensor__kettle_power=Thing(device))
    assert len(found) == habits
    assert found[0].subject == PLUG


@pytest.mark.parametrize(
    ("other", "first", "second", "subjects"),
    [
        ("switch.lamp_relay", Thing("a"), Thing("a"), [(LAMP,)]),
        ("fan.ceiling", Thing("a"), Thing("a"), [("fan.ceiling",), (LAMP,)]),
        ("switch.radio", Thing("a"), Thing("b"), [(LAMP,), ("switch.radio",)]),
        ("light.lamp_2", Thing(None, "Lamp"), Thing(None, "lamp"), [(LAMP,)]),
        ("light.lamp_2", Thing(None, ""), Thing(None, ""), [(LAMP, "light.lamp_2")]),
    ],
    ids=["relay", "fan with a light", "two devices", "two integrations", "nameless"],
)
def test_one_thing_in_two_entities(
    other: str, first: Thing, second: Thing, subjects: list[tuple[str, ...]]
) -> None:
    """Its better description stays."""
    seen = done()
    things = {LAMP.replace(".", "__"): first, other.replace(".", "__"): second}
    found = told([*seen, *also(seen, other)], **things)
    assert [item.subjects for item in found] == subjects
