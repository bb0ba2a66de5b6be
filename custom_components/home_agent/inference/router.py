"""The main model, and another when it is down."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import monotonic
from typing import Final

from .client import ModelClient
from .errors import ErrorKind, ModelServerError
from .models import ChatRequest, Completion, Delta

PRIMARY: Final = "primary"
FALLBACK: Final = "fallback"
REST_SECONDS: Final = 30.0
LONGEST_REST: Final = 300.0
_DOWN: Final = (ErrorKind.RATE_LIMIT, ErrorKind.TIMEOUT, ErrorKind.UNAVAILABLE)

type Build = Callable[[str], ChatRequest | None]
"""Makes the request for a model, "primary" or "fallback", the moment it is asked; None where this one must
not be asked. What each may be told, and how much it takes, differs."""

type Heard = Callable[[str, ModelServerError | None], None]
"""Called with the model that has answered, or with its failure."""


class Router:
    """Asks the primary model; when it is down before it says anything, the fallback.

    A primary that was down is left alone for a while, so that not every turn waits for it.
    `last_used` is "primary" or "fallback", whichever answered last.
    """

    def __init__(
        self,
        primary: ModelClient,
        fallback: ModelClient | None = None,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Store the clients; the clock counts seconds."""
        self.primary = primary
        self.fallback = fallback
        self.last_used = PRIMARY
        self.heard: Heard | None = None
        self._clock = clock
        self._resting_until = float("-inf")

    @property
    def primary_rests(self) -> bool:
        """Tell whether the primary model was down a moment ago."""
        return self._clock() < self._resting_until

    @property
    def expected(self) -> str:
        """Return which model the next request goes to first."""
        return self._order()[0][0]

    def note_down(self) -> None:
        """Ask the primary model last until its server answers."""
        self._resting_until = float("inf")

    def note_back(self) -> None:
        """Ask the primary model first again: its server answers."""
        self._resting_until = float("-inf")

    async def stream(self, build: Build) -> AsyncGenerator[Delta]:
        """Yield the answer of the first model that gives one. Raises ModelServerError."""
        failure = _nobody()
        for name, client in self._order():
            if (request := build(name)) is None:
                continue
            begun = False
            try:
                async with aclosing(client.stream(request)) as deltas:
                    async for delta in deltas:
                        if not begun:
                            begun = True
                            self._answered(name)
                        yield delta
            except ModelServerError as err:
                self._failed(name, err)
                if begun or err.kind not in _DOWN:
                    raise
                failure = err
            else:
                return
        raise failure

    async def complete(self, build: Build) -> Completion:
        """Return the whole answer of the first model that gives one. Raises ModelServerError."""
        failure = _nobody()
        for name, client in self._order():
            if (request := build(name)) is None:
                continue
            try:
                answer = await client.complete(request)
            except ModelServerError as err:
                self._failed(name, err)
                if err.kind not in _DOWN:
                    raise
                failure = err
            else:
                self._answered(name)
                return answer
        raise failure

    def _order(self) -> list[tuple[str, ModelClient]]:
        """Return the models in the order they are asked."""
        clients = [(PRIMARY, self.primary)]
        if self.fallback is not None:
            clients.append((FALLBACK, self.fallback))
        return clients[::-1] if self.primary_rests else clients

    def _answered(self, name: str) -> None:
        """Note who answered; a primary that does is up."""
        self.last_used = name
        if name == PRIMARY:
            self.note_back()
        if self.heard is not None:
            self.heard(name, None)

    def _failed(self, name: str, err: ModelServerError) -> None:
        """Let a primary that is down rest, as long as it asks for."""
        if name == PRIMARY and err.kind in _DOWN:
            rest = REST_SECONDS if err.retry_after is None else err.retry_after
            self._resting_until = max(self._resting_until, self._clock() + min(rest, LONGEST_REST))
        if self.heard is not None:
            self.heard(name, err)


def _nobody() -> ModelServerError:
    """Return the failure of a request that no model may be asked."""
    return ModelServerError(ErrorKind.UNAVAILABLE, "no model may be asked this")
