"""Home Agent: an agent for Home Assistant that a household talks to."""

from datetime import datetime

from homeassistant.const import (
    EVENT_HOMEASSISTANT_FINAL_WRITE,
    EVENT_HOMEASSISTANT_STOP as EVENT_HOMEASSISTANT_STOP,
    Platform,
)
from homeassistant.core import CALLBACK_TYPE, Event, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import (
    async_call_later,
    async_track_time_interval as async_track_time_interval,
)
from homeassistant.helpers.start import async_at_started
from homeassistant.helpers.typing import ConfigType
from homeassistant.util import dt as dt_util

from . import domains, languages
from .agent_records import AgentRecords
from .agents import agents_of
from .agents.llm_api import async_register_own_api as async_register_own_api
from .agents.starting import (
    async_forget_agent,
    async_forget_removed,
    async_hide_panel,
    async_look_after_kept,
    async_run_agent,
    async_start_agent,
    async_stop_agent,
    build,
)
from .channels.phones import NotificationChannel as NotificationChannel, PhoneChannel as PhoneChannel
from .const import (
    CONF_DEBUG_LOGGING,
    CONF_EMIT_EVENTS,
    CONF_HISTORY_RETENTION_DAYS as CONF_HISTORY_RETENTION_DAYS,
    CONF_MEMORY as CONF_MEMORY,
    CONF_MEMORY_CLEANUP as CONF_MEMORY_CLEANUP,
    CONF_MEMORY_EXTRACTION as CONF_MEMORY_EXTRACTION,
    CONF_MEMORY_EXTRACTION_LLM as CONF_MEMORY_EXTRACTION_LLM,
    CONF_NOTIFY_TARGETS as CONF_NOTIFY_TARGETS,
    CONF_SESSION_PERSISTENCE as CONF_SESSION_PERSISTENCE,
    CONF_SESSION_TIMEOUT as CONF_SESSION_TIMEOUT,
    CONF_TELEGRAM,
    DEFAULTS,
    DOMAIN,
    EVENT_HISTORY_SAVED,
    EXTRACTION_EXTERNAL as EXTRACTION_EXTERNAL,
    LOGGER,
)
from .conversations.history import ConversationHistoryManager
from .conversations.sessions import ConversationSessionManager
from .event_data import HistorySaved
from .events import EventEmitter
from .knowledge.house import House
from .knowledge.indexer import HouseKnowledge
from .knowledge.library import async_remove_library
from .knowledge.search import async_remove_files
from .logs import set_debug_logging
from .memory.learner.observations import ObservationStore, async_forget_learned
from .memory.memories import MemoryManager
from .memory.profile import ProfileManager
from .parts import (
    NAMING as NAMING,
    async_load_parts,
    async_part,
    is_panel_enabled as is_panel_enabled,
    is_proactive_enabled,
    names_things as names_things,
)
from .planned.scheduler import PlannedStore
from .proactive.state import ProactiveStore
from .regex import compile_all
from .runtime import DATA_SHARED, FurtherAgent, HomeAgentConfigEntry, SharedData
from .safety.confirmation import ConfirmationStore
from .safety.journal import JournalStore
from .self_test_reports import SelfTestStore
from .services import async_setup_services
from .services.tools import async_load_custom_tools
from .settings import settings_of
from .timespans import read_span as read_span
from .tools.automating.kept import AutomationStore
from .tools.custom import CONFIG_SCHEMA as CUSTOM_TOOLS_SCHEMA
from .usage import UsageStore
from .watching.server import ServerWatch

CONFIG_SCHEMA = CUSTOM_TOOLS_SCHEMA

PLATFORMS = (
    Platform.AI_TASK,
    Platform.BINARY_SENSOR,
    Platform.BUTTON,
    Platform.CONVERSATION,
    Platform.SENSOR,
)

CALM_SECONDS = 20
"""How long registries have to be quiet before the prompt is read ahead again."""


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Set up what all entries share, and the services."""
    await languages.async_load(hass)
    await domains.async_load(hass)

    @callback
    def saved(data: HistorySaved) -> None:
        """Tell that the file of all agents was written, if any of them tells such things."""
        entries = hass.config_entries.async_entries(DOMAIN)
        wanted = any(entry.options.get(CONF_EMIT_EVENTS, DEFAULTS[CONF_EMIT_EVENTS]) for entry in entries)
        EventEmitter(hass, wanted).fire(EVENT_HISTORY_SAVED, data)

    history = ConversationHistoryManager(hass, on_saved=saved)
    house = House(hass)
    shared = SharedData(
        house=house,
        knowledge=HouseKnowledge(hass, house),
        history=history,
        sessions=ConversationSessionManager(hass, lambda *ids: bool(history.find(*ids).turns)),
        journals=JournalStore(hass),
        confirmations=ConfirmationStore(hass),
        memories=MemoryManager(hass),
        profiles=ProfileManager(hass),
        observations=ObservationStore(hass),
        proactive=ProactiveStore(hass),
        planned=PlannedStore(hass),
        automations=AutomationStore(hass),
        usage=UsageStore(hass),
        self_tests=SelfTestStore(hass),
        agents=AgentRecords(hass),
    )
    hass.data[DATA_SHARED] = shared
    await async_load_custom_tools(hass, config)
    await shared.house.async_start()
    for store in shared.stores:
        await store.async_load()
    await async_look_after_kept(hass, dt_util.utcnow())
    async_setup_services(hass)
    return True


async def async_migrate_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Migrate an entry of an earlier version, or of another integration with this domain."""
    migrated: bool = await (await async_part(hass, "config.migration")).async_migrate(hass, entry)
    return migrated


async def async_setup_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Set up the agents of a connection. Its model server is checked in the background.

    Much of an agent works without it.
    """
    await async_load_parts(hass, settings_of(entry))
    await async_forget_removed(hass, entry)
    data = entry.runtime_data = build(hass, entry)
    set_debug_logging(entry.entry_id, wanted=data.settings[CONF_DEBUG_LOGGING])
    await data.library.async_load()
    entry.async_on_unload(data.shared.knowledge.async_use())
    if entry.subentries:
        await _async_build_further(hass, entry)
    agents = agents_of(entry)
    for agent in agents:
        await async_start_agent(hass, agent)
    if data.settings[CONF_TELEGRAM]:
        telegram = await async_part(hass, "channels.telegram")
        entry.async_on_unload(telegram.TelegramBridge(hass, entry).async_start())
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    hass.async_add_executor_job(compile_all)
    _report_language(hass.config.language)
    entry.async_on_unload(ServerWatch(hass, entry).async_start())
    entry.async_on_unload(entry.add_update_listener(_async_reload))

    if data.learner is not None:
        entry.async_on_unload(data.learner.async_start())
    else:
        await async_forget_learned(data.shared.observations.of(entry.entry_id), data.memories)

    proactive = await data.async_proactive() if is_proactive_enabled(data.settings) else None

    async def warm(hass: HomeAssistant) -> None:
        entry.async_create_background_task(hass, data.indexer.async_start(), "home_agent index")
        entry.async_create_background_task(hass, _async_prepare(entry), "home_agent warm start")
        entry.async_on_unload(_warm_after_changes(hass, entry))
        if proactive is not None:
            entry.async_on_unload(proactive.async_start())

    entry.async_on_unload(async_at_started(hass, warm))
    _write_at_the_end(hass, entry)
    for agent in agents:
        await async_run_agent(hass, agent)
    return True


async def _async_build_further(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    part = await async_part(hass, "agents.starting")
    for subentry in entry.subentries.values():
        agent: FurtherAgent = part.further_agent(entry, subentry)
        await async_load_parts(hass, settings_of(agent))
        agent.runtime_data = part.build_further(hass, agent, entry.runtime_data)
        agent.runtime_data.first = entry.runtime_data
        entry.runtime_data.further[agent.entry_id] = agent


async def _async_prepare(entry: HomeAgentConfigEntry) -> None:
    """Prepare all agents; the server reads the prompt of the first one ahead, others would replace it."""
    await entry.runtime_data.async_prepare()
    for agent in entry.runtime_data.further.values():
        await agent.runtime_data.handler.async_prepare()


@callback
def _write_at_the_end(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Write vectors when Home Assistant stops: entries are not unloaded then."""
    data = entry.runtime_data

    async def write(_event: Event) -> None:
        await data.indexer.async_stop()
        await data.semantic.async_close()

    entry.async_on_unload(hass.bus.async_listen_once(EVENT_HOMEASSISTANT_FINAL_WRITE, write))


def _report_language(language: str) -> None:
    """Log which checks are stricter because the words of Home Assistant's language are missing."""
    for section, effect in languages.gaps(language):
        LOGGER.warning("No %s for the language %s: %s", section, language, effect)


@callback
def _warm_after_changes(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> CALLBACK_TYPE:
    """Prepare again once the home has not changed for a while; return a function that stops this."""
    data = entry.runtime_data
    timer: list[CALLBACK_TYPE] = []

    @callback
    def prepare(_now: datetime) -> None:
        timer.clear()
        entry.async_create_background_task(hass, _async_prepare(entry), "home_agent warm start")

    job = HassJob(prepare, cancel_on_shutdown=True)

    @callback
    def wait() -> None:
        stop()
        timer.append(async_call_later(hass, CALM_SECONDS, job))

    @callback
    def stop() -> None:
        while timer:
            timer.pop()()

    unsubscribe = data.shared.house.async_listen(wait)

    @callback
    def end() -> None:
        unsubscribe()
        stop()

    return end


async def async_unload_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Stop an agent; what it remembers is written."""
    set_debug_logging(entry.entry_id, wanted=False)
    for agent in agents_of(entry):
        agent.runtime_data.turns.stop()
    if unloaded := await hass.config_entries.async_unload_platforms(entry, PLATFORMS):
        await entry.runtime_data.indexer.async_stop()
        await entry.runtime_data.semantic.async_close()
        await entry.runtime_data.library.async_flush()
        for agent in agents_of(entry):
            await async_stop_agent(agent)
        for store in entry.runtime_data.shared.stores:
            await store.async_flush()
        await async_hide_panel(hass)
    return unloaded


async def async_remove_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Forget the agents of a connection that is removed; the files go with the last one."""
    await async_remove_files(hass, entry.entry_id)
    await async_remove_library(hass, entry.entry_id)
    if shared := hass.data.get(DATA_SHARED):
        known = hass.config_entries.async_entries(DOMAIN)
        others = [other.entry_id for other in known if other.entry_id != entry.entry_id]
        agent_ids = {entry.entry_id, *entry.subentries, *shared.agents.of_connection(entry.entry_id)}
        if not others:
            agent_ids |= shared.agents.removed().keys()
        if not (record := shared.agents.of(entry.entry_id)).title:
            record.note(entry.entry_id, entry.title, None)
        for agent_id in agent_ids:
            await async_forget_agent(hass, shared, agent_id, next(iter(others), None))
        for store in shared.stores:
            await (store.async_flush() if others else store.async_remove())
            for removed in agent_ids if others else (None,):
                await store.async_forget_set_aside(removed)
        await async_hide_panel(hass)


async def _async_reload(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    await hass.config_entries.async_reload(entry.entry_id)
