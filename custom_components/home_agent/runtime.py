"""The parts that an entry is made of, put together once at its setup."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util.hass_dict import HassKey

from .agent.prompt import PromptBuilder
from .agent.questions import async_question
from .agent.recent import RecentConversations
from .agent.running import RunningTurns
from .agent.tool_schemas import function_tools
from .agent.turn import Figures
from .agent.warm import Warmer
from .config.connection import endpoint, fallback_endpoint
from .const import (
    CONF_ALLOW_SCRIPTS,
    CONF_AUTOMATION_TURNS,
    CONF_EMIT_EVENTS,
    CONF_FALLBACK_MODEL,
    CONF_MODEL,
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
from .inference.router import FALLBACK, Router
from .knowledge.house import House
from .safety.audit_channel import AuditChannel
from .safety.confirmation import Confirmations, PendingAction
from .safety.confirmation_store import ConfirmationStore
from .safety.journal import JournalStore
from .safety.policy import Policy
from .safety.throttle import Throttle
from .sessions import ConversationSessionManager
from .tools.activity import ActivityTool
from .tools.base import HomeAgentTool
from .tools.ha_control import ControlTool
from .tools.ha_query import QueryTool
from .tools.handler import ToolHandler
from .tools.quality import Quality, Verdict

type HomeAgentConfigEntry = ConfigEntry[HomeAgentData]


@dataclass(slots=True, kw_only=True)
class SharedData:
    """What all entries share, so that no two of them write one file."""

    house: House
    history: ConversationHistoryManager
    sessions: ConversationSessionManager
    journals: JournalStore
    confirmations: ConfirmationStore


DATA_SHARED: HassKey[SharedData] = HassKey(DOMAIN)


@dataclass(slots=True, kw_only=True)
class HomeAgentData:
    """The parts of one entry."""

    settings: Mapping[str, Any]
    shared: SharedData
    emitter: EventEmitter
    router: Router
    handler: ToolHandler
    policy: Policy
    confirmations: Confirmations
    throttle: Throttle
    context: ContextManager
    prompt: PromptBuilder
    tool_schemas: list[dict[str, Any]]
    warmer: Warmer
    memory: RecentConversations = field(default_factory=RecentConversations)
    turns: RunningTurns = field(default_factory=RunningTurns)
    thoughtful: set[str] = field(default_factory=set)
    """Which of the router's models begin their replies inside a thought, as far as they showed it."""
    figures: Figures | None = None
    """What the last turn cost."""
    quality: Quality = field(default_factory=Quality)
    """How well the calls fitted since the entry was set up."""
    entry_id: str = ""

    @callback
    def note_turn(self, hass: HomeAssistant, figures: Figures, verdicts: Iterable[Verdict]) -> None:
        """Count a turn, and tell the sensors."""
        fallback = self.router.last_used == FALLBACK
        model = self.settings.get(CONF_FALLBACK_MODEL) if fallback else self.settings[CONF_MODEL]
        figures.total_ms = figures.elapsed_ms
        self.figures = figures
        self.quality.add(str(model), verdicts)
        async_dispatcher_send(hass, turn_signal(self.entry_id))

    async def async_prepare(self) -> None:
        """Build the indexes, then let the model server read the prompt ahead."""
        await self.handler.async_prepare()
        await self.warmer.async_warm()


def native_tools(settings: Mapping[str, Any]) -> list[HomeAgentTool]:
    """Return the agent's own tools as the options want them."""
    if not settings[CONF_TOOLS_NATIVE]:
        return []
    tools = (ControlTool(gated=settings[CONF_ALLOW_SCRIPTS]), QueryTool(), ActivityTool())
    return [tool for tool in tools if tool.name not in settings[CONF_TOOLS_DISABLED]]


def turn_signal(entry_id: str) -> str:
    """Return the signal that a turn of this entry has ended."""
    return f"{DOMAIN}_turn_{entry_id}"


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
    policy = Policy(hass, settings)
    journal = shared.journals.of(entry.entry_id)

    async def run_approved(action: PendingAction) -> None:
        await handler.async_run_approved(action)

    confirmations = Confirmations(
        hass,
        entry.entry_id,
        settings,
        emitter=emitter,
        store=shared.confirmations,
        describe=async_question,
        run=run_approved,
    )
    confirmations.channels.append(AuditChannel(journal))
    handler = ToolHandler(
        hass,
        shared.house,
        native_tools(settings),
        timeout=settings[CONF_TOOLS_TIMEOUT],
        emitter=emitter,
        journal=journal,
        policy=policy,
        confirmations=confirmations,
        gated=settings[CONF_ALLOW_SCRIPTS],
    )
    context = ContextManager(hass, shared.house, settings, emitter)
    prompt = PromptBuilder(hass, settings)
    schemas = function_tools(handler.tools.values())
    return HomeAgentData(
        settings=settings,
        shared=shared,
        emitter=emitter,
        router=router,
        handler=handler,
        policy=policy,
        confirmations=confirmations,
        throttle=Throttle(settings[CONF_AUTOMATION_TURNS]),
        context=context,
        prompt=prompt,
        tool_schemas=schemas,
        entry_id=entry.entry_id,
        warmer=Warmer(hass, settings, router, context, prompt, schemas),
    )
