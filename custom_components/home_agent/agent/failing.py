"""Failures of a turn: what the log and events may contain, so that a person hears an error once."""

from homeassistant.components import conversation
from homeassistant.helpers.json import json_dumps

from ..const import LOGGER
from ..errors import HomeAgentError
from ..inference.quotes import without_quotes
from .closing import async_say
from .turn import Turn


def problem_of(turn: Turn, err: HomeAgentError) -> str:
    """Return what went wrong for the log and for events: no words of the conversation."""
    if not err.said:
        return str(err)
    LOGGER.debug("The server said: %s", err.said)
    sent = json_dumps(turn.fitted.messages) if turn.fitted else ""
    return without_quotes(err.said, sent, turn.calls.sentence)


async def async_say_error(turn: Turn, agent_id: str, sentence: str) -> None:
    """Add the sentence of an error to the chat log.

    The result says it too, which dialogs show and pipelines speak. A satellite that has begun to speak hears
    only the stream, so the sentence goes there as well.
    """
    if turn.voice and turn.said:
        await async_say(turn, agent_id, sentence)
        return
    content = conversation.AssistantContent(agent_id=agent_id, content=sentence)
    turn.chat_log.async_add_assistant_content_without_tools(content)
