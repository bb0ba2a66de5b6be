"""Persons, and where they are."""

from .base import ANY_CLASS, DomainFacts

PERSON = DomainFacts(
    name="person",
    several={ANY_CLASS: "people"},
    says_age=True,
    moves=True,
    reported=(),
    active="home",
    acts={"home": "home"},
    other_act="not_home",
)
DEVICE_TRACKER = DomainFacts(name="device_tracker", says_age=True, moves=True, active="home")
ZONE = DomainFacts(name="zone", reported=("persons",))
