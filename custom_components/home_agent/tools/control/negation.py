"""A sentence that only says what is not to be done, such as "don't open the door", changes nothing."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from ...languages import find, words
from ...languages.lexicon import Lexicon, Match, Word, clauses
from .questions import parts_of

TABLES: Final = (
    "negations",
    "late_negations",
    "not_forbidden",
    "commands",
    "lead",
    "joins",
)
MAX_CHARS: Final = 300
NEGATION_TO_VERB: Final = 2
"""How many words may stand between a negation and the verb behind it."""


class Prohibition(NamedTuple):
    """The parts of a sentence of which all commands are negated."""

    forbidden: tuple[str, ...]
    others: tuple[str, ...]
    """The parts without a command, which may name something to be done: "just the door, please"."""


def forbids(sentence: str, language: str) -> bool:
    """Return whether all commands of a sentence are negated.

    False for a language without words for it: then nothing is known.
    """
    return prohibition(sentence, language) is not None


@lru_cache(maxsize=64)
def prohibition(sentence: str, language: str) -> Prohibition | None:
    """Return the parts of a sentence if all its commands are negated."""
    own = find(language)
    if own is None or len(sentence) > MAX_CHARS or not words(own, "questions.negations"):
        return None
    lexicon = _lexicon(own)
    forbidden: list[str] = []
    others: list[str] = []
    for clause in clauses(sentence):
        for part in parts_of(clause.words, _joins(clause.words, lexicon)):
            if clause.is_asked and lexicon.matches("commands", part):
                return None
            is_negated = _is_negated(part, lexicon)
            if is_negated is False:
                return None
            (forbidden if is_negated else others).append(" ".join(word.plain for word in part))
    return Prohibition(tuple(forbidden), tuple(others)) if forbidden else None


@cache
def _lexicon(language: str) -> Lexicon:
    """Return the words of a language for commands and negations."""
    tables = {name: words(language, f"questions.{name}") for name in TABLES}
    tables["polite"] = words(language, "answers.fillers")
    tables["lead"] = (*tables["lead"], *tables["polite"])
    return Lexicon(tables)


def _joins(said: Sequence[Word], lexicon: Lexicon) -> dict[int, Match]:
    """Return the words that part a clause; polite words and phrases such as "not so" do not part it."""
    inside = {
        place
        for index, match in lexicon.matches("not_forbidden", said).items()
        for place in range(index, index + match.words)
    }
    inside |= lexicon.matches("polite", said).keys()
    return {index: match for index, match in lexicon.matches("joins", said).items() if index not in inside}


def _is_negated(part: Sequence[Word], lexicon: Lexicon) -> bool | None:
    """Return whether the command of a part is negated, or None if the part has none."""
    found = lexicon.all_matches(part)
    commands = [index for index in found["commands"] if index not in found["not_forbidden"]]
    if not commands:
        return None
    if found["not_forbidden"]:
        return False
    start = 0
    while start in found["lead"]:
        start += found["lead"][start].words
    verb = min(commands)
    if verb <= start:
        return bool(found["late_negations"])
    near = any(
        0 <= verb - (index + match.words) <= NEGATION_TO_VERB for index, match in found["negations"].items()
    )
    return near or start in found["negations"]
