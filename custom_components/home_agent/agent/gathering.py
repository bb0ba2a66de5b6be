"""What the model is given beside the sentence: rules, catalogue, context, history and tools.

Untrusted texts are cleaned here before they become part of a request, and mark the turn that
reads them.
"""

from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from homeassistant.components import conversation
from homeassistant.util.json import json_loads

from ..const import CONF_HISTORY, CONF_HISTORY_MAX_MESSAGES, CONF_LLM_APIS
from ..context.fitting import RequestDraft
from ..context.kind_lines import describe_state
from ..context.providers.base import Slot
from ..conversations.turns import kept_at_home
from ..errors import WAITED, WAITS
from ..inference.models import Message
from ..knowledge.house import HouseSnapshot
from ..safety.disclosure import AT_HOME, Disclosure
from ..safety.firewall import firewall
from ..safety.firewall.own_values import without_outside
from ..safety.policy import Reader
from ..safety.sanitizer.origins import PUBLIC
from ..tools.base import HomeAgentTool
from ..tools.outside.other_apis import source_of
from ..tools.outside.outgoing import texts_of
from .log import from_contents, show_request
from .request import history_for
from .tool_schemas import async_other_tools
from .turn import Turn

HEADING: Final = "This request is about:"

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
    before: Sequence[str] = data.memory.about.get(calls.conversation_id) or ()
    if not before and data.settings[CONF_HISTORY] and turn.history_id is not None:
        before = data.shared.history.about(data.entry_id, turn.history_id)
    context = await data.context.async_assemble(
        sentence=calls.sentence, reader=reader, model=data.router.expected, before=before
    )
    context = replace(context, slots=tuple(_cleaned_slot(turn, slot) for slot in context.slots))
    own_tools = data.tool_schemas.beside(context.house, context.catalogue)
    known = {**calls.tools, **data.handler.tools}
    others = await async_other_tools(turn.hass, data.settings[CONF_LLM_APIS], calls.llm_context, known)
    calls.tools = {**known, **others.tools}

    told = turn.user_input.extra_system_prompt or turn.chat_log.extra_system_prompt
    extra = "\n".join(part for part in (others.prompt, told) if part) or None
    history = []
    for message in _history(turn, context.budget.history):
        content = message["content"]
        if message["role"] == "tool" and isinstance(content, str) and WAITS in content:
            # Nothing waits for an answer any more.
            message = {**message, "content": content.replace(WAITS, WAITED)}  # noqa: PLW2901
        history.append(message)
    history += turn.before if away.states else kept_at_home(turn.before)
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
        slots=(*context.slots, describe_asked(reader, context.house, away)),
    )
    show_request(turn, systems[0]().text, told)
    turn.record.context_ms = (monotonic() - started) * 1000


def _history(turn: Turn, max_tokens: int) -> list[Message]:
    data, settings = turn.data, turn.data.settings
    cleared = data.memory.cleared_at(turn.calls.conversation_id)
    earlier = [
        content
        for content in turn.chat_log.content[1 : turn.first]
        if not turn.shared_chat_log and (cleared is None or content.created > cleared)
    ]
    marked = kept_at_home if turn.calls.conversation_id in data.memory.at_home else list
    if not settings[CONF_HISTORY] or turn.history_id is None:
        _inherit_taint(turn, earlier)
        return marked(from_contents(earlier))
    history = data.shared.history
    last = history.last_at(data.entry_id, turn.history_id)
    unknown = [content for content in earlier if last is None or content.created > last]
    window = history.get_window(
        data.entry_id,
        turn.history_id,
        max_messages=settings[CONF_HISTORY_MAX_MESSAGES],
        max_tokens=max_tokens,
    )
    _inherit_taint(turn, unknown)
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


def _cleaned_slot(turn: Turn, slot: Slot) -> Slot:
    """Return one slot of the context cleaned.

    Passages of the household's texts mark the turn: a manual was written by someone else. What was said
    marks it only where something was removed. Of entities those do whose titles, messages or other texts are
    shown.
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
    """Return lines without instructions that steer the model."""
    cleaned = firewall.clean(list(lines), addressed=slot.said, others=turn.calls.tools)
    if cleaned.found:
        turn.calls.taint()
        turn.data.handler.report_injection(cleaned.found, turn.calls, "context")
    return tuple(cleaned.value)


def _inherit_taint(turn: Turn, earlier: Sequence[conversation.Content]) -> None:
    """Mark a turn that continues one that has read text from outside.

    `earlier` is what the chat log has of the conversation beyond the stored history. The results of tools
    that are not our own count, and those of tools that read outside.
    """
    data, history_id = turn.data, turn.history_id
    tools = [
        data.handler.tools.get(content.tool_name)
        for content in earlier
        if isinstance(content, conversation.ToolResultContent)
    ]
    is_marked = bool(earlier) and turn.calls.conversation_id in data.memory.tainted
    if (
        is_marked
        or any(not isinstance(tool, HomeAgentTool) or tool.untrusted for tool in tools)
        or (history_id is not None and data.shared.history.reads_outside(data.entry_id, history_id))
    ):
        turn.calls.taint()


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
