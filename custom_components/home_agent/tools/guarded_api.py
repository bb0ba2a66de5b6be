"""The chat log's way to the tools: an API instance that hands every call to the guard."""

from dataclasses import dataclass
from typing import override

from homeassistant.components.conversation import ConversationTraceEventType, async_conversation_trace_append
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm

from ..const import DOMAIN
from ..safety.redaction import redacted
from .calls.validation import serialize
from .handler import ToolHandler
from .turn_calls import TurnCalls


@dataclass
class GuardedAPIInstance(llm.APIInstance):
    """Tools of one turn. The chat log starts each call the moment it arrives."""

    handler: ToolHandler | None = None
    turn: TurnCalls | None = None

    @override
    async def async_call_tool(self, tool_input: llm.ToolInput) -> llm.ToolResult:
        """Run a call through the guard; never raises."""
        assert self.handler is not None
        assert self.turn is not None
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
        """Return no tools: a turn brings its own."""
        return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=[])


def own_instance(hass: HomeAssistant, handler: ToolHandler, turn: TurnCalls) -> GuardedAPIInstance:
    """Return the agent's own tools for one turn."""
    return GuardedAPIInstance(
        api=HomeAgentAPI(hass=hass, id=DOMAIN, name="Home Agent"),
        api_prompt="",
        llm_context=turn.llm_context,
        tools=list(turn.tools.values()),
        custom_serializer=serialize,
        handler=handler,
        turn=turn,
    )


def guard_instance(inner: llm.APIInstance, handler: ToolHandler, turn: TurnCalls) -> GuardedAPIInstance:
    """Return another API's instance with the guard in front of its tools."""
    return GuardedAPIInstance(
        api=inner.api,
        api_prompt=inner.api_prompt,
        llm_context=inner.llm_context,
        tools=inner.tools,
        custom_serializer=inner.custom_serializer,
        handler=handler,
        turn=turn,
    )
