"""Sanitiser: data for an external server does not reveal who lives here, and where.

What is found is replaced by a generic word where the text keeps its sense, or the text is held back with a
sentence that says how to make it generic.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from math import log
import re
from typing import Any, Final, NamedTuple

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_dumps

from ...languages import DEFAULT, find, languages_with, table
from ...memory.sentences import STEM
from ...regex import lazy_regex
from ...texts import clean, fold_letters, words
from .origins import MAX_SINGLE, PUBLIC, Origins, neutral_words
from .private_names import (
    ADVICE,
    Finding,
    NameFinder,
    PrivateKind,
    async_names,
    build_finder,
    find_numbers,
    find_patterns,
    ordinary_words,
    schedule_phrases,
)

LEAST_LETTERS: Final = 8
"""Fewer letters that nobody has said hide nothing."""
LEAST_LIKELY: Final = -3.25
"""How likely the letters of a text have to follow each other, as a logarithm.

Ordinary words have -2 in the mean, the least likely of 270 queries has -2.85, and Base64 has -4.
"""
LEAST_LIKELY_ELSEWHERE: Final = -3.75
"""The same in languages whose words are not in the list."""
USUAL: Final = -1.2
"""What counts for a word that is in the list, or that was said."""
BETTER_BACKWARDS: Final = 0.5
LONGEST_MIXED: Final = 11
"""Characters of a word in which letters and digits take turns; product numbers are shorter."""
MAX_FIGURES: Final = 16
"""Numbers in one text."""

_TOKEN: Final = lazy_regex(r"[^\W_]+")
_MIXED: Final = lazy_regex(r"[a-z]\d{1,30}[a-z]|\d[a-z]{1,30}\d")


def is_opaque(text: str, known: Collection[str], language: str) -> bool:
    """Return whether a text has words that no language has, or reads better backwards.

    `known` are the words that were said, or come from the receiver.
    """
    tokens = _TOKEN.findall(fold_letters(text))
    new = [token for token in tokens if token not in known]
    single = [token for token in new if len(token) == 1 and token.isalpha()]
    figures = [token for token in new if not token.isalpha()]
    if len(single) > MAX_SINGLE or len(figures) > MAX_FIGURES:
        return True
    if any(len(token) > LONGEST_MIXED and _MIXED.search(token) for token in figures):
        return True
    if any(_likelihood([token], known) < LEAST_LIKELY_ELSEWHERE for token in new):
        return True
    if find(language) not in languages_with("privacy.absent"):
        return False
    forward, backward = _likelihood(tokens, known), _likelihood([token[::-1] for token in tokens], known)
    return forward < max(LEAST_LIKELY, backward - BETTER_BACKWARDS)


def _likelihood(tokens: Sequence[str], known: Collection[str]) -> float:
    """Return how likely the letters of Latin words follow each other; 0 for too few that are new."""
    words = ["".join(filter(str.isalpha, token)) for token in tokens if token.isascii()]
    new = [word for word in words if len(word) > 1 and word not in known and word not in _usual()]
    if (letters := sum(map(len, new))) < LEAST_LETTERS:
        return 0.0
    triples, pairs = _model()
    total = sum(len(word) for word in words if len(word) > 1)
    likelihood = USUAL * (total - letters)
    for word in new:
        framed = f"^{word}$"
        likelihood += sum(
            log((triples[framed[at : at + 3]] + 0.3) / (pairs[framed[at : at + 2]] + 8))
            for at in range(len(word))
        )
    return likelihood / total


@cache
def _usual() -> frozenset[str]:
    return neutral_words() | ordinary_words()


@cache
def _model() -> tuple[Counter[str], Counter[str]]:
    """Return how often three and two letters follow each other in ordinary words. Takes a moment once."""
    framed = [f"^{word}$" for word in _usual()]
    triples = Counter(word[at : at + 3] for word in framed for at in range(len(word) - 2))
    return triples, Counter(word[at : at + 2] for word in framed for at in range(len(word) - 2))


LEFT_OUT: Final = "(left out)"
ALIKE: Final = 0.6
"""Share of the words of something untold from which a sentence tells it."""
SHORTEST: Final = 3
MAX_DEPTH: Final = 10

MEMORIES: Final = "what is remembered"
STATES: Final = "states of the house"
PRIVATE: Final = "private words"

_SENTENCE: Final = lazy_regex(r".+?(?:(?<![.!?;])[.!?;]++(?=\s|$)|[\u3002\uff01\uff1f]+|\n|$)\s*", re.DOTALL)


class Shortener:
    """Leaves sentences out, and changes words in those that stay.

    A sentence with most of the words of one of `texts`, or with one of `names`, is left out. What the person
    has just `said` is the person's to send. `sanitize` returns a sentence as it may leave, or None.
    """

    def __init__(
        self, texts: Iterable[str], names: Iterable[str], said: str, sanitize: Callable[[str], str | None]
    ) -> None:
        self.found: set[str] = set()
        self._sanitize = sanitize
        own = _stems(said)
        self._telling = [stems for text in texts if (stems := _stems(text) - own)]
        self._names = [fold_letters(name) for name in names if len(name) > SHORTEST]

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return JSON with each of its texts as it may be read."""
        if isinstance(value, str):
            return self.text(value)
        if depth >= MAX_DEPTH:
            return LEFT_OUT
        if isinstance(value, dict):
            return {self.text(key): self._field(key, item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        return value

    def text(self, text: str) -> str:
        """Return a text without the sentences that tell too much."""
        return "".join(map(self._sentence, _SENTENCE.findall(text))).strip()

    def _field(self, key: str, item: Any, depth: int) -> Any:
        """Return a field; key and value tell something together: "diet": "vegetarian"."""
        if isinstance(item, str | int | float) and self._is_untold(f"{key} {item}"):
            return LEFT_OUT
        return self.value(item, depth)

    def _sentence(self, sentence: str) -> str:
        """Return a sentence as it may leave, with the white space that follows it."""
        if self._is_untold(sentence):
            return f"{LEFT_OUT} "
        bare = sentence.strip()
        cleaned = self._sanitize(bare) if bare else bare
        if cleaned == bare:
            return sentence
        self.found.add(PRIVATE)
        return f"{LEFT_OUT} " if cleaned is None else sentence.replace(bare, cleaned)

    def _is_untold(self, sentence: str) -> bool:
        stems, folded = _stems(sentence), fold_letters(sentence)
        if any(len(stems & told) >= ALIKE * len(told) for told in self._telling):
            self.found.add(MEMORIES)
            return True
        if any(name in folded for name in self._names):
            self.found.add(STATES)
            return True
        return False


def _stems(text: str) -> set[str]:
    return {
        word[:STEM]
        for word in words(text)
        if len(word) >= SHORTEST or not word.isascii() or any(char.isdigit() for char in word)
    }


MAX_TEXT: Final = 20_000
"""Characters; longer texts are held back."""
HOME_DEGREES: Final = 0.06
"""Numbers this near to the home's own latitude or longitude, with two decimals or more, tell where it is."""
DOMAINS: Final = frozenset(Platform) | {
    *("automation", "counter", "group", "input_boolean", "input_button", "input_datetime", "input_number"),
    *("input_select", "input_text", "person", "script", "timer", "zone"),
}
"""What an entity id may begin with."""
REPLACEMENTS: Final = "privacy.replacements"
"""Table of generic words by kind; kinds that it lacks cannot be replaced."""
SOMEBODY: Final = "user"
"""Replaces the name of a household member before a text is searched for routines."""
LEAST_WORDS: Final = 2
"""Words that have to be left for a text to keep its sense."""

_NUMBER: Final = lazy_regex(r"(?<![\w.])-?\d{1,3}[.,]\d{2,}(?![\w.])")


class Sanitized(NamedTuple):
    """A text as it may leave."""

    text: str
    """Empty where it is held back."""
    found: tuple[str, ...] = ()
    """Kinds of the findings, sorted."""
    blocked: bool = False
    advice: str = ""
    """For the model: why, and how to make it generic. It does not repeat the findings."""


TOO_LONG: Final = Sanitized("", (), blocked=True, advice="The text is too long. Send less of it.")


class Shortened(NamedTuple):
    """A question as it may leave."""

    text: str
    data: Any
    """What was written beside it, as JSON holds it."""
    left_out: tuple[str, ...] = ()
    """What it had told, in words for the model."""


class Sending(NamedTuple):
    """The turn that sends data, and what the receiver may know."""

    language: str = "en"
    strict: bool = False
    """The turn has read text from outside: whatever is private blocks, also where it is disguised."""
    said: str = ""
    """What the person said in this turn."""
    known: frozenset[PrivateKind] = frozenset()
    """What the reader may know."""
    own_words: bool = False
    """Whether the person's own words may leave, whatever their content."""
    origins: Origins | None = None
    """What was said and read in the conversation; None if nothing but `said` is known of it."""
    destination: str = PUBLIC
    """The receiver; words that were read from it may go back."""
    declared: frozenset[str] = frozenset()
    """Texts that the receiver itself has declared: names of its fields, values that it offers."""
    asks: bool = False
    """Whether a person reads it and says yes before it leaves: then only what is private, or cannot be read,
    holds it back."""

    def allows(self, text: str, finding: Finding) -> bool:
        """Return whether something that was found may leave nevertheless."""
        if self.strict or finding.kind is PrivateKind.KEYWORD:
            return False
        told = words(text[finding.start : finding.end])
        own = self.own_words and bool(told) and frozenset(words(self.said)).issuperset(told)
        return finding.kind in self.known or own


class Sanitizer:
    """Checks texts against the home as it is now."""

    def __init__(
        self,
        hass: HomeAssistant,
        keywords: Iterable[str] = (),
        remembered: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._hass = hass
        self._keywords: list[re.Pattern[str]] = []
        for keyword in keywords:
            folded = fold_letters(keyword).strip()
            if folded.strip("*? "):
                pattern = (
                    re.escape(folded).replace(r"\*", r"\w*").replace(r"\?", r"\w").replace(r"\ ", r"\s+")
                )
                self._keywords.append(re.compile(rf"(?<!\w){pattern}(?!\w)"))
        self._remembered = remembered
        self._names: tuple[frozenset[Any], ...] = ()
        self._finder = NameFinder()
        self._lock = asyncio.Lock()

    async def async_clean(
        self,
        text: str,
        *,
        language: str = "en",
        strict: bool = False,
        said: str = "",
        origins: Origins | None = None,
    ) -> Sanitized:
        """Return a text as it may leave: with generic words, or held back; see `Sending`."""
        if len(text) > MAX_TEXT:
            return TOO_LONG
        line = clean(text, MAX_TEXT) if "\n" not in text else text
        finder = await self._async_finder()
        sending = Sending(language=language, strict=strict, said=said, origins=origins)
        return await self._hass.async_add_executor_job(self._checked, line, finder, sending)

    async def async_check(self, values: Iterable[str], sending: Sending) -> Sanitized:
        """Return whether values may leave as they are: another word in their place would be another value."""
        texts = list(dict.fromkeys(values))
        whole = "\n".join(texts)
        if len(whole) > MAX_TEXT:
            return TOO_LONG
        finder = await self._async_finder()

        def check() -> Sanitized:
            parts = [*texts, whole] if sending.strict else texts
            kinds = {found.kind for text in parts for found in self._findings(text, finder, sending)}
            kinds |= {finding.kind for finding in self._at_home(whole)}
            kinds |= set(_unfit(texts, sending))
            return _held_back(kinds) if kinds else Sanitized(whole)

        return await self._hass.async_add_executor_job(check)

    async def async_shorten(
        self, text: str, data: Any, sending: Sending, *, memories: Iterable[str], names: Iterable[str]
    ) -> Shortened:
        """Return a question for a model: sentences that tell too much are left out, names are replaced."""
        finder = await self._async_finder()

        def sanitize(sentence: str) -> str | None:
            checked = self._checked(sentence, finder, sending)
            return None if checked.blocked else checked.text

        def shorten() -> Shortened:
            shortener = Shortener(memories, names, sending.said, sanitize)
            rest = data
            if rest and any(True for _ in self._at_home(json_dumps(rest))):
                shortener.found.add(PRIVATE)
                rest = None
            return Shortened(
                shortener.text(text), shortener.value(rest) if rest else None, tuple(sorted(shortener.found))
            )

        return await self._hass.async_add_executor_job(shorten)

    async def _async_finder(self) -> NameFinder:
        async with self._lock:
            current = (*await async_names(self._hass), frozenset(self._remembered()))
            if current != self._names:
                self._finder = await self._hass.async_add_executor_job(build_finder, *current)
                self._names = current
            return self._finder

    def _checked(self, text: str, finder: NameFinder, sending: Sending) -> Sanitized:
        findings = self._findings(text, finder, sending)
        findings += (Finding(0, len(text), kind) for kind in _unfit([text], sending))
        if not findings:
            return Sanitized(text)
        kinds = {finding.kind for finding in findings}
        replaceable = {*table(DEFAULT, REPLACEMENTS), PrivateKind.ENTITY_ID}
        blocking = kinds if sending.strict else kinds - replaceable
        if not blocking:
            cleaned = _replaced(text, findings, sending.language)
            if cleaned is not None:
                return Sanitized(cleaned, _told(kinds))
            blocking = kinds
        return _held_back(kinds, blocking)

    def _findings(self, text: str, finder: NameFinder, sending: Sending) -> list[Finding]:
        return [found for found in self._find(text, finder, sending) if not sending.allows(text, found)]

    def _find(self, text: str, finder: NameFinder, sending: Sending) -> Iterator[Finding]:
        registered = er.async_get(self._hass).entities
        yield from find_patterns(
            text,
            DOMAINS,
            lambda entity_id: entity_id in registered or self._hass.states.get(entity_id) is not None,
        )
        yield from self._at_home(text)
        spoken = frozenset(words(sending.said))
        unnamed = text
        for finding in finder.find(text, sending.language, strict=sending.strict, said=sending.said):
            if finding.kind is PrivateKind.PERSON:
                unnamed = unnamed.replace(text[finding.start : finding.end], SOMEBODY)
            asked = finding.kind is PrivateKind.MEMORY and spoken.issuperset(
                words(text[finding.start : finding.end])
            )
            if sending.strict or not asked:
                yield finding
        folded = fold_letters(text)
        whole = partial(Finding, 0, len(text))
        yield from (whole(PrivateKind.KEYWORD) for pattern in self._keywords if pattern.search(folded))
        told = schedule_phrases(fold_letters(unnamed), strict=sending.strict)
        yield from (whole(PrivateKind.SCHEDULE) for _ in told)
        if sending.strict:
            yield from find_numbers(text)

    def _at_home(self, text: str) -> Iterable[Finding]:
        """Yield numbers that tell where the home is: both its latitude and its longitude."""
        home = (self._hass.config.latitude, self._hass.config.longitude)
        if not any(home):
            return
        near: list[tuple[int, Finding]] = []
        for found in _NUMBER.finditer(text):
            number = float(found[0].replace(",", "."))
            near += [
                (index, Finding(found.start(), found.end(), PrivateKind.COORDINATES))
                for index, degrees in enumerate(home)
                if abs(abs(number) - abs(degrees)) < HOME_DEGREES
            ]
        if {index for index, _ in near} == {0, 1}:
            yield from (finding for _, finding in near)


def _unfit(texts: Sequence[str], sending: Sending) -> Iterator[PrivateKind]:
    """Yield what is wrong with words wherever they stand: no origin, or nobody can read them."""
    vocabulary = (sending.origins or Origins([sending.said])).for_destination(sending.destination)
    if sending.strict and any(vocabulary.strangers(texts, sending.declared, asks=sending.asks)):
        yield PrivateKind.UNKNOWN
    known = vocabulary.said | vocabulary.read | {word for text in sending.declared for word in words(text)}
    if any(is_opaque(text, known, sending.language) for text in texts):
        yield PrivateKind.OPAQUE


def _replaced(text: str, findings: Sequence[Finding], language: str) -> str | None:
    """Return a text with generic words; None if too little of it is left to make sense."""
    generic = {**table(DEFAULT, REPLACEMENTS), **(table(find(language) or DEFAULT, REPLACEMENTS) or {})}
    parts: list[str] = []
    kept: list[str] = []
    at = 0
    # The longest finding of those that begin at one place covers the others.
    for finding in sorted(findings, key=lambda item: (item.start, -item.end)):
        if finding.start < at:
            continue
        before = text[at : finding.start]
        word = generic.get(finding.kind, "")
        if finding.kind is PrivateKind.ENTITY_ID:
            word = text[finding.start : finding.end].partition(".")[0].replace("_", " ")
        parts += [before, word]
        kept.append(before)
        at = finding.end
    parts.append(text[at:])
    kept.append(text[at:])
    left = [word for word in words(" ".join(kept)) if word not in neutral_words() and len(word) > 1]
    return " ".join("".join(parts).split()) if len(left) >= LEAST_WORDS else None


def _held_back(kinds: Iterable[PrivateKind], blocking: Iterable[PrivateKind] | None = None) -> Sanitized:
    steps = "; ".join(ADVICE[kind] for kind in sorted(kinds if blocking is None else blocking))
    advice = f"Not sent: it would tell something about this household. Make it generic: {steps}."
    return Sanitized("", _told(kinds), blocked=True, advice=advice)


def _told(kinds: Iterable[PrivateKind]) -> tuple[str, ...]:
    return tuple(sorted(kind.value for kind in kinds))
