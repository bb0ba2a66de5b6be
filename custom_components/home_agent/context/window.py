"""The space of a request in the model's context: how large it may be, and what is left out of one too long.

The options set a limit, the probe or the server names one, and the servers' counts calibrate the estimate. A
request is never refused for its length. What is cut ends with a mark that says so.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from math import ceil
import re
from statistics import median
from time import monotonic
from typing import Any, Final, NamedTuple, Self

import orjson

from ..const import (
    CONF_BUDGETS,
    CONF_HISTORY_MAX_TOKENS,
    CONF_MAX_CONTEXT_TOKENS,
    CONF_MAX_TOKENS,
    CONF_NUM_CTX,
    CONF_PROBED_CONTEXT_SIZE,
    DEFAULTS,
)
from ..inference.client import PRIMARY
from ..inference.models import Message, MessageCall
from ..regex import lazy_regex
from ..safety.firewall.firewall import Removal


class Pieces(NamedTuple):
    """One class of pieces that tokenisers cut text into, and what such a piece costs."""

    pattern: re.Pattern[str]
    each: float
    further: float = 0.0
    """What each character beyond the `free` ones adds."""
    free: int = 0

    def cost(self, text: str) -> float:
        """Return the tokens that these pieces of a text make."""
        found = self.pattern.findall(text)
        if not self.further:
            return len(found) * self.each
        beyond = sum(len(piece) - self.free for piece in found if len(piece) > self.free)
        return len(found) * self.each + beyond * self.further


def _pieces(pattern: str, each: float, further: float = 0.0, free: int = 0) -> Pieces:
    return Pieces(lazy_regex(pattern), each, further, free)


# The figures are a least-squares fit to what o200k_base makes of English prose, tool schemas, recorded
# tool calls, lists of entity ids and the interface texts of Home Assistant in 25 languages; over these the
# mean error is 2 to 10 % for most, at worst 22 % too high (Russian) and 16 % too low (Finnish).
ANY_TEXT: Final = (
    _pieces(r"(?<![^\W\d])(?<![.\"])[A-Za-z]+(?![^\W\d_A-Za-z])", 0.96, 0.48, 7),
    _pieces(r"(?<=[.\"])[A-Za-z]+(?![^\W\d_A-Za-z])", 0.92, 0.36, 4),
    _pieces(r"_[A-Za-z]+", 1.0, 0.36, 5),
    _pieces(r"_(?![A-Za-z])", 1.1),
    _pieces(r"[0-9]{1,3}", 1.05),
    _pieces(r" (?=[0-9])", 1.0),
    _pieces(r"[!-/:-@\[-^`{-~]+", 0.79, 0.21, 1),
    _pieces(r"\n+", 0.9),
    _pieces(r"[ \t]{2,}", 0.3),
)
"""Pieces of any text."""

BEYOND_ASCII: Final = (
    _pieces(
        r"(?<![A-Za-z])[A-Za-z]*[\u00c0-\u024f\u1e00-\u1eff][A-Za-z\u00c0-\u024f\u1e00-\u1eff]*", 0.74, 0.4, 3
    ),
    _pieces(r"[\u0400-\u052f]+", 1.3, 0.27, 3),
    _pieces(r"[\u0370-\u03ff\u1f00-\u1fff]+", 0.84, 0.55, 3),
    _pieces(r"[\u0530-\u08ff]+", 1.5, 0.34, 3),
    _pieces(r"[\u0900-\u1cff]", 0.47),
    _pieces(r"[\u3400-\u9fff\uf900-\ufaff]", 0.79),
    _pieces(r"[\u3040-\u30ff]", 0.72),
    _pieces(r"[\uac00-\ud7af]", 0.75),
    _pieces(r"[\u0080-\u00bf\u2000-\u303f\uff00-\uffef]", 0.7),
    _pieces(r"[\U00010000-\U0010ffff]", 1.8),
)
"""Pieces that only text beyond ASCII has."""

MESSAGE_TOKENS: Final = 4
"""Added by the form of a message, of a call or of a tool."""
IMAGE_TOKENS: Final = 1500

CUT: Final = " … (cut)"
"""The end of a text whose end is missing."""
GAP: Final = " … "
"""Between the ends of a text whose middle is missing."""
HEAD_SHARE: Final = 0.6
"""Of a text without its middle, the share of the beginning."""
CAUTION: Final = 0.97
"""How far each attempt to cut a text goes below its target."""

LONG_CHARS: Final = 2_000
SAMPLE_CHARS: Final = 20_000
"""Of a text longer than this only the beginning is counted, and the rest taken to be alike."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text makes; takes time in proportion to its length, up to a limit."""
    if len(text) <= LONG_CHARS:
        return _estimate_short(text)
    if len(text) <= SAMPLE_CHARS:
        return _estimate_long(text)
    return ceil(_estimate_long(text[:SAMPLE_CHARS]) * len(text) / SAMPLE_CHARS)


def _estimate(text: str) -> int:
    classes = ANY_TEXT if text.isascii() else (*ANY_TEXT, *BEYOND_ASCII)
    return ceil(sum(pieces.cost(text) for pieces in classes))


_estimate_short = lru_cache(maxsize=1024)(_estimate)
_estimate_long = lru_cache(maxsize=32)(_estimate)


def message_tokens(message: Mapping[str, Any]) -> int:
    """Return about how many tokens a message takes: its text, its images and its calls."""
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    total = MESSAGE_TOKENS + sum(
        estimate_tokens(str(part.get("text") or "")) if part.get("type") == "text" else IMAGE_TOKENS
        for part in parts
    )
    for call in message.get("tool_calls") or ():
        function = call["function"]
        total += MESSAGE_TOKENS + estimate_tokens(function["name"]) + estimate_tokens(function["arguments"])
    return total


def messages_tokens(messages: Iterable[Mapping[str, Any]]) -> int:
    """Return about how many tokens messages take together."""
    return sum(map(message_tokens, messages))


def tools_tokens(tools: Iterable[Mapping[str, Any]]) -> int:
    """Return about how many tokens the descriptions of tools take."""
    return sum(_tool_tokens(orjson.dumps(tool["function"])) for tool in tools)


@lru_cache(maxsize=512)
def _tool_tokens(function: bytes) -> int:
    return MESSAGE_TOKENS + estimate_tokens(function.decode())


def cut_tail(text: str, tokens: int) -> str:
    """Return the beginning of a text with a mark where it was cut, in at most so many tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    return text[: _fitting_chars(text, tokens, CUT)] + CUT


def cut_middle(text: str, tokens: int) -> str:
    """Return the beginning and the end of a text in at most so many tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    wanted = tokens
    while True:
        ends = _ends(text, wanted)
        found = estimate_tokens(ends)
        if found <= tokens or wanted <= 1:
            return ends
        # Of a long text only the beginning is counted, and the rest may be denser.
        wanted = min(wanted - 1, int(wanted * tokens / found * CAUTION))


def cut_fairly(
    texts: Sequence[str], tokens: int, *, least: int = 0, cut: Callable[[str, int], str] = cut_tail
) -> list[str]:
    """Return texts that together take at most so many tokens; the shorter ones stay whole.

    No text is cut to fewer than `least` tokens, even if the sum is then larger.
    """
    left, result = tokens, list(texts)
    order = sorted(range(len(texts)), key=lambda index: estimate_tokens(texts[index]))
    for done, index in enumerate(order):
        result[index] = cut(texts[index], max(least, left // (len(order) - done)))
        left -= estimate_tokens(result[index])
    return result


def _ends(text: str, tokens: int) -> str:
    head = text[: _fitting_chars(text, int(tokens * HEAD_SHARE), GAP)]
    back = text[::-1]
    end = back[: _fitting_chars(back, tokens - estimate_tokens(head), GAP)][::-1]
    return f"{head}{GAP}{end}"


def _fitting_chars(text: str, tokens: int, mark: str) -> int:
    size = len(text)
    while size > 0 and (found := estimate_tokens(text[:size] + mark)) > tokens:
        size = min(size - 1, int(size * max(0, tokens) / found * CAUTION))
    return max(0, size)


# The window

HEADROOM: Final = 0.92
"""Used share of the space for a request; an estimate may be too low by the rest."""
LARGEST_UNASKED: Final = 32_000
"""How far a request grows if the options set no limit, however much the model takes."""

# Calibration

SAMPLES: Final = 9
SMALLEST: Final = 200
"""Smaller estimates say too little about a tokenizer."""
BELIEVED: Final = (0.6, 4.0)
"""Ratios outside these come from servers that count cached tokens separately, or count something else."""
BOUNDS: Final = (1.0, 2.5)
"""A model that makes fewer tokens of our text leaves space, and needs no larger shares."""
STEP: Final = 0.1
TOO_LOW: Final = 0.08
TOO_HIGH: Final = 0.2
"""The factor stays until the samples are this far off: the catalogue must not change from turn to turn.
A factor that is too low costs a refusal, one that is too high only some space."""
NAMED_SECONDS: Final = 6 * 3600.0
"""How long a limit that a server named is used; the server may be restarted with another one."""
GUESSED_SECONDS: Final = 600.0
GUESS: Final = 0.8
"""Share that is tried of a request that was refused without a usable number."""
SMALLEST_LIMIT: Final = 512

# Shares

REFERENCE: Final = 8000
"""The size of a request for which the shares are written."""
ANSWER: Final = 500
"""Tokens of the answer at that size."""
STANDING: Final = 1300
"""Tokens that rules and tools really take, however small the context is."""
ANSWER_SHARE: Final = 0.25
"""Share of a context that is kept for the answer at most."""


class Share(NamedTuple):
    """Tokens of a part at the reference size, and how far they shrink and grow with the size."""

    tokens: int
    least: float = 0.0
    most: float = 4.0


SHARES: Final[Mapping[str, Share]] = {
    "rules": Share(800, least=0.5),
    "tools": Share(1200, least=0.75),
    "home": Share(2400),
    "history": Share(2000, most=16.0),
    "retrieved": Share(800, least=0.25, most=2.0),
    "documents": Share(800),
    "memories": Share(400),
    "profile": Share(400),
}


class Budget(NamedTuple):
    """The space of each part of a request, in tokens as `estimate_tokens` counts them."""

    rules: int
    """Role, rules and instructions; more only if there is space."""
    tools: int
    """The descriptions of the tools; more only if there is space."""
    home: int
    """The catalogue: every exposed entity if they fit, else areas with counts."""
    history: int
    """Earlier turns."""
    retrieved: int
    """Entities found for the sentence, with their states."""
    documents: int
    """Passages of manuals, notes and other collections."""
    memories: int
    profile: int
    chosen: Mapping[str, int]
    """The shares that the options set; these apply even if there is more space."""

    @classmethod
    def from_limit(
        cls,
        size: int,
        *,
        limit: int | None = None,
        answer: int = ANSWER,
        factor: float = 1.0,
        chosen: Mapping[str, int] | None = None,
    ) -> Self:
        """Return the shares of a request of `size` tokens.

        The history may grow with the model's own `limit`, as it costs only in long conversations.
        `answer` is kept free, `factor` is how many tokens the model counts where we count one, `chosen`
        holds shares that a person has set.
        """
        scales = {"history": _scale(limit or size, answer)}
        shares = {
            name: share.tokens * min(max(scales.get(name, _scale(size, answer)), share.least), share.most)
            for name, share in SHARES.items()
        }
        chosen = {name: int(tokens / factor) for name, tokens in (chosen or {}).items()}
        return cls(**{name: int(share / factor) for name, share in shares.items()} | chosen, chosen=chosen)


def _scale(size: int, answer: int) -> float:
    free = size - answer_space(size, answer) - STANDING
    return free / (REFERENCE - ANSWER - STANDING)


def answer_space(limit: int, max_tokens: int) -> int:
    """Return how many tokens of a context are kept for the answer."""
    return min(max_tokens, int(limit * ANSWER_SHARE))


class TokenCalibration:
    """The context of one model, learned from the counts and refusals of its servers.

    `limit` is in the model's tokens, `factor` is how many of them it counts where we estimate one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._learned: tuple[int, float] | None = None
        self._ratios: deque[float] = deque(maxlen=SAMPLES)
        self.factor = 1.0

    @property
    def limit(self) -> int:
        """Return how many tokens request and answer may take together."""
        if self._learned is None or monotonic() > self._learned[1]:
            return self._limit
        return min(self._limit, self._learned[0])

    @property
    def has_refused(self) -> bool:
        """Return whether the limit comes from a refusal of the server."""
        return self.limit < self._limit

    def note_usage(self, estimated: int, prompt: int, cached: int = 0) -> None:
        """Take the estimate of a request and the server's count; implausible counts are ignored."""
        counted = prompt + cached if cached > prompt else prompt
        if estimated < SMALLEST or counted <= 0:
            return
        ratio = counted / estimated
        if not BELIEVED[0] <= ratio <= BELIEVED[1]:
            return
        self._ratios.append(ratio)
        middle = min(max(median(self._ratios), BOUNDS[0]), BOUNDS[1])
        if middle - self.factor > TOO_LOW or self.factor - middle > TOO_HIGH:
            self.factor = round(round(middle / STEP) * STEP, 2)

    def note_refusal(
        self, estimated: int, *, limit: int | None, counted: int | None, answer: int = 0
    ) -> None:
        """Take a refusal of a request as too long, with the numbers that the server named.

        Without numbers, a somewhat smaller request is assumed to fit beside an answer of so many tokens.
        """
        if counted is not None and limit is not None and counted > limit:
            self.note_usage(estimated, counted)
        if limit is not None and limit < self.limit:
            self._learned = (max(SMALLEST_LIMIT, limit), monotonic() + NAMED_SECONDS)
            return
        fits = int(min(estimated * self.factor, self.limit) * GUESS) + answer
        self._learned = (max(SMALLEST_LIMIT, min(fits, self.limit)), monotonic() + GUESSED_SECONDS)


class ContextWindow:
    """Limits and budgets of one agent, per model.

    The smaller of the configured and the named limit holds. If no limit is configured, long conversations and
    results may use a larger model; the parts that are in every request may not, since each request pays them.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._chosen = {
            part: settings[key] for part, key in CONF_BUDGETS.items() if settings.get(key) is not None
        }
        self._calibrations: dict[str, TokenCalibration] = {}

    def calibration(self, model: str = PRIMARY) -> TokenCalibration:
        """Return the token calibration of a model."""
        if model not in self._calibrations:
            self._calibrations[model] = TokenCalibration(self._limit(model))
        return self._calibrations[model]

    def note_usage(self, model: str, estimated: int, prompt: int, cached: int = 0) -> None:
        """Calibrate a model with the estimate of a request and the server's count."""
        self.calibration(model).note_usage(estimated, prompt, cached)

    def budget(self, model: str = PRIMARY) -> Budget:
        """Return the shares of a request to a model."""
        calibration = self.calibration(model)
        limit, factor = calibration.limit, calibration.factor
        budget = Budget.from_limit(
            min(self._settings[CONF_MAX_CONTEXT_TOKENS], limit),
            limit=limit,
            answer=self._settings[CONF_MAX_TOKENS],
            factor=factor,
            chosen=self._chosen,
        )
        history = min(budget.history, int(self._settings[CONF_HISTORY_MAX_TOKENS] / factor))
        return budget._replace(history=history)

    def request_tokens(self, max_tokens: int, model: str = PRIMARY) -> int:
        """Return the estimated tokens that a request may take beside an answer of `max_tokens`."""
        calibration = self.calibration(model)
        limit = calibration.limit
        return int(HEADROOM * (limit - answer_space(limit, max_tokens)) / calibration.factor)

    def answer_tokens(self, max_tokens: int, request: int, model: str = PRIMARY) -> int:
        """Return how long the answer to a request of so many estimated tokens may be.

        A limit that only the options set concerns requests; the answer may be longer.
        """
        calibration = self.calibration(model)
        if not self._known(model) and not calibration.has_refused:
            return max_tokens
        limit = calibration.limit
        left = limit - int(request * calibration.factor)
        return max(1, min(max_tokens, max(left, answer_space(limit, max_tokens))))

    def _limit(self, model: str) -> int:
        size: int = self._settings[CONF_MAX_CONTEXT_TOKENS]
        known = self._known(model)
        if known and size == DEFAULTS[CONF_MAX_CONTEXT_TOKENS]:
            size = LARGEST_UNASKED
        return min((size, *known))

    def _known(self, model: str) -> tuple[int, ...]:
        """Return the sizes that the model is loaded with, or can be; the probe asked the primary one."""
        keys = (CONF_NUM_CTX, CONF_PROBED_CONTEXT_SIZE) if model == PRIMARY else (CONF_NUM_CTX,)
        return tuple(size for key in keys if (size := self._settings.get(key)))


class Catalogue(NamedTuple):
    """The text for the prompt; `complete` if it lists every entity."""

    text: str
    complete: bool
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One part of the volatile block, or of the system prompt."""

    heading: str
    lines: tuple[str, ...]
    entity_ids: tuple[str, ...] = ()
    """One for each line where the lines are entities."""
    about: tuple[str, ...] = ()
    """The entities that the sentence is clearly about, for the turn that follows."""
    query: str | None = None
    """What a vector store was asked, for the event."""
    said: bool = False
    """It was said in a conversation, possibly by an outsider."""
    reference: bool = False
    """For answering, not for control: left out first where a request is too long."""
    fixed: bool = False
    """Never shortened: clock and speaker."""
    stable: bool = False
    """It ends the system prompt and is never shortened: the same text from turn to turn."""
    outside: tuple[str, ...] | None = None
    """The lines for an external model, where they differ."""
    name: str = ""
    """What its provider is called."""
    texts: bool = False
    """Whether the lines contain texts of entities that an outsider may have written."""
    removed: tuple[Removal, ...] = ()
    """Instructions to the model that were removed from these texts."""
    scores: tuple[Mapping[str, float], ...] = ()
    """One for each line that was searched for: how well it fits, by words and by meaning."""

    def first(self, count: int) -> Self:
        """Return the slot with its first lines only."""
        ids = self.entity_ids[:count] if len(self.entity_ids) == len(self.lines) else self.entity_ids
        return replace(
            self, lines=self.lines[:count], entity_ids=ids if count else (), scores=self.scores[:count]
        )

    def for_outside(self) -> Self:
        """Return the slot as an external model may read it."""
        if self.outside is None:
            return self
        same = len(self.outside) == len(self.lines) == len(self.entity_ids)
        ids = self.entity_ids if same else ()
        scores = self.scores if len(self.outside) == len(self.lines) else ()
        return replace(self, lines=self.outside, entity_ids=ids, outside=None, scores=scores)

    @cached_property
    def tokens(self) -> int:
        """Return the tokens of the heading and the lines; a slot without lines is not sent."""
        return sum(1 + estimate_tokens(line) for line in (self.heading, *self.lines)) if self.lines else 0


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
type Step = Callable[[_Request], None]
"""Leaves something out and takes what that saves off the excess."""


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
        self.excess = 0
        """By how many tokens it is too long for the steps that are being taken."""
        self.steps: dict[str, None] = {}
        self.shorter_systems = iter(draft.systems[1:])
        self.system = draft.systems[0]()
        self.tools = list(draft.tools)
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
        self.excess = excess
        for name, step in table:
            if (before := self.excess) <= 0:
                break
            step(self)
            if self.excess < before:
                self.steps[name] = None
        return excess - self.excess


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
            content = messages[index]["content"]
            if isinstance(content, list):
                content = [*content, {"type": "text", "text": volatile}]
            else:
                content = f"{content}\n\n{volatile}"
            changed: Message = {**messages[index], "content": content}
            return [*messages[:index], changed, *messages[index + 1 :]]
    return [*messages, {"role": "user", "content": volatile}]


def slim_tools(tools: Sequence[ToolSchema]) -> list[ToolSchema]:
    """Return tools without the descriptions of their parameters, and with one sentence about each.

    Names, types, choices and required keys stay.
    """
    slimmed = []
    for tool in tools:
        function = tool["function"]
        slim = {**function, "parameters": _undescribed(function.get("parameters") or {})}
        if description := function.get("description"):
            end = _SENTENCE_END.search(description)
            slim["description"] = (description[: end.end()] if end else description)[:DESCRIPTION_CHARS]
        slimmed.append({**tool, "function": slim})
    return slimmed


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


def _shorter_system(request: _Request, *, once: bool = False) -> None:
    """Take the next shorter system prompts until one fits, or only `once`."""
    while request.excess > 0 and (make := next(request.shorter_systems, None)) is not None:
        longer, request.system = request.system, make()
        request.excess -= longer.tokens - request.system.tokens
        if once:
            break


def _slim_tools(request: _Request) -> None:
    slim = slim_tools(request.tools)
    if (saved := tools_tokens(request.tools) - tools_tokens(slim)) > 0:
        request.tools = slim
        request.excess -= saved


def _fewer_tools(request: _Request) -> None:
    """Leave out tools, the last first."""
    while request.tools and request.excess > 0:
        request.excess -= tools_tokens([request.tools.pop()])


def _no_documents(request: _Request) -> None:
    """Leave out passages of documents and whatever else is only for answering."""
    request.excess -= sum(slot.tokens for slot in request.slots if slot.reference)
    request.slots = [slot for slot in request.slots if not slot.reference]


def _fewer_states(request: _Request, *, keep: int) -> None:
    """Leave out states and other lines of this moment, the least likely first."""
    for index in reversed(range(len(request.slots))):
        slot = request.slots[index]
        while request.excess > 0 and not (slot.fixed or slot.stable) and len(slot.lines) > keep:
            longer, slot = slot, slot.first(max(keep, len(slot.lines) // 2))
            request.excess -= longer.tokens - slot.tokens
        request.slots[index] = slot


def _fewer_turns(request: _Request) -> None:
    while request.history and (request.excess > 0 or request.history[0]["role"] != "user"):
        request.excess -= message_tokens(request.history.pop(0))


def _shorter_results(request: _Request, *, share: float = 0.0) -> None:
    """Cut long tool results, and replace long arguments of calls; these must stay valid JSON."""
    most = max(SHORT, int(share * request.limit))
    for index, message in enumerate(request.current):
        if request.excess <= 0 or not message.get("tool_calls"):
            continue
        calls: list[MessageCall] = [
            {**call, "function": {**call["function"], "arguments": CUT_ARGUMENTS}}
            if estimate_tokens(call["function"]["arguments"]) > most
            else call
            for call in message["tool_calls"]
        ]
        shorter: Message = {**message, "tool_calls": calls}
        request.excess -= message_tokens(message) - message_tokens(shorter)
        request.current[index] = shorter
    _shorter_texts(request, share=share, of_tools=True)


def _shorter_texts(request: _Request, *, share: float = 0.0, of_tools: bool = False) -> None:
    """Cut the results of tools, or the other texts of the turn, as far as it is necessary.

    The shorter ones stay whole. None is cut below its share of the limit. The ends of what was said stay.
    """
    chosen = {
        index: message["content"]
        for index, message in enumerate(request.current)
        if (message["role"] == "tool") == of_tools and isinstance(message["content"], str)
    }
    if request.excess <= 0:
        return
    before = sum(map(estimate_tokens, chosen.values()))
    texts = cut_fairly(
        list(chosen.values()),
        before - request.excess,
        least=max(SHORT, int(share * request.limit)),
        cut=cut_tail if of_tools else cut_middle,
    )
    for index, text in zip(chosen, texts, strict=True):
        request.current[index] = {**request.current[index], "content": text}
    request.excess -= before - sum(map(estimate_tokens, texts))


def _fewer_calls(request: _Request) -> None:
    """Leave out the first calls of the turn with their results; the last call stays."""
    while request.excess > 0:
        messages = request.current
        rounds = [index for index, message in enumerate(messages) if message.get("tool_calls")]
        if sum(len(messages[index]["tool_calls"]) for index in rounds) <= 1:
            return
        called = messages[rounds[0]]
        first, *others = called["tool_calls"]
        kept: list[Message] = [{**called, "tool_calls": others}] if others else []
        after = [one for one in messages[rounds[0] + 1 :] if one.get("tool_call_id") != first["id"]]
        request.current = [*messages[: rounds[0]], *kept, *after]
        request.excess -= messages_tokens(messages) - messages_tokens(request.current)


STABLE_STEPS: Final[Sequence[tuple[str, Step]]] = (
    ("tools", _slim_tools),
    ("catalogue", partial(_shorter_system, once=True)),
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
    ("catalogue", partial(_shorter_system, once=True)),
    ("results", _shorter_results),
    ("rounds", _fewer_calls),
    ("instructions", _shorter_system),
    ("states", partial(_fewer_states, keep=0)),
    ("sentence", _shorter_texts),
    ("tools", _fewer_tools),
)
"""Steps for parts that are too long now."""
