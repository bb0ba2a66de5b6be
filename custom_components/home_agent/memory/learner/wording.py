"""Habits in words: one sentence each, from the translations, without a model."""

from collections.abc import Awaitable, Callable
from typing import Final

from homeassistant.const import STATE_HOME, STATE_NOT_HOME

from .acts import TARGET
from .patterns import EVERY_DAY, WEEKEND, WORKDAYS, Habit
from .usage import IN_USE

type Phrase = Callable[..., Awaitable[str]]
"""Returns the sentence of a key in the language of the house, filled with placeholders."""

ROUNDED: Final = 10
"""Minutes to which a time is told."""
NAMED_DAYS: Final = {EVERY_DAY: "every_day", WORKDAYS: "workdays", WEEKEND: "weekend"}
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
OF_THE_HOUSE: Final = "house"
OF_A_PERSON: Final = "person"
IMPERSONAL: Final = frozenset({STATE_HOME, STATE_NOT_HOME, IN_USE})
"""What is told of the entity itself, whoever it was."""
TEMPERATURE: Final = TARGET.partition(":")[0]


async def async_sentence(phrase: Phrase, habit: Habit, name: str, who: str, unit: str) -> str:
    """Return a habit as one sentence; `unit` is that of temperatures."""
    action, _, detail = habit.value.partition(":")
    whose = OF_A_PERSON if who and action not in IMPERSONAL else OF_THE_HOUSE
    return await phrase(
        f"habit_{action}_{whose}",
        who=who,
        name=name,
        time=clock(habit.minute),
        days=await phrase(f"days_{days_key(habit.days)}"),
        value=f"{detail} {unit}" if action == TEMPERATURE else detail,
    )


def days_key(days: frozenset[int]) -> str:
    """Return what a group of days is called in the translations."""
    return NAMED_DAYS.get(days) or WEEKDAYS[min(days)]


def clock(minute: int) -> str:
    """Return a time of the day as it is told."""
    rounded = round(minute / ROUNDED) * ROUNDED % (24 * 60)
    return f"{rounded // 60}:{rounded % 60:02d}"
