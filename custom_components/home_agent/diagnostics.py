"""Diagnostics: the configuration of an agent, without keys, addresses or conversations."""

from typing import Any, Final

import yarl

from homeassistant.components.diagnostics import async_redact_data
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from .agent_options import CONF_CONTROLLABLE, CONF_VISIBLE
from .connection import is_cloud, is_template, queue_length
from .const import (
    CONF_API_KEY,
    CONF_BASE_URL,
    CONF_COLLECTIONS,
    CONF_DEVICE_PERSONS,
    CONF_DIRECT_ENTITIES,
    CONF_EMBEDDING_API_KEY,
    CONF_EMBEDDING_BASE_URL,
    CONF_EXTERNAL_API_KEY,
    CONF_EXTERNAL_BASE_URL,
    CONF_FALLBACK_API_KEY,
    CONF_FALLBACK_BASE_URL,
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
    CONF_INFLUX_URL,
    CONF_INFLUX_USERNAME,
    CONF_NAME,
    CONF_NOTIFY_TARGETS,
    CONF_PERSONA,
    CONF_POLICY_ALLOWED,
    CONF_POLICY_BLOCKED,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PIN,
    CONF_POLICY_PROFILES,
    CONF_POLICY_RESTRICTED,
    CONF_PROACTIVE_RULES,
    CONF_PROMPT_ADDITIONS,
    CONF_PROMPT_CUSTOM,
    CONF_PROXY_HEADERS,
    CONF_REST_ALLOWED_HOSTS,
    CONF_SANITIZER_KEYWORDS,
    CONF_SEARCH_KEY,
    CONF_SEARCH_URL,
    CONF_TELEGRAM_CHATS,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_TENANT,
    CONF_VECTOR_TOKEN,
)
from .runtime import FurtherAgent

TO_REDACT: Final = {
    CONF_API_KEY,
    CONF_BASE_URL,
    CONF_DIRECT_ENTITIES,
    CONF_FALLBACK_API_KEY,
    CONF_FALLBACK_BASE_URL,
    CONF_NAME,
    CONF_PERSONA,
    CONF_POLICY_ALLOWED,
    CONF_POLICY_BLOCKED,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PIN,
    CONF_POLICY_PROFILES,
    CONF_POLICY_RESTRICTED,
    CONF_PROMPT_ADDITIONS,
    CONF_PROMPT_CUSTOM,
    CONF_PROXY_HEADERS,
    CONF_COLLECTIONS,
    CONF_EMBEDDING_API_KEY,
    CONF_EMBEDDING_BASE_URL,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_TENANT,
    CONF_SEARCH_KEY,
    CONF_SEARCH_URL,
    CONF_TELEGRAM_CHATS,
    CONF_SANITIZER_KEYWORDS,
    CONF_EXTERNAL_API_KEY,
    CONF_EXTERNAL_BASE_URL,
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
    CONF_INFLUX_URL,
    CONF_INFLUX_USERNAME,
    CONF_DEVICE_PERSONS,
    CONF_NOTIFY_TARGETS,
    CONF_REST_ALLOWED_HOSTS,
    CONF_PROACTIVE_RULES,
    CONF_VECTOR_TOKEN,
    CONF_VISIBLE,
    CONF_CONTROLLABLE,
}


async def async_get_config_entry_diagnostics(hass: HomeAssistant, entry: ConfigEntry) -> dict[str, Any]:
    """Return diagnostics without private data."""
    return {
        "entry": {
            "version": f"{entry.version}.{entry.minor_version}",
            "state": entry.state.value,
            "source": entry.source,
        },
        "server": _server(entry.data[CONF_BASE_URL]),
        "queue": queue_length(hass, entry.data[CONF_BASE_URL]),
        "key": _kind_of_key(entry.data.get(CONF_API_KEY, "")),
        "data": async_redact_data(dict(entry.data), TO_REDACT),
        "options": async_redact_data(dict(entry.options), TO_REDACT),
        "fallback": _server(url) if (url := entry.options.get(CONF_FALLBACK_BASE_URL)) else None,
        "entities": [
            {"domain": registered.domain, "disabled": registered.disabled}
            for registered in er.async_entries_for_config_entry(er.async_get(hass), entry.entry_id)
        ],
        "tool_quality": _quality(entry),
        "index": _index(entry),
        "planned": _planned(entry),
        "further_agents": [
            {
                "options": async_redact_data(dict(agent.subentry.data), TO_REDACT),
                "tool_quality": _quality(agent),
                "planned": _planned(agent),
            }
            for agent in _further(entry)
        ],
        "agents": len(hass.config_entries.async_entries(entry.domain)),
    }


def _further(entry: ConfigEntry) -> list[FurtherAgent]:
    """Return the further agents; none if the entry does not run."""
    data = getattr(entry, "runtime_data", None)
    return list(data.further.values()) if data else []


def _quality(entry: ConfigEntry | FurtherAgent) -> dict[str, Any] | None:
    """Return how well tool calls fitted; nothing if the entry does not run."""
    data = getattr(entry, "runtime_data", None)
    return data.quality.as_dict() if data else None


def _planned(entry: ConfigEntry | FurtherAgent) -> dict[str, int] | None:
    """Return how many commands are planned, without what they do."""
    data = getattr(entry, "runtime_data", None)
    if data is None:
        return None
    commands = data.planned.all()
    return {
        "commands": sum(not command.restores for command in commands),
        "repeated": sum(bool(command.schedule.days) for command in commands),
        "to_restore": sum(command.restores for command in commands),
    }


def _index(entry: ConfigEntry) -> dict[str, Any] | None:
    """Return the status of the index, without server messages, which may contain addresses."""
    data = getattr(entry, "runtime_data", None)
    if data is None:
        return None
    last_sync = data.indexer.last_sync
    return {
        "configured": data.semantic.configured,
        "state": data.indexer.state.value,
        "entries": data.indexer.size,
        "last_sync": last_sync.isoformat() if last_sync else None,
        "faults": {part.value: fault.issue for part, fault in data.semantic.health.faults.items()},
    }


def _server(address: str) -> dict[str, Any]:
    """Return a description of a server's address that does not reveal where it is."""
    url = yarl.URL(address)
    versioned = url.path.rstrip("/").endswith("/v1")
    return {"scheme": url.scheme, "port": url.port, "ends_with_v1": versioned, "cloud": is_cloud(address)}


def _kind_of_key(key: str) -> str:
    """Return whether there is a key, and of which kind."""
    if not key:
        return "none"
    return "template" if is_template(key) else "plain"
