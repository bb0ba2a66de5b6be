"""The chat log of a turn: the only module that writes to it, and what requests and histories read of it."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import override

from homeassistant.components import conversation
from homeassistant.components.conversation import ConversationTraceEventType, async_conversation_trace_append
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps

from ..const import DOMAIN
from ..inference.models import Message
from ..safety.redaction import redacted
from ..tools.calls.schema import serialize
from ..tools.handler import ToolHandler
from ..tools.turn_calls import TurnCalls
from .turn import Turn

type LogDelta = conversation.AssistantContentDeltaDict

NO_CALL = (
    "No tool was called for this, so nothing was done. If the person wants something done, call the tool "
    "now. If that cannot be done, say so. Otherwise answer the person again, in the language used so far."
)


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
        chat_log.llm_api = GuardedAPIInstance(
            api=api.api,
            api_prompt=api.api_prompt,
            llm_context=api.llm_context,
            tools=api.tools,
            custom_serializer=api.custom_serializer,
            handler=handler,
            turn=calls,
        )


async def async_add_answer(turn: Turn, deltas: AsyncGenerator[LogDelta]) -> None:
    """Let one answer of the model into the chat log, which runs its tools as they come.

    The space that parts its words from those before them is for the stream only.
    """
    entries = turn.chat_log.content
    start = len(entries)
    async for _content in turn.chat_log.async_add_delta_content_stream(turn.agent_id, deltas):
        pass
    for index, entry in enumerate(entries[start:], start):
        if isinstance(entry, conversation.AssistantContent) and (entry.content or "").startswith(" "):
            entries[index] = replace(entry, content=(entry.content or "").lstrip())


async def async_say(turn: Turn, text: str) -> None:
    """Add a sentence of our own, to the stream as well, separate from the text before it."""
    lead = " " if turn.said else ""

    async def delta() -> AsyncIterator[LogDelta]:
        yield {"role": "assistant", "content": f"{lead}{text}"}

    async for _content in turn.chat_log.async_add_delta_content_stream(turn.agent_id, delta()):
        pass
    if lead:
        said = conversation.AssistantContent(agent_id=turn.agent_id, content=text)
        turn.chat_log.content[-1] = said


async def async_say_first(turn: Turn, text: str) -> None:
    """Say a sentence of our own before the model is asked, which does not read it as a part of its answer."""
    length = len(turn.chat_log.content)
    await async_say(turn, text)
    remove_from(turn, length)
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


def words_beside_calls(turn: Turn) -> str:
    """Return what the model said beside its last calls."""
    index = _last_with_calls(turn)
    return "" if index is None else turn.chat_log.content[index].content or ""  # type: ignore[union-attr]


def end_with_words_beside_calls(turn: Turn) -> None:
    """Make what the model said beside its last calls the answer, without saying it again."""
    index = _last_with_calls(turn)
    assert index is not None
    content = turn.chat_log.content[index]
    assert isinstance(content, conversation.AssistantContent)
    turn.chat_log.content[index] = replace(content, content=None)
    note_unspoken(turn, (content.content or "").strip())


def _last_with_calls(turn: Turn) -> int | None:
    contents = turn.chat_log.content
    for index in range(len(contents) - 1, turn.first, -1):
        content = contents[index]
        if isinstance(content, conversation.AssistantContent) and content.tool_calls:
            return index
    return None


async def async_say_error(turn: Turn, sentence: str) -> None:
    """Add the sentence of an error.

    The result says it too, which dialogs show and pipelines speak. A satellite that has begun to speak hears
    only the stream, so the sentence goes there as well.
    """
    if turn.calls.speaker.voice and turn.said:
        await async_say(turn, sentence)
        return
    note_unspoken(turn, sentence)


def remove_from(turn: Turn, start: int) -> None:
    """Remove the entries that were added since the chat log had so many."""
    del turn.chat_log.content[start:]


def last_words(turn: Turn) -> str:
    """Return the last message if it is the assistant's."""
    last = turn.chat_log.content[-1]
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


def asked_again(answer: str) -> list[Message]:
    """Return the messages that ask the model once more after an answer that nobody has heard."""
    return [{"role": "assistant", "content": answer}, {"role": "user", "content": NO_CALL}]


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
    """Whose tools the instances of a turn are."""

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return no tools: each turn has its own."""
        return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=[])
