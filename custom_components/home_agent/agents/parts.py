"""The parts of an agent: how each is made, and what it depends on."""

from functools import cached_property, partial
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant
from homeassistant.helpers.dispatcher import async_dispatcher_send

from ..agent.afterthought import FinishedConversation, asking, asking_external, summaries
from ..agent.describe import async_phrase, async_question
from ..agent.pictures import seeing
from ..agent.prompt import OwnTools, PromptBuilder, Warmer
from ..agent.record import RunningTurns
from ..channels.asking import Questions
from ..connection import endpoint, external_endpoint, fallback_endpoint, model_client
from ..const import (
    CONF_ALLOW_SCRIPTS,
    CONF_EMBEDDING_PROVIDER,
    CONF_EMIT_EVENTS,
    CONF_MEMORY,
    CONF_MEMORY_COLLECTION,
    CONF_MEMORY_EXTRACTION_LLM,
    CONF_MEMORY_MIN_IMPORTANCE,
    CONF_POLICY_BLOCKED,
    CONF_PROFILE,
    CONF_TOOLS_DISABLED,
    CONF_TOOLS_NATIVE,
    CONF_TOOLS_TIMEOUT,
    CONF_VECTOR_COLLECTION,
    EMBEDDING_NONE,
    EXTRACTION_EXTERNAL,
    EXTRACTION_LOCAL,
)
from ..context.manager import ContextManager
from ..context.providers.base import ProviderSetup
from ..events import EventEmitter
from ..idle import IdleQueue
from ..inference.client import Router
from ..knowledge.house import ViewedHouse
from ..knowledge.indexer import Indexer, knowledge_collection, profile_collection
from ..knowledge.library import HouseholdTexts, Library
from ..knowledge.search import KnowledgeSearch, async_create_embedder, async_open_store, embedder_disclosure
from ..knowledge.semantic import SemanticIndex, TextSource
from ..memory.extractor import Extractor
from ..memory.memories import Memories, MemorySettings
from ..memory.profile import Profile
from ..parts import async_part, is_external_model_enabled, is_learning_enabled, is_search_enabled
from ..runtime import DATA_SHARED, index_signal
from ..safety.confirmation import Confirmations
from ..safety.disclosure import DataPolicy, Disclosure
from ..safety.policy import Policy
from ..settings import AgentConfig, settings_of
from ..tools.activity import ActivityTool
from ..tools.automating.writing import automation_tools
from ..tools.base import HomeAgentTool
from ..tools.custom import DATA_CUSTOM_TOOLS
from ..tools.everyday import everyday_tools
from ..tools.everyday.notify_tool import NotifyTool
from ..tools.guard import Guard
from ..tools.ha_control import ControlTool
from ..tools.ha_query import QueryTool
from ..tools.handler import ToolHandler
from ..tools.knowledge_tools import GetEntitiesTool, RetrieveKnowledgeTool
from ..tools.messages import Messages
from ..tools.native import hide_blocked
from ..tools.outside.external_llm import ExternalModel, external_model, external_tools
from ..tools.outside.outgoing import Outgoing
from ..tools.outside.web_search import SearchTool
from ..tools.people import People
from ..tools.remembering import remembering_tools
from ..tools.script_tool import ScriptTools

if TYPE_CHECKING:
    from ..memory.learner.learner import Learner
    from ..proactive.watcher import Proactive


class AgentParts:
    """The parts of one agent, each made when another one first needs it."""

    owns_memory = True

    def __init__(self, hass: HomeAssistant, entry: AgentConfig, connection_id: str) -> None:
        self._hass = hass
        self._entry = entry
        self.id = entry.entry_id
        self.connection_id = connection_id
        self.settings = settings_of(entry)
        self.shared = hass.data[DATA_SHARED]
        subentry_id = None if self.id == connection_id else self.id
        self.emitter = EventEmitter(hass, bool(self.settings[CONF_EMIT_EVENTS]), connection_id, subentry_id)
        self.policy = Policy(hass, self.settings)
        self.house = ViewedHouse(hass, self.shared.house, self.policy.view)
        self.data_policy = DataPolicy(self.settings)
        self.journal = self.shared.journals.of(self.id)
        self.planned = self.shared.planned.of(self.id)
        self.suggested = self.shared.proactive.of(self.id)
        self.members = People(hass, connection_id, self.settings)
        self.messages = Messages(hass, self.settings, self.members, self.policy.view)
        self.turns = RunningTurns()

    @cached_property
    def router(self) -> Router:
        """The main model, with the fallback where there is one."""
        fallback = fallback_endpoint(self._hass, self.settings)
        return Router(
            model_client(self._hass, endpoint(self._hass, self.settings)),
            model_client(self._hass, fallback) if fallback else None,
        )

    @cached_property
    def external(self) -> ExternalModel | None:
        """The second model where the options name one."""
        if not is_external_model_enabled(self.settings):
            return None
        at = external_endpoint(self._hass, self.settings)
        client = model_client(self._hass, at) if at else None
        return external_model(client, self.data_policy, self.settings)

    @cached_property
    def semantic(self) -> SemanticIndex:
        """The index of meanings; without an embedder it never finds anything and loads nothing."""
        make = partial(
            SemanticIndex, self._hass, entry_id=self.id, title=self._entry.title, emitter=self.emitter
        )
        if self.settings[CONF_EMBEDDING_PROVIDER] == EMBEDDING_NONE:
            return make()
        return make(
            open_store=partial(async_open_store, self._hass, self.id, self.settings),
            open_embedder=partial(async_create_embedder, self._hass, self.settings),
        )

    @cached_property
    def embedded(self) -> Disclosure:
        """What the embedding server may receive."""
        return embedder_disclosure(self.settings, self.data_policy)

    @cached_property
    def memories(self) -> Memories:
        """What is remembered."""
        memories = self.shared.memories.of(self.id)
        people = self.semantic if self.embedded.people else None
        memories.configure(MemorySettings.from_options(self.settings), people, self.emitter)
        return memories

    @cached_property
    def profile(self) -> Profile:
        """What is known about persons and the household."""
        profile = self.shared.profiles.of(self.id)
        people = self.semantic if self.embedded.people else None
        profile.take_index(people, profile_collection(self.settings[CONF_MEMORY_COLLECTION]))
        return profile

    @cached_property
    def library(self) -> Library:
        """The household's own texts, as they are kept."""
        return Library(self._hass, self.id, self.semantic)

    @cached_property
    def texts(self) -> HouseholdTexts:
        """The household's own texts, as they are searched."""
        return HouseholdTexts(
            self._hass,
            self.settings,
            entry_id=self.connection_id,
            title=self._entry.title,
            semantic=self.semantic,
            library=self.library,
        )

    @cached_property
    def outgoing(self) -> Outgoing:
        """What leaves the home in arguments of tools."""
        return Outgoing.of(self._hass, self.settings, self.memories, self.profile)

    @cached_property
    def own_tools(self) -> list[HomeAgentTool]:
        """The agent's own tools as the options want them."""
        settings = self.settings
        if not settings[CONF_TOOLS_NATIVE]:
            return []
        personal = self.profile if settings[CONF_PROFILE] else None
        collection = knowledge_collection(settings[CONF_VECTOR_COLLECTION])
        find = personal.async_find if personal is not None else None
        search = KnowledgeSearch(self._hass, self.shared.knowledge, self.semantic, collection, find)
        disabled = settings[CONF_TOOLS_DISABLED]
        memories = self.memories if settings[CONF_MEMORY] else None
        control = ControlTool(self.planned, gated=settings[CONF_ALLOW_SCRIPTS])
        messages = NotifyTool(self.members, self.messages, self.memories, self.profile, self.planned)
        own = self.shared.automations.of(self.id)
        see = seeing(self.router, self.data_policy, settings)
        tools: tuple[HomeAgentTool, ...] = (
            QueryTool(),
            ActivityTool(planned=self.planned, automations=own),
            RetrieveKnowledgeTool(search, self.texts),
            GetEntitiesTool(),
            *remembering_tools(memories, personal, disabled),
            *self._asking_tools(),
            *everyday_tools(self.planned, self.members, see),
            *automation_tools(settings, own, control, messages, disabled),
        )
        hide_blocked(tools, settings[CONF_POLICY_BLOCKED])
        return [tool for tool in tools if tool.name not in disabled]

    def _asking_tools(self) -> list[HomeAgentTool]:
        tools: list[HomeAgentTool] = []
        if self.external:
            tools += external_tools(self.external, self.outgoing, self.settings)
        if is_search_enabled(self.settings):
            from ..tools.search import is_set_up, search_provider  # noqa: PLC0415 - loads where it is wanted

            if is_set_up(self.settings):
                provider = partial(search_provider, self._hass, self.settings)
                tools.append(SearchTool(self._hass, provider, self.outgoing))
        return tools

    @cached_property
    def confirmations(self) -> Confirmations:
        """What holds actions until a person has said yes."""
        # The handler is made after what it asks for confirmations.
        return Confirmations(
            self._hass,
            self.id,
            self.settings,
            emitter=self.emitter,
            store=self.shared.confirmations,
            journal=self.journal,
            describe=async_question,
            run=lambda action: self.handler.async_run_approved(action),  # noqa: PLW0108
        )

    @cached_property
    def handler(self) -> ToolHandler:
        """What runs calls of the agent's own tools and of the household's, each through the guard."""
        custom = self._hass.data[DATA_CUSTOM_TOOLS].make(self.settings)
        return ToolHandler(
            self._hass,
            self.house,
            [*self.own_tools, *custom],
            guard=Guard(
                self._hass,
                self.policy,
                journal=self.journal,
                gated=self.settings[CONF_ALLOW_SCRIPTS],
                messages=self.messages,
            ),
            outgoing=self.outgoing,
            timeout=self.settings[CONF_TOOLS_TIMEOUT],
            emitter=self.emitter,
            confirmations=self.confirmations,
        )

    @cached_property
    def asker(self) -> Questions:
        """What asks questions that nobody has asked for."""
        return Questions(
            self._hass,
            self.id,
            self.settings,
            guard=self.handler.guard,
            confirmations=self.confirmations,
            emitter=self.emitter,
        )

    @cached_property
    def context(self) -> ContextManager:
        """The context that is sent with the sentence."""
        setup = ProviderSetup(
            hass=self._hass,
            settings=self.settings,
            entry_id=self.id,
            title=self._entry.title,
            semantic=self.semantic,
            texts=self.texts,
            memories=self.memories,
            profile=self.profile,
            data_policy=self.data_policy,
        )
        return ContextManager(self.house, setup)

    @cached_property
    def prompt(self) -> PromptBuilder:
        """What is said to the model."""
        return PromptBuilder(self._hass, self.id, self.settings)

    @cached_property
    def tool_schemas(self) -> OwnTools:
        """The tools as requests carry them."""
        return OwnTools(self._hass, self.handler, ScriptTools(self._hass, self.settings))

    def warmer(self) -> Warmer:
        """Return the task that warms the prompt cache."""
        shown = (self.context, self.prompt, self.tool_schemas)
        return Warmer(self._hass, self.settings, self.router, *shown, self.data_policy)

    def extractor(self) -> Extractor:
        """Return the memory extractor; it uses the second model if the options say so and there is one."""
        wanted = self.settings[CONF_MEMORY_EXTRACTION_LLM] == EXTRACTION_EXTERNAL
        learned_by = self.external if wanted else None
        own = asking(self.router, self.data_policy, self.settings)
        return Extractor(
            self._hass,
            self.memories,
            ask=asking_external(learned_by) if learned_by else own,
            model=EXTRACTION_EXTERNAL if learned_by else EXTRACTION_LOCAL,
            is_busy=lambda: self.turns.busy,
            emitter=self.emitter,
            least_importance=self.settings[CONF_MEMORY_MIN_IMPORTANCE],
        )

    def summaries(self) -> IdleQueue[FinishedConversation]:
        """Return the queue of long conversations that are summed up."""
        return summaries(
            self._hass,
            self.id,
            history=self.shared.history,
            router=self.router,
            policy=self.data_policy,
            settings=self.settings,
            is_busy=lambda: self.turns.busy,
        )

    def indexer(self) -> Indexer:
        """Return the indexer, which keeps the collections in sync with the home."""
        return Indexer(
            self._hass,
            entry_id=self.id,
            house=self.shared.house,
            knowledge=self.shared.knowledge,
            semantic=self.semantic,
            collection=self.settings[CONF_VECTOR_COLLECTION],
            emitter=self.emitter,
            told=partial(async_dispatcher_send, self._hass, index_signal(self.id)),
            left_out=() if self.embedded.states else (TextSource.SUMMARY,),
        )

    @cached_property
    def learner(self) -> Learner | None:
        """What finds habits where the options want that."""
        if not is_learning_enabled(self.settings):
            return None
        from ..memory.learner.learner import build_learner  # noqa: PLC0415 - loads where it is wanted

        observations = self.shared.observations.of(self.id)
        word = partial(async_phrase, self._hass, self._hass.config.language)
        return build_learner(self._hass, self.settings, observations, self.memories, word, self.policy.view)

    async def async_proactive(self) -> Proactive:
        """Return the proactive part, loaded now."""
        part = await async_part(self._hass, "proactive.watcher")
        proactive: Proactive = part.Proactive(
            self._hass,
            self.id,
            self.settings,
            state=self.suggested,
            guard=self.handler.guard,
            emitter=self.emitter,
            house=self.house,
            habits=lambda: self.learner.habits if self.learner else (),
            automations=self.shared.automations.of(self.id),
            asker=self.asker,
        )
        return proactive
