"""The messages and suggestions of all entries, kept in one store."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import yaml

from ..const import DOMAIN
from ..memory.learner.habits import Habit, load_habit
from ..store import EntryStore, dump, load, read_moment

LIFE: Final = timedelta(days=14)
"""How long a suggestion waits for an answer."""
PAUSE: Final = timedelta(days=90)
"""How long after an unanswered one the same may be suggested again."""
STORE_KEY: Final = f"{DOMAIN}.proactive"
MAX_WATCHES: Final = 5_000
MAX_SUGGESTIONS: Final = 500


class SuggestionState(StrEnum):
    """What became of a suggestion."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    EXPIRED = "expired"
    POSTPONED = "postponed"


RESTING: Final = frozenset({SuggestionState.EXPIRED, SuggestionState.POSTPONED})
"""States from which the same suggestion may be made again."""


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
    kind: Habit
    """The habit that the suggestion is based on."""
    habit: str
    """The id of the habit, also that of its memory."""
    text: str
    """One sentence in the language of the home."""
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
        return str(yaml.dump(self.config))

    def is_open(self, now: datetime) -> bool:
        """Return whether it still waits."""
        return self.state is SuggestionState.OPEN and now < self.expires_at

    def silences(self, habit: Habit, now: datetime) -> bool:
        """Return whether a habit is not to be suggested (again)."""
        rests = self.state not in RESTING or now < self.expires_at + PAUSE
        return rests and self.kind.is_same(habit)


@dataclass(slots=True)
class Watch:
    """Since when an entity has matched a rule, and whether a message was sent."""

    since: datetime | None = None
    notified: bool = False
    begun: datetime | None = None
    """The start of the activity, for rules about its end."""


class ProactiveState:
    """The messages and suggestions of one entry; `changed` is called on every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
        self.watches: dict[tuple[str, str], Watch] = {}
        """By the key of a rule and the entity."""
        self.suggestions: dict[str, Suggestion] = {}
        self.offered_names: dict[str, None] = {}
        """The names of devices that were offered to be kept, squashed: each once, whatever was answered."""
        self._day: date | None = None
        self._count = 0

    @callback
    def sent_on(self, day: date) -> int:
        """Return how many messages were sent on a day."""
        return self._count if day == self._day else 0

    @callback
    def note_sent(self, day: date) -> None:
        """Count a message."""
        self._day, self._count = day, self.sent_on(day) + 1
        self.changed()

    @callback
    def keep_rules(self, keys: Iterable[str]) -> None:
        """Drop the watches of rules that no longer exist."""
        kept = set(keys)
        self.watches = {key: watch for key, watch in self.watches.items() if key[0] in kept}
        self.changed()

    @callback
    def add(self, suggestion: Suggestion) -> None:
        """Keep a suggestion, and drop the oldest if there are too many."""
        self.suggestions[suggestion.id] = suggestion
        while len(self.suggestions) > MAX_SUGGESTIONS:
            del self.suggestions[next(iter(self.suggestions))]
        self.changed()

    @callback
    def drop(self, suggestion_ids: Iterable[str]) -> None:
        """Forget suggestions."""
        for suggestion_id in suggestion_ids:
            self.suggestions.pop(suggestion_id, None)
        self.changed()

    def stored(self) -> dict[str, Any]:
        """Return the data to store; called in a worker thread."""
        return {
            "watches": [
                [*key, dump(watch.since), watch.notified, dump(watch.begun)]
                for key, watch in list(self.watches.items())
            ],
            "suggestions": dump(list(self.suggestions.values())),
            "offered_names": list(self.offered_names)[-MAX_SUGGESTIONS:],
            "day": dump(self._day),
            "count": self._count,
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Restore stored data. Raises KeyError, TypeError or ValueError for invalid data."""
        self.watches = {
            (str(rule), str(entity_id)): Watch(
                since and read_moment(since), bool(notified), begun and read_moment(begun)
            )
            for rule, entity_id, since, notified, begun in stored["watches"][-MAX_WATCHES:]
        }
        for item in stored["suggestions"]:
            load_habit(item["kind"])
        found = [load(Suggestion, item) for item in stored["suggestions"]]
        self.suggestions = {suggestion.id: suggestion for suggestion in found}
        self.offered_names = dict.fromkeys(map(str, stored.get("offered_names", ())))
        self._day = date.fromisoformat(stored["day"]) if stored["day"] else None
        self._count = int(stored["count"])


class ProactiveStore(EntryStore[ProactiveState]):
    """Keeps the states by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, ProactiveState)
