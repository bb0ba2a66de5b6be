"""Fits a request into the model's context: a table of steps, the least important part first.

A request is never refused for its length. What is cut ends with a mark that says so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import ceil
from typing import Any, Final

from ..inference.models import Message, MessageCall
from ..regex import lazy_regex
from .catalogue import Catalogue
from .providers.base import Slot
from .window import cut_fairly, cut_middle, cut_tail, estimate_tokens, messages_tokens, tools_tokens

type ToolSchema = dict[str, Any]

STABLE_SHARE: Final = 0.8
"""The share of the limit for system prompt and tools. It is decided without the sentence, so that the same
text is sent from turn to turn."""
RESULT_SHARE: Final = 0.25
"""The share of the limit for one tool result before anything else is left out."""
SENTENCE_SHARE: Final = 0.5
KEPT_LINES: Final = 3
"""States that are removed last."""
SHORT: Final = 40
"""Tokens to which a text of this turn is cut if nothing else helps."""
AFTER_TOKENS: Final = 100
"""Tokens of each message behind those of the turn."""
BETWEEN: Final = 8
"""Tokens that a request has beside its parts."""
DESCRIPTION_CHARS: Final = 160
CUT_ARGUMENTS: Final = '{"cut":true}'

_SENTENCE_END = lazy_regex(r"[.!?](?=\s|$)")


@dataclass(frozen=True)
class Prompt:
    """A system prompt with the catalogue that it contains."""

    text: str
    catalogue: Catalogue | None = None

    @cached_property
    def tokens(self) -> int:
        """Return the tokens of the text."""
        return estimate_tokens(self.text)


type System = Callable[[], Prompt]
type Step = Callable[[_Request, int], int]


@dataclass(kw_only=True)
class RequestDraft:
    """A request before it is fitted."""

    systems: Sequence[System]
    """System prompts, the fullest first, each shorter than the one before."""
    tools: list[ToolSchema] = field(default_factory=list)
    tools_budget: int | None = None
    """Tokens of the tools that a person has set."""
    history: list[Message] = field(default_factory=list)
    """Earlier turns, oldest first."""
    slots: Sequence[Slot] = ()
    """What is true now, sent with the newest user message and never stored, and stable ones."""
    systems_outside: Sequence[System] = ()
    """The system prompts for an external model, if they differ."""


@dataclass(kw_only=True)
class FittedRequest:
    """A request that fits. Tokens are as `estimate_tokens` counts them."""

    messages: list[Message]
    tools: list[ToolSchema]
    slots: Sequence[Slot]
    catalogue: Catalogue | None
    parts: dict[str, int]
    """Tokens of the rules, the catalogue, the tools, the history, the messages of the turn, and each slot."""
    original: int
    """Tokens of the request before anything was left out."""
    steps: tuple[str, ...]
    """What was done to make it fit, in this order."""

    @cached_property
    def tokens(self) -> int:
        """Return the tokens of the whole request."""
        return BETWEEN + sum(self.parts.values())


class _Request:
    """A draft while it is being fitted."""

    def __init__(
        self, draft: RequestDraft, current: Sequence[Message], after: Sequence[Message], limit: int
    ) -> None:
        self.limit = limit
        self.steps: dict[str, None] = {}
        self._shorter_systems = iter(draft.systems[1:])
        self.system = draft.systems[0]()
        self.tools = draft.tools
        self.history = list(draft.history)
        self.slots = list(draft.slots)
        self.current = list(current)
        self.after: list[Message] = [
            {**message, "content": cut_tail(message["content"], AFTER_TOKENS)} for message in after
        ]

    def parts(self) -> dict[str, int]:
        """Return the tokens of each part."""
        catalogue = self.system.catalogue
        listed = min(catalogue.tokens, self.system.tokens) if catalogue and self.system.text else 0
        parts = {
            "rules": self.system.tokens - listed,
            "catalogue": listed,
            "tools": tools_tokens(self.tools),
            "history": messages_tokens(self.history),
            "said": messages_tokens((*self.current, *self.after)),
        }
        for slot in self.slots:
            if slot.lines:
                parts[slot.name] = parts.get(slot.name, 0) + slot.tokens
        return parts

    def shorten(self, table: Iterable[tuple[str, Step]], excess: int) -> int:
        """Take the steps of a table until the excess is removed; return how many tokens they saved."""
        left = excess
        for name, step in table:
            if left <= 0:
                break
            if saved := step(self, left):
                left -= saved
                self.steps[name] = None
        return excess - left

    def next_system(self) -> int | None:
        """Take the next shorter system prompt and return the saved tokens, None if there is none."""
        if (system := next(self._shorter_systems, None)) is None:
            return None
        longer, self.system = self.system, system()
        return longer.tokens - self.system.tokens


def fit(
    draft: RequestDraft, current: Sequence[Message], limit: int, *, after: Sequence[Message] = ()
) -> FittedRequest:
    """Return the request of a draft and the messages of its turn, within so many tokens.

    `after` is said behind them; the volatile block stays beside the newest sentence of the turn.
    """
    request = _Request(draft, current, after, limit)
    parts = request.parts()
    original = BETWEEN + sum(parts.values())
    lasting = [slot for slot in draft.slots if slot.stable]
    stable = BETWEEN + parts["rules"] + parts["catalogue"] + parts["tools"]
    stable += sum(slot.tokens for slot in lasting)
    saved = 0
    if draft.tools_budget is not None:
        saved += request.shorten((("tools", _slim_tools),), parts["tools"] - draft.tools_budget)
    saved += request.shorten(STABLE_STEPS, ceil(stable - saved - STABLE_SHARE * limit))
    request.shorten(STEPS, original - saved - limit)
    text = "\n".join(filter(None, (request.system.text, slots_text(lasting))))
    system: Message = {"role": "system", "content": text}
    return FittedRequest(
        messages=[
            *((system,) if text else ()),
            *request.history,
            *with_volatile(request.current, slots_text([slot for slot in request.slots if not slot.stable])),
            *request.after,
        ],
        tools=request.tools,
        slots=request.slots,
        catalogue=request.system.catalogue,
        parts=request.parts() if request.steps else parts,
        original=original,
        steps=tuple(request.steps),
    )


def slots_text(slots: Iterable[Slot]) -> str:
    """Return slots as text."""
    return "\n".join("\n".join((slot.heading, *slot.lines)) for slot in slots if slot.lines)


def with_volatile(messages: Sequence[Message], volatile: str) -> list[Message]:
    """Return the messages with the volatile block behind the newest user message.

    It is behind the sentence, so that the sentence still belongs to the part that a server has cached.
    """
    if not volatile:
        return list(messages)
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "user":
            changed: Message = {**messages[index], "content": _beside(messages[index]["content"], volatile)}
            return [*messages[:index], changed, *messages[index + 1 :]]
    return [*messages, {"role": "user", "content": volatile}]


def _beside(content: Any, volatile: str) -> Any:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": volatile}]
    return f"{content}\n\n{volatile}"


def slim_tools(tools: Sequence[ToolSchema]) -> list[ToolSchema]:
    """Return tools without the descriptions of their parameters, and with one sentence about each.

    Names, types, choices and required keys stay.
    """
    return [{**tool, "function": _slim(tool["function"])} for tool in tools]


def _slim(function: Mapping[str, Any]) -> dict[str, Any]:
    slim = {**function, "parameters": _undescribed(function.get("parameters") or {})}
    if description := function.get("description"):
        end = _SENTENCE_END.search(description)
        slim["description"] = (description[: end.end()] if end else description)[:DESCRIPTION_CHARS]
    return slim


def _undescribed(schema: Any, *, names: bool = False) -> Any:
    """Return a schema without descriptions; below `properties` the keys are names, not keywords."""
    if isinstance(schema, list):
        return [_undescribed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _undescribed(value, names=key == "properties" and not names)
        for key, value in schema.items()
        if names or key not in {"description", "title", "examples", "default"}
    }


# Steps. Each gets by how many tokens the request is too long, and returns how many it saved.


def _shorter_system(request: _Request, excess: int, *, levels: int | None = None) -> int:
    """Take shorter system prompts until one fits, at most so many levels down."""
    saved = 0
    while saved < excess and levels != 0 and (less := request.next_system()) is not None:
        saved += less
        levels = None if levels is None else levels - 1
    return saved


def _slim_tools(request: _Request, _excess: int) -> int:
    slim = slim_tools(request.tools)
    saved = tools_tokens(request.tools) - tools_tokens(slim)
    if saved > 0:
        request.tools = slim
    return max(0, saved)


def _fewer_tools(request: _Request, excess: int) -> int:
    """Leave out tools, the last first."""
    saved = 0
    while request.tools and saved < excess:
        saved += tools_tokens(request.tools[-1:])
        request.tools = request.tools[:-1]
    return saved


def _no_documents(request: _Request, _excess: int) -> int:
    """Leave out passages of documents and whatever else is only for answering."""
    saved = sum(slot.tokens for slot in request.slots if slot.reference)
    request.slots = [slot for slot in request.slots if not slot.reference]
    return saved


def _fewer_states(request: _Request, excess: int, *, keep: int) -> int:
    """Leave out states and other lines of this moment, the least likely first."""
    saved = 0
    for index in reversed(range(len(request.slots))):
        slot = request.slots[index]
        while saved < excess and not (slot.fixed or slot.stable) and len(slot.lines) > keep:
            longer, slot = slot, slot.first(max(keep, len(slot.lines) // 2))
            saved += longer.tokens - slot.tokens
        request.slots[index] = slot
    return saved


def _fewer_turns(request: _Request, excess: int) -> int:
    saved = 0
    while request.history and (saved < excess or request.history[0]["role"] != "user"):
        saved += messages_tokens(request.history[:1])
        del request.history[0]
    return saved


def _shorter_texts(request: _Request, excess: int, *, share: float = 0.0) -> int:
    """Cut the texts of this turn, the longest first: the middle is removed, the ends stay."""
    return _shorter(request, excess, share, of_tools=False)


def _shorter_results(request: _Request, excess: int, *, share: float = 0.0) -> int:
    """Cut long tool results, and replace long arguments of calls; these must stay valid JSON."""
    most, saved = max(SHORT, int(share * request.limit)), 0
    for index, message in enumerate(request.current):
        calls = message.get("tool_calls") or ()
        if saved < excess and any(estimate_tokens(call["function"]["arguments"]) > most for call in calls):
            shorter: Message = {**message, "tool_calls": [_shorter_arguments(call, most) for call in calls]}
            saved += messages_tokens([message]) - messages_tokens([shorter])
            request.current[index] = shorter
    return saved + _shorter(request, excess - saved, share, of_tools=True)


def _shorter_arguments(call: MessageCall, most: int) -> MessageCall:
    """Return a call with arguments of at most so many tokens."""
    function = call["function"]
    if estimate_tokens(function["arguments"]) <= most:
        return call
    return {**call, "function": {**function, "arguments": CUT_ARGUMENTS}}


def _shorter(request: _Request, excess: int, share: float, *, of_tools: bool) -> int:
    """Cut the results of tools, or the other texts of the turn, as far as it is necessary.

    The shorter ones stay whole. None is cut below its share of the limit.
    """
    chosen = {
        index: message["content"]
        for index, message in enumerate(request.current)
        if (message["role"] == "tool") == of_tools and isinstance(message["content"], str)
    }
    if excess <= 0 or not chosen:
        return 0
    before = sum(map(estimate_tokens, chosen.values()))
    texts = cut_fairly(
        list(chosen.values()),
        before - excess,
        least=max(SHORT, int(share * request.limit)),
        cut=cut_tail if of_tools else cut_middle,
    )
    for index, text in zip(chosen, texts, strict=True):
        request.current[index] = {**request.current[index], "content": text}
    return before - sum(map(estimate_tokens, texts))


def _fewer_calls(request: _Request, excess: int) -> int:
    """Leave out the first calls of the turn with their results; the last call stays."""
    saved = 0
    while saved < excess and (rest := _without_first_call(request.current)) is not None:
        saved += messages_tokens(request.current) - messages_tokens(rest)
        request.current = rest
    return saved


def _without_first_call(messages: Sequence[Message]) -> list[Message] | None:
    """Return messages without their first call and its result; None if there is no other call."""
    rounds = [index for index, message in enumerate(messages) if message.get("tool_calls")]
    if not rounds:
        return None
    called = messages[rounds[0]]
    first, *others = called["tool_calls"]
    if not others and len(rounds) == 1:
        return None
    kept: list[Message] = [{**called, "tool_calls": others}] if others else []
    after = [message for message in messages[rounds[0] + 1 :] if message.get("tool_call_id") != first["id"]]
    return [*messages[: rounds[0]], *kept, *after]


STABLE_STEPS: Final[Sequence[tuple[str, Step]]] = (
    ("tools", _slim_tools),
    ("catalogue", partial(_shorter_system, levels=1)),
    ("instructions", _shorter_system),
    ("tools", _fewer_tools),
)
"""Steps for parts that do not depend on the sentence.

Tools lose their words before the house loses its devices: a model guesses the use of a parameter from its
name, and no id of a device."""

STEPS: Final[Sequence[tuple[str, Step]]] = (
    ("results", partial(_shorter_results, share=RESULT_SHARE)),
    ("documents", _no_documents),
    ("history", _fewer_turns),
    ("states", partial(_fewer_states, keep=KEPT_LINES)),
    ("sentence", partial(_shorter_texts, share=SENTENCE_SHARE)),
    ("tools", _slim_tools),
    ("catalogue", partial(_shorter_system, levels=1)),
    ("results", _shorter_results),
    ("rounds", _fewer_calls),
    ("instructions", _shorter_system),
    ("states", partial(_fewer_states, keep=0)),
    ("sentence", _shorter_texts),
    ("tools", _fewer_tools),
)
"""Steps for parts that are too long now."""
