"""Numbers in a sentence, in digits or in words: a possible PIN, and the words around it."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import scrypt
from hmac import compare_digest
from itertools import product
import math
import re
from secrets import token_bytes
from types import MappingProxyType
from typing import Final, NamedTuple
import unicodedata

from ..languages import DEFAULT, languages, table as read_table, words, words_to_99
from ..texts import fold, is_word

COST = 2**14
BLOCK_SIZE = 8
PARALLEL = 1
LENGTH = 32
MEMORY = 64 * 1024 * 1024
PREFIX = "scrypt"

MIN_DIGITS = 4
MAX_DIGITS = 12


def hash_pin(pin: str) -> str:
    """Return the stored hash of a PIN. Takes some 50 ms: for the executor."""
    salt = token_bytes(16)
    return "$".join((PREFIX, b64encode(salt).decode(), b64encode(_derive(pin, salt)).decode()))


def matches(pin: str, stored: str) -> bool:
    """Return whether a PIN is the one that was stored. Takes some 50 ms: for the executor."""
    try:
        prefix, salt, derived = stored.split("$")
        return prefix == PREFIX and compare_digest(_derive(pin, b64decode(salt)), b64decode(derived))
    except ValueError:
        return False


def _derive(pin: str, salt: bytes) -> bytes:
    return scrypt(pin.encode(), salt=salt, n=COST, r=BLOCK_SIZE, p=PARALLEL, maxmem=MEMORY, dklen=LENGTH)


APOSTROPHES: Final = frozenset("'’ʼ")  # noqa: RUF001 - they look like others
SAFE_LENGTH: Final = 3
"""Shorter number words of another language are too often something else: `o`, `to`, `en`."""
MAX_FOREIGN: Final = 24
"""A sentence of more pieces is not looked through for a PIN in other languages than the speaker's."""
MAX_SPELLED: Final = 200
"""Characters that are looked through for a number in words."""
TEN: Final = 10
_CHARS_OF_WORD: Final = 2
"""How many characters count as one word in scripts without spaces."""


def prepare() -> None:
    """Sort the words of all languages; run this in an executor."""
    for language in languages():
        number_words(language)


class NumberWords(NamedTuple):
    """The number words of a language, folded; a phrase is a tuple of its words."""

    numbers: Mapping[tuple[str, ...], str] = MappingProxyType({})
    """Phrase and the digits that it means."""
    repeats: Mapping[tuple[str, ...], int] = MappingProxyType({})
    """Phrase that repeats the following digit, and the number of repetitions."""
    large: frozenset[str] = frozenset()
    """Hundred, thousand: numbers that are not read as digits."""
    beside: frozenset[str] = frozenset()
    """Words that are allowed next to a PIN."""
    inner: re.Pattern[str] | None = None
    """A number word inside a longer word."""
    is_unspaced: bool = False
    """Whether the language has no spaces, so that a number is looked for inside other words."""

    longest: int = 1
    """How many words the longest phrase has."""
    parts: frozenset[str] = frozenset()
    """The words that may belong to a number or stand beside one."""


@cache
def number_words(language: str) -> NumberWords:
    """Return the number words of a language, and English ones that are not words of other languages."""
    numbers = dict(_numbers(language))
    if language != DEFAULT:
        for phrase, digits in _numbers(DEFAULT):
            if len(phrase[0]) >= SAFE_LENGTH:
                numbers.setdefault(phrase, digits)
    large = frozenset(fold_word(word) for word in words(language, "numbers.large"))
    glued = {*("".join(phrase) for phrase in numbers), *large}
    shown = {word for word in glued if len(word) >= SAFE_LENGTH or not word.isascii()}
    repeats = {
        tuple(fold_word(phrase).split()): times
        for times, name in ((2, "numbers.twice"), (3, "numbers.thrice"))
        for phrase in words(language, name)
    }
    beside = frozenset(
        word
        for own in (language, DEFAULT)
        for name in ("numbers.beside_pin", "answers.yes", "answers.fillers")
        for phrase in words(own, name)
        for word in fold_word(phrase).split()
    )
    return NumberWords(
        numbers=numbers,
        repeats=repeats,
        large=large,
        beside=beside,
        longest=max(map(len, (*numbers, *repeats)), default=1),
        parts=large.union(beside, *numbers, *repeats),
        inner=re.compile("|".join(sorted(map(re.escape, shown), key=len, reverse=True))) if shown else None,
        is_unspaced=bool(read_table(language, "unspaced")),
    )


def _numbers(language: str) -> Iterator[tuple[tuple[str, ...], str]]:
    digits = [[fold_word(word) for word in row] for row in read_table(language, "numbers.digits") or ()]
    for number, row in enumerate(digits):
        yield from (((word,), str(number)) for word in row)
    phrases = [fold_word(phrase).split() for phrase in words_to_99(language)]
    numbers = {word for row in digits for word in row} | {parts[0] for parts in phrases if len(parts) == 1}
    for number, parts in enumerate(phrases, start=TEN):
        last = digits[number % TEN] if parts[-1] in digits[number % TEN] else [parts[-1]]
        # Twenty and one is as good as twenty one, and the last word may be of another gender. In French
        # "quatre-vingt-un" nothing can be left out: "quatre un" is two numbers.
        middle = parts[1:-1]
        middles = [middle, []] if middle and numbers.isdisjoint(middle) else [middle]
        for middle, unit in product(middles, last):
            yield (*parts[: 1 if len(parts) > 1 else 0], *middle, unit), str(number)


def fold_word(text: str) -> str:
    """Return folded text in which an apostrophe parts nothing."""
    return fold("".join(char for char in text if char not in APOSTROPHES))


@dataclass(slots=True)
class Token:
    """A piece of a sentence: a word, or a number inside a word."""

    start: int
    end: int
    text: str
    """Folded."""
    digits: str = ""
    """The digits of the word; the digits of a phrase belong to its first word."""
    is_number: bool = False
    is_beside: bool = False


class Numbers(NamedTuple):
    """The numbers of a sentence."""

    tokens: Sequence[Token]
    digits: str
    is_readable: bool
    """Whether all of them could be read as digits."""
    others: int
    """Words that are neither numbers nor allowed next to a PIN."""

    @property
    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield where runs of numbers begin and end that have as many digits as a PIN may have."""
        run: list[Token] = []
        for token in (*self.tokens, Token(0, 0, "")):
            if token.is_number:
                run.append(token)
                continue
            if sum(len(each.digits) for each in run) >= MIN_DIGITS:
                yield run[0].start, run[-1].end
            run = []


def read_numbers(sentence: str, language: str) -> Numbers:
    """Return the numbers of a sentence, in the words of a language that has a file."""
    own = number_words(language)
    read = _read(sentence, own)
    if (read.others or not read.digits) and len(read.tokens) <= MAX_FOREIGN:
        # Long words are the least likely to be part of a number.
        tokens = sorted(_tokens(sentence), key=lambda token: -len(token.text))
        for other in languages():
            known = number_words(other)
            if not all(_may_be_number(token, known) for token in tokens):
                continue
            found = _read(sentence, known)
            if not found.others and len(found.digits) >= MIN_DIGITS:
                return found
    return read


def spells_number(text: str) -> bool:
    """Return whether a text has a number in it of as many digits as a PIN, in the words of any language."""
    cut = text[:MAX_SPELLED]
    return any(next(_read(cut, number_words(language)).runs, None) for language in languages())


def _may_be_number(token: Token, known: NumberWords) -> bool:
    """Return whether a word may be part of a number, or stand beside one, in a language."""
    if token.text in known.parts or token.text.isdecimal():
        return True
    if known.inner is None or not (known.is_unspaced or known.inner.match(token.text)):
        return False  # Without a number at its beginning, a word is not made of numbers only.
    return all(piece.text in known.parts or piece.text.isdecimal() for piece in _pieces(token, known))


def _read(sentence: str, known: NumberWords) -> Numbers:
    tokens = [piece for token in _tokens(sentence) for piece in _pieces(token, known)]
    is_readable = True
    index = 0
    while index < len(tokens):
        index += _mark(tokens, index, known)
    for token in tokens:
        if not token.is_number and token.text in known.large:
            token.is_number, is_readable = True, False
    rest = [token for token in tokens if not token.is_number and not token.is_beside]
    others = sum(math.ceil(len(token.text) / _CHARS_OF_WORD) if known.is_unspaced else 1 for token in rest)
    digits = "".join(token.digits for token in tokens)
    return Numbers(tokens, digits, is_readable, others)


def _mark(tokens: Sequence[Token], index: int, known: NumberWords) -> int:
    """Classify a token, alone or with the following ones; return the number of tokens used."""
    token = tokens[index]
    if token.text.isdecimal():
        token.digits = "".join(str(unicodedata.decimal(char)) for char in token.text)
        token.is_number = True
        return 1
    for length in range(known.longest, 0, -1):
        phrase = tuple(each.text for each in tokens[index : index + length])
        if len(phrase) == length and (digits := known.numbers.get(phrase)):
            token.digits = digits
            _mark_all(tokens[index : index + length])
            return length
        if len(phrase) == length and (times := known.repeats.get(phrase)) and index + length < len(tokens):
            after = tokens[index + length]
            digit = after.text if after.text.isdecimal() else known.numbers.get((after.text,), "")
            if len(digit) == 1:
                after.digits = digit * times
                _mark_all(tokens[index : index + length + 1])
                return length + 1
    token.is_beside = token.text in known.beside
    return 1


def _mark_all(tokens: Sequence[Token]) -> None:
    for token in tokens:
        token.is_number = True


def _tokens(sentence: str) -> Iterator[Token]:
    """Yield the words of a sentence; a word ends where digits begin."""
    start = None
    for index, char in enumerate((*sentence, " ")):
        inside = is_word(char) or (char in APOSTROPHES and start is not None)
        turns = start is not None and inside and char.isdecimal() != sentence[index - 1].isdecimal()
        if start is not None and (turns or not inside):
            if text := fold_word(sentence[start:index]).replace(" ", ""):
                yield Token(start, index, text)
            start = None
        if inside and start is None and char not in APOSTROPHES:
            start = index


def _pieces(token: Token, known: NumberWords) -> Iterator[Token]:
    if known.inner is None or (token.text,) in known.numbers or token.text in known.beside:
        yield token
        return
    matches = list(known.inner.finditer(token.text))
    covered = sum(len(match[0]) for match in matches)
    if not matches or (covered < len(token.text) and not known.is_unspaced):
        yield token
        return
    # Folding may change the length, so that pieces of such a word are masked with the whole word.
    exact = len(token.text) == token.end - token.start
    position = 0
    for match in (*matches, None):
        start, end = match.span() if match else (len(token.text),) * 2
        for piece_start, piece_end in ((position, start), (start, end)):
            if piece_start < piece_end:
                text = token.text[piece_start:piece_end]
                where = (token.start + piece_start, token.start + piece_end)
                yield Token(*(where if exact else (token.start, token.end)), text)
        position = end
