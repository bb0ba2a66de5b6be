"""Collections of vectors as files: one each, replaced whole, checked when read. For worker threads.

A file is a line of JSON that says what follows, a line of JSON for each text, and the vectors as
little-endian 32-bit numbers, row after row.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import EEXIST
from glob import escape
import hashlib
import json
import os
from pathlib import Path
import re
import tempfile
from typing import Any, Final
import zlib

import numpy as np

from .matrix import Matrix, Row

FORMAT: Final = 1
SUFFIX: Final = ".vectors"
UNFINISHED: Final = ".unfinished"
ASIDE: Final = ".corrupt-"
HEADER_BYTES: Final = 64 * 1024
FILE_BYTES: Final = 1 << 30
"""A larger file is none of ours."""
NUMBER_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Stored:
    """A collection, as a file holds it."""

    collection: str
    fingerprint: str
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be read, where it is now, and why."""

    path: Path
    reason: str


class Disk:
    """The files of one folder."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; nothing is read yet."""
        self._folder = folder
        self._in_the_way: set[Path] = set()
        """Files that could neither be read nor moved: they are not overwritten."""

    def empty(self, collection: str, fingerprint: str) -> Stored:
        """Return a new collection; nothing is written yet."""
        return Stored(collection, fingerprint, Matrix())

    def path_of(self, collection: str) -> Path:
        """Return the file of a collection, readable as far as its name is plain, and of no other one."""
        plain = re.sub(r"[^a-z0-9]+", "-", collection.lower()).strip("-")[:40]
        digest = hashlib.sha256(collection.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        return self._folder / f"{plain or 'collection'}-{digest}{SUFFIX}"

    def read_all(self) -> tuple[list[Stored], list[Unreadable]]:
        """Read every collection; what cannot be read is moved aside. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for unfinished in self._folder.glob(f"*{UNFINISHED}"):
            unfinished.unlink(missing_ok=True)
        found: list[Stored] = []
        unreadable: list[Unreadable] = []
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            try:
                found.append(self._read(path))
            except Exception as err:  # noqa: BLE001 - a damaged file may raise anything
                reason = getattr(err, "strerror", None) or str(err) or type(err).__name__
                unreadable.append(Unreadable(self._set_aside(path), reason))
        return found, unreadable

    def write(self, stored: Stored) -> None:
        """Replace the file of a collection. Raises OSError; the file is then what it was."""
        path = self.path_of(stored.collection)
        if path in self._in_the_way:
            raise FileExistsError(EEXIST, "a file that cannot be read is in the way", str(path))
        rows, vectors = stored.matrix.living()
        texts = b"".join(_line([row.id, row.content_hash, row.text, dict(row.metadata)]) for row in rows)
        numbers = np.ascontiguousarray(vectors, "<f4").reshape(-1).view(np.uint8).data
        header = {
            "format": FORMAT,
            "collection": stored.collection,
            "fingerprint": stored.fingerprint,
            "rows": len(rows),
            "dimension": stored.matrix.dimension,
            "text_bytes": len(texts),
            "checksum": zlib.crc32(numbers, zlib.crc32(texts)),
        }
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(UNFINISHED, path.stem, self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                for part in (_line(header), texts, numbers):
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            Path(unfinished).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(unfinished).unlink()
            raise

    def delete(self, collection: str) -> None:
        """Delete the file of a collection, and what was once set aside of it. Raises OSError."""
        path = self.path_of(collection)
        for file in (path, *self._folder.glob(f"{escape(path.name)}{ASIDE}*")):
            file.unlink(missing_ok=True)
        self._in_the_way.discard(path)

    def _read(self, path: Path) -> Stored:
        """Read a file; what is not sound raises one exception or another."""
        stored = _read(path)
        if self.path_of(stored.collection) != path:
            raise ValueError(f"the file belongs to the collection {stored.collection}")
        return stored

    def _set_aside(self, path: Path) -> Path:
        """Move a file to another name and return that; where the disk refuses, leave it alone for good."""
        aside = path.with_name(f"{path.name}{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        try:
            return path.rename(aside)
        except OSError:
            self._in_the_way.add(path)
            return path


def _read(path: Path) -> Stored:
    """Read a file, whatever its name is."""
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
    kept = [
        Row(key, text, content_hash, metadata)
        for key, content_hash, text, metadata in map(json.loads, texts.splitlines())
    ]
    if len(kept) != rows:
        raise ValueError("the file is not complete")
    vectors = np.frombuffer(numbers, "<f4").astype(np.float32, copy=False).reshape(rows, dimension)
    return Stored(header["collection"], header["fingerprint"], Matrix.of(kept, vectors))


def _header(line: bytes) -> dict[str, Any]:
    """Return what the first line says. Raises ValueError for what is not of this format."""
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
