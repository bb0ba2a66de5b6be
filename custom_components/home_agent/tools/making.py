"""Calls that were let through: how they are made, in turn where they are heard, and waited for."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import probatio

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, Unauthorized, UnknownUser
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN, LOGGER
from ..domains import DOMAINS
from ..errors import PermissionDenied, ToolExecutionError
from ..safety.frozen import ServiceCall
from ..safety.redaction import without_secrets

STILL_RUNNING: Final = object()
"""What is returned for a call that goes on."""


@contextmanager
def translate_service_errors(call: ServiceCall) -> Iterator[None]:
    """Raise what a service raises as PermissionDenied or ToolExecutionError."""
    try:
        yield
    except (Unauthorized, UnknownUser) as err:
        raise PermissionDenied(f"The user may not use {call.domain}.{call.service}") from err
    except (HomeAssistantError, probatio.Invalid, ValueError, TypeError) as err:
        # A door may quote its code, and this goes into ledger, audit log and result.
        problem = f"{call.domain}.{call.service} failed: {err}"
        raise ToolExecutionError(without_secrets(problem, call.data)) from err


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
            free = asyncio.Event()

            @callback
            def note(event: Event[EventStateChangedData], free: asyncio.Event = free) -> None:
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
        yield


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
    """Return the response of a call, or STILL_RUNNING where it takes longer than can be waited for.

    It goes on in that case, and also if the caller is cancelled. Raises what the call raises meanwhile.
    """
    if call.waits:
        seconds, name = SCRIPT_SECONDS, call.entity_ids[0]
    elif call.service in DOMAINS[call.domain].lasting:
        seconds, name = BEGIN_SECONDS, f"{call.domain}.{call.service}"
    else:
        return await made
    task = hass.async_create_background_task(made, f"home_agent {name}")
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


def script_service(hass: HomeAssistant, entity_id: str) -> str:
    """Return the name of the service that runs a script."""
    entry = er.async_get(hass).async_get(entity_id)
    return entry.unique_id if entry and entry.unique_id else entity_id.partition(".")[2]
