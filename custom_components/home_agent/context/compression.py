"""Fits a request into the model's context: a table of steps, the least important first.

A request is never refused for its length. What is cut ends with a mark that says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from .catalogue import Catalogue
from .providers.base import Slot
from .tokens import estimate_tokens
from .trimming import cut_middle, cut_tail, message_tokens, slim_tools, tools_tokens

type Message = dict[str, Any]

STABLE_SHARE: Final = 0.8
"""What system prompt and tools may take of the room. It is decided without the sentence, so that the same
text is sent from turn to turn."""
RESULT_SHARE: Final = 0.25
"""What one tool result may take of the room before anything else is left out."""
SENTENCE_SHARE: Final = 0.5
KEPT_LINES: Final = 3
"""States that stay until nothing else can go."""
SHORT: Final = 60
"""Tokens to which results are cut when nothing else helps."""
AFTER_TOKENS: Final = 100
"""Of each message behind those of the turn."""
BETWEEN: Final = 8
"""What a request has beside its parts."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt with the catalogue that stands in it."""

    text: str
    catalogue: Catalogue | None = None


type System = Callable[[], Prompt]


@dataclass(slots=True, kw_only=True)
class Draft:
    """A request before it is fitted."""

    systems: Sequence[System]
    """System prompts, the fullest first, each shorter than the one before."""
    tools: list[dict[str, Any]] = field(default_factory=list)
    tools_budget: int | None = None
    """Tokens of the tools that a person has set."""
    history: list[Message] = field(default_factory=list)
    """Earlier turns, oldest first."""
    slots: Sequence[Slot] = ()
    """What is true now, sent with the newest user message and never stored."""
    systems_outside: Sequence[System] = ()
    """The system prompts for a model outside the house, where they differ."""


@dataclass(slots=True, kw_only=True)
class Fitted:
    """A request that fits. Tokens are as `estimate_tokens` counts them."""

    messages: list[Message]
    tools: list[dict[str, Any]]
    slots: Sequence[Slot]
    tokens: int
    original: int
    """What it would have taken as a whole."""
    catalogue: Catalogue | None
    steps: tuple[str, ...]
    """What was done to make it fit, in this order."""
    history: int
    """Tokens of the earlier turns."""
    said: int
    """Tokens of what was said and called in this turn."""


class _Work:
    """A draft while it is being fitted."""

    def __init__(self, draft: Draft, current: Sequence[Message], after: Sequence[Message], room: int) -> None:
        """Take the draft whole."""
        self.draft = draft
        self.room = room
        self.level = 0
        self.system = draft.systems[0]()
        self.tools = draft.tools
        self.history = list(draft.history)
        self.slots = list(draft.slots)
        self.current = list(current)
        self.after = [{**message, "content": cut_tail(message["content"], AFTER_TOKENS)} for message in after]
        self.original = self.tokens

    @property
    def stable(self) -> int:
        """Return the tokens of what is the same from turn to turn."""
        return BETWEEN + estimate_tokens(self.system.text) + tools_tokens(self.tools)

    @property
    def tokens(self) -> int:
        """Return the tokens of the whole request."""
        moving = sum(map(message_tokens, (*self.history, *self.current, *self.after)))
        return self.stable + moving + sum(map(slot_tokens, self.slots))

    @property
    def over(self) -> int:
        """Return by how many tokens it is too long."""
        return self.tokens - self.room

    def next_system(self) -> bool:
        """Take the next shorter system prompt; False where there is none."""
        if self.level + 1 >= len(self.draft.systems):
            return False
        self.level += 1
        self.system = self.draft.systems[self.level]()
        return True


def fit(draft: Draft, current: Sequence[Message], room: int, *, after: Sequence[Message] = ()) -> Fitted:
    """Return the request of a draft and the messages of its turn, within so many tokens.

    `after` is said behind them; the volatile block stays beside the newest sentence of the turn.
    """
    work = _Work(draft, current, after, room)
    steps = []
    if draft.tools_budget is not None and tools_tokens(work.tools) > draft.tools_budget:
        work.tools = slim_tools(work.tools)
        steps.append("tools")
    for table, too_long in ((STABLE_STEPS, _stable_is_long), (STEPS, _all_is_long)):
        untried = iter(table)
        while too_long(work) and (row := next(untried, None)) is not None:
            name, step = row
            if step(work) and name not in steps:
                steps.append(name)
    return Fitted(
        messages=[
            *([{"role": "system", "content": work.system.text}] if work.system.text else []),
            *work.history,
            *with_volatile(work.current, volatile_text(work.slots)),
            *work.after,
        ],
        tools=work.tools,
        slots=work.slots,
        catalogue=work.system.catalogue,
        tokens=work.tokens,
        original=work.original,
        steps=tuple(steps),
        history=sum(map(message_tokens, work.history)),
        said=sum(map(message_tokens, (*work.current, *work.after))),
    )


def slot_tokens(slot: Slot) -> int:
    """Return about how many tokens a slot takes; its lines were counted when they were chosen."""
    if not slot.lines:
        return 0
    return sum(1 + estimate_tokens(line) for line in (slot.heading, *slot.lines))


def volatile_text(slots: Sequence[Slot]) -> str:
    """Return the block of this moment."""
    return "\n".join(slot.text for slot in slots if slot.lines)


def with_volatile(messages: Sequence[Message], volatile: str) -> list[Message]:
    """Return the messages with the volatile block behind the newest user message.

    It stands behind the sentence, so that the sentence still belongs to the part that a server has cached.
    """
    if not volatile:
        return list(messages)
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "user":
            changed = {**messages[index], "content": _beside(messages[index]["content"], volatile)}
            return [*messages[:index], changed, *messages[index + 1 :]]
    return [*messages, {"role": "user", "content": volatile}]


def _beside(content: Any, volatile: str) -> Any:
    """Return the content of a message with a text behind it."""
    if isinstance(content, list):
        return [*content, {"type": "text", "text": volatile}]
    return f"{content}\n\n{volatile}"


# Steps. Each returns whether it changed anything.


def _stable_is_long(work: _Work) -> bool:
    """Return whether what is the same from turn to turn leaves too little for the rest."""
    return work.stable > STABLE_SHARE * work.room


def _all_is_long(work: _Work) -> bool:
    """Return whether the request is too long."""
    return work.over > 0


def _shorter_system(too_long: Callable[[_Work], bool]) -> Callable[[_Work], bool]:
    """Return the step that takes shorter system prompts until one fits."""

    def step(work: _Work) -> bool:
        level = work.level
        while too_long(work) and work.next_system():
            pass
        return work.level > level

    return step


def _one_system(work: _Work) -> bool:
    """Take the next shorter system prompt."""
    return work.next_system()


def _slim_tools(work: _Work) -> bool:
    """Tell less of each tool."""
    slim = slim_tools(work.tools)
    changed = tools_tokens(slim) < tools_tokens(work.tools)
    if changed:
        work.tools = slim
    return changed


def _fewer_tools(too_long: Callable[[_Work], bool]) -> Callable[[_Work], bool]:
    """Return the step that leaves tools out, the last first."""

    def step(work: _Work) -> bool:
        before = work.tools
        while work.tools and too_long(work):
            work.tools = work.tools[:-1]
        return work.tools is not before

    return step


def _cut_results(limit: Callable[[_Work], int]) -> Callable[[_Work], bool]:
    """Return the step that cuts each tool result and each old call to a number of tokens."""

    def step(work: _Work) -> bool:
        most, over, changed = limit(work), work.over, False
        for index, message in enumerate(work.current):
            if over <= 0:
                break
            shorter = _shortened_call(message, most)
            if shorter is not message:
                work.current[index] = shorter
                over -= message_tokens(message) - message_tokens(shorter)
                changed = True
        return changed

    return step


def _shortened_call(message: Message, most: int) -> Message:
    """Return a tool result, or a call, with at most so many tokens of text."""
    if message["role"] == "tool":
        text = str(message["content"])
        return {**message, "content": cut_tail(text, most)} if estimate_tokens(text) > most else message
    calls = message.get("tool_calls") or ()
    if not any(estimate_tokens(call["function"]["arguments"]) > most for call in calls):
        return message
    return {**message, "tool_calls": [_shorter_arguments(call, most) for call in calls]}


def _shorter_arguments(call: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return a call whose arguments stay JSON however long they were."""
    function = call["function"]
    if estimate_tokens(function["arguments"]) <= most:
        return dict(call)
    return {**call, "function": {**function, "arguments": orjson.dumps({"cut": True}).decode()}}


def _no_reference(work: _Work) -> bool:
    """Leave out what is only for answering, such as passages of documents."""
    kept = [slot for slot in work.slots if not slot.reference]
    changed = any(slot.lines for slot in work.slots if slot.reference)
    work.slots = kept
    return changed


def _less_history(work: _Work) -> bool:
    """Leave out the oldest turns."""
    over, kept = work.over, 0
    for index, message in enumerate(work.history):
        if message["role"] == "user" and over <= 0:
            break
        over -= message_tokens(message)
        kept = index + 1
    work.history = work.history[kept:]
    return kept > 0


def _fewer_states(keep: int) -> Callable[[_Work], bool]:
    """Return the step that leaves out states, the least likely first."""

    def step(work: _Work) -> bool:
        changed = False
        for index in range(len(work.slots) - 1, -1, -1):
            while work.over > 0 and not work.slots[index].fixed and len(work.slots[index].lines) > keep:
                lines = len(work.slots[index].lines)
                fewer = max(keep, min(lines - 1, lines // 2))
                work.slots[index] = work.slots[index].first(fewer)
                changed = True
        return changed

    return step


def _cut_texts(limit: Callable[[_Work], int]) -> Callable[[_Work], bool]:
    """Return the step that cuts what was said in this turn: the middle goes, the ends stay."""

    def step(work: _Work) -> bool:
        most, over, changed = limit(work), work.over, False
        by_length = sorted(range(len(work.current)), key=lambda index: -message_tokens(work.current[index]))
        for index in by_length:
            message = work.current[index]
            text = message["content"]
            if over <= 0 or not isinstance(text, str) or message["role"] == "tool":
                continue
            shorter = cut_middle(text, max(most, estimate_tokens(text) - over))
            if shorter != text:
                work.current[index] = {**message, "content": shorter}
                over -= estimate_tokens(text) - estimate_tokens(shorter)
                changed = True
        return changed

    return step


def _fewer_rounds(work: _Work) -> bool:
    """Leave out the first calls of the turn with their results; the last ones stay."""
    changed = False
    while work.over > 0:
        calls = [index for index, message in enumerate(work.current) if message.get("tool_calls")]
        if len(calls) <= 1:
            break
        work.current = [*work.current[: calls[0]], *work.current[calls[1] :]]
        changed = True
    return changed


def _fewer_calls(work: _Work) -> bool:
    """Leave out calls of one round with their results, the first ones first."""
    changed = False
    while work.over > 0:
        index = next((i for i, message in enumerate(work.current) if message.get("tool_calls")), None)
        if index is None or len(calls := work.current[index]["tool_calls"]) <= 1:
            break
        dropped = {call["id"] for call in calls[: len(calls) // 2]}
        work.current[index] = {**work.current[index], "tool_calls": calls[len(calls) // 2 :]}
        work.current = [message for message in work.current if message.get("tool_call_id") not in dropped]
        changed = True
    return changed


STABLE_STEPS: Final[Sequence[tuple[str, Callable[[_Work], bool]]]] = (
    ("catalogue", _one_system),
    ("tools", _slim_tools),
    ("instructions", _shorter_system(_stable_is_long)),
    ("tools", _fewer_tools(_stable_is_long)),
)
"""Steps for what does not depend on the sentence."""

STEPS: Final[Sequence[tuple[str, Callable[[_Work], bool]]]] = (
    ("results", _cut_results(lambda work: int(RESULT_SHARE * work.room))),
    ("documents", _no_reference),
    ("history", _less_history),
    ("states", _fewer_states(KEPT_LINES)),
    ("sentence", _cut_texts(lambda work: int(SENTENCE_SHARE * work.room))),
    ("catalogue", _one_system),
    ("results", _cut_results(lambda work: max(SHORT, int(RESULT_SHARE * work.room / 4)))),
    ("tools", _slim_tools),
    ("rounds", _fewer_rounds),
    ("results", _cut_results(lambda _work: SHORT)),
    ("rounds", _fewer_calls),
    ("instructions", _shorter_system(_all_is_long)),
    ("states", _fewer_states(0)),
    ("sentence", _cut_texts(lambda _work: SHORT // 2)),
    ("tools", _fewer_tools(_all_is_long)),
)
"""Steps for what is too long now."""
