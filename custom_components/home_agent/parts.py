"""Parts that load only where the options want them, and never on the event loop."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.importlib import async_import_module

from .agent_options import CONF_ANNOUNCE_EXCLUDED, CONF_CONTROLLABLE, CONF_VISIBLE
from .const import (
    CONF_DEVICE_PERSONS,
    CONF_DIRECT_ENTITIES,
    CONF_EXTERNAL,
    CONF_LEARNING,
    CONF_MEMORY,
    CONF_NOTIFY_TARGETS,
    CONF_PANEL,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PROFILES,
    CONF_PROACTIVE,
    CONF_PROACTIVE_RULES,
    CONF_SEARCH_PROVIDER,
    CONF_TELEGRAM_CHATS,
    POLICY_RULES,
    SEARCH_NONE,
)

type Settings = Mapping[str, Any]


def is_external_model_enabled(settings: Settings) -> bool:
    """Return whether a second model is wanted."""
    return bool(settings[CONF_EXTERNAL])


def is_learning_enabled(settings: Settings) -> bool:
    """Return whether habits are to be learned."""
    return bool(settings[CONF_MEMORY] and settings[CONF_LEARNING])


def is_search_enabled(settings: Settings) -> bool:
    """Return whether a search service is chosen."""
    return bool(settings[CONF_SEARCH_PROVIDER] != SEARCH_NONE)


def is_proactive_enabled(settings: Settings) -> bool:
    """Return whether anything is to be said unasked."""
    return bool(settings[CONF_PROACTIVE])


def is_panel_enabled(settings: Settings) -> bool:
    """Return whether the agent is shown in the sidebar's panel."""
    return bool(settings[CONF_PANEL])


NAMING: Final = {
    "rules_unmatched": (
        *(*POLICY_RULES, CONF_POLICY_CHOICES, CONF_POLICY_PROFILES),
        *(CONF_VISIBLE, CONF_CONTROLLABLE),
    ),
    "names_unmatched": (
        *(CONF_DIRECT_ENTITIES, CONF_DEVICE_PERSONS),
        *(CONF_NOTIFY_TARGETS, CONF_TELEGRAM_CHATS, CONF_ANNOUNCE_EXCLUDED, CONF_PROACTIVE_RULES),
    ),
}
"""Options with entities, devices, persons or actions, by the repair issue that lists missing ones."""


def names_things(settings: Settings) -> bool:
    """Return whether the options name anything that may stop to exist."""
    return any(settings[option] for options in NAMING.values() for option in options)


PARTS: Final[Mapping[str, Callable[[Settings], bool]]] = {
    "memory.learner.learner": is_learning_enabled,
    "panel.websocket": is_panel_enabled,
    "tools.outside.search_services": is_search_enabled,
    "watching.unmatched": names_things,
}
"""Modules, and which options want them. What they alone import loads with them."""


async def async_load_parts(hass: HomeAssistant, settings: Settings) -> None:
    """Load what the options want; from then on these modules are imported without a look at the disk."""
    for name, wanted in PARTS.items():
        if wanted(settings):
            await async_part(hass, name)


async def async_part(hass: HomeAssistant, name: str) -> ModuleType:
    """Return a module of the integration."""
    return await async_import_module(hass, f"{__package__}.{name}")
