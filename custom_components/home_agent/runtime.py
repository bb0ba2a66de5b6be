"""What all agents share, and the parts of each agent: how they are made, and what they depend on."""

from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from homeassistant.config_entries import ConfigEntry, ConfigEntryState, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from . import const
from .agent.afterthought import asking, asking_external, summaries
from .agent.describe import async_phrase, async_question, async_rule
from .agent.pictures import seeing
from .agent.prompt import OwnTools, PromptBuilder, Warmer
from .agent.record import RecentConversations, RunningTurns, TurnLog, TurnRecord
from .channels.announcing import Announcer
from .channels.asking import Intercom, Questions
from .channels.ringing import Alarms
from .connection import EXTERNAL, FALLBACK, endpoint, model_client, other_endpoint
from .const import DOMAIN, EventData
from .context.manager import ContextManager
from .context.providers.base import ProviderSetup
from .conversations.history import ConversationHistoryManager, ConversationLog
from .conversations.sessions import ConversationSessionManager
from .events import EventEmitter
from .inference.client import Router
from .knowledge.house import House, ViewedHouse
from .knowledge.indexer import (
    HouseKnowledge,
    Indexer,
    IndexReport,
    knowledge_collection,
    profile_collection,
)
from .knowledge.library import HouseholdTexts, Library
from .knowledge.search import (
    KnowledgeSearch,
    async_create_embedder,
    async_open_store,
    embedder_disclosure,
)
from .knowledge.semantic import SemanticIndex, TextSource
from .memory.extractor import Extractor
from .memory.learner.observations import ObservationStore
from .memory.memories import Memories, MemoryManager, MemorySettings
from .memory.profile import Profile, ProfileManager
from .memory.records import Memory, ProfileEntry
from .panel.usage import Usage
from .planned.scheduler import PlannedStore
from .proactive.state import ProactiveStore
from .safety.confirmation import Confirmations, ConfirmationStore
from .safety.disclosure import DataPolicy
from .safety.journal import JournalStore
from .safety.policy import Policy, Throttle
from .self_test.kept import SelfTestResult
from .settings import AgentConfig, async_part, is_learning_enabled, settings_of
from .store import EntryStore, KeptStore, dump, read_moment
from .tools.activity import ActivityTool
from .tools.automating.kept import AutomationStore
from .tools.automating.writing import automation_tools
from .tools.base import HomeAgentTool
from .tools.custom import DATA_CUSTOM_TOOLS, CustomTools
from .tools.everyday import everyday_tools
from .tools.everyday.notify_tool import NotifyTool
from .tools.guard import Guard
from .tools.ha_control import ControlTool
from .tools.ha_query import QueryTool
from .tools.handler import ToolHandler
from .tools.knowledge_tools import GetEntitiesTool, RetrieveKnowledgeTool
from .tools.messages import Messages
from .tools.naming import learned_names
from .tools.native import hide_blocked
from .tools.outside.external_llm import ExternalModel, ExternalModelTool, external_model
from .tools.outside.outgoing import Outgoing
from .tools.outside.web_search import SearchTool
from .tools.planned_runs import PlannedRuns
from .tools.recipients import People
from .tools.remembering import remembering_tools
from .tools.script_tool import ScriptTools
from .tools.turn_calls import Quality

if TYPE_CHECKING:
    from .memory.learner.learner import Learner
    from .proactive.watcher import Proactive

type HomeAgentConfigEntry = ConfigEntry[HomeAgentData]
type Agent = HomeAgentConfigEntry | FurtherAgent
"""An agent that is set up: the first one of a connection is the entry itself."""


@dataclass(eq=False, slots=True, kw_only=True)
class FurtherAgent:
    """Another agent on the connection of an entry; a subentry contains its options.

    It has what an entry has, so that what is made for the first agent works for it too.
    """

    config_entry: HomeAgentConfigEntry
    subentry: ConfigSubentry
    data: Mapping[str, Any]
    """The connection, with its own model."""
    options: Mapping[str, Any]
    """Its own options and those of the household."""
    runtime_data: HomeAgentData = field(init=False)

    @property
    def entry_id(self) -> str:
        """Return the id under which the agent stores its data."""
        return self.subentry.subentry_id

    @property
    def title(self) -> str:
        """Return the name of the agent."""
        return self.subentry.title

    @property
    def state(self) -> ConfigEntryState:
        """Return whether the connection is set up."""
        return self.config_entry.state

    @callback
    def async_on_unload(self, function: CALLBACK_TYPE) -> None:
        """Call a function when the connection is unloaded."""
        self.config_entry.async_on_unload(function)

    @callback
    def async_create_background_task(
        self, hass: HomeAssistant, target: Coroutine[Any, Any, object], name: str
    ) -> None:
        """Start a task that ends with the connection."""
        self.config_entry.async_create_background_task(hass, target, name)


class AgentRecord:
    """What is known of one agent. The store of all agents is notified of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.connection_id = ""
        self.title = ""
        self.entity_id: str | None = None
        self.removed_at: datetime | None = None
        """When the agent was removed, if its memories are still kept."""

    @callback
    def note(self, connection_id: str, title: str, entity_id: str | None) -> None:
        """Take what an agent is now."""
        known = (self.connection_id, self.title, self.entity_id)
        if known != (connection_id, title, entity_id) or self.removed_at is not None:
            self.connection_id, self.title, self.entity_id = connection_id, title, entity_id
            self.removed_at = None
            self._changed()

    @callback
    def note_removed(self) -> None:
        """Note that the agent was removed now."""
        self.removed_at = dt_util.utcnow()
        self._changed()

    def stored(self) -> Mapping[str, Any]:
        """Return what is to be written; called in a worker thread."""
        names = ("connection_id", "title", "entity_id", "removed_at")
        return {name: dump(getattr(self, name)) for name in names}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Take what is stored. Raises KeyError, TypeError or ValueError for invalid data."""
        texts = stored["connection_id"], stored["title"]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("not an agent")
        self.connection_id, self.title = texts
        entity_id = stored["entity_id"]
        self.entity_id = entity_id if isinstance(entity_id, str) else None
        self.removed_at = read_moment(stored["removed_at"]) if stored["removed_at"] is not None else None


class AgentRecords(EntryStore[AgentRecord]):
    """Keeps what is known of the agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, f"{DOMAIN}.agents", AgentRecord)

    @callback
    def removed(self) -> dict[str, AgentRecord]:
        """Return the removed agents whose memories are kept, by their ids."""
        return {key: record for key, record in self._entries.items() if record.removed_at is not None}

    @callback
    def of_connection(self, connection_id: str) -> dict[str, AgentRecord]:
        """Return the agents that a connection has or had, without those whose memories are kept."""
        return {
            key: record
            for key, record in self._entries.items()
            if record.connection_id == connection_id and record.removed_at is None
        }


class SharedData:
    """What all entries share, so that no two of them write one file."""

    def __init__(self, hass: HomeAssistant) -> None:
        @callback
        def saved(data: EventData) -> None:
            """Tell that the file of all agents was written, if any of them tells such things."""
            entries = hass.config_entries.async_entries(DOMAIN)
            wanted = any(settings_of(entry)[const.CONF_EMIT_EVENTS] for entry in entries)
            EventEmitter(hass, wanted).fire(const.EVENT_HISTORY_SAVED, data)

        self.house = House(hass)
        self.knowledge = HouseKnowledge(hass, self.house)
        self.history = history = ConversationHistoryManager(hass, on_saved=saved)
        self.sessions = ConversationSessionManager(hass, lambda *ids: bool(history.find(*ids).turns))
        self.journals = JournalStore(hass)
        self.confirmations = ConfirmationStore(hass)
        self.memories = MemoryManager(hass)
        self.profiles = ProfileManager(hass)
        self.observations = ObservationStore(hass)
        self.proactive = ProactiveStore(hass)
        self.planned = PlannedStore(hass)
        self.automations = AutomationStore(hass)
        self.usage = EntryStore(hass, f"{DOMAIN}.usage", Usage)
        self.self_tests = EntryStore(hass, f"{DOMAIN}.self_test", SelfTestResult)
        self.agents = AgentRecords(hass)
        self.turn_logs = defaultdict[str, TurnLog](TurnLog)
        """The last turns by entry, in memory only."""
        self.panel_address: str | None = None
        """Where the panel's files are served: None before it was wanted, empty where they are not."""
        self.stores = tuple(part for part in vars(self).values() if isinstance(part, KeptStore))
        """What is read at the start and written at the end."""

    def kept_of(self, agent_id: str) -> tuple[list[Memory], list[ProfileEntry]]:
        """Return what an agent remembers, running or not: memories, and entries of profiles."""
        return self.memories.of(agent_id).records(), self.profiles.of(agent_id).records()


DATA_SHARED: HassKey[SharedData] = HassKey(DOMAIN)


class HomeAgentData:
    """The parts of an agent. A further one has the server, the index and the texts of the `first` one.

    Nothing is read yet when it is made, and settings.py has loaded what the options want.
    """

    def __init__(self, hass: HomeAssistant, entry: AgentConfig, first: HomeAgentData | None = None) -> None:
        self._hass = hass
        self.entry_id = entry.entry_id
        self.first = first
        self.further: dict[str, FurtherAgent] = {}
        """The further agents on the connection of a first one, by their ids."""
        connection_id = first.entry_id if first else self.entry_id
        self.settings = settings = settings_of(entry)
        self.shared = shared = hass.data[DATA_SHARED]
        self.emitter = EventEmitter(
            hass, bool(settings[const.CONF_EMIT_EVENTS]), connection_id, self.entry_id if first else None
        )
        self.policy = Policy(hass, settings)
        named = bool(settings[const.CONF_MEMORY])
        self.house = ViewedHouse(
            shared.house, self.policy.view, lambda: learned_names(self.memories) if named else {}
        )
        """The home as this agent sees it."""
        self.data_policy = DataPolicy(settings)
        """What each model may receive."""
        self.throttle = Throttle(settings[const.CONF_AUTOMATION_TURNS])
        self.turns = RunningTurns()
        self.planned = shared.planned.of(self.entry_id)
        self.suggested = shared.proactive.of(self.entry_id)
        """What was suggested, and what rules have told."""
        self._automations = shared.automations.of(self.entry_id)

        self.router: Router
        if first and settings[const.CONF_MODEL] == first.settings[const.CONF_MODEL]:
            self.router = first.router
        else:
            fallback = other_endpoint(hass, settings, FALLBACK)
            self.router = Router(
                model_client(hass, endpoint(hass, settings)),
                model_client(hass, fallback) if fallback else None,
            )
        self._external: ExternalModel | None = None
        if settings[const.CONF_EXTERNAL]:
            at = other_endpoint(hass, settings, EXTERNAL)
            client = model_client(hass, at) if at else None
            self._external = external_model(client, self.data_policy, settings)

        # What an agent may see of the index of its connection is decided where it is read.
        make_index = partial(
            SemanticIndex, hass, entry_id=self.entry_id, title=entry.title, emitter=self.emitter
        )
        if settings[const.CONF_EMBEDDING_PROVIDER] != const.EMBEDDING_NONE:
            make_index = partial(
                make_index,
                open_store=partial(async_open_store, hass, self.entry_id, settings),
                open_embedder=partial(async_create_embedder, hass, settings),
            )
        self.semantic: SemanticIndex = first.semantic if first else make_index()
        self.library: Library = first.library if first else Library(hass, self.entry_id, self.semantic)
        self._texts = HouseholdTexts(
            hass,
            settings,
            entry_id=connection_id,
            title=entry.title,
            semantic=self.semantic,
            library=self.library,
        )
        embedder = embedder_disclosure(settings, self.data_policy)
        self.owns_memory = first is None or not settings[const.CONF_SHARED_MEMORY]
        """Whether memories and profiles are the agent's; False if they are those of the first agent."""
        self.memories: Memories
        """What is remembered; used only where the options want it."""
        self.profile: Profile
        if first is not None and not self.owns_memory:
            self.memories, self.profile = first.memories, first.profile
        else:
            people = self.semantic if embedder.people else None
            self.memories = shared.memories.of(self.entry_id)
            self.memories.configure(MemorySettings.from_options(settings), people, self.emitter)
            self.profile = shared.profiles.of(self.entry_id)
            self.profile.take_index(people, profile_collection(settings[const.CONF_MEMORY_COLLECTION]))
        self.outgoing = Outgoing(hass, settings, self.memories, self.profile)
        """What leaves the home in arguments of tools."""

        journal = shared.journals.of(self.entry_id)
        members = People(hass, connection_id, settings)
        messages = Messages(hass, settings, members, self.policy.view)
        gated = settings[const.CONF_ALLOW_SCRIPTS]
        guard = Guard(hass, self.policy, journal=journal, gated=gated, messages=messages)
        self.confirmations = Confirmations(
            hass,
            self.entry_id,
            settings,
            emitter=self.emitter,
            store=shared.confirmations,
            journal=journal,
            describe=async_question,
            # The handler is made after what it asks for confirmations.
            run=lambda action: self.handler.async_run_approved(action),  # noqa: PLW0108
            wants_pin=guard.async_wants_pin,
        )
        self.asker = Questions(
            hass,
            connection_id,
            settings,
            guard=guard,
            confirmations=self.confirmations,
            emitter=self.emitter,
        )
        """What asks questions that nobody has asked for."""
        announcer = Announcer(hass, connection_id, members, self.emitter)
        intercom = Intercom(hass, guard, self.asker, announcer)
        self.own_tools = self._make_tools(members, messages, intercom)
        """The tools that are not the household's own, as the options want them."""
        self.handler: ToolHandler = ToolHandler(
            hass,
            self.house,
            [*self.own_tools, *hass.data[DATA_CUSTOM_TOOLS].make(settings)],
            guard=guard,
            outgoing=self.outgoing,
            timeout=settings[const.CONF_TOOLS_TIMEOUT],
            emitter=self.emitter,
            confirmations=self.confirmations,
        )
        self.alarms = Alarms(
            hass,
            planned=self.planned,
            handler=self.handler,
            people=members,
            messages=messages,
            announcer=announcer,
            asker=self.asker,
        )
        self.planned_runs = PlannedRuns(
            self.handler,
            self.planned,
            self.emitter,
            announcer.async_announce,
            self.alarms.async_ring,
            announcer.async_tell_planned,
        )

        setup = ProviderSetup(
            hass=hass,
            settings=settings,
            entry_id=self.entry_id,
            title=entry.title,
            semantic=self.semantic,
            texts=self._texts,
            memories=self.memories,
            profile=self.profile,
            data_policy=self.data_policy,
        )
        self.context = ContextManager(self.house, setup)
        self.prompt = PromptBuilder(hass, self.entry_id, settings)
        self.tool_schemas = OwnTools(hass, self.handler, ScriptTools(hass, settings))
        shown = (self.context, self.prompt, self.tool_schemas)
        self.warmer = Warmer(hass, settings, self.router, *shown, self.data_policy)
        self.indexer: Indexer = (
            first.indexer
            if first
            else Indexer(
                hass,
                entry_id=self.entry_id,
                house=shared.house,
                knowledge=shared.knowledge,
                semantic=self.semantic,
                collection=settings[const.CONF_VECTOR_COLLECTION],
                emitter=self.emitter,
                told=partial(async_dispatcher_send, hass, signal_of(Topic.INDEX, self.entry_id)),
                left_out=() if embedder.states else (TextSource.SUMMARY,),
            )
        )
        notes_outside = settings[const.CONF_MEMORY_EXTRACTION_LLM] == const.EXTRACTION_EXTERNAL
        noted_by = self._external if notes_outside else None
        own = asking(self.router, self.data_policy, settings)
        self.extractor = Extractor(
            hass,
            self.memories,
            ask=asking_external(noted_by) if noted_by else own,
            model=const.EXTRACTION_EXTERNAL if noted_by else const.EXTRACTION_LOCAL,
            is_busy=lambda: self.turns.busy,
            emitter=self.emitter,
            least_importance=settings[const.CONF_MEMORY_MIN_IMPORTANCE],
        )
        self.summaries = summaries(
            hass,
            self.entry_id,
            history=shared.history,
            router=self.router,
            policy=self.data_policy,
            settings=settings,
            is_busy=lambda: self.turns.busy,
        )
        self.learner: Learner | None = None
        if is_learning_enabled(settings):
            from .memory.learner.learner import build_learner  # noqa: PLC0415 - loads where it is wanted

            observations = shared.observations.of(self.entry_id)
            word = partial(async_phrase, hass, hass.config.language)
            self.learner = build_learner(hass, settings, observations, self.memories, word, self.policy.view)
        self._proactive: Proactive | None = None

        self.log = ConversationLog(hass, self.entry_id, enabled=settings[const.CONF_CONVERSATION_LOG])
        """What was said, in files, where the options want them."""
        self.turn_log = shared.turn_logs[self.entry_id].configure(settings)
        """The last turns in all their parts, in memory, where the options want the panel."""
        self.recent = RecentConversations()
        self.models_starting_in_thought: set[str] = set()
        """Which of the router's models begin their replies inside a thought, as far as they showed it."""
        self.figures: Mapping[str, float | None] = {}
        """What the last turn cost, by the key of its sensor."""
        self.quality = Quality()
        """How well the calls fitted since the entry was set up."""
        self.totals = Counter[str]()
        """What all turns cost since the entry was set up; the sensors know what came before."""
        self.server_reachable: bool | None = None
        """Whether the model server answers; None until it was asked."""

    def _make_tools(self, members: People, messages: Messages, intercom: Intercom) -> list[HomeAgentTool]:
        hass, settings = self._hass, self.settings
        if not settings[const.CONF_TOOLS_NATIVE]:
            return []
        disabled = settings[const.CONF_TOOLS_DISABLED]
        profile = self.profile if settings[const.CONF_PROFILE] else None
        collection = knowledge_collection(settings[const.CONF_VECTOR_COLLECTION])
        find = profile.async_find if profile is not None else None
        search = KnowledgeSearch(hass, self.shared.knowledge, self.semantic, collection, find)
        memories = self.memories if settings[const.CONF_MEMORY] else None
        control = ControlTool(self.planned, gated=settings[const.CONF_ALLOW_SCRIPTS])
        notify = NotifyTool(members, messages, self.memories, self.profile, self.planned, intercom.async_ask)
        tools: list[HomeAgentTool] = [
            QueryTool(),
            ActivityTool(planned=self.planned, automations=self._automations),
            RetrieveKnowledgeTool(search, self._texts),
            GetEntitiesTool(),
            *remembering_tools(memories, profile, disabled),
        ]
        if self._external:
            tools.append(ExternalModelTool(self._external, self.outgoing, settings))
        if settings[const.CONF_SEARCH_PROVIDER] != const.SEARCH_NONE:
            from .tools.outside.search_services import is_set_up, search_provider  # noqa: PLC0415 - loads where it is wanted

            if is_set_up(settings):
                tools.append(SearchTool(partial(search_provider, hass, settings), self.outgoing))
        tools += everyday_tools(self.planned, members, seeing(self.router, self.data_policy, settings))
        tools += automation_tools(settings, self._automations, control, notify, disabled, async_rule)
        hide_blocked(tools, settings[const.CONF_POLICY_BLOCKED])
        return [tool for tool in tools if tool.name not in disabled]

    @property
    def connected(self) -> list[HomeAgentData]:
        """Return all agents on the connection, the first one first."""
        first = self.first or self
        return [first, *(agent.runtime_data for agent in first.further.values())]

    @property
    def remembering(self) -> list[HomeAgentData]:
        """Return the agents that use the memory of this one, itself among them."""
        return [agent for agent in self.connected if agent.memories is self.memories]

    async def async_proactive(self) -> Proactive:
        """Return what the connection says unasked; if the options disable that, it is loaded when it is used.

        It is about the household and not about an agent, so a further one has that of the first.
        """
        if self.first is not None:
            return await self.first.async_proactive()
        if self._proactive is None:
            part = await async_part(self._hass, "proactive.watcher")
            briefing = await async_part(self._hass, "proactive.briefing")
            self._proactive = part.Proactive(
                self._hass,
                self.entry_id,
                self.settings,
                state=self.suggested,
                guard=self.handler.guard,
                emitter=self.emitter,
                house=self.house,
                habits=lambda: self.learner.habits if self.learner else (),
                automations=self._automations,
                asker=self.asker,
                brief=briefing.briefing_of(
                    self._hass, self.settings, self.handler, self.planned, self.router, self.data_policy
                ),
            )
        return self._proactive

    @callback
    def set_custom_tools(self, tools: CustomTools) -> None:
        """Offer the tools of the YAML beside our own; turns under way go on with those they have."""
        self.handler.set_tools([*self.own_tools, *tools.make(self.settings)])
        self.tool_schemas.write(self.handler.tools.values())

    @callback
    def note_turn(self, hass: HomeAssistant, turn: TurnRecord) -> None:
        """Count a turn, and tell the sensors."""
        self.figures = turn.figures()
        self.quality.add(turn.calls)
        counts = turn.counts()
        self.totals += counts
        if self.settings[const.CONF_PANEL]:
            self.shared.usage.of(self.entry_id).note(dt_util.now().date(), counts)
        # The answer need not wait for the sensors.
        hass.loop.call_soon(async_dispatcher_send, hass, signal_of(Topic.TURNS, self.entry_id))

    @callback
    def note_server(self, hass: HomeAssistant, *, reachable: bool) -> None:
        """Remember whether the model server answers, and tell its sensor of a change."""
        if self.server_reachable is not reachable:
            self.server_reachable = reachable
            async_dispatcher_send(hass, signal_of(Topic.SERVER, self.entry_id))
        for agent in self.further.values():
            agent.runtime_data.note_server(hass, reachable=reachable)

    async def async_sync(self) -> IndexReport:
        """Read the home and its knowledge again and update the index; return what that did."""
        self.shared.house.async_invalidate()
        await self.shared.knowledge.async_refresh()
        return await self.indexer.async_sync()

    async def async_prepare(self) -> None:
        """Build the indexes, then let the model server read the prompt ahead."""
        await self.handler.async_prepare()
        await self.warmer.async_warm()


class Topic(StrEnum):
    """What of an agent may change, as the panel knows it too."""

    CONFIRMATIONS = "confirmations"
    INDEX = "index"
    MEMORIES = "memories"
    SERVER = "server"
    TURNS = "turns"


def signal_of(topic: Topic, agent_id: str) -> str:
    """Return the signal that something of an agent has changed."""
    return f"{DOMAIN}_{topic}_{agent_id}"
