"""The parts that an entry is made of, put together once at its setup."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util.hass_dict import HassKey

from .agent.afterthought import asking, asking_external
from .agent.phrases import async_phrase
from .agent.prompt import PromptBuilder
from .agent.questions import async_question
from .agent.recent import RecentConversations
from .agent.running import RunningTurns
from .agent.seeing import seeing
from .agent.summarizer import Summarizer
from .agent.tool_schemas import OwnTools
from .agent.turn import Figures
from .agent.warm import Warmer
from .channels.announcing import Announcer
from .channels.people import People
from .config.connection import endpoint, external_endpoint, fallback_endpoint
from .const import (
    CONF_ALLOW_SCRIPTS,
    CONF_AUTOMATION_TURNS,
    CONF_EMBEDDING_PROVIDER,
    CONF_EMIT_EVENTS,
    CONF_FALLBACK_MODEL,
    CONF_MEMORY,
    CONF_MEMORY_COLLECTION,
    CONF_MEMORY_EXTRACTION_LLM,
    CONF_MEMORY_MIN_IMPORTANCE,
    CONF_MODEL,
    CONF_NOTIFY_TARGETS,
    CONF_PROFILE,
    CONF_SANITIZER_KEYWORDS,
    CONF_TOOLS_DISABLED,
    CONF_TOOLS_NATIVE,
    CONF_TOOLS_TIMEOUT,
    CONF_VECTOR_COLLECTION,
    DEFAULTS,
    DOMAIN,
    EMBEDDING_NONE,
    EXTRACTION_EXTERNAL,
    EXTRACTION_LOCAL,
)
from .context.manager import ContextManager
from .context.providers.base import ProviderSetup
from .events import EventEmitter
from .history import ConversationHistoryManager
from .inference.client import ModelClient
from .inference.router import FALLBACK, Router
from .knowledge.documents import Source
from .knowledge.embedder import async_create_embedder, embedder_disclosure
from .knowledge.house import House
from .knowledge.house_knowledge import HouseKnowledge
from .knowledge.indexer import Indexer, Report, knowledge_collection
from .knowledge.library import Library
from .knowledge.search import KnowledgeSearch
from .knowledge.semantic import SemanticIndex
from .knowledge.stores import async_open_store
from .memory.extraction.extractor import Extractor
from .memory.learner.learner import Learner
from .memory.learner.observation_store import ObservationStore
from .memory.learner.setup import build_learner
from .memory.manager import MemoryManager
from .memory.memories import Memories
from .memory.profile import Profile, ProfileManager
from .memory.settings import MemorySettings
from .proactive.book import ProactiveStore
from .proactive.setup import Proactive
from .safety.audit_channel import AuditChannel
from .safety.confirmation import Confirmations, PendingAction
from .safety.confirmation_store import ConfirmationStore
from .safety.disclosure import DataPolicy
from .safety.journal import JournalStore
from .safety.policy import Policy
from .safety.sanitizer import Sanitizer
from .safety.throttle import Throttle
from .sessions import ConversationSessionManager
from .timers.timers import Timers, TimerStore
from .tools.activity import ActivityTool
from .tools.base import HomeAgentTool
from .tools.custom.loader import DATA_CUSTOM_TOOLS, CustomTools
from .tools.everyday import everyday_tools
from .tools.external_llm import ExternalModel, external_model, external_tools
from .tools.ha_control import ControlTool
from .tools.ha_query import QueryTool
from .tools.handler import ToolHandler
from .tools.knowledge_tools import GetEntitiesTool, RetrieveKnowledgeTool
from .tools.memory_tools import memory_tools
from .tools.outgoing import Outgoing
from .tools.profile_tools import profile_tools
from .tools.quality import Quality, Verdict
from .tools.web_search import search_tools

type HomeAgentConfigEntry = ConfigEntry[HomeAgentData]


class EntryStore(Protocol):
    """Keeps something for all entries in one file."""

    async def async_load(self) -> None:
        """Read the file."""
        ...

    async def async_flush(self) -> None:
        """Write what has not been written yet."""
        ...

    async def async_forget_set_aside(self) -> None:
        """Delete files that could not be read, for people who want everything gone."""
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
    profiles: ProfileManager
    observations: ObservationStore
    proactive: ProactiveStore
    timers: TimerStore

    @property
    def stores(self) -> tuple[EntryStore, ...]:
        """Return what is read at the start and written at the end."""
        return (
            self.history,
            self.sessions,
            self.journals,
            self.confirmations,
            self.memories,
            self.profiles,
            self.observations,
            self.proactive,
            self.timers,
        )


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
    data_policy: DataPolicy
    """What each model may be told."""
    confirmations: Confirmations
    throttle: Throttle
    context: ContextManager
    prompt: PromptBuilder
    tool_schemas: OwnTools
    warmer: Warmer
    semantic: SemanticIndex
    library: Library
    indexer: Indexer
    profile: Profile
    timers: Timers
    announcer: Announcer
    memories: Memories
    """What is remembered; used only where the options want it."""
    extractor: Extractor
    learner: Learner | None
    """Where the options want one."""
    proactive: Proactive
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
    own_tools: Sequence[HomeAgentTool] = ()
    """The tools that are not the household's own."""

    @callback
    def set_custom_tools(self, tools: CustomTools) -> None:
        """Offer the tools of the YAML beside our own; turns under way go on with those they have."""
        self.handler.set_tools([*self.own_tools, *tools.make(self.settings)])
        self.tool_schemas.write(self.handler.tools.values())

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
    hass: HomeAssistant,
    settings: Mapping[str, Any],
    search: KnowledgeSearch,
    memories: Memories,
    profile: Profile,
    external: ExternalModel | None,
    everyday: Iterable[HomeAgentTool] = (),
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
        *(profile_tools(profile) if settings[CONF_PROFILE] else ()),
        *(
            external_tools(
                external,
                Outgoing(memories, profile, Sanitizer(hass, settings[CONF_SANITIZER_KEYWORDS])),
                settings,
            )
            if external
            else ()
        ),
        *search_tools(hass, settings, memories, profile),
        *everyday,
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
    data_policy = DataPolicy(settings)
    external = external_model(session, external_endpoint(hass, settings), data_policy, settings)
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
    turns = RunningTurns()
    memories, profile = shared.memories.of(entry.entry_id), shared.profiles.of(entry.entry_id)
    embedded = embedder_disclosure(hass, settings, data_policy)
    people = semantic if embedded.people else None
    memories.configure(MemorySettings.from_options(settings), people)
    profile.configure(people, f"{settings[CONF_MEMORY_COLLECTION]}_profile")
    personal = profile if settings[CONF_PROFILE] else None
    search = KnowledgeSearch(hass, shared.knowledge, semantic, collection, personal)
    timers, members = shared.timers.of(entry.entry_id), People(hass, settings[CONF_NOTIFY_TARGETS])
    announcer = Announcer(hass, members)
    everyday = everyday_tools(timers, announcer.can_tell, members, seeing(router, data_policy, settings))
    own_tools = native_tools(hass, settings, search, memories, profile, external, everyday)
    handler = ToolHandler(
        hass,
        shared.house,
        [*own_tools, *hass.data[DATA_CUSTOM_TOOLS].make(settings)],
        timeout=settings[CONF_TOOLS_TIMEOUT],
        emitter=emitter,
        journal=journal,
        policy=policy,
        confirmations=confirmations,
        gated=settings[CONF_ALLOW_SCRIPTS],
        is_receiver=members.receives,
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
            profile=profile,
            data_policy=data_policy,
        ),
    )
    prompt = PromptBuilder(hass, settings)
    learned_by = external if settings[CONF_MEMORY_EXTRACTION_LLM] == EXTRACTION_EXTERNAL else None
    schemas = OwnTools(hass, handler.tools.values())
    learner = build_learner(
        hass,
        settings,
        shared.observations.of(entry.entry_id),
        memories,
        partial(async_phrase, hass, hass.config.language),
    )
    return HomeAgentData(
        settings=settings,
        shared=shared,
        emitter=emitter,
        router=router,
        handler=handler,
        policy=policy,
        data_policy=data_policy,
        confirmations=confirmations,
        throttle=Throttle(settings[CONF_AUTOMATION_TURNS]),
        context=context,
        prompt=prompt,
        tool_schemas=schemas,
        own_tools=own_tools,
        entry_id=entry.entry_id,
        semantic=semantic,
        library=library,
        memories=memories,
        profile=profile,
        timers=timers,
        announcer=announcer,
        turns=turns,
        extractor=Extractor(
            hass,
            memories,
            ask=asking_external(learned_by) if learned_by else asking(router, data_policy, settings),
            model=EXTRACTION_EXTERNAL if learned_by else EXTRACTION_LOCAL,
            is_busy=lambda: turns.busy,
            emitter=emitter,
            least_importance=settings[CONF_MEMORY_MIN_IMPORTANCE],
        ),
        summarizer=Summarizer(
            hass,
            entry.entry_id,
            history=shared.history,
            router=router,
            policy=data_policy,
            settings=settings,
            is_busy=lambda: turns.busy,
        ),
        learner=learner,
        proactive=Proactive(
            hass,
            entry.entry_id,
            settings,
            book=shared.proactive.of(entry.entry_id),
            guard=handler,
            emitter=emitter,
            house=shared.house,
            habits=lambda: learner.habits if learner else (),
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
            left_out=() if embedded.states else (Source.SUMMARY,),
        ),
        warmer=Warmer(hass, settings, router, context, prompt, schemas, data_policy),
    )
