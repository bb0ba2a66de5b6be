"""The service that asks a question on behalf of an automation."""

from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

import probatio

from homeassistant.core import ServiceCall, SupportsResponse
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv
from homeassistant.util import dt as dt_util

from ..channels.asking import NO, YES, Questions, Receivers
from ..const import DOMAIN
from ..embeds import without_embeds
from ..errors import ValidationError
from ..runtime import Agent
from ..safety.confirmation import ActionOutcome
from ..texts import one_line
from ..tools.proposing import PROPOSED
from .base import Service

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


class AskResponse(TypedDict):
    """What was answered, and what became of it."""

    answer: str | None
    """yes, no, or one of the answers; None if nobody has answered."""
    outcome: str
    carried_out: bool
    answered_by: str | None
    """The person or the satellite, for a question without an action."""


async def _async_ask(call: ServiceCall, entry: Agent) -> AskResponse:
    """Ask a question, and do what it is about after a yes."""
    data = entry.runtime_data
    messenger = (await data.async_proactive()).messenger
    verb, entity_ids = call.data.get("action"), call.data.get("entity_id", [])
    answers = [one_line(text.strip(), MAX_ANSWER) for text in call.data.get("answers", [])]
    question = without_embeds(one_line(call.data.get("question", "").strip(), MAX_QUESTION))
    if bool(verb) != bool(entity_ids) or (verb and answers) or not (verb or question):
        raise _wrong("ask_incomplete")
    receivers = _receivers(call, data.asker, messenger.persons)
    if not messenger.may_send(dt_util.utcnow(), urgent=call.data["urgent"]):
        return _response("quiet")
    if not verb:
        return await _async_choose(entry, question, answers, receivers, call.data["timeout"])
    try:
        proposal = data.asker.propose(verb, entity_ids)
    except ValidationError as err:
        raise _wrong("ask_impossible", error=str(err)) from err

    async def lead(_language: str) -> str:
        return question

    messenger.note_sent()
    outcome = await data.asker.async_propose(proposal, lead, receivers, call.data["timeout"])
    if outcome is None:
        return _response("nobody")
    return _response(outcome.value, ANSWERED.get(outcome), carried_out=outcome is ActionOutcome.APPROVED)


async def _async_choose(
    entry: Agent, question: str, answers: Sequence[str], receivers: Receivers, seconds: int
) -> AskResponse:
    data = entry.runtime_data
    if not data.asker.reaches(receivers):
        return _response("nobody")
    (await data.async_proactive()).messenger.note_sent()
    chosen = await data.asker.async_choose(question, answers, receivers, seconds)
    if chosen is None:
        return _response(ActionOutcome.EXPIRED.value)
    return _response("answered", chosen.answer, by=chosen.by)


def _receivers(call: ServiceCall, asker: Questions, persons: Sequence[str]) -> Receivers:
    """Return who is asked: those who are named, else everybody with a phone, and who is near a satellite."""
    named, satellites = tuple(call.data.get("person", ())), tuple(call.data.get("satellite", ()))
    if named or satellites:
        return Receivers(persons=named, satellites=satellites)
    return Receivers(persons=tuple(persons), satellites=asker.near_somebody())


def _response(
    outcome: str, answer: str | None = None, *, carried_out: bool = False, by: str | None = None
) -> AskResponse:
    return {"answer": answer, "outcome": outcome, "carried_out": carried_out, "answered_by": by}


def _wrong(key: str, **placeholders: str) -> ServiceValidationError:
    return ServiceValidationError(
        translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders or None
    )


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
    )
}
