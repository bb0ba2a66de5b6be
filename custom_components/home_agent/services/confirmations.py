"""Services that settle confirmations and suggestions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypedDict

import probatio

from homeassistant.core import ServiceCall, SupportsResponse
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import config_validation as cv

from ..const import DOMAIN
from ..proactive.state import Suggestion, SuggestionAnswer, SuggestionState
from ..runtime import Agent
from ..safety.confirmation import ActionOutcome, ConfirmationRefused
from .base import ANSWER_SUGGESTION, Service, async_caller

if TYPE_CHECKING:
    from ..proactive.suggestions import Suggestions


class OutcomeResponse(TypedDict):
    """An action that no longer waits."""

    action_id: str
    outcome: str


class SuggestionResponse(TypedDict):
    """A suggestion; times are ISO 8601."""

    suggestion_id: str
    state: str
    summary: str
    alias: str
    created_at: str
    expires_at: str


class SuggestionPreview(SuggestionResponse):
    """A suggestion with its automation, in words and as YAML."""

    preview: str
    yaml: str


class SuggestionsResponse(TypedDict):
    """The suggestions, the newest first."""

    suggestions: list[SuggestionResponse]
    total: int


async def _async_confirm_action(call: ServiceCall, entry: Agent) -> OutcomeResponse:
    user = await async_caller(call)
    confirmations, action_id = entry.runtime_data.confirmations, call.data["action_id"]
    try:
        await confirmations.async_approve(action_id, user=user, pin=call.data.get("pin"))
    except ConfirmationRefused as err:
        raise _refused(err) from err
    return {"action_id": action_id, "outcome": ActionOutcome.APPROVED.value}


async def _async_reject_action(call: ServiceCall, entry: Agent) -> OutcomeResponse:
    user = await async_caller(call)
    try:
        await entry.runtime_data.confirmations.async_reject(call.data["action_id"], user=user)
    except ConfirmationRefused as err:
        raise _refused(err) from err
    return {"action_id": call.data["action_id"], "outcome": ActionOutcome.REJECTED.value}


def _refused(err: ConfirmationRefused) -> ServiceValidationError:
    """Return why a word does not count, in the form of a service."""
    return ServiceValidationError(translation_domain=DOMAIN, translation_key=err.key)


async def _async_list(call: ServiceCall, entry: Agent) -> SuggestionsResponse:
    """Return the suggestions, the newest first."""
    wanted = call.data.get("state")
    suggestions = (await entry.runtime_data.async_proactive()).suggestions
    found = [item for item in suggestions.all() if wanted in (None, item.state)]
    return {"suggestions": [_shown(item) for item in found], "total": len(found)}


async def _async_answer(call: ServiceCall, entry: Agent) -> SuggestionPreview:
    """Take an answer: a preview, a no for now or for good, or a yes that makes the automation."""
    suggestions = (await entry.runtime_data.async_proactive()).suggestions
    try:
        item = await suggestions.async_answer(
            call.data.get("suggestion_id") or _only(suggestions),
            SuggestionAnswer(call.data["answer"]),
            await async_caller(call),
        )
    except HomeAssistantError as err:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key=err.translation_key,
            translation_placeholders=err.translation_placeholders,
        ) from err
    return {**_shown(item), "preview": item.words, "yaml": item.yaml}


def _only(suggestions: Suggestions) -> str:
    """Return the id of the one suggestion that waits. Raises ServiceValidationError unless it is one."""
    waiting = [item.id for item in suggestions.waiting()]
    if len(waiting) == 1:
        return waiting[0]
    raise ServiceValidationError(
        translation_domain=DOMAIN,
        translation_key="suggestion_not_one" if waiting else "suggestion_none",
        translation_placeholders={"count": str(len(waiting)), "ids": ", ".join(waiting)},
    )


def _shown(item: Suggestion) -> SuggestionResponse:
    return {
        "suggestion_id": item.id,
        "state": item.state.value,
        "summary": item.text,
        "alias": item.config["alias"],
        "created_at": item.created_at.isoformat(),
        "expires_at": item.expires_at.isoformat(),
    }


SERVICES: Final[Mapping[str, Service]] = {
    "confirm_action": Service(
        _async_confirm_action,
        {probatio.Required("action_id"): cv.string, probatio.Optional("pin"): cv.string},
    ),
    "reject_action": Service(_async_reject_action, {probatio.Required("action_id"): cv.string}),
    "list_suggestions": Service(
        _async_list,
        {probatio.Optional("state"): probatio.In([state.value for state in SuggestionState])},
        SupportsResponse.ONLY,
        admin=True,
    ),
    ANSWER_SUGGESTION: Service(
        _async_answer,
        {
            probatio.Optional("suggestion_id"): cv.string,
            probatio.Required("answer"): probatio.In([answer.value for answer in SuggestionAnswer]),
        },
        admin=True,
    ),
}
