"""The request of a turn for one model: shortened to fit it, with the data that it may receive."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from homeassistant.components import conversation
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import json_loads

from ..const import (
    CONF_HISTORY,
    CONF_HISTORY_MAX_MESSAGES,
    CONF_KEEP_ALIVE,
    CONF_LLM_APIS,
    CONF_NUM_CTX,
    CONF_REASONING_EFFORT,
    CONF_TEMPERATURE,
    CONF_THINKING,
    CONF_TOP_P,
    EVENT_CONTEXT_INJECTED,
    EVENT_CONTEXT_OPTIMIZED,
    LOGGER,
)
from ..context.kind_lines import describe_state
from ..context.window import FittedRequest, RequestDraft, Slot, fit
from ..conversations.history import AT_HOME_ONLY, Conversation, kept_at_home
from ..errors import WAITED, WAITS
from ..inference.models import ChatRequest, Message, MessageCall, ModelServerError, TokenUsage
from ..knowledge.house import HouseSnapshot
from ..safety.disclosure import AT_HOME, DataCategory, Disclosure
from ..safety.firewall import firewall
from ..safety.firewall.own_values import without_outside
from ..safety.policy import Reader
from ..safety.sanitizer.origins import PUBLIC
from ..tools.base import HomeAgentTool
from ..tools.native import NATIVE
from ..tools.outside.other_apis import source_of
from ..tools.outside.outgoing import texts_of
from ..tools.turn_calls import TurnCalls
from .pictures import beside_pictures
from .prompt import async_other_tools
from .turn import Turn, from_contents, messages_of, show_request

HEADING: Final = "This request is about:"
RINGING: Final = "Alarms ringing now (timer: cancel stops them, extend with when 9 minutes snoozes):"

TITLES: Final = (
    "media_title",
    "media_artist",
    "media_album_artist",
    "media_album_name",
    "media_series_title",
)
"""Attributes in which a player describes what it is playing."""
_TITLES: Final = frozenset(TITLES)

asked_about: ContextVar[tuple[str, ...]] = ContextVar("home_agent_asked_about", default=())
"""Entities that the caller of a service passes with a sentence, for this turn only."""


async def async_gather(turn: Turn) -> None:
    """Put the request of a turn together, as the draft of its requests, and show it in the chat log."""
    assert turn.user_input is not None
    started = turn.record.gathered = monotonic()
    data, calls, away = turn.data, turn.calls, turn.data.data_policy.away
    reader = await data.handler.guard.async_reader(calls.speaker)
    kept = data.shared.history.find(data.entry_id, turn.history_id)
    about = turn.recent.about or (kept.about if data.settings[CONF_HISTORY] else ())
    context = await data.context.async_assemble(
        sentence=calls.sentence, reader=reader, model=data.router.expected, before=about
    )
    context = context._replace(slots=tuple(_cleaned_slot(turn, slot) for slot in context.slots))
    own_tools = data.tool_schemas.beside(context.house, context.catalogue)
    tools = {**calls.tools, **data.handler.tools}
    others = await async_other_tools(turn.hass, data.settings[CONF_LLM_APIS], calls.llm_context, tools)
    calls.tools = {**tools, **others.tools}

    caller_prompt = turn.user_input.extra_system_prompt or turn.chat_log.extra_system_prompt
    extra = "\n".join(part for part in (others.prompt, caller_prompt) if part) or None
    history = []
    for message in _history(turn, kept, context.budget.history):
        content = message["content"]
        if message["role"] == "tool" and isinstance(content, str) and WAITS in content:
            # Nothing waits for an answer any more.
            message = {**message, "content": content.replace(WAITS, WAITED)}  # noqa: PLW2901
        history.append(message)
    if turn.heard:
        # The yes and what was said to it, which the model reads before the sentence.
        yes: list[Message] = [
            {"role": "user", "content": turn.heard},
            {"role": "assistant", "content": turn.lead},
        ]
        history += yes if away.states else kept_at_home(yes)
    systems, outside = (
        data.prompt.systems(
            context,
            calls.sentence,
            calls.speaker,
            history_for(history, disclosure),
            extra,
            states=disclosure.states,
        )
        for disclosure in (AT_HOME, away)
    )
    _note_origins(turn, history)
    turn.context = context
    turn.draft = RequestDraft(
        systems=systems,
        systems_outside=outside,
        tools=[*own_tools, *others.schemas],
        tools_budget=context.budget.chosen.get("tools"),
        history=history,
        slots=(*context.slots, describe_asked(reader, context.house, away), describe_ringing(turn)),
    )
    show_request(turn, systems[0]().text, caller_prompt)
    turn.record.context_ms = (monotonic() - started) * 1000


def _history(turn: Turn, kept: Conversation, max_tokens: int) -> list[Message]:
    data, settings = turn.data, turn.data.settings
    if not settings[CONF_HISTORY]:
        if turn.heard and turn.recent.tainted:
            turn.calls.taint(earlier=True)  # what became of a yes is told
        return []
    cleared = data.recent.cleared_at(turn.calls.conversation_id)
    unknown = [
        content
        for content in turn.chat_log.content[1 : turn.first]
        if not turn.shared_chat_log
        and (cleared is None or content.created > cleared)
        and (not kept.turns or content.created > kept.turns[-1].at)
    ]
    window = data.shared.history.get_window(
        data.entry_id,
        turn.history_id,
        max_messages=settings[CONF_HISTORY_MAX_MESSAGES],
        max_tokens=max_tokens,
    )
    # This turn may continue one that has read text from outside, as the stored history says or not. The
    # results of tools that are not our own count, and those of tools that read outside.
    tools = [
        data.handler.tools.get(content.tool_name)
        for content in unknown
        if isinstance(content, conversation.ToolResultContent)
    ]
    are_outside = any(not isinstance(tool, HomeAgentTool) or tool.untrusted for tool in tools)
    if kept.reads_outside or are_outside or (unknown and turn.recent.tainted):
        turn.calls.taint(earlier=True)
    marked = kept_at_home if turn.recent.at_home else list
    return [*window, *marked(from_contents(unknown))]


def describe_asked(reader: Reader, house: HouseSnapshot, away: Disclosure) -> Slot:
    """Return the states of the entities of `asked_about` that the speaker may be told.

    So are texts from outside: the caller has not read them either.
    """
    lines = {
        entity_id: f"{entity_id}: {describe_state(without_outside(reader.hass, state), record)}"
        for entity_id in asked_about.get()
        if (record := house.entities.get(entity_id)) is not None
        and (state := reader.hass.states.get(entity_id)) is not None
        and reader.sees(entity_id)
    }
    return Slot(
        heading=HEADING,
        lines=tuple(lines.values()),
        entity_ids=tuple(lines),
        outside=None if away.states else tuple(lines),
        name="asked",
    )


def describe_ringing(turn: Turn) -> Slot:
    """Return the alarms that ring where the speaker is, without names that a text from outside may have."""
    ringing = turn.data.planned.ringing(turn.calls.speaker)
    lines = tuple("alarm" if alarm.owner.outside else alarm.told or "alarm" for alarm in ringing)
    return Slot(heading=RINGING, lines=lines, fixed=True, outside=("alarm",) * len(lines), name="alarm")


def _cleaned_slot(turn: Turn, slot: Slot) -> Slot:
    """Return one slot of the context cleaned.

    Passages of the household's texts mark the turn: a manual was written by someone else. What was said
    marks it only where something was removed. Lines about entities do if they show titles, messages or
    other texts.
    """
    if slot.reference and slot.lines:
        turn.calls.taint()
    if (slot.reference or slot.said) and slot.lines:
        outside = None if slot.outside is None else _cleaned(turn, slot.outside, slot)
        return replace(slot, lines=_cleaned(turn, slot.lines, slot), outside=outside)
    if slot.texts:
        turn.calls.taint()
    if slot.removed:
        turn.data.handler.report_injection(slot.removed, turn.calls, "context")
    return slot


def _cleaned(turn: Turn, lines: Sequence[str], slot: Slot) -> tuple[str, ...]:
    cleaned = firewall.clean(list(lines), addressed=slot.said, others=turn.calls.tools)
    if cleaned.found:
        turn.calls.taint()
        turn.data.handler.report_injection(cleaned.found, turn.calls, "context")
    return tuple(cleaned.value)


def _note_origins(turn: Turn, history: Sequence[Message]) -> None:
    """Note what was said and read earlier in this conversation, as far as the model is shown it.

    Current media counts as read: the model may see it in any turn.
    """
    origins, view = turn.calls.origins, turn.data.policy.view
    titles = [
        str(title)
        for state in turn.hass.states.async_all("media_player")
        if not _TITLES.isdisjoint(state.attributes) and view.is_exposed(state.entity_id)
        for name in TITLES
        if (title := state.attributes.get(name))
    ]
    origins.note_read(PUBLIC, titles)  # they are published, so a person may ask the web about them
    names: dict[str, str] = {}
    for message in history:
        content = message.get("content")
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call["function"]["name"]
        if not isinstance(content, str):
            continue
        if message["role"] == "user":
            origins.said.append(content)
        elif message["role"] == "tool":
            tool = turn.calls.tools.get(names.get(message["tool_call_id"], ""))
            if tool is not None and (source := source_of(tool)):
                result: Any = content
                with suppress(ValueError):  # older results were shortened
                    result = json_loads(content)
                origins.note_read(source, texts_of(result))


NO_CALL: Final = (
    "No tool was called for this, so nothing was done. If the person wants something done, call the tool "
    "now. If that cannot be done, say so. Otherwise answer the person again, in the language used so far."
)
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
    told.model = policy.of(model)
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
    asked_again: list[Message] = []
    if withheld:
        answer = UNSAID if from_home else withheld
        asked_again = [{"role": "assistant", "content": answer}, {"role": "user", "content": NO_CALL}]
    fitted = fit(
        draft,
        _current_for(messages, told.model, turn.calls, from_home=from_home),
        window.request_tokens(turn.max_tokens, model),
        after=asked_again,
    )
    factor = window.calibration(model).factor
    _report(turn, fitted, factor)
    name = turn.data.turn_log.models[model]
    turn.record.ask(name, fitted, factor, again=bool(withheld) or after_silence)
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
    before = turn.record.requests[-1].fitted if turn.record.requests else None
    if before is None or (fitted.slots, fitted.catalogue) != (before.slots, before.catalogue):
        ids = [entity_id for slot in fitted.slots for entity_id in slot.entity_ids]
        catalogue = fitted.catalogue or turn.context.catalogue
        tokens = catalogue.tokens + sum(slot.tokens for slot in fitted.slots)
        turn.data.emitter.fire(
            EVENT_CONTEXT_INJECTED,
            {
                "conversation_id": turn.calls.conversation_id,
                "mode": turn.data.context.mode,
                "entities_included": ids,
                "entity_count": len(turn.context.house.entities) if catalogue.complete else len(ids),
                "token_count": round(tokens * factor),
                "request_tokens": round(fitted.tokens * factor),
                "vector_db_query": next((slot.query for slot in fitted.slots if slot.query), None),
            },
            turn.calls.speaker.context,
        )
    if fitted.steps and (before is None or fitted.steps != before.steps):
        LOGGER.debug("The request was made shorter: %s", ", ".join(fitted.steps))
        turn.data.emitter.fire(
            EVENT_CONTEXT_OPTIMIZED,
            {
                "conversation_id": turn.calls.conversation_id,
                "original_tokens": round(fitted.original * factor),
                "optimized_tokens": round(fitted.tokens * factor),
                "compression_ratio": round(fitted.tokens / max(fitted.original, 1), 3),
                "was_truncated": not TRUNCATING.isdisjoint(fitted.steps),
                "shortened": list(fitted.steps),
            },
            turn.calls.speaker.context,
        )


def drew_on_home(turn: Turn) -> bool:
    """Return whether a turn holds what an external model must not receive later on."""
    away, told = turn.data.data_policy.away, turn.calls.disclosure
    categories = [told.categories[call_id] for call_id in told.made_at_home]
    return (
        told.withheld
        or any(DataCategory.PEOPLE in category or not away.allows(category) for category in categories)
        or (not turn.record.requests and not away.states)
    )


def note_usage(turn: Turn, usage: TokenUsage) -> None:
    """Calibrate with the server's counts."""
    fitted = turn.record.requests[-1].fitted
    model, window = turn.data.router.last_used, turn.data.context.window
    window.note_usage(model, fitted.tokens, usage.prompt, usage.cached)


def note_refusal(turn: Turn, model: str, err: ModelServerError) -> None:
    """Learn from a request that the server found too long."""
    LOGGER.info("The model server finds the request too long; asking again with less")
    fitted = turn.record.requests[-1].fitted
    turn.data.context.window.calibration(model).note_refusal(
        fitted.tokens, limit=err.limit, counted=err.counted, answer=turn.max_tokens
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
            cut: list[MessageCall] = []
            for call in made:
                function = call["function"]
                tool = NATIVE.get(function["name"], HomeAgentTool)
                discloses = calls.disclosure.categories.get(call["id"], tool.discloses)
                if DataCategory.PEOPLE in discloses:
                    function = {**function, "arguments": "{}"}
                cut.append({**call, "function": function})
            shown.append({**message, "content": "", "tool_calls": cut})
    return _less_results(shown, disclosure, calls)


def _unmarked(message: Message) -> Message:
    sent = message.copy()
    sent.pop("at_home", None)
    return sent


def _less_results(
    messages: Sequence[Message], disclosure: Disclosure, calls: TurnCalls | None = None
) -> list[Message]:
    """Return messages with results only as far as the model may read them; `calls` are those of this turn."""
    names: dict[str, str] = {}
    categories = calls.disclosure.categories if calls else {}
    made_at_home: Collection[str] = calls.disclosure.made_at_home if calls else ()
    less: list[Message] = []
    for message in messages:
        names.update((call["id"], call["function"]["name"]) for call in message.get("tool_calls", ()))
        if message["role"] != "tool":
            less.append(message)
            continue
        call_id = message["tool_call_id"]
        tool = NATIVE.get(names.get(call_id, ""), HomeAgentTool)
        discloses = categories.get(call_id, tool.discloses)
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
