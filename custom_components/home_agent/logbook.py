"""Logbook: the requests that an agent received, and the questions that it asked.

The states that it changed carry the context of the request, so the logbook names agent and user beside them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from homeassistant.components.logbook.const import (
    LOGBOOK_ENTRY_CONTEXT_ID,
    LOGBOOK_ENTRY_ENTITY_ID,
    LOGBOOK_ENTRY_MESSAGE,
    LOGBOOK_ENTRY_NAME,
)
from homeassistant.components.logbook.models import LazyEventPartialState
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.util.event_type import EventType

from .agent.describe import async_phrase, phrase
from .const import (
    DOMAIN,
    EVENT_CONFIRMATION_REQUESTED,
    EVENT_CONFIRMATION_RESOLVED,
    EVENT_CONVERSATION_STARTED,
)
from .entity import conversation_entity

TITLE: Final = "Home Agent"

type Describe = Callable[[LazyEventPartialState], dict[str, Any]]


@callback
def async_describe_events(
    hass: HomeAssistant, async_describe_event: Callable[[str, EventType[Any], Describe], None]
) -> None:
    """Describe the events that the logbook shows."""
    # The sentences are looked up at once when they are shown, so they are loaded before.
    hass.async_create_task(async_phrase(hass, hass.config.language, "logbook_request"), "home_agent logbook")
    say = partial(phrase, hass, hass.config.language)
    messages: Mapping[Any, Callable[[Mapping[str, Any]], str]] = {
        EVENT_CONVERSATION_STARTED: partial(_request, hass),
        EVENT_CONFIRMATION_REQUESTED: lambda data: say(
            "logbook_question", question=str(data.get("summary", ""))
        ),
        EVENT_CONFIRMATION_RESOLVED: lambda data: say(f"outcome_{data.get('outcome')}"),
    }

    @callback
    def describe(event: LazyEventPartialState) -> dict[str, Any]:
        agent, entry_id = event.data.get("subentry_id"), event.data.get("config_entry_id")
        entry = hass.config_entries.async_get_entry(entry_id) if entry_id else None
        titled = (entry.subentries.get(agent) if agent else entry) if entry else None
        shown = {
            LOGBOOK_ENTRY_NAME: (titled.title if titled else "") or TITLE,
            LOGBOOK_ENTRY_MESSAGE: messages[event.event_type](event.data),
            LOGBOOK_ENTRY_CONTEXT_ID: event.context_id,
        }
        if entry:
            shown[LOGBOOK_ENTRY_ENTITY_ID] = conversation_entity(hass, agent or entry.entry_id)
        return shown

    for event_type in messages:
        async_describe_event(DOMAIN, event_type, describe)


@callback
def _request(hass: HomeAssistant, data: Mapping[str, Any]) -> str:
    user_id, device_id = data.get("user_id"), data.get("device_id")
    persons = hass.states.async_all("person") if user_id else ()
    who = next((state.name for state in persons if state.attributes.get("user_id") == user_id), None)
    if not who and device_id and (device := dr.async_get(hass).async_get(device_id)):
        who = device.name_by_user or device.name
    if who:
        return phrase(hass, hass.config.language, "logbook_request_from", who=who)
    return phrase(hass, hass.config.language, "logbook_request")
