"""What the model is given beside the sentence: rules, catalogue, context, history and tools.

Untrusted texts are cleaned here before they become part of a request, and mark the turn that
reads them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.util.json import json_loads

from ..const import CONF_HISTORY, CONF_HISTORY_MAX_MESSAGES, CONF_LLM_APIS
from ..context.fitting import RequestDraft
from ..context.kind_lines import describe_state
from ..context.manager import AssembledContext
from ..context.providers.base import Slot
from ..conversations.turns import kept_at_home
from ..errors import WAITED, WAITS
from ..inference.models import Message
from ..knowledge.house import HouseSnapshot
from ..knowledge.view import AgentView
from ..safety.disclosure import AT_HOME, Disclosure
from ..safety.firewall import firewall
from ..safety.firewall.own_values import without_outside
from ..safety.reading import Reader
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
    """Assemble the context for the model, as the draft of the turn's requests."""
    started = turn.record.gathered = monotonic()
    data = turn.data
    reader = await data.handler.guard.async_reader(turn.calls.speaker)
    context = await data.context.async_assemble(
        sentence=turn.calls.sentence,
        reader=reader,
        model=data.router.expected,
        before=_before(turn),
    )
    context = replace(context, slots=tuple(_cleaned_slot(turn, slot) for slot in context.slots))
    tools, others = await _async_tools(turn, context)
    _compose(turn, context, reader, tools, others)
    turn.record.context_ms = (monotonic() - started) * 1000


def _before(turn: Turn) -> Sequence[str]:
    """Return the entities that the conversation was about last."""
    data = turn.data
    if known := data.memory.about.get(turn.calls.conversation_id):
        return known
    if not data.settings[CONF_HISTORY] or turn.history_id is None:
        return ()
    return data.shared.history.about(data.entry_id, turn.history_id)


def _compose(
    turn: Turn, context: AssembledContext, reader: Reader, tools: list[dict[str, Any]], others: str
) -> None:
    """Put the request of a turn together, and show it in the chat log."""
    assert turn.user_input is not None
    data, away = turn.data, turn.data.data_policy.away
    told = turn.user_input.extra_system_prompt or turn.chat_log.extra_system_prompt
    extra = "\n".join(part for part in (others, told) if part) or None
    history = [_without_open_question(message) for message in _history(turn, context.budget.history)]
    history += turn.before if away.states else kept_at_home(turn.before)
    systems, outside = (
        data.prompt.systems(
            context,
            turn.calls.sentence,
            turn.calls.speaker,
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
        tools=tools,
        tools_budget=context.budget.chosen.get("tools"),
        history=history,
        slots=(*context.slots, describe_asked(reader, context.house, away)),
    )
    show_request(turn, systems[0]().text, told)


async def _async_tools(turn: Turn, context: AssembledContext) -> tuple[list[dict[str, Any]], str]:
    """Return the tools of a turn, those of other integrations too, and what these say about theirs."""
    own = turn.data.tool_schemas.beside(context.house, context.catalogue)
    api_ids, known = turn.data.settings[CONF_LLM_APIS], {**turn.calls.tools, **turn.data.handler.tools}
    others = await async_other_tools(turn.hass, api_ids, turn.calls.llm_context, known)
    turn.calls.tools = {**known, **others.tools}
    return [*own, *others.schemas], others.prompt


def _without_open_question(message: Message) -> Message:
    """Return an earlier message without the order to wait: nothing waits for an answer any more."""
    content = message["content"]
    if message["role"] != "tool" or not isinstance(content, str) or WAITS not in content:
        return message
    return {**message, "content": content.replace(WAITS, WAITED)}


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
    lines = dict(_lines(reader, house, asked_about.get()))
    return Slot(
        heading=HEADING,
        lines=tuple(lines.values()),
        entity_ids=tuple(lines),
        outside=None if away.states else tuple(lines),
        name="asked",
    )


def _lines(reader: Reader, house: HouseSnapshot, entity_ids: Iterable[str]) -> Iterable[tuple[str, str]]:
    for entity_id in entity_ids:
        record, state = house.entities.get(entity_id), reader.hass.states.get(entity_id)
        if record is not None and state is not None and reader.sees(entity_id):
            yield entity_id, f"{entity_id}: {describe_state(without_outside(reader.hass, state), record)}"


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

    `earlier` is what the chat log has of the conversation beyond the stored history.
    """
    data = turn.data
    if earlier and (
        turn.calls.conversation_id in data.memory.tainted
        or any(_is_outside(turn, content) for content in earlier)
    ):
        turn.calls.taint()
    if turn.history_id is not None and data.shared.history.reads_outside(data.entry_id, turn.history_id):
        turn.calls.taint()


def _is_outside(turn: Turn, content: conversation.Content) -> bool:
    """Return whether this is the result of a tool that is not our own, or of one that reads outside."""
    if not isinstance(content, conversation.ToolResultContent):
        return False
    tool = turn.data.handler.tools.get(content.tool_name)
    return not isinstance(tool, HomeAgentTool) or tool.untrusted


def _note_origins(turn: Turn, history: Sequence[Message]) -> None:
    """Note what was said and read earlier in this conversation, as far as the model is shown it.

    Current media counts as read: the model may see it in any turn.
    """
    origins = turn.calls.origins
    origins.note_read(PUBLIC, _titles(turn.hass, turn.data.policy.view))
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
                origins.note_read(source, texts_of(_from_json(content)))


def _titles(hass: HomeAssistant, view: AgentView) -> Iterator[str]:
    """Yield the titles that play: they are published, so a person may ask the web about them."""
    players = hass.states.async_all("media_player")
    for state in [player for player in players if not _TITLES.isdisjoint(player.attributes)]:
        titles = [str(found) for name in TITLES if (found := state.attributes.get(name))]
        if titles and view.is_exposed(state.entity_id):
            yield from titles


def _from_json(content: str) -> Any:
    """Return the content of a result; older results were shortened and may no longer be valid JSON."""
    try:
        return json_loads(content)
    except ValueError:
        return content
