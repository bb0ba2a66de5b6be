"""What a store of vectors does, wherever it keeps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # numpy is loaded where vectors are in use, and only there
    import numpy as np
    import numpy.typing as npt

type Vector = npt.NDArray[np.float32]
"""One embedding, one dimension, of length 1."""
type Value = str | int | float | bool


class StoreProblem(StrEnum):
    """Why a store could not do what it was asked."""

    UNAVAILABLE = "unavailable"
    """It does not answer; later it may."""
    REFUSED = "refused"
    """Key, tenant or right to write is wrong; a person has to do something."""
    MISSING = "missing"
    """There is no such collection."""
    DIMENSION = "dimension"
    """The collection holds vectors of another length."""
    INVALID = "invalid"
    """It answered what cannot be read, or took offence at the request."""


class VectorStoreError(Exception):
    """A store failed; `detail` is short and holds no key."""

    def __init__(self, problem: StoreProblem, detail: str) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail


class Entry(NamedTuple):
    """One text with its vector, as it is kept."""

    id: str
    text: str
    vector: Vector
    content_hash: str
    """Of the text and the metadata: what is kept already is not embedded again."""
    metadata: Mapping[str, Value] = MappingProxyType({})


class Hit(NamedTuple):
    """One answer of a search."""

    id: str
    text: str
    similarity: float
    """Cosine similarity, cut to 0-1; higher is closer."""
    metadata: Mapping[str, Value]


def check_maker(fingerprint: str | None, made_by: str | None) -> None:
    """Raise VectorStoreError where another embedder than `made_by` filled a collection, if both are known."""
    if fingerprint is not None and made_by is not None and fingerprint != made_by:
        raise VectorStoreError(StoreProblem.DIMENSION, f"the collection was made by {fingerprint}")


class VectorStore(Protocol):
    """Collections of vectors. Every method may raise VectorStoreError."""

    async def async_start(self) -> None:
        """Reach the store or read its files."""

    async def async_collections(self) -> Mapping[str, str | None]:
        """Return the collections that are there, each with the fingerprint of the embedder that filled it."""

    async def async_create(self, collection: str, fingerprint: str) -> None:
        """Make an empty collection; one that is there is emptied.

        REFUSED where another program filled it: that one can only be read.
        """

    async def async_hashes(self, collection: str) -> Mapping[str, str]:
        """Return the content hash of each id that is kept."""

    async def async_upsert(self, collection: str, entries: Sequence[Entry]) -> None:
        """Add entries, or replace those of the same id."""

    async def async_delete(self, collection: str, ids: Collection[str]) -> None:
        """Remove entries; ids that are not there are no error."""

    async def async_search(
        self, collection: str, vector: Vector, limit: int, *, made_by: str | None = None
    ) -> list[Hit]:
        """Return the closest entries, best first; DIMENSION where an embedder but `made_by` filled it."""

    async def async_close(self) -> None:
        """Write what is not written yet and let go."""
