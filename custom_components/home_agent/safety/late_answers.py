"""Questions that a person may still answer: open ones and ones that ended a short time ago."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from .confirmation_store import Lost
from .pending import Outcome, Owner

REMEMBER_SECONDS = 300.0
"""How long an action that expired is remembered, so that a late yes gets an answer."""

MAX_REMEMBERED = 100


def most_crowding(owners: Iterable[Owner]) -> Owner:
    """Return the first owner of the speaker who has the most entries.

    Where there are too many entries, one of this speaker makes room, so that no speaker can push out what
    belongs to another one.
    """
    every = list(owners)
    counted = Counter(owner.speaker for owner in every)
    return max(every, key=lambda owner: counted[owner.speaker])


class LateAnswers:
    """Remembers who was asked, and the outcome of the action."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take the clock that does not jump."""
        self._clock = clock
        self._ended: dict[Owner, tuple[Outcome, float]] = {}
        self._asked: dict[Owner, float] = {}
        self._lost: list[Lost] = []

    def take_lost(self, lost: Sequence[Lost]) -> None:
        """Remember the actions that a restart has denied."""
        self._lost = list(lost)

    def note_asked(self, owner: Owner, deadline: float) -> None:
        """Remember that an owner is asked until a deadline."""
        self._ended.pop(owner, None)
        self._asked.pop(owner, None)
        self._asked[owner] = deadline + REMEMBER_SECONDS
        _bound(self._asked)

    def note_ended(self, owner: Owner, outcome: Outcome) -> None:
        """Remember the outcome of an action that ended without an answer."""
        self._ended[owner] = (outcome, self._clock() + REMEMBER_SECONDS)
        _bound(self._ended)

    def was_asked(self, owner: Owner) -> bool:
        """Return whether this owner was asked a short while ago."""
        return self._clock() < self._asked.get(owner, 0.0) or any(
            lost.is_recent() and _is_owned(lost, owner) for lost in self._lost
        )

    def take_ended(self, owner: Owner) -> Outcome | None:
        """Return how an action ended that this owner may still want to answer, and forget it."""
        outcome, until = self._ended.pop(owner, (None, 0.0))
        if outcome is not None and self._clock() < until:
            return outcome
        for lost in self._lost:
            if _is_owned(lost, owner):
                self._lost.remove(lost)
                return Outcome.RESTARTED if lost.is_recent() else None
        return None


def _is_owned(lost: Lost, owner: Owner) -> bool:
    """Return whether an action waited for this owner when Home Assistant stopped."""
    return lost.is_owned_by(owner.conversation_id, owner.user_id, owner.device_id)


def _bound[T](known: dict[Owner, T]) -> None:
    """Drop entries if there are too many."""
    while len(known) > MAX_REMEMBERED:
        del known[most_crowding(known)]
