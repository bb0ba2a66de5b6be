"""The request of a turn for one model: as it fits the model, with what this one may be told."""

from typing import Final

from ..const import (
    CONF_KEEP_ALIVE,
    CONF_NUM_CTX,
    CONF_REASONING_EFFORT,
    CONF_TEMPERATURE,
    CONF_THINKING,
    CONF_TOP_P,
    EVENT_CONTEXT_INJECTED,
    EVENT_CONTEXT_OPTIMIZED,
    LOGGER,
)
from ..context.fitting import FittedRequest, fit
from ..inference.errors import ModelServerError
from ..inference.models import ChatRequest, Usage
from ..safety.disclosure import Tells
from .disclosing import UNSAID, current_for, draft_for, keeps_something
from .log import correction, messages_of
from .pictures import beside_pictures
from .turn import Turn

TRUNCATING: Final = frozenset({"sentence", "results", "instructions", "rounds"})
"""Steps after which the model reads only a part of something."""


def build(turn: Turn, model: str, *, allow_tools: bool, claim: str = "") -> ChatRequest:
    """Return the request of the next round for a model of the router.

    `claim` was said without being true and is not stored.
    """
    settings = turn.data.settings
    fitted = _fit(turn, model, claim)
    return ChatRequest(
        messages=beside_pictures(fitted.messages, turn.pictures),
        tools=fitted.tools,
        tool_choice=None if allow_tools or not fitted.tools else "none",
        temperature=settings[CONF_TEMPERATURE],
        top_p=settings[CONF_TOP_P],
        max_tokens=turn.data.context.window.answer_tokens(turn.max_tokens, fitted.tokens, model),
        keep_alive=settings[CONF_KEEP_ALIVE],
        num_ctx=settings.get(CONF_NUM_CTX),
        thinking=settings[CONF_THINKING],
        reasoning_effort=settings.get(CONF_REASONING_EFFORT),
        response_schema=turn.response_schema,
        conversation_id=turn.chat_log.conversation_id,
        give_up_at=turn.give_up_at,
        budget=turn.requests,
    )


def _fit(turn: Turn, model: str, claim: str) -> FittedRequest:
    policy, window, messages = turn.data.data_policy, turn.data.context.window, messages_of(turn)
    told = turn.calls.disclosure
    turn.asked, told.model = model, policy.of(model)
    if told.model.home and not told.withheld:
        told.withheld = keeps_something(turn.draft, messages, policy.away, turn.calls)
    from_home = told.withheld and not told.model.home
    turn.fitted = fit(
        draft_for(turn.draft, told.model),
        current_for(messages, told.model, turn.calls, from_home=from_home),
        window.request_tokens(turn.max_tokens, model),
        after=correction(UNSAID if claim and from_home else claim),
    )
    factor = window.calibration(model).factor
    turn.trace.ask(model, turn.fitted, factor, again=bool(claim))
    _report(turn, turn.fitted, factor)
    return turn.fitted


def _report(turn: Turn, fitted: FittedRequest, factor: float) -> None:
    """Fire what a request carries, and what was taken out of it; once for what stays the same."""
    if turn.context is None:
        return
    ids = tuple(entity_id for slot in fitted.slots for entity_id in slot.entity_ids)
    catalogue = fitted.catalogue or turn.context.catalogue
    tokens = catalogue.tokens + sum(slot.tokens for slot in fitted.slots)
    if (carried := (tokens, ids)) != turn.reported:
        turn.reported = carried
        turn.data.emitter.fire(
            EVENT_CONTEXT_INJECTED,
            turn.calls.speaker.context,
            conversation_id=turn.calls.conversation_id,
            mode=turn.data.context.mode,
            entities_included=list(ids),
            entity_count=len(turn.context.house.entities) if catalogue.complete else len(ids),
            token_count=round(tokens * factor),
            request_tokens=round(fitted.tokens * factor),
            vector_db_query=next((slot.query for slot in fitted.slots if slot.query), None),
        )
    if fitted.steps and fitted.steps != turn.compressed:
        LOGGER.debug("The request was made shorter: %s", ", ".join(fitted.steps))
        turn.data.emitter.fire(
            EVENT_CONTEXT_OPTIMIZED,
            turn.calls.speaker.context,
            conversation_id=turn.calls.conversation_id,
            original_tokens=round(fitted.original * factor),
            optimized_tokens=round(fitted.tokens * factor),
            compression_ratio=round(fitted.tokens / max(fitted.original, 1), 3),
            was_truncated=not TRUNCATING.isdisjoint(fitted.steps),
            shortened=list(fitted.steps),
        )
    turn.compressed = fitted.steps


def drew_on_home(turn: Turn) -> bool:
    """Return whether a turn holds what a model outside the house must not be told later on."""
    away, told = turn.data.data_policy.away, turn.calls.disclosure
    categories = [told.categories[call_id] for call_id in told.made_at_home]
    return (
        told.withheld
        or any(Tells.PEOPLE in category or not away.allows(category) for category in categories)
        or (turn.fitted is None and not away.states)
    )


def stays_home(turn: Turn) -> bool:
    """Return whether the last request, or what came of it, must not be shown to a model outside."""
    return turn.calls.disclosure.withheld and turn.data.data_policy.of(turn.asked).home


def note_usage(turn: Turn, usage: Usage) -> None:
    """Learn from what the server counted."""
    if turn.fitted is not None:
        calibration = turn.data.context.window.calibration(turn.data.router.last_used)
        calibration.note_usage(turn.fitted.tokens, usage.prompt, usage.cached)


def note_refusal(turn: Turn, err: ModelServerError) -> None:
    """Learn from a request that the server found too long."""
    LOGGER.info("The model server finds the request too long; asking again with less")
    assert turn.fitted is not None
    turn.data.context.window.calibration(turn.asked).note_refusal(
        turn.fitted.tokens, limit=err.limit, counted=err.counted, answer=turn.max_tokens
    )
