"""The main model, and another when it is down."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from time import monotonic
from typing import Final

from .client import ModelClient
from .errors import ErrorKind, ModelServerError, RequestLimitError
from .models import ChatRequest, Delta
from .queue import ServerBusy

PRIMARY: Final = "primary"
FALLBACK: Final = "fallback"
MODELS: Final = (PRIMARY, FALLBACK)
REST_SECONDS: Final = 30.0
LONGEST_REST: Final = 300.0

type Heard = Callable[[str, ModelServerError | None], None]
"""Called with the model that has answered, or with its failure."""


class RoutedModel:
    """A model that may be asked; the router learns how that went."""

    def __init__(self, router: Router, name: str, client: ModelClient) -> None:
        self._router = router
        self._client = client
        self.name = name

    async def answer(self, request: ChatRequest, *, stream: bool) -> AsyncGenerator[Delta]:
        """Yield the answer as it comes, or as one delta. Raises ModelServerError."""
        if not stream:
            yield await self.complete(request)
            return
        begun = False
        with self._noting_failure():
            async with aclosing(self._client.stream(request)) as deltas:
                async for delta in deltas:
                    if not begun:
                        begun = True
                        self._router.note_answer(self.name)
                    yield delta

    async def complete(self, request: ChatRequest) -> Delta:
        """Return the whole answer. Raises ModelServerError."""
        with self._noting_failure():
            answer = await self._client.complete(request)
        self._router.note_answer(self.name)
        return answer

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except RequestLimitError, ServerBusy:
            raise  # the server was not asked
        except ModelServerError as err:
            self._router.note_failure(self.name, err)
            raise


class Router:
    """Knows which model is asked first: the primary, or while it is down the fallback.

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
        return FALLBACK if self.fallback is not None and self.primary_rests else PRIMARY

    def candidates(self) -> list[RoutedModel]:
        """Return the models in the order they are asked: the next one where one `is_down`.

        What each may receive and how much it takes differs, so the caller makes a request for each.
        """
        clients = [RoutedModel(self, PRIMARY, self.primary)]
        if self.fallback is not None:
            clients.append(RoutedModel(self, FALLBACK, self.fallback))
        return clients[::-1] if self.primary_rests else clients

    async def complete(self, requests: Mapping[str, ChatRequest]) -> Delta:
        """Return the whole answer of the first model that gives one; one without a request is not asked.

        Raises ModelServerError.
        """
        failure = ModelServerError(ErrorKind.UNAVAILABLE, "no model may be asked this")
        for model in self.candidates():
            if (request := requests.get(model.name)) is None:
                continue
            try:
                return await model.complete(request)
            except ModelServerError as err:
                if not err.is_down:
                    raise
                failure = err
        raise failure

    def note_down(self) -> None:
        """Ask the primary model last until its server answers."""
        self._resting_until = float("inf")

    def note_back(self) -> None:
        """Ask the primary model first again: its server answers."""
        self._resting_until = float("-inf")

    def note_answer(self, name: str) -> None:
        """Record which model answered; a primary that answers is up."""
        self.last_used = name
        if name == PRIMARY:
            self.note_back()
        if self.heard is not None:
            self.heard(name, None)

    def note_failure(self, name: str, err: ModelServerError) -> None:
        """Let a primary that is down rest, as long as it asks for."""
        if name == PRIMARY and err.is_down:
            rest = REST_SECONDS if err.retry_after is None else err.retry_after
            self._resting_until = max(self._resting_until, self._clock() + min(rest, LONGEST_REST))
        if self.heard is not None:
            self.heard(name, err)
