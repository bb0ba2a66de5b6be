"""What one sentence of an answer claims, read as a whole."""

# ruff: noqa: RUF001 - marks of many languages
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from ...languages import DEFAULT, find, languages_with
from ...languages.later import read_later
from ...languages.lexicon import Word, clauses
from ...texts import fold, is_word, plain
from ...tools.control.questions import statement_of
from .kinds import ClaimKind, SentenceKind
from .reports import report_reader
from .scripts import ScriptReader, script_languages, script_of
from .wording import MAX_WORDS, SpacedReader, kind_of, spaced_reader

ENDS: Final = frozenset("!?…\n。．！？")
"""Marks that end a sentence. A full stop does too, unless a letter or digit follows."""
BREAKS: Final = frozenset(',;:–—()"“”„«»')
QUESTION_MARKS: Final = ("?", "？")
AHEAD: Final = frozenset((ClaimKind.PROMISE, ClaimKind.FORECAST, ClaimKind.TIMER))
"""Claims about what is to come, so that "when" in them does not mean the past."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sentence says."""

    claims: frozenset[ClaimKind] = frozenset()
    parts: tuple[str, ...] = ()
    """The sentence between commas and words such as and, if it claims something."""
    states: tuple[tuple[str, bool], ...] = ()
    """Its parts that may be compared with states, and whether each says that something is at work."""
    is_offer: bool = False
    """Whether it asks for permission to do what was asked for."""


@dataclass(slots=True)
class _Clause:
    """Words between two marks of a sentence."""

    start: int
    """Where it begins in the sentence."""
    words: list[Word] = field(default_factory=list)


class SentenceReader:
    """Reads the sentences of the answer to one sentence of a person."""

    def __init__(self, asked: str, language: str) -> None:
        """Take what the person said and the language of the turn."""
        self.script: ScriptReader | None = script_of(asked, language)
        self.readers, self._is_any = _readers(language)
        self.wanted = self.script.kind_of(asked) if self.script else kind_of(asked, language)
        said = _words_of(asked)
        reports = report_reader(find(language) or DEFAULT)
        is_report = self.script is None and any(map(reports.is_report, clauses(asked)))
        self._is_greeting = (
            self.wanted is SentenceKind.QUESTION and not is_report and self._greets(asked, said)
        )
        is_remark = self.script is None and not is_report and statement_of(asked, language) is not None
        if self._is_greeting or (self.wanted is SentenceKind.QUESTION and is_remark):
            self.wanted = SentenceKind.REMARK
        self._asks_what = any(reader.is_open_question(said) for reader in self.readers)
        self._is_later = self.wanted is SentenceKind.ORDER and read_later(asked, language) is not None
        """Whether something is ordered for later, so that "when" in an answer does not mean the past."""

    def read(self, text: str, kind: SentenceKind) -> Reading:
        """Return what a sentence says; `kind` says which sentences count as claims."""
        claims: set[ClaimKind] = set()
        found: _Clause | None = None
        begins, held_from = True, 0
        for clause in _clauses_of(text):
            if not clause.words:
                continue
            claim, reader = self._claim_of(clause, kind, begins_sentence=begins)
            is_filler = self.readers[0].is_filler(clause.words)
            begins = begins and is_filler
            if claim is None:
                continue
            if found is None:
                found, held_from = clause, clause.start
                if self._is_withdrawn(text[held_from:], claim, reader):
                    claim = ClaimKind.STATE  # "it is on already" may still be untrue
                    if kind is SentenceKind.QUESTION or self._is_withdrawn(text[held_from:], claim, reader):
                        return Reading(is_offer=self._is_offer(text))
            claims.add(claim)
            claims |= self._claims_of_parts(clause, kind)
        if found is None:
            if self.script is not None and self.script.is_claim(text, kind):
                return Reading(frozenset({ClaimKind.DEED}), (text,))
            return Reading(is_offer=self._is_offer(text))
        if kind is SentenceKind.QUESTION and self._asks_what:
            claims.discard(ClaimKind.PROMISE)
        parts, states = (
            tuple(self._parts(text)),
            tuple(self._states(text, is_ahead=ClaimKind.FORECAST in claims)),
        )
        return Reading(frozenset(claims), parts, states)

    def tells_failure(self, text: str) -> bool:
        """Return whether a text says that something did not work; also where that cannot be known."""
        if self.script is not None:
            return True
        said = _words_of(text)
        return any(reader.tells_failure(said) for reader in self.readers)

    def begins(self, said: Sequence[Word], beginning: str) -> bool:
        """Return whether a clause begins, or may yet begin, by describing the assistant's own actions."""
        if self.script:
            return True
        if said or not beginning:
            return any(reader.begins(said) for reader in self.readers)
        return any(reader.may_begin(plain(beginning)) for reader in self.readers)

    @property
    def joins(self) -> frozenset[str]:
        """Return the words that part clauses."""
        return self.readers[0].joins

    def _greets(self, asked: str, said: Sequence[Word]) -> bool:
        """Return whether a sentence is a greeting, to which nothing but a greeting is owed."""
        return asked.rstrip()[-1:] not in QUESTION_MARKS and self.readers[0].greets(said)

    def _is_withdrawn(self, text: str, claim: ClaimKind, reader: SpacedReader | None) -> bool:
        """Return whether the rest of a sentence says that its claim is a question or of an earlier time."""
        if text.rstrip().endswith(QUESTION_MARKS) and "," not in text:
            return True
        if reader is None or self._is_later or claim in AHEAD:
            return False
        return reader.is_earlier(_words_of(text), but_already=claim is ClaimKind.STATE)

    def _claim_of(
        self, clause: _Clause, kind: SentenceKind, *, begins_sentence: bool
    ) -> tuple[ClaimKind | None, SpacedReader | None]:
        """Return what a clause claims, and in whose words."""
        for said in self._segments(clause.words, kind):
            if len(said) > MAX_WORDS:
                continue
            limits = [reader.count_until_honest(said) for reader in self.readers]
            if not self._is_any:  # what is no claim in the own language is none in English either
                limits = [min(limits[0], limit) for limit in limits]
            for reader, limit in zip(self.readers, limits, strict=True):
                is_first = begins_sentence and said[0] is clause.words[0]
                if limit and (
                    claim := reader.claim(
                        said[:limit],
                        SentenceKind.QUESTION if self._is_greeting else kind,
                        begins_sentence=is_first,
                        is_whole=limit == len(said),
                    )
                ):
                    return claim, reader
                if self._is_greeting and reader.tells_state(said[:limit]):
                    return ClaimKind.STATE, reader
            if kind is SentenceKind.QUESTION:
                continue
            for reader, limit in zip(self.readers, limits, strict=True):
                behind = reader.count_until_honest(said, but_already=True)
                if behind > limit and reader.tells_state(said[:behind]):
                    return ClaimKind.STATE, reader
        return None, None

    def _claims_of_parts(self, clause: _Clause, kind: SentenceKind) -> set[ClaimKind]:
        """Return what the parts of a clause claim that are joined by a word such as and."""
        found: set[ClaimKind] = set()
        for said in self._joined(clause.words):
            if said and len(said) < len(clause.words):
                claim, _ = self._claim_of(_Clause(clause.start, list(said)), kind, begins_sentence=False)
                found |= {claim} if claim else set()
        return found

    def _joined(self, said: Sequence[Word]) -> Iterator[Sequence[Word]]:
        """Yield the words between words such as and."""
        start = 0
        for end in (*(index for index, word in enumerate(said) if word.plain in self.joins), len(said)):
            yield said[start:end]
            start = end + 1

    def _segments(self, said: Sequence[Word], kind: SentenceKind) -> Iterator[Sequence[Word]]:
        """Yield the parts of a clause that are read alone.

        A word such as and parts a clause only if what is before it is no claim: behind an honest word, and
        in answers to questions.
        """
        start = 0
        while start < len(said) - 1 and said[start].plain in self.joins:
            start += 1
        while start < len(said):
            rest = said[start:]
            yield rest
            from_word = 1 if kind is SentenceKind.QUESTION else self.readers[0].count_until_honest(rest) + 1
            later = range(start + from_word, len(said))
            joined = next((index for index in later if said[index].plain in self.joins), len(said))
            start = joined + 1

    def _is_offer(self, text: str) -> bool:
        """Return whether a sentence asks for permission to do what was asked for."""
        if not text.rstrip().endswith(QUESTION_MARKS):
            return False
        said = _words_of(text)
        return any(reader.is_offer(said) for reader in self.readers)

    def _parts(self, text: str) -> Iterator[str]:
        """Yield the parts of a sentence without words that make them no claim."""
        for clause in _clauses_of(text):
            for said in self._joined(clause.words):
                if said and self.readers[0].count_until_honest(said) == len(said):
                    yield " ".join(word.plain for word in said)

    def _states(self, text: str, *, is_ahead: bool) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a sentence that may be compared with states.

        Of what is to come the beginning counts, up to a word such as "when".
        """
        parts = [said for clause in _clauses_of(text) for said in self._joined(clause.words) if said]
        if any(self.readers[0].excepts(said) for said in parts):
            return
        for said in parts:
            until = self.readers[0].count_until_honest(said, but_already=True)
            if until == len(said) or (is_ahead and until):
                is_going = any(reader.is_going(said[:until]) for reader in self.readers)
                yield " ".join(word.plain for word in said[:until]), is_going


def _words_of(text: str) -> list[Word]:
    return [word for clause in clauses(text) for word in clause.words]


def _clauses_of(text: str) -> Iterator[_Clause]:
    """Yield the clauses of a sentence."""
    clause, word = _Clause(0), ""
    for index, char in enumerate(f"{text} "):
        if is_word(char):
            word += char
            continue
        if word:
            clause.words.append(Word(plain(word), fold(word)))
            word = ""
        if char in BREAKS or char in ENDS:
            yield clause
            clause = _Clause(index + 1)
    yield clause


@cache
def _readers(language: str) -> tuple[tuple[SpacedReader, ...], bool]:
    """Return the readers of answers, and whether the answers may be in any language.

    Models change to English now and then. Of a language that is not known the words of all others count.
    """
    own = find(language)
    if own is None:
        names = [name for name in languages_with("claims") if name not in script_languages()]
        return tuple(map(spaced_reader, names)), True
    names = [DEFAULT] if own in script_languages() else list(dict.fromkeys((own, DEFAULT)))
    return tuple(map(spaced_reader, names)), False
