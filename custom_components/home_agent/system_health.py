"""System health: which agents there are, whether their server answers, how their index is."""

import asyncio
from collections.abc import Sequence
from typing import Any

from homeassistant.components import system_health
from homeassistant.core import HomeAssistant, callback

from .connection import queue_length
from .const import CONF_BASE_URL, DOMAIN
from .inference.queue import origin
from .runtime import HomeAgentConfigEntry


@callback
def async_register(hass: HomeAssistant, register: system_health.SystemHealthRegistration) -> None:
    """Register what is shown."""

    async def info(hass: HomeAssistant) -> dict[str, Any]:
        entries: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries(DOMAIN)
        shown: dict[str, Any] = {"agents": len(entries)}
        if entries:
            shown["server"] = _async_servers(hass, entries)
            addresses = {origin(entry.data[CONF_BASE_URL]): entry.data[CONF_BASE_URL] for entry in entries}
            queues = [queue_length(hass, address) for address in addresses.values()]
            shown |= {name: sum(queue[name] for queue in queues) for name in ("running", "waiting")}
        indexers = [entry.runtime_data.indexer for entry in entries if entry.runtime_data.semantic.configured]
        shown["index"] = ", ".join(indexer.state.value for indexer in indexers) or "off"
        shown["index_entries"] = sum(indexer.size for indexer in indexers)
        return shown

    register.async_register_info(info)


async def _async_servers(hass: HomeAssistant, entries: Sequence[HomeAgentConfigEntry]) -> Any:
    check = system_health.async_check_can_reach_url
    found = await asyncio.gather(*(check(hass, entry.data[CONF_BASE_URL]) for entry in entries))
    if len(found) == 1:
        return found[0]
    told = (answer if isinstance(answer, str) else answer["error"] for answer in found)
    return ", ".join(f"{entry.title}: {answer}" for entry, answer in zip(entries, told, strict=True))
