"""What a provider of context gets and gives."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

from homeassistant.core import HomeAssistant

from ...knowledge.house import HouseSnapshot
from ...knowledge.library import HouseholdTexts
from ...knowledge.semantic import SemanticIndex
from ...knowledge.speaker import Speaker
from ...memory.memories import Memories
from ...memory.profile import Profile
from ...safety.disclosure import DataPolicy
from ...safety.firewall.firewall import Removal
from ...safety.policy import Reader
from ..catalogue import Catalogue
from ..window import Budget, lines_tokens


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


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One part of the volatile block, or of the system prompt."""

    heading: str
    lines: tuple[str, ...]
    entity_ids: tuple[str, ...] = ()
    """One for each line where the lines are entities."""
    about: tuple[str, ...] = ()
    """The entities that the sentence is clearly about, for the turn that follows."""
    query: str | None = None
    """What a vector store was asked, for the event."""
    said: bool = False
    """It was said in a conversation, possibly by an outsider."""
    reference: bool = False
    """For answering, not for control: left out first where a request is too long."""
    fixed: bool = False
    """Never shortened: clock and speaker."""
    stable: bool = False
    """It ends the system prompt and is never shortened: the same text from turn to turn."""
    outside: tuple[str, ...] | None = None
    """The lines for an external model, where they differ."""
    name: str = ""
    """What its provider is called."""
    texts: bool = False
    """Whether the lines contain texts of entities that an outsider may have written."""
    removed: tuple[Removal, ...] = ()
    """Instructions to the model that were removed from these texts."""
    scores: tuple[Mapping[str, float], ...] = ()
    """One for each line that was searched for: how well it fits, by words and by meaning."""

    def first(self, count: int) -> Self:
        """Return the slot with its first lines only."""
        ids = self.entity_ids[:count] if len(self.entity_ids) == len(self.lines) else self.entity_ids
        return replace(
            self, lines=self.lines[:count], entity_ids=ids if count else (), scores=self.scores[:count]
        )

    def for_outside(self) -> Self:
        """Return the slot as an external model may read it."""
        if self.outside is None:
            return self
        same = len(self.outside) == len(self.lines) == len(self.entity_ids)
        ids = self.entity_ids if same else ()
        scores = self.scores if len(self.outside) == len(self.lines) else ()
        return replace(self, lines=self.outside, entity_ids=ids, outside=None, scores=scores)

    @cached_property
    def tokens(self) -> int:
        """Return the tokens of the heading and the lines; a slot without lines is not sent."""
        return lines_tokens((self.heading, *self.lines)) if self.lines else 0


class ContextProvider(Protocol):
    """Finds one part of the volatile block."""

    name: str

    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Build caches that the first sentence would otherwise wait for."""
        ...

    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the slot for a sentence; it may raise, which only costs the slot."""
        ...
