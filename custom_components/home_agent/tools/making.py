"""Calls that were let through, as Home Assistant takes them, and how long they are waited for."""

from collections.abc import Coroutine
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..domains import DOMAINS
from .base import ServiceCall
from .waiting import async_wait_for

SCRIPT_SECONDS: Final = 20
"""The longest wait for a script with a response."""
BEGIN_SECONDS: Final = 3
"""The longest wait for what takes minutes, such as an update."""


def as_made(hass: HomeAssistant, call: ServiceCall) -> tuple[str, dict[str, Any]]:
    """Return service and data; a script that is waited for has a service of its own."""
    if call.waits:
        return script_service(hass, call.entity_ids[0]), dict(call.data.get("variables") or {})
    targets = {ATTR_ENTITY_ID: list(call.entity_ids)} if call.entity_ids else {}
    return call.service, {**call.data, **targets}


async def async_waited(hass: HomeAssistant, call: ServiceCall, made: Coroutine[Any, Any, Any]) -> Any:
    """Return the response of a call, or STILL_RUNNING where it takes longer than can be waited for."""
    if call.waits:
        return await async_wait_for(hass, made, SCRIPT_SECONDS, call.entity_ids[0])
    if call.service in DOMAINS[call.domain].lasting:
        return await async_wait_for(hass, made, BEGIN_SECONDS, f"{call.domain}.{call.service}")
    return await made


def script_service(hass: HomeAssistant, entity_id: str) -> str:
    """Return the name of the service that runs a script."""
    entry = er.async_get(hass).async_get(entity_id)
    return entry.unique_id if entry and entry.unique_id else entity_id.partition(".")[2]
