"""Services that ask for an automation, and that settle confirmations and suggestions."""

from collections.abc import Mapping
from typing import Final

import probatio

from homeassistant.core import ServiceCall, SupportsResponse
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import config_validation as cv
from homeassistant.util import dt as dt_util

from ..channels.asking import NO, YES, Receivers
from ..errors import ValidationError
from ..proactive.state import Suggestion, SuggestionAnswer, SuggestionState
from ..runtime import Agent
from ..safety.confirmation import ActionOutcome, ConfirmationRefused
from ..texts import one_line, without_embeds
from ..tools.control.planning import PROPOSED
from .base import ANSWER_SUGGESTION, Response, Service, async_caller, invalid, row_of

CONFIRM: Final = "confirm_action"
MAX_QUESTION: Final = 500
MAX_ANSWERS: Final = 5
MAX_ANSWER: Final = 60
SECONDS: Final = 300
MAX_SECONDS: Final = 3_600
ANSWERED: Final[Mapping[ActionOutcome, str]] = {
    ActionOutcome.APPROVED: YES,
    ActionOutcome.FAILED: YES,
    ActionOutcome.REJECTED: NO,
}


async def _async_ask(call: ServiceCall, entry: Agent) -> Response:
    """Ask a question, and do what it is about after a yes."""

    def response(
        outcome: str, answer: str | None = None, *, carried_out: bool = False, by: str | None = None
    ) -> Response:
        return {"answer": answer, "outcome": outcome, "carried_out": carried_out, "answered_by": by}

    async def lead(_language: str) -> str:
        return question

    data, seconds = entry.runtime_data, call.data["timeout"]
    messenger = (await data.async_proactive()).messenger
    verb, entity_ids = call.data.get("action"), call.data.get("entity_id", [])
    answers = [one_line(text.strip(), MAX_ANSWER) for text in call.data.get("answers", [])]
    question = without_embeds(one_line(call.data.get("question", "").strip(), MAX_QUESTION))
    if bool(verb) != bool(entity_ids) or (verb and answers) or not (verb or question):
        raise invalid("ask_incomplete")
    named, satellites = tuple(call.data.get("person", ())), tuple(call.data.get("satellite", ()))
    if not named and not satellites:  # everybody with a phone, and who is near a satellite
        named, satellites = tuple(messenger.persons), data.asker.near_somebody()
    receivers = Receivers(persons=named, satellites=satellites)
    if not messenger.may_send(dt_util.utcnow(), urgent=call.data["urgent"]):
        return response("quiet")
    if not verb:
        if not data.asker.reaches(receivers):
            return response("nobody")
        messenger.note_sent()
        chosen = await data.asker.async_choose(question, answers, receivers, seconds)
        if chosen is None:
            return response(ActionOutcome.EXPIRED.value)
        return response("answered", chosen.answer, by=chosen.by)
    try:
        proposal = data.asker.propose(verb, entity_ids)
    except ValidationError as err:
        raise invalid("ask_impossible", error=str(err)) from err
    messenger.note_sent()
    outcome = await data.asker.async_propose(proposal, lead, receivers, seconds)
    if outcome is None:
        return response("nobody")
    return response(outcome.value, ANSWERED.get(outcome), carried_out=outcome is ActionOutcome.APPROVED)


async def _async_settle(call: ServiceCall, entry: Agent) -> Response:
    user, action_id = await async_caller(call), call.data["action_id"]
    confirmations = entry.runtime_data.confirmations
    try:
        if call.service == CONFIRM:
            await confirmations.async_approve(action_id, user=user, pin=call.data.get("pin"))
            return {"action_id": action_id, "outcome": ActionOutcome.APPROVED.value}
        await confirmations.async_reject(action_id, user=user)
    except ConfirmationRefused as err:
        raise invalid(err.key) from err
    return {"action_id": action_id, "outcome": ActionOutcome.REJECTED.value}


async def _async_list(call: ServiceCall, entry: Agent) -> Response:
    wanted = call.data.get("state")
    suggestions = (await entry.runtime_data.async_proactive()).suggestions
    found = [item for item in suggestions.all() if wanted in (None, item.state)]
    return {"suggestions": [_shown(item) for item in found], "total": len(found)}


async def _async_answer(call: ServiceCall, entry: Agent) -> Response:
    """Take an answer: a preview, a no for now or for good, or a yes that makes the automation."""
    suggestions = (await entry.runtime_data.async_proactive()).suggestions
    if not (suggestion_id := call.data.get("suggestion_id")):
        waiting = [item.id for item in suggestions.waiting()]
        if len(waiting) != 1:
            key = "suggestion_not_one" if waiting else "suggestion_none"
            raise invalid(key, count=str(len(waiting)), ids=", ".join(waiting))
        (suggestion_id,) = waiting
    try:
        item = await suggestions.async_answer(
            suggestion_id, SuggestionAnswer(call.data["answer"]), await async_caller(call)
        )
    except HomeAssistantError as err:
        raise invalid(str(err.translation_key), **(err.translation_placeholders or {})) from err
    return {**_shown(item), "preview": item.words, "yaml": item.yaml}


def _shown(item: Suggestion) -> Response:
    return {
        "suggestion_id": item.id,
        "summary": item.text,
        "alias": item.config["alias"],
        **row_of(item, "state", "created_at", "expires_at"),
    }


SERVICES: Final[Mapping[str, Service]] = {
    "ask": Service(
        _async_ask,
        {
            probatio.Optional("question"): cv.string,
            probatio.Optional("action"): probatio.In(PROPOSED),
            probatio.Optional("entity_id"): cv.entity_ids,
            probatio.Optional("answers"): probatio.All(
                probatio.EnsureList(), [cv.string], probatio.Length(min=2, max=MAX_ANSWERS)
            ),
            probatio.Optional("person"): cv.entities_domain("person"),
            probatio.Optional("satellite"): cv.entities_domain("assist_satellite"),
            probatio.Optional("timeout", default=SECONDS): probatio.All(
                probatio.Coerce(int), probatio.Range(min=10, max=MAX_SECONDS)
            ),
            probatio.Optional("urgent", default=False): cv.boolean,
        },
        SupportsResponse.OPTIONAL,
        admin=True,
    ),
    CONFIRM: Service(
        _async_settle,
        {probatio.Required("action_id"): cv.string, probatio.Optional("pin"): cv.string},
    ),
    "reject_action": Service(_async_settle, {probatio.Required("action_id"): cv.string}),
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
