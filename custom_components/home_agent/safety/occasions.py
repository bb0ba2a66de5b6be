"""When and for whom a rule applies: hours and days, who is at home, and who asks.

Each part of a condition holds, does not hold, or is not known (None). What is not known counts as the strict
side: a rule that limits applies, and a rule that allows does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from homeassistant.auth.models import User
from homeassistant.const import STATE_HOME
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.util import dt as dt_util

from ..domains.showing import GONE
from ..knowledge.speaker import Speaker
from ..regex import lazy_regex
from .profiles import PolicyProfile

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SOMEBODY: Final = "somebody"
NOBODY: Final = "nobody"
AT_HOME: Final = "home:"
AWAY: Final = "away:"
"""How the presence of one person begins, before the ID of the person's entity."""
GUESTS: Final = "guests"
"""Everybody who speaks without an account in Home Assistant."""
ADMINISTRATORS: Final = "administrators"
PROFILE: Final = "profile:"
EXCEPT: Final = "except:"
"""How one to whom a rule does not apply begins."""

MINUTES_PER_DAY: Final = 24 * 60
_SPAN: Final = lazy_regex(r"(\d{1,2})(?:[:.h](\d{2}))?\s*[-\u2013\u2014]\s*(\d{1,2})(?:[:.h](\d{2}))?")


@dataclass(frozen=True, slots=True)
class Span:
    """Hours of a day, from the first minute to before the last one; across midnight if the end is earlier."""

    start: int
    end: int

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return what a text such as 20:00-07:00 means; None if it is no such text or has no length."""
        if (match := _SPAN.fullmatch(text.strip())) is None:
            return None
        hours = int(match[1]), int(match[3])
        minutes = int(match[2] or 0), int(match[4] or 0)
        start, end = (60 * hour + minute for hour, minute in zip(hours, minutes, strict=True))
        is_time = max(minutes) < 60 and start < MINUTES_PER_DAY and end <= MINUTES_PER_DAY  # noqa: PLR2004
        return cls(start, end) if is_time and start != end else None

    def __str__(self) -> str:
        """Return it as it is stored."""
        return f"{clock(self.start)}-{clock(self.end)}"

    def days_before(self, minute: int) -> int | None:
        """Return how many days ago the span began that has a minute of a day; None if none has it."""
        if self.start < self.end:
            return 0 if self.start <= minute < self.end else None
        if minute >= self.start:
            return 0
        return 1 if minute < self.end else None


WHOLE_DAY: Final = Span(0, MINUTES_PER_DAY)


def clock(minute: int) -> str:
    """Return a minute of the day as people read it."""
    return f"{minute // 60:02}:{minute % 60:02}"


@dataclass(frozen=True, slots=True)
class Occasion:
    """The moment at which something is judged, and who asks for it."""

    hass: HomeAssistant
    speaker: Speaker
    user: User | None = None
    """The Home Assistant user who speaks; None if there is none, or if it is not known who it is."""
    profiles: Sequence[PolicyProfile] = ()

    @property
    def now(self) -> datetime | None:
        """Return the local time at which the call is made; None if that is not known."""
        if self.speaker.anytime:
            return None
        return dt_util.as_local(self.speaker.due) if self.speaker.due else dt_util.now()


@dataclass(frozen=True, slots=True)
class Hours:
    """Days, and hours of a day; a span across midnight belongs to the day on which it begins."""

    days: frozenset[int]
    spans: tuple[Span, ...]
    unread: bool = False
    """Whether there is more that this release cannot read."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self | None:
        """Read stored days and spans; None if there are none."""
        listed = list(texts)
        days = frozenset(DAYS.index(text) for text in listed if text in DAYS)
        spans = [Span.read(text) for text in listed if text not in DAYS]
        known = tuple(span for span in spans if span is not None)
        return cls(days, known, unread=len(known) < len(spans)) if listed else None

    def now(self, moment: datetime) -> Span | None:
        """Return the span that a local time is in; the whole day where only days are given."""
        minute = moment.hour * 60 + moment.minute
        for span in self.spans or (() if self.unread else (WHOLE_DAY,)):
            ago = span.days_before(minute)
            if ago is not None and (not self.days or (moment.weekday() - ago) % len(DAYS) in self.days):
                return span
        return None

    @callback
    def holds(self, occasion: Occasion) -> bool | None:
        """Return whether it is such a time."""
        if (moment := occasion.now) is None:
            return None
        return True if self.now(moment) else (None if self.unread else False)


@callback
def presence_holds(presence: str, occasion: Occasion) -> bool | None:
    """Return whether those are at home, or away, of whom a rule speaks."""
    if occasion.speaker.anytime:
        return None
    if presence in (SOMEBODY, NOBODY):
        is_somebody = _is_anybody_home(occasion.hass.states.async_all("person"))
        return None if is_somebody is None else is_somebody is (presence == SOMEBODY)
    for prefix, wanted in ((AT_HOME, True), (AWAY, False)):
        if presence.startswith(prefix):
            is_home = _is_home(occasion.hass.states.get(presence.removeprefix(prefix)))
            return None if is_home is None else is_home is wanted
    return None


def _is_anybody_home(persons: Iterable[State]) -> bool | None:
    """Return whether a person is at home; None if nobody surely is and it is not known of somebody."""
    found = [_is_home(person) for person in persons]
    if True in found:
        return True
    return None if None in found or not found else False


def _is_home(person: State | None) -> bool | None:
    """Return whether a person is at home; None if that is not known."""
    if person is None or person.state in GONE:
        return None
    return person.state == STATE_HOME


@callback
def whom_holds(whom: Iterable[str], occasion: Occasion) -> bool | None:
    """Return whether a rule is for the one who asks: for one of those named, and for none excepted."""
    named = [name for name in whom if not name.startswith(EXCEPT)]
    excepted = [name.removeprefix(EXCEPT) for name in whom if name.startswith(EXCEPT)]
    meant = [_is_one(name, occasion) for name in named]
    left_out = [_is_one(name, occasion) for name in excepted]
    if True in left_out or (named and not any(one is not False for one in meant)):
        return False
    return None if None in left_out or (named and True not in meant) else True


def _is_one(name: str, occasion: Occasion) -> bool | None:
    """Return whether the one who asks is somebody; None if that is not known."""
    user_id = occasion.speaker.context.user_id
    if name == GUESTS:
        return user_id is None
    if name == ADMINISTRATORS:
        known = occasion.user is not None or user_id is None
        return bool(occasion.user and occasion.user.is_admin) if known else None
    if name.startswith(PROFILE):
        named = [one for one in occasion.profiles if one.name == name.removeprefix(PROFILE)]
        return any(one.applies(occasion.hass, occasion.speaker) for one in named) if named else None
    if (person := occasion.hass.states.get(name)) is None:
        return None
    if user_id is not None:
        return bool(person.attributes.get("user_id") == user_id)
    # The owner of a satellite is only likely to be the one who speaks to it.
    owner = occasion.speaker.person_id
    is_owner = owner is not None and owner == str(person.attributes.get("id") or person.object_id)
    return None if is_owner else False
