"""What a provider of context gets and gives."""

from dataclasses import dataclass
from typing import Protocol

from ...knowledge.house import HouseSnapshot
from ...knowledge.speaker import Speaker
from ..budget import Budget
from ..catalogue import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """The sentence that context is wanted for."""

    sentence: str
    speaker: Speaker
    house: HouseSnapshot
    budget: Budget
    catalogue: Catalogue
    """What the model sees anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One part of the volatile block."""

    heading: str
    lines: tuple[str, ...]
    entity_ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the heading with its lines; nothing where there are none."""
        return "\n".join((self.heading, *self.lines)) if self.lines else ""


class ContextProvider(Protocol):
    """Finds one part of the volatile block."""

    name: str

    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Build what the first sentence would have to wait for."""
        ...

    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the slot for a sentence; it may raise, which costs the slot and nothing else."""
        ...
