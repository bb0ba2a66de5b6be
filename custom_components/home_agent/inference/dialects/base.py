"""What every dialect offers, and how an answer is put together whatever it came in."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from yarl import URL

from ..calls import CallAssembler, well_formed
from ..errors import ErrorKind, ModelServerError
from ..models import ChatRequest, Delta, Dialect, Endpoint, TokenUsage, ToolCall

TEXT_CHARS: Final = 1_000_000
MAX_TOKENS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request to send; without a body it is a GET."""

    url: URL
    body: dict[str, Any] | None = None


class _Characters:
    """Joins characters that a server cut in two halves of a surrogate pair."""

    def __init__(self) -> None:
        self._half = ""

    def complete_characters(self, text: str) -> str:
        """Return text that can be encoded; half a character at its end waits for the other half."""
        if text.isascii() and not self._half:
            return text
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return well_formed(text)


class AnswerReader(ABC):
    """Turns the objects of one answer into deltas."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.secrets = secrets
        self.calls = CallAssembler()
        self.finish_reason: str | None = None
        self.usage: TokenUsage | None = None
        self.recognised = False
        self.full = False
        self._left = TEXT_CHARS
        self._content = _Characters()
        self._thinking = _Characters()

    @abstractmethod
    def read(self, data: Mapping[str, Any]) -> Delta | None:
        """Return the delta of an object, None if it is empty. Raises ModelServerError."""

    def close(self) -> Delta | None:
        """Return the rest at the end of the answer."""
        calls = self.calls.flush()
        reason = "length" if self.full else self.finish_reason
        if reason == "stop" and self.calls.seen:
            reason = "tool_calls"
        if not (calls or reason or self.usage):
            return None
        return Delta(tool_calls=calls, finish_reason=reason, usage=self.usage)

    @property
    def size(self) -> int:
        """Return how many characters of words, thoughts and calls have come."""
        return TEXT_CHARS - self._left + self.calls.size

    def _delta(self, content: str, thinking: str, calls: list[ToolCall]) -> Delta | None:
        """Return a delta within the limit of the whole answer, None if it would be empty."""
        if content:
            content = self._content.complete_characters(content)
        if thinking:
            thinking = self._thinking.complete_characters(thinking)
        size = len(content) + len(thinking)
        if size > self._left:
            self.full = True
            content, thinking = content[: self._left], thinking[: max(0, self._left - len(content))]
        self._left = max(0, self._left - size)
        if not (content or thinking or calls):
            return None
        return Delta(content=content, thinking=thinking, tool_calls=calls)


class Wire(ABC):
    """A protocol: where requests go, what is in them, how answers are read. Holds no state."""

    dialect: ClassVar[Dialect]

    @abstractmethod
    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the headers that carry the key."""

    @abstractmethod
    def chat(self, endpoint: Endpoint, request: ChatRequest, *, stream: bool) -> ServerRequest:
        """Return the request for an answer."""

    @abstractmethod
    def answer(self, secrets: Sequence[str] = ()) -> AnswerReader:
        """Return a reader for one answer."""

    @abstractmethod
    def models(self, endpoint: Endpoint) -> ServerRequest:
        """Return the request for the list of models."""

    @abstractmethod
    def embeddings(self, endpoint: Endpoint, texts: list[str], keep_alive: str | None) -> ServerRequest:
        """Return the request for embeddings."""

    @abstractmethod
    def read_embeddings(self, data: Any) -> list[list[float]]:
        """Return the vectors, in the order of the texts."""

    @staticmethod
    def read_models(data: Any) -> list[dict[str, Any]]:
        """Return the models of a list; each has an `id` at least."""
        listed = data if isinstance(data, list) else data.get("data") or data.get("models") or []
        named = ((item, item.get("id") or item.get("name")) for item in listed if isinstance(item, dict))
        return [{**item, "id": name} for item, name in named if isinstance(name, str)]


def token_usage(prompt: Any, completion: Any, cached: Any = 0) -> TokenUsage:
    """Return the counts of a server; values that are not numbers count as 0."""
    return TokenUsage(_tokens(prompt), _tokens(completion), _tokens(cached))


def _tokens(value: Any) -> int:
    """Return a count of tokens; 0 for values that are not numbers, limited to a plausible maximum."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        return 0
    return int(min(value, MAX_TOKENS))


def malformed(detail: str, plain: str | None = None) -> ModelServerError:
    """Return the error for an answer that makes no sense; `plain` where the detail quotes the answer."""
    return ModelServerError(ErrorKind.MALFORMED, detail, plain=plain)
