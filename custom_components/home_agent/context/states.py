"""Describes the state of an entity in a few words."""

from typing import Final

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ..domains import DOMAINS
from ..domains.base import DomainFacts
from ..domains.binary_sensor import BINARY_WORDS
from ..domains.showing import GONE, moment, number_of, pick, with_unit, word_or_quote
from ..knowledge.house import EntityRecord
from ..timespans import format_largest

LASTING_SECONDS: Final = 60
"""Age from which the age of a state is included."""
STALE_SECONDS: Final = 3600
"""Age from which a reading is said to be old."""
PLACES: Final = {"not_home": "away"}


def describe_state(state: State | None, record: EntityRecord | None = None, *, aged: bool = True) -> str:
    """Return a short description of a state, with unit, and if `aged` with its age where that matters.

    Text that comes from outside, such as titles, is in quotes and is cut.
    """
    if state is None:
        return "unknown"
    facts = DOMAINS[state.domain]
    if state.state in GONE:
        return "never used" if facts.is_moment and state.state == "unknown" else state.state
    parts = [_main(facts, state, record), *(facts.details(state) if facts.details else ())]
    if aged and (age := _age_of(facts, state)):
        parts.append(age)
    return ", ".join(part for part in parts if part)


def _main(facts: DomainFacts, state: State, record: EntityRecord | None) -> str:
    device_class = str(state.attributes.get("device_class") or (record.device_class if record else ""))
    if facts.is_moment or device_class == "timestamp":
        return moment(state.state)
    if state.domain == "binary_sensor":
        return pick(BINARY_WORDS.get(device_class, ("on", "off")), state.state)
    if facts.say is not None:
        return facts.say(state)
    unit = str(state.attributes.get("unit_of_measurement") or "")
    number = number_of(state.state)
    return with_unit(number, unit) if number else word_or_quote(PLACES.get(state.state, state.state))


def _age_of(facts: DomainFacts, state: State) -> str:
    """Return how long a state has lasted, or how old a reading is, where that matters."""
    now = dt_util.utcnow()
    if facts.says_age:
        lasted = (now - state.last_changed).total_seconds()
        return f"for {format_largest(lasted)}" if lasted >= LASTING_SECONDS else ""
    if state.domain == "sensor" and state.attributes.get("state_class"):
        old = (now - state.last_reported).total_seconds()
        return f"{format_largest(old)} old" if old >= STALE_SECONDS else ""
    return ""
