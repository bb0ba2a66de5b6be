"""Which sentence tells that an action was done; the sentences are in the translations."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .base import DomainFacts

BY_ACTION: Final[Mapping[str, str]] = MappingProxyType(
    {
        "turn_on": "on",
        "turn_off": "off",
        "open": "open",
        "close": "closed",
        "lock": "locked",
        "unlock": "unlocked",
        "start": "started",
        "stop": "stopped",
        "pause": "paused",
        "play": "playing",
        "next": "next",
        "previous": "previous",
        "mute": "muted",
        "unmute": "unmuted",
        "press": "pressed",
        "activate": "activated",
        "trigger": "started",
        "return_to_base": "returning",
        "cancel": "stopped",
        **dict.fromkeys(("arm_away", "arm_home", "arm_night", "arm_vacation"), "armed"),
    }
)
"""The sentence for each action, where a domain does not say otherwise."""
BY_STATE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "on": "on",
        "off": "off",
        "open": "open",
        "closed": "closed",
        "opening": "opening",
        "closing": "closing",
    }
)
"""The sentence for a state, which tells more than the action: something may be on its way only."""
STATES_FIRST: Final = frozenset(("toggle", "open", "close"))
"""Actions that are told by the state afterwards."""
ALREADY: Final[Mapping[str, str]] = MappingProxyType({"on": "already_on", "off": "already_off"})
"""The sentence for an action that changed nothing."""


def sentence_of(facts: DomainFacts, verb: str, state: str) -> str | None:
    """Return the key of the sentence about a done action without values; None if there is none."""
    if verb in STATES_FIRST and state in BY_STATE:
        return BY_STATE[state]
    return facts.told.get(verb) or BY_ACTION.get(verb)


def already(key: str) -> str:
    """Return the key of the sentence for something that was so before."""
    return ALREADY.get(key, "already")
