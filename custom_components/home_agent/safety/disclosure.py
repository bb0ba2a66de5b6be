"""What a model may receive: at home everything, outside the home what the options allow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any, Final, NamedTuple

from ..connection import is_cloud
from ..const import CONF_BASE_URL, CONF_CLOUD_PROFILE, CONF_CLOUD_STATES, CONF_FALLBACK_BASE_URL
from ..inference.client import FALLBACK, PRIMARY


class DataCategory(Flag):
    """What the result of a tool discloses."""

    NAMES = 0
    """Nothing but names, and whether it worked."""
    STATES = auto()
    PEOPLE = auto()
    """What is remembered of persons and the household."""


class Disclosure(NamedTuple):
    """What one model may receive."""

    home: bool = False
    """It runs in the home: it receives everything."""
    people: bool = False
    """Profile entries that are public, and memories that are not private."""
    states: bool = False
    """States, and values of the past."""

    def allows(self, told: DataCategory) -> bool:
        """Return whether a model may read this."""
        return (self.people or DataCategory.PEOPLE not in told) and (
            self.states or DataCategory.STATES not in told
        )


AT_HOME: Final = Disclosure(home=True, people=True, states=True)


@dataclass(slots=True)
class TurnDisclosure:
    """What the models that one turn asks may receive: the only place that keeps it while the turn runs."""

    model: Disclosure = AT_HOME
    """What the model that is asked now may receive."""
    categories: dict[str, DataCategory] = field(default_factory=dict)
    """What the result of each call tells, by the call's id."""
    made_at_home: set[str] = field(default_factory=set)
    """Ids of calls whose results may hold what an external model does not receive."""
    withheld: bool = False
    """Whether a local model received data that an external one must not know."""

    def record(self, call_id: str, discloses: DataCategory) -> None:
        """Record the data categories of a call's result.

        Once a model at home has called, later results may repeat its own.
        """
        self.categories[call_id] = discloses
        if self.model.home or self.made_at_home:
            self.made_at_home.add(call_id)


class DataPolicy:
    """What each model of an agent may receive, by the address it is asked at."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.away = Disclosure(people=settings[CONF_CLOUD_PROFILE], states=settings[CONF_CLOUD_STATES])
        """Of an external model, or of one whose address is not known."""
        self._of = {
            PRIMARY: self.of_address(settings[CONF_BASE_URL]),
            FALLBACK: self.of_address(settings.get(CONF_FALLBACK_BASE_URL)),
        }

    @property
    def least(self) -> Disclosure:
        """Return what every model of the agent may receive."""
        return AT_HOME if all(model.home for model in self._of.values()) else self.away

    def of(self, model: str) -> Disclosure:
        """Return which data a model of the router may receive."""
        return self._of[model]

    def of_address(self, address: str | None) -> Disclosure:
        """Return which data a server at an address may receive."""
        return self.away if address and is_cloud(address) else AT_HOME
