"""User-defined entities: automations, scripts, scenes, groups and alerts."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from .base import (
    ANY,
    REPRODUCED_ON_OFF,
    TRANSITION,
    Action,
    DomainFacts,
    Reproduced,
    on_off_actions,
    restore_on_off,
    words,
)
from .showing import ago

_RUN: Final = Action("turn_on")
_STOP: Final = Action("turn_off", expected=words("off"))
_APPLY: Final = Action("turn_on", takes=("transition",), native=ANY)


def _last_run(state: State) -> Iterator[str]:
    last = state.attributes.get("last_triggered")
    moment = last if isinstance(last, datetime) else dt_util.parse_datetime(str(last or ""))
    if moment is not None:
        yield f"last run {ago(moment)}"


AUTOMATION = DomainFacts(
    name="automation",
    actions=on_off_actions(),
    restore=restore_on_off,
    details=_last_run,
    reported=("last_triggered",),
    contained=ANY,
    runs=("turn_on", "toggle", "trigger"),
    reproduced=REPRODUCED_ON_OFF,
)
GROUP = DomainFacts(
    name="group", actions=on_off_actions(), calls_members=True, contained=("turn_*", "toggle")
)


def _stays(service: str, _data: Mapping[str, Any], _before: Collection[str]) -> str:
    """Return why what a scene or a script did cannot be taken back."""
    done = "may have changed several devices" if service in ("turn_on", "toggle") else "was stopped"
    return f"{done} and cannot be undone as a whole; ask which device to change back, and change that one"


SCENE = DomainFacts(
    name="scene",
    actions={"activate": _APPLY, "turn_on": _APPLY},
    parameters={"transition": TRANSITION},
    synonyms=words("activate"),
    is_gated=True,
    told={"turn_on": "activated"},
    is_moment=True,
    reported=(),
    contained=ANY,
    runs=("turn_on",),
    reproduced=Reproduced(other=("turn_on",)),
    take_back=_stays,
)
SCRIPT = DomainFacts(
    name="script",
    actions={
        **dict.fromkeys(("activate", "turn_on", "start"), _RUN),
        **dict.fromkeys(("turn_off", "stop"), _STOP),
    },
    synonyms=words("activate start stop"),
    is_gated=True,
    told={"turn_on": "started", "activate": "started", "turn_off": "stopped"},
    details=_last_run,
    reported=("last_triggered",),
    contained=ANY,
    runs=("turn_on", "toggle"),
    reproduced=Reproduced(states={"off": ("turn_off",)}, other=("turn_on",)),
    take_back=_stays,
)
ALERT = DomainFacts(name="alert", contained=ANY, reproduced=REPRODUCED_ON_OFF)
