"""What the entries share, and the parts that each is made of; agents/starting.py puts them together."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from homeassistant.config_entries import ConfigEntry, ConfigEntryState, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from .agent.afterthought import FinishedConversation
from .agent.prompt import OwnTools, PromptBuilder, Warmer
from .agent.record import RecentConversations, RunningTurns, TurnLog, TurnRecord
from .agent_records import AgentRecords
from .channels.asking import Questions
from .const import CONF_PANEL, DOMAIN
from .context.manager import ContextManager
from .conversations.history import ConversationHistoryManager, ConversationLog
from .conversations.sessions import ConversationSessionManager
from .events import EventEmitter
from .idle import IdleQueue
from .inference.client import Router
from .knowledge.house import House, ViewedHouse
from .knowledge.indexer import HouseKnowledge, Indexer, IndexReport
from .knowledge.library import Library
from .knowledge.semantic import SemanticIndex
from .memory.extractor import Extractor
from .memory.learner.observations import ObservationStore
from .memory.memories import Memories, MemoryManager
from .memory.profile import Profile, ProfileManager
from .planned.scheduler import PlannedStore, Scheduler
from .proactive.state import ProactiveState, ProactiveStore
from .safety.confirmation import Confirmations, ConfirmationStore
from .safety.disclosure import DataPolicy
from .safety.journal import JournalStore
from .safety.policy import Policy, Throttle
from .self_test_reports import SelfTestStore
from .store import StoredFile
from .tools.automating.kept import AutomationStore
from .tools.base import HomeAgentTool
from .tools.custom import CustomTools
from .tools.due import PlannedRuns
from .tools.handler import ToolHandler
from .tools.outside.outgoing import Outgoing
from .tools.turn_calls import Quality
from .usage import UsageStore

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
    planned: PlannedStore
    automations: AutomationStore
    usage: UsageStore
    self_tests: SelfTestStore
    agents: AgentRecords
    turn_logs: defaultdict[str, TurnLog] = field(default_factory=partial(defaultdict, TurnLog))
    """The last turns by entry, in memory only."""
    panel_address: str | None = None
    """Where the panel's files are served: None before it was wanted, empty where they are not."""

    @property
    def stores(self) -> tuple[StoredFile, ...]:
        """Return the stores that are read at the start and written at the end."""
        return (
            self.history,
            self.sessions,
            self.journals,
            self.confirmations,
            self.memories,
            self.profiles,
            self.observations,
            self.proactive,
            self.planned,
            self.automations,
            self.usage,
            self.self_tests,
            self.agents,
        )


DATA_SHARED: HassKey[SharedData] = HassKey(DOMAIN)


@dataclass(slots=True, kw_only=True)
class HomeAgentData:
    """The parts of one entry."""

    settings: Mapping[str, Any]
    shared: SharedData
    house: ViewedHouse
    """The home as this agent sees it."""
    emitter: EventEmitter
    router: Router
    handler: ToolHandler
    policy: Policy
    data_policy: DataPolicy
    """What each model may receive."""
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
    outgoing: Outgoing
    """What leaves the home in arguments of tools."""
    planned: Scheduler
    planned_runs: PlannedRuns
    memories: Memories
    """What is remembered; used only where the options want it."""
    extractor: Extractor
    learner: Learner | None
    """Where the options want one."""
    suggested: ProactiveState
    """What was suggested, and what rules have told."""
    make_proactive: Callable[[], Awaitable[Proactive]]
    proactive: Proactive | None = None
    asker: Questions
    """What asks questions that nobody has asked for."""
    summaries: IdleQueue[FinishedConversation]
    turns: RunningTurns
    log: ConversationLog
    """What was said, in files, where the options want them."""
    turn_log: TurnLog
    """The last turns in all their parts, in memory, where the options want the panel."""
    memory: RecentConversations = field(default_factory=RecentConversations)
    models_starting_in_thought: set[str] = field(default_factory=set)
    """Which of the router's models begin their replies inside a thought, as far as they showed it."""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    """What the last turn cost, by the key of its sensor."""
    quality: Quality = field(default_factory=Quality)
    """How well the calls fitted since the entry was set up."""
    totals: Counter[str] = field(default_factory=Counter)
    """What all turns cost since the entry was set up; the sensors know what came before."""
    server_reachable: bool | None = None
    """Whether the model server answers; None until it was asked."""
    entry_id: str = ""
    own_tools: Sequence[HomeAgentTool] = ()
    """The tools that are not the household's own."""
    owns_memory: bool = True
    """Whether memories and profiles are the agent's; False if they are those of the first agent."""
    further: dict[str, FurtherAgent] = field(default_factory=dict)
    """The further agents on the connection of a first one, by their ids."""

    first: HomeAgentData | None = None
    """The first agent on the connection of a further one."""

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
        """Return the proactive part; if the options disable it, it is loaded when it is used."""
        if self.proactive is None:
            self.proactive = await self.make_proactive()
        return self.proactive

    @callback
    def set_custom_tools(self, tools: CustomTools) -> None:
        """Offer the tools of the YAML beside our own; turns under way go on with those they have."""
        self.handler.set_tools([*self.own_tools, *tools.make(self.settings)])
        self.tool_schemas.write(self.handler.tools.values())

    @callback
    def note_turn(self, hass: HomeAssistant, turn: TurnRecord) -> None:
        """Count a turn, and tell the sensors."""
        self.figures = turn.figures()
        self.quality.add(self.turn_log.models[self.router.last_used], turn.calls)
        counts = turn.counts()
        self.totals += counts
        if self.settings[CONF_PANEL]:
            self.shared.usage.of(self.entry_id).note(dt_util.now().date(), counts)
        # The answer need not wait for the sensors.
        hass.loop.call_soon(async_dispatcher_send, hass, turn_signal(self.entry_id))

    @callback
    def note_server(self, hass: HomeAssistant, *, reachable: bool) -> None:
        """Remember whether the model server answers, and tell its sensor of a change."""
        if self.server_reachable is not reachable:
            self.server_reachable = reachable
            async_dispatcher_send(hass, server_signal(self.entry_id))
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


def turn_signal(entry_id: str) -> str:
    """Return the signal that a turn of this entry has ended."""
    return f"{DOMAIN}_turn_{entry_id}"


def memory_signal(entry_id: str) -> str:
    """Return the signal that the memories of this entry have changed."""
    return f"{DOMAIN}_memory_{entry_id}"


def server_signal(entry_id: str) -> str:
    """Return the signal that the model server of this entry was lost or found."""
    return f"{DOMAIN}_server_{entry_id}"


def index_signal(entry_id: str) -> str:
    """Return the signal that the figures of this entry's index have changed."""
    return f"{DOMAIN}_index_{entry_id}"
