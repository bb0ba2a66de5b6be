"""Error messages of a server without quotes, because requests contain private conversations."""

import re
from typing import Final

from ..regex import lazy_regex

GRAM: Final = 12
"""Consecutive letters and digits that count as a quote if the conversation contains them too."""
DENSE_GRAM: Final = 3
"""The same for scripts that write a word with one or two characters."""
LEAST_WORD: Final = 3
"""Letters of the shortest word of the sentence that is removed on its own."""
CUT: Final = "…"

_ESCAPE: Final = lazy_regex(r"\\u([0-9a-fA-F]{4})|\\[nrtbf\"/\\]")
_QUOTED: Final = lazy_regex(
    r"\{.*\}|\[.*\]|(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|`[^`]*`|“[^”]*(?:”|$)|„[^“”]*(?:[“”]|$)|«[^»]*(?:»|$)|[{\[].*$|(?<!\w)[\"`'][^\"`']*$",
    re.DOTALL,
)
_IDENTIFIER: Final = lazy_regex(r"(?=[^\W]{0,64}[\d_./:-])[A-Za-z0-9_./:-]{1,64}")
_DENSE: Final = lazy_regex(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_WORD: Final = lazy_regex(r"\w+")


def without_quotes(words: str, conversation: str, sentence: str = "") -> str:
    """Return a server's message without quoted text and without text from the conversation.

    The conversation may be JSON. Names of models and of parameters stay where they are no words.
    """
    words = _QUOTED.sub(_shortened, _unescaped(words))
    kept = [True] * len(words)
    places = [index for index, character in enumerate(words) if character.isalnum()]
    letters = "".join(words[index].casefold()[:1] for index in places)
    said = _letters(f"{_unescaped(conversation)} {sentence}")
    size = DENSE_GRAM if _DENSE.search(words) else GRAM
    for start in range(len(letters) - size + 1):
        if letters[start : start + size] in said:
            for index in range(places[start], places[start + size - 1] + 1):
                kept[index] = False
    spoken = {word for word in _WORD.findall(sentence.casefold()) if len(word) >= LEAST_WORD}
    for found in _WORD.finditer(words):
        if found[0].casefold() in spoken or not all(kept[found.start() : found.end()]):
            kept[found.start() : found.end()] = [False] * (found.end() - found.start())
    return _joined(words, kept)


def _joined(words: str, kept: list[bool]) -> str:
    out: list[str] = []
    for character, keep in zip(words, kept, strict=True):
        if keep:
            out.append(character)
        elif not out or out[-1] != CUT:
            out.append(CUT)
    return " ".join("".join(out).split())


def _shortened(quoted: re.Match[str]) -> str:
    """Return a placeholder for quoted text; the name of a model or a parameter is kept."""
    text = quoted[0]
    return text if _IDENTIFIER.fullmatch(text[1:-1]) else CUT


def _unescaped(text: str) -> str:
    """Return a text without JSON's escapes."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)


def _letters(text: str) -> str:
    return "".join(character.casefold()[:1] for character in text if character.isalnum())
