"""The parts that an entry is made of, put together once at its setup."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.util.hass_dict import HassKey

from .agent.prompt import PromptBuilder
from .agent.recent import RecentConversations
from .agent.running import RunningTurns
from .agent.tool_schemas import function_tools
from .agent.warm import Warmer
from .config.connection import endpoint, fallback_endpoint
from .const import (
    CONF_EMIT_EVENTS,
    CONF_TOOLS_DISABLED,
    CONF_TOOLS_NATIVE,
    CONF_TOOLS_TIMEOUT,
    DEFAULTS,
    DOMAIN,
)
from .context.manager import ContextManager
from .events import EventEmitter
from .history import ConversationHistoryManager
from .inference.client import ModelClient
from .inference.router import Router
from .knowledge.house import House
from .sessions import ConversationSessionManager
from .tools.base import HomeAgentTool
from .tools.ha_control import ControlTool
from .tools.ha_query import QueryTool
from .tools.handler import ToolHandler

type HomeAgentConfigEntry = ConfigEntry[HomeAgentData]

NATIVE_TOOLS: tuple[type[HomeAgentTool], ...] = (ControlTool, QueryTool)


@dataclass(slots=True, kw_only=True)
class SharedData:
    """What all entries share, so that no two of them write one file."""

    house: House
    history: ConversationHistoryManager
    sessions: ConversationSessionManager


DATA_SHARED: HassKey[SharedData] = HassKey(DOMAIN)


@dataclass(slots=True, kw_only=True)
class HomeAgentData:
    """The parts of one entry."""

    settings: Mapping[str, Any]
    shared: SharedData
    emitter: EventEmitter
    router: Router
    handler: ToolHandler
    context: ContextManager
    prompt: PromptBuilder
    tool_schemas: list[dict[str, Any]]
    warmer: Warmer
    memory: RecentConversations = field(default_factory=RecentConversations)
    turns: RunningTurns = field(default_factory=RunningTurns)
    thoughtful: set[str] = field(default_factory=set)
    """Which of the router's models begin their replies inside a thought, as far as they showed it."""

    async def async_prepare(self) -> None:
        """Build the indexes, then let the model server read the prompt ahead."""
        await self.handler.async_prepare()
        await self.warmer.async_warm()


def build(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> HomeAgentData:
    """Put the parts of an entry together; nothing is asked or read yet."""
    settings = MappingProxyType({**DEFAULTS, **entry.data, **entry.options})
    shared = hass.data[DATA_SHARED]
    emitter = EventEmitter(hass, bool(settings[CONF_EMIT_EVENTS]))
    session = async_get_clientsession(hass)
    fallback = fallback_endpoint(hass, settings)
    router = Router(
        ModelClient(session, endpoint(hass, settings)), ModelClient(session, fallback) if fallback else None
    )
    tools = [
        tool()
        for tool in NATIVE_TOOLS
        if settings[CONF_TOOLS_NATIVE] and tool.name not in settings[CONF_TOOLS_DISABLED]
    ]
    handler = ToolHandler(hass, shared.house, tools, timeout=settings[CONF_TOOLS_TIMEOUT], emitter=emitter)
    context = ContextManager(hass, shared.house, settings, emitter)
    prompt = PromptBuilder(hass, settings)
    schemas = function_tools(handler.tools.values())
    return HomeAgentData(
        settings=settings,
        shared=shared,
        emitter=emitter,
        router=router,
        handler=handler,
        context=context,
        prompt=prompt,
        tool_schemas=schemas,
        warmer=Warmer(hass, settings, router, context, prompt, schemas),
    )
