"""Commands that only look: turns, usage, the audit log."""

from collections.abc import Mapping
from typing import Any, Final

import probatio

from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..agent.turn_log import MAX_TURNS
from ..const import DOMAIN
from ..safety.audit import MAX_ENTRIES, AuditKind
from ..usage import MAX_DAYS
from .asking import Asking, Command


async def _async_turns(asking: Asking) -> dict[str, Any]:
    """Return the last turns in short, the newest first."""
    return {"most": MAX_TURNS, "turns": asking.data.turn_log.short()}


async def _async_turn(asking: Asking) -> dict[str, Any]:
    """Return one turn in all its parts. Raises HomeAssistantError for one that is no longer kept."""
    turn = asking.data.turn_log.whole(asking.fields["turn_id"])
    if turn is None:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="turn_unknown")
    return turn


async def _async_usage(asking: Asking) -> dict[str, Any]:
    """Return what the last days cost, the oldest first."""
    usage = asking.data.shared.usage.of(asking.data.entry_id)
    return {"days": usage.days(dt_util.now().date(), asking.fields["days"])}


async def _async_audit(asking: Asking) -> dict[str, Any]:
    """Return what was done, refused, confirmed, searched and removed, the newest first."""
    audit = asking.data.handler.guard.journal.audit
    names = await asking.async_names()
    found = audit.entries(asking.fields["limit"], asking.fields.get("kind"))
    return {"entries": [{**entry, "person": names.get(entry.get("user_id") or "", "")} for entry in found]}


def whole(least: int, most: int) -> probatio.All[Any]:
    """Return the check of a whole number."""
    return probatio.All(int, probatio.Range(min=least, max=most))


COMMANDS: Final[Mapping[str, Command]] = {
    "turns": (_async_turns, {}),
    "turn": (_async_turn, {probatio.Required("turn_id"): str}),
    "usage": (_async_usage, {probatio.Optional("days", default=30): whole(1, MAX_DAYS)}),
    "audit": (
        _async_audit,
        {
            probatio.Optional("limit", default=100): whole(1, MAX_ENTRIES),
            probatio.Optional("kind"): probatio.In([kind.value for kind in AuditKind]),
        },
    ),
}
