"""The parts that an entry is made of, put together once at its setup."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util.hass_dict import HassKey

from .agent.memory_extraction import asking
from .agent.prompt import PromptBuilder
from .agent.questions import async_question
from .agent.recent import RecentConversations
from .agent.running import RunningTurns
from .agent.summaries import Summarizer
from .agent.tool_schemas import OwnTools
from .agent.turn import Figures
from .agent.warm import Warmer
from .config.connection import endpoint, fallback_endpoint
from .const import (
    CONF_ALLOW_SCRIPTS,
    CONF_AUTOMATION_TURNS,
    CONF_EMBEDDING_PROVIDER,
    CONF_EMIT_EVENTS,
    CONF_FALLBACK_MODEL,
    CONF_MEMORY,
    CONF_MEMORY_MIN_IMPORTANCE,
    CONF_MODEL,
    CONF_TOOLS_DISABLED,
    CONF_TOOLS_NATIVE,
    CONF_TOOLS_TIMEOUT,
    CONF_VECTOR_COLLECTION,
    DEFAULTS,
    DOMAIN,
    EMBEDDING_NONE,
)
from .context.manager import ContextManager
from .context.providers.base import ProviderSetup
from .events import EventEmitter
from .history import ConversationHistoryManager
from .inference.client import ModelClient
from .inference.router import FALLBACK, Router
from .knowledge.embedder import async_create_embedder
from .knowledge.house import House
from .knowledge.house_knowledge import HouseKnowledge
from .knowledge.indexer import Indexer, Report, knowledge_collection
from .knowledge.library import Library
from .knowledge.search import KnowledgeSearch
from .knowledge.semantic import SemanticIndex
from .knowledge.stores import async_open_store
from .memory.extraction.extractor import Extractor
from .memory.manager import MemoryManager
from .memory.memories import Memories
from .memory.settings import MemorySettings
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
from .tools.knowledge_tools import GetEntitiesTool, RetrieveKnowledgeTool
from .tools.memory_tools import memory_tools
from .tools.quality import Quality, Verdict

type HomeAgentConfigEntry = ConfigEntry[HomeAgentData]


class EntryStore(Protocol):
    """Keeps something for all entries in one file."""

    async def async_load(self) -> None:
        """Read the file."""
        ...

    async def async_flush(self) -> None:
        """Write what has not been written yet."""
        ...


@dataclass(slots=True, kw_only=True)
class SharedData:
    """What all entries share, so that no two of them write one file."""

    house: House
    knowledge: HouseKnowledge
    history: ConversationHistoryManager
    sessions: ConversationSessionManager
    journals: JournalStore
    confirmations: ConfirmationStore
    memories: MemoryManager

    @property
    def stores(self) -> tuple[EntryStore, ...]:
        """Return what is read at the start and written at the end."""
        return self.history, self.sessions, self.journals, self.confirmations, self.memories


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
    tool_schemas: OwnTools
    warmer: Warmer
    semantic: SemanticIndex
    library: Library
    indexer: Indexer
    memories: Memories
    """What is remembered; used only where the options want it."""
    extractor: Extractor
    summarizer: Summarizer
    turns: RunningTurns
    memory: RecentConversations = field(default_factory=RecentConversations)
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
        # The answer need not wait for the sensors.
        hass.loop.call_soon(async_dispatcher_send, hass, turn_signal(self.entry_id))

    async def async_sync(self) -> Report:
        """Read the house and its knowledge anew and bring the index in step; return what that did."""
        self.shared.house.async_invalidate()
        await self.shared.knowledge.async_refresh()
        return await self.indexer.async_sync()

    async def async_prepare(self) -> None:
        """Build the indexes, then let the model server read the prompt ahead."""
        await self.handler.async_prepare()
        await self.warmer.async_warm()


def native_tools(
    settings: Mapping[str, Any], search: KnowledgeSearch, memories: Memories
) -> list[HomeAgentTool]:
    """Return the agent's own tools as the options want them."""
    if not settings[CONF_TOOLS_NATIVE]:
        return []
    tools: tuple[HomeAgentTool, ...] = (
        ControlTool(gated=settings[CONF_ALLOW_SCRIPTS]),
        QueryTool(),
        ActivityTool(),
        RetrieveKnowledgeTool(search),
        GetEntitiesTool(),
        *(memory_tools(memories) if settings[CONF_MEMORY] else ()),
    )
    return [tool for tool in tools if tool.name not in settings[CONF_TOOLS_DISABLED]]


def turn_signal(entry_id: str) -> str:
    """Return the signal that a turn of this entry has ended."""
    return f"{DOMAIN}_turn_{entry_id}"


def index_signal(entry_id: str) -> str:
    """Return the signal that the figures of this entry's index have changed."""
    return f"{DOMAIN}_index_{entry_id}"


def build_index(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, settings: Mapping[str, Any], emitter: EventEmitter
) -> SemanticIndex:
    """Return the index of meanings; without an embedder it never finds anything and loads nothing."""
    if settings[CONF_EMBEDDING_PROVIDER] == EMBEDDING_NONE:
        return SemanticIndex(hass, entry_id=entry.entry_id, title=entry.title, emitter=emitter)
    return SemanticIndex(
        hass,
        entry_id=entry.entry_id,
        title=entry.title,
        emitter=emitter,
        open_store=partial(async_open_store, hass, entry.entry_id, settings),
        open_embedder=partial(async_create_embedder, hass, settings),
    )


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
    semantic = build_index(hass, entry, settings, emitter)
    collection = knowledge_collection(settings[CONF_VECTOR_COLLECTION])
    search = KnowledgeSearch(hass, shared.knowledge, semantic, collection)
    turns = RunningTurns()
    memories = shared.memories.of(entry.entry_id)
    memories.configure(MemorySettings.from_options(settings), semantic)
    handler = ToolHandler(
        hass,
        shared.house,
        native_tools(settings, search, memories),
        timeout=settings[CONF_TOOLS_TIMEOUT],
        emitter=emitter,
        journal=journal,
        policy=policy,
        confirmations=confirmations,
        gated=settings[CONF_ALLOW_SCRIPTS],
    )
    library = Library(hass, entry.entry_id, semantic)
    context = ContextManager(
        shared.house,
        ProviderSetup(
            hass=hass,
            settings=settings,
            entry_id=entry.entry_id,
            title=entry.title,
            semantic=semantic,
            library=library,
            memories=memories,
        ),
    )
    prompt = PromptBuilder(hass, settings)
    schemas = OwnTools(handler.tools.values())
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
        semantic=semantic,
        library=library,
        memories=memories,
        turns=turns,
        extractor=Extractor(
            hass,
            memories,
            ask=asking(router, settings),
            is_busy=lambda: turns.busy,
            emitter=emitter,
            least_importance=settings[CONF_MEMORY_MIN_IMPORTANCE],
        ),
        summarizer=Summarizer(
            hass,
            entry.entry_id,
            history=shared.history,
            router=router,
            settings=settings,
            is_busy=lambda: turns.busy,
        ),
        indexer=Indexer(
            hass,
            entry_id=entry.entry_id,
            house=shared.house,
            knowledge=shared.knowledge,
            semantic=semantic,
            collection=settings[CONF_VECTOR_COLLECTION],
            emitter=emitter,
            told=partial(async_dispatcher_send, hass, index_signal(entry.entry_id)),
        ),
        warmer=Warmer(hass, settings, router, context, prompt, schemas),
    )
