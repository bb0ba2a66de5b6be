"""Claims held against what was called: words that say that something was done are let out only if it was.

An answer is read word by word as it streams. Words are held back only while they may be the beginning of such
a claim; what begins in another way passes at once.
"""

# ruff: noqa: RUF001 - marks of many languages
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from .patterns import Matcher, grammar
from .sentence_kind import WORDS, Kind, fold, kind_of

CHECKED_CHARS: Final = 400
"""Where in an answer any claim may begin; later only one that says that the agent did something."""
LATE_CHARS: Final = 4000
"""Where in an answer nothing is looked for any more."""
MAX_HELD: Final = 120
"""Characters held back while a clause may become a claim."""
MAX_SENTENCE: Final = 400
MAX_KEPT: Final = 2000

ENDS: Final = frozenset(".!?…\n")
BREAKS: Final = frozenset(',;:–—()"“”„«»')
APOSTROPHES: Final = frozenset("'’-")


class _Mode(Enum):
    """What is done with the words that come."""

    LET = auto()
    HOLD = auto()
    CLAIM = auto()
    """A claim was made; the rest of its sentence tells whether it was meant for now."""
    DROP = auto()


class ClaimGate:
    """Lets an answer through, but for claims with nothing behind them and what follows them.

    `is_backed` is asked while words are held back: once a call is behind them, all of them pass at once.
    What comes out does not depend on how the answer was cut.
    """

    def __init__(self, sentence: str, language: str, is_backed: Callable[[Kind], bool]) -> None:
        """Begin an answer to a sentence."""
        self._language = language
        self._kind = kind_of(sentence, language)
        self._is_backed = is_backed
        self._rules = grammar(language, self._kind)
        self._matcher = Matcher(self._rules)
        self._mode = _Mode.LET if self._kind is Kind.STORY else _Mode.HOLD
        self._open = self._kind is not Kind.STORY
        self._held = ""
        self._word = ""
        self._seen = 0
        self._late = False
        self.text = ""
        """The answer as it came."""
        self.has_calls = False
        """Whether calls come with the answer: then its claims are early, and are only left out."""

    @property
    def unbacked(self) -> bool:
        """Return whether a claim was kept back that no call has come for."""
        return self._mode is _Mode.DROP and not self.has_calls

    def feed(self, text: str) -> str:
        """Take the next piece of the answer and return what may be said of it by now."""
        self.text = (self.text + text)[:MAX_KEPT]
        if self._mode is _Mode.DROP:
            return ""
        if self._open and self._mode is not _Mode.LET and self._is_backed(self._kind):
            self._open = False
            return self._release() + text
        if not self._open:
            return text
        out = "".join(self._take(char) for char in text)
        if self._mode is _Mode.HOLD and self._word and not self._matcher.may_take(fold(self._word)):
            out += self._release()
        return out

    def finish(self) -> str:
        """Return what was held back without need; the answer has ended."""
        if self._mode is _Mode.DROP or not self._open:
            return ""
        out = self._end_word()
        if self._mode is _Mode.HOLD and self._matcher.end(full_stop=True):
            self._mode = _Mode.CLAIM
        if self._mode is _Mode.CLAIM:
            return out + self._judge("")
        return out + self._release()

    def _take(self, char: str) -> str:
        """Take one character."""
        if self._mode is _Mode.DROP:
            return ""
        self._seen += 1
        out = ""
        if char.isalnum() or (self._word and char in APOSTROPHES):
            self._word += char
        else:
            out = self._end_word()
        if self._mode is _Mode.LET:
            return out + char + self._after(char)
        self._held += char
        if self._mode is _Mode.HOLD and self._ends_claim(char):
            self._mode = _Mode.CLAIM
        if self._mode is _Mode.CLAIM:
            return out + (self._judge(char) if char in ENDS or len(self._held) > MAX_SENTENCE else "")
        return out + (self._after(char) if len(self._held) < MAX_HELD else self._release())

    def _ends_claim(self, char: str) -> bool:
        """Return whether a mark makes a claim of what stands before it."""
        return char in ENDS | BREAKS and self._matcher.end(full_stop=char in ENDS)

    def _after(self, char: str) -> str:
        """Begin a new clause behind a mark; what was held of the old one is let out."""
        if char not in ENDS and char not in BREAKS:
            return ""
        filler = self._mode is _Mode.HOLD and self._matcher.only_fillers
        out = "" if filler and self._kind is not Kind.QUESTION else self._release()
        if self._seen > CHECKED_CHARS:
            out += self._release()
            if self._seen > LATE_CHARS:
                self._open = False
                return out
            if not self._late:
                self._late, self._matcher = True, Matcher(grammar(self._language, Kind.QUESTION))
            filler = False
        self._mode = _Mode.HOLD
        self._matcher.restart(first=filler or char in ENDS)
        return out

    def _end_word(self) -> str:
        """Follow a word that is complete."""
        word, self._word = fold(self._word), ""
        if not word:
            return ""
        out = ""
        if self._mode is _Mode.HOLD:
            if self._matcher.step(word):
                self._mode = _Mode.CLAIM
            elif not self._matcher.alive:
                out = self._release()
        if self._mode is _Mode.LET and word in self._rules.joins and self._seen <= CHECKED_CHARS:
            self._mode = _Mode.HOLD
            self._matcher.restart(first=False)
        return out

    def _judge(self, end: str) -> str:
        """Decide about a claim whose sentence is complete."""
        words = {fold(word) for word in WORDS.findall(self._held)}
        asked = end == "?" and "," not in self._held
        if asked or words & self._rules.past or self._is_backed(self._kind):
            out = self._release()
            self._mode = _Mode.HOLD
            self._matcher.restart(first=True)
            return out
        self._mode, self._held = _Mode.DROP, ""
        return ""

    def _release(self) -> str:
        """Let out what was held back; the rest of the clause passes."""
        held, self._held = self._held, ""
        self._mode = _Mode.LET
        return held
