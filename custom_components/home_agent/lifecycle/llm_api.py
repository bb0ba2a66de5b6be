"""Our tools as LLM APIs, one for each agent: other agents and MCP clients use them through its guard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, override

import probatio

from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.ulid import ulid_now

from ..const import DOMAIN
from ..knowledge.house import AgentView
from ..knowledge.speaker import async_speaker_at
from ..runtime import Agent
from ..safety.disclosure import Disclosure
from ..tools.base import HomeAgentTool, useful_tools
from ..tools.calls.schema import JsonSchema, json_schema, serialize, slots_of
from ..tools.handler import ToolHandler
from ..tools.turn_calls import TurnCalls
from . import async_agents, ids_of

NAME = "Home Agent"
PROMPT = (
    "The tools of Home Agent control and read this home. Some actions wait for a person's confirmation: "
    "the result says so, and nothing has happened then."
)

_REGISTERED: HassKey[dict[str, Callable[[], None]]] = HassKey(f"{DOMAIN}.llm_api")
"""How each API is removed, by its id."""


class SharedTool(llm.Tool):
    """One of our tools, used by another agent; each call passes the guard."""

    def __init__(
        self,
        tool: llm.Tool,
        handler: ToolHandler,
        disclosure: Disclosure,
        here: Mapping[str, Any] | None = None,
    ) -> None:
        """Show the tool as it is, with the parameters `here` where they depend on the home.

        `disclosure` is for a model that may be anywhere.
        """
        self._disclosure = disclosure
        self._handler = handler
        self.name = tool.name
        self.title = tool.title
        self.description = tool.description
        # A single text is taken in place of a list: MCP servers validate arguments against this before our
        # guard can repair them.
        schema = here or json_schema(tool)
        slots = {
            name: {"anyOf": [{"type": "string"}, slot]} if slot.get("type") == "array" else slot
            for name, slot in slots_of(schema).items()
        }
        self.parameters = JsonSchema({**schema, "properties": slots}, probatio.Schema(dict))
        self.annotations = tool.annotations
        self.integration = DOMAIN

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        """Run a call through the guard, on behalf of the person who asked the other agent."""
        call = llm.ToolInput(self.name, tool_input.tool_args, id=tool_input.id)
        turn = await async_one_call(hass, self._handler, llm_context)
        turn.disclosure.model = self._disclosure
        return await self._handler.async_execute(call, turn)


@dataclass
class SharedInstance(llm.APIInstance):
    """The offered tools, and those that are accepted when they are called, such as earlier ones."""

    accepted: Mapping[str, llm.Tool] = field(default_factory=dict)

    @override
    async def async_call_tool(self, tool_input: llm.ToolInput) -> llm.ToolResult:
        """Call a tool through the guard. Raises HomeAssistantError if there is no such tool."""
        accepted = self.accepted.get(tool_input.tool_name)
        tools = self.tools if accepted is None else [accepted]
        one = llm.APIInstance(self.api, self.api_prompt, self.llm_context, tools, self.custom_serializer)
        return await one.async_call_tool(tool_input)


@dataclass(slots=True, kw_only=True)
class HomeAgentLLMAPI(llm.API):
    """The tools of one agent, by its policy and its lists."""

    agent_id: str | None = None
    """The agent. None means the first agent that runs, if the first agent of the home has no lists."""

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return the tools. Raises HomeAssistantError while the agent is not running."""
        agents = async_agents(self.hass)
        first = self.hass.config_entries.async_get_entry(first_agent_id(self.hass) or "")
        if self.agent_id is not None:
            agents = [agent for agent in agents if agent.entry_id == self.agent_id]
        elif (
            first is not None and AgentView(self.hass, first.options).narrows
        ):  # another one has no such list
            agents = [agent for agent in agents if agent.entry_id == first.entry_id]
        if not agents:
            raise HomeAssistantError(translation_domain=DOMAIN, translation_key="no_entry_loaded")
        data = agents[0].runtime_data
        handler, policy = data.handler, data.data_policy
        house = await data.house.async_snapshot()
        data.tool_schemas.renew(house)
        offered = useful_tools(self.hass, house, handler.tools.values())
        shared = {
            name: SharedTool(
                tool,
                handler,
                policy.away,
                tool.parameters_in(self.hass, house) if isinstance(tool, HomeAgentTool) else None,
            )
            for name, tool in handler.tools.items()
        }
        return SharedInstance(
            api=self,
            api_prompt=PROMPT,
            llm_context=llm_context,
            tools=[shared[tool.name] for tool in offered],
            custom_serializer=serialize,
            accepted=shared,
        )


@callback
def async_register_own_api(hass: HomeAssistant, agent: Agent) -> None:
    """Register the API of an agent; that of the first one stays until the last agent is gone."""
    registered = hass.data.setdefault(_REGISTERED, {})
    if DOMAIN not in registered:
        registered[DOMAIN] = llm.async_register_api(hass, HomeAgentLLMAPI(hass=hass, id=DOMAIN, name=NAME))
    if agent.entry_id != first_agent_id(hass):
        api = HomeAgentLLMAPI(
            hass=hass, id=api_id(agent.entry_id), name=f"{NAME}: {agent.title}", agent_id=agent.entry_id
        )
        if api.id not in registered:
            registered[api.id] = llm.async_register_api(hass, api)

    @callback
    def leave() -> None:
        if (unregister := registered.pop(api_id(agent.entry_id), None)) is not None:
            unregister()
        others = [other for other in async_agents(hass) if ids_of(other)[-1] != ids_of(agent)[-1]]
        if not others and (unregister := registered.pop(DOMAIN, None)) is not None:
            unregister()

    agent.async_on_unload(leave)


def api_id(agent_id: str) -> str:
    """Return the id of the API of an agent that is not the first one."""
    return f"{DOMAIN}_{agent_id}"


@callback
def first_agent_id(hass: HomeAssistant) -> str | None:
    """Return the agent that the API `home_agent` is for: that of the oldest entry that is not disabled."""
    entries = hass.config_entries.async_entries(DOMAIN, include_disabled=False)
    return entries[0].entry_id if entries else None


async def async_one_call(hass: HomeAssistant, handler: ToolHandler, llm_context: llm.LLMContext) -> TurnCalls:
    """Return the permissions of a single call from outside our conversations."""
    return TurnCalls(
        speaker=await async_speaker_at(
            hass,
            llm_context.context or Context(),
            llm_context.language or hass.config.language,
            llm_context.device_id,
        ),
        sentence="",
        conversation_id=f"call-{ulid_now()}",
        tools=handler.tools,
        llm_context=llm_context,
        max_calls=1,
    )
