"""Where the words of a text come from that is about to leave in a turn that has read text from outside.

The person said them in this conversation, they are in public texts that were read in it, or they are among
the few words that say nothing by themselves. Any other word may be a secret of the household, however it is
written: a name, a plan, a state, or any of them in an encoding.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from string import punctuation
from typing import Final, NamedTuple, Self
import unicodedata

from homeassistant.util import dt as dt_util

from ...languages.lexicon import all_words
from ...regex import lazy_regex
from ...texts import UNSPACED, fold_letters, is_unspaced, pairs

MAX_WORDS: Final = 30
MAX_SAME: Final = 2
"""How often a word with a meaning may be repeated."""
MAX_PASSAGES: Final = 4
"""Into how many pieces the words that were read may fall. A page that brings an alphabet, or a word for each
letter, cannot be used to spell with."""
MAX_SINGLE: Final = 3
"""Separate letters."""
MAX_SMALL: Final = 31
"""Numbers up to this one count as known words, but only a few of them."""
MAX_NUMBERS: Final = 2
MAX_READ: Final = 60_000
"""Characters of read text that are kept for each source."""
LONGEST_WORD: Final = 24
LONGEST_NUMBER: Final = 4
LEAST_STEM: Final = 4
STEM_SHARE: Final = 0.6
LEAST_PART: Final = 4
"""Letters of a part of a compound."""

PUBLIC: Final = "public"
"""Source of texts that anyone can read; their words may go anywhere."""

_ADDRESS: Final = lazy_regex(r"(?<!\S)\S*://\S*|www\.\S+")
_TOKEN: Final = lazy_regex(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_SIGNS: Final = frozenset(
    ".,:;?!'\"()-/&+%\u00b0\u20ac$\u00a3\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00bf\u00a1"
    "\u3001\u3002\uff01\uff1f\u300c\u300d"
)
_ASCII_SIGNS: Final = _SIGNS | frozenset(punctuation)
_ENDS: Final = ".,;)\"'"
MAX_SIGNS: Final = 2
"""Signs in a row."""


@dataclass(slots=True)
class Origins:
    """The words that were said and read in one conversation."""

    said: list[str] = field(default_factory=list)
    """The sentences of the person."""
    read: dict[str, list[str]] = field(default_factory=dict)
    """Text that was read from outside, by its source."""

    def note_read(self, source: str, texts: Iterable[str]) -> None:
        """Store text that was read from a source, the newest last."""
        kept = self.read.setdefault(source, [])
        kept += (text[:MAX_READ] for text in texts if text)
        while len(kept) > 1 and sum(map(len, kept)) > MAX_READ:
            del kept[0]

    def for_destination(self, source: str) -> Vocabulary:
        """Return the words that may go to a source: those of public texts, and its own."""
        return Vocabulary.of(
            self.said, [*self.read.get(PUBLIC, ()), *(self.read.get(source, ()) if source != PUBLIC else ())]
        )


class Vocabulary(NamedTuple):
    """The words that may leave, and how they stood together."""

    written: str
    """All sources as they are written."""
    said: frozenset[str]
    read: frozenset[str]
    passages: tuple[str, ...]
    """The words of each text that was read, in their order."""
    stems: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, said: Sequence[str], read: Sequence[str]) -> Self:
        """Return the vocabulary of these texts."""
        own = frozenset(word for text in said for word in _words(text))
        rows = [list(_words(text)) for text in read]
        public = frozenset(word for row in rows for word in row)
        stems: dict[str, list[str]] = {}
        for word in own | public | neutral_words():
            if len(word) >= LEAST_STEM:
                stems.setdefault(word[:LEAST_STEM], []).append(word)
        return cls(
            written="\n".join((*said, *read)),
            said=own,
            read=public,
            passages=tuple(f" {' '.join(row)} " for row in rows),
            stems={stem: tuple(found) for stem, found in stems.items()},
        )

    def strangers(
        self, texts: Iterable[str], known: frozenset[str] = frozenset(), *, asks: bool = False
    ) -> Iterator[str]:
        """Yield the parts of these texts without an origin; `known` are texts that the receiver has declared.

        Where a person is asked (`asks`), only what a person cannot read counts.
        """
        found: list[str] = []
        signs = _ASCII_SIGNS if asks else _SIGNS
        addresses = {address.rstrip(_ENDS) for address in _ADDRESS.findall(self.written.replace('"', " "))}
        for text in texts:
            if text in known:
                continue
            yield from (each for each in _ADDRESS.findall(text) if each.rstrip(_ENDS) not in addresses)
            plain = _ADDRESS.sub(" ", text)
            row = ""
            for char in plain:
                if char.isalnum() or char.isspace():
                    row = ""
                    continue
                # No question needs it, and it was not typed: it may encode data.
                if char not in signs and char not in self.written:
                    yield char
                row = row if unicodedata.category(char).startswith("M") else row + char
                if len(row) > MAX_SIGNS and row not in self.written:
                    yield row
            found += _TOKEN.findall(plain)
        for word in found:
            is_usual = word.islower() or word.isupper() or word[1:].islower() or word.isdigit()
            if not (is_usual or word == word.swapcase() or word in self.written):
                yield word
        tokens = [token for word in found for token in _words(word)]
        yield from [token for token in tokens if len(token) == 1 and token.isalpha()][MAX_SINGLE:]
        if not asks:
            yield from self._odd_words(tokens)
            return
        for token in tokens:
            # What a person can read: letters of a word's length, or a short number.
            longest = LONGEST_WORD if token.isalpha() else LONGEST_NUMBER if token.isdecimal() else 0
            if len(token) > longest and not self._is_known(token):
                yield token

    def _odd_words(self, tokens: Sequence[str]) -> Iterator[str]:
        """Yield words without an origin, and words beyond what a question needs."""
        yield from tokens[MAX_WORDS:]
        counted = Counter(token for token in tokens if token not in neutral_words())
        yield from (token for token, count in counted.items() if count > MAX_SAME)
        new = [token for token in tokens if token not in self.said | self.read]
        small = [token for token in new if token.isdecimal() and int(token[:9]) <= MAX_SMALL]
        yield from small[MAX_NUMBERS:]
        year = str(dt_util.now().year)
        for token in tokens:
            stems = self.stems.get(token[:LEAST_STEM], ())
            if self._is_known(token) or token == year or token in small:
                continue
            if not token.isalpha() or not (
                any(_is_form(token, word) for word in stems)
                or any(
                    self._is_known(token[:index]) and self._is_known(token[index:])
                    for index in range(LEAST_PART, len(token) - LEAST_PART + 1)
                )
            ):
                yield token
        yield from self._pieces(tokens)[MAX_PASSAGES:]

    def _is_known(self, token: str) -> bool:
        return token in self.said or token in self.read or token in neutral_words()

    def _pieces(self, tokens: Sequence[str]) -> list[str]:
        """Return the longest pieces of words that were read and not said."""
        found: list[str] = []
        at = 0
        while at < len(tokens):
            if tokens[at] in self.said or tokens[at] in neutral_words() or tokens[at] not in self.read:
                at += 1
                continue
            end = at + 1
            while end < len(tokens) and any(
                f" {' '.join(tokens[at : end + 1])} " in passage for passage in self.passages
            ):
                end += 1
            found.append(" ".join(tokens[at:end]))
            at = end
        return found


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text, folded; runs of scripts without spaces as pairs of characters."""
    for token in _TOKEN.findall(fold_letters(text)):
        if is_unspaced(token):
            yield from pairs(token)
        else:
            yield token


def _is_form(one: str, other: str) -> bool:
    """Return whether two words are forms of one: a common stem with usual endings."""
    length = next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    least = max(LEAST_STEM, int(STEM_SHARE * max(len(one), len(other))))
    return any(one[cut:] in _endings() and other[cut:] in _endings() for cut in range(least, length + 1))


@cache
def neutral_words() -> frozenset[str]:
    """Return the words without meaning on their own."""
    return frozenset(word for entry in all_words("privacy.neutral") for word in fold_letters(entry).split())


@cache
def _endings() -> frozenset[str]:
    return frozenset(("", *map(fold_letters, all_words("privacy.endings"))))
