"""The parts of a sentence, with what each says about time and conditions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

from . import table, words, words_to_99
from .lexicon import Lexicon, Match, Word, clauses

TABLES: Final = (
    "soon",
    "soon_behind",
    "during",
    "during_behind",
    "lengths",
    "amounts",
    "at",
    "sure_at",
    "clock",
    "later",
    "evening",
    "repeated",
    "when",
    "if",
    "only",
    "polite",
    "statements",
    "inverted",
    "reminders",
)
OF_QUESTIONS: Final = (
    "commands",
    "requests",
    "joins",
    "lead",
    "switching",
    "copulas",
    "states",
    "asking",
    "whether",
)
UNITS: Final = ("second", "minute", "hour", "day", "week")
MAX_ASKED: Final = 2
"""Words between a word for telling and the one for whether: "dis-moi donc si"."""
MAX_AMOUNT: Final = 6
"""Words of a length of time before its unit."""
LAST_HOUR: Final = 12
"""The largest number that is a time without a word that says so."""
CLOCK: Final = "clocktime"
"""Replaces 18:30: punctuation is lost where a sentence is cut into words."""
MEASURE: Final = "measure"
"""Replaces a percent or degree sign."""


class LaterKind(StrEnum):
    """What a command waits for."""

    TIME = "time"
    LENGTH = "length"
    """It begins at once and ends after a while."""
    REPEATED = "repeated"
    CONDITION = "condition"


class Mark(NamedTuple):
    """Words that say that a command is not for now."""

    start: int
    end: int
    kind: LaterKind
    is_known_now: bool = False
    """Whether it is a condition that can be looked up, for a command that is for now."""
    is_doubtful: bool = False
    """Whether it is a condition that may come true or not."""


@dataclass(slots=True)
class Part:
    """The words between commas and words such as and."""

    said: Sequence[Word]
    found: Mapping[str, Mapping[int, Match]]
    comma: bool
    """Whether a comma or a full stop precedes it."""
    clause: int
    marks: list[Mark] = field(default_factory=list)
    commands: list[int] = field(default_factory=list)
    statements: list[tuple[int, int]] = field(default_factory=list)

    @property
    def rest(self) -> bool:
        """Return whether it says anything beside when."""
        covered = {at for mark in self.marks for at in range(mark.start, mark.end)}
        for name in ("lead", "requests", "polite", "joins"):
            for index, match in self.found[name].items():
                covered |= set(range(index, index + match.words))
        return any(index not in covered for index in range(len(self.said)))


@cache
def _lexicon(language: str) -> Lexicon:
    """Return the words of a language for times, and those of its commands."""
    english: Mapping[str, Sequence[str]] = table(language, "times.english")
    tables: dict[str, Sequence[str]] = {name: words(language, f"times.{name}") for name in TABLES}
    tables |= {name: words(language, f"questions.{name}") for name in OF_QUESTIONS}
    tables["units"] = [word for unit in UNITS for word in english[unit]]
    tables["measures"] = [MEASURE, *words(language, "memory.units")]
    things: Mapping[str, Sequence[str]] = table(language, "concepts.things") or {}
    tables["things"] = [name for names in things.values() for name in names if " " in name]
    tables["numbers"] = [
        *(word for digit in table(language, "numbers.digits") for word in digit),
        *words_to_99(language),
    ]
    return Lexicon(tables)


def parts_of(text: str, language: str, *, is_evening: bool, bare_hours: bool = False) -> list[Part]:
    """Return the parts of a sentence with what they say about time.

    With `bare_hours` "at six" is a time beside any verb, not only where something is switched.
    """
    lexicon = _lexicon(language)
    parts: list[Part] = []
    for number, clause in enumerate(clauses(text)):
        for said, comma in _split(clause.words, lexicon):
            part = Part(said, lexicon.all_matches(said), comma, number)
            _read(part, is_evening=is_evening, bare_hours=bare_hours)
            parts.append(part)
    return parts


def _split(said: Sequence[Word], lexicon: Lexicon) -> Iterator[tuple[Sequence[Word], bool]]:
    """Yield the parts of a clause, and whether a comma precedes each."""
    found = lexicon.all_matches(said)
    inside = {
        at
        for name in ("lengths", "amounts", "later", "repeated", "clock", "polite", "statements")
        for index, match in found[name].items()
        if match.words > 1
        for at in range(index, index + match.words)
    }
    joins = {index: match for index, match in found["joins"].items() if index not in inside}
    start, comma, index = 0, True, 0
    while index < len(said):
        if index > start and said[index].starts:
            yield said[start:index], comma
            start, comma = index, True
        if index in joins and index > start:
            yield said[start:index], comma
            start, comma = index, False
        index += 1
    if start < len(said):
        yield said[start:], comma


def _read(part: Part, *, is_evening: bool, bare_hours: bool) -> None:
    """Find the marks, the commands and the statements of a part."""
    found, said = part.found, part.said
    polite = {
        at
        for index, match in found["polite"].items()
        if match >= max(found["when"].get(index, Match()), found["if"].get(index, Match()))
        for at in range(index, index + match.words)
    }
    # "Luz de noche" is a lamp, whatever "de noche" means.
    polite |= {at for index, match in found["things"].items() for at in range(index, index + match.words)}
    index = 0
    while index < len(said):
        mark = (
            None if index in polite else _mark_at(part, index, is_evening=is_evening, bare_hours=bare_hours)
        )
        if mark is not None:
            part.marks.append(mark)
        index = mark.end if mark is not None else index + 1
    marked = {at for mark in part.marks for at in range(mark.start, mark.end)}
    part.statements = [
        (index, index + match.words)
        for index, match in found["statements"].items()
        if index not in marked and index not in polite
    ]
    stated = {at for start, end in part.statements for at in range(start, end)}
    part.commands = [index for index in found["commands"] if index not in marked | stated | polite]
    if (condition := _condition(part, polite)) is not None:
        part.marks.append(condition)


def _mark_at(part: Part, index: int, *, is_evening: bool, bare_hours: bool) -> Mark | None:
    """Return the mark that begins at a word."""
    found = part.found
    for name, kind in (("soon", LaterKind.TIME), ("during", LaterKind.LENGTH)):
        if (match := found[name].get(index)) and (end := _length(part, index + match.words)):
            return Mark(index, end, kind)
    if end := _length(part, index):
        for name, kind in (("soon_behind", LaterKind.TIME), ("during_behind", LaterKind.LENGTH)):
            if match := found[name].get(end):
                return Mark(index, end + match.words, kind)
    if end := _clock(part, index, bare_hours=bare_hours):
        return Mark(index, end, LaterKind.TIME)
    phrases = [(match, LaterKind.REPEATED) for match in (found["repeated"].get(index),) if match]
    phrases += [(match, LaterKind.TIME) for match in (found["later"].get(index),) if match]
    if (match := found["evening"].get(index)) and not is_evening:
        phrases.append((match, LaterKind.TIME))
    if not phrases:
        return None
    best, kind = max(phrases, key=lambda phrase: phrase[0])
    return Mark(index, index + best.words, kind)


def _length(part: Part, index: int) -> int | None:
    """Return where a length of time ends that begins at a word."""
    found, end = part.found, None
    at, amounts = index, 0
    while at < len(part.said) and amounts < MAX_AMOUNT:
        if match := found["lengths"].get(at):
            end = at + match.words
        if amounts and (match := found["units"].get(at)):
            end, amounts = at + match.words, 0
            at = end
            continue
        step = max((found[name].get(at, Match()) for name in ("amounts", "numbers")), default=Match()).words
        if not step and part.said[at].plain.isdecimal():
            step = 1
        if not step:
            break
        at, amounts = at + step, amounts + 1
    return end


def _clock(part: Part, index: int, *, bare_hours: bool) -> int | None:
    """Return where a time of day ends that begins at a word."""
    found, said = part.found, part.said
    before = max(found["at"].get(index, Match()), found["sure_at"].get(index, Match()))
    at = index + before.words
    if at >= len(said):
        return None
    if said[at].plain == CLOCK:
        return at + 1 + found["clock"].get(at + 1, Match()).words
    step = found["numbers"].get(at, Match()).words or int(said[at].plain.isdecimal())
    if not step:
        return None
    end = at + step
    if (match := found["clock"].get(end)) and (before.words or end not in found["units"]):
        return end + match.words
    if index in found["sure_at"]:
        return end
    small = not said[at].plain.isdecimal() or int(said[at].plain) <= LAST_HOUR
    counts = end in found["measures"] or end in found["units"]
    is_time = bool(bare_hours or found["switching"]) and not counts
    return end if before.words and small and is_time else None


def is_asked(found: Mapping[str, Mapping[int, Match]], index: int) -> bool:
    """Return whether a word for if means whether: "dis-moi s'il pleut" asks, it is no condition."""
    return index in found["whether"] and any(
        0 <= index - start - match.words <= MAX_ASKED for start, match in found["asking"].items()
    )


def _condition(part: Part, polite: set[int]) -> Mark | None:
    """Return the mark of a condition: it begins its part, or follows the command."""
    found = part.found
    only = {at for i, match in found["only"].items() for at in range(i, i + match.words)}
    leads = only | {
        at
        for name in ("lead", "joins")
        for i, match in found[name].items()
        for at in range(i, i + match.words)
    }
    for name in ("when", "if"):
        for index, match in sorted(found[name].items()):
            if index in polite or is_asked(found, index):
                continue
            begins = all(at in leads for at in range(index))
            if not begins and not any(command < index for command in part.commands):
                continue
            rest = range(index + match.words, len(part.said))
            # "If it is still on" can be looked up now.
            is_state = any(at in found["copulas"] or at in found["states"] for at in rest)
            is_doubtful = index - 1 in only or match <= found["if"].get(index, Match())
            end = index + match.words
            return Mark(index, end, LaterKind.CONDITION, is_state and is_doubtful, is_doubtful)
    return None
