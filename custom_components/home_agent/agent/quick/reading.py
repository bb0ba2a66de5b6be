"""Whether a sentence is a plain command: one clause, one thing to do, and nothing that needs an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from ...languages import find, languages_with, table, words
from ...languages.lexicon import Clause, Lexicon, Match, clauses
from ...tools.control.questions import ClauseKind, clause_kind
from ..claims.kinds import SentenceKind
from ..claims.wording import kind_of

MAX_CHARS: Final = 160
MAX_REMARK: Final = 9
"""Words of a wish that names no command, such as "a bit brighter"."""
TABLES: Final = {
    "joins": ("questions.joins",),
    "asking": ("questions.asking",),
    "openers": ("questions.openers", "questions.past", "claims.asks", "claims.tells"),
    "commands": ("questions.commands", "claims.orders"),
    "particles": ("questions.switching",),
    "polite": ("answers.fillers",),
    "fillers": ("answers.fillers", "answers.yes", "claims.fillers", "claims.greetings", "questions.lead"),
}


@dataclass(frozen=True, slots=True)
class PlainCommand:
    """A sentence with one thing to do."""

    joined: bool
    """Whether it names several things or values: "the light and the fan"."""


@lru_cache(maxsize=64)
def plain_command(sentence: str, language: str) -> PlainCommand | None:
    """Return a sentence as a plain command; None if it may be more than that, or if that is not known."""
    own = find(language)
    if own is None or len(sentence) > MAX_CHARS or not _is_known(own):
        return None
    lexicon = _lexicon(own)
    content = [part for part in clauses(sentence) if not _is_filler(part, own, lexicon)]
    if len(content) != 1 or clause_kind(content[0], own) is ClauseKind.QUESTION:
        return None
    match kind_of(sentence, own):
        case SentenceKind.ORDER:
            pass
        case SentenceKind.REMARK if _is_wish(content[0], sentence, own):
            pass
        case _:
            return None
    return _one_thing(content[0], lexicon)


@cache
def _is_known(own: str) -> bool:
    """Return whether clauses of a language can be told apart: it has spaces, and the words are known."""
    has_words = own in languages_with("claims") and own in languages_with("questions.joins")
    return has_words and not (table(own, "questions.inside_words") or table(own, "unspaced"))


def _one_thing(clause: Clause, lexicon: Lexicon) -> PlainCommand | None:
    """Return a clause as a plain command, unless parts of it ask or order something else."""
    said = clause.words
    found = lexicon.all_matches(said)
    if found["asking"]:
        return None
    polite = _polite(found["polite"])
    behind = {index + match.words: index for index, match in found["joins"].items() if index}
    starts = behind.keys() | {index for index, word in enumerate(said) if word.starts}
    if any(index in found[name] for index in starts for name in ("openers", "commands")):
        return None
    parts = [
        index
        for index in starts
        if behind.get(index) not in polite and not polite.issuperset(range(index, len(said)))
    ]
    directions = {said[index].plain for index in found["particles"]}
    if len(directions) > 1:
        return None
    numbers = sum(any(map(str.isdigit, word.plain)) for word in said)
    if parts and numbers > 1:
        return None
    return PlainCommand(joined=bool(parts))


def _polite(found: Mapping[int, Match]) -> set[int]:
    """Return the places of words that only make a sentence polite."""
    return {at for index, match in found.items() for at in range(index, index + match.words)}


def _is_wish(clause: Clause, sentence: str, own: str) -> bool:
    """Return whether a clause without a command is in this language, short, and one part."""
    said = clause.words
    if not 1 < len(said) <= MAX_REMARK or any(word.starts for word in said):
        return False
    if _lexicon(own).matches("joins", said):
        return False
    others = (other for other in languages_with("claims") if other != own)
    return any(word.plain in _own_words(own) for word in said) and not any(
        kind_of(sentence, other) is SentenceKind.ORDER and _knows_more(said, other, own) for other in others
    )


def _knows_more(said: Sequence[object], other: str, own: str) -> bool:
    """Return whether more words of a clause are of another language."""
    plain = [getattr(word, "plain", "") for word in said]
    mine, theirs = _own_words(own), _own_words(other)
    return sum(word in theirs for word in plain) > sum(word in mine for word in plain)


def _is_filler(clause: Clause, own: str, lexicon: Lexicon) -> bool:
    """Return whether a clause only greets, thanks or addresses somebody."""
    found = lexicon.matches("fillers", clause.words)
    at = 0
    while at in found and found[at] > Match():
        at += found[at].words
    return at == len(clause.words) or clause_kind(clause, own) is ClauseKind.LEAD


@cache
def _lexicon(language: str) -> Lexicon:
    """Return the words that tell one clause from two."""
    return Lexicon(
        {
            name: tuple(dict.fromkeys(entry for source in sources for entry in words(language, source)))
            for name, sources in TABLES.items()
        }
    )


@cache
def _own_words(language: str) -> frozenset[str]:
    """Return the words of a language's tables."""
    tables = ("questions", "claims", "answers", "quantities", "memory")
    return frozenset(
        word.strip("*")
        for name in tables
        for entries in (table(language, name) or {}).values()
        if isinstance(entries, list)
        for entry in entries
        if isinstance(entry, str)
        for word in entry.casefold().split()
    ) | frozenset(word.casefold() for word in words(language, "names.articles"))
