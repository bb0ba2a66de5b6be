"""What every dialect offers: addresses, requests, and how an answer is put together whatever it came in."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from operator import attrgetter
import secrets
import string
from typing import Any, ClassVar, Final, NamedTuple

import orjson
from yarl import URL

from ...regex import lazy_regex
from ..models import (
    ChatRequest,
    Delta,
    Dialect,
    Endpoint,
    ErrorKind,
    Message,
    ModelServerError,
    TokenUsage,
    ToolCall,
)

_HOST: Final = lazy_regex(r"(?=[.:%-]*\w)[\w.:%-]+")
_PASTED: Final = (
    *("/chat/completions", "/completions", "/embeddings", "/models", "/responses"),
    *("/api/chat", "/api/generate", "/api/tags", "/api/version"),
)
_AZURE: Final = (
    ".openai.azure.com",
    ".services.ai.azure.com",
    ".cognitiveservices.azure.com",
    ".azure-api.net",
)
_CLOUD: Final = (
    *_AZURE,
    "openai.com",
    "openrouter.ai",
    "googleapis.com",
    "anthropic.com",
    "mistral.ai",
    "groq.com",
    "deepseek.com",
    "x.ai",
    "together.xyz",
    "together.ai",
    "perplexity.ai",
    "fireworks.ai",
    "cerebras.ai",
    "cohere.com",
    "cohere.ai",
    "nvidia.com",
    "huggingface.co",
    "github.ai",
)


@lru_cache(maxsize=64)
def parse_address(base_url: str) -> URL:
    """Return the base address; the scheme may be missing, a pasted path of a request is cut off."""
    text = base_url.strip()
    url = URL(text if "://" in text else f"http://{text}").with_fragment(None)
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.host or ""):
        raise ValueError("not an http address")
    path = url.raw_path.rstrip("/")
    for suffix in _PASTED:
        path = path.removesuffix(suffix)
    return url.with_path(path.rstrip("/") or "/", encoded=True).with_query(url.query)


@lru_cache(maxsize=256)
def join_address(base: URL, path: str, **query: str) -> URL:
    """Return the base with a path and query parameters added, without the user and password in it."""
    address = base.with_path(base.path.rstrip("/") + path).with_query(base.query).update_query(query)
    return address.with_user(None) if address.user or address.password else address


@lru_cache(maxsize=64)
def without_path(base: URL, *suffixes: str) -> URL:
    """Return the base without the first of these ends of its path."""
    path = base.path.rstrip("/")
    for suffix in suffixes:
        if path.endswith(suffix):
            return base.with_path(path.removesuffix(suffix) or "/").with_query(base.query)
    return base


def is_azure(base: URL) -> bool:
    """Tell whether this is a resource of Azure."""
    return (base.host or "").endswith(_AZURE)


@lru_cache(maxsize=64)
def is_cloud(base: URL) -> bool:
    """Tell whether this is one of the known services on the internet."""
    host = base.host or ""
    return any(host == name or host.endswith(name if name[0] == "." else f".{name}") for name in _CLOUD)


MAX_CALLS: Final = 64
ARGUMENTS_CHARS: Final = 256 * 1024
ID_CHARS: Final = 128

# Mistral's templates insist on nine letters and digits; everyone else takes them too.
_ID_CHARS: Final = 9
_ALPHABET: Final = string.ascii_letters + string.digits
_COUNTED: Final = lazy_regex(r"(?:call)?[-_]?\d{0,6}")


@dataclass(slots=True)
class _Call:
    """A call of which more may come."""

    id: str
    name: str
    parts: list[str] = field(default_factory=list)
    size: int = 0
    emitted: bool = False
    extra: Any = None

    def add(self, fragment: str) -> int:
        """Append a piece of the arguments and return how much was added.

        Past the limit they stay broken on purpose.
        """
        if not fragment or self.size > ARGUMENTS_CHARS:
            return 0
        if self.size == len(fragment) and self.parts[0] == fragment and self.complete:
            return 0  # sent whole, and once more
        self.parts.append(fragment)
        self.size += len(fragment)
        return len(fragment)

    @property
    def arguments(self) -> str:
        """Return the arguments as text; missing ones are an empty object."""
        text = "".join(self.parts).strip()
        if text.startswith("{}") and is_json(text[2:]):
            return text[2:].strip()  # an empty object first, then the real one
        return "{}" if text in ("", "null") else text

    @property
    def complete(self) -> bool:
        """Tell whether the arguments can be read as they are."""
        return is_json(self.arguments)


class CallAssembler:
    """Takes the `tool_calls` entries of deltas and gives back calls that are whole."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._ids: set[str] = set()
        self.seen = 0
        self.size = 0
        """Characters of names and arguments that have come."""
        self.extras: dict[str, Any] = {}

    def add(self, entry: Mapping[str, Any]) -> list[ToolCall]:
        """Take one entry; return the calls before it that are whole now."""
        function = entry.get("function") or entry
        call_id, name = _text(entry.get("id")), _text(function.get("name"))
        fragment = function.get("arguments")
        if not isinstance(fragment, str):
            fragment = "" if fragment is None else orjson.dumps(fragment).decode()
        index = entry.get("index")
        index = index if isinstance(index, int) else None
        call = self._find(index, call_id, name, fragment)
        done: list[ToolCall] = []
        if call is None:
            if len(self._calls) >= MAX_CALLS:
                return []
            # The open calls, in order, up to the first whose arguments are unfinished.
            opened = [known for known in self._calls if not known.emitted]
            done = [self._emit(known) for known in takewhile(attrgetter("complete"), opened)]
            call = _Call(call_id, name)
            self._calls.append(call)
            self.size += len(name)
            if index is not None:
                self._by_index[index] = call
        call.id = call.id or call_id
        call.name = call.name or name
        call.extra = call.extra or entry.get("extra_content")
        self.size += call.add(fragment)
        return done

    def flush(self) -> list[ToolCall]:
        """Return every call that is still open."""
        return [self._emit(call) for call in self._calls if not call.emitted and (call.name or call.parts)]

    def _find(self, index: int | None, call_id: str, name: str, fragment: str) -> _Call | None:
        """Return the call an entry continues; None if it begins another."""
        if index is not None:
            call = self._by_index.get(index)
        else:
            call = next((known for known in self._calls if call_id and known.id == call_id), None)
            if call is None and self._calls and not (call_id and name):
                call = self._calls[-1]
        if call is None or not name or not call.name:
            return call
        # Some servers give every call index 0, or neither index nor id; others repeat the name each time.
        if call_id and call.id:
            return call if call_id == call.id else None
        return None if name != call.name or (fragment and call.complete and call.parts) else call

    def _emit(self, call: _Call) -> ToolCall:
        call.emitted = True
        self.seen += 1
        call_id = well_formed(call.id)
        while len(call_id) > ID_CHARS or _COUNTED.fullmatch(call_id) or call_id in self._ids:
            call_id = new_call_id()
        self._ids.add(call_id)
        if call.extra:
            self.extras[call_id] = call.extra
        return ToolCall(call_id, well_formed(call.name), well_formed(call.arguments))


def well_formed(text: str) -> str:
    """Return a whole text that can be encoded: halves that belong together are joined, others replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def new_call_id() -> str:
    """Return an id for a call, as every server takes it."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_ID_CHARS))


def is_json(text: str) -> bool:
    """Tell whether the text is one JSON value."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_ALWAYS_THINKING: Final = lazy_regex(
    r"gpt-?oss|gpt-?5|(?:^|[/:_-])o[134](?:$|[-:])|gemini-(?:2\.5|3)|grok-[34]-mini"
)
"""Models that cannot stop to think, only think less."""
_SOFT_SWITCH: Final = lazy_regex(
    r"(?:qwen-?3(?![.\d])(?!.*(?:2507|instruct|thinking|coder|next|vl|omni)))|smollm-?3|hunyuan-(?:a13b|\d)"
)
"""Models that read a word in the prompt, also behind servers that pass nothing to their template."""
NO_THINK: Final = "/no_think"
LEAST_EFFORT: Final = "low"
TEMPLATE_SWITCHES: Final = {"enable_thinking": False, "thinking": False}
"""Under these names templates know the switch: Qwen and GLM the first, DeepSeek and Granite the second."""


def always_thinks(model: str) -> bool:
    """Return whether a model can only be told how much to think."""
    return _ALWAYS_THINKING.search(model.casefold()) is not None


def without_thinking(messages: list[Message], model: str) -> list[Message]:
    """Return the messages, with the word not to think in the system prompt of a model that knows it."""
    if not messages or _SOFT_SWITCH.search(model.casefold()) is None:
        return messages
    first, *others = messages
    if first["role"] != "system":
        return [{"role": "system", "content": NO_THINK}, *messages]
    system: Message = {**first, "content": f"{first['content']}\n{NO_THINK}"}
    return [system, *others]


TEXT_CHARS: Final = 1_000_000
MAX_TOKENS: Final = 1_000_000_000


class ServerRequest(NamedTuple):
    """A request to send; without a body it is a GET."""

    url: URL
    body: dict[str, Any] | None = None


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

    def take(self, data: Any) -> Delta | None:
        """Return the delta of what a server sent, None if it is empty. Raises ModelServerError."""
        try:
            return self.read((data[0] if data else {}) if isinstance(data, list) else data)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as err:
            raise malformed("the server's answer has an unknown shape") from err

    @abstractmethod
    def read(self, data: Mapping[str, Any]) -> Delta | None:
        """Return the delta of an object in the dialect, None if it is empty."""

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
        content, thinking = well_formed(content), well_formed(thinking)
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
    answer: ClassVar[type[AnswerReader]]
    """Reads one answer, made with the texts that no error may quote."""

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"Authorization": f"Bearer {key}"} if (key := endpoint.api_key.strip()) else {}

    @abstractmethod
    def chat(self, endpoint: Endpoint, request: ChatRequest, *, stream: bool) -> ServerRequest:
        """Return the request for an answer."""

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
