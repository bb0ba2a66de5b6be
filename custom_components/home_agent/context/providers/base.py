"""What a provider of context gets and gives."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from homeassistant.core import HomeAssistant

from ...knowledge.house import HouseSnapshot
from ...knowledge.library import HouseholdTexts
from ...knowledge.semantic import SemanticIndex
from ...knowledge.speaker import Speaker
from ...memory.memories import Memories
from ...memory.profile import Profile
from ...safety.disclosure import DataPolicy
from ...safety.policy import Reader
from ..window import Budget, Catalogue, Slot


class ProviderSetup(NamedTuple):
    """What providers are made of."""

    hass: HomeAssistant
    settings: Mapping[str, Any]
    entry_id: str
    title: str
    """What the agent is called."""
    semantic: SemanticIndex
    texts: HouseholdTexts
    memories: Memories
    profile: Profile
    data_policy: DataPolicy


class ContextRequest(NamedTuple):
    """The sentence that context is wanted for."""

    sentence: str
    speaker: Speaker
    reader: Reader
    """What may be told of the home."""
    house: HouseSnapshot
    budget: Budget
    """Each provider keeps to its share, counted with `estimate_tokens`."""
    catalogue: Catalogue
    """What the model sees anyway."""
    before: Sequence[str] = ()
    """The entities that the turn before was about."""
    known: Collection[str] = ()
    """Ids of memories and profile entries that stand in the request anyway."""


class ContextProvider(Protocol):
    """Finds one part of the volatile block."""

    name: str

    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Build caches that the first sentence would otherwise wait for."""

    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the slot for a sentence; it may raise, which only costs the slot."""
