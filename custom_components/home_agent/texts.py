"""Texts: how they are compared, how those of others are shown, and how values that models write are read."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
import json
from math import isfinite
import re
from typing import Any, Final
import unicodedata

from .regex import lazy_regex

_SPECIAL: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th", "ß": "ss"}
)
"""Letters that normalisation leaves alone although people type them without the stroke."""
_DIACRITICS: Final = lazy_regex(
    "[\u0300-\u036f"  # of Latin, Greek and Cyrillic letters
    "\u0591-\u05c7"  # Hebrew points
    "\u064b-\u065f"  # Arabic vowels and hamzas
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
"""Marks that people leave out. Vowel signs of other scripts matter, and so do the voicing marks of kana."""

UNSPACED: Final = (
    "\u0e00-\u0e7f"  # Thai
    "\u0e80-\u0eff"  # Lao
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # kana
    "\u3400-\u9fff"  # Han
    "\uac00-\ud7af"  # Hangul, whose particles hang on the word
    "\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts that put no space between words; their text is taken in pairs of characters."""

_NO_WORD: Final = lazy_regex("[^a-z0-9]+")
_UNSPACED_RUNS: Final = lazy_regex(rf"[{UNSPACED}]+|[^{UNSPACED}]+")
_UNSPACED: Final = lazy_regex(rf"[{UNSPACED}]")
_ENCLITIC: Final = lazy_regex(r"(?i)(?<=\w)['\u2019](?:[a-z]|re|ve|ll)(?!\w)")
_NUMBERED: Final = lazy_regex(r"([^\W\d_]{2,})(\d+)")
_BREAKS: Final = lazy_regex(r"[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+")
MANY_MARKS: Final = "\u0591"
"""The first letter of the scripts with marks of their own; before it there are Latin, Greek and Cyrillic."""
_WORD: Final = lazy_regex(r"(?:[^\W_]|[\u0300-\u036f\u0483-\u0489])+")
"""A word of these three, with the marks that they combine with."""
_JOINERS: Final = frozenset("\u200c\u200d")
"""Zero-width characters that some scripts and emoji need."""


@lru_cache(maxsize=16384)
def fold(text: str) -> str:
    """Return text without case, accents and punctuation, words parted by one space."""
    folded = fold_letters(text)
    return _NO_WORD.sub(" ", folded).strip() if folded.isascii() else _spaced(folded)


def fold_letters(text: str) -> str:
    """Return text without case, accents and width, with its punctuation and its spaces."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold().translate(_SPECIAL))
    return unicodedata.normalize("NFC", _DIACRITICS.sub("", parts))


def plain(text: str) -> str:
    """Return text without case and punctuation but with its accents, words parted by one space."""
    return _spaced(text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold()))


def _spaced(text: str) -> str:
    """Return text in which one space replaces all characters that are not part of a word."""
    if text.isalnum():
        return text
    if max(text, default="") < MANY_MARKS:
        return " ".join(_WORD.findall(text))
    return " ".join("".join(char if is_word(char) else " " for char in text).split())


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each word of a text begins and ends."""
    if max(text, default="") < MANY_MARKS:
        yield from (match.span() for match in _WORD.finditer(text))
        return
    start = None
    for index, char in enumerate(text):
        if not is_word(char):
            if start is not None:
                yield start, index
            start = None
        elif start is None:
            start = index
    if start is not None:
        yield start, len(text)


def is_word(char: str) -> bool:
    """Return whether a character is part of a word, as vowel signs of Indic scripts are."""
    return char.isalnum() or (not char.isascii() and unicodedata.category(char)[0] == "M")


def is_unspaced(text: str) -> bool:
    """Return whether a text has letters of a script that puts no spaces between words."""
    return bool(_UNSPACED.search(text))


def words(text: str) -> list[str]:
    """Split text into folded words; runs of unspaced script become pairs of characters.

    A number at the end of a word is a word of its own. What follows an apostrophe at the end of a word
    belongs to it and is left out: "Mia's" is "mia", "what's" is "what".
    """
    pieces: list[str] = []
    for word in fold(_ENCLITIC.sub("", text)).split():
        if is_unspaced(word):
            for run in _UNSPACED_RUNS.findall(word):
                pieces.extend(pairs(run) if _UNSPACED.match(run) else [run])
        elif numbered := _NUMBERED.fullmatch(word):
            pieces.extend(numbered.groups())
        else:
            pieces.append(word)
    return pieces


def pairs(run: str) -> Sequence[str]:
    """Return the overlapping pairs of characters of a run, or the run if it is one character."""
    return [run[index : index + 2] for index in range(len(run) - 1)] or [run]


def leaves(value: Any, *, keys: bool = False) -> Iterator[Any]:
    """Yield the values in nested mappings and lists, in order; with `keys`, the keys as well."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):  # most are, and the other checks take longer
            yield item
        elif isinstance(item, Mapping):
            for key, inner in reversed(list(item.items())):
                waiting += (inner, key) if keys else (inner,)
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += reversed(list(item))
        else:
            yield item


def cut(text: str, limit: int) -> str:
    """Return text of at most `limit` characters; what is cut ends with an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def one_line(text: str, limit: int = 200) -> str:
    """Return text on one line of at most `limit` characters."""
    return cut(" ".join(text.split()), limit)


def clean(text: str, limit: int = 80) -> str:
    """Return text that someone else wrote as one harmless line of at most `limit` characters.

    Line breaks and control characters become spaces, invisible characters go, back-ticks become
    apostrophes. What is cut ends with an ellipsis.
    """
    line = visible(text).replace("`", "'")
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def visible(text: str) -> str:
    """Return text on one line as people see it: without control characters and invisible ones."""
    line = _BREAKS.sub(" ", text)
    if not line.isascii():
        line = "".join(
            char for char in line if char in _JOINERS or unicodedata.category(char) not in {"Cf", "Co", "Cs"}
        )
    return line.strip()


def first_name(name: str) -> str:
    """Return the first word of a person's name; Home Assistant accepts a name that is empty or blank."""
    return next(iter(name.split()), "")


def quoted(text: str, limit: int = 80) -> str:
    """Return cleaned text in double quotes that nothing inside can close."""
    return '"' + clean(text, limit).replace("\\", "/").replace('"', "'") + '"'


def as_number(text: str) -> float | None:
    """Return a finite number; None for anything else, such as a state that is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


_TAGS: Final = "img|image|picture|source|video|audio|track|iframe|frame|object|embed|svg|input|link|style|ha-"
_EMBED: Final = lazy_regex(rf"!(?=\[)|<(?=(?:{_TAGS}))", re.IGNORECASE)
_BEGINS: Final = lazy_regex(r"(?:!|<[a-z-]{0,7})\Z", re.IGNORECASE)
"""What may become an embed with what comes next."""
_MARK: Final = lazy_regex(r"[\\`*_~\[\]{}<>&|]|:(?=//)|(?<=\bwww)\.", re.IGNORECASE)
"""What markdown reads as a mark, and what makes a link of an address."""


def literal(text: str) -> str:
    """Return markdown that shows a text of one line exactly as it is."""
    return _MARK.sub(r"\\\g<0>", text)


def without_embeds(text: str) -> str:
    """Return markdown that shows no pictures: a gap makes a link of them, and of tags words."""
    return _EMBED.sub(r"\g<0> ", text) if "![" in text or "<" in text else text


class EmbedFilter:
    """Does the same to a text that comes in pieces; the result does not depend on how it was cut."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """Take the next piece and return the text that is certain by now."""
        text = self._held + text
        begins = None if final else _BEGINS.search(text)
        self._held = begins[0] if begins else ""
        return without_embeds(text.removesuffix(self._held))


MAX_CHARS: Final = 20_000
"""Longest text that is read as Python; the parser of Python needs far more memory than the text has."""

NAME_KEYS: Final = ("name", "function", "tool", "tool_name", "function_name", "recipient_name")
"""Under which a call in JSON names its tool."""
ARGUMENT_KEYS: Final = (
    *("arguments", "parameters", "args", "params", "kwargs", "input", "action_input", "tool_input"),
)
"""Under which a call in JSON holds its arguments."""


def parsed(text: str) -> Any:
    """Return the value of a text in JSON or Python notation, or the text itself if it has neither."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) <= MAX_CHARS:
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return ast.literal_eval(text)
    return text


def opened(value: Any) -> Any:
    """Return the object or list that a text represents; any other value as it is."""
    is_opened = isinstance(value, str) and value.lstrip()[:1] in ("{", "[", "(")
    return parsed(value) if is_opened else value


_QUOTES: Final = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'"})
_TOKENS: Final = lazy_regex(
    r"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')|(?<![\w.])(true|false|null|undefined)(?!\w)"""
    r"""|([{,]\s{0,20})([A-Za-z_]\w{0,60})(?=\s{0,20}:)"""
)
_PYTHON: Final = {"true": "True", "false": "False", "null": "None", "undefined": "None"}
_FENCED: Final = lazy_regex(r"\s*`{3,9}[\w+-]{0,20}\s(.*?)\s?`{3,9}\s*", re.DOTALL)
_AFTER: Final = lazy_regex(r"[\s}\])`;,]*(?:<[|/]?[\w|]{1,40}>[\s}\])`;,]*)*")
_BY_NAME: Final = lazy_regex(r"\s*[A-Za-z_]\w{0,60}\s{0,9}=(?!=)")


def read_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call from almost right JSON, Python or `name=value`; None if unreadable.

    Nothing is guessed: what was cut off stays unreadable.
    """
    found = parsed(text)
    if isinstance(found, str) and found != text:
        found = parsed(found)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if isinstance(found, dict):
        return found
    if len(text) > MAX_CHARS:
        return None
    body = fenced[1] if (fenced := _FENCED.fullmatch(text)) else text
    for attempt in dict.fromkeys((body, body.translate(_QUOTES))):
        for reader in (_first_object, _as_python, _by_name):
            if isinstance(value := reader(attempt.strip()), dict):
                return {str(key): item for key, item in value.items()}
    return None


def _first_object(text: str) -> Any:
    """Return the JSON at the beginning of a text that has only brackets and marks behind it."""
    with suppress(ValueError, RecursionError):
        value, end = json.JSONDecoder().raw_decode(text)
        if _AFTER.fullmatch(text, end):
            return value
    return None


def _as_python(text: str) -> Any:
    def write(found: re.Match[str]) -> str:
        if found[2]:
            return _PYTHON[found[2]]
        return f"{found[3]}'{found[4]}'" if found[4] else found[1]

    return parsed(_TOKENS.sub(write, text)) if text[:1] == "{" else None


def _by_name(text: str) -> dict[str, Any] | None:
    if not _BY_NAME.match(text):
        return None
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        node = ast.parse(f"f({text})", mode="eval").body
        if isinstance(node, ast.Call) and not node.args and all(key.arg for key in node.keywords):
            return {str(key.arg): ast.literal_eval(key.value) for key in node.keywords}
    return None
