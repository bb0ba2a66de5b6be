"""The native tools, as calls of other agents are read for them."""

from custom_components.home_agent.tools.ha_control import ControlTool
from custom_components.home_agent.tools.ha_query import QueryTool
from homeassistant.helpers import llm

TOOLS: dict[str, llm.Tool] = {"ha_control": ControlTool(), "ha_query": QueryTool()}
LIGHT = "light.kitchen_ceiling"
