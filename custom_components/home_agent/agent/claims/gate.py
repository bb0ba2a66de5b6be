"""Claims compared with the actual calls: words that claim an action pass only if it was performed.

An answer is read clause by clause as it streams. A clause is held back until it ends or can be no claim any
more. After a claim the sentence is held until it ends, because its end may say that it was meant otherwise.
"""

# ruff: noqa: RUF001 - marks of many languages
from collections.abc import Callable
from typing import Final

from ...languages import DEFAULT, find, languages_with
from ...languages.lexicon import Word, clauses
from ...texts import fold, is_word, plain
from .scripts import script_languages, script_of
from .wording import MAX_WORDS, SentenceKind, SpacedReader, kind_of, spaced_reader

CHECKED_CHARS: Final = 400
"""Where in an answer any claim may begin; later only one that says that the assistant did something."""
LATE_CHARS: Final = 4000
"""The position in an answer after which claims are not looked for."""
MAX_HELD: Final = 120
"""Characters held back while a clause may become a claim."""
MAX_SENTENCE: Final = 400
MAX_KEPT: Final = 2000

ENDS: Final = frozenset("!?…\n。．！？")
"""Marks that end a sentence. A full stop does too, unless a letter or digit follows."""
BREAKS: Final = frozenset(',;:–—()"“”„«»')


class ClaimGate:
    """Lets an answer through, except unproven claims and the text after them.

    `is_backed` is asked while words are held back: once a call is behind them, all of them pass at once.
    What comes out does not depend on how the answer was cut.
    """

    def __init__(self, sentence: str, language: str, is_backed: Callable[[SentenceKind], bool]) -> None:
        """Begin an answer to a sentence."""
        self._script = script_of(sentence, language)
        self._readers, self._is_any = _readers(language)
        self._wanted = self._script.kind_of(sentence) if self._script else kind_of(sentence, language)
        self._is_backed = is_backed
        self._is_open = self._wanted is not SentenceKind.STORY
        """Whether claims are looked for."""
        self._kind = self._wanted
        """The sentences that count as claims; late in an answer, those that count after a question."""
        self._seen = 0
        self._out = ""
        self._held = ""
        self._clause = ""
        self._word = ""
        self._words: list[Word] = []
        """The complete words of the clause."""
        self._begins_sentence = True
        self._is_passing = False
        """Whether the clause is known to be no claim."""
        self._is_claimed = False
        """Whether a claim was made; the rest of its sentence tells whether it concerns the present."""
        self._claimed_in: SpacedReader | None = None
        """The language of the claim, if it has words for earlier times."""
        self._is_point = False
        """Whether the last character was a full stop."""
        self._is_dropped = False
        self.text = ""
        """The answer as it came."""
        self.has_calls = False
        """Whether calls come with the answer: then its claims are early, and are only left out."""

    @property
    def unbacked(self) -> bool:
        """Return whether a claim was kept back that no call has come for."""
        return self._is_dropped and not self.has_calls

    def feed(self, text: str) -> str:
        """Take the next piece of the answer and return the text that may be said by now."""
        self.text = (self.text + text)[:MAX_KEPT]
        if self._is_open and not self._is_passing and self._is_backed(self._wanted):
            self._is_open = False
        for index, char in enumerate(text):
            if not self._is_open and not self._is_dropped:
                self._held += text[index:]
                break
            self._take(char)
        if self._word and not self._is_passing and not self._may_begin():
            self._is_passing = True
        if self._is_passing or not self._is_open:
            self._release()
        return self._take_out()

    def finish(self) -> str:
        """Return the text that was held back without need, at the end of the answer."""
        if self._is_open and not self._is_dropped:
            self._end_word()
            self._end_clause(is_end=True)
        self._release()
        return self._take_out()

    def _take_out(self) -> str:
        """Return the text that may be said."""
        out, self._out = self._out, ""
        return out

    def _release(self) -> None:
        """Release the held text."""
        self._out += self._held
        self._held = ""

    def _take(self, char: str) -> None:
        """Take one character."""
        if self._is_point and not is_word(char) and self._is_open:
            self._end_clause(is_end=True)
        self._is_point = char == "."
        if self._is_dropped:
            return
        self._held += char
        self._seen += 1
        if self._is_passing and self._seen > LATE_CHARS:
            self._is_open = False  # the next clause would begin too late, and this one may never end
            return
        if is_word(char):
            self._word += char
        else:
            self._end_word()
        self._clause += char
        if char in ENDS or (char in BREAKS and not self._script):
            self._end_clause(is_end=char in ENDS)
        elif self._is_claimed and len(self._held) > MAX_SENTENCE:
            self._judge()
        elif not self._is_claimed and len(self._held) > MAX_HELD:
            self._is_passing = True

    def _end_word(self) -> None:
        """Follow a word that is complete."""
        word, self._word = Word(plain(self._word), fold(self._word)), ""
        if not word.plain or self._is_claimed:
            return
        if not self._is_passing:
            self._words.append(word)
            if not self._may_be_claim():
                self._is_claimed = self._is_claim(is_whole=False)
                self._is_passing = not self._is_claimed
        elif word.plain in self._readers[0].joins:
            self._start_clause(begins_sentence=False)

    def _may_begin(self) -> bool:
        """Return whether a word that is not complete may begin a claim."""
        if self._kind is not SentenceKind.QUESTION or self._script or self._words:
            return True
        beginning = plain(self._word)
        return any(reader.may_begin(beginning) for reader in self._readers)

    def _may_be_claim(self) -> bool:
        """Return whether the words of the clause may become a claim."""
        if self._script:
            return True
        if len(self._words) > MAX_WORDS or len(self._words) not in self._limits(is_whole=False):
            return False
        if self._kind is not SentenceKind.QUESTION:
            return True
        return any(reader.begins(self._words) for reader in self._readers)

    def _limits(self, *, is_whole: bool) -> list[int]:
        """Return how many words of the clause each reader takes into account.

        English beside another language: a clause that is not a claim in that language is not one in English
        either.
        """
        limits = [reader.count_until_honest(self._words, is_whole=is_whole) for reader in self._readers]
        return limits if self._is_any else [min(limits[0], limit) for limit in limits]

    def _is_claim(self, *, is_whole: bool) -> bool:
        """Return whether the clause claims something; `is_whole` once it has ended."""
        if not self._words:
            return False
        for reader, limit in zip(self._readers, self._limits(is_whole=is_whole), strict=True):
            if reader.is_claim(
                self._words[:limit],
                self._kind,
                begins_sentence=self._begins_sentence,
                is_whole=is_whole and limit == len(self._words),
            ):
                self._claimed_in = reader
                return True
        self._claimed_in = None
        return self._script is not None and is_whole and self._script.is_claim(self._clause, self._kind)

    def _end_clause(self, *, is_end: bool) -> None:
        """Decide about a clause that has ended, and begin another one; `is_end` for the end of a sentence."""
        if not self._is_claimed and not self._is_passing:
            self._is_claimed = self._is_claim(is_whole=True)
        if self._is_claimed:
            if is_end:
                self._judge()
            return
        is_filler = not self._is_passing and self._readers[0].is_filler(self._words)
        is_kept = is_filler and self._kind is not SentenceKind.QUESTION
        self._start_clause(begins_sentence=is_end or (is_filler and self._begins_sentence), is_kept=is_kept)

    def _start_clause(self, *, begins_sentence: bool, is_kept: bool = False) -> None:
        """Begin a clause; the previous one is released, unless it is kept with this one."""
        if not is_kept:
            self._release()
        self._clause, self._words = "", []
        self._begins_sentence = begins_sentence
        self._is_passing = self._is_claimed = False
        if self._seen > CHECKED_CHARS:
            self._kind = SentenceKind.QUESTION
        if self._seen > LATE_CHARS:
            self._is_open = False

    def _judge(self) -> None:
        """Decide about a claim whose sentence is complete."""
        said = [word for clause in clauses(self._held) for word in clause.words]
        is_asked = self._clause.rstrip().endswith("?") and "," not in self._held
        is_earlier = self._claimed_in is not None and self._claimed_in.is_earlier(said)
        if is_asked or is_earlier or self._is_backed(self._wanted):
            self._start_clause(begins_sentence=True)
        else:
            self._is_dropped, self._held = True, ""


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
