"""All native tools by name.

Each tool's class carries the facts about the tool. A check that depends on what a tool is finds the class
here by the name in a call, also if the options leave the tool out. No other module lists these names.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ..safety.rules import Effect, RuleSet
from .activity import ActivityTool
from .automating.writing import AutomationTool
from .base import HomeAgentTool
from .energy import EnergyTool
from .everyday.calendar_tool import CalendarTool
from .everyday.camera_tool import CameraTool
from .everyday.media_tool import MediaTool
from .everyday.notify_tool import NotifyTool
from .everyday.timer_tool import TimerTool
from .everyday.todo_tool import TodoTool
from .everyday.weather_tool import WeatherTool
from .ha_control import ControlTool
from .ha_query import QueryTool
from .knowledge_tools import GetEntitiesTool, RetrieveKnowledgeTool
from .outside.external_llm import ExternalModelTool
from .outside.web_search import SearchTool
from .remembering import EARLIER, EarlierMemoryTool, MemoryTool


def _by_name(*tools: type[HomeAgentTool]) -> dict[str, type[HomeAgentTool]]:
    return {tool.name: tool for tool in tools}


NATIVE: Final[Mapping[str, type[HomeAgentTool]]] = {
    **_by_name(ControlTool, QueryTool, ActivityTool, RetrieveKnowledgeTool, GetEntitiesTool, MemoryTool),
    **dict.fromkeys(EARLIER, EarlierMemoryTool),
    **_by_name(ExternalModelTool, SearchTool, TodoTool, CalendarTool, WeatherTool, TimerTool, NotifyTool),
    **_by_name(CameraTool, MediaTool, EnergyTool, AutomationTool),
}
"""All native tools by name; no other tool may have one of these names."""


def hide_blocked(tools: Iterable[HomeAgentTool], blocked: Iterable[str]) -> None:
    """Do not offer tools of a domain that the rules block, because every call would be refused."""
    rules = RuleSet(blocked)
    for tool in tools:
        if tool.domain and rules.fits(Effect(domain=tool.domain, service="")):
            tool.offered = False
