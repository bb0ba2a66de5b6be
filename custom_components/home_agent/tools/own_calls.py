"""Calls of our own, in which no model has a part: to what the household has named.

Each goes to one domain, which is named here.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, CONF_ID, SERVICE_RELOAD, SERVICE_TURN_OFF, SERVICE_TURN_ON
from homeassistant.core import Context, HomeAssistant

from ..errors import ToolExecutionError
from .run import taking_turns

NOTIFY: Final = "notify"
SATELLITE: Final = "assist_satellite"
AUTOMATION: Final = "automation"
TELEGRAM: Final = "telegram_bot"

SECONDS: Final[Mapping[str, int]] = {NOTIFY: 10, SATELLITE: 60, AUTOMATION: 30, TELEGRAM: 30}
"""How long each may take; an announcement is spoken to its end."""


async def async_notify(hass: HomeAssistant, service: str, data: Mapping[str, Any], context: Context) -> None:
    """Send words of our own to a notify target of the options. Raises ToolExecutionError."""
    await _async_call(hass, NOTIFY, service, data, context)


async def async_announce(hass: HomeAssistant, entity_id: str, message: str) -> None:
    """Say a fixed text on the satellite where a person has asked for it. Raises ToolExecutionError."""
    data = {ATTR_ENTITY_ID: entity_id, "message": message}
    async with taking_turns(hass, (entity_id,)):
        await _async_call(hass, SATELLITE, "announce", data, Context())


async def async_ask_question(hass: HomeAssistant, entity_id: str, question: str) -> str:
    """Ask on a satellite and return what was heard.

    Raises ToolExecutionError if nobody has answered, or if the satellite cannot ask.
    """
    data = {ATTR_ENTITY_ID: entity_id, "question": question}
    async with taking_turns(hass, (entity_id,)):
        answer = await _async_call(hass, SATELLITE, "ask_question", data, Context(), answers=True)
    return str(answer.get("sentence") or "")


async def async_reload_automation(hass: HomeAssistant, automation_id: str, context: Context) -> None:
    """Have one automation loaded that an administrator has approved. Raises ToolExecutionError."""
    await _async_call(hass, AUTOMATION, SERVICE_RELOAD, {CONF_ID: automation_id}, context)


async def async_switch_automation(hass: HomeAssistant, entity_id: str, context: Context, *, on: bool) -> None:
    """Switch an automation on or off for an administrator. Raises ToolExecutionError."""
    service = SERVICE_TURN_ON if on else SERVICE_TURN_OFF
    await _async_call(hass, AUTOMATION, service, {ATTR_ENTITY_ID: entity_id}, context)


async def async_telegram(
    hass: HomeAssistant, service: str, data: Mapping[str, Any], *, answers: bool = False
) -> dict[str, Any]:
    """Call a service of the Telegram bot for a chat of the options; return its response where one is wanted.

    Raises ToolExecutionError.
    """
    return await _async_call(hass, TELEGRAM, service, data, Context(), answers=answers)


async def _async_call(
    hass: HomeAssistant,
    domain: str,
    service: str,
    data: Mapping[str, Any],
    context: Context,
    *,
    answers: bool = False,
) -> dict[str, Any]:
    """Call a service. Raises ToolExecutionError for whatever goes wrong: these raise anything."""
    try:
        async with asyncio.timeout(SECONDS[domain]):
            response = await hass.services.async_call(
                domain, service, dict(data), blocking=True, context=context, return_response=answers
            )
    except Exception as err:
        raise ToolExecutionError(f"{domain}.{service}: {str(err) or type(err).__name__}") from err
    return dict(response or {})
