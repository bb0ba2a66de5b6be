"""How many tokens a model really makes of our text, and how many it takes: learned from its server."""

from collections import deque
from statistics import median
from time import monotonic
from typing import Final

SAMPLES: Final = 9
SMALLEST: Final = 200
"""Estimates below this say too little about a tokeniser."""
BELIEVED: Final = (0.6, 4.0)
"""Ratios outside come from servers that count cached tokens apart, or something else altogether."""
BOUNDS: Final = (1.0, 2.5)
"""A model that makes fewer tokens of our text leaves room, and needs no larger shares."""
STEP: Final = 0.1
TOO_LOW: Final = 0.08
TOO_HIGH: Final = 0.2
"""The factor stays until the samples are this far off: the catalogue must not change from turn to turn.
One that is too low costs a refusal, one that is too high only some room."""

TOLD_SECONDS: Final = 6 * 3600.0
"""How long a limit that a server named is held; it may have been started anew since."""
GUESSED_SECONDS: Final = 600.0
GUESS: Final = 0.8
"""What is tried of a request that was refused without a number that helps."""
SMALLEST_LIMIT: Final = 512


class Gauge:
    """What is known of the context of one model.

    `limit` is in the model's tokens, `factor` is how many of them it counts where we estimate one.
    """

    def __init__(self, limit: int) -> None:
        """Start with the limit of the options or of the probe."""
        self._limit = limit
        self._learned: tuple[int, float] | None = None
        self._ratios: deque[float] = deque(maxlen=SAMPLES)
        self.factor = 1.0

    @property
    def limit(self) -> int:
        """Return how many tokens request and answer may take together."""
        if self._learned is None or monotonic() > self._learned[1]:
            return self._limit
        return min(self._limit, self._learned[0])

    @property
    def has_refused(self) -> bool:
        """Return whether the limit is the server's own word."""
        return self.limit < self._limit

    def note_usage(self, estimated: int, prompt: int, cached: int = 0) -> None:
        """Take a request's estimate and what the server counted; odd counts are passed over."""
        counted = prompt + cached if cached > prompt else prompt
        if estimated < SMALLEST or counted <= 0:
            return
        ratio = counted / estimated
        if not BELIEVED[0] <= ratio <= BELIEVED[1]:
            return
        self._ratios.append(ratio)
        middle = min(max(median(self._ratios), BOUNDS[0]), BOUNDS[1])
        if middle - self.factor > TOO_LOW or self.factor - middle > TOO_HIGH:
            self.factor = round(round(middle / STEP) * STEP, 2)

    def note_refusal(
        self, estimated: int, *, limit: int | None, counted: int | None, answer: int = 0
    ) -> None:
        """Take a refusal of a request as too long, with the numbers that the server named.

        Without any, somewhat less than this request, beside an answer of so many tokens, is taken to fit.
        """
        if counted is not None and limit is not None and counted > limit:
            self.note_usage(estimated, counted)
        if limit is not None and limit < self.limit:
            self._learned = (max(SMALLEST_LIMIT, limit), monotonic() + TOLD_SECONDS)
            return
        fits = int(min(estimated * self.factor, self.limit) * GUESS) + answer
        self._learned = (max(SMALLEST_LIMIT, min(fits, self.limit)), monotonic() + GUESSED_SECONDS)
