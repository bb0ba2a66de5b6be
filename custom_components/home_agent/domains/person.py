"""Persons, and where they are."""

from typing import Final

from .base import DomainFacts

DOMAINS: Final = (
    DomainFacts(
        name="person", says_age=True, reported=(), active="home", acts={"home": "home"}, other_act="not_home"
    ),
    DomainFacts(name="device_tracker", says_age=True, active="home"),
    DomainFacts(name="zone", reported=("persons",)),
)
