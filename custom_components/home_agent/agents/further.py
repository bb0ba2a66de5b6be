"""Further agents on the connection of an entry: their settings, and their parts."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, override

from homeassistant.config_entries import ConfigSubentry
from homeassistant.core import HomeAssistant

from ..agent_options import CONF_SHARED_MEMORY, CONF_VISIBLE
from ..config.schemas import AGENT_KEYS
from ..const import (
    CONF_LEARNING,
    CONF_MEMORY_COLLECTION,
    CONF_MODEL,
    CONF_PROACTIVE,
    CONF_PROBED_CONTEXT_SIZE,
    CONF_PROBED_TOOL_CALLING,
    DEFAULTS,
)
from ..inference.router import Router
from ..knowledge.indexer import Indexer
from ..knowledge.library import Library
from ..knowledge.semantic import SemanticIndex
from ..knowledge.view import AllowList
from ..memory.memories import Memories
from ..memory.profile import Profile
from ..runtime import FurtherAgent, HomeAgentConfigEntry, HomeAgentData
from .building import assemble
from .parts import AgentParts

if TYPE_CHECKING:
    from ..proactive.setup import Proactive

PROBED: Final = (CONF_PROBED_CONTEXT_SIZE, CONF_PROBED_TOOL_CALLING)
"""What was learned of a model."""
ONCE: Final = {CONF_PROACTIVE: False, CONF_LEARNING: False}
"""What the first agent does for the whole household."""


def further_agent(entry: HomeAgentConfigEntry, subentry: ConfigSubentry) -> FurtherAgent:
    """Return an agent with the connection and the household's options of an entry, and options of its own."""
    own = {key: value for key, value in subentry.data.items() if key in AGENT_KEYS}
    household = {key: value for key, value in entry.options.items() if key not in AGENT_KEYS}
    data = dict(entry.data)
    if (model := subentry.data.get(CONF_MODEL)) and model != data[CONF_MODEL]:
        data = {key: value for key, value in data.items() if key not in PROBED}
        data |= {key: subentry.data[key] for key in (CONF_MODEL, *PROBED) if key in subentry.data}
    shared = shares_memory(subentry.data)
    options = {**household, **own, **ONCE, CONF_SHARED_MEMORY: shared}
    if not shared:
        name = household.get(CONF_MEMORY_COLLECTION, DEFAULTS[CONF_MEMORY_COLLECTION])
        options[CONF_MEMORY_COLLECTION] = f"{name}_{subentry.subentry_id.lower()}"
    return FurtherAgent(config_entry=entry, subentry=subentry, data=data, options=options)


def shares_memory(stored: Mapping[str, Any]) -> bool:
    """Return whether a further agent uses the household's memory.

    One that sees a part of the home only must not repeat what was said about the rest, unless somebody wants
    that.
    """
    chosen = stored.get(CONF_SHARED_MEMORY)
    return not AllowList.of(stored.get(CONF_VISIBLE)).narrows if chosen is None else bool(chosen)


def build_further(hass: HomeAssistant, agent: FurtherAgent, first: HomeAgentData) -> HomeAgentData:
    """Put the parts of a further agent together: its own ones, and those of the connection."""
    return assemble(hass, FurtherParts(hass, agent, first))


class FurtherParts(AgentParts):
    """The parts of a further agent. It shares the model server, the index and the household's texts."""

    def __init__(self, hass: HomeAssistant, agent: FurtherAgent, first: HomeAgentData) -> None:
        super().__init__(hass, agent, first.entry_id)
        self._first = first
        self.owns_memory = not self.settings[CONF_SHARED_MEMORY]

    @cached_property
    @override
    def router(self) -> Router:
        """The first agent's way to its model, or one of its own to another model on the same server."""
        if self.settings[CONF_MODEL] == self._first.settings[CONF_MODEL]:
            return self._first.router
        return super().router

    @cached_property
    @override
    def semantic(self) -> SemanticIndex:
        """The index of the connection; what an agent may see of it is decided where it is read."""
        return self._first.semantic

    @cached_property
    @override
    def library(self) -> Library:
        """The household's own texts."""
        return self._first.library

    @cached_property
    @override
    def memories(self) -> Memories:
        """The household's memories, or its own."""
        return super().memories if self.owns_memory else self._first.memories

    @cached_property
    @override
    def profile(self) -> Profile:
        """The household's profiles, or its own."""
        return super().profile if self.owns_memory else self._first.profile

    @override
    def indexer(self) -> Indexer:
        """Return the one indexer of the connection."""
        return self._first.indexer

    @override
    async def async_proactive(self) -> Proactive:
        """Return what the connection says unasked: that is about the household, not about an agent."""
        return await self._first.async_proactive()
