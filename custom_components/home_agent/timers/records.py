"""One timer or reminder, and when it is due again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, time
from enum import StrEnum
from typing import Any, Final, Self

from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..store import read_moment, read_text_or_none
from .repeating import EVERY_DAY, WEEKEND, WORKDAYS, next_at, read_clock


class Repeat(StrEnum):
    """How often a reminder is repeated."""

    DAILY = "daily"
    WEEKDAYS = "weekdays"
    WEEKENDS = "weekends"
    WEEKLY = "weekly"


DAYS: Final = {Repeat.DAILY: EVERY_DAY, Repeat.WEEKDAYS: WORKDAYS, Repeat.WEEKENDS: WEEKEND}
"""The days of the week of a repetition; a weekly one keeps its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """A timer or reminder: when it is due, its text and its owner."""

    due: datetime
    """In UTC."""
    name: str = ""
    repeat: Repeat | None = None
    language: str = "en"
    user_id: str | None = None
    """The user who set it; None for an unknown voice."""
    device_id: str | None = None
    """Where it was set."""
    chat: int | None = None
    """The chat in which it was set."""
    days: tuple[int, ...] = ()
    """The days of the week of a weekly one, from 0 for Monday; empty for the day on which it is due."""
    clock: time | None = None
    """The local time of each day. `due` shows another one where the clocks are put forward over it."""
    outside: bool = False
    """Whether its name may be from an untrusted text."""
    id: str = field(default_factory=ulid_now)

    def __post_init__(self) -> None:
        """Read the time of day from `due`, where it was not given."""
        if self.repeat is not None and self.clock is None:
            object.__setattr__(self, "clock", dt_util.as_local(self.due).time())

    def next_after(self, now: datetime) -> datetime | None:
        """Return when it is due again, at the same time of a later local day; None if it is not repeated."""
        return next_at(self.clock, self.on_days, max(now, self.due)) if self.repeat and self.clock else None

    @property
    def on_days(self) -> tuple[int, ...]:
        """Return the days of the week on which it is repeated; empty if it is not."""
        if self.repeat is None:
            return ()
        return DAYS.get(self.repeat) or self.days or (dt_util.as_local(self.due).weekday(),)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""
        clock = self.clock.isoformat() if self.clock else None
        stored = {**asdict(self), "due": self.due.isoformat(), "days": list(self.days), "clock": clock}
        return {key: value for key, value in stored.items() if value or key not in {"days", "clock"}}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored timer. Raises LookupError, TypeError or ValueError for anything else."""
        return cls(
            id=str(stored["id"]),
            due=read_moment(stored["due"]),
            name=str(stored["name"]),
            repeat=Repeat(stored["repeat"]) if stored["repeat"] else None,
            language=str(stored["language"]),
            user_id=read_text_or_none(stored["user_id"]),
            device_id=read_text_or_none(stored["device_id"]),
            chat=_read_chat(stored.get("chat")),
            days=_read_days(stored.get("days", ())),
            clock=read_clock(stored.get("clock")),
            outside=bool(stored.get("outside", False)),
        )


def _read_days(stored: object) -> tuple[int, ...]:
    """Return stored days of the week. Raises TypeError for anything else."""
    if isinstance(stored, list | tuple) and all(day in EVERY_DAY for day in stored):
        return tuple(stored)
    raise TypeError("not days of the week")


def _read_chat(stored: object) -> int | None:
    """Return a stored chat. Raises TypeError if it is not a chat."""
    if stored is None or (isinstance(stored, int) and not isinstance(stored, bool)):
        return stored
    raise TypeError("not a chat")
