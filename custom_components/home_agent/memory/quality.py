"""What is not worth remembering, and why."""

from dataclasses import dataclass
from enum import StrEnum
import re
from typing import Final, NamedTuple

from ..languages import languages, words
from ..languages.phrases import any_of
from ..regex import composed, lazy_regex
from ..texts import fold_letters, words as split
from .records import MemoryType
from .secrets import holds_secret

LEAST_WORDS: Final = 2
UNITS: Final = r"%|°|watts?|kwh?|lux|lx|ppm|hpa"


class Reason(StrEnum):
    """Why something was not kept."""

    TRANSIENT = "transient_state"
    """How the home is just now; Home Assistant knows that better."""
    META = "meta_talk"
    """About the conversation, not about the household."""
    EMPTY = "no_information"
    QUESTION = "question"
    UNIMPORTANT = "unimportant"
    SECRET = "secret"  # noqa: S105 - the name of a reason
    INSTRUCTION = "instruction"
    """It would change the agent's permissions, which belong to the options."""
    NOT_SAID = "not_said"
    """It shares no words with what the person said."""
    NOBODY = "unknown_speaker"
    """Is about an unknown speaker."""
    KNOWN = "known"
    FULL = "no_room"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that a conversation may have brought."""

    content: str
    type: MemoryType
    importance: float
    household: bool = False


class _QualityPatterns(NamedTuple):
    """Patterns of all languages, for folded text."""

    state: re.Pattern[str]
    """A sentence that ends with a state; `is on March 15` does not."""
    reading: re.Pattern[str]
    """A measured value."""
    habit: re.Pattern[str]
    """The sentence is about something that happens repeatedly."""
    meta: re.Pattern[str]
    instruction: re.Pattern[str]


@composed
def _patterns() -> _QualityPatterns:
    """Return the patterns, each composed by language: a verb of one with a state of another says nothing."""
    found = [_sources(language) for language in languages()]
    return _QualityPatterns(*(lazy_regex("|".join(sources)) for sources in zip(*found, strict=True)))


def _sources(language: str) -> tuple[str, ...]:
    def any_word(*tables: str) -> str:
        return any_of((entry for table in tables for entry in words(language, table)), fold_letters)

    be, now = any_word("questions.copulas"), any_word("memory.now")
    states = any_word("questions.states", "memory.states")
    at, units = any_word("memory.at"), any_word("memory.units")
    subject = any_word("memory.meta")
    return (
        rf"{be}(?: {now})? {states}(?: {now})?\W*$",
        rf"{be}(?: {now}| {at})? -?\d+(?:[.,]\d+)? ?(?:{UNITS}|{units})\W*",
        any_word("memory.habits"),
        f"{any_word('memory.speakers')} {any_word('memory.requests')}|{subject}",
        f"{any_word('memory.instructions')}|{subject} {any_word('memory.may')} {any_word('memory.powers')}",
    )


def refusal(candidate: Candidate, least_importance: float) -> Reason | None:
    """Return why something is not to be remembered; None if it may be.

    Only for what no one asked to remember.
    """
    content = candidate.content.strip()
    folded = fold_letters(content)
    patterns = _patterns()
    if len([word for word in split(content) if len(word) > 1 or word.isdigit()]) < LEAST_WORDS:
        return Reason.EMPTY
    checks = (
        (content.endswith(("?", "\uff1f", "\u061f")), Reason.QUESTION),
        (holds_secret(content), Reason.SECRET),
        (patterns.instruction.search(folded), Reason.INSTRUCTION),
        (patterns.meta.search(folded), Reason.META),
        (_is_transient(folded), Reason.TRANSIENT),
        (candidate.importance < least_importance, Reason.UNIMPORTANT),
    )
    return next((reason for applies, reason in checks if applies), None)


def _is_transient(folded: str) -> bool:
    """Return whether a sentence only says how something is just now."""
    patterns = _patterns()
    return not patterns.habit.search(folded) and bool(
        patterns.state.search(folded) or patterns.reading.search(folded)
    )
