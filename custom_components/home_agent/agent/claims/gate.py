"""Claims compared with the actual calls: what is claimed or promised passes only if a call backs it.

An answer is read sentence by sentence as it streams. In answers to questions only what the assistant says of
its own actions is held back; other words are let out as they come.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from ...languages.lexicon import Word
from ...texts import fold, is_word, plain
from .kinds import SentenceKind
from .sentences import BREAKS, ENDS, Reading, SentenceReader

CHECKED_CHARS: Final = 400
"""Where in an answer any claim may begin; later only one that says that the assistant did something."""
LATE_CHARS: Final = 4000
"""The position in an answer after which claims are not looked for."""
MAX_SENTENCE: Final = 400
"""Characters of a sentence that are held back; then it is judged as it is."""
MAX_KEPT: Final = 2000


class HeldBack(Enum):
    """Why something was held back."""

    CLAIM = auto()
    """Nothing was done that backs it."""
    OFFER = auto()
    """It asks for permission to do what the person asked for."""


class ClaimGate:
    """Lets an answer through, except unproven claims and the text after them.

    `is_backed` is asked for each sentence that claims something. What comes out does not depend on how the
    answer was cut.
    """

    def __init__(
        self,
        sentence: str,
        language: str,
        is_backed: Callable[[Reading, SentenceKind], bool],
        *,
        refuses_offers: bool = False,
        is_whole: bool = False,
        has_tried: bool = False,
        reader: SentenceReader | None = None,
    ) -> None:
        """Begin an answer to a sentence; `reader` has read it already.

        `refuses_offers` holds back a first sentence that asks for permission. `is_whole` holds back the
        answer until its end, so that its last sentence may say what the first one left out. `has_tried` says
        that the model tried to change something and failed: then it did not take the sentence for a question.
        """
        self.reader = SentenceReader(sentence, language) if reader is None else reader
        self._wanted = self.reader.wanted
        if has_tried and self._wanted is SentenceKind.QUESTION:
            self._wanted = SentenceKind.REMARK
        self._is_backed = is_backed
        self._refuses_offers = refuses_offers and self._wanted is SentenceKind.ORDER
        self._is_whole = is_whole
        self._is_open = self._wanted is not SentenceKind.STORY
        """Whether claims are looked for."""
        self._kind = self._wanted
        """The sentences that count as claims; late in an answer, those that count after a question."""
        self._seen = 0
        self._out = ""
        self._held = ""
        self._sentence = ""
        self._word = ""
        self._words: list[Word] = []
        """The complete words of the clause, in answers to questions."""
        self._is_passing = False
        """Whether the clause, in answers to questions, is known to be no claim."""
        self._is_point = False
        """Whether the last character was a full stop."""
        self._dropped: HeldBack | None = None
        self.text = ""
        """The answer as it came."""
        self.has_calls = False
        """Whether calls come with the answer: then its claims are early, and are only left out."""

    @property
    def unbacked(self) -> HeldBack | None:
        """Return why something was kept back that no call has come for, if anything was."""
        return None if self.has_calls else self._dropped

    def feed(self, text: str) -> str:
        """Take the next piece of the answer and return the text that may be said by now."""
        self.text = (self.text + text)[:MAX_KEPT]
        if self._is_whole:
            self._held += text
            return ""
        return self._read(text)

    def _read(self, text: str) -> str:
        """Read a piece of the answer and return the text that may be said by now."""
        for index, char in enumerate(text):
            if self._dropped:
                break
            if not self._is_open:
                self._held += text[index:]
                break
            self._take(char)
        if not self._is_open or self._may_pass():
            self._release()
        return self._take_out()

    def finish(self) -> str:
        """Return the text that was held back without need, at the end of the answer."""
        out = ""
        if self._is_whole:
            text, self._held, self._is_whole = self._held, "", False
            out = self._read(text)
        if self._is_open and not self._dropped:
            self._end_sentence()
        self._release()
        return out + self._take_out()

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
        if self._is_point and not is_word(char):
            self._end_sentence()
        self._is_point = char == "."
        if self._dropped or not self._is_open:
            self._held += "" if self._dropped else char
            return
        self._held += char
        self._sentence += char
        self._seen += 1
        if self._kind is SentenceKind.QUESTION:
            self._follow(char)
        if char in ENDS or len(self._sentence) > MAX_SENTENCE:
            self._end_sentence()

    def _follow(self, char: str) -> None:
        """Release the clauses of an answer to a question that do not begin with the assistant's action."""
        if is_word(char):
            self._word += char
            return
        if self._word:
            self._end_word()
        if self._is_passing:
            self._release()
        if char in BREAKS:
            self._start_clause()

    def _end_word(self) -> None:
        """Follow a word that is complete."""
        word, self._word = Word(plain(self._word), fold(self._word)), ""
        if not self._is_passing:
            self._words.append(word)
            self._is_passing = not self.reader.begins(self._words, "")
        elif word.plain in self.reader.joins:
            self._release()
            self._start_clause()

    def _start_clause(self) -> None:
        """Begin a clause of an answer to a question."""
        self._words, self._is_passing = [], False

    def _may_pass(self) -> bool:
        """Return whether the word that is not complete rules a claim out."""
        if self._kind is not SentenceKind.QUESTION or self._dropped:
            return False
        return self._is_passing or (
            bool(self._word) and not self._words and not self.reader.begins((), self._word)
        )

    def _end_sentence(self) -> None:
        """Judge a sentence that has ended, and begin another one."""
        sentence, self._sentence = self._sentence, ""
        self._word = ""
        self._start_clause()
        if any(map(is_word, sentence)):
            self._judge(sentence)
        if self._dropped:
            self._held = ""
            return
        self._release()
        if self._seen > CHECKED_CHARS:
            self._kind = SentenceKind.QUESTION
        if self._seen > LATE_CHARS:
            self._is_open = False

    def _judge(self, sentence: str) -> None:
        """Drop a sentence that claims what is not so, or that asks before doing what was asked for."""
        reading = self.reader.read(sentence, self._kind)
        if reading.is_offer and self._refuses_offers:
            self._dropped = HeldBack.OFFER
        elif reading.claims and not self._is_backed(reading, self._wanted):
            self._dropped = HeldBack.CLAIM
        if self._refuses_offers and self.reader.tells_failure(sentence):
            self._refuses_offers = False
