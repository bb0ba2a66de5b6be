"""The cache, the checks and the batches around an embedding model."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from custom_components.home_agent.vector.embeddings import (
    BATCH_CHARS,
    BATCH_TEXTS,
    MAX_CHARS,
    CachedEmbedder,
    EmbeddingError,
)
from tests.helpers.checks import every


class Lengths:
    """A model that tells texts apart by their letters, and waits until it may answer."""

    fingerprint = "test|lengths"

    def __init__(self, dimension: int = 4) -> None:
        self.dimension = dimension
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.answer: Any = None
        self.closed = False

    async def async_embed(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return one vector for each text."""
        self.batches.append(list(texts))
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer  # type: ignore[no-any-return]
        return [[float(len(text)), *map(float, range(1, self.dimension))] for text in texts]

    async def async_close(self) -> None:
        """Note it."""
        self.closed = True


async def test_vectors_are_of_length_one_and_asked_once() -> None:
    model = Lengths()
    embedder = CachedEmbedder(model)
    one, two, again = await embedder.async_embed(["lamp", "heating", "lamp"])
    assert one.dtype == np.float32
    assert float(np.linalg.norm(one)) == pytest.approx(1)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, two)
    assert model.batches == [["lamp", "heating"]]
    await embedder.async_embed([" lamp ", "heating"])
    assert len(model.batches) == 1
    assert len(one) == 4
    assert embedder.fingerprint == "test|lengths"
    assert await embedder.async_embed([]) == []


async def test_batches_are_bounded() -> None:
    model = Lengths()
    embedder = CachedEmbedder(model, kept=10)
    texts = [f"text {number}" for number in range(2 * BATCH_TEXTS + 1)]
    assert len(await embedder.async_embed(texts)) == len(texts)
    assert [len(batch) for batch in model.batches] == [BATCH_TEXTS, BATCH_TEXTS, 1]
    model.batches.clear()
    long = [f"{number}" * 10 * MAX_CHARS for number in range(6)]
    await embedder.async_embed(long)
    assert all(sum(map(len, batch)) <= BATCH_CHARS for batch in every(model.batches))
    assert len(model.batches) == 2
    await embedder.async_embed([texts[0]])
    assert model.batches[-1] == [texts[0]]


async def test_callers_share_what_is_under_way() -> None:
    model = Lengths()
    model.gate.clear()
    embedder = CachedEmbedder(model)
    first, second = (asyncio.create_task(embedder.async_embed(["lamp", "window"])) for _ in range(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    model.gate.set()
    lamp, window = await second
    assert not np.array_equal(lamp, window)
    assert model.batches == [["lamp", "window"]]
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_an_error_is_told_to_everyone_and_not_kept() -> None:
    model = Lengths()
    model.gate.clear()
    model.answer = EmbeddingError("down")
    embedder = CachedEmbedder(model)
    tasks = [asyncio.create_task(embedder.async_embed(["lamp"])) for _ in range(2)]
    await asyncio.sleep(0)
    model.gate.set()
    assert [str(error) for error in await asyncio.gather(*tasks, return_exceptions=True)] == ["down", "down"]
    model.answer = None
    assert len(await embedder.async_embed(["lamp"])) == 1


async def test_what_is_no_embedding(subtests: pytest.Subtests) -> None:
    for answer in [
        [],
        [[1.0, 2.0]],
        [[1.0], [1.0, 2.0]],
        [[1.0, float("nan")], [1.0, 2.0]],
        ["AAAA", "AAAB"],
        [[[1.0]], [[1.0]]],
        [[0.0] * 20_000] * 2,
    ]:
        with subtests.test(answer=answer):
            model = Lengths()
            model.answer = answer
            with pytest.raises(EmbeddingError) as caught:
                await CachedEmbedder(model).async_embed(["lamp", "door"])
            assert 0 < len(caught.value.detail) < 80
