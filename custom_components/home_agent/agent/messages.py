"""The chat log and the stored history as messages of a request, and back."""

from collections.abc import Sequence
from typing import Any

from homeassistant.components import conversation
from homeassistant.helpers.json import json_dumps

CORRECTION = (
    "You said that something was done, but no tool call has done it. If it was asked for, call the tool now. "
    "Otherwise say in one short sentence, in the language used so far, what has not been done and why."
)


def from_content(content: conversation.Content) -> dict[str, Any] | None:
    """Return one entry of the chat log as a chat message; None for what the model need not see."""
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


def _from_assistant(content: conversation.AssistantContent) -> dict[str, Any] | None:
    """Return what the assistant said or called."""
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


def from_contents(contents: Sequence[conversation.Content]) -> list[dict[str, Any]]:
    """Return entries of the chat log as chat messages."""
    return [message for content in contents if (message := from_content(content)) is not None]


def correction(claim: str) -> list[dict[str, Any]]:
    """Return what asks a model to make a claim true or to take it back; nothing where there is none."""
    if not claim:
        return []
    return [{"role": "assistant", "content": claim}, {"role": "user", "content": CORRECTION}]
