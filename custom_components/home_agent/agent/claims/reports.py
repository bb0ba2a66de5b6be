"""Whether a person only asks to be told something: a summary, a briefing, how warm it is."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from ...domains import DOMAINS
from ...languages import words
from ...languages.lexicon import Clause, Lexicon, Match, Word
from ...tools.control.questions import parts_of
from .kinds import SentenceKind
from .matches import skip

TABLES: Final = {
    "reports": ("claims.reports",),
    "summaries": ("claims.summaries",),
    "gives": ("claims.gives",),
    "lengths": ("claims.lengths",),
    "tells": ("claims.tells",),
    "writes": ("claims.writes",),
    "asking": ("claims.asks", "questions.whether"),
    "commands": ("questions.commands", "claims.orders"),
    "states": ("questions.states", "claims.states"),
    "kept": ("claims.timers", "claims.lists"),
    "devices": tuple(f"names.domains.{kind}" for kind in DOMAINS),
    "verbs": ("claims.is", "questions.copulas"),
    "joins": ("questions.joins",),
    "fillers": ("questions.lead", "questions.joins", "claims.fillers", "claims.greetings", "answers.fillers"),
    "requests": ("questions.requests",),
}
GIVE_TO_SUMMARY: Final = 6
"""Words between "give me" and "summary"."""
LEAST_ORDER: Final = 2
MAX_ALONE: Final = 5
"""A longer clause with the word summary, and without a verb such as give, is a statement."""
MAX_LENGTH: Final = 4
"""Words that may precede "sentences" in "say in two short sentences how warm it is"."""


class ReportReader:
    """Finds the clauses of a person that ask for nothing but an answer."""

    def __init__(self, language: str) -> None:
        """Take the tables of a language."""
        self._lexicon = Lexicon(
            {
                name: tuple(dict.fromkeys(entry for source in sources for entry in words(language, source)))
                for name, sources in TABLES.items()
            }
        )

    def is_report(self, clause: Clause) -> bool:
        """Return whether a clause asks for a report. It may order something besides."""
        said, found = clause.words, self._lexicon.all_matches(clause.words)
        start = skip(found["fillers"], 0)
        return (
            self._has_verb(said, found, start)
            or self._names_summary(found, len(said), start)
            or self._asks_to_say(found, start)
            or (bool(found["lengths"]) and not found["commands"] and start not in found["tells"])
        )

    def has_order(self, said: Sequence[Word], *, is_listed: bool) -> bool:
        """Return whether a clause orders something: a list of what is to be told does not.

        `is_listed` is for a clause behind the one that asks for a report.
        """
        parts = [*parts_of(said, self._lexicon.matches("joins", said))]
        return any(self._orders(part, is_listed=is_listed) for part in (parts if is_listed else parts[1:]))

    def _orders(self, part: Sequence[Word], *, is_listed: bool) -> bool:
        """Return whether a part between commas and words such as and has the verb of a command.

        A word alone is a thing of a list, and a verb behind "what" is told about: "what to close". "Lock" and
        "open" may also be states, as in "open windows".
        """
        found = self._lexicon.all_matches(part)
        if len(part) < LEAST_ORDER or found["asking"] or found["reports"]:
            return False
        given = _covered(found["gives"]) if found["summaries"] else set()
        may_be_verb = len(part) > LEAST_ORDER and not (is_listed or part[0].starts)
        return any(
            match > found["states"].get(index, Match()) or (may_be_verb and index == 0)
            for index, match in found["commands"].items()
            if index not in given
        )

    @staticmethod
    def _has_verb(said: Sequence[Word], found: Mapping[str, Mapping[int, Match]], start: int) -> bool:
        """Return whether a verb such as "summarize" is where a request has it."""
        lengths = {index + match.words for index, match in found["lengths"].items()}
        return any(
            index in {0, start}
            or index in lengths
            or said[index].starts
            or (bool(found["requests"]) and index > min(found["requests"]))
            for index in found["reports"]
            if not any(other < index for other in found["commands"])
        )

    @staticmethod
    def _names_summary(found: Mapping[str, Mapping[int, Match]], end: int, start: int) -> bool:
        """Return whether a summary is to be given, and no timer, list or thing of this name is meant."""
        if not found["summaries"] or found["kept"]:
            return False
        noun = min(found["summaries"])
        behind = noun + found["summaries"][noun].words
        if behind in found["devices"] or noun in {at + one.words for at, one in found["devices"].items()}:
            return False
        if not found["asking"] and any(at + one.words == end for at, one in found["states"].items()):
            return False
        gives = max((index for index in found["gives"] if index < noun), default=None)
        if gives is None:
            is_alone = not (found["commands"] or found["verbs"]) and end - start <= MAX_ALONE
            return is_alone and not found["tells"]
        own = _covered(found["gives"])
        return (
            noun - gives - found["gives"][gives].words <= GIVE_TO_SUMMARY
            and not any(index < gives for index in found["states"])
            and not any(index < noun and index not in own for index in found["commands"])
        )

    @staticmethod
    def _asks_to_say(found: Mapping[str, Mapping[int, Match]], start: int) -> bool:
        """Return whether a question follows a verb: "say in two sentences how warm it is"."""
        if start not in found["tells"] or start in found["writes"]:
            return False
        behind = start + found["tells"][start].words
        lengths = [index + match.words for index, match in found["lengths"].items()]
        places = {behind, behind + 1, *(place for place in lengths if place - behind <= MAX_LENGTH)}
        return bool(places & found["asking"].keys())


def _covered(found: Mapping[int, Match]) -> set[int]:
    """Return the places of words that are part of a match."""
    return {place for index, match in found.items() for place in range(index, index + match.words)}


@cache
def report_reader(language: str) -> ReportReader:
    """Return the reader of a language."""
    return ReportReader(language)


def kind_beside(
    clause: Clause, kind: SentenceKind, language: str, *, is_told: bool
) -> tuple[SentenceKind, bool]:
    """Return the kind of a clause, and whether it or what precedes it (`is_told`) asks for a report.

    What follows such a request lists what is to be told: "a short briefing: weather, open windows".
    """
    reader = report_reader(language)
    if reader.is_report(clause):
        has_order = reader.has_order(clause.words, is_listed=False)
        return SentenceKind.ORDER if has_order else SentenceKind.QUESTION, True
    is_order = kind is SentenceKind.ORDER
    if (
        is_told
        and (kind is SentenceKind.REMARK or is_order)
        and not (is_order and reader.has_order(clause.words, is_listed=True))
    ):
        kind = SentenceKind.QUESTION
    return kind, is_told
