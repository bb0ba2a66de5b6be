"""Updates of software and firmware."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.core import State

from ..errors import ValidationError
from .base import STATE, Action, DomainFacts, FormerState, ServiceCalls, words
from .binary_sensor import BINARY_WORDS
from .features import supports
from .showing import number_of, pick, text_of

SKIPPED: Final = "skipped_version"


def _details(state: State) -> Iterator[str]:
    attributes = state.attributes
    if attributes.get("in_progress"):
        percent = number_of(attributes.get("update_percentage"))
        yield f"installing {percent}%" if percent else "installing"
    yield from text_of("installed_version", state, prefix="installed ")
    if state.state == "on":
        yield from text_of("latest_version", state, prefix="latest ")


def _backup(state: State) -> Mapping[str, Any]:
    """Return that a backup is made first, where that is possible."""
    if state.state != "on":
        raise ValidationError("has no update that could be installed or skipped")
    if state.attributes.get("in_progress"):
        raise ValidationError("is being installed already")
    return {"backup": True} if supports(state, "BACKUP") else {}


def _check(state: State) -> Mapping[str, Any]:
    _backup(state)
    return {}


def _restore(was: FormerState) -> ServiceCalls:
    """Yield that an update is no longer skipped; one that was installed stays."""
    if STATE in was.changed and SKIPPED in was.changed and not was.attributes.get(SKIPPED):
        yield "clear_skipped", {}


UPDATE = DomainFacts(
    name="update",
    actions={
        "install": Action(
            "install",
            expected=words("off"),
            features="INSTALL",
            ability="install",
            adds=_backup,
            is_on_its_way=lambda state: bool(state.attributes.get("in_progress")),
        ),
        "skip": Action("skip", expected=words("off"), adds=_check),
    },
    writes=frozenset(("clear_skipped",)),
    lasting=frozenset(("install",)),
    untold=words("backup"),
    admin_services=words("install skip clear_skipped"),
    system_platforms=words("hassio hacs"),
    told={"skip": "skipped"},
    restore=_restore,
    kept=(SKIPPED,),
    restricted=("update.install",),
    say=lambda state: pick(BINARY_WORDS["update"], state.state),
    details=_details,
    counted="available",
    reported=("installed_version", "latest_version", "release_summary"),
    abilities={"version": "SPECIFIC_VERSION"},
)
