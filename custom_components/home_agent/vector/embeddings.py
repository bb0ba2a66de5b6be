"""What turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .store import Vector


class EmbeddingError(Exception):
    """Texts could not be embedded; `detail` is short and holds no key."""

    def __init__(self, detail: str) -> None:
        """Say what is wrong."""
        super().__init__(detail)
        self.detail = detail


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    @property
    def fingerprint(self) -> str:
        """Which model this is, without its dimension: vectors of another one cannot be compared."""
        ...

    async def async_embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, in order. Raises EmbeddingError."""
        ...
