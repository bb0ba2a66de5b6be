"""Diagnostics: the configuration of an agent, without keys, addresses or conversations."""

from collections.abc import Mapping
from typing import Any, Final

import yarl

from homeassistant.components.diagnostics import REDACTED
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.template import is_template_string

from .connection import is_cloud, queue_length
from .const import CONF_API_KEY, CONF_BASE_URL, CONF_FALLBACK_BASE_URL, CONF_LLM_APIS, CONF_TOOLS_DISABLED
from .runtime import HomeAgentData
from .safety.redaction import is_secret

PUBLIC_LISTS: Final = frozenset({CONF_LLM_APIS, CONF_TOOLS_DISABLED})
"""Lists without names of this home."""
PRIVATE_TEXTS: Final = (
    *("_url", "_host", "_hosts", "_headers", "_username", "_database", "_org", "_tenant", "_collection"),
    *("name", "persona", "_custom", "_additions", "_description", "_keywords"),
)
"""Ends of the keys of texts that are private though they are no secrets."""


async def async_get_config_entry_diagnostics(hass: HomeAssistant, entry: ConfigEntry) -> dict[str, Any]:
    """Return diagnostics without private data."""
    data: HomeAgentData | None = getattr(entry, "runtime_data", None)
    key = entry.data.get(CONF_API_KEY, "")
    return {
        "entry": {
            "version": f"{entry.version}.{entry.minor_version}",
            "state": entry.state.value,
            "source": entry.source,
        },
        "server": _server(entry.data[CONF_BASE_URL]),
        "queue": queue_length(hass, entry.data[CONF_BASE_URL]),
        "key": ("template" if is_template_string(key) else "plain") if key else "none",
        "data": _shown(entry.data),
        "options": _shown(entry.options),
        "fallback": _server(url) if (url := entry.options.get(CONF_FALLBACK_BASE_URL)) else None,
        "entities": [
            {"domain": registered.domain, "disabled": registered.disabled}
            for registered in er.async_entries_for_config_entry(er.async_get(hass), entry.entry_id)
        ],
        **_running(data),
        "index": _index(data) if data else None,
        "further_agents": [
            {"options": _shown(agent.subentry.data), **_running(agent.runtime_data)}
            for agent in (data.further.values() if data else ())
        ],
        "agents": len(hass.config_entries.async_entries(entry.domain)),
    }


def _shown(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without private values: numbers, switches and choices are left."""
    return {
        key: REDACTED if value and key not in PUBLIC_LISTS and _is_private(key, value) else value
        for key, value in options.items()
    }


def _is_private(key: str, value: object) -> bool:
    if isinstance(value, str):
        return is_secret(key) or key.endswith(PRIVATE_TEXTS) or key.startswith("policy_")
    return not isinstance(value, bool | int | float)


def _running(data: HomeAgentData | None) -> dict[str, Any]:
    """Return how well tool calls fitted and how many commands are planned, without what they do."""
    if data is None:
        return {"tool_quality": None, "planned": None}
    commands = data.planned.commands()
    planned = {
        "commands": sum(not command.restores for command in commands),
        "repeated": sum(bool(command.schedule.days) for command in commands),
        "to_restore": sum(command.restores for command in commands),
    }
    return {"tool_quality": data.quality.as_dict(), "planned": planned}


def _index(data: HomeAgentData) -> dict[str, Any]:
    """Return the status of the index, without server messages, which may contain addresses."""
    last_sync = data.indexer.last_sync
    return {
        "configured": data.semantic.configured,
        "state": data.indexer.state.value,
        "entries": data.indexer.size,
        "last_sync": last_sync.isoformat() if last_sync else None,
        "faults": {part.value: fault.issue for part, fault in data.semantic.faults.items()},
    }


def _server(address: str) -> dict[str, Any]:
    """Return a description of a server's address that does not reveal where it is."""
    url = yarl.URL(address)
    versioned = url.path.rstrip("/").endswith("/v1")
    return {"scheme": url.scheme, "port": url.port, "ends_with_v1": versioned, "cloud": is_cloud(address)}
