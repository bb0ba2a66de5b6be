"""Service calls that take long: waited for only as long as a conversation can wait."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback

from ..const import LOGGER

STILL_RUNNING: Final = object()
"""What is returned for a call that goes on."""


async def async_wait_for(
    hass: HomeAssistant, call: Coroutine[Any, Any, Any], seconds: float, name: str
) -> Any:
    """Return the result of a call, or STILL_RUNNING if it takes longer.

    It goes on in that case, and also if the caller is cancelled. Raises what the call raises meanwhile.
    """
    task = hass.async_create_background_task(call, f"home_agent {name}")
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if done:
        return task.result()

    @callback
    def note_failure(ended: asyncio.Task[Any]) -> None:
        """Log what nobody waits for any more."""
        if not ended.cancelled() and (err := ended.exception()) is not None:
            LOGGER.warning("%s failed later: %s", name, err)

    task.add_done_callback(note_failure)
    return STILL_RUNNING
