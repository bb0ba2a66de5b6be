"""What an agent is set to: connection and options with their defaults, and the modules that these want."""

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final, Protocol

from homeassistant.core import HomeAssistant
from homeassistant.helpers.importlib import async_import_module
from homeassistant.helpers.llm import LLM_API_ASSIST

from . import const
from .const import DEFAULTS, DOMAIN


class AgentConfig(Protocol):
    """What an agent is built from: a config entry, or a further agent."""

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
    others = [api for api in settings[const.CONF_LLM_APIS] if not is_own_api(api)]
    if settings[const.CONF_VISIBLE] or settings[const.CONF_CONTROLLABLE]:
        # Assist's own tools read and reach everything that is exposed.
        others = [api for api in others if api != LLM_API_ASSIST]
    settings[const.CONF_LLM_APIS] = others
    return MappingProxyType(settings)


def defaults_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults beside what is stored.

    A household that wrote how the agent talks hears the model, also after a plain command.
    """
    texts = (stored.get(key) or "" for key in (const.CONF_PERSONA, const.CONF_PROMPT_ADDITIONS))
    is_own = any(text.strip() for text in texts) or not stored.get(const.CONF_PROMPT_USE_DEFAULT, True)
    return {**DEFAULTS, const.CONF_QUICK_CONFIRMATIONS: not is_own}


def is_own_api(api_id: str) -> bool:
    """Return whether an LLM API is that of one of our agents."""
    return api_id == DOMAIN or api_id.startswith(f"{DOMAIN}_")


type Settings = Mapping[str, Any]


def is_learning_enabled(settings: Settings) -> bool:
    """Return whether habits are to be learned."""
    return bool(settings[const.CONF_MEMORY] and settings[const.CONF_LEARNING])


NAMING: Final = {
    "rules_unmatched": (
        *(*const.POLICY_RULES, const.CONF_POLICY_CHOICES, const.CONF_POLICY_PINS),
        *(const.CONF_VISIBLE, const.CONF_CONTROLLABLE),
    ),
    "names_unmatched": (
        *(const.CONF_DIRECT_ENTITIES, const.CONF_DEVICE_PERSONS),
        *(
            const.CONF_NOTIFY_TARGETS,
            const.CONF_TELEGRAM_CHATS,
            const.CONF_ANNOUNCE_EXCLUDED,
            const.CONF_PROACTIVE_RULES,
        ),
    ),
}
"""Options with entities, devices, persons or actions, by the repair issue that lists missing ones."""


def names_things(settings: Settings) -> bool:
    """Return whether the options name anything that may stop to exist."""
    return any(settings[option] for options in NAMING.values() for option in options)


PARTS: Final[Mapping[str, Callable[[Settings], bool]]] = {
    "memory.learner.learner": is_learning_enabled,
    "panel.websocket": lambda settings: bool(settings[const.CONF_PANEL]),
    "tools.outside.search_services": lambda settings: bool(
        settings[const.CONF_SEARCH_PROVIDER] != const.SEARCH_NONE
    ),
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
