"""Home Agent: an agent for Home Assistant that a household talks to."""

import logging

from homeassistant.const import EVENT_HOMEASSISTANT_FINAL_WRITE, Platform
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.helpers.start import async_at_started
from homeassistant.helpers.typing import ConfigType
from homeassistant.util import dt as dt_util

from . import domains, languages
from .const import CONF_DEBUG_LOGGING, CONF_PROACTIVE, CONF_TELEGRAM, DOMAIN, LOGGER
from .idle import Calm
from .knowledge.library import async_remove_library
from .knowledge.search import async_remove_files
from .lifecycle import agents_of
from .lifecycle.starting import (
    async_forget_agent,
    async_forget_removed,
    async_hide_panel,
    async_look_after_kept,
    async_run_agent,
    async_start_agent,
    further_agent,
)
from .memory.learner.observations import async_forget_learned
from .regex import compile_all
from .runtime import DATA_SHARED, HomeAgentConfigEntry, HomeAgentData, SharedData
from .services import async_setup_services
from .services.tools import async_load_custom_tools
from .settings import async_load_parts, async_part, settings_of
from .tools.custom import CONFIG_SCHEMA as CUSTOM_TOOLS_SCHEMA
from .watching.server import ServerWatch

CONFIG_SCHEMA = CUSTOM_TOOLS_SCHEMA

PLATFORMS = (
    Platform.AI_TASK,
    Platform.BINARY_SENSOR,
    Platform.BUTTON,
    Platform.CONVERSATION,
    Platform.SENSOR,
    Platform.SWITCH,
)

CALM_SECONDS = 20
"""How long after a change of the home the prompt is read ahead again."""


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Set up what all entries share, and the services."""
    await languages.async_load(hass)
    await domains.async_load(hass)

    shared = hass.data[DATA_SHARED] = SharedData(hass)
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
    data = entry.runtime_data = HomeAgentData(hass, entry)

    @callback
    def end_debug_logging() -> None:
        """Log as before, unless another entry wants details."""
        others = (other for other in hass.config_entries.async_loaded_entries(DOMAIN) if other is not entry)
        if not any(other.runtime_data.settings[CONF_DEBUG_LOGGING] for other in others):
            LOGGER.setLevel(logging.NOTSET)

    if data.settings[CONF_DEBUG_LOGGING]:
        LOGGER.setLevel(logging.DEBUG)
        entry.async_on_unload(end_debug_logging)
    await data.library.async_load()
    entry.async_on_unload(data.shared.knowledge.async_use())
    for subentry in entry.subentries.values():
        further = further_agent(entry, subentry)
        await async_load_parts(hass, settings_of(further))
        further.runtime_data = HomeAgentData(hass, further, data)
        data.further[further.entry_id] = further
    agents = agents_of(entry)
    for agent in agents:
        await async_start_agent(hass, agent)
    if data.settings[CONF_TELEGRAM]:
        telegram = await async_part(hass, "channels.telegram")
        entry.async_on_unload(telegram.TelegramBridge(hass, entry).async_start())
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    hass.async_add_executor_job(compile_all)
    for section, effect in languages.gaps(hass.config.language):
        LOGGER.warning("No %s for the language %s: %s", section, hass.config.language, effect)
    entry.async_on_unload(ServerWatch(hass, entry).async_start())

    async def reload(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
        await hass.config_entries.async_reload(entry.entry_id)

    entry.async_on_unload(entry.add_update_listener(reload))
    if data.learner is not None:
        entry.async_on_unload(data.learner.async_start())
    else:
        await async_forget_learned(data.shared.observations.of(entry.entry_id), data.memories)

    proactive = await data.async_proactive() if data.settings[CONF_PROACTIVE] else None

    async def async_prepare() -> None:
        """Prepare all agents; the server reads the prompt of the first one ahead, others would replace it."""
        await data.async_prepare()
        for agent in data.further.values():
            await agent.runtime_data.handler.async_prepare()

    @callback
    def prepare() -> None:
        entry.async_create_background_task(hass, async_prepare(), "home_agent warm start")

    async def warm(hass: HomeAssistant) -> None:
        entry.async_create_background_task(hass, data.indexer.async_start(), "home_agent index")
        prepare()
        calm = Calm(hass, CALM_SECONDS, prepare)
        entry.async_on_unload(data.shared.house.async_listen(calm.wait))
        entry.async_on_unload(calm.stop)
        if proactive is not None:
            entry.async_on_unload(proactive.async_start())

    entry.async_on_unload(async_at_started(hass, warm))

    async def write(_event: Event) -> None:
        """Write vectors when Home Assistant stops: entries are not unloaded then."""
        await data.indexer.async_stop()
        await data.semantic.async_close()

    entry.async_on_unload(hass.bus.async_listen_once(EVENT_HOMEASSISTANT_FINAL_WRITE, write))
    for agent in agents:
        await async_run_agent(hass, agent)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Stop an agent; what it remembers is written."""
    for agent in agents_of(entry):
        agent.runtime_data.turns.stop()
    if unloaded := await hass.config_entries.async_unload_platforms(entry, PLATFORMS):
        await entry.runtime_data.indexer.async_stop()
        await entry.runtime_data.semantic.async_close()
        await entry.runtime_data.library.async_flush()
        for agent in agents_of(entry):
            await agent.runtime_data.log.async_flush()
            await agent.runtime_data.confirmations.async_stop()
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
