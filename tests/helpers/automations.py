"""Automations on a real `hass` that tell what started them."""

from typing import Any

from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from homeassistant.core import Context, Event, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.household import async_lock_door
from tests.servers.model_server import ModelServer

SEEN = "seen_by_automation"


async def async_household(hass: HomeAssistant, server: ModelServer, admin: MockUser, **options: Any) -> Agent:
    """Set up an agent in a house where Anna is the administrator; its door is locked."""
    await hass.config.async_set_time_zone("UTC")
    admin.name = "Anna"
    people = [{"id": "anna", "name": "Anna", "user_id": admin.id}, {"id": "ben", "name": "Ben"}]
    assert await async_setup_component(hass, "person", {"person": people})
    agent = await async_agent(hass, server, {"memory_extraction_enabled": False, **options})
    await async_lock_door(hass)
    return agent


async def async_automate(
    hass: HomeAssistant, trigger: dict[str, Any], *conditions: dict[str, Any]
) -> list[Event[Any]]:
    """Set up an automation that fires an event with its trigger variables; return the list that fills."""
    seen = async_capture_events(hass, SEEN)
    automation = {
        "id": "watch",
        "alias": "Watch",
        "triggers": [trigger],
        "conditions": list(conditions),
        "actions": [{"event": SEEN, "event_data": {"trigger": "{{ trigger }}"}}],
    }
    assert await async_setup_component(hass, "automation", {"automation": [automation]})
    await hass.async_block_till_done()
    return seen


def started_by(event: Event[Any]) -> dict[str, Any]:
    """Return the variables of the trigger."""
    return dict(event.data["trigger"])


def is_enabled(hass: HomeAssistant) -> bool:
    """Return whether Home Assistant has accepted the automation."""
    state = hass.states.get("automation.watch")
    return state is not None and state.state == "on"


def as_user(user: MockUser) -> Context:
    """Return the context of a user."""
    return Context(user_id=user.id)
