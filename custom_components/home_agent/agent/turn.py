"""One turn: everything that belongs to one sentence and its answer."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, override

from homeassistant.components import conversation
from homeassistant.components.conversation import ConversationTraceEventType, async_conversation_trace_append
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent, llm
from homeassistant.helpers.json import json_dumps

from ..const import DOMAIN
from ..context.manager import AssembledContext
from ..context.window import Prompt, RequestDraft
from ..inference.models import Message, RequestBudget
from ..runtime import HomeAgentData
from ..safety.redaction import redacted
from ..tools.calls.schema import serialize
from ..tools.handler import ToolHandler
from ..tools.turn_calls import TurnCalls
from .record import RecentConversation, TurnRecord

MASKED: Final = "••••"
"""What is kept of a code."""
MAX_ROUNDS: Final = 10
TURN_SECONDS: Final = 180
"""After this time the model is asked for its final answer, without tools."""
TURN_LIMIT_SECONDS: Final = 600
"""After it no more of an answer is awaited."""
MAX_REQUESTS: Final = 40
"""The most chat requests that one sentence can cost, whatever fails.

Three layers ask again, and what any of them sends counts:

- The turn: up to `MAX_ROUNDS` rounds with tools. Each asks once more where an order is answered without
  a call or the answer is empty, up to `MAX_SHORTENED` times where the request is too long, once as a whole
  where a stream broke, and the fallback where the primary is down.
- The request, in `inference/client.py`: `ATTEMPTS` where the server fails before it says anything, and once
  more for each parameter that it refuses; what it refuses is remembered.
- The connection, in `inference/transport.py`: once more where a kept connection turns out to be closed. The
  first one has not reached the server, so it does not count.
"""


@dataclass(slots=True, kw_only=True)
class Turn:
    """The state of one turn. It is never kept on the entity: two people may speak at once."""

    hass: HomeAssistant
    data: HomeAgentData
    """The parts of the agent that answers."""
    agent_id: str
    """The entity that answers, as the author of what is in the chat log."""
    chat_log: conversation.ChatLog
    """Only this module writes to it."""
    calls: TurnCalls
    """What is known of the turn as its tools see it: who speaks, what was said, called and read."""
    language: str
    max_tokens: int
    recent: RecentConversation = field(default_factory=RecentConversation)
    """What is known of the conversation beside its history."""
    user_input: conversation.ConversationInput | None = None
    history_id: str = ""
    shared_chat_log: bool = False
    """Whether someone else's words are in the chat log too: they are not for this speaker."""
    first: int = 0
    """Where the newest user message is in the chat log."""
    draft: RequestDraft = field(default_factory=lambda: RequestDraft(systems=[lambda: Prompt("")]))
    """What a request is made of, before it is fitted into the model's context."""
    context: AssembledContext | None = None
    pictures: list[str] = field(default_factory=list)
    """Pictures beside the newest user message, as data URLs; they are never stored."""
    response_schema: dict[str, Any] | None = None
    give_up_at: float | None = None
    """When no more of an answer is awaited, by the clock of the event loop."""
    requests: RequestBudget = field(default_factory=lambda: RequestBudget(MAX_REQUESTS))
    """How many requests may still be sent to models."""
    asks: bool = False
    """Whether the last words are a question of ours, so that the microphone opens."""
    question: str = ""
    """Our question, where the chat log has it as markdown: its values are not to be read as marks."""
    silent: bool = False
    """Whether nothing is spoken: all happened in the room of the satellite, or it heard our own answer."""
    said: bool = False
    """Whether text has been released; a satellite is speaking then."""
    patience: str = ""
    """What was spoken to bridge a silence. It is no part of the answer, and in no text that is kept."""
    lead: str = ""
    """What Home Agent said itself before the model was asked. The answer begins with it."""
    heard: str = ""
    """The whole sentence, where the model gets only what follows a yes."""
    local_response: intent.IntentResponse | None = None
    """The response of Home Assistant's own sentences, if they answered."""
    record: TurnRecord = field(init=False)
    """What happened, for everything that tells of it later."""

    def __post_init__(self) -> None:
        """Begin the record."""
        calls = self.calls
        self.record = TurnRecord(calls=calls.records, external=calls.external, caller=calls.caller)


type LogDelta = conversation.AssistantContentDeltaDict


def replace_sentence(turn: Turn, text: str) -> None:
    """Replace the person's sentence in the chat log."""
    turn.chat_log.content[turn.first] = conversation.UserContent(content=text)


def show_request(turn: Turn, system: str, extra: str | None) -> None:
    """Give the chat log the tools of the turn, and show the prompt to traces and subscribers.

    Not `async_provide_llm_data`: since 2026.11 it keeps tools and prompt of the first turn, and these tools
    belong to this turn.
    """
    chat_log = turn.chat_log
    chat_log.llm_api = GuardedAPIInstance(
        api=HomeAgentAPI(hass=turn.hass, id=DOMAIN, name="Home Agent"),
        api_prompt="",
        llm_context=turn.calls.llm_context,
        tools=list(turn.calls.tools.values()),
        custom_serializer=serialize,
        handler=turn.data.handler,
        turn=turn.calls,
    )
    chat_log.extra_system_prompt = extra
    chat_log.content[0] = conversation.SystemContent(content=system)
    chat_log.async_trace({"messages": list(chat_log.content), "tools": chat_log.llm_api.tools})


def guard_tools(chat_log: conversation.ChatLog, handler: ToolHandler, calls: TurnCalls) -> None:
    """Put the guard in front of the tools of the API that a chat log has, if it has one."""
    if (api := chat_log.llm_api) is not None:
        chat_log.llm_api = GuardedAPIInstance(**vars(api), handler=handler, turn=calls)


async def async_add_answer(turn: Turn, deltas: AsyncGenerator[LogDelta]) -> None:
    """Let one answer of the model into the chat log, which runs its tools as they come.

    The space that parts its words from those before them is for the stream only, as is what bridged a
    silence.
    """
    entries = turn.chat_log.content
    start = len(entries)
    try:
        async for _content in turn.chat_log.async_add_delta_content_stream(turn.agent_id, deltas):
            pass
    finally:
        for index, entry in enumerate(entries[start:], start):
            if isinstance(entry, conversation.AssistantContent) and (content := entry.content):
                kept = content.replace(turn.patience, "") if turn.patience else content
                entries[index] = replace(entry, content=kept.lstrip(" "))


async def async_say(turn: Turn, text: str) -> None:
    """Add a sentence of our own, to the stream as well, separate from the text before it."""
    lead = " " if turn.said else ""

    async def delta() -> AsyncIterator[LogDelta]:
        yield {"role": "assistant", "content": f"{lead}{text}"}

    async for _content in turn.chat_log.async_add_delta_content_stream(turn.agent_id, delta()):
        pass
    if lead:
        content = conversation.AssistantContent(agent_id=turn.agent_id, content=text)
        turn.chat_log.content[-1] = content


async def async_say_first(turn: Turn, text: str) -> None:
    """Say a sentence of our own before the model is asked, which does not read it as a part of its answer."""
    length = len(turn.chat_log.content)
    await async_say(turn, text)
    del turn.chat_log.content[length:]
    turn.said, turn.lead = True, text


def end_with_lead(turn: Turn) -> None:
    """Put the sentence as it was heard, and what was said first, into the chat log."""
    if turn.heard:
        replace_sentence(turn, turn.heard)
    last = turn.chat_log.content[-1]
    if turn.lead and isinstance(last, conversation.AssistantContent):
        content = f"{turn.lead} {last.content or ''}".strip()
        turn.chat_log.content[-1] = replace(last, content=content)


def note_unspoken(turn: Turn, text: str) -> None:
    """Add a sentence of our own that is written down, but not spoken."""
    content = conversation.AssistantContent(agent_id=turn.agent_id, content=text)
    turn.chat_log.async_add_assistant_content_without_tools(content)


def words_beside_calls(turn: Turn, *, as_answer: bool = False) -> str:
    """Return what the model said beside its last calls; `as_answer` ends the turn with it, not said again."""
    contents = turn.chat_log.content
    for index in range(len(contents) - 1, turn.first, -1):
        content = contents[index]
        if isinstance(content, conversation.AssistantContent) and content.tool_calls:
            words = (content.content or "").strip()
            if as_answer:
                contents[index] = replace(content, content=None)
                note_unspoken(turn, words)
            return words
    return ""


async def async_say_error(turn: Turn, sentence: str) -> None:
    """Add the sentence of an error.

    The result says it too, which dialogs show and pipelines speak. A satellite that has begun to speak hears
    only the stream, so the sentence goes there as well.
    """
    if turn.calls.speaker.voice and (turn.said or turn.patience):
        await async_say(turn, sentence)
    else:
        note_unspoken(turn, sentence)


def last_words(turn: Turn, end: int | None = None) -> str:
    """Return the last message, or the last before an index, if it is the assistant's."""
    last = turn.chat_log.content[:end][-1]
    return (last.content or "") if isinstance(last, conversation.AssistantContent) else ""


def messages_of(turn: Turn) -> list[Message]:
    """Return the messages of a turn, from the sentence on."""
    return from_contents(turn.chat_log.content[turn.first :])


def from_contents(contents: Sequence[conversation.Content]) -> list[Message]:
    """Return entries of the chat log as chat messages, without parts that the model does not need."""
    messages: list[Message] = []
    for content in contents:
        match content:
            case conversation.ToolResultContent():
                result = json_dumps(content.result.data)
                messages.append({"role": "tool", "tool_call_id": content.tool_call_id, "content": result})
            case conversation.AssistantContent() if content.tool_calls or content.content:
                message: Message = {"role": "assistant", "content": content.content or ""}
                if content.tool_calls:
                    message["tool_calls"] = [
                        {
                            "id": call.id,
                            "type": "function",
                            "function": {"name": call.tool_name, "arguments": json_dumps(call.tool_args)},
                        }
                        for call in content.tool_calls
                    ]
                messages.append(message)
            case conversation.UserContent():
                messages.append({"role": "user", "content": content.content})
    return messages


@dataclass(kw_only=True)
class GuardedAPIInstance(llm.APIInstance):
    """Tools of one turn, behind the guard. The chat log starts each call the moment it arrives."""

    handler: ToolHandler
    turn: TurnCalls

    @override
    async def async_call_tool(self, tool_input: llm.ToolInput) -> llm.ToolResult:
        """Run a call through the guard; never raises."""
        name, args = tool_input.tool_name, tool_input.tool_args
        async_conversation_trace_append(
            ConversationTraceEventType.TOOL_CALL, {"tool_name": name, "tool_args": redacted(args, name)}
        )
        return await self.handler.async_execute(tool_input, self.turn)


@dataclass(slots=True, kw_only=True)
class HomeAgentAPI(llm.API):
    """The API that each `APIInstance` of a turn has to name; it makes none itself."""

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return no tools: each turn has its own."""
        return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=[])
