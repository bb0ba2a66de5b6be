"""Read an answer to a question of ours: yes, no, a PIN, or something else. No model is involved."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
import re
import unicodedata

from ..regex import lazy
from .digits import DIGITS, PIN_WORDS
from .pin import MAX_DIGITS, MIN_DIGITS
from .words import FILLERS, NO, YES

MAX_WORDS = 12
_PARTS = lazy(r"([^\W_]+)")
_RUN = lazy(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
"""From the first word to the last."""
_NOT_WORDS = lazy(r"[^\w]+")


class Answer(StrEnum):
    """What was meant."""

    YES = "yes"
    NO = "no"
    PIN = "pin"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Read:
    """An answer as it was understood."""

    answer: Answer
    pin: str = ""


def read_answer(sentence: str, language: str) -> Read:
    """Return what a sentence answers, in the speaker's language or in English.

    A sentence that says no anywhere is a no; one with any word that belongs to neither is something else.
    """
    text = fold(sentence)
    words = text.split()
    if not words or len(words) > MAX_WORDS:
        return Read(Answer.OTHER)
    known = _known(_language(language))
    if pin := _pin(words, known):
        return Read(Answer.PIN, pin)
    if _without(text, known.phrases):
        return Read(Answer.OTHER)
    if _said(text, known.no):
        return Read(Answer.NO)
    return Read(Answer.YES if _said(text, known.yes) else Answer.OTHER)


def mask_numbers(sentence: str, language: str, mask: str) -> str:
    """Return a sentence with everything masked that could be a PIN, written or spoken, together or apart."""
    digits = _known(_language(language)).digits
    found, run, length = "", "", 0
    # Words and what stands between them, in turn; a run of numbers ends at the first word that is none.
    for index, part in enumerate(_PARTS.split(sentence)):
        plain = fold(part)
        if index % 2 == 0:
            run += part
            continue
        count = len(plain) if plain.isdecimal() else int(plain in digits)
        if not count:
            found, run, length = found + _masked(run, length, mask) + part, "", 0
        else:
            run, length = run + part, length + count
    return found + _masked(run, length, mask)


def _masked(run: str, length: int, mask: str) -> str:
    """Return a run of numbers, masked if it has as many digits as a PIN may have."""
    if length < MIN_DIGITS:
        return run
    return _RUN.sub(lambda _numbers: mask, run, count=1)


def fold(text: str) -> str:
    """Return a text in lower case without accents and punctuation, words one space apart."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    return _NOT_WORDS.sub(" ", plain.replace("'", "").replace("’", "")).strip()  # noqa: RUF001


def _language(language: str) -> str:
    """Return the language to listen for. English words mean the opposite in some, so it goes with few."""
    own = language.partition("-")[0].partition("_")[0].lower()
    return own if own in YES else "en"


@dataclass(frozen=True, slots=True)
class _Known:
    """What is understood in a language, folded, the longest phrases first."""

    yes: tuple[str, ...]
    no: tuple[str, ...]
    phrases: tuple[str, ...]
    digits: Mapping[str, str]
    beside_pin: frozenset[str]
    """Words that may stand beside a PIN."""


@cache
def _known(tag: str) -> _Known:
    """Return what is understood in a language: the same in every turn."""
    return _Known(
        yes=_folded(YES.get(tag, ())),
        no=_folded(NO.get(tag, ())),
        phrases=_folded(phrase for table in (NO, YES, FILLERS) for phrase in table.get(tag, ())),
        digits={fold(word): str(number) for number, row in enumerate(DIGITS.get(tag, ())) for word in row},
        beside_pin=frozenset(
            word
            for own in (tag, "en")
            for table in (PIN_WORDS, FILLERS, YES)
            for phrase in table.get(own, ())
            for word in fold(phrase).split()
        ),
    )


def _folded(phrases: Iterable[str]) -> tuple[str, ...]:
    """Return phrases folded, the longest first."""
    return tuple(sorted({fold(phrase) for phrase in phrases}, key=len, reverse=True))


def _said(text: str, phrases: Iterable[str]) -> bool:
    """Return whether one of the phrases occurs as whole words."""
    padded = f" {text} "
    return any(f" {phrase} " in padded for phrase in phrases)


def _without(text: str, phrases: Iterable[str]) -> str:
    """Return what is left of a text when all known phrases are taken out, the longest first."""
    padded = f" {text} "
    for phrase in phrases:
        while f" {phrase} " in padded:
            padded = padded.replace(f" {phrase} ", " ")
    return padded.strip()


def _pin(words: Sequence[str], known: _Known) -> str:
    """Return the PIN that a sentence consists of, spoken or typed; nothing if it is no PIN."""
    found = []
    for word in words:
        if word.isdecimal():
            found.append("".join(str(unicodedata.decimal(char)) for char in word))
        elif word in known.digits:
            found.append(known.digits[word])
        elif word not in known.beside_pin:
            return ""
    pin = "".join(found)
    return pin if MIN_DIGITS <= len(pin) <= MAX_DIGITS else ""
