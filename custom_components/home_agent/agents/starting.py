"""What each agent starts when its connection is set up: the first one and further ones."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, override

from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import EVENT_HOMEASSISTANT_STOP
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from ..agent_options import CONF_SHARED_MEMORY, CONF_VISIBLE
from ..channels.announcing import Announcer
from ..channels.phones import NotificationChannel, PhoneChannel
from ..config.schemas import AGENT_KEYS
from ..const import (
    CONF_AUTOMATION_TURNS,
    CONF_CONVERSATION_LOG,
    CONF_HISTORY_RETENTION_DAYS,
    CONF_LEARNING,
    CONF_MEMORY,
    CONF_MEMORY_CLEANUP,
    CONF_MEMORY_COLLECTION,
    CONF_MEMORY_EXTRACTION,
    CONF_MEMORY_EXTRACTION_LLM,
    CONF_MODEL,
    CONF_NOTIFY_TARGETS,
    CONF_PROACTIVE,
    CONF_PROBED_CONTEXT_SIZE,
    CONF_PROBED_TOOL_CALLING,
    CONF_SESSION_PERSISTENCE,
    CONF_SESSION_TIMEOUT,
    DEFAULTS,
    DOMAIN,
    EXTRACTION_EXTERNAL,
)
from ..conversations.history import ConversationLog
from ..entity import conversation_entity
from ..inference.client import Router
from ..issues import report, withdraw, withdraw_all
from ..knowledge.house import AllowList
from ..knowledge.indexer import Indexer
from ..knowledge.library import Library
from ..knowledge.semantic import SemanticIndex
from ..memory.memories import Memories
from ..memory.profile import Profile
from ..parts import NAMING, async_part, is_panel_enabled, names_things
from ..runtime import DATA_SHARED, Agent, FurtherAgent, HomeAgentConfigEntry, HomeAgentData, SharedData
from ..safety.policy import Throttle
from ..safety.spoken_numbers import prepare as prepare_numbers
from ..settings import AgentConfig, settings_of
from ..store import EntryStore
from ..timespans import read_span
from ..tools.planned_runs import PlannedRuns
from ..watching.automations import async_watch_automations
from ..watching.pipelines import async_watch_pipelines
from . import async_agents, ids_of
from .assistants import async_fall_back
from .llm_api import async_register_own_api
from .parts import AgentParts

if TYPE_CHECKING:
    from ..proactive.watcher import Proactive


async def async_start_agent(hass: HomeAssistant, agent: Agent) -> None:
    """Start what the entities of an agent need before they are added."""
    data = agent.runtime_data
    data.shared.sessions.set_persistence(agent.entry_id, data.settings[CONF_SESSION_PERSISTENCE])
    data.confirmations.async_start()
    data.confirmations.channels.append(NotificationChannel(hass))
    phones = PhoneChannel(hass, data.confirmations, data.settings[CONF_NOTIFY_TARGETS], data.emitter)
    agent.async_on_unload(phones.async_start())
    agent.async_on_unload(data.asker.async_start())
    await _async_show_panel(hass, agent)
    async_register_own_api(hass, agent)
    _report_extraction(hass, agent)


async def async_run_agent(hass: HomeAssistant, agent: Agent) -> None:
    """Start what goes on beside the turns of an agent, once its entities are there."""
    data = agent.runtime_data
    entity_id = conversation_entity(hass, agent.entry_id)
    data.shared.agents.of(agent.entry_id).note(ids_of(agent)[-1], agent.title, entity_id)
    if data.confirmations.wants_pin:
        hass.async_add_executor_job(prepare_numbers)
    _tidy_regularly(hass, agent)

    async def count(_hass: HomeAssistant) -> None:
        agent.async_on_unload(data.planned.async_start(data.planned_runs.async_run))

    agent.async_on_unload(async_at_started(hass, count))
    agent.async_on_unload(hass.bus.async_listen_once(EVENT_HOMEASSISTANT_STOP, data.turns.stop))
    agent.async_on_unload(data.extractor.stop)
    agent.async_on_unload(data.summaries.stop)
    agent.async_on_unload(async_watch_pipelines(hass, agent))
    agent.async_on_unload(async_watch_automations(hass, agent))
    await _async_watch_names(hass, agent)


async def async_stop_agent(agent: Agent) -> None:
    """Write what an agent has not yet written, and end what waits."""
    await agent.runtime_data.log.async_flush()
    await agent.runtime_data.confirmations.async_stop()


async def _async_watch_names(hass: HomeAssistant, agent: Agent) -> None:
    """Report names in the options that stop matching; where the options name nothing, nothing is loaded."""
    if names_things(agent.runtime_data.settings):
        part = await async_part(hass, "watching.unmatched")
        agent.async_on_unload(part.async_watch_names(hass, agent))
    else:
        for key in NAMING:
            withdraw(hass, f"{key}_{agent.entry_id}")


async def _async_show_panel(hass: HomeAssistant, agent: Agent) -> None:
    if is_panel_enabled(agent.runtime_data.settings):
        await (await async_part(hass, "panel.websocket")).async_show(hass, agent)
    else:
        await async_hide_panel(hass)


async def async_hide_panel(hass: HomeAssistant) -> None:
    """Take the panel away where no agent wants it any more."""
    entries = hass.config_entries.async_entries(DOMAIN, include_disabled=False)
    wanted = any(map(is_panel_enabled, map(settings_of, entries)))
    if hass.data[DATA_SHARED].panel_address is not None and not wanted:
        await (await async_part(hass, "panel.websocket")).async_hide(hass)


@callback
def _tidy_regularly(hass: HomeAssistant, agent: Agent) -> None:
    data = agent.runtime_data

    @callback
    def prune(*_: object) -> None:
        days = data.settings[CONF_HISTORY_RETENTION_DAYS]
        data.shared.history.prune(days, agent.entry_id)
        if days > 0:
            data.turn_log.prune(dt_util.utcnow() - timedelta(days=days))
        agent.async_create_background_task(hass, data.log.async_prune(days), "home_agent log")

    async def look(now: datetime) -> None:
        await async_look_after_kept(hass, now)

    if not isinstance(agent, FurtherAgent):
        agent.async_on_unload(async_track_time_interval(hass, look, timedelta(days=1)))
    prune()
    agent.async_on_unload(async_track_time_interval(hass, prune, timedelta(days=1)))

    @callback
    def expire(now: datetime) -> None:
        timeout = data.settings[CONF_SESSION_TIMEOUT]
        data.shared.sessions.expire(agent.entry_id, timeout_minutes=timeout, now=now)

    agent.async_on_unload(async_track_time_interval(hass, expire, timedelta(hours=1)))
    if data.owns_memory and (interval := read_span(data.settings[CONF_MEMORY_CLEANUP])):

        async def tidy(now: datetime) -> None:
            await data.memories.async_tidy(now)

        agent.async_on_unload(async_track_time_interval(hass, tidy, interval))


@callback
def _report_extraction(hass: HomeAssistant, agent: Agent) -> None:
    """Raise a repair issue where an external model was to note what is remembered and is switched off."""
    settings, issue_id = agent.runtime_data.settings, f"extraction_llm_off_{agent.entry_id}"
    # Which model notes what is remembered is an option of the connection.
    notes = settings[CONF_MEMORY] and settings[CONF_MEMORY_EXTRACTION]
    wanted = notes and not isinstance(agent, FurtherAgent)
    external = settings[CONF_MEMORY_EXTRACTION_LLM] == EXTRACTION_EXTERNAL
    if not wanted or not external or agent.runtime_data.extractor.model == EXTRACTION_EXTERNAL:
        withdraw(hass, issue_id)
        return
    report(hass, issue_id, "extraction_llm_off", fix={"entry_id": agent.entry_id}, title=agent.title)


def build(hass: HomeAssistant, entry: AgentConfig) -> HomeAgentData:
    """Put the parts of an entry together; nothing is read yet, and parts.py has loaded the optional ones."""
    return assemble(hass, AgentParts(hass, entry, entry.entry_id))


def assemble(hass: HomeAssistant, parts: AgentParts) -> HomeAgentData:
    """Return an agent made of its parts."""
    announcer = Announcer(hass, parts.connection_id, parts.members, parts.emitter)
    return HomeAgentData(
        settings=parts.settings,
        shared=parts.shared,
        house=parts.house,
        emitter=parts.emitter,
        router=parts.router,
        handler=parts.handler,
        policy=parts.policy,
        data_policy=parts.data_policy,
        confirmations=parts.confirmations,
        throttle=Throttle(parts.settings[CONF_AUTOMATION_TURNS]),
        context=parts.context,
        prompt=parts.prompt,
        tool_schemas=parts.tool_schemas,
        own_tools=parts.own_tools,
        outgoing=parts.outgoing,
        entry_id=parts.id,
        owns_memory=parts.owns_memory,
        semantic=parts.semantic,
        library=parts.library,
        memories=parts.memories,
        profile=parts.profile,
        planned=parts.planned,
        planned_runs=PlannedRuns(
            parts.handler,
            parts.planned,
            parts.emitter,
            announcer.async_announce,
            announcer.async_tell_planned,
        ),
        turns=parts.turns,
        asker=parts.asker,
        log=ConversationLog(hass, parts.id, enabled=parts.settings[CONF_CONVERSATION_LOG]),
        turn_log=parts.shared.turn_logs[parts.id].configure(parts.settings),
        extractor=parts.extractor(),
        summaries=parts.summaries(),
        learner=parts.learner,
        suggested=parts.suggested,
        make_proactive=parts.async_proactive,
        indexer=parts.indexer(),
        warmer=parts.warmer(),
    )


PROBED: Final = (CONF_PROBED_CONTEXT_SIZE, CONF_PROBED_TOOL_CALLING)
"""What was learned of a model."""
ONCE: Final = {CONF_PROACTIVE: False, CONF_LEARNING: False}
"""What the first agent does for the whole household."""


def further_agent(entry: HomeAgentConfigEntry, subentry: ConfigSubentry) -> FurtherAgent:
    """Return an agent with the connection and the household's options of an entry, and options of its own."""
    own = {key: value for key, value in subentry.data.items() if key in AGENT_KEYS}
    household = {key: value for key, value in entry.options.items() if key not in AGENT_KEYS}
    data = dict(entry.data)
    if (model := subentry.data.get(CONF_MODEL)) and model != data[CONF_MODEL]:
        data = {key: value for key, value in data.items() if key not in PROBED}
        data |= {key: subentry.data[key] for key in (CONF_MODEL, *PROBED) if key in subentry.data}
    shared = shares_memory(subentry.data)
    options = {**household, **own, **ONCE, CONF_SHARED_MEMORY: shared}
    if not shared:
        name = household.get(CONF_MEMORY_COLLECTION, DEFAULTS[CONF_MEMORY_COLLECTION])
        options[CONF_MEMORY_COLLECTION] = f"{name}_{subentry.subentry_id.lower()}"
    return FurtherAgent(config_entry=entry, subentry=subentry, data=data, options=options)


def shares_memory(stored: Mapping[str, Any]) -> bool:
    """Return whether a further agent uses the household's memory.

    One that sees a part of the home only must not repeat what was said about the rest, unless somebody wants
    that.
    """
    chosen = stored.get(CONF_SHARED_MEMORY)
    return not AllowList.of(stored.get(CONF_VISIBLE)).narrows if chosen is None else bool(chosen)


def build_further(hass: HomeAssistant, agent: FurtherAgent, first: HomeAgentData) -> HomeAgentData:
    """Put the parts of a further agent together: its own ones, and those of the connection."""
    return assemble(hass, FurtherParts(hass, agent, first))


class FurtherParts(AgentParts):
    """The parts of a further agent. It shares the model server, the index and the household's texts."""

    def __init__(self, hass: HomeAssistant, agent: FurtherAgent, first: HomeAgentData) -> None:
        super().__init__(hass, agent, first.entry_id)
        self._first = first
        self.owns_memory = not self.settings[CONF_SHARED_MEMORY]

    @cached_property
    @override
    def router(self) -> Router:
        """The first agent's way to its model, or one of its own to another model on the same server."""
        if self.settings[CONF_MODEL] == self._first.settings[CONF_MODEL]:
            return self._first.router
        return super().router

    @cached_property
    @override
    def semantic(self) -> SemanticIndex:
        """The index of the connection; what an agent may see of it is decided where it is read."""
        return self._first.semantic

    @cached_property
    @override
    def library(self) -> Library:
        """The household's own texts."""
        return self._first.library

    @cached_property
    @override
    def memories(self) -> Memories:
        """The household's memories, or its own."""
        return super().memories if self.owns_memory else self._first.memories

    @cached_property
    @override
    def profile(self) -> Profile:
        """The household's profiles, or its own."""
        return super().profile if self.owns_memory else self._first.profile

    @override
    def indexer(self) -> Indexer:
        """Return the one indexer of the connection."""
        return self._first.indexer

    @override
    async def async_proactive(self) -> Proactive:
        """Return what the connection says unasked: that is about the household, not about an agent."""
        return await self._first.async_proactive()


KEPT_DAYS: Final = 30
ISSUE: Final = "memories_kept"


async def async_forget_removed(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Forget the further agents of a connection that were removed since it was set up last."""
    shared = hass.data[DATA_SHARED]
    known = {entry.entry_id, *entry.subentries}
    gone = [agent_id for agent_id in shared.agents.of_connection(entry.entry_id) if agent_id not in known]
    for agent_id in gone:
        await async_forget_agent(hass, shared, agent_id, entry.entry_id)
    for store in shared.stores if gone else ():
        await store.async_flush()


async def async_forget_agent(
    hass: HomeAssistant, shared: SharedData, agent_id: str, heir: str | None = None
) -> None:
    """Delete what an agent kept; its memories and profiles stay if there are any.

    Its assistants use Home Assistant's own agent from then on. What is known of the automations that it
    made, which stay, goes to the agent `heir`; without one nothing is kept.
    """
    record = shared.agents.of(agent_id)
    entity_id = conversation_entity(hass, agent_id)
    await async_fall_back(hass, {agent_id, entity_id, record.entity_id})
    await ConversationLog(hass, agent_id, enabled=False).async_clear()
    withdraw_all(hass, agent_id)
    shared.history.clear(agent_id, None)
    shared.sessions.clear(agent_id)
    shared.turn_logs.pop(agent_id, None)
    if heir is not None:
        shared.automations.of(heir).inherit(shared.automations.of(agent_id))
    remembering = (shared.memories, shared.profiles, shared.agents)
    for store in shared.stores:
        if isinstance(store, EntryStore) and store not in remembering:
            store.forget(agent_id)
    if heir is not None and any(_kept(shared, agent_id).values()):
        record.note_removed()
        report_kept(hass, shared, agent_id)
    else:
        _erase(hass, shared, agent_id)


def _kept(shared: SharedData, agent_id: str) -> Mapping[str, int]:
    return {
        "memories": len(shared.memories.of(agent_id).records()),
        "profile": len(shared.profiles.of(agent_id).records()),
    }


@callback
def report_kept(hass: HomeAssistant, shared: SharedData, agent_id: str) -> None:
    """Ask in a repair issue what becomes of the memories of a removed agent."""
    record = shared.agents.of(agent_id)
    removed = record.removed_at or dt_util.utcnow()
    counts = _kept(shared, agent_id)
    report(
        hass,
        f"{ISSUE}_{agent_id}",
        ISSUE,
        fix={"agent_id": agent_id},
        title=record.title,
        memories=str(counts["memories"]),
        profile=str(counts["profile"]),
        until=str(dt_util.as_local(removed + timedelta(days=KEPT_DAYS)).date()),
    )


async def async_look_after_kept(hass: HomeAssistant, now: datetime) -> None:
    """Erase memories of agents that were removed long ago, and ask about the others."""
    shared = hass.data[DATA_SHARED]
    for agent_id, record in shared.agents.removed().items():
        if record.removed_at is not None and now - record.removed_at >= timedelta(days=KEPT_DAYS):
            await async_erase_kept(hass, agent_id)
        else:
            report_kept(hass, shared, agent_id)


async def async_erase_kept(hass: HomeAssistant, agent_id: str) -> None:
    """Erase the memories of a removed agent, on disk as well."""
    shared = hass.data[DATA_SHARED]
    _erase(hass, shared, agent_id)
    for store in (shared.memories, shared.profiles, shared.agents):
        await store.async_flush()
        await store.async_forget_set_aside(agent_id)


async def async_give_kept(hass: HomeAssistant, agent_id: str, to: Agent) -> None:
    """Give the memories of a removed agent to another one, which merges what it knows already."""
    shared, data = hass.data[DATA_SHARED], to.runtime_data
    for memory in shared.memories.of(agent_id).records():
        await data.memories.async_adopt(memory)
    for entry in shared.profiles.of(agent_id).records():
        await data.profile.async_adopt(entry)
    await async_erase_kept(hass, agent_id)


@callback
def _erase(hass: HomeAssistant, shared: SharedData, agent_id: str) -> None:
    """Drop the memories of a removed agent, and what is known of it."""
    for store in (shared.memories, shared.profiles, shared.agents):
        store.forget(agent_id)
    withdraw(hass, f"{ISSUE}_{agent_id}")


@callback
def async_receivers(hass: HomeAssistant) -> list[Agent]:
    """Return the agents that can be given memories: those with a memory of their own."""
    return [agent for agent in async_agents(hass) if agent.runtime_data.owns_memory]
