"""What was cancelled lately, so that an undo can set it again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from homeassistant.util import dt as dt_util

from ..timers.records import Timer
from ..timers.timers import Timers
from .records import Owner, PlannedCommand


@dataclass(slots=True, kw_only=True)
class Cancellation:
    """Timers and commands that one call cancelled."""

    owner: Owner
    """Who cancelled them, in which turn."""
    timers: Sequence[Timer] = ()
    commands: Sequence[PlannedCommand] = ()
    kept_in: Timers
    """Where the timers are set again."""
    at: datetime = field(default_factory=dt_util.utcnow)
    undone: bool = False

    def concerns(self, user_id: str) -> bool:
        """Return whether it was made by a user, or holds what a user has set."""
        owners = (
            self.owner.user_id,
            *(timer.user_id for timer in self.timers),
            *(user for one in self.commands for user in (one.owner.user_id, one.owner.reports_to)),
        )
        return user_id in owners
