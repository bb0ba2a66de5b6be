"""Claims in languages that are read sentence by sentence, behind what is read word by word."""

# ruff: noqa: RUF001 - marks of many languages
from collections.abc import Callable
from typing import Final, override

from ...regex import lazy
from .cjk import ALIASES, SCRIPTS, Script
from .gate import CHECKED_CHARS, MAX_HELD, ClaimGate
from .sentence_kind import Kind

ENDS: Final = frozenset("。．！？!?\n")
_LETTERS: Final = (
    ("ja", lazy(r"[\u3041-\u30ff]")),
    ("ko", lazy(r"[\uac00-\ud7a3]")),
    ("zh", lazy(r"[\u4e00-\u9fff]")),
)
_AROUND: Final = " \t\"'”’」』）)]…~〜,，、"
"""What may stand around a sentence and belongs to none."""


def claim_gate(sentence: str, language: str, is_backed: Callable[[Kind], bool]) -> ClaimGate:
    """Return what holds the claims of an answer against the calls."""
    script = _script_of(sentence, language)
    if script is None:
        return ClaimGate(sentence, language, is_backed)
    return ScriptGate(script, sentence, language, is_backed)


def _script_of(sentence: str, language: str) -> Script | None:
    """Return how a language is read, by its name, else by the letters of the sentence."""
    code = language.casefold().replace("_", "-").partition("-")[0]
    if found := SCRIPTS.get(ALIASES.get(code, code)):
        return found
    return next((SCRIPTS[name] for name, letters in _LETTERS if letters.search(sentence)), None)


class ScriptGate(ClaimGate):
    """Lets whole sentences through, but for claims with nothing behind them and what follows them.

    The verb stands last, so a sentence is held until it ends; at once passes what comes after a call.
    """

    def __init__(
        self, script: Script, sentence: str, language: str, is_backed: Callable[[Kind], bool]
    ) -> None:
        """Begin an answer to a sentence."""
        super().__init__(sentence, language, is_backed)
        self._script = script
        self._wanted = _kind(script, sentence)
        self._sentence = ""
        self._length = 0
        self._passing = self._wanted is Kind.STORY
        self._rest_passes = False
        self._dropped = False

    @property
    @override
    def unbacked(self) -> bool:
        """Return whether a claim was kept back that no call has come for."""
        return super().unbacked or (self._dropped and not self.has_calls)

    @override
    def feed(self, text: str) -> str:
        """Take the next piece of the answer and return what may be said of it by now."""
        return self._read(super().feed(text))

    @override
    def finish(self) -> str:
        """Return what was held back without need; the answer has ended."""
        out = self._read(super().finish())
        return out + self._end() if self._sentence else out

    def _read(self, text: str) -> str:
        """Take what passed word by word, and let out whole sentences of it."""
        if self._dropped:
            return ""
        if not self._passing and self._is_backed(self._wanted):
            self._passing = True
        if self._passing:
            held, self._sentence = self._sentence, ""
            return held + text
        return "".join(self._take_letter(char) for char in text)

    def _take_letter(self, char: str) -> str:
        """Take one character."""
        if self._dropped:
            return ""
        self._length += 1
        # A point ends a sentence where it stands behind a letter; behind a digit it is in a number.
        ends = char in ENDS or (char == "." and not self._sentence[-1:].isdigit())
        if self._rest_passes:
            self._rest_passes = not ends
            return char
        self._sentence += char
        if ends:
            return self._end()
        if len(self._sentence) > MAX_HELD:
            self._rest_passes = True
            return self._release_sentence()
        return ""

    def _end(self) -> str:
        """Let a sentence that is complete out, or drop it."""
        if not self._is_claim(self._sentence) or self._is_backed(self._wanted):
            return self._release_sentence()
        self._dropped, self._sentence = True, ""
        return ""

    def _is_claim(self, sentence: str) -> bool:
        """Return whether a sentence says that something was done."""
        text = sentence.strip(_AROUND)
        if text.endswith(("?", "？")):
            return False
        text = text.rstrip("。．.！!\n").strip(_AROUND)
        if self._script.never.search(text):
            return False
        late = self._length > CHECKED_CHARS
        return bool(self._script.claims.search(text)) or (
            self._wanted is Kind.ORDER and not late and bool(self._script.results.search(text))
        )

    def _release_sentence(self) -> str:
        """Let out what was held back."""
        held, self._sentence = self._sentence, ""
        return held


def _kind(script: Script, sentence: str) -> Kind:
    """Return what a sentence wants."""
    if script.stories.search(sentence):
        return Kind.STORY
    return Kind.QUESTION if script.questions.search(sentence) else Kind.ORDER
