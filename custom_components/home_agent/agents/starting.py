"""What each agent starts when its connection is set up: the first one and further ones."""

from datetime import datetime, timedelta

from homeassistant.const import EVENT_HOMEASSISTANT_STOP
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from ..channels.phones import NotificationChannel, PhoneChannel
from ..const import (
    CONF_HISTORY_RETENTION_DAYS,
    CONF_MEMORY,
    CONF_MEMORY_CLEANUP,
    CONF_MEMORY_EXTRACTION,
    CONF_MEMORY_EXTRACTION_LLM,
    CONF_NOTIFY_TARGETS,
    CONF_SESSION_PERSISTENCE,
    CONF_SESSION_TIMEOUT,
    DOMAIN,
    EXTRACTION_EXTERNAL,
)
from ..entity import conversation_entity
from ..issues import report, withdraw
from ..parts import NAMING, async_part, is_panel_enabled, names_things
from ..runtime import DATA_SHARED, Agent, FurtherAgent
from ..safety.spoken_numbers import prepare as prepare_numbers
from ..settings import settings_of
from ..timespans import read_span
from ..watching.automations import async_watch_automations
from ..watching.pipelines import PipelineWatch
from . import ids_of
from .llm_api import async_register_own_api
from .removal import async_look_after_kept


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
        agent.async_on_unload(data.timers.async_start(data.announcer.async_announce))
        agent.async_on_unload(data.planned.async_start(data.planned_runs.async_run))

    agent.async_on_unload(async_at_started(hass, count))
    agent.async_on_unload(hass.bus.async_listen_once(EVENT_HOMEASSISTANT_STOP, data.turns.stop))
    agent.async_on_unload(data.extractor.stop)
    agent.async_on_unload(data.summarizer.queue.stop)
    agent.async_on_unload(PipelineWatch(hass, agent).async_start())
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
