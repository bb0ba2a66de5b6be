"""Claims in languages that put no spaces between words, and in Korean: read sentence by sentence.

The verb is last in these languages, so a sentence is not certain before its end.
"""

from collections.abc import Sequence
from functools import cache
import re
from typing import Final

from ...languages import find, languages_with, words
from .kinds import SentenceKind

QUESTION_MARKS: Final = ("?", "\uff1f")
AROUND: Final = " \t\n\"'\u201d\u2019\u300d\u300f\uff09)]\u2026~\u301c,\uff0c\u3001"
"""Characters around a sentence that belong to no sentence."""
STOPS: Final = "\u3002\uff0e.\uff01!\n"
PARTS: Final = "\uff0c\u3002\uff01\uff1f,!?"
MAX_TO_DID: Final = 16
MAX_TO_STATE: Final = 10
MAX_TO_THING_STATE: Final = 6


class ScriptReader:
    """Classifies whole sentences by their content and their endings."""

    def __init__(self, language: str) -> None:
        """Read the tables of one language."""
        self._language = language

    def _words(self, *names: str) -> tuple[str, ...]:
        """Return the entries of tables, those that the language lacks aside."""
        return tuple(entry for name in names for entry in words(self._language, f"claims.{name}"))

    def kind_of(self, sentence: str) -> SentenceKind:
        """Return the kind of a sentence."""
        text = sentence.strip()
        if any(word in text for word in self._words("tells")):
            return SentenceKind.STORY
        is_asked = text.endswith(QUESTION_MARKS) or text.rstrip(STOPS).endswith(self._words("ask_endings"))
        return (
            SentenceKind.QUESTION
            if is_asked or any(word in text for word in self._words("asks"))
            else SentenceKind.ORDER
        )

    def is_claim(self, sentence: str, kind: SentenceKind) -> bool:
        """Return whether a whole sentence says that something was done."""
        text = sentence.strip(AROUND)
        if text.endswith(QUESTION_MARKS):
            return False
        text = text.rstrip(STOPS).strip(AROUND)
        plain = text
        for idiom in self._words("honest_idioms"):
            plain = plain.replace(idiom, "")
        if any(word in plain for word in self._words("honest")):
            return False
        return self._is_own_action(text) or (kind is SentenceKind.ORDER and self._is_result(text))

    def _is_own_action(self, text: str) -> bool:
        """Return whether a sentence describes an action of the assistant."""
        return (
            self._ends(text, "did", "did_endings", "tails")
            or self._ends(text, "did_nouns", "do", "did_endings", "tails")
            or self._ends(text, "short_did", "short_endings", "tails")
            or self._follows(text, "i", "acts", MAX_TO_DID)
            or text.lstrip("".join(self._words("fillers")) + PARTS) in self._words("done")
        )

    def _is_result(self, text: str) -> bool:
        """Return whether a sentence says how something is since just now."""
        return (
            self._ends(text, "states", "state_endings")
            or self._ends(text, "changes", "change_endings", "tails")
            or self._follows(text, "already", "acts", MAX_TO_DID)
            or self._follows(text, "now", "is_states", MAX_TO_STATE)
            or (
                text.endswith(self._words("thing_states"))
                and self._follows(text, "things", "thing_states", MAX_TO_THING_STATE)
            )
        )

    def _ends(self, text: str, *names: str) -> bool:
        """Return whether a text ends with an entry of each table, in this order; tails may be missing."""
        return _ends_with(text, [(*self._words(name), *(("",) if name == "tails" else ())) for name in names])

    def _follows(self, text: str, first: str, second: str, within: int) -> bool:
        """Return whether an entry of the second table follows one of the first in the same part."""
        for opener in self._words(first):
            start = text.find(opener)
            while start >= 0:
                rest = text[start + len(opener) :]
                end = min((place for mark in PARTS if (place := rest.find(mark)) >= 0), default=len(rest))
                if any(0 <= rest.find(word, 0, end) <= within for word in self._words(second)):
                    return True
                start = text.find(opener, start + 1)
        return False


def _ends_with(text: str, tables: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a text ends with an entry of each table."""
    if not tables:
        return True
    *before, last = tables
    return any(
        _ends_with(text.removesuffix(entry).rstrip(), before) for entry in last if text.endswith(entry)
    )


@cache
def _reader(language: str) -> ScriptReader:
    return ScriptReader(language)


@cache
def script_languages() -> tuple[str, ...]:
    """Return the languages that are read by sentence."""
    return languages_with("claims.letters")


def script_of(sentence: str, language: str) -> ScriptReader | None:
    """Return the reader of a language, chosen by its name or else by the letters of the sentence."""
    own = find(language)
    if own in script_languages():
        return _reader(own)
    return next((_reader(name) for name in script_languages() if _is_written_in(sentence, name)), None)


def _is_written_in(sentence: str, language: str) -> bool:
    """Return whether a sentence has a letter that only this language is recognized by."""
    return not sentence.isascii() and bool(_letters(language).search(sentence))


@cache
def _letters(language: str) -> re.Pattern[str]:
    """Return the pattern of the letters that only this language is recognized by, none of them ASCII."""
    spans = (entry.split("-") for entry in words(language, "claims.letters"))
    return re.compile("[" + "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in spans) + "]")
