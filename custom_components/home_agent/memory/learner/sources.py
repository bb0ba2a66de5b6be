"""Where observations come from: what a source has to offer."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from .acts import ObservedChange
from .usage import Level


class SourceError(Exception):
    """A source cannot be read. The text says why in one line, without keys."""


class ObservationSource(Protocol):
    """Tells what happened. Every method raises SourceError."""

    knows_who: bool
    """Whether it tells people from automations."""

    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return the changes of entities from `start` to before `end`, in order."""
        ...

    async def async_levels(
        self, sensors: Mapping[str, float], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return what sensors showed, in steps of this length or of an hour.

        `sensors` has for each the number of watts that its unit stands for.
        """
        ...
