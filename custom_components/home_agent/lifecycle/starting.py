"""What each agent starts when its connection is set up: the first one and further ones."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import EVENT_HOMEASSISTANT_STOP
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from .. import const
from ..channels.phones import PhoneChannel
from ..config.schemas import AGENT_KEYS
from ..const import DEFAULTS, DOMAIN
from ..conversations.history import ConversationLog
from ..entity import conversation_entity
from ..issues import report, withdraw, withdraw_all
from ..knowledge.house import AllowList
from ..runtime import DATA_SHARED, Agent, FurtherAgent, HomeAgentConfigEntry, SharedData
from ..safety.spoken_numbers import prepare as prepare_numbers
from ..settings import NAMING, async_part, names_things, settings_of
from ..store import EntryStore
from ..timespans import read_span
from ..watching.automations import async_watch_automations
from ..watching.pipelines import async_watch_pipelines
from . import async_agents, ids_of
from .assistants import async_fall_back
from .llm_api import async_register_own_api


async def async_start_agent(hass: HomeAssistant, agent: Agent) -> None:
    """Start what the entities of an agent need before they are added."""
    data, settings = agent.runtime_data, agent.runtime_data.settings
    sessions = data.shared.sessions.of(agent.entry_id)
    sessions.set_persistence(enabled=settings[const.CONF_SESSION_PERSISTENCE])
    data.confirmations.async_start()
    phones = PhoneChannel(hass, data.confirmations, settings[const.CONF_NOTIFY_TARGETS], data.emitter)
    agent.async_on_unload(phones.async_start())
    agent.async_on_unload(data.asker.async_stop)
    agent.async_on_unload(data.alarms.async_start())
    if settings[const.CONF_PANEL]:
        await (await async_part(hass, "panel.websocket")).async_show(hass, agent)
    else:
        await async_hide_panel(hass)
    async_register_own_api(hass, agent)

    # An external model was to note what is remembered, which is an option of the connection, and is off.
    notes = settings[const.CONF_MEMORY] and settings[const.CONF_MEMORY_EXTRACTION]
    outside = settings[const.CONF_MEMORY_EXTRACTION_LLM] == const.EXTRACTION_EXTERNAL
    is_off = outside and data.extractor.model != const.EXTRACTION_EXTERNAL
    issue_id = f"extraction_llm_off_{agent.entry_id}"
    if notes and is_off and not isinstance(agent, FurtherAgent):
        report(hass, issue_id, "extraction_llm_off", fix={"entry_id": agent.entry_id}, title=agent.title)
    else:
        withdraw(hass, issue_id)


async def async_run_agent(hass: HomeAssistant, agent: Agent) -> None:
    """Start what goes on beside the turns of an agent, once its entities are there."""
    data = agent.runtime_data
    entity_id = conversation_entity(hass, agent.entry_id)
    data.shared.agents.of(agent.entry_id).note(ids_of(agent)[-1], agent.title, entity_id)
    if data.confirmations.has_pin:
        hass.async_add_executor_job(prepare_numbers)

    async def tidy(now: datetime) -> None:
        days = data.settings[const.CONF_HISTORY_RETENTION_DAYS]
        data.shared.history.prune(days, agent.entry_id)
        if days > 0:
            data.turn_log.prune(now - timedelta(days=days))
        data.shared.sessions.of(agent.entry_id).expire(data.settings[const.CONF_SESSION_TIMEOUT], now)
        await data.log.async_prune(days)
        if not isinstance(agent, FurtherAgent):
            await async_look_after_kept(hass, now)

    agent.async_create_background_task(hass, tidy(dt_util.utcnow()), "home_agent tidying")
    agent.async_on_unload(async_track_time_interval(hass, tidy, timedelta(hours=1)))
    if data.owns_memory and (interval := read_span(data.settings[const.CONF_MEMORY_CLEANUP])):

        async def forget_old(now: datetime) -> None:
            await data.memories.async_tidy(now)

        agent.async_on_unload(async_track_time_interval(hass, forget_old, interval))

    async def count(_hass: HomeAssistant) -> None:
        agent.async_on_unload(data.planned.async_start(data.planned_runs.async_run))

    agent.async_on_unload(async_at_started(hass, count))
    agent.async_on_unload(hass.bus.async_listen_once(EVENT_HOMEASSISTANT_STOP, data.turns.stop))
    agent.async_on_unload(data.extractor.stop)
    agent.async_on_unload(data.summaries.stop)
    agent.async_on_unload(async_watch_pipelines(hass, agent))
    agent.async_on_unload(async_watch_automations(hass, agent))
    if names_things(data.settings):
        part = await async_part(hass, "watching.unmatched")
        agent.async_on_unload(part.async_watch_names(hass, agent))
    else:
        for key in NAMING:
            withdraw(hass, f"{key}_{agent.entry_id}")


async def async_hide_panel(hass: HomeAssistant) -> None:
    """Take the panel away where no agent wants it any more."""
    entries = hass.config_entries.async_entries(DOMAIN, include_disabled=False)
    wanted = any(settings_of(entry)[const.CONF_PANEL] for entry in entries)
    if hass.data[DATA_SHARED].panel_address is not None and not wanted:
        await (await async_part(hass, "panel.websocket")).async_hide(hass)


PROBED: Final = (const.CONF_PROBED_CONTEXT_SIZE, const.CONF_PROBED_TOOL_CALLING)
"""What was learned of a model."""
ONCE: Final = {const.CONF_PROACTIVE: False, const.CONF_LEARNING: False}
"""What the first agent does for the whole household."""


def further_agent(entry: HomeAgentConfigEntry, subentry: ConfigSubentry) -> FurtherAgent:
    """Return an agent with the connection and the household's options of an entry, and options of its own."""
    own = {key: value for key, value in subentry.data.items() if key in AGENT_KEYS}
    household = {key: value for key, value in entry.options.items() if key not in AGENT_KEYS}
    data = dict(entry.data)
    if (model := subentry.data.get(const.CONF_MODEL)) and model != data[const.CONF_MODEL]:
        data = {key: value for key, value in data.items() if key not in PROBED}
        data |= {key: subentry.data[key] for key in (const.CONF_MODEL, *PROBED) if key in subentry.data}
    shared = shares_memory(subentry.data)
    options = {**household, **own, **ONCE, const.CONF_SHARED_MEMORY: shared}
    if not shared:
        name = household.get(const.CONF_MEMORY_COLLECTION, DEFAULTS[const.CONF_MEMORY_COLLECTION])
        options[const.CONF_MEMORY_COLLECTION] = f"{name}_{subentry.subentry_id.lower()}"
    return FurtherAgent(config_entry=entry, subentry=subentry, data=data, options=options)


def shares_memory(stored: Mapping[str, Any]) -> bool:
    """Return whether a further agent uses the household's memory.

    One that sees a part of the home only must not repeat what was said about the rest, unless somebody wants
    that.
    """
    chosen = stored.get(const.CONF_SHARED_MEMORY)
    return not AllowList.of(stored.get(const.CONF_VISIBLE)).narrows if chosen is None else bool(chosen)


KEPT_DAYS: Final = 30
ISSUE: Final = "memories_kept"


async def async_forget_removed(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Forget the further agents of a connection that were removed since it was set up last."""
    shared = hass.data[DATA_SHARED]
    gone = shared.agents.of_connection(entry.entry_id).keys() - {entry.entry_id, *entry.subentries}
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
    shared.turn_logs.pop(agent_id, None)
    if heir is not None:
        shared.automations.of(heir).inherit(shared.automations.of(agent_id))
    remembering = (shared.memories, shared.profiles, shared.agents)
    for store in shared.stores:
        if isinstance(store, EntryStore) and store not in remembering:
            store.forget(agent_id)
    if heir is not None and any(shared.kept_of(agent_id)):
        record.note_removed()
        report_kept(hass, shared, agent_id)
    else:
        _erase(hass, shared, agent_id)


@callback
def report_kept(hass: HomeAssistant, shared: SharedData, agent_id: str) -> None:
    """Ask in a repair issue what becomes of the memories of a removed agent."""
    record = shared.agents.of(agent_id)
    removed = record.removed_at or dt_util.utcnow()
    memories, profile = shared.kept_of(agent_id)
    report(
        hass,
        f"{ISSUE}_{agent_id}",
        ISSUE,
        fix={"agent_id": agent_id},
        title=record.title,
        memories=str(len(memories)),
        profile=str(len(profile)),
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
    memories, profile = shared.kept_of(agent_id)
    for memory in memories:
        await data.memories.async_adopt(memory)
    for entry in profile:
        await data.profile.async_adopt(entry)
    await async_erase_kept(hass, agent_id)


@callback
def _erase(hass: HomeAssistant, shared: SharedData, agent_id: str) -> None:
    for store in (shared.memories, shared.profiles, shared.agents):
        store.forget(agent_id)
    withdraw(hass, f"{ISSUE}_{agent_id}")


@callback
def async_receivers(hass: HomeAssistant) -> list[Agent]:
    """Return the agents that can be given memories: those with a memory of their own."""
    return [agent for agent in async_agents(hass) if agent.runtime_data.owns_memory]
