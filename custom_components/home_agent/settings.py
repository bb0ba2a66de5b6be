"""What an agent is set to: its connection and its options, with the defaults filled in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from homeassistant.helpers.llm import LLM_API_ASSIST

from .agent_options import CONF_CONTROLLABLE, CONF_VISIBLE
from .const import CONF_LLM_APIS, DOMAIN
from .defaults import defaults_of
from .runtime import AgentConfig


def settings_of(entry: AgentConfig) -> Mapping[str, Any]:
    """Return connection and options of an entry, with defaults filled in."""
    settings = {**defaults_of(entry.options), **entry.data, **entry.options}
    others = [api for api in settings[CONF_LLM_APIS] if not is_own_api(api)]
    if settings[CONF_VISIBLE] or settings[CONF_CONTROLLABLE]:
        # Assist's own tools read and reach everything that is exposed.
        others = [api for api in others if api != LLM_API_ASSIST]
    settings[CONF_LLM_APIS] = others
    return MappingProxyType(settings)


def is_own_api(api_id: str) -> bool:
    """Return whether an LLM API is that of one of our agents."""
    return api_id == DOMAIN or api_id.startswith(f"{DOMAIN}_")
