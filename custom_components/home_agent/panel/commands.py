"""Commands of the panel about turns, figures, confirmations and suggestions, and what all commands share."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypedDict

import probatio

from homeassistant.auth.models import User
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..agent.record import MAX_TURNS, Row
from ..const import DOMAIN
from ..knowledge.speaker import USER_PREFIX, async_person_of_user, persons
from ..parts import is_learning_enabled
from ..proactive.state import SuggestionAnswer
from ..runtime import HomeAgentData
from ..usage import MAX_DAYS, UsageDay, cost

type PanelHandler = Callable[[PanelCommand], Coroutine[Any, Any, Mapping[str, object]]]

MAX_SUGGESTIONS: Final = 50
"""Suggestions in one answer."""


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command of the panel.

    A handler that is for everybody checks itself what the user may see and do.
    """

    handler: PanelHandler
    fields: Mapping[Any, Any] = field(default_factory=dict)
    """The fields beside the agent."""
    everybody: bool = False
    """Whether users who are not administrators may use it too."""


class TurnsAnswer(TypedDict):
    """The turns of the log in short, the newest first, and how many it keeps."""

    most: int
    turns: list[Row]


class UsageAnswer(TypedDict):
    """The usage of days, the oldest first, and what each of them cost; no costs without prices."""

    days: list[UsageDay]
    costs: list[float]


class ConfirmationRow(TypedDict):
    """An action that waits for a confirmation."""

    id: str
    question: str
    details: str
    """YAML of an automation that the question is about."""
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
    """The suggestions, the newest first, and whether the options let the agent learn habits."""

    learning: bool
    suggestions: list[SuggestionRow]


class AnsweredSuggestion(TypedDict):
    """What became of a suggestion."""

    state: str


class EmptyAnswer(TypedDict):
    """The command worked, and there is nothing to show."""


class PersonRow(TypedDict):
    """A person of the household, by the id that memories have."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelCommand:
    """One command of a user. Only administrators may send it, unless it is for everybody."""

    hass: HomeAssistant
    data: HomeAgentData
    user: User
    context: Context
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

    def with_fields(self, fields: Mapping[str, Any]) -> PanelCommand:
        """Return the same command with other fields."""
        return replace(self, fields=fields)

    async def async_people(self) -> list[PersonRow]:
        """Return the persons of the household, and the user of the panel if that is none of them."""
        known = {person.id: person.name for person in persons(self.hass)}
        if (own := await async_person_of_user(self.hass, self.user.id)) is not None:
            known.setdefault(own.id, own.name)
        return [{"id": person_id, "name": name} for person_id, name in known.items()]


async def _async_turns(command: PanelCommand) -> TurnsAnswer:
    """Return the last turns in short, the newest first."""
    return {"most": MAX_TURNS, "turns": command.data.turn_log.short()}


async def _async_turn(command: PanelCommand) -> Row:
    """Return one turn in all its parts. Raises HomeAssistantError for one that is no longer kept."""
    turn = command.data.turn_log.whole(command.fields["turn_id"])
    if turn is None:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="turn_unknown")
    return {**turn}


async def _async_usage(command: PanelCommand) -> UsageAnswer:
    """Return the usage of the last days, the oldest first."""
    usage = command.data.shared.usage.of(command.data.entry_id)
    days = usage.days(dt_util.now().date(), command.fields["days"])
    costs = (cost(day, command.data.settings) for day in days)
    return {"days": days, "costs": [each for each in costs if each is not None]}


def int_in_range(least: int, most: int) -> probatio.All[Any]:
    """Return the check of a whole number."""
    return probatio.All(int, probatio.Range(min=least, max=most))


async def _async_pending(command: PanelCommand) -> ConfirmationsAnswer:
    """Return the actions that wait for a confirmation; users get those that they may answer."""
    confirmations, names = command.data.confirmations, await command.async_names()
    return {
        "wants_pin": confirmations.wants_pin,
        "actions": [
            {
                "id": action.id,
                "question": action.full,
                "details": action.details,
                "expires_at": action.expires_at.isoformat(),
                "person": names.get(action.owner.user_id or "", ""),
                "may_approve": confirmations.may_answer(action, command.user),
            }
            for action in confirmations.pending
            if command.user.is_admin or confirmations.may_answer(action, command.user)
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
        "learning": is_learning_enabled(command.data.settings),
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
    "turns": CommandRow(_async_turns),
    "turn": CommandRow(_async_turn, {probatio.Required("turn_id"): str}),
    "usage": CommandRow(_async_usage, {probatio.Optional("days", default=30): int_in_range(1, MAX_DAYS)}),
    "confirmations": CommandRow(_async_pending, everybody=True),
    "confirm": CommandRow(_async_confirm, {**_ACTION, probatio.Optional("pin"): str}, everybody=True),
    "reject": CommandRow(_async_reject, _ACTION, everybody=True),
    "suggestions": CommandRow(_async_suggestions),
    "suggestion/answer": CommandRow(
        _async_answer,
        {
            probatio.Required("suggestion_id"): str,
            probatio.Required("answer"): probatio.In([answer.value for answer in SuggestionAnswer]),
        },
    ),
}
