"""Requests to a model server and its answers, independent of the dialect."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NotRequired, Required, TypedDict

from .errors import RequestBudget
from .queue import Caller


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


@dataclass(frozen=True, slots=True)
class ToolCall:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a server says of itself; None is unknown. `context_size` is in tokens."""

    models: list[str]
    tool_calling: bool | None
    context_size: int | None
    dialect: Dialect


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
