"""What Home Agent knows about each kind of device: a file for each, or for a few that are alike.

A file defines `DomainFacts` about one domain, or about several that are nearly the same. A new domain needs a
new file and nothing else: tools, prompt, policy, undo and habits read what the file states.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
import sys
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from .base import DomainFacts
from .features import feature_module


def read_files() -> Iterator[DomainFacts]:
    """Yield the facts that the files of this folder state."""
    for file in iter_modules(__path__):
        stated = vars(import_module(f"{__name__}.{file.name}")).values()
        yield from (facts for facts in stated if isinstance(facts, DomainFacts) and facts.name)


class _DomainTable(dict[str, DomainFacts]):
    """The facts by domain; other domains have no facts."""

    def __missing__(self, _domain: str) -> DomainFacts:
        """Return empty facts."""
        return UNKNOWN


UNKNOWN: Final = DomainFacts(name="")
DOMAINS: Final = _DomainTable((facts.name, facts) for facts in read_files())
"""What is known about every domain. `DOMAINS[domain]` never raises, `in` tells whether there is a file."""


@cache
def verbs() -> tuple[str, ...]:
    """Return all actions, each once."""
    return tuple(dict.fromkeys(verb for facts in DOMAINS.values() for verb in facts.actions))


@cache
def domains_of(verb: str) -> frozenset[str]:
    """Return the domains that know an action."""
    return frozenset(facts.name for facts in DOMAINS.values() if verb in facts.actions)


@cache
def arranging(verb: str) -> frozenset[str]:
    """Return the domains of which an action may concern rooms or groups."""
    return frozenset(facts.name for facts in DOMAINS.values() if verb in facts.arranging)


def opens(action: str, values: Mapping[str, object]) -> bool | None:
    """Return whether an action or a service moves something towards open, unlocked or disarmed.

    None if it does neither that nor the contrary, or if kinds of devices differ.
    """
    position = values.get("position")
    if isinstance(position, int | float):
        return {0: False, 100: True}.get(int(position))
    ways = {way for facts in DOMAINS.values() if (way := facts.ways.get(action)) is not None}
    return ways.pop() if len(ways) == 1 else None


@cache
def gated_domains() -> frozenset[str]:
    """Return the domains that an option of the agent switches off."""
    return frozenset(facts.name for facts in DOMAINS.values() if facts.is_gated)


async def async_load(hass: HomeAssistant) -> None:
    """Import off the event loop the integrations whose features tell what the registered entities can do."""
    registered = {entry.domain for entry in er.async_get(hass).entities.values()}
    modules = [
        feature_module(name) for name in DOMAINS.keys() & registered if DOMAINS[name].feature_abilities
    ]
    if missing := [name for name in modules if name not in sys.modules]:
        await hass.async_add_import_executor_job(lambda: [*map(import_module, missing)])
