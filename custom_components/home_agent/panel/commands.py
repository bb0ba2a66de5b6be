"""Commands of the panel about turns, figures, confirmations and suggestions."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypedDict

import probatio

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..agent.turn_log import MAX_TURNS, TurnDetails, TurnLine
from ..const import DOMAIN
from ..knowledge.persons import USER_PREFIX, persons
from ..proactive.state import SuggestionAnswer
from ..runtime import HomeAgentData
from ..safety.journal import MAX_ENTRIES, AuditEntry, AuditKind
from ..usage import MAX_DAYS, UsageDay

type PanelHandler = Callable[[PanelCommand], Coroutine[Any, Any, Mapping[str, object]]]
type CommandRow = tuple[PanelHandler, Mapping[Any, Any]]
"""The handler of a command, and its fields beside the agent."""

MAX_SUGGESTIONS: Final = 50
"""Suggestions in one answer."""


class TurnsAnswer(TypedDict):
    """The turns of the log in short, the newest first, and how many it keeps."""

    most: int
    turns: list[TurnLine]


class UsageAnswer(TypedDict):
    """The usage of days, the oldest first."""

    days: list[UsageDay]


class AuditRow(AuditEntry):
    """An entry of the audit log with the name of the person."""

    person: str


class AuditAnswer(TypedDict):
    """Entries of the audit log, the newest first."""

    entries: list[AuditRow]


class ConfirmationRow(TypedDict):
    """An action that waits for a confirmation."""

    id: str
    question: str
    expires_at: str
    person: str
    may_approve: bool


class ConfirmationsAnswer(TypedDict):
    """All actions that wait, and whether they need the PIN."""

    wants_pin: bool
    actions: list[ConfirmationRow]


class SuggestionRow(TypedDict):
    """A suggested automation."""

    id: str
    state: str
    summary: str
    words: str
    yaml: str
    created_at: str
    expires_at: str


class SuggestionsAnswer(TypedDict):
    """The suggestions, the newest first."""

    suggestions: list[SuggestionRow]


class AnsweredSuggestion(TypedDict):
    """What became of a suggestion."""

    state: str


class EmptyAnswer(TypedDict):
    """The command worked, and there is nothing to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelCommand:
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


async def _async_turns(command: PanelCommand) -> TurnsAnswer:
    """Return the last turns in short, the newest first."""
    return {"most": MAX_TURNS, "turns": command.data.turn_log.short()}


async def _async_turn(command: PanelCommand) -> TurnDetails:
    """Return one turn in all its parts. Raises HomeAssistantError for one that is no longer kept."""
    turn = command.data.turn_log.whole(command.fields["turn_id"])
    if turn is None:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="turn_unknown")
    return {**turn}


async def _async_usage(command: PanelCommand) -> UsageAnswer:
    """Return the usage of the last days, the oldest first."""
    usage = command.data.shared.usage.of(command.data.entry_id)
    return {"days": usage.days(dt_util.now().date(), command.fields["days"])}


async def _async_audit(command: PanelCommand) -> AuditAnswer:
    """Return the entries of the audit log, the newest first."""
    audit = command.data.handler.guard.journal.audit
    names = await command.async_names()
    found = audit.entries(command.fields["limit"], command.fields.get("kind"))
    return {"entries": [{**entry, "person": names.get(entry.get("user_id") or "", "")} for entry in found]}


def int_in_range(least: int, most: int) -> probatio.All[Any]:
    """Return the check of a whole number."""
    return probatio.All(int, probatio.Range(min=least, max=most))


async def _async_pending(command: PanelCommand) -> ConfirmationsAnswer:
    """Return the actions that wait for a confirmation."""
    confirmations, names = command.data.confirmations, await command.async_names()
    return {
        "wants_pin": confirmations.wants_pin,
        "actions": [
            {
                "id": action.id,
                "question": action.full,
                "expires_at": action.expires_at.isoformat(),
                "person": names.get(action.owner.user_id or "", ""),
                "may_approve": confirmations.may_answer(action, command.user),
            }
            for action in confirmations.pending
        ],
    }


async def _async_confirm(command: PanelCommand) -> EmptyAnswer:
    """Confirm an action as the user of the panel. Raises ConfirmationRefused or HomeAgentError."""
    fields = command.fields
    await command.data.confirmations.async_approve(
        fields["action_id"], user=command.user, pin=fields.get("pin")
    )
    return {}


async def _async_reject(command: PanelCommand) -> EmptyAnswer:
    """Reject an action. Raises ConfirmationRefused."""
    await command.data.confirmations.async_reject(command.fields["action_id"], user=command.user)
    return {}


async def _async_suggestions(command: PanelCommand) -> SuggestionsAnswer:
    """Return the suggestions, the newest first."""
    found = (await command.data.async_proactive()).suggestions.all()
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
            for item in found[:MAX_SUGGESTIONS]
        ],
    }


async def _async_answer(command: PanelCommand) -> AnsweredSuggestion:
    """Take an answer to a suggestion. Raises AutomationRefusedError."""
    suggestions = (await command.data.async_proactive()).suggestions
    fields = command.fields
    item = await suggestions.async_answer(
        fields["suggestion_id"], SuggestionAnswer(fields["answer"]), command.user
    )
    return {"state": item.state.value}


_ACTION: Final = {probatio.Required("action_id"): str}

COMMANDS: Final[Mapping[str, CommandRow]] = {
    "turns": (_async_turns, {}),
    "turn": (_async_turn, {probatio.Required("turn_id"): str}),
    "usage": (_async_usage, {probatio.Optional("days", default=30): int_in_range(1, MAX_DAYS)}),
    "audit": (
        _async_audit,
        {
            probatio.Optional("limit", default=100): int_in_range(1, MAX_ENTRIES),
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
