"""One announcement at a time on each device, and none into a conversation that is going on there."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final

from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN

PATIENCE: Final = 10
"""Seconds for which an announcement waits for the end of a conversation."""
BUSY: Final = frozenset({"listening", "processing", "responding"})
"""States of a satellite that somebody talks to; an announcement would end that."""

_LOCKS: Final[HassKey[dict[str, asyncio.Lock]]] = HassKey(f"{DOMAIN}.speaking")


@asynccontextmanager
async def taking_turns(hass: HomeAssistant, entity_ids: Iterable[str]) -> AsyncGenerator[None]:
    """Let some devices speak, once each of them is free."""
    locks = hass.data.setdefault(_LOCKS, {})
    async with AsyncExitStack() as stack:
        for entity_id in sorted(set(entity_ids)):
            await stack.enter_async_context(locks.setdefault(entity_id, asyncio.Lock()))
            await _async_wait_until_free(hass, entity_id)
        yield


async def _async_wait_until_free(hass: HomeAssistant, entity_id: str) -> None:
    free = asyncio.Event()

    @callback
    def note(event: Event[EventStateChangedData]) -> None:
        state = event.data["new_state"]
        if state is None or state.state not in BUSY:
            free.set()

    stop = async_track_state_change_event(hass, entity_id, note)
    try:
        state = hass.states.get(entity_id)
        if state is not None and state.state in BUSY:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await free.wait()
    finally:
        stop()
