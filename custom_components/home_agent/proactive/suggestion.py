"""Suggestions as records: an automation that is suggested, and the answer to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from homeassistant.util.yaml import dump

from ..memory.learner.habits import HabitKind, kind_as_dict, kind_from_dict
from ..store import read_moment

LIFE: Final = timedelta(days=14)
"""How long a suggestion waits for an answer."""
PAUSE: Final = timedelta(days=90)
"""How long after an unanswered one the same may be suggested again."""


class SuggestionState(StrEnum):
    """What became of a suggestion."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    EXPIRED = "expired"
    POSTPONED = "postponed"


RESTING: Final = frozenset({SuggestionState.EXPIRED, SuggestionState.POSTPONED})
"""What is not settled for good."""


class SuggestionAnswer(StrEnum):
    """What can be said to a suggestion."""

    ACCEPT = "accept"
    PREVIEW = "preview"
    REJECT = "reject"
    LATER = "later"


@dataclass(slots=True, kw_only=True)
class Suggestion:
    """An automation that is suggested."""

    id: str
    """Also that of the automation, once there is one."""
    kind: HabitKind
    """The habit that the suggestion is based on."""
    habit: str
    """The id of the habit, also that of its memory."""
    text: str
    """One sentence in the language of the house."""
    words: str
    """What the automation would do, in words."""
    config: dict[str, Any]
    """The automation as Home Assistant stores it."""
    created_at: datetime
    state: SuggestionState = SuggestionState.OPEN
    settled_at: datetime | None = None

    @property
    def expires_at(self) -> datetime:
        """Return until when it can be answered."""
        return self.created_at + LIFE

    @property
    def yaml(self) -> str:
        """Return the automation as YAML."""
        return str(dump(self.config))

    def is_open(self, now: datetime) -> bool:
        """Return whether it still waits."""
        return self.state is SuggestionState.OPEN and now < self.expires_at

    def silences(self, kind: HabitKind, now: datetime) -> bool:
        """Return whether a habit is not to be suggested (again)."""
        rests = self.state not in RESTING or now < self.expires_at + PAUSE
        return rests and self.kind.is_same(kind)

    def as_dict(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {
            "id": self.id,
            "kind": kind_as_dict(self.kind),
            "habit": self.habit,
            "text": self.text,
            "words": self.words,
            "config": self.config,
            "created_at": self.created_at.isoformat(),
            "state": self.state.value,
            "settled_at": self.settled_at.isoformat() if self.settled_at else None,
        }


def from_dict(stored: Mapping[str, Any]) -> Suggestion:
    """Return a stored suggestion. Raises KeyError, TypeError or ValueError for what is none."""
    settled = stored.get("settled_at")
    return Suggestion(
        id=str(stored["id"]),
        kind=kind_from_dict(stored["kind"]),
        habit=str(stored["habit"]),
        text=str(stored["text"]),
        words=str(stored["words"]),
        config=dict(stored["config"]),
        created_at=read_moment(stored["created_at"]),
        state=SuggestionState(stored["state"]),
        settled_at=read_moment(settled) if settled else None,
    )
