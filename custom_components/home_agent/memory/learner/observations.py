"""What was observed in the last weeks: the recorder forgets it sooner. Bounded, and deleted when asked."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ...const import DOMAIN
from ...store import EntryStore, dump, read_moment
from ..memories import Memories
from ..records import Memory, Origin
from .habits import Habit, Observation, habit_day, load_habit

DAYS: Final = 42
"""Days that are kept and analysed: enough for weekly habits, and short enough to forget."""
MAX_A_DAY: Final = 6
"""Times kept of one action on one day."""
MAX_OBSERVATIONS: Final = 20_000
"""Times kept of all."""
MAX_SILENCED: Final = 500
STORE_KEY = f"{DOMAIN}.observations"


class Observations:
    """What one entry has observed; the store of all entries is notified of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.read_until: datetime | None = None
        self.since: date | None = None
        """The first day with observations."""
        self.last: dict[str, str] = {}
        """The last known value of each entity, for the reading that follows."""
        self.habits: list[Habit] = []
        self.silenced: list[Habit] = []
        """Habits that were deleted by a user: they do not return."""
        self._seen: list[Observation] = []

    def __len__(self) -> int:
        """Return how many times are kept."""
        return len(self._seen)

    @callback
    def add(self, observed: Iterable[Observation], until: datetime) -> None:
        """Store the observations of one day, and forget those that are too old."""
        counts: Counter[tuple[str, str]] = Counter()
        for item in sorted(set(observed), key=attrgetter("at")):
            counts[item.subject, item.value] += 1
            if counts[item.subject, item.value] <= MAX_A_DAY:
                self._seen.append(item)
        self.read_until = until
        oldest = until - timedelta(days=DAYS)
        if (more := len(self) - MAX_OBSERVATIONS) > 0:
            oldest = max(oldest, sorted(item.at for item in self._seen)[more])
            begins = habit_day(dt_util.as_local(oldest))
            self.since = max(self.since, begins) if self.since else None
        self._keep(lambda item: item.at >= oldest)

    def all(self) -> list[Observation]:
        """Return what was observed, in local time."""
        return list(self._seen)

    @callback
    def set_habits(self, habits: Iterable[Habit]) -> None:
        """Take the habits that were found last."""
        self.habits = list(habits)
        self._changed()

    @callback
    def silence(self, ids: Collection[str]) -> None:
        """Have habits never found again; those of other ids stay."""
        gone = [known.kind for known in self.habits if known.id in ids]
        if gone:
            self.habits = [known for known in self.habits if known.id not in ids]
            self.silenced = [*self.silenced, *gone][-MAX_SILENCED:]
            self._changed()

    @callback
    def keep_only(self, entity_ids: Collection[str], persons: Collection[str]) -> None:
        """Forget old observations, and those of persons who no longer exist."""
        known = {None, *persons}
        self._keep(lambda item: item.subject in entity_ids and item.person in known)

    @callback
    def erase_person(self, person_id: str) -> int:
        """Forget the actions and habits of a person; return how many."""
        before = len(self)
        self.habits = [known for known in self.habits if known.person != person_id]
        self.silenced = [kind for kind in self.silenced if kind.person != person_id]
        self._keep(lambda item: item.person != person_id)
        return before - len(self)

    @callback
    def erase(self, *, keep_silenced: bool = False) -> None:
        """Forget everything, optionally except the list of habits that must not be found again.

        The next reading begins with what happens from now on.
        """
        self._seen, self.last, self.habits, self.since = [], {}, [], None
        self.read_until = dt_util.utcnow() if self.read_until else None
        if not keep_silenced:
            self.silenced = []
        self._changed()

    def stored(self) -> dict[str, Any]:
        """Return all that is to be written; called in a worker thread."""
        seen: dict[tuple[str, str], list[tuple[int, str | None]]] = {}
        for item in list(self._seen):
            seen.setdefault((item.subject, item.value), []).append((int(item.at.timestamp()), item.person))
        return {
            "read_until": dump(self.read_until),
            "since": dump(self.since),
            "last": dict(self.last),
            "seen": [[*action, dump(moments)] for action, moments in seen.items()],
            "habits": dump(self.habits),
            "silenced": dump(self.silenced),
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Restore stored data. Raises KeyError, TypeError or ValueError for invalid data."""
        until, since = stored.get("read_until"), stored.get("since")
        self.read_until = read_moment(until) if until else None
        self.since = date.fromisoformat(since) if since else None
        self.last = {str(track): str(value) for track, value in dict(stored["last"]).items()}
        self._seen = [
            Observation(dt_util.as_local(dt_util.utc_from_timestamp(at)), str(subject), str(value), person)
            for subject, value, moments in stored["seen"]
            for at, person in moments
        ]
        self.habits = [load_habit(item) for item in stored["habits"]]
        self.silenced = [load_habit(item) for item in stored["silenced"]]

    def _keep(self, keeps: Callable[[Observation], bool]) -> None:
        self._seen = [item for item in self._seen if keeps(item)]
        self._changed()


class ObservationStore(EntryStore[Observations]):
    """Keeps observations by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, Observations)


async def async_forget_learned(observations: Observations, memories: Memories) -> None:
    """Forget all observations, and the habits among the memories; deleted habits stay deleted."""
    if observations.read_until is None:
        return
    observations.erase(keep_silenced=True)
    observations.read_until = None
    await memories.async_drop([memory.id for memory in memories.records() if is_learned(memory)])


def is_learned(memory: Memory) -> bool:
    """Return whether a memory was observed, and was not confirmed by anyone since."""
    return memory.origin is Origin.OBSERVED
