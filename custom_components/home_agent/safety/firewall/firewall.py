"""The firewall: instructions that steer a model are removed from texts from outside.

It is the outer wall only, and a wall of patterns has holes. The inner one is `taint.py` with the policy.
"""

import base64
import binascii
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
import re
from typing import Any, Final
from urllib.parse import unquote

from ...memory.sentences import negations
from ...regex import lazy_regex
from ...texts import leaves
from .rules import CALLS, TOKENS, named_calls, rules_for, says_backwards
from .text import Readable, spaced_out

MARK: Final = "[removed]"
MAX_CHARS: Final = 20_000
"""Characters read of all strings together; unread text is removed."""
MAX_DEPTH: Final = 30
MAX_KEPT: Final = 120
"""Characters of the removed text that are reported."""
SHORT: Final = 90
"""A text up to this length is an order if it reads like one: a title, an entry of a list."""
MAX_DECODED: Final = 4_000

_SENTENCE: Final = lazy_regex(r"[^.!?;\n\u3002\uff01\uff1f]*(?:[.!?;\n\u3002\uff01\uff1f]+[\"')\]]*|$)")
_PARAGRAPH_END: Final = lazy_regex(r"\n\s*\n")
_ADDRESS: Final = lazy_regex(r"(?:https?://|www\.)\S+|[\d\s.,:/+-]*", re.IGNORECASE)
_LEAKY_IMAGE: Final = lazy_regex(r"!\[[^\]]{0,200}\]\([^)\s]{0,300}[?&][^)\s]{0,60}=[^)]{0,300}\)")
_ATTRIBUTE: Final = lazy_regex(
    r"<[a-zA-Z][^<>]{0,60}?\s[\w-]+=([\"'])(?P<text>[^<>\"']{10,300})\1[^<>]{0,200}>"
)
_WORD: Final = lazy_regex(r"\w+")
_HIDDEN: Final = lazy_regex(r"[\U000e0020-\U000e007f]{3,}")
_SAYS_ROT13: Final = lazy_regex(r"rot.?13|caesar")
_ROT13: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")


@dataclass(frozen=True, slots=True)
class Removal:
    """Something that was removed."""

    rule: str
    text: str
    """Its beginning."""


@dataclass(slots=True)
class Cleaned:
    """A value without instructions that steer a model, and the removed ones."""

    value: Any
    found: list[Removal] = field(default_factory=list)


type Span = tuple[int, int, str]
"""The position of a match, and its rule."""


def clean(
    value: Any,
    only: Collection[str] | None = None,
    *,
    short: int = SHORT,
    others: Collection[str] = (),
) -> Cleaned:
    """Return a JSON value with its strings and keys cleaned; `only` limits that to these strings.

    A text of up to `short` characters that reads like an order is one. `others` are names of tools that are
    not the agents' own.
    """
    cleaner = _Cleaner(only, short, others)
    cleaned = cleaner.value(value)
    cleaned = cleaner.across(cleaned)
    return Cleaned(cleaned, cleaner.found)


class _Cleaner:
    """One pass over one value."""

    def __init__(self, only: Collection[str] | None, short: int, others: Collection[str]) -> None:
        """Start with nothing found."""
        self._others = others
        self.found: list[Removal] = []
        self._short = short
        self._only = None if only is None else frozenset(only)
        self._left = MAX_CHARS

    def value(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        """Return a value with its strings cleaned one by one."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            if not depth or self._left <= 0:
                return MARK
            return {
                self._text(key) if isinstance(key, str) else key: self.value(item, depth - 1)
                for key, item in self._within(value.items())
            }
        if isinstance(value, list | tuple):
            return [self.value(item, depth - 1) for item in self._within(value)] if depth else MARK
        return value

    def _within[T](self, items: Iterable[T]) -> Iterator[T]:
        """Yield items while there is room."""
        for item in items:
            if self._left <= 0:
                return
            self._left -= 1
            yield item

    def _text(self, text: str) -> str:
        """Return one string cleaned, cut where the limit for reading is reached."""
        if self._only is not None and text not in self._only:
            return text
        whole = text[: max(0, self._left)]
        self._left -= len(text)
        found = [*spans(whole, short=self._short), *_calls_of(whole, self._others)]
        return self._without(whole, found) + ("" if len(whole) == len(text) else " …")

    def _without(self, text: str, found: Iterable[Span]) -> str:
        """Return a text without some parts."""
        pieces, at = [], 0
        for start, end, rule in _merged(found):
            self.found.append(Removal(rule, " ".join(text[start:end].split())[:MAX_KEPT]))
            pieces += [text[at:start], MARK, " " if text[end - 1 : end].isspace() else ""]
            at = end
        return "".join((*pieces, text[at:]))

    def across(self, value: Any) -> Any:
        """Return a value without instructions that were spread over several strings."""
        strings = [leaf for leaf in leaves(value) if isinstance(leaf, str)]
        strings = [leaf for leaf in strings if self._only is None or leaf in self._only]
        strings = [leaf for leaf in strings if leaf.strip() and not _ADDRESS.fullmatch(leaf)]
        if not strings[1:]:
            return value
        cuts: dict[int, list[Span]] = {}
        for glue in (" ", ""):
            starts, at = [], 0
            for leaf in strings:
                starts.append(at)
                at += len(leaf) + len(glue)
            for start, end, rule in _strong_spans(glue.join(strings)):
                touched = [
                    index
                    for index, begin in enumerate(starts)
                    if begin < end and begin + len(strings[index]) > start
                ]
                for index in touched if len(touched) > 1 else ():
                    begin = starts[index]
                    part = (max(0, start - begin), min(len(strings[index]), end - begin), rule)
                    cuts.setdefault(index, []).append(part)
        if not cuts:
            return value
        replaced = {strings[index]: self._without(strings[index], found) for index, found in cuts.items()}
        return _replaced(value, replaced)


def spans(text: str, depth: int = 2, *, short: int = SHORT) -> list[Span]:
    """Return the parts of a text that are written to steer a model."""
    found = [(*match.span(), "image") for match in _LEAKY_IMAGE.finditer(text)]
    found += _token_spans(text)
    if depth:
        tags = _ATTRIBUTE.finditer(text)
        found += [(*match.span(), "attribute") for match in tags if spans(match["text"], 0)]
    found += _encoded_spans(text, depth)
    found += [(*match.span(), "hidden") for match in _HIDDEN.finditer(text)]
    readable = Readable(text)
    found += [
        (*readable.written(start, end), "spaced")
        for start, end, letters in spaced_out(readable.text)
        if any(one.squashed.search(letters) for one in rules_for(letters))
    ]
    found += _sentence_spans(readable, seen=bool(found), short=len(text.strip()) <= short)
    if not found and depth:
        found += _turned_spans(readable.text, text, depth)
    return found


def _token_spans(text: str) -> list[Span]:
    """Return chat templates' marks with what they introduce, and calls of tools."""
    readable = Readable(text, markup=True)
    marks = list(TOKENS.finditer(readable.text))
    found: list[Span] = []
    if marks:
        last = marks[-1]
        end = readable.text.find("\n", last.end())
        stop = _PARAGRAPH_END.search(readable.text, marks[0].end()) if len(marks) == 1 else None
        end = stop.start() if stop else len(readable.text) if end < 0 else end
        found.append((*readable.written(marks[0].start(), max(end, last.end())), "template"))
    calls = (*CALLS.finditer(readable.text), *named_calls(readable.text))
    return [*found, *((*readable.written(*match.span()), "call") for match in calls)]


def _calls_of(text: str, names: Collection[str]) -> list[Span]:
    """Return where a text names one of these tools."""
    if not names:
        return []
    readable = Readable(text, markup=True)
    return [(*readable.written(*match.span()), "call") for match in named_calls(readable.text, names)]


def _sentence_spans(readable: Readable, *, seen: bool, short: bool) -> list[Span]:
    """Return sentences that give orders; `seen` tells that something else in the text already did."""
    text = readable.text
    rules = list(rules_for(text))
    hits: list[Span] = []
    for one in rules:
        for name in one.anywhere:
            hits += [(*match.span(), name) for match in one.find(name, text)]
    seen = seen or any(name not in ("secrecy", "private") for _, _, name in hits)
    sentences = [match.span() for match in _SENTENCE.finditer(text) if match.end() > match.start()]
    acting = [one for one in rules if next(one.find("action", text), None)]
    found: list[Span] = []
    for start, end in sentences:
        rule = next((name for at, to, name in hits if at < end and to > start), None)
        if rule is None:
            sentence = text[start:end]
            rule = next(
                (
                    "action"
                    for one in acting
                    if one.action.search(sentence)
                    and not negations().intersection(_WORD.findall(sentence))
                    and (seen or short or one.push.search(sentence))
                ),
                None,
            )
        if rule is not None:
            found.append((*readable.written(start, end), rule))
    return found


def _strong_spans(text: str) -> list[Span]:
    """Return the spans of orders in any surrounding text, for texts that are joined from several."""
    readable = Readable(text)
    found: list[Span] = [
        (*readable.written(*match.span()), name)
        for one in rules_for(readable.text)
        for name in (*one.anywhere, "action")
        for match in one.find(name, readable.text)
    ]
    return found


def _from_base64(blob: str) -> bytes:
    """Return decoded base64."""
    blob = blob.translate(str.maketrans("-_", "+/", "\r\n \t="))
    return base64.b64decode(blob + "=" * (-len(blob) % 4))


def _from_hex(blob: str) -> bytes:
    """Return decoded hexadecimal digits."""
    return bytes.fromhex(re.sub(r"0x|\\x|[^0-9a-fA-F]", "", blob))


def _from_escapes(blob: str) -> bytes:
    """Return decoded escapes of programming languages."""
    return blob.encode("ascii", "ignore").decode("unicode_escape", "ignore").encode("utf-8", "ignore")


ENCODINGS: Final[tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...]] = (
    (lazy_regex(r"[A-Za-z0-9+/_-]{16,}(?:\s[A-Za-z0-9+/_-]{16,})*={0,2}"), _from_base64),
    (lazy_regex(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s:,]?){12,}"), _from_hex),
    (lazy_regex(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}){5,}(?:[ \w]|\\u[0-9a-fA-F]{4})*"), _from_escapes),
    (lazy_regex(r"(?:%[0-9a-fA-F]{2}[\w+.~-]{0,30}){3,}"), lambda blob: unquote(blob).encode()),
    (
        lazy_regex(r"\b(?:[01]{8}\s?){10,}"),
        lambda blob: bytes(int(byte, 2) for byte in re.findall("[01]{8}", blob)),
    ),
)
"""How text is hidden in letters and digits, and how to read it."""


def _encoded_spans(text: str, depth: int) -> list[Span]:
    """Return the parts that read as orders once they are decoded."""
    if not depth:
        return []
    found: list[Span] = []
    for pattern, decode in ENCODINGS:
        for match in pattern.finditer(text):
            try:
                plain = decode(match[0])[:MAX_DECODED].decode("utf-8")
            except binascii.Error, ValueError, UnicodeError:
                continue
            letters = sum(char.isprintable() or char.isspace() for char in plain)
            if plain and letters > 0.9 * len(plain) and plain != match[0] and spans(plain, depth - 1):
                found.append((*match.span(), "encoded"))
    return found


def _turned_spans(readable: str, text: str, depth: int) -> list[Span]:
    """Return the whole text if it says that it is turned round and then reads as an order."""
    turned = [readable.translate(_ROT13)] if _SAYS_ROT13.search(readable) else []
    turned += [readable[::-1]] if says_backwards().search(readable) else []
    if any(rule != "action" for each in turned for _, _, rule in spans(each, depth - 1)):
        return [(0, len(text), "encoded")]
    return []


def _merged(found: Iterable[Span]) -> Iterator[Span]:
    """Yield parts in order; those that touch are one."""
    last: Span | None = None
    for start, end, rule in sorted(found):
        if last is not None and start <= last[1]:
            last = (last[0], max(end, last[1]), last[2])
            continue
        if last is not None:
            yield last
        last = (start, end, rule)
    if last is not None:
        yield last


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    """Return a value with some of its strings replaced."""
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, Mapping):
        return {key: _replaced(item, texts) for key, item in value.items()}
    return [_replaced(item, texts) for item in value] if isinstance(value, list) else value
