"""Puts the parts of an entry together, once at its setup."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.dispatcher import async_dispatcher_send

from .agent.afterthought import asking, asking_external
from .agent.phrases import async_phrase
from .agent.prompt import PromptBuilder
from .agent.questions import async_question
from .agent.running import RunningTurns
from .agent.seeing import seeing
from .agent.summarizer import Summarizer
from .agent.tool_schemas import OwnTools
from .agent.warm import Warmer
from .channels.announcing import Announcer
from .channels.people import People
from .connection import endpoint, external_endpoint, fallback_endpoint
from .const import (
    CONF_ALLOW_SCRIPTS,
    CONF_AUTOMATION_TURNS,
    CONF_CONVERSATION_LOG,
    CONF_EMBEDDING_PROVIDER,
    CONF_EMIT_EVENTS,
    CONF_MEMORY,
    CONF_MEMORY_COLLECTION,
    CONF_MEMORY_EXTRACTION_LLM,
    CONF_MEMORY_MIN_IMPORTANCE,
    CONF_NOTIFY_TARGETS,
    CONF_PROFILE,
    CONF_TOOLS_DISABLED,
    CONF_TOOLS_NATIVE,
    CONF_TOOLS_TIMEOUT,
    CONF_VECTOR_COLLECTION,
    DEFAULTS,
    EMBEDDING_NONE,
    EXTRACTION_EXTERNAL,
    EXTRACTION_LOCAL,
)
from .context.manager import ContextManager
from .context.providers.base import ProviderSetup
from .conversation_log import ConversationLog
from .events import EventEmitter
from .inference.client import ModelClient
from .inference.router import Router
from .knowledge.documents import Source
from .knowledge.embedder import async_create_embedder, embedder_disclosure
from .knowledge.household_texts import HouseholdTexts
from .knowledge.indexer import Indexer, knowledge_collection
from .knowledge.library import Library
from .knowledge.search import KnowledgeSearch
from .knowledge.semantic import SemanticIndex
from .knowledge.stores import async_open_store
from .memory.extraction.extractor import Extractor
from .memory.memories import Memories
from .memory.profile import Profile
from .memory.settings import MemorySettings, profile_collection
from .parts import asks_external, async_part, learns, searches
from .runtime import DATA_SHARED, HomeAgentConfigEntry, HomeAgentData, index_signal
from .safety.audit_channel import AuditChannel
from .safety.confirmation import Confirmations, PendingAction
from .safety.disclosure import DataPolicy
from .safety.journal import Journal
from .safety.policy import Policy
from .safety.throttle import Throttle
from .tools.activity import ActivityTool
from .tools.base import HomeAgentTool
from .tools.custom.recipes import DATA_CUSTOM_TOOLS
from .tools.everyday import everyday_tools
from .tools.ha_control import ControlTool
from .tools.ha_query import QueryTool
from .tools.handler import ToolHandler
from .tools.knowledge_tools import GetEntitiesTool, RetrieveKnowledgeTool
from .tools.memory_tools import memory_tools
from .tools.outgoing import Outgoing
from .tools.profile_tools import profile_tools

if TYPE_CHECKING:
    from .memory.learner.learner import Learner
    from .proactive.setup import Proactive
    from .tools.external_llm import ExternalModel


def settings_of(entry: HomeAgentConfigEntry) -> Mapping[str, Any]:
    """Return what an entry is to be, with the defaults where nothing was said."""
    return MappingProxyType({**DEFAULTS, **entry.data, **entry.options})


def build(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> HomeAgentData:
    """Put the parts of an entry together; nothing is asked or read yet.

    Parts that options choose are loaded by then, see parts.py; here they are only looked up.
    """
    settings = settings_of(entry)
    shared = hass.data[DATA_SHARED]
    emitter = EventEmitter(hass, bool(settings[CONF_EMIT_EVENTS]))
    router = _router(hass, settings)
    policy = Policy(hass, settings)
    data_policy = DataPolicy(settings)
    external = _external(hass, settings, data_policy)
    journal = shared.journals.of(entry.entry_id)

    async def run_approved(action: PendingAction) -> None:
        await handler.async_run_approved(action)

    confirmations = _confirmations(hass, entry.entry_id, settings, emitter, journal, run_approved)
    semantic = build_index(hass, entry, settings, emitter)
    collection = knowledge_collection(settings[CONF_VECTOR_COLLECTION])
    turns = RunningTurns()
    memories, profile = shared.memories.of(entry.entry_id), shared.profiles.of(entry.entry_id)
    embedded = embedder_disclosure(hass, settings, data_policy)
    people = semantic if embedded.people else None
    memories.configure(MemorySettings.from_options(settings), people)
    profile.configure(people, profile_collection(settings[CONF_MEMORY_COLLECTION]))
    personal = profile if settings[CONF_PROFILE] else None
    search = KnowledgeSearch(hass, shared.knowledge, semantic, collection, personal)
    library = Library(hass, entry.entry_id, semantic)
    texts = HouseholdTexts(
        hass, settings, entry_id=entry.entry_id, title=entry.title, semantic=semantic, library=library
    )
    timers, members = shared.timers.of(entry.entry_id), People(hass, settings[CONF_NOTIFY_TARGETS])
    announcer = Announcer(hass, members, emitter)
    outgoing = Outgoing.of(hass, settings, memories, profile)
    everyday = everyday_tools(timers, members, seeing(router, data_policy, settings))
    own_tools = native_tools(hass, settings, search, texts, memories, profile, external, outgoing, everyday)
    handler = ToolHandler(
        hass,
        shared.house,
        [*own_tools, *hass.data[DATA_CUSTOM_TOOLS].make(settings, outgoing)],
        timeout=settings[CONF_TOOLS_TIMEOUT],
        emitter=emitter,
        journal=journal,
        policy=policy,
        confirmations=confirmations,
        gated=settings[CONF_ALLOW_SCRIPTS],
        is_receiver=members.receives,
    )
    context = ContextManager(
        shared.house,
        ProviderSetup(
            hass=hass,
            settings=settings,
            entry_id=entry.entry_id,
            title=entry.title,
            semantic=semantic,
            texts=texts,
            memories=memories,
            profile=profile,
            data_policy=data_policy,
        ),
    )
    prompt = PromptBuilder(hass, settings)
    schemas = OwnTools(hass, handler.tools.values())
    learner = _learner(hass, entry, settings, memories)
    suggested = shared.proactive.of(entry.entry_id)

    async def make_proactive() -> Proactive:
        part = await async_part(hass, "proactive.setup")
        proactive: Proactive = part.Proactive(
            hass,
            entry.entry_id,
            settings,
            book=suggested,
            guard=handler,
            emitter=emitter,
            house=shared.house,
            habits=lambda: learner.habits if learner else (),
        )
        return proactive

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
        outgoing=outgoing,
        entry_id=entry.entry_id,
        semantic=semantic,
        library=library,
        memories=memories,
        profile=profile,
        timers=timers,
        announcer=announcer,
        turns=turns,
        log=ConversationLog(hass, entry.entry_id, enabled=settings[CONF_CONVERSATION_LOG]),
        extractor=_extractor(hass, settings, memories, emitter, router, data_policy, external, turns),
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
        suggested=suggested,
        make_proactive=make_proactive,
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


def _router(hass: HomeAssistant, settings: Mapping[str, Any]) -> Router:
    """Return the main model, with the fallback where there is one."""
    session = async_get_clientsession(hass)
    fallback = fallback_endpoint(hass, settings)
    return Router(
        ModelClient(session, endpoint(hass, settings)), ModelClient(session, fallback) if fallback else None
    )


def _external(hass: HomeAssistant, settings: Mapping[str, Any], policy: DataPolicy) -> ExternalModel | None:
    """Return the second model where the options name one."""
    if not asks_external(settings):
        return None
    from .tools.external_llm import external_model  # noqa: PLC0415 - loads where it is wanted

    return external_model(async_get_clientsession(hass), external_endpoint(hass, settings), policy, settings)


def _learner(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, settings: Mapping[str, Any], memories: Memories
) -> Learner | None:
    """Return what finds habits where the options want that."""
    if not learns(settings):
        return None
    from .memory.learner.setup import build_learner  # noqa: PLC0415 - loads where it is wanted

    observations = hass.data[DATA_SHARED].observations.of(entry.entry_id)
    return build_learner(
        hass, settings, observations, memories, partial(async_phrase, hass, hass.config.language)
    )


def _confirmations(
    hass: HomeAssistant,
    entry_id: str,
    settings: Mapping[str, Any],
    emitter: EventEmitter,
    journal: Journal,
    run: Callable[[PendingAction], Awaitable[None]],
) -> Confirmations:
    """Return what holds actions until a person has said yes."""
    confirmations = Confirmations(
        hass,
        entry_id,
        settings,
        emitter=emitter,
        store=hass.data[DATA_SHARED].confirmations,
        describe=async_question,
        run=run,
    )
    confirmations.channels.append(AuditChannel(journal))
    return confirmations


def _extractor(
    hass: HomeAssistant,
    settings: Mapping[str, Any],
    memories: Memories,
    emitter: EventEmitter,
    router: Router,
    data_policy: DataPolicy,
    external: ExternalModel | None,
    turns: RunningTurns,
) -> Extractor:
    """Return what notes memories; by the external model where the options want that and there is one."""
    learned_by = external if settings[CONF_MEMORY_EXTRACTION_LLM] == EXTRACTION_EXTERNAL else None
    return Extractor(
        hass,
        memories,
        ask=asking_external(learned_by) if learned_by else asking(router, data_policy, settings),
        model=EXTRACTION_EXTERNAL if learned_by else EXTRACTION_LOCAL,
        is_busy=lambda: turns.busy,
        emitter=emitter,
        least_importance=settings[CONF_MEMORY_MIN_IMPORTANCE],
    )


def native_tools(
    hass: HomeAssistant,
    settings: Mapping[str, Any],
    search: KnowledgeSearch,
    texts: HouseholdTexts,
    memories: Memories,
    profile: Profile,
    external: ExternalModel | None,
    outgoing: Outgoing,
    everyday: Iterable[HomeAgentTool] = (),
) -> list[HomeAgentTool]:
    """Return the agent's own tools as the options want them."""
    if not settings[CONF_TOOLS_NATIVE]:
        return []
    tools: tuple[HomeAgentTool, ...] = (
        ControlTool(gated=settings[CONF_ALLOW_SCRIPTS]),
        QueryTool(),
        ActivityTool(),
        RetrieveKnowledgeTool(search, texts),
        GetEntitiesTool(),
        *(memory_tools(memories) if settings[CONF_MEMORY] else ()),
        *(profile_tools(profile) if settings[CONF_PROFILE] else ()),
        *_asking_tools(hass, settings, outgoing, external),
        *everyday,
    )
    return [tool for tool in tools if tool.name not in settings[CONF_TOOLS_DISABLED]]


def _asking_tools(
    hass: HomeAssistant, settings: Mapping[str, Any], outgoing: Outgoing, external: ExternalModel | None
) -> list[HomeAgentTool]:
    """Return the tools that ask outside the house, as the options want them."""
    tools: list[HomeAgentTool] = []
    if external:
        from .tools.external_llm import external_tools  # noqa: PLC0415 - loads where it is wanted

        tools += external_tools(external, outgoing, settings)
    if searches(settings):
        from .tools.web_search import search_tools  # noqa: PLC0415 - loads where it is wanted

        tools += search_tools(hass, settings, outgoing)
    return tools


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
