"""The chat log of a turn: the only module that writes to it, and what requests and histories read of it."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from homeassistant.components import conversation
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps

from ..context.fitting import Message
from ..tools.guarded_api import own_instance
from .turn import Turn

type LogDelta = conversation.AssistantContentDeltaDict

CORRECTION = (
    "You said that something was done, but no tool call has done it. If it was asked for, call the tool now. "
    "Otherwise say in one short sentence, in the language used so far, what has not been done and why."
)


def note_given(turn: Turn) -> None:
    """Tell Home Assistant that what the model is given beside the sentence comes from here."""
    turn.chat_log.llm_input_provided_index = turn.first + 1


def replace_sentence(turn: Turn, text: str) -> None:
    """Let the chat log hold another text in the place of what the person said."""
    turn.chat_log.content[turn.first] = conversation.UserContent(content=text)


def show_request(turn: Turn, system: str, extra: str | None) -> None:
    """Give the chat log the tools of the turn, and show the prompt to traces and subscribers.

    Not `async_provide_llm_data`: since 2026.11 it keeps tools and prompt of the first turn, and these tools
    belong to this turn.
    """
    chat_log = turn.chat_log
    chat_log.llm_api = own_instance(turn.hass, turn.data.handler, turn.calls)
    chat_log.extra_system_prompt = extra
    chat_log.content[0] = conversation.SystemContent(content=system)
    chat_log.async_trace({"messages": list(chat_log.content), "tools": chat_log.llm_api.tools})


def give_tools(chat_log: conversation.ChatLog, instance: llm.APIInstance) -> None:
    """Let the calls of the model go to another instance of an API."""
    chat_log.llm_api = instance


async def async_add_answer(turn: Turn, deltas: AsyncGenerator[LogDelta]) -> None:
    """Let one answer of the model into the chat log, which runs its tools as they come."""
    async for _content in turn.chat_log.async_add_delta_content_stream(turn.agent_id, deltas):
        pass


async def async_say(turn: Turn, text: str) -> None:
    """Add a sentence of our own; who listens to the stream hears it too, apart from what was said before."""
    lead = " " if turn.said else ""

    async def delta() -> AsyncIterator[LogDelta]:
        yield {"role": "assistant", "content": f"{lead}{text}"}

    async for _content in turn.chat_log.async_add_delta_content_stream(turn.agent_id, delta()):
        pass
    if lead:
        said = conversation.AssistantContent(agent_id=turn.agent_id, content=text)
        turn.chat_log.content[-1] = said


async def async_say_error(turn: Turn, sentence: str) -> None:
    """Add the sentence of an error.

    The result says it too, which dialogs show and pipelines speak. A satellite that has begun to speak hears
    only the stream, so the sentence goes there as well.
    """
    if turn.calls.speaker.voice and turn.said:
        await async_say(turn, sentence)
        return
    content = conversation.AssistantContent(agent_id=turn.agent_id, content=sentence)
    turn.chat_log.async_add_assistant_content_without_tools(content)


def remove_from(turn: Turn, start: int) -> None:
    """Take out what was added since the chat log had so many entries."""
    del turn.chat_log.content[start:]


def last_words(turn: Turn) -> str:
    """Return what was said last, if the assistant said it."""
    last = turn.chat_log.content[-1]
    return (last.content or "") if isinstance(last, conversation.AssistantContent) else ""


def messages_of(turn: Turn) -> list[Message]:
    """Return the messages of a turn, from the sentence on."""
    return from_contents(turn.chat_log.content[turn.first :])


def from_contents(contents: Sequence[conversation.Content]) -> list[Message]:
    """Return entries of the chat log as chat messages, without what the model need not see."""
    return [message for content in contents if (message := _from_content(content)) is not None]


def _from_content(content: conversation.Content) -> Message | None:
    match content:
        case conversation.ToolResultContent():
            return {
                "role": "tool",
                "tool_call_id": content.tool_call_id,
                "content": json_dumps(content.result.data),
            }
        case conversation.AssistantContent():
            return _from_assistant(content)
        case conversation.UserContent():
            return {"role": "user", "content": content.content}
    return None


def _from_assistant(content: conversation.AssistantContent) -> Message | None:
    message: dict[str, Any] = {"role": "assistant", "content": content.content or ""}
    if content.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": json_dumps(call.tool_args)},
            }
            for call in content.tool_calls
        ]
    elif not message["content"]:
        return None
    return message


def correction(claim: str) -> list[Message]:
    """Return what asks a model to make a claim true or to take it back; nothing where there is none."""
    if not claim:
        return []
    return [{"role": "assistant", "content": claim}, {"role": "user", "content": CORRECTION}]
