"""Requests to a model server, its answers and its failures, independent of the dialect."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from http import HTTPStatus
import re
from typing import Any, Final, NamedTuple, NotRequired, Required, TypedDict

from ..errors import (
    AuthenticationError,
    CannotSee,
    HomeAgentError,
    KeyMissing,
    KeyUnusable,
    LLMBusy,
    LLMError,
    LLMServerError,
    LLMTimeout,
    LLMUnavailable,
    ModelNotFound,
    QuotaExceeded,
    RateLimitExceeded,
    RequestRefused,
    TokenLimitExceeded,
)
from ..regex import lazy_regex
from ..texts import cut

DETAIL_CHARS: Final = 200
_HIDDEN: Final = "***"
_SHORTEST_SECRET: Final = 4
_STATUSES: Final = frozenset(str(code) for code in range(400, 600))
_KEY_LIKE: Final = lazy_regex(
    r"\b(?:sk|pk|gsk|xai|hf)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|\beyJ[\w.-]{20,}"
    r"|(?i:(?<=bearer )\S+|(?<=basic )\S+|(?<=[?&]key=)[^&\s]+|(?<=api[-_]key=)[^&\s]+|(?<=token=)[^&\s]+)"
    r"|(?<=://)[^/\s@]+(?=@)"
)


class ErrorKind(StrEnum):
    """What the caller can do about it differs by these."""

    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    BAD_REQUEST = "bad_request"
    CONTEXT_TOO_LONG = "context_too_long"
    MODEL_NOT_FOUND = "model_not_found"
    MALFORMED = "malformed"
    BUSY = "busy"
    """Not sent: too many requests wait for the server."""


class ModelServerError(Exception):
    """A request failed; `detail` is short and holds no key, `retry_after` is in seconds.

    `plain` is the same without what the server or the model wrote, which may quote a conversation. `answered`
    tells that the server itself reports the failure, `keyless` that it was sent no key.
    """

    def __init__(
        self,
        kind: ErrorKind,
        detail: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
        limit: int | None = None,
        counted: int | None = None,
        plain: str | None = None,
        answered: bool = False,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.plain = detail if plain is None else plain
        self.answered = answered
        self.keyless = False
        self.status = status
        self.retry_after = retry_after
        self.limit = limit
        self.counted = counted
        self.retryable = kind in _RETRYABLE if retryable is None else retryable
        self.is_down = kind in _DOWN
        """Whether another model may do better: this one cannot be reached, or not now."""


class RequestLimitError(ModelServerError):
    """A turn has sent as many requests as it may; no model is to blame."""

    def __init__(self) -> None:
        super().__init__(ErrorKind.UNAVAILABLE, "too many requests for one answer", retryable=False)
        self.is_down = False  # another model has no more of them


@dataclass(slots=True)
class RequestBudget:
    """How many chat requests may still be sent, by all layers that ask again."""

    left: int

    def take(self) -> None:
        """Count a request that goes out. Raises RequestLimitError if none is left."""
        if not self.left:
            raise RequestLimitError
        self.left -= 1


_DOWN: Final = (ErrorKind.RATE_LIMIT, ErrorKind.TIMEOUT, ErrorKind.UNAVAILABLE)
_RETRYABLE: Final = (ErrorKind.UNAVAILABLE, ErrorKind.RATE_LIMIT)

_STATUS_KINDS: Final = {
    401: ErrorKind.AUTH,
    403: ErrorKind.AUTH,
    402: ErrorKind.RATE_LIMIT,
    404: ErrorKind.MODEL_NOT_FOUND,
    408: ErrorKind.TIMEOUT,
    413: ErrorKind.CONTEXT_TOO_LONG,
    429: ErrorKind.RATE_LIMIT,
    529: ErrorKind.RATE_LIMIT,
}

# Words that say more than the status: Gemini refuses a key with 400, several servers a long prompt with 500.
_WORDING: Final[tuple[tuple[ErrorKind, re.Pattern[str], frozenset[int]], ...]] = (
    (
        ErrorKind.CONTEXT_TOO_LONG,
        lazy_regex(
            r"context[ _](?:length|window|size|limit)|exceed_context|max(?:imum)? (?:context|model length)"
            r"|context overflow|context the overflows|prompt is too long|prompt too long|input is too long"
            r"|input length|too many (?:input )?tokens|input token count|reduce the length|request too large"
        ),
        frozenset({0, 400, 413, 422, 429, 500}),
    ),
    (
        ErrorKind.AUTH,
        lazy_regex(
            r"api[ _]key (?:not valid|expired|is invalid)|(?:invalid|incorrect|missing) api[ _]key"
            r"|invalid_api_key"
        ),
        frozenset({0, 400}),
    ),
    (
        ErrorKind.MODEL_NOT_FOUND,
        lazy_regex(
            r"model .{0,100}(?:not found|does not exist|not exist)|not a valid model|model_not_found"
            r"|unknown model|invalid model|no models? loaded|deploymentnotfound"
        ),
        frozenset({0, 400, 422}),
    ),
    (
        ErrorKind.RATE_LIMIT,
        lazy_regex(r"rate.?limit|too many requests|overloaded|quota"),
        frozenset({0, 400}),
    ),
)
_CODE: Final = lazy_regex(r"[a-z0-9]+(?:[_.-][a-z0-9]+){0,7}", re.IGNORECASE)
_SPENT: Final = lazy_regex(r"insufficient_quota|exceeded your current quota|billing|credit")


SMALLEST_CONTEXT: Final = 256
_LIMIT_FIELDS: Final = ("n_ctx", "max_model_len")
_COUNTED_FIELDS: Final = ("n_prompt_tokens",)
# The first that fits wins. Between the words and the number may be "is", "of only", brackets and the like.
_LIMITS: Final = (
    lazy_regex(r"maximum number of tokens allowed\D{0,20}(\d{1,9})"),
    lazy_regex(r"> (\d{1,9}) maximum"),
    lazy_regex(r"(?:maximum|max) (?:context|model|input|prompt)(?: length| window| size)?\D{0,40}(\d{1,9})"),
    lazy_regex(r"(?:context (?:length|window|size)|n_ctx)\D{0,40}(\d{1,9})"),
    lazy_regex(r"(?:limit|maximum)(?: is| of|:)? (\d{1,9})"),
)
_COUNTED: Final = (
    lazy_regex(r"(?<!\d)(\d{1,9}) (?:tokens )?in the messages"),
    lazy_regex(r"resulted in (\d{1,9})"),
    lazy_regex(
        r"(?:request|input token count|prompt is too long|decoder prompt|prompt contains)\D{0,30}(\d{1,9})"
    ),
    lazy_regex(r"requested (\d{1,9})"),
)
_THOUSANDS: Final = lazy_regex(r"(?<=\d),(?=\d{3}\b)")


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text on one line without anything that looks like, or is, a secret."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _HIDDEN)
    return _KEY_LIKE.sub(_HIDDEN, " ".join(text.split()))


def shorten(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text scrubbed, of at most `DETAIL_CHARS` characters."""
    return cut(scrub(text, secrets), DETAIL_CHARS)


def server_message(body: Any) -> tuple[str, str, str]:
    """Return message, offending parameter and code of an error body, whatever shape the server gave it."""
    if isinstance(body, list):
        body = body[0] if body else {}
    if not isinstance(body, dict):
        return str(body or ""), "", ""
    error = body.get("error")
    if not isinstance(error, dict):
        words = error or body.get("message") or body.get("detail") or body.get("errors") or ""
        error = {**body, "message": words}
    message = _words(error.get("message"))
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):
        message = f"{message}: {metadata['raw']}"
    code = error.get("code") or error.get("type") or error.get("status") or ""
    return str(message or ""), str(error.get("param") or ""), str(code)


def _words(message: Any) -> str:
    """Return a message as text, without the request that validators quote in it."""
    if isinstance(message, dict):
        return _words(message.get("message") or message.get("msg") or message.get("detail"))
    if isinstance(message, list):
        places = (item.get("loc") if isinstance(item, dict) else None for item in message[:5])
        named = (f"{'.'.join(map(str, place))}: " if isinstance(place, list) else "" for place in places)
        return "; ".join(name + _words(item) for name, item in zip(named, message, strict=False))
    return str(message or "").split("'input':", 1)[0]


def classify(status: int, words: str) -> ErrorKind:
    """Return the kind of a failure; status 0 is an error inside a stream that names none."""
    lowered = words.lower()
    for kind, pattern, statuses in _WORDING:
        if status in statuses and pattern.search(lowered):
            return kind
    if status in _STATUS_KINDS:
        return _STATUS_KINDS[status]
    ours = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return ErrorKind.BAD_REQUEST if ours else ErrorKind.UNAVAILABLE


def from_answer(
    status: int, body: Any, *, secrets: Iterable[str] = (), retry_after: float | None = None
) -> ModelServerError:
    """Return the error that an answer of the server means."""
    message, _, code = server_message(body)
    kind = classify(status, f"{code} {message}")
    spent = kind is ErrorKind.RATE_LIMIT and bool(_SPENT.search(f"{code} {message}".lower()))
    explanation = message or code or "no explanation"
    detail = f"{status}: {explanation}" if status else explanation
    numbered = [str(status)] if status else []
    named = [code] if _CODE.fullmatch(code) and code != str(status) else []
    plain = " ".join(["the server answered with", *(numbered + named or ["an error"])])
    is_too_long = kind is ErrorKind.CONTEXT_TOO_LONG
    limit, counted = _token_numbers(body, message) if is_too_long else (None, None)
    return ModelServerError(
        kind,
        shorten(detail, secrets),
        status=status or None,
        retry_after=retry_after,
        retryable=False if spent else None,
        limit=limit,
        counted=counted,
        plain=plain,
        answered=True,
    )


def in_stream(body: Any, *, secrets: Iterable[str] = ()) -> ModelServerError:
    """Return the error of an error object inside a stream; its code may be a status."""
    _, _, code = server_message(body)
    status = int(code) if code in _STATUSES else 0
    error = from_answer(status, body, secrets=secrets)
    error.status = status or None
    return error


def retry_seconds(headers: Any) -> float | None:
    """Return the seconds that Retry-After asks for; None where it is missing or a date."""
    try:
        seconds = float(headers.get("retry-after") or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _token_numbers(body: Any, message: str) -> tuple[int | None, int | None]:
    """Return the tokens that a server allows, and those that it counted, as far as it names them."""
    error = body.get("error") if isinstance(body, Mapping) else None
    fields = error if isinstance(error, Mapping) else {}
    words = _THOUSANDS.sub("", message.lower())
    limit = _field(fields, _LIMIT_FIELDS) or _first_number(_LIMITS, words)
    return limit, _field(fields, _COUNTED_FIELDS) or _first_number(_COUNTED, words)


def _field(fields: Mapping[str, Any], names: Sequence[str]) -> int | None:
    values = (fields.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and value >= SMALLEST_CONTEXT), None)


def _first_number(patterns: Sequence[re.Pattern[str]], words: str) -> int | None:
    for pattern in patterns:
        if (match := pattern.search(words)) and int(match[1]) >= SMALLEST_CONTEXT:
            return int(match[1])
    return None


class Priority(IntEnum):
    """Who waits for an answer; smaller numbers come first."""

    PERSON = 1
    TASK = 2
    """An automation or an administrator's test needs the answer, and nobody listens while it comes."""
    BACKGROUND = 3
    """Nobody needs it now: memories, summaries, prompts that are read ahead. People interrupt it."""


@dataclass(slots=True, eq=False)
class Caller:
    """The one that a turn, or a piece of work, asks for. All of its requests share this."""

    who: str = ""
    """The speaker; requests of several speakers are answered in turn."""
    priority: Priority = Priority.PERSON
    waited: float = 0.0
    """Seconds that its requests have waited."""
    served: int = 0
    """Requests that were sent: a turn that has begun goes on before others begin."""
    running: int = 0
    """Requests that are being answered: a tool of the turn may ask while the turn's own answer ends."""


def background(who: str) -> Caller:
    """Return the caller of work that nobody waits for."""
    return Caller(who, Priority.BACKGROUND)


class FunctionCall(TypedDict):
    """What a model calls; `arguments` is JSON as text."""

    name: str
    arguments: str


class MessageCall(TypedDict):
    """One call in a message of the assistant."""

    id: str
    type: str
    function: FunctionCall
    extra_content: NotRequired[Any]
    """What some servers want back with their own calls."""


class Message(TypedDict, total=False):
    """A message of a request, in OpenAI's format."""

    role: Required[str]
    """system, user, assistant or tool."""
    content: Required[Any]
    """A text; beside pictures a list of parts."""
    tool_calls: list[MessageCall]
    tool_call_id: str
    """The call whose result a message of a tool is."""
    name: str
    at_home: bool
    """Only in stored messages: an external model must not receive this."""


class Dialect(StrEnum):
    """The protocols that are spoken."""

    OPENAI = "openai"
    OLLAMA = "ollama"
    AZURE = "azure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model on a server; keys and header values never show in its repr."""

    base_url: str = field(repr=False)
    model: str
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    dialect: str = "auto"
    api_version: str | None = None
    unusable: str = ""
    """Why nothing may be sent, if the key cannot be rendered."""


@dataclass(slots=True, kw_only=True)
class ChatRequest:
    """A chat in OpenAI's format; None leaves a parameter to the server."""

    messages: list[Message]
    tools: list[dict[str, Any]] = field(default_factory=list)
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    keep_alive: str | None = None
    num_ctx: int | None = None
    thinking: bool | None = None
    reasoning_effort: str | None = None
    response_schema: dict[str, Any] | None = None
    tool_choice: str | None = None
    conversation_id: str | None = None
    give_up_at: float | None = None
    """When no more of an answer is awaited, by the clock of the event loop."""
    budget: RequestBudget | None = None
    """How many requests may still be sent, counted by all of a turn together."""
    caller: Caller = field(default_factory=Caller)
    """Who waits for the answer; the requests of a turn share it."""


class ToolCall(NamedTuple):
    """A call; `arguments` is the text the model wrote and may be broken JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one request; `cached` are those of the prompt that came from the server's cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """Return all tokens that were counted."""
        return self.prompt + self.completion

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Return the tokens of both."""
        return TokenUsage(
            self.prompt + other.prompt, self.completion + other.completion, self.cached + other.cached
        )


@dataclass(slots=True)
class Delta:
    """A piece of an answer, or a whole one; tool calls are whole."""

    content: str = ""
    thinking: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    finish_reason: str | None = None
    usage: TokenUsage | None = None


class Probe(NamedTuple):
    """What a model can do; None is unknown. `context_size` is in tokens."""

    tool_calling: bool | None
    context_size: int | None


@dataclass(slots=True)
class ModelFacts:
    """What is known of one model.

    `steps` counts the steps taken per parameter; the rest is what Ollama tells. Sizes are in tokens;
    `num_ctx` is the one the model was last loaded with.
    """

    steps: dict[str, int] = field(default_factory=dict)
    asked: bool = False
    context_length: int | None = None
    num_ctx: int = 0
    abilities: frozenset[str] | None = None


_ERRORS: Final[Mapping[ErrorKind, type[HomeAgentError]]] = {
    ErrorKind.AUTH: AuthenticationError,
    ErrorKind.RATE_LIMIT: RateLimitExceeded,
    ErrorKind.TIMEOUT: LLMTimeout,
    ErrorKind.UNAVAILABLE: LLMUnavailable,
    ErrorKind.CONTEXT_TOO_LONG: TokenLimitExceeded,
    ErrorKind.MODEL_NOT_FOUND: ModelNotFound,
    ErrorKind.BAD_REQUEST: RequestRefused,
    ErrorKind.MALFORMED: LLMError,
    ErrorKind.BUSY: LLMBusy,
}


def as_agent_error(err: ModelServerError, *, with_pictures: bool = False) -> HomeAgentError:
    """Return the error in a form that a user can see.

    A server that refuses a request with pictures has a model that cannot see, as a rule.
    """
    kind, error = err.kind, _ERRORS[err.kind]
    if with_pictures and kind is ErrorKind.BAD_REQUEST:
        error = CannotSee
    elif kind is ErrorKind.AUTH and not err.answered:
        error = KeyUnusable
    elif kind is ErrorKind.AUTH and err.keyless:
        error = KeyMissing
    elif kind is ErrorKind.RATE_LIMIT and (err.status == HTTPStatus.PAYMENT_REQUIRED or not err.retryable):
        error = QuotaExceeded
    elif kind is ErrorKind.UNAVAILABLE and err.answered:
        error = LLMServerError
    raised = error(err.plain)
    raised.said = err.detail
    return raised
