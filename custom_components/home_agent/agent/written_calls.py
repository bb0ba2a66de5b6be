"""Calls that a model writes into its answer instead of making them."""

from collections.abc import Mapping
from functools import partial

from homeassistant.helpers import llm

from ..inference.dialects.base import new_call_id
from ..safety.redaction import UNPARSED
from ..tools.calls.arguments import are_arguments, tool_of
from ..tools.calls.bounds import bounded
from ..tools.calls.names import TEXT_NAMES, is_known
from .speech import MAX_CALLS, SpeechFilter


def filter_for(tools: Mapping[str, llm.Tool], *, voice: bool, starts_thinking: bool = False) -> SpeechFilter:
    """Return a filter that knows the calls of these tools, also by other agents' names for them."""
    return SpeechFilter(
        voice=voice,
        tool_names=(*tools, *TEXT_NAMES),
        are_arguments=partial(are_arguments, tools=tools),
        starts_thinking=starts_thinking,
    )


def written_calls(speech: SpeechFilter, tools: Mapping[str, llm.Tool]) -> list[llm.ToolInput]:
    """Return the calls that a filter has taken out of a whole reply, as if the model had made them."""
    is_tool = partial(is_known, tools=tools)
    calls = [call for text in speech.calls for call in text.read(is_tool)] if tools else []
    return [
        bounded(
            llm.ToolInput(
                id=new_call_id(),
                tool_name=call.name or tool_of(call.args or {}, tools) or "",
                tool_args={UNPARSED: ""} if call.args is None else call.args,
            )
        )
        for call in calls[:MAX_CALLS]
    ]
