"""How the time of a reader of text grows with the length of the text."""

from collections.abc import Callable, Sequence
import gc
from itertools import pairwise
from time import thread_time
from typing import Any

LENGTH = 100_000
SCREEN = 250
"""Characters with which all strings are tried; the slowest of them are tried at greater lengths."""
SLOWEST = 2
STEPS = (1_000, 4_000, 20_000)
MEASURABLE = 0.01
"""Seconds below which a time says nothing about how it grows."""
ENOUGH = 0.3
"""Seconds at which the next length is no longer tried: the growth up to here has shown itself."""
EXPONENT = 1.6
"""Time that grows with a higher power of the length is not linear; the square would be 2."""


def seconds(run: Callable[[Any], object], text: Any) -> float:
    """Return the processor time that something takes, without a collection of what earlier tests left."""
    gc.disable()
    try:
        started = thread_time()
        run(text)
        return thread_time() - started
    finally:
        gc.enable()


def too_slow(
    run: Callable[[Any], object], strings: Sequence[str], *, is_bytes: bool = False, most: int = LENGTH
) -> str:
    """Return what takes more than its share of time when the text gets longer; nothing where all is well.

    Only how the time grows is judged, so the result is the same on a slow machine.
    """

    def text(piece: str, length: int) -> Any:
        whole = (piece * (length // len(piece) + 1))[:length] + "\x00"
        return whole.encode() if is_bytes else whole

    def best(piece: str, length: int) -> float:
        return min(seconds(run, text(piece, length)) for _ in range(3))

    run(b"" if is_bytes else "")  # compiles it
    screened = sorted(strings, key=lambda piece: seconds(run, text(piece, SCREEN)), reverse=True)
    lengths = [SCREEN, *(step for step in STEPS if step < most), most]
    for piece in screened[:SLOWEST]:
        for shorter, longer in pairwise(lengths):
            taken = seconds(run, text(piece, longer))
            if taken < MEASURABLE:
                continue
            most_growth = (longer / shorter) ** EXPONENT
            if taken > most_growth * max(seconds(run, text(piece, shorter)), MEASURABLE / 10):
                before, taken = best(piece, shorter), best(piece, longer) if taken < ENOUGH else taken
                if taken > most_growth * before:
                    return f"{piece!r}: {before:.4f} s for {shorter} characters, {taken:.3f} s for {longer}"
            if taken > ENOUGH:
                break
    return ""
