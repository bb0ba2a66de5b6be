"""What an agent is set to: its connection and its options, with the defaults filled in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from homeassistant.helpers.llm import LLM_API_ASSIST

from .agent_options import CONF_CONTROLLABLE, CONF_VISIBLE
from .const import (
    CONF_LLM_APIS,
    CONF_PERSONA,
    CONF_PROMPT_ADDITIONS,
    CONF_PROMPT_USE_DEFAULT,
    CONF_QUICK_CONFIRMATIONS,
    DEFAULTS,
    DOMAIN,
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
