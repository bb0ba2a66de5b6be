"""Commands that are not for now: at a time, for a while, again and again, or on a condition.

What a clause says of another matter ("dinner is in ten minutes") is not about the command beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from ..regex import lazy_regex
from . import find, languages_with, table, words
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
    "polite",
    "statements",
    "inverted",
    "reminders",
)
OF_QUESTIONS: Final = ("commands", "requests", "joins", "lead", "switching", "copulas", "states")
UNITS: Final = ("second", "minute", "hour", "day", "week")
MAX_CHARS: Final = 400
MAX_AMOUNT: Final = 6
"""Words of a length of time before its unit."""
LAST_HOUR: Final = 12
"""The largest number that is a time without a word that says so."""
CLOCK: Final = "clocktime"
"""Stands for 18:30: punctuation is lost where a sentence is cut into words."""
MEASURE: Final = "measure"
"""Stands for a percent or degree sign."""
_MEASURES: Final = lazy_regex("[%°]")
_CLOCKS: Final = lazy_regex(r"\b\d{1,2}(?::|h(?=\d))\d{2}\b")
_JOINED: Final = lazy_regex(r"(\d)(?=[^\W\d_])")
_QUOTED: Final = lazy_regex(r"[\"“„«»][^\"“”„«»]{1,80}[\"”“«»]")


class LaterKind(StrEnum):
    """What a command waits for."""

    TIME = "time"
    LENGTH = "length"
    """It begins at once and ends after a while."""
    REPEATED = "repeated"
    CONDITION = "condition"


STRICTEST: Final = (LaterKind.CONDITION, LaterKind.REPEATED, LaterKind.TIME, LaterKind.LENGTH)


class _Mark(NamedTuple):
    """Words that say that a command is not for now."""

    start: int
    end: int
    kind: LaterKind


@dataclass(slots=True)
class _Part:
    """The words between commas and words such as and."""

    said: Sequence[Word]
    found: Mapping[str, Mapping[int, Match]]
    comma: bool
    """Whether a comma or a full stop precedes it."""
    clause: int
    marks: list[_Mark] = field(default_factory=list)
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


@lru_cache(maxsize=64)
def read_later(sentence: str, language: str, *, is_evening: bool = False) -> LaterKind | None:
    """Return what all commands of a sentence wait for; None if one is for now, or if it is not clear.

    `is_evening` says that this evening is now. The speaker's language is tried first; another one counts
    only for sentences with its own verbs.
    """
    if len(sentence) > MAX_CHARS:
        return None
    text = _MEASURES.sub(f" {MEASURE} ", _QUOTED.sub(" ", sentence))
    text = _JOINED.sub(r"\1 ", _CLOCKS.sub(CLOCK, text))
    own, known = find(language), languages_with("times")
    if own in known:
        parts = _parts(text, own, is_evening=is_evening)
        if (kind := _judge(parts)) is not None or any(part.commands for part in parts):
            return kind
    for other in known:
        if other == own:
            continue
        parts = _parts(text, other, is_evening=is_evening)
        if any(part.commands for part in parts) and (kind := _judge(parts)) is not None:
            return kind
    return None


def names_action(name: str, sentence: str, language: str) -> bool:
    """Return whether a reminder is called like an action, in a sentence that orders one and no reminder."""
    own, known = find(language), languages_with("times")
    for each in dict.fromkeys((own, *known)):
        if each not in known or each is None:
            continue
        parts = _parts(name, each, is_evening=False)
        if not any(_is_action(part) for part in parts):
            continue
        others = [each, *({own} & set(known))] if own else [each]
        asked = [part for other in others for part in _parts(sentence, other, is_evening=False)]
        reminds = any(part.found["reminders"] for part in asked)
        return not reminds and any(part.commands or part.found["switching"] for part in asked)
    return False


def _is_action(part: _Part) -> bool:
    """Return whether a name begins or ends with a command, or ends with on or off."""
    last = len(part.said) - 1
    ends = {index + match.words - 1 for index, match in part.found["switching"].items()}
    return last > 0 and bool({0, last}.intersection(part.commands) or last in ends)


@cache
def _lexicon(language: str) -> Lexicon:
    """Return the words of a language for times, and those of its commands."""
    english: Mapping[str, Sequence[str]] = table(language, "times.english")
    tables: dict[str, Sequence[str]] = {name: words(language, f"times.{name}") for name in TABLES}
    tables |= {name: words(language, f"questions.{name}") for name in OF_QUESTIONS}
    tables["units"] = [word for unit in UNITS for word in english[unit]]
    tables["measures"] = [MEASURE, *words(language, "memory.units")]
    tables["numbers"] = [
        *(word for digit in table(language, "numbers.digits") for word in digit),
        *words(language, "numbers.to_99"),
    ]
    return Lexicon(tables)


def _parts(text: str, language: str, *, is_evening: bool) -> list[_Part]:
    """Return the parts of a sentence with what they say about time."""
    lexicon = _lexicon(language)
    parts: list[_Part] = []
    for number, clause in enumerate(clauses(text)):
        for said, comma in _split(clause.words, lexicon):
            part = _Part(said, lexicon.all_matches(said), comma, number)
            _read(part, is_evening=is_evening)
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


def _read(part: _Part, *, is_evening: bool) -> None:
    """Find the marks, the commands and the statements of a part."""
    found, said = part.found, part.said
    polite = {
        at
        for index, match in found["polite"].items()
        if match >= max(found["when"].get(index, Match()), found["if"].get(index, Match()))
        for at in range(index, index + match.words)
    }
    index = 0
    while index < len(said):
        mark = None if index in polite else _mark_at(part, index, is_evening=is_evening)
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


def _mark_at(part: _Part, index: int, *, is_evening: bool) -> _Mark | None:
    """Return the mark that begins at a word."""
    found = part.found
    for name, kind in (("soon", LaterKind.TIME), ("during", LaterKind.LENGTH)):
        if (match := found[name].get(index)) and (end := _length(part, index + match.words)):
            return _Mark(index, end, kind)
    if end := _length(part, index):
        for name, kind in (("soon_behind", LaterKind.TIME), ("during_behind", LaterKind.LENGTH)):
            if match := found[name].get(end):
                return _Mark(index, end + match.words, kind)
    if end := _clock(part, index):
        return _Mark(index, end, LaterKind.TIME)
    phrases = [(match, LaterKind.REPEATED) for match in (found["repeated"].get(index),) if match]
    phrases += [(match, LaterKind.TIME) for match in (found["later"].get(index),) if match]
    if (match := found["evening"].get(index)) and not is_evening:
        phrases.append((match, LaterKind.TIME))
    if not phrases:
        return None
    best, kind = max(phrases, key=lambda phrase: phrase[0])
    return _Mark(index, index + best.words, kind)


def _length(part: _Part, index: int) -> int | None:
    """Return where a length of time ends that begins at a word."""
    found, end = part.found, None
    if match := found["lengths"].get(index):
        end = index + match.words
    at, amounts = index, 0
    while at < len(part.said) and amounts < MAX_AMOUNT:
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


def _clock(part: _Part, index: int) -> int | None:
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
    switches = found["switching"] and end not in found["measures"] and end not in found["units"]
    return end if before.words and small and switches else None


def _condition(part: _Part, polite: set[int]) -> _Mark | None:
    """Return the mark of a condition: it begins its part, or follows the command."""
    found = part.found
    leads = {
        at
        for name in ("lead", "joins")
        for i, match in found[name].items()
        for at in range(i, i + match.words)
    }
    for name in ("when", "if"):
        for index, match in sorted(found[name].items()):
            if index in polite:
                continue
            begins = all(at in leads for at in range(index))
            if not begins and not any(command < index for command in part.commands):
                continue
            rest = range(index + match.words, len(part.said))
            if name == "if" and any(at in found["copulas"] or at in found["states"] for at in rest):
                continue  # "if it is still on" can be looked up now
            return _Mark(index, index + match.words, LaterKind.CONDITION)
    return None


def _judge(parts: Sequence[_Part]) -> LaterKind | None:
    """Return what all commands wait for."""
    orders = [number for number, part in enumerate(parts) if part.commands]
    if not orders:
        orders = [number for number, part in enumerate(parts) if part.marks and not part.statements]
    governed: set[int] = set()
    kinds: set[LaterKind] = set()
    for number, part in enumerate(parts):
        for mark in part.marks:
            if reach := _reach(parts, number, mark, orders):
                governed.update(reach)
                kinds.add(mark.kind)
    if not orders or not governed.issuperset(orders):
        return None
    return next(kind for kind in STRICTEST if kind in kinds)


def _reach(parts: Sequence[_Part], number: int, mark: _Mark, orders: Sequence[int]) -> Sequence[int]:
    """Return the commands that a mark is about."""
    part = parts[number]
    is_condition = mark.kind is LaterKind.CONDITION
    if not is_condition and (_is_of_statement(part, mark) or (part.statements and not part.commands)):
        return ()
    if part.commands:
        following = [order for order in orders if order > number and parts[order].clause == part.clause]
        return [number, *following] if mark.start < part.commands[0] else [number]
    if is_condition or not part.rest:
        return orders
    if number in orders:
        return [number]
    # "And off again in ten minutes" is another command.
    apart = part.comma or part.found["switching"]
    return () if apart else [order for order in orders if order < number][-1:]


def _is_of_statement(part: _Part, mark: _Mark) -> bool:
    """Return whether a mark says when something else happens."""
    if any(mark.end == index for index in part.found["inverted"]):
        return True
    before = [(start, False) for start in part.commands if start < mark.start]
    before += [(start, True) for start, _ in part.statements if start < mark.start]
    if before:
        return max(before)[1]
    return any(start == mark.end for start, _ in part.statements)
