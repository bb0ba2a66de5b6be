"""Whether what words say of the state of a home is so."""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from homeassistant.core import HomeAssistant, State

from ...context.kind_lines import is_active, state_words
from ...context.named import fits
from ...context.topics import language_of, topic_reader
from ...domains import DOMAINS
from ...domains.showing import GONE
from ...knowledge.records import EntityRecord, HouseSnapshot
from ...languages import DEFAULT
from ...tools.control.mentions import Mention, mention

ACTIVE: Final = frozenset(("on", "playing", "open"))
"""The states of a topic in which something is not at rest."""
REST: Final = frozenset(("off", "closed", "locked"))
OPENING: Final = frozenset(("open", "closed", "locked"))
"""The states of what is opened and closed; the others are those of what is switched."""
OPENED: Final = frozenset(("open", "unlocked"))
SWITCHED: Final = frozenset(("on",))
PAUSED: Final = "paused"
SENSOR: Final = "sensor"


class Truth(Enum):
    """Whether a statement is true."""

    TRUE = auto()
    FALSE = auto()
    UNKNOWN = auto()
    """It says nothing about a state, or nothing that is known."""


class StateJudge:
    """Compares what parts of an answer say with the states of the home."""

    def __init__(self, hass: HomeAssistant, house: HouseSnapshot, language: str) -> None:
        """Take the home and the language of the turn."""
        self._hass, self._house, self._language = hass, house, language

    def mentions(self, text: str) -> Mention:
        """Return what words name."""
        return mention(self._hass, self._house, text, text, self._language)

    def truth(self, text: str, *, is_going: bool = False, about: str = "") -> Truth:
        """Return whether words are true; `is_going` says that they tell that something is at work.

        `about` names what is meant if they do not: "it is off already".
        """
        reader = topic_reader(language_of(text, self._language) or DEFAULT)
        topic = reader.read(text)
        said = {name for name in topic.states if name in ACTIVE | REST} or ({"on"} if is_going else set())
        if not said or (said & ACTIVE and said & REST):
            return Truth.UNKNOWN
        named = self.mentions(text) or self.mentions(about)
        if not named.entity_ids and not named.kinds and not named.everything:
            return Truth.UNKNOWN
        is_opening = bool(said & OPENING)
        shown = [
            is_active(state) and state.state != PAUSED for state in self._states(named, is_opening=is_opening)
        ]
        if not shown:
            return Truth.UNKNOWN
        are_so = [active is bool(said & ACTIVE) for active in shown]
        is_true = all(are_so) if topic.asks_all or topic.everything else any(are_so)
        return Truth.TRUE if is_true else Truth.FALSE

    def _states(self, named: Mention, *, is_opening: bool) -> Iterable[State]:
        """Yield the known states of what is named, as far as it can be in the states that are told."""
        found = {
            record: fit
            for record in self._house.entities.values()
            if (fit := named.fit(record)) and _can_be(record, is_opening=is_opening)
        }
        if of_kind := {record: fit for record, fit in found.items() if _is_of_kind(record, named)}:
            found = of_kind  # "le ventilateur du bureau" is no lamp on a desk
        best = max(found.values(), default=0)
        for record, fit in found.items():
            state = self._hass.states.get(record.entity_id)
            if fit == best and state is not None and state.state not in GONE:
                yield state


def _is_of_kind(record: EntityRecord, named: Mention) -> bool:
    """Return whether an entity is of a kind that is named."""
    return any(fits(record, key, named.known_kinds) for key in named.kinds)


def _can_be(record: EntityRecord, *, is_opening: bool) -> bool:
    """Return whether an entity can be open or closed, or on or off."""
    if record.domain == SENSOR or record.domain not in DOMAINS:
        return False
    word, _rest = state_words(record)
    if is_opening or record.domain == "binary_sensor":
        return (word in OPENED) is is_opening and (word in OPENED or word in SWITCHED)
    return word not in OPENED
