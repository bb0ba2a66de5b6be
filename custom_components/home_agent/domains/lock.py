"""Locks."""

from .base import ANY, UNKNOWN_SERVICE, Action, DomainFacts, Reproduced, words
from .common import CODE

LOCK = DomainFacts(
    name="lock",
    actions={
        "lock": Action(
            "lock",
            expected=words("locked"),
            passing=words("locking"),
            takes=("code",),
            native=ANY,
            opens=False,
        ),
        "unlock": Action(
            "unlock",
            expected=words("unlocked open"),
            passing=words("unlocking opening"),
            takes=("code",),
            native=ANY,
            opens=True,
            also_said=("open",),
        ),
        "open": Action(
            "open",
            expected=words("open unlocked"),
            passing=words("opening unlocking"),
            takes=("code",),
            native=ANY,
            features="OPEN",
            ability="open",
            opens=True,
            is_momentary=True,
        ),
    },
    parameters={"code": CODE},
    # Home Assistant locks at a generic "turn on".
    turn_on="lock",
    turn_off="unlock",
    is_protected=True,
    safe_action="lock",
    says_age=True,
    reported=("changed_by",),
    restricted=("lock.unlock", "lock.open"),
    contained=ANY,
    reproduced=Reproduced(
        states={
            **dict.fromkeys(("locked", "locking"), ("lock",)),
            **dict.fromkeys(("unlocked", "unlocking"), ("unlock",)),
            **dict.fromkeys(("open", "opening"), ("open",)),
        },
        other=(UNKNOWN_SERVICE,),
    ),
    active="unlocked",
    acts={
        **dict.fromkeys(("locking", "locked"), "locked"),
        **dict.fromkeys(("unlocking", "unlocked", "opening", "open"), "unlocked"),
    },
    suggested={"locked": "lock"},
    in_everything=True,
    is_lively=True,
)
