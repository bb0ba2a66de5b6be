"""One collection of vectors in memory, and the file that it is written to.

A file is a line of JSON that says what follows, a line of JSON for each text, and the vectors as
little-endian 32-bit numbers, row after row. This module loads numpy: import it off the event loop.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
import hashlib
import json
from pathlib import Path
import re
from typing import Any, Final, NamedTuple, Self
import zlib

import numpy as np
import numpy.typing as npt

from .store import Entry, Hit, StoreProblem, Value, Vector, VectorStoreError

type Numbers = npt.NDArray[np.float32]

FORMAT: Final = 1
SUFFIX: Final = ".vectors"
HEADER_BYTES: Final = 64 * 1024
FILE_BYTES: Final = 1 << 30
"""A larger file was not written by this integration."""
NUMBER_BYTES: Final = 4


class Row(NamedTuple):
    """What is kept beside a vector."""

    id: str
    content_hash: str
    text: str
    metadata: Mapping[str, Value]


class Table:
    """Rows and their vectors of length 1, in the same order; a change makes a new table.

    A search therefore always sees one state, and needs no lock, in any thread.
    """

    def __init__(self, fingerprint: str, rows: Sequence[Row] = (), vectors: Numbers | None = None) -> None:
        """Take rows without duplicates; the first vector decides the dimension."""
        self.fingerprint = fingerprint
        self._rows = rows
        self._vectors = np.empty((0, 0), np.float32) if vectors is None else vectors

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    @property
    def dimension(self) -> int:
        """Return the length of the vectors, 0 for a table that never had any."""
        return int(self._vectors.shape[1])

    @property
    def hashes(self) -> dict[str, str]:
        """Return the content hash of each id."""
        return {row.id: row.content_hash for row in self._rows}

    def with_entries(self, entries: Iterable[Entry]) -> Self:
        """Return the table with entries added, or in place of those of the same id.

        Raises VectorStoreError for vectors of another dimension and for values that are not numbers.
        """
        distinct = list({entry.id: entry for entry in entries}.values())
        if not distinct:
            return self
        added = self._unit_vectors(distinct)
        places = {row.id: place for place, row in enumerate(self._rows)}
        taken = [places.setdefault(entry.id, len(places)) for entry in distinct]
        rows = [*self._rows, *[None] * (len(places) - len(self))]
        for place, entry in zip(taken, distinct, strict=True):
            rows[place] = Row(entry.id, entry.content_hash, entry.text, dict(entry.metadata))
        vectors = np.empty((len(rows), added.shape[1]), np.float32)
        vectors[: len(self)] = self._vectors if len(self) else 0
        vectors[taken] = added
        return type(self)(self.fingerprint, [row for row in rows if row is not None], vectors)

    def without(self, ids: Collection[str]) -> Self:
        """Return the table without rows; the same one if it has none of them."""
        gone = frozenset(ids)
        kept = [place for place, row in enumerate(self._rows) if row.id not in gone]
        if len(kept) == len(self):
            return self
        return type(self)(self.fingerprint, [self._rows[place] for place in kept], self._vectors[kept])

    def search(self, vector: Vector, limit: int, where: Mapping[str, Value] | None = None) -> list[Hit]:
        """Return the closest rows, best first. Raises VectorStoreError."""
        if limit < 1 or not self._rows:
            return []
        query = np.asarray(vector, np.float32)
        if query.shape != (self.dimension,):
            raise _other_dimension(self.dimension, query.shape)
        length = float(np.linalg.norm(query))
        if not np.isfinite(length):
            raise VectorStoreError(StoreProblem.INVALID, "the vector holds what is no number")
        # Row by row: a product of matrices is spread over threads, and those wait for busy processors.
        scores = np.vecdot(self._vectors, query / np.float32(length or 1))
        hits: list[Hit] = []
        for place in np.argsort(-scores, kind="stable").tolist():
            row = self._rows[place]
            if where and not all(_same(row.metadata.get(key), value) for key, value in where.items()):
                continue
            similarity = min(1.0, max(0.0, float(scores[place])))
            hits.append(Hit(id=row.id, text=row.text, similarity=similarity, metadata=row.metadata))
            if len(hits) == limit:
                break
        return hits

    def _unit_vectors(self, entries: Sequence[Entry]) -> Numbers:
        """Return the vectors of entries as rows of length 1. Raises VectorStoreError."""
        shapes = {np.shape(entry.vector) for entry in entries}
        expected = self.dimension or np.size(entries[0].vector)
        if shapes != {(expected,)} or not expected:
            raise _other_dimension(expected, next(iter(shapes - {(expected,)}), (0,)))
        vectors = np.stack([entry.vector for entry in entries]).astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise VectorStoreError(StoreProblem.INVALID, "a vector holds what is no number")
        unit: Numbers = vectors / np.where(lengths == 0, np.float32(1), lengths)
        return unit

    def file_parts(self, collection: str) -> Iterable[Any]:
        """Return the parts of the file of this table."""
        texts = b"".join(map(_line, self._rows))
        numbers = np.ascontiguousarray(self._vectors, "<f4").reshape(-1).view(np.uint8).data
        header = {
            "format": FORMAT,
            "collection": collection,
            "fingerprint": self.fingerprint,
            "rows": len(self),
            "dimension": self.dimension,
            "text_bytes": len(texts),
            "checksum": zlib.crc32(numbers, zlib.crc32(texts)),
        }
        return _line(header), texts, numbers


def file_name(collection: str) -> str:
    """Return the name of the file of a collection: readable if its name is plain, and of no other one."""
    plain = re.sub(r"[^a-z0-9]+", "-", collection.lower()).strip("-")[:40]
    digest = hashlib.sha256(collection.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{plain or 'collection'}-{digest}{SUFFIX}"


def read_table(path: Path) -> tuple[str, Table]:
    """Return a collection and its name. Raises any exception for a file that is damaged or foreign."""
    if path.stat().st_size > FILE_BYTES:
        raise ValueError("the file is too large")
    with path.open("rb") as file:
        header = _header(file.readline(HEADER_BYTES))
        texts = file.read(header["text_bytes"])
        numbers = bytearray(file.read())
    rows, dimension = header["rows"], header["dimension"]
    if len(texts) != header["text_bytes"] or len(numbers) != rows * dimension * NUMBER_BYTES:
        raise ValueError("the file is not complete")
    if zlib.crc32(numbers, zlib.crc32(texts)) != header["checksum"]:
        raise ValueError("the file is damaged")
    kept = [Row(*json.loads(line)) for line in texts.splitlines()]
    if len(kept) != rows:
        raise ValueError("the file is not complete")
    if file_name(header["collection"]) != path.name:
        raise ValueError(f"the file belongs to the collection {header['collection']}")
    vectors = np.frombuffer(numbers, "<f4").astype(np.float32, copy=False).reshape(rows, dimension)
    return header["collection"], Table(header["fingerprint"], kept, vectors)


def _header(line: bytes) -> dict[str, Any]:
    """Return the header. Raises ValueError for another format."""
    try:
        header = json.loads(line)
        version = header["format"]
    except (ValueError, LookupError, TypeError) as err:
        raise ValueError("the file is of another kind") from err
    if version != FORMAT:
        raise ValueError(f"the file is of format {version}, this version reads {FORMAT}")
    return dict(header)


def _line(value: object) -> bytes:
    """Return a value as one line of JSON, in ASCII."""
    return json.dumps(value, default=str).encode() + b"\n"


def _same(kept: Value | None, wanted: Value) -> bool:
    """Return whether values are equal and of one type: 1 is neither true nor "1"."""
    return type(kept) is type(wanted) and kept == wanted


def _other_dimension(expected: int, shape: tuple[int, ...]) -> VectorStoreError:
    """Return the error about a vector of another length."""
    given = "x".join(map(str, shape))
    return VectorStoreError(StoreProblem.DIMENSION, f"vectors of {expected} numbers are kept, not of {given}")
