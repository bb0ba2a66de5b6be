"""ContextWindow: how large a request may be, and how that size is shared between its parts.

The options set a limit, the probe or the server names one, and the servers' counts calibrate the estimate.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
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
from ..regex import lazy_regex


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


def lines_tokens(lines: Iterable[str]) -> int:
    """Return about how many tokens lines take, each with its line break."""
    return sum(1 + estimate_tokens(line) for line in lines)


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


@dataclass(frozen=True, kw_only=True)
class Budget:
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
        self._budgets: dict[str, tuple[tuple[int, float], Budget]] = {}
        """Per model: limit and factor of its calibration, and the shares that follow from them."""

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
        basis = (limit, factor) = calibration.limit, calibration.factor
        known = self._budgets.get(model)
        if known is None or known[0] != basis:
            budget = Budget.from_limit(
                min(self._settings[CONF_MAX_CONTEXT_TOKENS], limit),
                limit=limit,
                answer=self._settings[CONF_MAX_TOKENS],
                factor=factor,
                chosen=self._chosen,
            )
            history = min(budget.history, int(self._settings[CONF_HISTORY_MAX_TOKENS] / factor))
            known = self._budgets[model] = (basis, replace(budget, history=history))
        return known[1]

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
