"""What an agent is set to: its connection and its options, with the defaults filled in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from homeassistant.helpers.llm import LLM_API_ASSIST

from .agent_options import CONF_CONTROLLABLE, CONF_VISIBLE
from .const import CONF_LLM_APIS
from .defaults import defaults_of
from .runtime import AgentConfig


def settings_of(entry: AgentConfig) -> Mapping[str, Any]:
    """Return connection and options of an entry, with defaults filled in."""
    settings = {**defaults_of(entry.options), **entry.data, **entry.options}
    if settings[CONF_VISIBLE] or settings[CONF_CONTROLLABLE]:
        # Assist's own tools read and reach everything that is exposed.
        settings[CONF_LLM_APIS] = [api for api in settings[CONF_LLM_APIS] if api != LLM_API_ASSIST]
    return MappingProxyType(settings)
