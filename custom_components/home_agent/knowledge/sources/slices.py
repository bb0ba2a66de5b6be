"""Work on the event loop that lets others have their turn."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from time import perf_counter
from typing import Final

SLICE_SECONDS: Final = 0.004
"""How long the loop is held at once."""


async def in_slices[T](items: Iterable[T]) -> AsyncIterator[T]:
    """Yield items; after each slice of time the event loop goes on first."""
    deadline = perf_counter() + SLICE_SECONDS
    for item in items:
        yield item
        if perf_counter() > deadline:
            await asyncio.sleep(0)
            deadline = perf_counter() + SLICE_SECONDS
