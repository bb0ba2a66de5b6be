"""Home Agent: an agent for Home Assistant that a household talks to."""

from datetime import datetime, timedelta

from homeassistant.const import EVENT_HOMEASSISTANT_FINAL_WRITE, EVENT_HOMEASSISTANT_STOP, Platform
from homeassistant.core import CALLBACK_TYPE, Event, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later, async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.helpers.typing import ConfigType
from homeassistant.util import dt as dt_util

from . import domains, languages
from .building import build
from .channels.phones import NotificationChannel, PhoneChannel
from .const import (
    CONF_DEBUG_LOGGING,
    CONF_EMIT_EVENTS,
    CONF_HISTORY_RETENTION_DAYS,
    CONF_MEMORY,
    CONF_MEMORY_CLEANUP,
    CONF_MEMORY_EXTRACTION,
    CONF_MEMORY_EXTRACTION_LLM,
    CONF_NOTIFY_TARGETS,
    CONF_SESSION_PERSISTENCE,
    CONF_SESSION_TIMEOUT,
    CONF_TELEGRAM,
    DEFAULTS,
    DOMAIN,
    EVENT_HISTORY_SAVED,
    EXTRACTION_EXTERNAL,
    LOGGER,
)
from .conversation_log import ConversationLog
from .event_data import HistorySaved
from .events import EventEmitter
from .history import ConversationHistoryManager
from .issues import report, withdraw, withdraw_all
from .knowledge.backends import async_remove_files
from .knowledge.house import House
from .knowledge.house_knowledge import HouseKnowledge
from .knowledge.library import async_remove_library
from .languages.tables import missing
from .llm_api import async_register_own_api
from .logs import set_debug_logging
from .memory.learner.observations import ObservationStore, async_forget_learned
from .memory.memories import MemoryManager
from .memory.profile import ProfileManager
from .memory.settings import read_span
from .parts import NAMING, async_load_parts, async_part, is_panel_enabled, is_proactive_enabled, names_things
from .pipelines import PipelineWatch, async_fall_back
from .planned.commands import PlannedStore
from .proactive.state import ProactiveStore
from .regex import compile_all
from .runtime import DATA_SHARED, HomeAgentConfigEntry, SharedData
from .safety.confirmation_store import ConfirmationStore
from .safety.journal import JournalStore
from .safety.spoken_numbers import prepare as prepare_numbers
from .self_test_reports import SelfTestStore
from .server_watch import ServerWatch
from .services import async_setup_services
from .services.tools import async_load_custom_tools
from .sessions import ConversationSessionManager
from .settings import settings_of
from .store import EntryStore
from .timers.timers import TimerStore
from .tools.custom.recipes import CONFIG_SCHEMA as CUSTOM_TOOLS_SCHEMA
from .usage import UsageStore

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
        sessions=ConversationSessionManager(hass, history.has),
        journals=JournalStore(hass),
        confirmations=ConfirmationStore(hass),
        memories=MemoryManager(hass),
        profiles=ProfileManager(hass),
        observations=ObservationStore(hass),
        proactive=ProactiveStore(hass),
        timers=TimerStore(hass),
        planned=PlannedStore(hass),
        usage=UsageStore(hass),
        self_tests=SelfTestStore(hass),
    )
    hass.data[DATA_SHARED] = shared
    await async_load_custom_tools(hass, config)
    await shared.house.async_start()
    for store in shared.stores:
        await store.async_load()
    async_setup_services(hass)
    return True


async def async_migrate_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Migrate an entry of an earlier version, or of another integration with this domain."""
    migrated: bool = await (await async_part(hass, "config.migration")).async_migrate(hass, entry)
    return migrated


async def async_setup_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Set up one agent. Its model server is checked in the background: much of an agent works without it."""
    await async_load_parts(hass, settings_of(entry))
    data = entry.runtime_data = build(hass, entry)
    set_debug_logging(entry.entry_id, wanted=data.settings[CONF_DEBUG_LOGGING])
    data.shared.sessions.set_persistence(entry.entry_id, data.settings[CONF_SESSION_PERSISTENCE])
    await data.library.async_load()
    data.confirmations.async_start()
    entry.async_on_unload(data.shared.knowledge.async_use())
    data.confirmations.channels.append(NotificationChannel(hass))
    phones = PhoneChannel(hass, data.confirmations, data.settings[CONF_NOTIFY_TARGETS], data.emitter)
    entry.async_on_unload(phones.async_start())
    if data.settings[CONF_TELEGRAM]:
        telegram = await async_part(hass, "channels.telegram.bridge")
        entry.async_on_unload(telegram.TelegramBridge(hass, entry).async_start())
    await _async_show_panel(hass, entry)
    async_register_own_api(hass, entry)
    _report_extraction(hass, entry)
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    hass.async_add_executor_job(compile_all)
    _report_language(hass.config.language)
    if data.confirmations.wants_pin:
        hass.async_add_executor_job(prepare_numbers)
    entry.async_on_unload(ServerWatch(hass, entry).async_start())
    entry.async_on_unload(entry.add_update_listener(_async_reload))

    _tidy_regularly(hass, entry)
    if data.learner is not None:
        entry.async_on_unload(data.learner.async_start())
    else:
        await async_forget_learned(data.shared.observations.of(entry.entry_id), data.memories)

    proactive = await data.async_proactive() if is_proactive_enabled(data.settings) else None

    async def warm(hass: HomeAssistant) -> None:
        entry.async_create_background_task(hass, data.indexer.async_start(), "home_agent index")
        entry.async_create_background_task(hass, data.async_prepare(), "home_agent warm start")
        entry.async_on_unload(_warm_after_changes(hass, entry))
        if proactive is not None:
            entry.async_on_unload(proactive.async_start())
        entry.async_on_unload(data.timers.async_start(data.announcer.async_announce))
        entry.async_on_unload(data.planned.async_start(data.planned_runs.async_run))

    entry.async_on_unload(async_at_started(hass, warm))
    _end_with_home_assistant(hass, entry)
    entry.async_on_unload(data.extractor.stop)
    entry.async_on_unload(data.summarizer.queue.stop)
    entry.async_on_unload(PipelineWatch(hass, entry).async_start())
    await _async_watch_names(hass, entry)
    return True


async def _async_watch_names(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Report names in the options that stop matching; where the options name nothing, nothing is loaded."""
    if names_things(entry.runtime_data.settings):
        part = await async_part(hass, "unmatched")
        entry.async_on_unload(part.async_watch_names(hass, entry))
    else:
        for key in NAMING:
            withdraw(hass, f"{key}_{entry.entry_id}")


def _report_language(language: str) -> None:
    """Log which checks are stricter because the words of Home Assistant's language are missing."""
    for section in (each for each in missing(language) if each.strict):
        LOGGER.warning("No %s for the language %s: %s", section.name, language, section.strict)


async def _async_show_panel(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Show the panel as long as an agent wants it, also while that one is reloaded."""
    if is_panel_enabled(entry.runtime_data.settings):
        await (await async_part(hass, "panel.websocket")).async_show(hass, entry)
    else:
        await _async_hide_panel(hass)


async def _async_hide_panel(hass: HomeAssistant) -> None:
    """Take the panel away where no agent wants it any more."""
    entries = hass.config_entries.async_entries(DOMAIN, include_disabled=False)
    wanted = any(map(is_panel_enabled, map(settings_of, entries)))
    if hass.data[DATA_SHARED].panel_address is not None and not wanted:
        await (await async_part(hass, "panel.websocket")).async_hide(hass)


@callback
def _end_with_home_assistant(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Break off turns when Home Assistant stops, and write vectors: entries are not unloaded then."""
    data = entry.runtime_data

    async def write(_event: Event) -> None:
        await data.indexer.async_stop()
        await data.semantic.async_close()

    listen = hass.bus.async_listen_once
    entry.async_on_unload(listen(EVENT_HOMEASSISTANT_STOP, data.turns.stop))
    entry.async_on_unload(listen(EVENT_HOMEASSISTANT_FINAL_WRITE, write))


@callback
def _tidy_regularly(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Forget conversations, sessions and memories when their time is over."""
    data = entry.runtime_data

    @callback
    def prune(*_: object) -> None:
        days = data.settings[CONF_HISTORY_RETENTION_DAYS]
        data.shared.history.prune(days, entry.entry_id)
        if days > 0:
            data.turn_log.prune(dt_util.utcnow() - timedelta(days=days))
        entry.async_create_background_task(hass, data.log.async_prune(days), "home_agent log")

    prune()
    entry.async_on_unload(async_track_time_interval(hass, prune, timedelta(days=1)))

    @callback
    def expire(now: datetime) -> None:
        timeout = data.settings[CONF_SESSION_TIMEOUT]
        data.shared.sessions.expire(entry.entry_id, timeout_minutes=timeout, now=now)

    entry.async_on_unload(async_track_time_interval(hass, expire, timedelta(hours=1)))
    if interval := read_span(data.settings[CONF_MEMORY_CLEANUP]):

        async def tidy(now: datetime) -> None:
            await data.memories.async_tidy(now)

        entry.async_on_unload(async_track_time_interval(hass, tidy, interval))


@callback
def _warm_after_changes(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> CALLBACK_TYPE:
    """Prepare again once the home has not changed for a while; return a function that stops this."""
    data = entry.runtime_data
    timer: list[CALLBACK_TYPE] = []

    @callback
    def prepare(_now: datetime) -> None:
        timer.clear()
        entry.async_create_background_task(hass, data.async_prepare(), "home_agent warm start")

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


@callback
def _report_extraction(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Raise a repair issue where an external model was to note what is remembered and is switched off."""
    settings, issue_id = entry.runtime_data.settings, f"extraction_llm_off_{entry.entry_id}"
    wanted = settings[CONF_MEMORY] and settings[CONF_MEMORY_EXTRACTION]
    external = settings[CONF_MEMORY_EXTRACTION_LLM] == EXTRACTION_EXTERNAL
    if not wanted or not external or entry.runtime_data.extractor.model == EXTRACTION_EXTERNAL:
        withdraw(hass, issue_id)
        return
    report(hass, issue_id, "extraction_llm_off", fix={"entry_id": entry.entry_id}, title=entry.title)


async def async_unload_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Stop an agent; what it remembers is written."""
    set_debug_logging(entry.entry_id, wanted=False)
    entry.runtime_data.turns.stop()
    if unloaded := await hass.config_entries.async_unload_platforms(entry, PLATFORMS):
        await entry.runtime_data.indexer.async_stop()
        await entry.runtime_data.semantic.async_close()
        await entry.runtime_data.library.async_flush()
        await entry.runtime_data.log.async_flush()
        await entry.runtime_data.confirmations.async_stop()
        for store in entry.runtime_data.shared.stores:
            await store.async_flush()
        await _async_hide_panel(hass)
    return unloaded


async def async_remove_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Forget the conversations and the index of an agent that is removed; its assistants go on without it."""
    await async_fall_back(hass, entry)
    await async_remove_files(hass, entry.entry_id)
    await async_remove_library(hass, entry.entry_id)
    await ConversationLog(hass, entry.entry_id, enabled=False).async_clear()
    withdraw_all(hass, entry.entry_id)
    if shared := hass.data.get(DATA_SHARED):
        known = hass.config_entries.async_entries(DOMAIN)
        others = any(other.entry_id != entry.entry_id for other in known)
        shared.history.clear(entry.entry_id, None)
        shared.sessions.clear(entry.entry_id)
        shared.turn_logs.pop(entry.entry_id, None)
        for store in shared.stores:
            if isinstance(store, EntryStore):
                store.forget(entry.entry_id)
            await store.async_flush()
            await store.async_forget_set_aside(entry.entry_id if others else None)
        await _async_hide_panel(hass)


async def _async_reload(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Take over changed options."""
    await hass.config_entries.async_reload(entry.entry_id)
