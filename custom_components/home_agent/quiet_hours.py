"""Spans of the day: the quiet hours of the options, and the night."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, Final, Self

from homeassistant.util import dt as dt_util

from .const import CONF_PROACTIVE_QUIET_END, CONF_PROACTIVE_QUIET_START

DEFAULT_NIGHT: Final = (time(22), time(7))


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A span of the day; one that begins when it ends is empty."""

    start: time
    end: time

    @classmethod
    def from_options(cls, settings: Mapping[str, Any]) -> Self:
        """Return the quiet hours."""
        return cls(_time(settings[CONF_PROACTIVE_QUIET_START]), _time(settings[CONF_PROACTIVE_QUIET_END]))

    @property
    def night(self) -> QuietHours:
        """Return the hours of the night: the quiet hours, or 22 to 7 if there are none."""
        return self if self.start != self.end else QuietHours(*DEFAULT_NIGHT)

    def holds(self, at: datetime) -> bool:
        """Return whether a moment lies in the span."""
        now = dt_util.as_local(at).time()
        if self.start <= self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end


def _time(text: str) -> time:
    return dt_util.parse_time(text) or time(0)
