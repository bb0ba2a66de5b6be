"""Updates of software."""

from collections.abc import Iterator

from homeassistant.core import State

from .base import DomainFacts
from .binary_sensor import BINARY_WORDS
from .showing import pick, text_of


def _say(state: State) -> str:
    """Return whether there is an update."""
    return pick(BINARY_WORDS["update"], state.state)


def _details(state: State) -> Iterator[str]:
    """Yield the versions."""
    yield from text_of("installed_version", state, prefix="installed ")
    if state.state == "on":
        yield from text_of("latest_version", state, prefix="latest ")


UPDATE = DomainFacts(
    name="update",
    say=_say,
    details=_details,
    reported=("installed_version", "latest_version", "in_progress"),
    abilities={"install": "INSTALL", "version": "SPECIFIC_VERSION"},
)
