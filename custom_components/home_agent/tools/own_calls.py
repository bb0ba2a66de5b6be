"""Calls of our own, in which no model has a part: to what the household has named."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from homeassistant.core import Context, HomeAssistant

from ..errors import ToolExecutionError

TELEGRAM: Final = "telegram_bot"
TELEGRAM_SECONDS: Final = 30


async def async_telegram(
    hass: HomeAssistant, service: str, data: Mapping[str, Any], *, answers: bool = False
) -> dict[str, Any]:
    """Call a service of the Telegram bot; return its response where one is wanted.

    Raises ToolExecutionError if that fails.
    """
    try:
        async with asyncio.timeout(TELEGRAM_SECONDS):
            response = await hass.services.async_call(
                TELEGRAM, service, dict(data), blocking=True, context=Context(), return_response=answers
            )
    except Exception as err:  # the bot's library raises anything
        raise ToolExecutionError(f"{TELEGRAM}.{service}: {str(err) or type(err).__name__}") from err
    return dict(response or {})
