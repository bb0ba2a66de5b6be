"""Commands that settle something: what waits for a word, and what is suggested."""

from collections.abc import Mapping
from typing import Any, Final

import probatio

from ..proactive.suggestion import SuggestionAnswer
from .asking import Asking, Command

MOST: Final = 50
"""Suggestions in one answer."""


async def _async_pending(asking: Asking) -> dict[str, Any]:
    """Return what waits for a person's word."""
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
    """Return what was suggested, the newest first."""
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
