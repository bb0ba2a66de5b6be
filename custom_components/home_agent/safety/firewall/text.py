"""Readable text: without disguises, and with the original position of each letter."""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
import re
from typing import Final
import unicodedata

from ...regex import lazy_regex

LOOKALIKES: Final = str.maketrans(
    # Cyrillic and Greek letters that look like Latin ones
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u0442\u043c\u043a\u043d\u0432\u04bb\u0433"
    "\u03b1\u03b5\u03bf\u03c1\u03c5\u03c7\u03b9\u03ba\u03bd\u03c4\u03b7\u03c9\u0261\u0269\u0131\u01c0\u2113\u212f\u1d0f\u0585\u0578",
    "aeopcyxijsdqtmkhbhraeopuxikvtnwgiilleoon",
)
"""Folded letters of other alphabets, by the Latin ones that they are taken for."""

_MARKUP: Final = lazy_regex(
    r"</?[a-zA-Z][^<>]{0,200}>|<!--|-->|[*_`~\u00ad]|^\s{0,3}(?:#{1,6}|>)\s", re.MULTILINE
)
_ENTITY: Final = lazy_regex(r"&(?:#x?[0-9a-fA-F]{1,6}|[a-z]{2,6});")
_WORD: Final = lazy_regex(r"[^\W\d_]+")
_LATIN: Final = lazy_regex(r"[a-z]")
_LOOKALIKE_WORD: Final = lazy_regex(f"[a-z{''.join(map(chr, LOOKALIKES))}]+")
_NAMED: Final = {
    "nbsp": " ",
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "quot": '"',
    "apos": "'",
    "shy": "",
    "zwnj": "",
}
_CONTROLS: Final = dict.fromkeys((*range(9), 11, 12, 13, *range(14, 32), 127), " ")
_TAG_LETTERS: Final = range(0xE0020, 0xE007F)


class Readable:
    """A text as it is read, folded, with the position of each character in the original."""

    __slots__ = ("_ends", "_starts", "text")

    def __init__(self, written: str, *, markup: bool = False) -> None:
        self._starts: list[int] | None = None
        if written.isascii() and (markup or not _MARKUP.search(written)) and not _ENTITY.search(written):
            self.text = written.translate(_CONTROLS).lower()
            return
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for start, end, shown in _shown(written, markup=markup):
            pieces.append(shown)
            starts.extend([start] * len(shown))
            ends.extend([end] * len(shown))
        self.text = _without_lookalikes("".join(pieces))
        self._starts, self._ends = starts, ends

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Return the position of a part of the readable text in the original."""
        if self._starts is None:
            return start, end
        return self._starts[start], self._ends[end - 1]


def _shown(written: str, *, markup: bool) -> Iterator[tuple[int, int, str]]:
    """Yield parts of the original with their readings: none, one character or several."""
    at = 0
    marks = sorted(
        [(found.start(), found.end(), "") for found in (() if markup else _MARKUP.finditer(written))]
        + [(found.start(), found.end(), _entity(found[0])) for found in _ENTITY.finditer(written)]
    )
    for start, end, shown in [*marks, (len(written), len(written), "")]:
        if start < at:
            continue
        for index in range(at, start):
            if plain := _plain(written[index]):
                yield index, index + 1, plain
        if shown:
            yield start, end, shown
        at = end


def _entity(entity: str) -> str:
    name = entity[1:-1]
    if not name.startswith("#"):
        return _NAMED.get(name, entity)
    with suppress(ValueError, OverflowError):
        return _plain(chr(int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])))
    return ""


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return a character folded; an empty string for invisible ones."""
    if "\uac00" <= char <= "\ud7af":
        return char
    if char.isascii():
        return char.lower() if char.isprintable() or char in "\n\t" else " " if char == "\r" else ""
    if ord(char) in _TAG_LETTERS:
        return chr(ord(char) - 0xE0000).lower()
    category = unicodedata.category(char)
    if category in {"Cf", "Cc", "Co", "Cs", "Mn", "Me"}:
        return ""
    if category in {"Zs", "Zl", "Zp"}:
        return "\n" if category != "Zs" else " "
    return "".join(
        part for part in unicodedata.normalize("NFKD", char.casefold()) if not unicodedata.combining(part)
    )


def _without_lookalikes(text: str) -> str:
    """Return text in which words that mix alphabets, or only seem Latin, are Latin; of the same length."""
    if text.isascii():
        return text
    mostly_latin = len(_LATIN.findall(text)) * 2 > sum(map(len, _WORD.findall(text)))

    def latin(found: re.Match[str]) -> str:
        word = found[0]
        if word.isascii():
            return word
        mixed = _LATIN.search(word) is not None
        return (
            word.translate(LOOKALIKES)
            if mixed or (mostly_latin and _LOOKALIKE_WORD.fullmatch(word))
            else word
        )

    return _WORD.sub(latin, text)
