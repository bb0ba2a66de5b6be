"""Find the words of a language's tables in a sentence."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
import re
from typing import Final, NamedTuple

from ..texts import fold, is_unspaced, is_word, plain, word_spans
from . import languages, words

COMMAS: Final = frozenset(",，、")  # noqa: RUF001 - other scripts' own
ENDS: Final = frozenset(".!?;:…。！？؟")  # noqa: RUF001 - other scripts' own
QUESTION_MARKS: Final = frozenset("?？؟")  # noqa: RUF001 - other scripts' own
APOSTROPHES: Final = frozenset("'’")  # noqa: RUF001 - they look like others
SHORT_FOR_GRAVE: Final = frozenset("e")
"""Words that people write with an apostrophe for an accent: Italian `e'` is not `e`."""
ANY_ENDING: Final = "*"


class Word(NamedTuple):
    """A word of a sentence or of a table."""

    plain: str
    """With its accents."""
    folded: str
    """Without them."""
    starts: bool = False
    """Whether a comma precedes the word."""


class Clause(NamedTuple):
    """The words up to a full stop, a question mark or the like."""

    words: tuple[Word, ...]
    is_asked: bool
    """Whether a question mark ends it."""

    @property
    def joined(self) -> str:
        """Return the words without spaces, for languages that are written so."""
        return "".join(word.plain for word in self.words)


class Match(NamedTuple):
    """How much of a sentence an entry of a table covers; the larger one is the better reading."""

    words: int = 0
    letters: int = 0


type Matches = Mapping[str, Mapping[int, Match]]
"""By the name of a table: the best match at each word that has one."""


@lru_cache(maxsize=64)
def clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text that have any words."""
    result: list[Clause] = []
    said: list[Word] = []
    for piece, before in (*_pieces(text), (".", "")):
        if piece not in ENDS:
            said.append(_word(piece, starts=before in COMMAS))
        elif said:
            result.append(Clause(tuple(said), piece in QUESTION_MARKS))
            said = []
    return tuple(result)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    behind, before = 0, ""
    for start, end in (*word_spans(text), (len(text), len(text))):
        for index in range(behind, start):
            char = text[index]
            if char in ENDS and not (char in ":." and is_word(text[index + 1 : index + 2] or " ")):
                yield char, ""
            elif char in COMMAS:
                before = char
        if start == end:
            return
        word, behind = text[start:end], end
        is_grave = text[end : end + 1] in APOSTROPHES and word.casefold() in SHORT_FOR_GRAVE
        yield f"{word}'" if is_grave and not is_word(text[end + 1 : end + 2] or " ") else word, before
        before = ""


def _word(text: str, *, starts: bool = False) -> Word:
    mark = "'" if text.endswith("'") else ""
    return Word(plain(text) + mark, fold(text) + mark, starts)


class Lexicon:
    """The tables of a language, in one of which an entry is a word or a phrase; `*` stands for any ending.

    A word that is in some table with exactly its accents is only that one; else accents do not matter.
    """

    def __init__(self, tables: Mapping[str, Iterable[str]]) -> None:
        self._spellings: set[str] = set()
        self._beginnings: tuple[str, ...] = ()
        self._tables = tuple(tables)
        self._last: tuple[tuple[Word, ...], Matches] = ((), {name: {} for name in tables})
        """The words that were read last, and what was found in them: one clause is read many times."""
        self._by_first: dict[str, list[tuple[str, tuple[Word, ...]]]] = {}
        """The phrases by their first word, each with its table."""
        self._by_letter: dict[str, list[tuple[str, tuple[Word, ...]]]] = {}
        """Those whose first word may have any ending, by its first letter without accents."""
        for name, entries in tables.items():
            for entry in entries:
                self._add(self._read(entry), name)

    def _add(self, phrase: tuple[Word, ...], table: str) -> None:
        first = phrase[0]
        if first.plain.endswith(ANY_ENDING):
            self._by_letter.setdefault(first.folded[:1], []).append((table, phrase))
            return
        for spelling in {first.plain, first.folded}:
            self._by_first.setdefault(spelling, []).append((table, phrase))

    def _read(self, entry: str) -> tuple[Word, ...]:
        """Return the words of an entry; a star stays at the end of its word."""
        phrase = []
        for part in entry.split():
            ending = ANY_ENDING if part.endswith(ANY_ENDING) else ""
            inner = [piece for piece, _before in _pieces(part.removesuffix(ANY_ENDING))]
            for index, piece in enumerate(inner):
                word = _word(piece)
                mark = ending if index == len(inner) - 1 else ""
                phrase.append(Word(word.plain + mark, word.folded + mark))
                if mark:
                    self._beginnings += (word.plain,)
                else:
                    self._spellings.add(word.plain)
        return tuple(phrase)

    def matches(self, table: str, words: Sequence[Word]) -> Mapping[int, Match]:
        """Return the best match of a table at each word that has a match."""
        return self.all_matches(words).get(table, {})

    def all_matches(self, words: Sequence[Word]) -> Matches:
        """Return the best matches of each table."""
        said, last = tuple(words), self._last
        if last[0] != said:
            last = self._last = (said, self._found(said))
        return last[1]

    def _found(self, words: Sequence[Word]) -> Matches:
        matches: dict[str, dict[int, Match]] = {name: {} for name in self._tables}
        exact = [word.plain in self._spellings or word.plain.startswith(self._beginnings) for word in words]
        for index, word in enumerate(words):
            phrases = [*self._by_first.get(word.plain, ()), *self._by_letter.get(word.folded[:1], ())]
            if word.folded != word.plain:
                phrases += self._by_first.get(word.folded, ())
            letter = words[index + 1].folded[:1] if index + 1 < len(words) else None
            for table, phrase in phrases:
                if len(phrase) > 1 and phrase[1].folded[:1] != letter:
                    continue  # most phrases end here
                if len(words) - index < len(phrase):
                    continue
                letters = 0
                for at, wanted in enumerate(phrase, index):
                    entry, text = wanted.folded, words[at].folded
                    if exact[at]:
                        entry, text = wanted.plain, words[at].plain
                    if entry == text:
                        letters += len(entry)
                    elif entry.endswith(ANY_ENDING) and text.startswith(entry[:-1]):
                        letters += len(entry) - 1
                    else:
                        break
                else:
                    match = Match(len(phrase), letters)
                    matches[table][index] = max(match, matches[table].get(index, match))
        return matches


_BEGIN: Final = r"(?<!\w)(?=\w)"
_END: Final = r"(?!\w)"
GAP: Final = r"[^.!?\n\u3002\uff01\uff1f]"
"""A character between two words of one sentence."""
ANY_LETTERS: Final = r"\w*"
_PARTS: Final = {
    "*": ANY_LETTERS,
    " ": r",?[\s-]{1,4}",
    "-": r"[\s-]{1,4}",
    "'": r"['\u2019]?\s?",
    "ß": "(?:ß|ss)",
    "…": f"{GAP}{{0,30}}?",
}
NEVER: Final = r"(?!)"


@cache
def all_words(name: str) -> tuple[str, ...]:
    """Return the entries of a table in all languages."""
    return tuple(dict.fromkeys(entry for language in languages() for entry in words(language, name)))


def any_of(entries: Iterable[str], read: Callable[[str], str], *, whole_words: bool = True) -> str:
    """Return the source of a pattern that finds each of these entries in a text that `read` returned."""
    spaced: set[str] = set()
    unspaced: set[str] = set()
    for entry in entries:
        source = "".join(_PARTS.get(char, re.escape(char)) for char in read(entry))
        if whole_words and not is_unspaced(entry):
            spaced.add(source if entry.endswith(tuple("./")) else source + _END)
        else:
            unspaced.add(source)
    sources = [f"{_BEGIN}(?:{_either(spaced)})"] if spaced else []
    sources += [_either(unspaced)] if unspaced else []
    return f"(?:{'|'.join(sources)})" if unspaced else "".join(sources) or NEVER


def either(*sources: str) -> str:
    """Return the source of a pattern that finds any of these; the beginning of a word is looked for once."""
    joined = f"(?:{'|'.join(source for source in sources if not source.startswith(NEVER))})"
    return _BEGIN + joined if all(source.startswith((_BEGIN, NEVER)) for source in sources) else joined


def _either(sources: set[str]) -> str:
    """Return alternatives, longer ones first: a phrase must not be hidden by its beginning.

    What they begin with is written once, so that a pattern of many languages decides by the first letter.
    """
    by_start: dict[str, list[str]] = {}
    for source in sorted(sources, key=lambda source: (-len(source), source)):
        start = source[:3] if source.startswith(ANY_LETTERS) else source[0] if source[0].isalnum() else ""
        by_start.setdefault(start, []).append(source.removeprefix(start))
    return "|".join(
        start + (rest[0] if len(rest) == 1 else f"(?:{'|'.join(rest)})") for start, rest in by_start.items()
    )
