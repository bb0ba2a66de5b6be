"""Claims held against what was called: words that say that something was done are let out only if it was.

An answer is read word by word as it streams. Words are held back only while they may be the beginning of such
a claim; what begins in another way passes at once.
"""

# ruff: noqa: RUF001 - marks of many languages
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
import re
from typing import Final
from unicodedata import combining, normalize

from .claims import ALIASES, TONGUES
from .tongue import Tongue

CHECKED_CHARS: Final = 400
"""Where in an answer a claim may begin; what is said later is no confirmation."""
MAX_HELD: Final = 120
"""Characters held back while a clause may become a claim."""
MAX_SENTENCE: Final = 400
MAX_KEPT: Final = 2000

ENDS: Final = frozenset(".!?…\n")
BREAKS: Final = frozenset(',;:–—()"“”„«»')
APOSTROPHES: Final = frozenset("'’-")
_LETTERS: Final = str.maketrans({"ł": "l", "ß": "ss", "ø": "o", "æ": "ae", "å": "a", "’": "'", "đ": "d"})
_WORDS: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_PARTS: Final = re.compile(r"[^.?!;\n]+[.?!;\n]*")


class Kind(Enum):
    """What a sentence wants."""

    ORDER = auto()
    QUESTION = auto()
    STORY = auto()


def fold(word: str) -> str:
    """Return a word in small letters without accents."""
    word = word.casefold().translate(_LETTERS)
    return word if word.isascii() else "".join(c for c in normalize("NFKD", word) if not combining(c))


def tongues_of(language: str) -> tuple[Tongue, ...]:
    """Return what is said in a language and in English; in all where the language is not known."""
    code = language.casefold().replace("_", "-").partition("-")[0]
    tongue = TONGUES.get(ALIASES.get(code, code))
    if tongue is None:
        return tuple(TONGUES.values()) if not code or code == "*" else (TONGUES["en"],)
    return (tongue,) if code == "en" else (tongue, TONGUES["en"])


def kind_of(sentence: str, language: str) -> Kind:
    """Return what a sentence wants: to have something done, to know something, to be told something.

    A sentence with a question and something else is an order.
    """
    kinds = {
        _kind_of_part(words, language, asked="?" in part)
        for part in _PARTS.findall(sentence)
        if (words := [fold(word) for word in _WORDS.findall(part)])
    }
    return next((kind for kind in (Kind.ORDER, Kind.QUESTION, Kind.STORY) if kind in kinds), Kind.ORDER)


def _kind_of_part(words: Sequence[str], language: str, *, asked: bool) -> Kind:
    """Return what one clause wants; `asked` for one with a question mark."""
    text = f" {' '.join(words)} "
    tongue = tongues_of(language)[0]
    if any(text.startswith(f" {phrase} ") for phrase in tongue.tells.split("|")):
        return Kind.STORY
    if any(f" {phrase} " in text for phrase in tongue.wonders.split("|")):
        return Kind.QUESTION
    is_order = any(f" {phrase} " in text for phrase in tongue.orders.split("|"))
    return Kind.QUESTION if (asked or words[0] in tongue.asks.split()) and not is_order else Kind.ORDER


@dataclass(frozen=True, slots=True)
class _Element:
    """One place in a pattern: words, stems of words, a gap, or the end of a clause."""

    words: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    gap: int = 0
    nots: frozenset[str] = frozenset()
    is_end: bool = False
    is_full_stop: bool = False
    is_any: bool = False
    optional: bool = False

    def takes(self, word: str) -> bool:
        """Return whether a whole word fits here."""
        if self.gap or self.is_any:
            return word not in self.nots
        return word in self.words or any(word.startswith(stem) for stem in self.stems)

    def may_take(self, beginning: str) -> bool:
        """Return whether a word with this beginning may fit here."""
        if self.gap or self.is_any:
            return True
        return any(word.startswith(beginning) for word in self.words) or any(
            stem.startswith(beginning) or beginning.startswith(stem) for stem in self.stems
        )


type _Pattern = tuple[_Element, ...]
type _State = tuple[_Pattern, int, int]
"""A pattern, the place in it, and how many words of a gap are used."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The patterns of a language, ready to be followed."""

    anywhere: tuple[_Pattern, ...]
    """Patterns that fit at the beginning of any clause."""
    first: tuple[_Pattern, ...]
    """Patterns that fit at the beginning of a sentence."""
    fillers: frozenset[str]
    joins: frozenset[str]
    past: frozenset[str]


@cache
def grammar(language: str, *, orders: bool) -> Grammar:
    """Return the patterns that count in a language, for the answer to an order or to a question."""
    found = tongues_of(language)
    anywhere: list[_Pattern] = []
    first: list[_Pattern] = []
    for tongue in found:
        for text in (*tongue.agent, *(tongue.result if orders else ())):
            (first if text.startswith("^") else anywhere).append(_pattern(text.removeprefix("^"), tongue))
    return Grammar(
        tuple(anywhere),
        (*anywhere, *first),
        frozenset(found[0].fillers.split()) if orders else frozenset(),
        frozenset(found[0].joins.split()),
        frozenset(found[0].past.split()),
    )


def _pattern(text: str, tongue: Tongue) -> _Pattern:
    """Read a pattern."""
    return tuple(_element(part, tongue) for part in text.split())


def _element(text: str, tongue: Tongue) -> _Element:
    """Read one element of a pattern."""
    optional = text.endswith("?")
    text = text.rstrip("?")
    if text.startswith("*"):
        return _Element(gap=int(text[1:]), nots=frozenset(tongue.nots.split()))
    if text == "%":
        return _Element(is_any=True, nots=frozenset(tongue.nots.split()))
    words: list[str] = []
    for part in text.split("|"):
        words += tongue.sets[part[1:-1]].split() if part.startswith("<") else [part.rstrip("?")]
    return _Element(
        words=frozenset(word for word in words if word not in "$." and not word.endswith("~")),
        stems=tuple(word[:-1] for word in words if word.endswith("~")),
        is_end="$" in words,
        is_full_stop="." in words,
        optional=optional,
    )


class Matcher:
    """Follows all patterns through the words of one clause."""

    def __init__(self, rules: Grammar) -> None:
        """Start at the beginning of a sentence."""
        self._rules = rules
        self._states: set[_State] = set()
        self.only_fillers = True
        self.restart(first=True)

    def restart(self, *, first: bool) -> None:
        """Begin a clause, or a sentence if `first`."""
        self.only_fillers = True
        self._begin(first=first)

    def _begin(self, *, first: bool) -> None:
        """Follow all patterns from their beginning."""
        self._first = first
        patterns = self._rules.first if first else self._rules.anywhere
        self._states = {state for pattern in patterns for state in _reached((pattern, 0, 0))}

    @property
    def alive(self) -> bool:
        """Return whether a claim may still come of it."""
        return bool(self._states)

    def step(self, word: str) -> bool:
        """Take a whole word; True if a claim has been made."""
        after: set[_State] = set()
        for pattern, place, used in self._states:
            element = pattern[place]
            if not element.takes(word):
                continue
            if not element.gap:
                after.update(_reached((pattern, place + 1, 0)))
            elif used < element.gap:
                after.update(_reached((pattern, place, used + 1)))
        if self.only_fillers and word in self._rules.fillers:
            first = self._first
            self._begin(first=first)
            self._states |= after
        else:
            self.only_fillers = False
            self._states = after
        return any(place == len(pattern) for pattern, place, _ in self._states)

    def end(self, *, full_stop: bool) -> bool:
        """Take the end of a clause, or of the sentence; True if a claim has been made."""
        return any(
            place == len(pattern) - 1
            and (pattern[place].is_end or (full_stop and pattern[place].is_full_stop))
            for pattern, place, _ in self._states
            if place < len(pattern)
        )

    def may_take(self, beginning: str) -> bool:
        """Return whether a claim may still come of it if the next word begins so."""
        if self.only_fillers and any(word.startswith(beginning) for word in self._rules.fillers):
            return True
        return any(
            pattern[place].may_take(beginning) and (not pattern[place].gap or used < pattern[place].gap)
            for pattern, place, used in self._states
            if place < len(pattern)
        )


def _reached(state: _State) -> Iterator[_State]:
    """Yield a state and those that are reached without another word."""
    pattern, place, _ = state
    yield state
    while place < len(pattern) and (pattern[place].gap or pattern[place].optional):
        place += 1
        yield pattern, place, 0


class _Mode(Enum):
    """What is done with the words that come."""

    LET = auto()
    HOLD = auto()
    CLAIM = auto()
    """A claim was made; the rest of its sentence tells whether it was meant for now."""
    DROP = auto()


class ClaimGate:
    """Lets an answer through, but for claims with nothing behind them and what follows them.

    `is_backed` is asked when it matters. What comes out does not depend on how the answer was cut.
    """

    def __init__(self, sentence: str, language: str, is_backed: Callable[[Kind], bool]) -> None:
        """Begin an answer to a sentence."""
        self._kind = kind_of(sentence, language)
        self._is_backed = is_backed
        self._rules = grammar(language, orders=self._kind is Kind.ORDER)
        self._matcher = Matcher(self._rules)
        self._mode = _Mode.LET if self._kind is Kind.STORY else _Mode.HOLD
        self._open = self._kind is not Kind.STORY
        self._held = ""
        self._word = ""
        self._seen = 0
        self.text = ""
        """The answer as it came."""
        self.has_calls = False
        """Whether calls come with the answer: then its claims are early, and are only left out."""

    @property
    def unbacked(self) -> bool:
        """Return whether a claim was kept back that no call has come for."""
        return self._mode is _Mode.DROP and not self.has_calls

    def feed(self, text: str) -> str:
        """Take the next piece of the answer and return what may be said of it by now."""
        self.text = (self.text + text)[:MAX_KEPT]
        if self._mode is _Mode.DROP:
            return ""
        if not self._open:
            return text
        out = "".join(self._take(char) for char in text)
        if self._mode is _Mode.HOLD and self._word and not self._matcher.may_take(fold(self._word)):
            out += self._release()
        return out

    def finish(self) -> str:
        """Return what was held back without need; the answer has ended."""
        if self._mode is _Mode.DROP or not self._open:
            return ""
        out = self._end_word()
        if self._mode is _Mode.HOLD and self._matcher.end(full_stop=True):
            self._mode = _Mode.CLAIM
        if self._mode is _Mode.CLAIM:
            return out + self._judge("")
        return out + self._release()

    def _take(self, char: str) -> str:
        """Take one character."""
        if self._mode is _Mode.DROP:
            return ""
        self._seen += 1
        out = ""
        if char.isalnum() or (self._word and char in APOSTROPHES):
            self._word += char
        else:
            out = self._end_word()
        if self._mode is _Mode.LET:
            return out + char + self._after(char)
        self._held += char
        if self._mode is _Mode.HOLD and self._ends_claim(char):
            self._mode = _Mode.CLAIM
        if self._mode is _Mode.CLAIM:
            return out + (self._judge(char) if char in ENDS or len(self._held) > MAX_SENTENCE else "")
        return out + (self._after(char) if len(self._held) < MAX_HELD else self._release())

    def _ends_claim(self, char: str) -> bool:
        """Return whether a mark makes a claim of what stands before it."""
        return char in ENDS | BREAKS and self._matcher.end(full_stop=char in ENDS)

    def _after(self, char: str) -> str:
        """Begin a new clause behind a mark; what was held of the old one is let out."""
        if char not in ENDS and char not in BREAKS:
            return ""
        filler = self._mode is _Mode.HOLD and self._matcher.only_fillers
        out = "" if filler and self._kind is Kind.ORDER else self._release()
        if self._seen > CHECKED_CHARS:
            out += self._release()
            self._open, self._mode = False, _Mode.LET
            return out
        self._mode = _Mode.HOLD
        self._matcher.restart(first=filler or char in ENDS)
        return out

    def _end_word(self) -> str:
        """Follow a word that is complete."""
        word, self._word = fold(self._word), ""
        if not word:
            return ""
        out = ""
        if self._mode is _Mode.HOLD:
            if self._matcher.step(word):
                self._mode = _Mode.CLAIM
            elif not self._matcher.alive:
                out = self._release()
        if self._mode is _Mode.LET and word in self._rules.joins and self._seen <= CHECKED_CHARS:
            self._mode = _Mode.HOLD
            self._matcher.restart(first=False)
        return out

    def _judge(self, end: str) -> str:
        """Decide about a claim whose sentence is complete."""
        words = {fold(word) for word in _WORDS.findall(self._held)}
        asked = end == "?" and "," not in self._held
        if asked or words & self._rules.past or self._is_backed(self._kind):
            out = self._release()
            self._mode = _Mode.HOLD
            self._matcher.restart(first=True)
            return out
        self._mode, self._held = _Mode.DROP, ""
        return ""

    def _release(self) -> str:
        """Let out what was held back; the rest of the clause passes."""
        held, self._held = self._held, ""
        self._mode = _Mode.LET
        return held
