"""Makes what the guard let through: services, intents and looks through a camera.

Nothing is judged here, so only the guard and the handler may come here. Calls in which no model has a part
are in `own_calls.py`.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import probatio

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import Context, Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, Unauthorized, UnknownUser
from homeassistant.helpers import entity_registry as er, intent
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.hass_dict import HassKey

from ..const import ASSISTANT, DOMAIN, LOGGER
from ..domains import DOMAINS
from ..errors import PermissionDenied, ToolExecutionError
from ..knowledge.speaker import Speaker
from ..safety.frozen import FrozenIntent, FrozenLook, ServiceCall
from ..safety.journal import AuditKind, Journal
from ..safety.redaction import without_secrets
from .messages import heard_on
from .recipients import is_spoken

STILL_RUNNING: Final = object()
"""What is returned for a call that goes on."""
SCRIPT_SECONDS: Final = 20
"""The longest wait for a script with a response."""
BEGIN_SECONDS: Final = 3
"""The longest wait for what takes minutes, such as an update."""
PATIENCE: Final = 10
"""Seconds for which an announcement waits for the end of a conversation."""
BUSY: Final = frozenset({"listening", "processing", "responding"})
"""States of a satellite that somebody talks to; an announcement would end that."""

_LOCKS: Final[HassKey[dict[str, asyncio.Lock]]] = HassKey(f"{DOMAIN}.speaking")


async def async_make(hass: HomeAssistant, journal: Journal, call: ServiceCall, speaker: Speaker) -> Any:
    """Call a service; return the response of a script that is waited for, else None.

    Raises PermissionDenied or ToolExecutionError.
    """
    service, data = call.service, dict(call.data)
    if call.waits:  # a script that is waited for has a service of its own
        service, data = script_service(hass, call.entity_ids[0]), dict(data.get("variables") or {})
    elif call.entity_ids:
        data[ATTR_ENTITY_ID] = list(call.entity_ids)
    spoken = heard_on(call) if is_spoken(call.domain, call.service) else ()
    async with taking_turns(hass, spoken):
        with journal.acting((call,), speaker, call.data, call.already), _service_errors(call):
            made = hass.services.async_call(
                call.domain, service, data, blocking=True, context=speaker.context, return_response=call.waits
            )
            return await _async_waited(hass, call, made)


async def async_read(hass: HomeAssistant, call: ServiceCall, speaker: Speaker) -> dict[str, Any]:
    """Call a service that only answers; return what it says, by entity if it has targets.

    Raises PermissionDenied or ToolExecutionError.
    """
    is_untargeted = call.service in DOMAINS[call.domain].untargeted
    target = {} if is_untargeted else {ATTR_ENTITY_ID: list(call.entity_ids)}
    with _service_errors(call):
        answer = await hass.services.async_call(
            call.domain,
            call.service,
            {**call.data, **target},
            blocking=True,
            # Home Assistant wants the right to control for any service; to read, that to read is enough.
            context=Context(parent_id=speaker.context.id),
            return_response=True,
        )
    return dict(answer or {})


async def async_handle(hass: HomeAssistant, journal: Journal, item: FrozenIntent, speaker: Speaker) -> None:
    """Handle a confirmed intent. Raises HomeAssistantError."""
    with journal.acting(item.calls, speaker, item.slots):
        await intent.async_handle(
            hass,
            DOMAIN,
            item.intent_type,
            {name: {"value": value} for name, value in item.slots.items()},
            context=speaker.context,
            language=speaker.language,
            assistant=ASSISTANT,
            device_id=speaker.device_id,
        )


async def async_look(hass: HomeAssistant, journal: Journal, look: FrozenLook, speaker: Speaker) -> str:
    """Look through a camera, and send the picture where that is wanted. Raises ToolExecutionError."""
    seen = await look.look()
    look.seen.append(seen)
    journal.note(
        AuditKind.ACTION, speaker, service="camera.snapshot", targets=(look.entity_id,), success=True
    )
    for message in look.sends:
        try:
            await async_make(hass, journal, message, speaker)
        except (ToolExecutionError, PermissionDenied) as err:
            look.unsent.append(str(err))
    return seen


def script_service(hass: HomeAssistant, entity_id: str) -> str:
    """Return the name of the service that runs a script."""
    entry = er.async_get(hass).async_get(entity_id)
    return entry.unique_id if entry and entry.unique_id else entity_id.partition(".")[2]


@contextmanager
def _service_errors(call: ServiceCall) -> Iterator[None]:
    try:
        yield
    except (Unauthorized, UnknownUser) as err:
        raise PermissionDenied(f"The user may not use {call.domain}.{call.service}") from err
    except (HomeAssistantError, probatio.Invalid, ValueError, TypeError) as err:
        # A door may quote its code, and this goes into ledger, audit log and result.
        problem = ToolExecutionError(
            without_secrets(f"{call.domain}.{call.service} failed: {err}", call.data)
        )
        # What Home Assistant and its integrations say themselves is translated; a device says anything.
        is_own = isinstance(err, probatio.Invalid) or bool(getattr(err, "translation_key", None))
        problem.quotes = bool(str(err)) and not is_own
        raise problem from err


async def _async_waited(hass: HomeAssistant, call: ServiceCall, made: Coroutine[Any, Any, Any]) -> Any:
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
        if not ended.cancelled() and (err := ended.exception()) is not None:
            LOGGER.warning("%s failed later: %s", name, err)

    task.add_done_callback(note_failure)
    return STILL_RUNNING


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
