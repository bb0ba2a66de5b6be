"""One model on one server: chats, embeddings, capabilities; and which of two models is asked."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from http import HTTPStatus
import logging
import re
from time import monotonic
from typing import Any, Final

import aiohttp

from ..regex import lazy_regex
from .dialects import WIRES
from .dialects.base import AnswerReader, ServerRequest, Wire, is_azure, is_cloud, malformed, parse_address
from .dialects.ollama import OllamaWire, learn_model, with_context_size
from .models import (
    Caller,
    ChatRequest,
    Delta,
    Dialect,
    Endpoint,
    ErrorKind,
    ModelFacts,
    ModelServerError,
    Priority,
    RequestLimitError,
    server_message,
    shorten,
)
from .queue import MAX_INTERRUPTED, Interrupted, ServerBusy, ServerQueue
from .transport import DONE, JSONReader, Transport

PRIMARY: Final = "primary"
FALLBACK: Final = "fallback"
MODELS: Final = (PRIMARY, FALLBACK)
REST_SECONDS: Final = 30.0
LONGEST_REST: Final = 300.0

type Heard = Callable[[str, ModelServerError | None], None]
"""Called with the model that has answered, or with its failure."""


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

    def candidates(self) -> list[str]:
        """Return the models in the order they are asked: the next one where one `is_down`.

        What each may receive and how much it takes differs, so the caller makes a request for each.
        """
        models = [PRIMARY] if self.fallback is None else list(MODELS)
        return models[::-1] if self.primary_rests else models

    async def answer(self, model: str, request: ChatRequest, *, stream: bool) -> AsyncGenerator[Delta]:
        """Yield the answer of a model as it comes, or as one delta. Raises ModelServerError."""
        client, begun = self.primary if model == PRIMARY else self.fallback, False
        assert client is not None
        try:
            async with aclosing(client.stream(request) if stream else client.whole(request)) as deltas:
                async for delta in deltas:
                    if not begun:
                        begun, self.last_used = True, model
                        if model == PRIMARY:
                            self.note_back()
                        if self.heard is not None:
                            self.heard(model, None)
                    yield delta
        except RequestLimitError, ServerBusy:
            raise  # the server was not asked
        except ModelServerError as err:
            if model == PRIMARY and err.is_down:
                rest = REST_SECONDS if err.retry_after is None else err.retry_after
                self._resting_until = max(self._resting_until, self._clock() + min(rest, LONGEST_REST))
            if self.heard is not None:
                self.heard(model, err)
            raise

    async def complete(self, requests: Mapping[str, ChatRequest]) -> Delta:
        """Return the whole answer of the first model that gives one; one without a request is not asked.

        Raises ModelServerError.
        """
        failure = ModelServerError(ErrorKind.UNAVAILABLE, "no model may be asked this")
        for model in self.candidates():
            if (request := requests.get(model)) is None:
                continue
            try:
                async with aclosing(self.answer(model, request, stream=False)) as answers:
                    return await anext(answers)
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


type Body = dict[str, Any]
SAME: Final = object()
"""The value that a refused parameter had."""


def _named(*words: str) -> re.Pattern[str]:
    return lazy_regex(rf"(?<![a-z_])(?:{'|'.join(map(re.escape, words))})(?![a-z_])")


# Parameters that servers refuse: how a refusal names them, and what is sent instead, step after step.
# Where it names several, the first wins: top_p before temperature, as some models take only one.
PARAMETERS: Final[Mapping[str, tuple[re.Pattern[str], tuple[Body, ...]]]] = {
    "max_tokens": (_named("max_tokens", "max_completion_tokens"), ({"max_completion_tokens": SAME}, {})),
    "stream_options": (_named("stream_options", "include_usage"), ({},)),
    "chat_template_kwargs": (_named("chat_template_kwargs", "enable_thinking"), ({},)),
    "reasoning_effort": (
        _named("reasoning_effort", "reasoning.effort", "reasoning effort", "reasoning"),
        ({},),
    ),
    "top_p": (_named("top_p"), ({},)),
    "temperature": (_named("temperature"), ({},)),
    "response_format": (
        _named("response_format", "json_schema", "grammar", "structured output", "structured outputs"),
        ({"response_format": {"type": "json_object"}}, {}),
    ),
    "tool_choice": (_named("tool_choice", "tool choice"), ({},)),
    "think": (_named("think", "thinking", "think value"), ({"think": True}, {})),
    "format": (_named("format"), ({},)),
    "keep_alive": (_named("keep_alive", "keepalive"), ({},)),
}
# The order of removal if a server does not say what it refuses.
_EXTRAS: Final = ("chat_template_kwargs", "stream_options", "reasoning_effort")
_REFUSALS: Final = lazy_regex(
    r"un(?:supported|known|recognized|expected|available)|not (?:support|permit|allow|available|recogni)"
    r"|does not|extra|forbidden|invalid|additional|cannot|only|deprecated|no longer|must"
)
_UNNAMED: Final = lazy_regex(
    r"(?:un(?:supported|known|recogni[sz]ed|expected)|extra|additional|invalid)[\w ]{0,30}"
    r"(?:param|argument|field|propert|input|key|option)"
)
_LEARNABLE: Final = (400, 422, 500, 501)


def adapt(body: Body, steps: dict[str, int]) -> Body:
    """Return the body with the steps taken."""
    body = dict(body)
    for name, (_, instead) in PARAMETERS.items():
        if (taken := steps.get(name)) and name in body:
            value = body.pop(name)
            body |= {other: value if new is SAME else new for other, new in instead[taken - 1].items()}
            if name == "tool_choice" and value == "none":
                body.pop("tools", None)  # the model must not call any
    return body


def learn(error: ModelServerError, answer: Any, sent: Body, steps: dict[str, int]) -> str | None:
    """Return the parameter to take the next step of; None if the refusal is about something else.

    `answer` is the refusal, decoded; `sent` the body before any step.
    """
    message, parameter, code = server_message(answer)
    words, is_bad = f"{code} {message}".lower(), error.kind is ErrorKind.BAD_REQUEST
    refuses = is_bad or (error.kind is ErrorKind.UNAVAILABLE and _REFUSALS.search(words))
    if error.status not in _LEARNABLE or not refuses:
        return None
    left = [
        name
        for name, (_, instead) in PARAMETERS.items()
        if name in sent and steps.get(name, 0) < len(instead)
    ]
    place = parameter.lower() if parameter and is_bad else words
    named = next((name for name in left if PARAMETERS[name][0].search(place)), None)
    if named or parameter or not is_bad or not _UNNAMED.search(words):
        return named
    return next((name for name in _EXTRAS if name in left), None)


_LOGGER: Final = logging.getLogger(__name__)

ATTEMPTS: Final = 2
PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 10.0
MAX_MODELS: Final = 2000
MANY_TEXTS: Final = 8
"""Texts of a request for embeddings that fills an index; a person waits for fewer."""
_KEPT_EXTRAS: Final = 256
GRACE: Final = 3.0
"""Seconds a server may take to end its answer after it has named the reason to finish."""


class ModelClient:
    """Speaks to one endpoint; every failure is a ModelServerError."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        endpoint: Endpoint,
        *,
        connect_timeout: float = 10,
        idle_timeout: float = 60,
        first_byte_timeout: float = 120,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        queue: ServerQueue | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.queue = queue or ServerQueue()
        self.facts = ModelFacts()
        self.dialect: Dialect | None = None
        """The dialect of the server, once that is certain."""
        self.transport = Transport(
            session,
            endpoint,
            connect_timeout=connect_timeout,
            first_byte_timeout=first_byte_timeout,
            idle_timeout=idle_timeout,
        )
        self._sleep = sleep
        self._extras: dict[str, Any] = {}
        """What the server wants back with its own calls, by their ids."""
        self._detecting = asyncio.Lock()

    def stream(self, request: ChatRequest) -> AsyncGenerator[Delta]:
        """Yield the answer as it comes; the last delta names the reason to finish and the usage.

        A second attempt is made as long as nothing was yielded. Closing the generator closes the connection.
        """
        return self._attempts(request, stream=True)

    async def whole(self, request: ChatRequest) -> AsyncGenerator[Delta]:
        """Yield the whole answer as one delta."""
        yield await self.complete(request)

    async def complete(self, request: ChatRequest) -> Delta:
        """Return the whole answer, asked for without streaming."""
        answer = Delta()
        words: list[str] = []
        thoughts: list[str] = []
        async with aclosing(self._attempts(request, stream=False)) as deltas:
            async for delta in deltas:
                words.append(delta.content)
                thoughts.append(delta.thinking)
                answer.tool_calls += delta.tool_calls
                answer.finish_reason = delta.finish_reason or answer.finish_reason
                answer.usage = delta.usage or answer.usage
        answer.content, answer.thinking = "".join(words), "".join(thoughts)
        return answer

    async def model_list(self) -> list[dict[str, Any]]:
        """Return the server's data about its models; each has an `id`."""
        data = await self.fetch(lambda wire: wire.models(self.endpoint))
        try:
            return Wire.read_models(data)[:MAX_MODELS]
        except (AttributeError, TypeError) as err:
            raise malformed("the server's list of models cannot be read") from err

    async def embed(self, texts: list[str], *, keep_alive: str | None = None) -> list[list[float]]:
        """Return a vector for each text as the server sends it. Many texts wait while people ask."""
        async with AsyncExitStack() as stack:
            if len(texts) >= MANY_TEXTS:
                await stack.enter_async_context(self.queue.place(Caller("embeddings", Priority.TASK)))
            data = await self.fetch(lambda wire: wire.embeddings(self.endpoint, texts, keep_alive))
        wire = await self.wire()
        try:
            vectors = wire.read_embeddings(data)
            fits = len(vectors) == len(texts) and all(map(len, vectors))
        except (AttributeError, KeyError, TypeError) as err:
            raise malformed("the server's answer holds no embeddings") from err
        if not fits:
            raise malformed(f"the server's answer holds no embeddings of {len(texts)} texts")
        return vectors

    async def wire(self) -> Wire:
        """Return the dialect of the server, found out once. Raises ModelServerError."""
        if self.endpoint.unusable:
            raise ModelServerError(ErrorKind.AUTH, self.endpoint.unusable)
        if self.endpoint.dialect != "auto":
            return _call(lambda: WIRES[Dialect(self.endpoint.dialect)])
        async with self._detecting:
            if self.dialect is not None:
                return WIRES[self.dialect]
            try:
                base = parse_address(self.endpoint.base_url)
            except ValueError:
                raise ModelServerError(ErrorKind.BAD_REQUEST, "the server's address is not valid") from None
            dialect, certain = Dialect.OPENAI, True
            if is_azure(base):
                dialect = Dialect.AZURE
            elif not is_cloud(base):
                version, certain = await self._look_up("/api/version")
                if isinstance(version.get("version"), str):
                    # Web interfaces for Ollama answer the first question too, but do not pass its API on.
                    tags, certain = await self._look_up("/api/tags")
                    dialect = Dialect.OLLAMA if isinstance(tags.get("models"), list) else Dialect.OPENAI
            if certain:
                self.dialect = dialect
            return WIRES[dialect]

    async def fetch(self, make: Callable[[Wire], ServerRequest]) -> Any:
        """Return the decoded answer to a request that is not a chat, with a second attempt."""
        try:
            return await self._fetch_once(make)
        except ModelServerError as err:
            await self._pause(err, last=False)
        return await self._fetch_once(make)

    async def _fetch_once(self, make: Callable[[Wire], ServerRequest]) -> Any:
        wire = await self.wire()
        return await self.transport.json(_call(make, wire), wire.headers(self.endpoint))

    async def _attempts(self, request: ChatRequest, *, stream: bool) -> AsyncGenerator[Delta]:
        """Yield the answer, asked for again if the first attempt fails before it has said anything."""
        for attempt in range(1, ATTEMPTS + 1):
            begun = False
            try:
                async with aclosing(self._in_turn(request, stream=stream)) as deltas:
                    async for delta in deltas:
                        begun = True
                        yield delta
            except ModelServerError as err:
                await self._pause(err, last=begun or attempt == ATTEMPTS)
            else:
                return

    async def _pause(self, err: ModelServerError, *, last: bool) -> None:
        """Wait before the next attempt; raise the error if there is none."""
        pause = PAUSE if err.retry_after is None else err.retry_after
        if last or not err.retryable or pause > LONGEST_PAUSE:
            raise err
        _LOGGER.debug("Asking again in %s s: %s", pause, err.detail)
        await self._sleep(pause)

    async def _in_turn(self, request: ChatRequest, *, stream: bool) -> AsyncGenerator[Delta]:
        """Yield the answer; work in the background as a whole, as people interrupt it until then."""
        caller = request.caller
        if caller.priority is not Priority.BACKGROUND:
            async with (
                self.queue.place(caller, request.give_up_at),
                aclosing(self._attempt(request, stream=stream)) as deltas,
            ):
                async for delta in deltas:
                    yield delta
            return

        async def everything() -> list[Delta]:
            async with aclosing(self._attempt(request, stream=stream)) as deltas:
                return [delta async for delta in deltas]

        for _ in range(MAX_INTERRUPTED + 1):
            try:
                async with self.queue.place(caller, request.give_up_at) as place:
                    kept = await place.finish(everything())
            except Interrupted:
                continue
            for delta in kept:
                yield delta
            return
        raise ServerBusy(caller, "interrupted by requests of people")

    async def _attempt(self, request: ChatRequest, *, stream: bool) -> AsyncGenerator[Delta]:
        """Yield the answer to one request, sent again at once without parameters that the server refuses."""
        wire = await self.wire()
        facts = self.facts
        if isinstance(wire, OllamaWire):
            if not facts.asked:
                data: Any = {}
                try:
                    data = await self.transport.json(
                        _call(wire.show, self.endpoint), wire.headers(self.endpoint)
                    )
                except ModelServerError as err:
                    if err.kind not in (ErrorKind.BAD_REQUEST, ErrorKind.MALFORMED):
                        raise
                learn_model(facts, data)
            request = with_context_size(facts, request)
        if self._extras:
            messages = [message.copy() for message in request.messages]
            for message in messages:
                if calls := message.get("tool_calls"):
                    message["tool_calls"] = [
                        {**call, "extra_content": self._extras[call["id"]]}
                        if call["id"] in self._extras
                        else call
                        for call in calls
                    ]
            request = replace(request, messages=messages)
        call = _call(lambda: wire.chat(self.endpoint, request, stream=stream))
        body = call.body or {}
        steps = dict(facts.steps)
        while True:
            if request.budget is not None:
                request.budget.take()
            adapted = ServerRequest(call.url, adapt(body, steps))
            async with AsyncExitStack() as stack:
                opened = self.transport.open(adapted, wire.headers(self.endpoint))
                try:
                    response = await stack.enter_async_context(opened)
                except ModelServerError as err:
                    self.queue.note_unreachable(err)
                    raise
                if response.status < HTTPStatus.MULTIPLE_CHOICES:
                    facts.steps.update(steps)
                    answer = wire.answer(self.transport.secrets)
                    async with aclosing(self._read(response, answer, request.give_up_at)) as deltas:
                        async for delta in deltas:
                            yield delta
                    return
                error, said = await self.transport.explain(response)
            refused = learn(error, said, body, steps)
            if refused is None:
                raise error
            steps[refused] = steps.get(refused, 0) + 1
            _LOGGER.debug("The model refuses %s; sent again without", refused)

    async def _read(
        self, response: aiohttp.ClientResponse, answer: AnswerReader, give_up_at: float | None
    ) -> AsyncGenerator[Delta]:
        reader = JSONReader()
        transport, now = self.transport, asyncio.get_running_loop().time
        until, size, grace_until = now() + transport.first_byte_timeout, answer.size, None
        begun = ended = False
        while not ended and not answer.full:
            # Only words, thoughts and parts of calls count as progress: servers send comments, blank lines
            # and empty deltas to keep a connection open, and these must not keep a turn waiting.
            if answer.size > size:
                size, until = answer.size, now() + transport.idle_timeout
            if answer.finish_reason is not None:
                until = grace_until = grace_until or now() + GRACE
            left = (until if give_up_at is None else min(until, give_up_at)) - now()
            if left <= 0 and answer.finish_reason is None:
                raise ModelServerError(ErrorKind.TIMEOUT, "the server's answer does not go on in time")
            if left <= 0:
                break
            try:
                chunk = await transport.chunk(response, left)
            except ModelServerError:
                if answer.finish_reason is None:
                    raise
                break
            ended = not chunk
            for item in reader.feed(chunk) if chunk else reader.close():
                if item is DONE:
                    await self.transport.drain(response)
                    ended = True
                    break
                if (delta := answer.take(item)) is not None:
                    begun = True
                    yield delta
            if reader.failure is not None and answer.finish_reason is None:
                shown = f"{reader.failure}: {reader.quote}" if reader.quote else reader.failure
                raise malformed(shorten(shown, self.transport.secrets), plain=reader.failure)
        last = answer.close()
        self._extras |= answer.calls.extras
        while len(self._extras) > _KEPT_EXTRAS:
            self._extras.pop(next(iter(self._extras)))
        if last is not None:
            yield last
        elif not begun:
            if reader.empty or answer.recognised:
                detail = "the server's answer is empty"
                raise ModelServerError(ErrorKind.UNAVAILABLE, detail, answered=True)
            raise malformed("the server's answer holds no message; is the address right?")

    async def _look_up(self, path: str) -> tuple[Mapping[str, Any], bool]:
        """Return the JSON object at an address, else an empty one, and whether the answer is permanent.

        Raises ModelServerError when the server is out of reach.
        """
        wire = WIRES[Dialect.OLLAMA]
        try:
            call = ServerRequest(OllamaWire.url(self.endpoint, path))
            answer = await self.transport.json(call, wire.headers(self.endpoint))
        except ModelServerError as err:
            if err.status is None and err.kind is not ErrorKind.MALFORMED:
                raise
            return {}, err.kind not in (ErrorKind.RATE_LIMIT, ErrorKind.UNAVAILABLE)
        return (answer if isinstance(answer, Mapping) else {}), True


def _call[**P, T](make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of `make` for an endpoint's settings. Raises ModelServerError if they are invalid."""
    try:
        return make(*args, **kwargs)
    except ValueError:
        detail = "the server's address or dialect is not valid"
        raise ModelServerError(ErrorKind.BAD_REQUEST, detail) from None
