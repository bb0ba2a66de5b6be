"""To-do lists, calendars and timers."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ..timespans import format_largest
from .base import ANY, DURATION_ALIASES, Action, ControlParameter, DomainFacts, Reproduced, words
from .showing import text_of, word_or_quote

OTHER_STATUS: Final = {"completed": "needs_action", "needs_action": "completed"}


def _take_back_item(
    service: str, data: Mapping[str, Any], _before: Collection[str]
) -> tuple[str, Mapping[str, Any]] | str:
    if service == "add_item":
        return "remove_item", {"item": [data["item"]]}
    if service == "update_item" and data.get("status") in OTHER_STATUS:
        return "update_item", {"item": data["item"], "status": OTHER_STATUS[data["status"]]}
    if service == "update_item":
        return "what was changed has to be changed back by name"
    return "what was removed does not come back by itself; add it again"


def _event(state: State) -> Iterator[str]:
    yield from text_of("message", state)
    if start := state.attributes.get("start_time"):
        yield word_or_quote(str(start))


TODO = DomainFacts(
    name="todo",
    writes=frozenset(("add_item", "update_item", "remove_item")),
    reads=frozenset(("get_items",)),
    take_back=_take_back_item,
    contained=ANY,
)
CALENDAR = DomainFacts(
    name="calendar",
    writes=frozenset(("create_event",)),
    reads=frozenset(("get_events",)),
    take_back=lambda _service, _data, _before: "an event can only be deleted in the calendar itself",
    # Whether the event in the attributes has begun.
    say=lambda state: "now" if state.state == "on" else "next",
    details=_event,
    reported=("message", "start_time", "end_time", "location"),
    contained=ANY,
)


_CANCEL: Final = Action("cancel", expected=words("idle"))


def _time_left(state: State) -> Iterator[str]:
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
    details=_time_left,
    reported=("duration", "remaining", "finishes_at"),
    contained=ANY,
    reproduced=Reproduced(states={"active": ("start",), "paused": ("pause",), "idle": ("cancel",)}),
)
