"""Read an answer to a question of ours: yes, no, a PIN, or something else. No model is involved."""

from dataclasses import dataclass
from enum import StrEnum
import re
import unicodedata

from .digits import DIGITS, PIN_WORDS
from .pin import MAX_DIGITS, MIN_DIGITS
from .words import FILLERS, NO, YES

MAX_WORDS = 12
_PARTS = re.compile(r"([^\W_]+)")
_NOT_WORDS = re.compile(r"[^\w]+")


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
    tags = _languages(language)
    if pin := _pin(words, tags):
        return Read(Answer.PIN, pin)
    no = _said(text, words, tags, NO)
    rest = _without(text, tags, (NO, YES, FILLERS))
    if rest:
        return Read(Answer.OTHER)
    if no:
        return Read(Answer.NO)
    return Read(Answer.YES if _said(text, words, tags, YES) else Answer.OTHER)


def mask_numbers(sentence: str, language: str, mask: str) -> str:
    """Return a sentence with everything masked that could be a PIN, written or spoken, together or apart."""
    digits = _digits(_languages(language))
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
    inner = run.strip()
    start = run.index(inner)
    return run[:start] + mask + run[start + len(inner) :]


def _digits(tags: tuple[str, ...]) -> dict[str, str]:
    """Return the words of digits, folded."""
    return {
        fold(word): str(number)
        for tag in tags
        for number, row in enumerate(DIGITS.get(tag, ()))
        for word in row
    }


def fold(text: str) -> str:
    """Return a text in lower case without accents and punctuation, words one space apart."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    return _NOT_WORDS.sub(" ", plain.replace("'", "").replace("’", "")).strip()  # noqa: RUF001


def _languages(language: str) -> tuple[str, ...]:
    """Return the languages to listen for. English words mean the opposite in some, so it goes with few."""
    own = language.partition("-")[0].partition("_")[0].lower()
    return (own,) if own in YES else ("en",)


def _phrases(tags: tuple[str, ...], table: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the folded phrases of a table, the longest first."""
    return sorted({fold(phrase) for tag in tags for phrase in table.get(tag, ())}, key=len, reverse=True)


def _said(text: str, words: list[str], tags: tuple[str, ...], table: dict[str, tuple[str, ...]]) -> bool:
    """Return whether one of the phrases occurs as whole words."""
    return any(text == phrase or f" {phrase} " in f" {text} " for phrase in _phrases(tags, table))


def _without(text: str, tags: tuple[str, ...], tables: tuple[dict[str, tuple[str, ...]], ...]) -> str:
    """Return what is left of a text when all known phrases are taken out."""
    padded = f" {text} "
    known = {phrase for table in tables for phrase in _phrases(tags, table)}
    for phrase in sorted(known, key=len, reverse=True):
        while f" {phrase} " in padded:
            padded = padded.replace(f" {phrase} ", " ")
    return padded.strip()


def _pin(words: list[str], tags: tuple[str, ...]) -> str:
    """Return the PIN that a sentence consists of, spoken or typed; nothing if it is no PIN."""
    digits = _digits(tags)
    fillers = {
        word
        for tag in (*tags, "en")
        for table in (PIN_WORDS, FILLERS, YES)
        for phrase in table.get(tag, ())
        for word in fold(phrase).split()
    }
    found = []
    for word in words:
        if word.isdecimal():
            found.append("".join(str(unicodedata.decimal(char)) for char in word))
        elif word in digits:
            found.append(digits[word])
        elif word not in fillers:
            return ""
    pin = "".join(found)
    return pin if MIN_DIGITS <= len(pin) <= MAX_DIGITS else ""
