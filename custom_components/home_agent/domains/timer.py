"""Timer helpers."""

from collections.abc import Iterator
from typing import Final

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ..timespans import format_largest
from .base import ANY, DURATION_ALIASES, Action, ControlParameter, DomainFacts, Reproduced, words
from .showing import word_or_quote

_CANCEL: Final = Action("cancel", expected=words("idle"))


def _details(state: State) -> Iterator[str]:
    finishes = dt_util.parse_datetime(str(state.attributes.get("finishes_at") or ""))
    if state.state == "active" and finishes is not None:
        yield f"{format_largest((finishes - dt_util.utcnow()).total_seconds())} left"
    elif state.state == "paused" and (remaining := state.attributes.get("remaining")):
        yield f"{word_or_quote(str(remaining))} left"


TIMER = DomainFacts(
    name="timer",
    actions={
        "start": Action("start", expected=words("active"), takes=("duration",), native=ANY),
        "set_value": Action(
            "start", expected=words("active"), takes=("duration",), native=ANY, value="duration"
        ),
        "pause": Action("pause", expected=words("paused")),
        "stop": _CANCEL,
        "cancel": _CANCEL,
    },
    fields={"duration": ""},
    synonyms=words("set_value stop"),
    parameters={"duration": ControlParameter("seconds", "start", aliases=DURATION_ALIASES)},
    details=_details,
    reported=("duration", "remaining", "finishes_at"),
    contained=ANY,
    reproduced=Reproduced(states={"active": ("start",), "paused": ("pause",), "idle": ("cancel",)}),
)
