"""What was observed in the last weeks: the recorder forgets it sooner. Bounded, and deleted when asked."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ...const import DOMAIN
from ...store import EntryStore, dump, read_moment
from ..memories import Memories
from ..records import Memory, Origin
from .habits import HabitKind, KnownHabit, dump_habit, load_habit, load_kind
from .patterns import Observation, habit_day

DAYS: Final = 42
"""Days that are kept and analysed: enough for weekly habits, and short enough to forget."""
MAX_A_DAY: Final = 6
"""Times kept of one action on one day."""
MAX_OBSERVATIONS: Final = 20_000
"""Times kept of all."""
MAX_SILENCED: Final = 500
STORE_KEY = f"{DOMAIN}.observations"


@dataclass(frozen=True, slots=True)
class SeenAt:
    """When something was done, in seconds since 1970, and by whom."""

    at: int
    person: str | None = None


type Action = tuple[str, str]
"""An entity, and the action on it."""


class Observations:
    """What one entry has observed; the store of all entries is notified of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.read_until: datetime | None = None
        self.since: date | None = None
        """The first day with observations."""
        self.last: dict[str, str] = {}
        """The last known value of each entity, for the reading that follows."""
        self.habits: list[KnownHabit] = []
        self.silenced: list[HabitKind] = []
        """Habits that were deleted by a user: they do not return."""
        self._seen: dict[Action, list[SeenAt]] = {}

    def __len__(self) -> int:
        """Return how many times are kept."""
        return sum(len(moments) for moments in self._seen.values())

    @callback
    def add(self, observed: Iterable[Observation], until: datetime) -> None:
        """Store the observations of one day, and forget those that are too old."""
        today: dict[Action, set[SeenAt]] = {}
        for item in observed:
            moment = SeenAt(int(item.at.timestamp()), item.person)
            today.setdefault((item.subject, item.value), set()).add(moment)
        for action, moments in today.items():
            few = sorted(moments, key=attrgetter("at"))[:MAX_A_DAY]
            self._seen[action] = [*self._seen.get(action, ()), *few]
        self.read_until = until
        oldest = (until - timedelta(days=DAYS)).timestamp()
        if (more := len(self) - MAX_OBSERVATIONS) > 0:
            ordered = sorted(item.at for moments in self._seen.values() for item in moments)
            oldest = max(oldest, ordered[more])
            begins = habit_day(dt_util.as_local(dt_util.utc_from_timestamp(oldest)))
            self.since = max(self.since, begins) if self.since else None
        self._keep(lambda _action, moment: moment.at >= oldest)

    def all(self) -> list[Observation]:
        """Return the data to store, in local time; called in a worker thread."""
        return [
            Observation(dt_util.as_local(dt_util.utc_from_timestamp(moment.at)), *action, moment.person)
            for action, moments in list(self._seen.items())
            for moment in moments
        ]

    @callback
    def set_habits(self, habits: Iterable[KnownHabit]) -> None:
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
        self._keep(lambda action, moment: action[0] in entity_ids and moment.person in known)

    @callback
    def erase_person(self, person_id: str) -> int:
        """Forget the actions and habits of a person; return how many."""
        before = len(self)
        self.habits = [known for known in self.habits if known.habit.person != person_id]
        self.silenced = [kind for kind in self.silenced if kind.person != person_id]
        self._keep(lambda _action, moment: moment.person != person_id)
        return before - len(self)

    @callback
    def erase(self, *, keep_silenced: bool = False) -> None:
        """Forget everything, optionally except the list of habits that must not be found again.

        The next reading begins with what happens from now on.
        """
        self._seen, self.last, self.habits, self.since = {}, {}, [], None
        self.read_until = dt_util.utcnow() if self.read_until else None
        if not keep_silenced:
            self.silenced = []
        self._changed()

    def stored(self) -> dict[str, Any]:
        """Return all that is to be written; called in a worker thread."""
        return {
            "read_until": dump(self.read_until),
            "since": dump(self.since),
            "last": dict(self.last),
            "seen": [
                [*action, [[moment.at, moment.person] for moment in list(moments)]]
                for action, moments in list(self._seen.items())
            ],
            "habits": [dump_habit(known) for known in self.habits],
            "silenced": dump(self.silenced),
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Restore stored data. Raises KeyError, TypeError or ValueError for invalid data."""
        until, since = stored.get("read_until"), stored.get("since")
        self.read_until = read_moment(until) if until else None
        self.since = date.fromisoformat(since) if since else None
        self.last = {str(track): str(value) for track, value in dict(stored["last"]).items()}
        self._seen = {
            (str(subject), str(value)): [SeenAt(int(at), person) for at, person in moments]
            for subject, value, moments in stored["seen"]
        }
        self.habits = [load_habit(item) for item in stored["habits"]]
        self.silenced = [load_kind(item) for item in stored["silenced"]]

    def _keep(self, keeps: Callable[[Action, SeenAt], bool]) -> None:
        kept = {
            action: [moment for moment in moments if keeps(action, moment)]
            for action, moments in self._seen.items()
        }
        self._seen = {action: moments for action, moments in kept.items() if moments}
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
