"""What an agent is set to: connection and options with their defaults, and the modules that these want."""

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final, Protocol

from homeassistant.core import HomeAssistant
from homeassistant.helpers.importlib import async_import_module
from homeassistant.helpers.llm import LLM_API_ASSIST

from .const import (
    CONF_ANNOUNCE_EXCLUDED,
    CONF_CONTROLLABLE,
    CONF_DEVICE_PERSONS,
    CONF_DIRECT_ENTITIES,
    CONF_LEARNING,
    CONF_LLM_APIS,
    CONF_MEMORY,
    CONF_NOTIFY_TARGETS,
    CONF_PANEL,
    CONF_PERSONA,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PROFILES,
    CONF_PROACTIVE_RULES,
    CONF_PROMPT_ADDITIONS,
    CONF_PROMPT_USE_DEFAULT,
    CONF_QUICK_CONFIRMATIONS,
    CONF_SEARCH_PROVIDER,
    CONF_TELEGRAM_CHATS,
    CONF_VISIBLE,
    DEFAULTS,
    DOMAIN,
    POLICY_RULES,
    SEARCH_NONE,
)


class AgentConfig(Protocol):
    """What an agent is built from: a config entry, or what the config flow has so far."""

    @property
    def entry_id(self) -> str:
        """Return the id under which the agent stores its data."""

    @property
    def title(self) -> str:
        """Return the name of the agent."""

    @property
    def data(self) -> Mapping[str, Any]:
        """Return the connection."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Return the options."""


def settings_of(entry: AgentConfig) -> Mapping[str, Any]:
    """Return connection and options of an entry, with defaults filled in."""
    settings = {**defaults_of(entry.options), **entry.data, **entry.options}
    others = [api for api in settings[CONF_LLM_APIS] if not is_own_api(api)]
    if settings[CONF_VISIBLE] or settings[CONF_CONTROLLABLE]:
        # Assist's own tools read and reach everything that is exposed.
        others = [api for api in others if api != LLM_API_ASSIST]
    settings[CONF_LLM_APIS] = others
    return MappingProxyType(settings)


def defaults_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults beside what is stored.

    A household that wrote how the agent talks hears the model, also after a plain command.
    """
    texts = (stored.get(key) or "" for key in (CONF_PERSONA, CONF_PROMPT_ADDITIONS))
    is_own = any(text.strip() for text in texts) or not stored.get(CONF_PROMPT_USE_DEFAULT, True)
    return {**DEFAULTS, CONF_QUICK_CONFIRMATIONS: not is_own}


def is_own_api(api_id: str) -> bool:
    """Return whether an LLM API is that of one of our agents."""
    return api_id == DOMAIN or api_id.startswith(f"{DOMAIN}_")


type Settings = Mapping[str, Any]


def is_learning_enabled(settings: Settings) -> bool:
    """Return whether habits are to be learned."""
    return bool(settings[CONF_MEMORY] and settings[CONF_LEARNING])


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
    "panel.websocket": lambda settings: bool(settings[CONF_PANEL]),
    "tools.search": lambda settings: bool(settings[CONF_SEARCH_PROVIDER] != SEARCH_NONE),
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
