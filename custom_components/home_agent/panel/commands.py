"""Commands of the panel about turns, figures, confirmations and suggestions."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

import probatio

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..agent.turn_log import MAX_TURNS
from ..const import DOMAIN
from ..knowledge.persons import USER_PREFIX, persons
from ..proactive.suggestion import SuggestionAnswer
from ..runtime import HomeAgentData
from ..safety.journal import MAX_ENTRIES, AuditKind
from ..usage import MAX_DAYS

type Command = tuple[Callable[[Asking], Coroutine[Any, Any, dict[str, Any]]], Mapping[Any, Any]]
"""What answers, and the fields beside the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One command of an administrator."""

    hass: HomeAssistant
    data: HomeAgentData
    user: User
    fields: Mapping[str, Any]

    async def async_names(self) -> dict[str, str]:
        """Return the names of persons and users by their stored ids."""
        names: dict[str, str] = {}
        for user in await self.hass.auth.async_get_users():
            names[user.id] = names[f"{USER_PREFIX}{user.id}"] = user.name or ""
        for person in persons(self.hass):
            names[person.id] = person.name
            if person.user_id:
                names[person.user_id] = person.name
        return names


async def _async_turns(asking: Asking) -> dict[str, Any]:
    """Return the last turns in short, the newest first."""
    return {"most": MAX_TURNS, "turns": asking.data.turn_log.short()}


async def _async_turn(asking: Asking) -> dict[str, Any]:
    """Return one turn in all its parts. Raises HomeAssistantError for one that is no longer kept."""
    turn = asking.data.turn_log.whole(asking.fields["turn_id"])
    if turn is None:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="turn_unknown")
    return {**turn}


async def _async_usage(asking: Asking) -> dict[str, Any]:
    """Return the usage of the last days, the oldest first."""
    usage = asking.data.shared.usage.of(asking.data.entry_id)
    return {"days": usage.days(dt_util.now().date(), asking.fields["days"])}


async def _async_audit(asking: Asking) -> dict[str, Any]:
    """Return the entries of the audit log, the newest first."""
    audit = asking.data.handler.guard.journal.audit
    names = await asking.async_names()
    found = audit.entries(asking.fields["limit"], asking.fields.get("kind"))
    return {"entries": [{**entry, "person": names.get(entry.get("user_id") or "", "")} for entry in found]}


def whole(least: int, most: int) -> probatio.All[Any]:
    """Return the check of a whole number."""
    return probatio.All(int, probatio.Range(min=least, max=most))


MOST: Final = 50
"""Suggestions in one answer."""


async def _async_pending(asking: Asking) -> dict[str, Any]:
    """Return the actions that wait for a confirmation."""
    confirmations, names = asking.data.confirmations, await asking.async_names()
    return {
        "wants_pin": confirmations.wants_pin,
        "actions": [
            {
                "id": action.id,
                "question": action.full,
                "expires_at": action.expires_at.isoformat(),
                "person": names.get(action.owner.user_id or "", ""),
                "may_approve": confirmations.may_answer(action, asking.user),
            }
            for action in confirmations.pending
        ],
    }


async def _async_confirm(asking: Asking) -> dict[str, Any]:
    """Take the word of the one who looks at the panel. Raises ConfirmationRefused or HomeAgentError."""
    fields = asking.fields
    await asking.data.confirmations.async_approve(
        fields["action_id"], user=asking.user, pin=fields.get("pin")
    )
    return {}


async def _async_reject(asking: Asking) -> dict[str, Any]:
    """Drop an action. Raises ConfirmationRefused."""
    await asking.data.confirmations.async_reject(asking.fields["action_id"], user=asking.user)
    return {}


async def _async_suggestions(asking: Asking) -> dict[str, Any]:
    """Return the suggestions, the newest first."""
    found = (await asking.data.async_proactive()).suggestions.all()
    return {
        "suggestions": [
            {
                "id": item.id,
                "state": item.state.value,
                "summary": item.text,
                "words": item.words,
                "yaml": item.yaml,
                "created_at": item.created_at.isoformat(),
                "expires_at": item.expires_at.isoformat(),
            }
            for item in found[:MOST]
        ],
    }


async def _async_answer(asking: Asking) -> dict[str, Any]:
    """Take an answer to a suggestion. Raises AutomationRefusedError."""
    suggestions = (await asking.data.async_proactive()).suggestions
    fields = asking.fields
    item = await suggestions.async_answer(
        fields["suggestion_id"], SuggestionAnswer(fields["answer"]), asking.user
    )
    return {"state": item.state.value}


_ACTION: Final = {probatio.Required("action_id"): str}

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
    "confirmations": (_async_pending, {}),
    "confirm": (_async_confirm, {**_ACTION, probatio.Optional("pin"): str}),
    "reject": (_async_reject, _ACTION),
    "suggestions": (_async_suggestions, {}),
    "suggestion/answer": (
        _async_answer,
        {
            probatio.Required("suggestion_id"): str,
            probatio.Required("answer"): probatio.In([answer.value for answer in SuggestionAnswer]),
        },
    ),
}
