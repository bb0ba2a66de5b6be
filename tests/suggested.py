"""Habits as the learner finds them, and suggestions that come from them."""

from datetime import date
from typing import Any

from custom_components.home_agent.memory.learner.habits import HouseHabit
from custom_components.home_agent.memory.learner.patterns import WORKDAYS, Habit
from homeassistant.util import dt as dt_util

from .agent import Agent

COFFEE = "switch.coffee_machine"


def habit(subject: str = COFFEE, value: str = "on", minute: int = 6 * 60 + 31, **more: Any) -> HouseHabit:
    """Return a habit."""
    name = more.pop("name", subject.partition(".")[2].replace("_", " ").title())
    found = Habit(
        subject=subject,
        value=value,
        person=more.get("person"),
        days=more.get("days", WORKDAYS),
        minute=minute,
        support=20,
        of=25,
        confidence=more.get("confidence", 0.85),
        last_seen=date(2026, 5, 1),
    )
    return HouseHabit(
        id=more.get("id", f"habit-{subject}-{value}"), habit=found, name=name, who="", text="\u2026"
    )


async def async_suggested(agent: Agent) -> str:
    """Have an automation for the bed's light suggested at noon, and return the suggestion's id."""
    suggestions = (await agent.entry.runtime_data.async_proactive()).suggestions
    suggestions._habits = lambda: [habit("light.bed_light")]
    await suggestions.async_consider(dt_util.now().replace(hour=12))
    (found,) = suggestions.all()
    return str(found.id)
