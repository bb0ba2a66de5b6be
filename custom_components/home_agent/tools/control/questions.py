"""Distinguish a question about states from a request, by the words and the word order of a language."""

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, lru_cache
from typing import Final

from ...languages import find, languages_with, table, words
from ...languages.lexicon import QUESTION_MARKS, Clause, Lexicon, Match, Word, clauses
from ...texts import plain

TABLES: Final = (
    "openers",
    "past",
    "asking",
    "whether",
    "particles",
    "copulas",
    "states",
    "requests",
    "commands",
    "joins",
    "lead",
    "switching",
    "alternatives",
    "unrelated",
    "when",
    "reasons",
    "negations",
    "too",
    "stating",
)
MAX_CHARS: Final = 300
EXCLAMATIONS: Final = frozenset("!！¡")  # noqa: RUF001 - other scripts' own
MAX_WORDS: Final = 30
"""Longer sentences are more than one question."""
MAX_ADDRESS: Final = 3
"""A sentence with at most this many words before a question addresses a person."""
MIN_WORDS: Final = 2
"""A question of one word is about nothing."""


class ClauseKind(Enum):
    """What a clause is."""

    QUESTION = auto()
    REQUEST = auto()
    LEAD = auto()
    """A greeting, a name, a thank you."""
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a clause is in one language."""

    kind: ClauseKind
    is_sure: bool = False
    """Whether both its form and what it is about say so, so that it is certainly of this language."""
    may_state: bool = False
    """Whether it is a question only by what it is about: "la fenêtre est ouverte" may be either."""
    names_state: bool = False
    """Whether it names the state of a device."""


class Statement(Enum):
    """What a sentence is that has the words of a question, and may be a statement in its language."""

    SURE = auto()
    """It is exclaimed, or it is about no device."""
    DOUBTFUL = auto()
    """It may be a question as well."""


@lru_cache(maxsize=64)
def asks_about_state(sentence: str, language: str) -> bool:
    """Return whether a sentence only asks about states, or in some languages only states them.

    Where nothing is known of the language, a question mark is enough: then nothing is changed.
    """
    if len(sentence) > MAX_CHARS:
        return False
    parts = clauses(sentence)
    if not 0 < sum(len(part.words) for part in parts) <= MAX_WORDS:
        return False
    own = find(language) or ""
    known = languages_with("questions")
    kind = _kind_of(parts, own) if own in known else ClauseKind.OTHER
    if kind is ClauseKind.REQUEST or (
        kind is ClauseKind.QUESTION and all(_read(part, own).is_sure for part in parts)
    ):
        return kind is ClauseKind.QUESTION
    sure = {_sure_kind(parts, other) for other in known if other != own}
    if ClauseKind.REQUEST in sure:
        return False
    has_mark = any(mark in sentence for mark in QUESTION_MARKS)
    return kind is ClauseKind.QUESTION or ClauseKind.QUESTION in sure or (own not in known and has_mark)


@lru_cache(maxsize=64)
def statement_of(sentence: str, language: str) -> Statement | None:
    """Return what a sentence is that may be a statement, although it has the words of a question.

    Only languages whose questions have the order of statements have such sentences. None for any other.
    """
    own = find(language)
    if own is None or not table(own, "questions.same_order") or table(own, "questions.inside_words"):
        return None
    if any(mark in sentence for mark in QUESTION_MARKS):
        return None
    parts = clauses(sentence) if len(sentence) <= MAX_CHARS else []
    asked = [reading for part in parts if (reading := _read(part, own)).kind is ClauseKind.QUESTION]
    if not asked or not all(reading.may_state for reading in asked):
        return None
    is_exclaimed = any(mark in sentence for mark in EXCLAMATIONS)
    is_about = any(reading.names_state for reading in asked)
    return Statement.SURE if is_exclaimed or not is_about else Statement.DOUBTFUL


def clause_kind(clause: Clause, language: str) -> ClauseKind:
    """Return the kind of a clause in a language."""
    return _read(clause, language).kind


def _kind_of(parts: list[Clause], language: str) -> ClauseKind:
    """Return the common kind of the clauses of a sentence."""
    kinds = [_read(part, language).kind for part in parts]
    if ClauseKind.REQUEST in kinds or ClauseKind.QUESTION not in kinds:
        return ClauseKind.REQUEST if ClauseKind.REQUEST in kinds else ClauseKind.OTHER
    first = kinds.index(ClauseKind.QUESTION)
    for index, (kind, part) in enumerate(zip(kinds, parts, strict=True)):
        if kind is ClauseKind.OTHER and (index > first or len(part.words) > MAX_ADDRESS):
            return ClauseKind.REQUEST
    return ClauseKind.QUESTION


def _sure_kind(parts: list[Clause], language: str) -> ClauseKind:
    """Return the kind of a sentence's clauses, if they are certainly of a language."""
    if not all(_names_state(part, language) for part in parts):
        return ClauseKind.OTHER
    is_sure = all(_read(part, language).is_sure for part in parts)
    return _kind_of(parts, language) if is_sure else ClauseKind.OTHER


def _names_state(clause: Clause, language: str) -> bool:
    """Return whether a clause has a word of a language for the state of a device."""
    if table(language, "questions.inside_words"):
        return _take_out(clause.joined, language, "states")[1]
    return bool(_lexicon(language).matches("states", clause.words))


@cache
def _lexicon(language: str) -> Lexicon:
    """Return the question words of a language."""
    tables = {name: words(language, f"questions.{name}") for name in TABLES}
    return Lexicon({**tables, "polite": words(language, "answers.fillers")})


def _read(clause: Clause, language: str) -> _Reading:
    """Return the kind of a clause."""
    if table(language, "questions.inside_words"):
        return _read_inside(clause, language)
    lexicon, said = _lexicon(language), clause.words
    found = dict(lexicon.all_matches(said))
    for name in ("past", "asking", "reasons"):
        found[name] = _not_within(found[name], found["requests"])
    found["requests"] = _not_within(found["requests"], found["past"])
    starts = _starts(clause, lexicon)
    about = bool(found["states"])
    orders, may_order = _commands(found, starts, len(said))
    has_when = bool(starts & found["when"].keys()) and (clause.is_asked or bool(found["copulas"]))
    is_past = bool(starts & found["past"].keys()) or (has_when and not orders and not may_order)
    is_past = is_past or (_asks_why(found, starts) and (about or bool(orders or may_order)))
    asks_to_tell = bool(found["asking"]) and max(found["whether"], default=-1) > min(found["asking"])
    has_form = bool(starts & found["openers"].keys() or found["particles"]) and len(said) >= MIN_WORDS
    is_statement = bool(table(language, "questions.same_order")) and about and bool(found["copulas"])
    has_mark = clause.is_asked and (about or bool(found["copulas"])) and not _is_switching(found, len(said))
    wishes = found["requests"]
    if has_form and about and found["copulas"]:
        wishes = _without_politeness(wishes, found["polite"])
    rules = (
        (min(starts - found["lead"].keys(), default=len(said)) >= len(said), ClauseKind.LEAD),
        (_begins_with_order(clause, found), ClauseKind.REQUEST),
        (is_past and (bool(starts & (orders | may_order)) or _asks_later(said, found)), ClauseKind.REQUEST),
        (is_past, ClauseKind.QUESTION),
        (bool(orders or may_order), ClauseKind.REQUEST),
        (asks_to_tell, ClauseKind.QUESTION),
        (bool(wishes) or (bool(found["too"]) and not clause.is_asked), ClauseKind.REQUEST),
        (has_form or has_mark or is_statement, ClauseKind.QUESTION),
    )
    kind = next((kind for holds, kind in rules if holds), ClauseKind.OTHER)
    asks = {index for index in starts & found["openers"].keys() if index not in found["stating"]}
    may_state = not (is_past or asks_to_tell or asks or found["particles"] or found["whether"])
    return _Reading(kind, about and (is_past or asks_to_tell or has_form), may_state, about)


def _asks_why(found: Mapping[str, Mapping[int, Match]], starts: AbstractSet[int]) -> bool:
    """Return whether a clause asks why something is or was so; with a negation it may invite."""
    asked = starts & found["reasons"].keys()
    return bool(asked) and not any(index > min(asked) for index in found["negations"])


def _not_within(found: Mapping[int, Match], others: Mapping[int, Match]) -> dict[int, Match]:
    """Return matches without those that are the beginning of a longer phrase of another table."""
    return {index: match for index, match in found.items() if match >= others.get(index, Match())}


def _without_politeness(wishes: Mapping[int, Match], polite: Mapping[int, Match]) -> dict[int, Match]:
    """Return the words of requests without those that make "is the door open, please" no request."""
    covered = {at for index, match in polite.items() for at in range(index, index + match.words)}
    return {index: match for index, match in wishes.items() if index not in covered}


def _is_switching(found: Mapping[str, Mapping[int, Match]], end: int) -> bool:
    """Return whether a clause without a verb ends with on or off.

    "Lights on?" may ask either way, and speech recognition puts such marks behind short commands.
    """
    has_verb = found["copulas"] or found["openers"]
    return not has_verb and any(index + match.words == end for index, match in found["switching"].items())


def _begins_with_order(clause: Clause, found: Mapping[str, Mapping[int, Match]]) -> bool:
    """Return whether a command without a verb precedes a question: "lights off, and is a window open?"."""
    parts = list(parts_of(clause.words, found["joins"]))
    end = len(parts[0])
    asks = any(index >= end for name in ("openers", "past", "asking") for index in found[name])
    asks = asks and not any(index >= end for index in found["alternatives"])
    while end and any(index + match.words == end for index, match in found["polite"].items()):
        end -= max(match.words for index, match in found["polite"].items() if index + match.words == end)
    has_verb = any(index < end for name in ("openers", "copulas", "past", "asking") for index in found[name])
    switches = any(index + match.words == end for index, match in found["switching"].items())
    return asks and switches and end >= MIN_WORDS and not has_verb


def _asks_later(said: Sequence[Word], found: Mapping[str, Mapping[int, Match]]) -> bool:
    """Return whether a wish follows what was told: "j'ai froid, tu peux monter le chauffage ?"."""
    told = min(found["past"], default=len(said))
    start = 0
    for part in parts_of(said, found["joins"]) if said else ():
        # Parts have no positions of their own: words between them join two parts.
        start = next(at for at in range(start, len(said)) if said[at] is part[0])
        inside = range(start, start + len(part))
        if start > told and any(at in found["requests"] for at in inside):
            return not any(at in found["asking"] for at in inside)
    return False


def _commands(
    found: Mapping[str, Mapping[int, Match]], starts: AbstractSet[int], end: int
) -> tuple[set[int], set[int]]:
    """Return where commands have their verbs, and where words are that are verbs only at the start of a part.

    "Open" is a verb in "and open the door" and a state in "is the door open".
    """
    orders, may_order = set(), set()
    for index, match in found["commands"].items():
        around = [
            each
            for name in ("states", "copulas")
            for first, each in found[name].items()
            if first <= index < first + each.words
        ]
        other = max(around, default=Match())
        if match > other:
            orders.add(index)
        elif match == other and index in starts and (index == 0 or index < end - 1):
            may_order.add(index)
    return orders, may_order


def parts_of(said: Sequence[Word], joins: Mapping[int, Match]) -> Iterator[Sequence[Word]]:
    """Yield the parts of a clause between commas and words such as and."""
    start = 0
    for index, word in enumerate(said):
        if index > start and (word.starts or index in joins):
            yield said[start:index]
            start = index + (joins[index].words if index in joins else 0)
    if start < len(said) or not said:  # a word that joins may be the last: "mehr als sonst"
        yield said[start:]


def _starts(clause: Clause, lexicon: Lexicon) -> set[int]:
    """Return where a part of a clause begins: a command has its verb there, a question its auxiliary."""
    said = clause.words
    starts = {0} | {index for index, word in enumerate(said) if word.starts}
    starts |= {index + match.words for index, match in lexicon.matches("joins", said).items()}
    lead = lexicon.matches("lead", said)
    for index in range(len(said)):
        if index in starts and index in lead:
            starts |= set(range(index + 1, index + lead[index].words + 1))
    return starts


def _read_inside(clause: Clause, language: str) -> _Reading:
    """Return the kind of a clause in a language that does not, or not always, separate words."""
    rest = clause.joined
    rest, asks = _take_out(rest, language, "asking")
    asks = asks and _take_out(clause.joined, language, "whether")[1]
    if not asks and _take_out(rest, language, "requests")[1]:
        return _Reading(ClauseKind.REQUEST)
    rest, is_about = _take_out(rest, language, "states")
    if _take_out(rest, language, "commands")[1]:
        return _Reading(ClauseKind.REQUEST)
    has_particle = _take_out(clause.joined, language, "particles")[1]
    if asks or has_particle:
        return _Reading(ClauseKind.QUESTION, is_about)
    same_order = bool(table(language, "questions.same_order"))
    asked = is_about and (clause.is_asked or same_order)
    return _Reading(ClauseKind.QUESTION, asked) if asked else _Reading(ClauseKind.OTHER)


def _take_out(text: str, language: str, name: str) -> tuple[str, bool]:
    """Return a text without the entries of a table, and whether there were any."""
    rest = text
    for entry in _entries(language, name):
        rest = rest.replace(entry, "\0")
    return rest, rest != text


@cache
def _entries(language: str, name: str) -> tuple[str, ...]:
    """Return the entries of a table as they appear inside a text, the longest first."""
    found = {plain(entry).replace(" ", "") for entry in words(language, f"questions.{name}")}
    return tuple(sorted(found, key=len, reverse=True))
