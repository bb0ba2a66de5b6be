"""What a model on a server does not take, learned from its refusals and remembered.

A request is sent as it should be. When the server refuses it with words that name one of its parameters, the
next step of that parameter's row is taken and the request is sent again; what then works is remembered.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
import re
from typing import Any, Final

from ..regex import lazy_regex
from .errors import ErrorKind, ModelServerError, server_message
from .models import Dialect, Endpoint

MAX_MODELS: Final = 64

type Body = dict[str, Any]
type Step = Callable[[Body], None]


def _drop(*names: str) -> Step:
    def step(body: Body) -> None:
        for name in names:
            body.pop(name, None)

    return step


def _rename(old: str, new: str) -> Step:
    def step(body: Body) -> None:
        body[new] = body.pop(old)

    return step


def _set(name: str, value: Any) -> Step:
    def step(body: Body) -> None:
        body[name] = value

    return step


def _without_tools(body: Body) -> None:
    """Leave the choice out, and the tools too when none may be called."""
    if body.pop("tool_choice", None) == "none":
        body.pop("tools", None)


@dataclass(frozen=True, slots=True)
class RefusableParameter:
    """A parameter that servers refuse: its names, and the alternatives, step after step."""

    name: str
    words: tuple[str, ...]
    steps: tuple[Step, ...]
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Compile the words."""
        words = "|".join(map(re.escape, (self.name, *self.words)))
        object.__setattr__(self, "pattern", lazy_regex(rf"(?<![a-z_]){'(?:' + words + ')'}(?![a-z_])"))


def _optional(name: str, *words: str) -> RefusableParameter:
    return RefusableParameter(name, words, (_drop(name),))


# Where a refusal names several, the first row wins: top_p before temperature, as some models take only one.
PARAMETERS: Final = (
    RefusableParameter(
        "max_tokens",
        ("max_completion_tokens",),
        (_rename("max_tokens", "max_completion_tokens"), _drop("max_tokens")),
    ),
    _optional("stream_options", "include_usage"),
    _optional("chat_template_kwargs", "enable_thinking"),
    _optional("reasoning_effort", "reasoning.effort", "reasoning effort", "reasoning"),
    _optional("top_p"),
    _optional("temperature"),
    RefusableParameter(
        "response_format",
        ("json_schema", "grammar", "structured output", "structured outputs"),
        (_set("response_format", {"type": "json_object"}), _drop("response_format")),
    ),
    RefusableParameter("tool_choice", ("tool choice",), (_without_tools,)),
    RefusableParameter("think", ("thinking", "think value"), (_set("think", True), _drop("think"))),
    _optional("format"),
    _optional("keep_alive", "keepalive"),
)
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
_NO_ROOM: Final = lazy_regex(r"max_(?:completion_)?tokens\W.{0,60}too large")
_LEARNABLE: Final = (400, 422, 500, 501)


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


class Capabilities:
    """Remembers facts per endpoint and model, the longest unused forgotten first."""

    def __init__(self) -> None:
        self._models: OrderedDict[tuple[str, str], ModelFacts] = OrderedDict()
        self._dialects: OrderedDict[str, Dialect] = OrderedDict()

    def of(self, endpoint: Endpoint) -> ModelFacts:
        """Return the known capabilities of a model; changes to them are remembered."""
        key = (endpoint.base_url, endpoint.model)
        facts = self._models.setdefault(key, ModelFacts())
        self._models.move_to_end(key)
        if len(self._models) > MAX_MODELS:
            self._models.popitem(last=False)
        return facts

    def dialect(self, base_url: str) -> Dialect | None:
        """Return the dialect found at an address."""
        return self._dialects.get(base_url)

    def remember_dialect(self, base_url: str, dialect: Dialect) -> None:
        """Keep the dialect found at an address."""
        self._dialects[base_url] = dialect
        if len(self._dialects) > MAX_MODELS:
            self._dialects.popitem(last=False)


def adapt(body: Body, steps: dict[str, int]) -> Body:
    """Return the body with the steps taken."""
    if not steps:
        return body
    body = dict(body)
    for row in PARAMETERS:
        if (taken := steps.get(row.name)) and row.name in body:
            row.steps[taken - 1](body)
    return body


def learn(error: ModelServerError, answer: Any, sent: Body, steps: dict[str, int]) -> str | None:
    """Return the parameter to take the next step of; None if the refusal is about something else.

    `answer` is the refusal, decoded; `sent` the body before any step.
    """
    if error.status not in _LEARNABLE:
        return None
    rows = [row for row in PARAMETERS if row.name in sent and steps.get(row.name, 0) < len(row.steps)]
    message, parameter, code = server_message(answer)
    words = f"{code} {message}".lower()
    if error.kind is ErrorKind.CONTEXT_TOO_LONG:
        rows = [row for row in rows if row.name == "max_tokens" and _NO_ROOM.search(words)]
        return rows[0].name if rows else None
    if parameter and error.kind is ErrorKind.BAD_REQUEST:
        return _first_named(rows, parameter.lower())
    if error.kind is ErrorKind.BAD_REQUEST:
        return _first_named(rows, words) or (_first_extra(rows) if _UNNAMED.search(words) else None)
    refuses = error.kind is ErrorKind.UNAVAILABLE and _REFUSALS.search(words)
    return _first_named(rows, words) if refuses else None


def _first_named(rows: list[RefusableParameter], words: str) -> str | None:
    """Return the first parameter that the words name."""
    return next((row.name for row in rows if row.pattern.search(words)), None)


def _first_extra(rows: list[RefusableParameter]) -> str | None:
    """Return the least important of the parameters that may still be left out."""
    names = {row.name for row in rows}
    return next((name for name in _EXTRAS if name in names), None)
