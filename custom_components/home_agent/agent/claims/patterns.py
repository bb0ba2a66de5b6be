"""The patterns of claims, followed word by word."""

from collections.abc import Iterable, Iterator, Set as AbstractSet
from dataclasses import dataclass
from functools import cache

from .sentence_kind import Kind, tongues_of
from .tongue import Tongue


@dataclass(frozen=True, slots=True, eq=False)
class _Element:
    """One place in a pattern: words, stems of words, a gap, or the end of a clause.

    Compared by identity: sets of states are hashed with every word that streams.
    """

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

    anywhere: frozenset[_State]
    """Where the patterns begin that fit at the beginning of any clause."""
    first: frozenset[_State]
    """Where the patterns begin that fit at the beginning of a sentence."""
    fillers: frozenset[str]
    joins: frozenset[str]
    past: frozenset[str]


@cache
def grammar(language: str, kind: Kind) -> Grammar:
    """Return the patterns that count in a language, for the answer to a sentence of some kind."""
    found = tongues_of(language)
    anywhere: list[_Pattern] = []
    first: list[_Pattern] = []
    for tongue in found:
        nots = frozenset(tongue.nots.split())
        if found == (found[0], tongue) and tongue is not found[0]:
            # English beside another language: what is no claim there is none in English either.
            nots |= frozenset(found[0].nots.split())
        for text in (*tongue.agent, *(() if kind is Kind.QUESTION else tongue.result)):
            pattern = _pattern(text.removeprefix("^"), tongue, nots)
            if kind is Kind.ORDER or not pattern[-1].is_full_stop:
                (first if text.startswith("^") else anywhere).append(pattern)
    return Grammar(
        _begun(anywhere),
        _begun([*anywhere, *first]),
        frozenset(found[0].fillers.split()) if kind is not Kind.QUESTION else frozenset(),
        frozenset(found[0].joins.split()),
        frozenset(found[0].past.split()),
    )


def _pattern(text: str, tongue: Tongue, nots: frozenset[str]) -> _Pattern:
    """Read a pattern; `nots` fit in none of its gaps."""
    return tuple(_element(part, tongue, nots) for part in text.split())


def _element(text: str, tongue: Tongue, nots: frozenset[str]) -> _Element:
    """Read one element of a pattern."""
    optional = text.endswith("?")
    text = text.rstrip("?")
    if text.startswith("*"):
        return _Element(gap=int(text[1:]), nots=nots)
    if text == "%":
        return _Element(is_any=True, nots=nots)
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
        self._states: AbstractSet[_State] = frozenset()
        self.only_fillers = True
        self.restart(first=True)

    def restart(self, *, first: bool) -> None:
        """Begin a clause, or a sentence if `first`."""
        self.only_fillers = True
        self._begin(first=first)

    def _begin(self, *, first: bool) -> None:
        """Follow all patterns from their beginning."""
        self._first = first
        self._states = self._rules.first if first else self._rules.anywhere

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
            self._states = self._states | after
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


def _begun(patterns: Iterable[_Pattern]) -> frozenset[_State]:
    """Return where patterns begin."""
    return frozenset(state for pattern in patterns for state in _reached((pattern, 0, 0)))


def _reached(state: _State) -> Iterator[_State]:
    """Yield a state and those that are reached without another word."""
    pattern, place, _ = state
    yield state
    while place < len(pattern) and (pattern[place].gap or pattern[place].optional):
        place += 1
        yield pattern, place, 0
