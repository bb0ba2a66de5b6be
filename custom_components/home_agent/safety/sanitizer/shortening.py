"""A text or JSON without the sentences that a reader outside the home does not receive."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
import re
from typing import Any, Final

from ...memory.words import STEM
from ...regex import lazy_regex
from ...texts import fold_letters, words

LEFT_OUT: Final = "(left out)"
ALIKE: Final = 0.6
"""Share of the words of something untold from which a sentence tells it."""
SHORTEST: Final = 3
MAX_DEPTH: Final = 10

MEMORIES: Final = "what is remembered"
STATES: Final = "states of the house"
PRIVATE: Final = "private words"

_SENTENCE: Final = lazy_regex(r".+?(?:(?<![.!?;])[.!?;]++(?=\s|$)|[\u3002\uff01\uff1f]+|\n|$)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """Content that is withheld from a reader, in whatever words."""

    texts: Iterable[str] = ()
    """Memories: a sentence with most of the words of one is removed."""
    names: Iterable[str] = ()
    """Names of entities whose states stay at home: a sentence that contains one is removed."""


@dataclass(slots=True)
class Shortener:
    """Leaves sentences out, and changes words in those that stay."""

    untold: Untold
    said: str
    """What the person has just said is the person's to send."""
    sanitize: Callable[[str], str | None]
    """Returns a sentence as it may leave; None if it may not."""
    found: set[str] = field(default_factory=set)
    _telling: list[set[str]] = field(init=False)
    _names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Take the words of withheld content, without those that the person has just said."""
        said = _stems(self.said)
        told = (_stems(text) - said for text in self.untold.texts)
        self._telling = [stems for stems in told if stems]
        self._names = [fold_letters(name) for name in self.untold.names if len(name) > SHORTEST]

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return JSON with each of its texts as it may be read."""
        if isinstance(value, str):
            return self.text(value)
        if depth >= MAX_DEPTH:
            return LEFT_OUT
        if isinstance(value, dict):
            return {self.text(key): self._field(key, item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        return value

    def text(self, text: str) -> str:
        """Return a text without the sentences that tell too much."""
        return "".join(map(self._sentence, _SENTENCE.findall(text))).strip()

    def _field(self, key: str, item: Any, depth: int) -> Any:
        """Return a field; key and value tell something together: "diet": "vegetarian"."""
        if isinstance(item, str | int | float) and self._is_untold(f"{key} {item}"):
            return LEFT_OUT
        return self.value(item, depth)

    def _sentence(self, sentence: str) -> str:
        """Return a sentence as it may leave, with the white space that follows it."""
        if self._is_untold(sentence):
            return f"{LEFT_OUT} "
        bare = sentence.strip()
        cleaned = self.sanitize(bare) if bare else bare
        if cleaned == bare:
            return sentence
        self.found.add(PRIVATE)
        return f"{LEFT_OUT} " if cleaned is None else sentence.replace(bare, cleaned)

    def _is_untold(self, sentence: str) -> bool:
        """Return whether a sentence tells withheld content, and record what that is."""
        stems, folded = _stems(sentence), fold_letters(sentence)
        if any(len(stems & told) >= ALIKE * len(told) for told in self._telling):
            self.found.add(MEMORIES)
            return True
        if any(name in folded for name in self._names):
            self.found.add(STATES)
            return True
        return False


def _stems(text: str) -> set[str]:
    return {
        word[:STEM]
        for word in words(text)
        if len(word) >= SHORTEST or not word.isascii() or any(char.isdigit() for char in word)
    }
