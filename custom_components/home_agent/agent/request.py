"""The request of a turn for one model: shortened to fit it, with the data that it may receive."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import json_loads

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
from ..context.window import FittedRequest, fit
from ..conversations.turns import AT_HOME_ONLY
from ..event_data import ContextInjected, ContextOptimized
from ..inference.models import ChatRequest, Message, MessageCall, ModelServerError, TokenUsage
from ..safety.disclosure import DataCategory, Disclosure
from ..tools.native import disclosed_by
from ..tools.turn_calls import TurnCalls
from .log import asked_again, messages_of
from .pictures import beside_pictures
from .turn import Turn

TRUNCATING: Final = frozenset({"sentence", "results", "instructions", "rounds"})
"""Steps after which the model reads only a part of something."""


KEPT: Final = "kept at home: a model outside the house is not told"
UNSAID: Final = "(left out)"
ROOM_AFTER_SILENCE: Final = 2
"""How many times the tokens of an answer are allowed after one without words and calls."""


def build(
    turn: Turn, model: str, *, allow_tools: bool, withheld: str = "", after_silence: bool = False
) -> ChatRequest:
    """Return the request of the next round for a model of the router.

    `withheld` is an answer that nobody has heard and that is not stored. After an answer without words and
    calls, which thoughts may have used up, the model gets `ROOM_AFTER_SILENCE` times the tokens and may not
    think.
    """
    settings, policy, window = turn.data.settings, turn.data.data_policy, turn.data.context.window
    draft, messages, told = turn.draft, messages_of(turn), turn.calls.disclosure
    turn.asked, told.model = model, policy.of(model)
    if told.model.home and not told.withheld:
        told.withheld = (
            any(AT_HOME_ONLY in message for message in draft.history)
            or any(slot.outside not in (None, slot.lines) for slot in draft.slots)
            or _current_for(messages, policy.away, turn.calls, from_home=False) != messages
        )
    from_home = told.withheld and not told.model.home
    if told.model.home:
        draft = replace(draft, history=[_unmarked(message) for message in draft.history])
    else:
        draft = replace(
            draft,
            systems=draft.systems_outside or draft.systems,
            history=history_for(draft.history, told.model),
            slots=tuple(slot.for_outside() for slot in draft.slots),
        )
    fitted = turn.fitted = fit(
        draft,
        _current_for(messages, told.model, turn.calls, from_home=from_home),
        window.request_tokens(turn.max_tokens, model),
        after=asked_again(UNSAID if from_home else withheld) if withheld else (),
    )
    factor = window.calibration(model).factor
    turn.record.ask(model, fitted, factor, again=bool(withheld) or after_silence)
    _report(turn, fitted, factor)
    max_tokens = turn.max_tokens * ROOM_AFTER_SILENCE if after_silence else turn.max_tokens
    return ChatRequest(
        messages=beside_pictures(fitted.messages, turn.pictures) if turn.pictures else fitted.messages,
        tools=fitted.tools,
        tool_choice=None if allow_tools or not fitted.tools else "none",
        temperature=settings[CONF_TEMPERATURE],
        top_p=settings[CONF_TOP_P],
        max_tokens=window.answer_tokens(max_tokens, fitted.tokens, model),
        keep_alive=settings[CONF_KEEP_ALIVE],
        num_ctx=settings.get(CONF_NUM_CTX),
        thinking=settings[CONF_THINKING] and not after_silence,
        reasoning_effort=None if after_silence else settings.get(CONF_REASONING_EFFORT),
        response_schema=turn.response_schema,
        conversation_id=turn.chat_log.conversation_id,
        give_up_at=turn.give_up_at,
        budget=turn.requests,
        caller=turn.calls.caller,
    )


def _report(turn: Turn, fitted: FittedRequest, factor: float) -> None:
    """Fire events about the content of a request and the removed parts, once for unchanged content."""
    if turn.context is None:
        return
    ids = tuple(entity_id for slot in fitted.slots for entity_id in slot.entity_ids)
    catalogue = fitted.catalogue or turn.context.catalogue
    tokens = catalogue.tokens + sum(slot.tokens for slot in fitted.slots)
    if (carried := (tokens, ids)) != turn.reported:
        turn.reported = carried
        turn.data.emitter.fire(
            EVENT_CONTEXT_INJECTED,
            ContextInjected(
                conversation_id=turn.calls.conversation_id,
                mode=turn.data.context.mode,
                entities_included=list(ids),
                entity_count=len(turn.context.house.entities) if catalogue.complete else len(ids),
                token_count=round(tokens * factor),
                request_tokens=round(fitted.tokens * factor),
                vector_db_query=next((slot.query for slot in fitted.slots if slot.query), None),
            ),
            turn.calls.speaker.context,
        )
    if fitted.steps and fitted.steps != turn.compressed:
        LOGGER.debug("The request was made shorter: %s", ", ".join(fitted.steps))
        turn.data.emitter.fire(
            EVENT_CONTEXT_OPTIMIZED,
            ContextOptimized(
                conversation_id=turn.calls.conversation_id,
                original_tokens=round(fitted.original * factor),
                optimized_tokens=round(fitted.tokens * factor),
                compression_ratio=round(fitted.tokens / max(fitted.original, 1), 3),
                was_truncated=not TRUNCATING.isdisjoint(fitted.steps),
                shortened=list(fitted.steps),
            ),
            turn.calls.speaker.context,
        )
    turn.compressed = fitted.steps


def drew_on_home(turn: Turn) -> bool:
    """Return whether a turn holds what an external model must not receive later on."""
    away, told = turn.data.data_policy.away, turn.calls.disclosure
    categories = [told.categories[call_id] for call_id in told.made_at_home]
    return (
        told.withheld
        or any(DataCategory.PEOPLE in category or not away.allows(category) for category in categories)
        or (turn.fitted is None and not away.states)
    )


def stays_home(turn: Turn) -> bool:
    """Return whether the last request or its results must not be shown to an external model."""
    return turn.calls.disclosure.withheld and turn.data.data_policy.of(turn.asked).home


def note_usage(turn: Turn, usage: TokenUsage) -> None:
    """Calibrate with the server's counts."""
    if turn.fitted is not None:
        model, window = turn.data.router.last_used, turn.data.context.window
        window.note_usage(model, turn.fitted.tokens, usage.prompt, usage.cached)


def note_refusal(turn: Turn, err: ModelServerError) -> None:
    """Learn from a request that the server found too long."""
    LOGGER.info("The model server finds the request too long; asking again with less")
    assert turn.fitted is not None
    turn.data.context.window.calibration(turn.asked).note_refusal(
        turn.fitted.tokens, limit=err.limit, counted=err.counted, answer=turn.max_tokens
    )


def history_for(history: Sequence[Message], disclosure: Disclosure) -> list[Message]:
    """Return earlier turns for a model, without those that used data that stays at home."""
    shown = history if disclosure.home else [item for item in history if AT_HOME_ONLY not in item]
    return _less_results([_unmarked(message) for message in shown], disclosure)


def _current_for(
    messages: Sequence[Message], disclosure: Disclosure, calls: TurnCalls, *, from_home: bool
) -> list[Message]:
    """Return the messages of a turn as a model may read them.

    `from_home` says that a local model received data that this one may not read: its words are removed too.
    """
    if disclosure.home:
        return list(messages)
    shown: list[Message] = []
    for message in messages:
        if not from_home or message["role"] != "assistant":
            shown.append(message)
        elif made := message.get("tool_calls"):
            shown.append({**message, "content": "", "tool_calls": [_call_for(call, calls) for call in made]})
    return _less_results(shown, disclosure, calls)


def _unmarked(message: Message) -> Message:
    sent = message.copy()
    sent.pop("at_home", None)
    return sent


def _call_for(call: MessageCall, calls: TurnCalls) -> MessageCall:
    """Return a call, without its arguments if it is about people."""
    function = call["function"]
    if DataCategory.PEOPLE not in calls.disclosure.categories.get(call["id"], disclosed_by(function["name"])):
        return call
    return {**call, "function": {**function, "arguments": "{}"}}


def _less_results(
    messages: Sequence[Message], disclosure: Disclosure, calls: TurnCalls | None = None
) -> list[Message]:
    """Return messages with results only as far as the model may read them; `calls` are those of this turn."""
    names: dict[str, str] = {}
    told = calls.disclosure.categories if calls else {}
    made_at_home: Collection[str] = calls.disclosure.made_at_home if calls else ()
    less: list[Message] = []
    for message in messages:
        names.update((call["id"], call["function"]["name"]) for call in message.get("tool_calls", ()))
        if message["role"] != "tool":
            less.append(message)
            continue
        call_id = message["tool_call_id"]
        discloses = told.get(call_id, disclosed_by(names.get(call_id, "")))
        of_people = DataCategory.PEOPLE in discloses
        if of_people and calls is not None:
            may_read = call_id not in made_at_home
        else:
            may_read = disclosure.allows(discloses)
        less.append(message if may_read else _kept(message, told_why=not of_people))
    return less


def _kept(message: Message, *, told_why: bool) -> Message:
    """Return a result with only its success; the reason of a refusal may be included."""
    try:
        result = json_loads(message["content"])
    except ValueError:
        result = None
    shown: dict[str, Any] = {"result": KEPT}
    if isinstance(result, dict) and "success" in result:
        refused = told_why and result.get("result") is None
        shown = {
            "success": result["success"],
            "result": KEPT,
            "error": result.get("error") if refused or not result.get("error") else KEPT,
        }
    return {**message, "content": json_dumps(shown)}
