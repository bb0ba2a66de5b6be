"""The vectors of one collection as the rows of a matrix, with their texts beside them.

The one module here that loads numpy; load it off the event loop.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .store import Entry, Hit, StoreProblem, Value, Vector, VectorStoreError

type Table = npt.NDArray[np.float32]

FIRST_ROWS = 64
MIN_DEAD = 64
DEAD_SHARE = 4
"""Rows are moved together when one in so many is dead."""
WALKED_AT_ONCE = 4
"""Rows looked at first, for each one asked for, when the metadata has to fit."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is kept beside a vector."""

    id: str
    text: str
    content_hash: str
    metadata: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class State:
    """What a search sees. Rows are only ever added to it; a dead one becomes None."""

    vectors: Table
    rows: list[Row | None]
    count: int
    dead: tuple[int, ...]


class Matrix:
    """Rows of unit length; writers take turns, searches may run beside them in any thread."""

    def __init__(self) -> None:
        """Start empty; the first entry decides the dimension."""
        self._numbers: dict[str, int] = {}
        self._state = State(np.empty((0, 0), np.float32), [], 0, ())

    @classmethod
    def of(cls, rows: Sequence[Row], vectors: Table) -> Matrix:
        """Return a matrix of rows that are known to be sound."""
        matrix = cls()
        matrix._numbers = {row.id: number for number, row in enumerate(rows)}
        matrix._state = State(vectors, list(rows), len(rows), ())
        return matrix

    def __len__(self) -> int:
        """Return the number of living rows."""
        return len(self._numbers)

    @property
    def size(self) -> int:
        """Return how many numbers a search multiplies."""
        return self._state.count * self.dimension

    @property
    def dimension(self) -> int:
        """Return the length of the vectors, 0 while there are none."""
        return int(self._state.vectors.shape[1])

    def hashes(self) -> dict[str, str]:
        """Return the content hash of each id."""
        rows = self._state.rows
        return {
            key: row.content_hash
            for key, number in self._numbers.items()
            if (row := rows[number]) is not None
        }

    def new(self, entries: Sequence[Entry]) -> int:
        """Return how many of these entries have an id that is not kept yet."""
        return len({entry.id for entry in entries} - self._numbers.keys())

    def upsert(self, entries: Sequence[Entry]) -> None:
        """Add entries or replace those of the same id, all or none. Raises VectorStoreError."""
        entries = list({entry.id: entry for entry in entries}.values())
        if not entries:
            return
        added = self._unit_vectors(entries)
        state = self._state
        count = state.count + len(entries)
        vectors = state.vectors
        if count > len(vectors):
            vectors = np.empty((max(FIRST_ROWS, 2 * len(vectors), count), added.shape[1]), np.float32)
            vectors[: state.count] = state.vectors[: state.count] if state.count else 0
        vectors[state.count : count] = added
        state.rows.extend(
            Row(entry.id, entry.text, entry.content_hash, dict(entry.metadata)) for entry in entries
        )
        replaced = [self._numbers[entry.id] for entry in entries if entry.id in self._numbers]
        self._numbers.update((entry.id, state.count + offset) for offset, entry in enumerate(entries))
        self._replace(State(vectors, state.rows, count, state.dead + tuple(replaced)), replaced)

    def delete(self, ids: Collection[str]) -> bool:
        """Remove rows; return whether any of them was there."""
        gone = [number for key in dict.fromkeys(ids) if (number := self._numbers.pop(key, None)) is not None]
        state = self._state
        self._replace(State(state.vectors, state.rows, state.count, state.dead + tuple(gone)), gone)
        return bool(gone)

    def search(self, vector: Vector, limit: int, where: Mapping[str, Value] | None = None) -> list[Hit]:
        """Return the closest rows, best first. Raises VectorStoreError."""
        state = self._state
        if limit < 1 or state.count == len(state.dead):
            return []
        query = np.asarray(vector, np.float32)
        if query.shape != (state.vectors.shape[1],):
            raise _other_dimension(state.vectors.shape[1], query.shape)
        length = float(np.linalg.norm(query))
        if not np.isfinite(length):
            raise VectorStoreError(StoreProblem.INVALID, "the vector holds what is no number")
        query = query / np.float32(length or 1)
        # Row by row: a product of matrices is spread over threads, and those wait for busy processors.
        scores: npt.NDArray[np.float32] = np.vecdot(state.vectors[: state.count], query)
        scores[list(state.dead)] = -np.inf
        wanted = [*where.items()] if where else []
        hits: list[Hit] = []
        for number in _best_first(scores, limit * (WALKED_AT_ONCE if wanted else 1)):
            if scores[number] == -np.inf:
                break
            row = state.rows[number]
            if row is not None and all(_same(row.metadata.get(key), value) for key, value in wanted):
                similarity = min(1.0, max(0.0, float(scores[number])))
                hits.append(Hit(id=row.id, text=row.text, similarity=similarity, metadata=row.metadata))
                if len(hits) == limit:
                    break
        return hits

    def living(self) -> tuple[list[Row], Table]:
        """Return all living rows and their vectors."""
        state = self._state
        kept = [(number, row) for number, row in enumerate(state.rows[: state.count]) if row is not None]
        if len(kept) == state.count:
            return [row for _, row in kept], state.vectors[: state.count]
        return [row for _, row in kept], state.vectors[[number for number, _ in kept]]

    def _replace(self, state: State, gone: Sequence[int]) -> None:
        """Show a new state to searches, with the dead rows forgotten."""
        self._state = state
        for number in gone:
            state.rows[number] = None
        if len(state.dead) > max(MIN_DEAD, state.count // DEAD_SHARE):
            rows, vectors = self.living()
            self._numbers = {row.id: number for number, row in enumerate(rows)}
            self._state = State(vectors, [*rows], len(rows), ())

    def _unit_vectors(self, entries: Sequence[Entry]) -> Table:
        """Return the vectors of entries as rows of length 1. Raises VectorStoreError."""
        shapes = {np.shape(entry.vector) for entry in entries}
        expected = self.dimension or np.size(entries[0].vector)
        if shapes != {(expected,)} or not expected:
            raise _other_dimension(expected, next(iter(shapes - {(expected,)}), (0,)))
        vectors = np.stack([entry.vector for entry in entries]).astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise VectorStoreError(StoreProblem.INVALID, "a vector holds what is no number")
        unit: Table = vectors / np.where(lengths == 0, np.float32(1), lengths)
        return unit


def _best_first(scores: npt.NDArray[np.float32], first: int) -> Iterator[int]:
    """Yield the numbers of rows by score, sorting no more of them than are likely to be looked at."""
    if first >= len(scores):
        yield from np.argsort(-scores, kind="stable").tolist()
        return
    best = np.argpartition(-scores, first)[:first]
    yield from best[np.argsort(-scores[best], kind="stable")].tolist()
    shown = set(best.tolist())
    yield from (number for number in np.argsort(-scores, kind="stable").tolist() if number not in shown)


def _same(kept: Value | None, wanted: Value) -> bool:
    """Tell whether values are equal and of one kind: 1 is neither true nor "1"."""
    return type(kept) is type(wanted) and kept == wanted


def _other_dimension(expected: int, shape: tuple[int, ...]) -> VectorStoreError:
    """Return the error about a vector of another length."""
    given = "x".join(map(str, shape))
    return VectorStoreError(StoreProblem.DIMENSION, f"vectors of {expected} numbers are kept, not of {given}")
