"""What has been told and suggested, over a restart: one store for all entries."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..store import EntryStore, read_moment
from .suggestion import Suggestion, from_dict

STORE_KEY: Final = f"{DOMAIN}.proactive"
MOST_WATCHES: Final = 5_000
MOST_SUGGESTIONS: Final = 500


@dataclass(slots=True)
class Watch:
    """How long something has been so, and whether that was told."""

    since: datetime | None = None
    told: bool = False
    begun: datetime | None = None
    """When what is to end began, for rules about an end."""


class ProactiveState:
    """What one entry has told and suggested. The store of all entries is told of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """Start with nothing."""
        self.changed = changed
        self.watches: dict[tuple[str, str], Watch] = {}
        """By the key of a rule and the entity."""
        self.suggestions: dict[str, Suggestion] = {}
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
        """Forget what was watched for rules that are gone."""
        kept = set(keys)
        self.watches = {key: watch for key, watch in self.watches.items() if key[0] in kept}
        self.changed()

    @callback
    def add(self, suggestion: Suggestion) -> None:
        """Keep a suggestion; the oldest goes where there are too many."""
        self.suggestions[suggestion.id] = suggestion
        while len(self.suggestions) > MOST_SUGGESTIONS:
            del self.suggestions[next(iter(self.suggestions))]
        self.changed()

    @callback
    def drop(self, suggestion_ids: Iterable[str]) -> None:
        """Forget suggestions."""
        for suggestion_id in suggestion_ids:
            self.suggestions.pop(suggestion_id, None)
        self.changed()

    def stored(self) -> dict[str, Any]:
        """Return all that is to be written; called in a worker thread."""
        return {
            "watches": [
                [*key, _text(watch.since), watch.told, _text(watch.begun)]
                for key, watch in list(self.watches.items())
            ],
            "suggestions": [suggestion.as_dict() for suggestion in list(self.suggestions.values())],
            "day": self._day.isoformat() if self._day else None,
            "count": self._count,
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Take what is stored. Raises KeyError, TypeError or ValueError for what is none."""
        self.watches = {
            (str(rule), str(entity_id)): Watch(_moment(since), bool(told), _moment(begun))
            for rule, entity_id, since, told, begun in stored["watches"][-MOST_WATCHES:]
        }
        found = [from_dict(item) for item in stored["suggestions"]]
        self.suggestions = {suggestion.id: suggestion for suggestion in found}
        self._day = date.fromisoformat(stored["day"]) if stored["day"] else None
        self._count = int(stored["count"])


class ProactiveStore(EntryStore[ProactiveState]):
    """Keeps the books by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass, STORE_KEY, ProactiveState)


def _text(moment: datetime | None) -> str | None:
    """Return a moment as it is stored."""
    return moment.isoformat() if moment else None


def _moment(text: object) -> datetime | None:
    """Return a stored moment. Raises TypeError or ValueError for what is none."""
    return None if text is None else read_moment(text)
