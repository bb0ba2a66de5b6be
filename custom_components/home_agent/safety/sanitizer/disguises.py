"""Alternative readings of disguised text."""

from base64 import b64decode
import binascii
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import unquote_plus

from ...regex import lazy_regex
from ..firewall.text import Readable, spaced_out

MAX_READINGS: Final = 40
DEPTH: Final = 2
"""Disguises inside each other."""
MAX_CHARS: Final = 4_000

_OPAQUE: Final = lazy_regex(r"[A-Za-z0-9+/_=-]{8,}")
_JOINED: Final = lazy_regex(r"[_+\-.]+")
_PERCENT: Final = lazy_regex(r"%[0-9a-fA-F]{2}")
_ROT13: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM",
)


def readings(text: str) -> Iterator[tuple[str, bool]]:
    """Yield possible readings of a text, and whether its numbers were disguised as well.

    Letters that are turned round are read for their words only: any number is another one backwards.
    """
    found = {Readable(text[:MAX_CHARS]).text: False}
    waiting = [(text[:MAX_CHARS], False, DEPTH)]
    while waiting and len(found) < MAX_READINGS:
        current, numbers, depth = waiting.pop(0)
        for reading, decoded in _ways(current):
            if reading.strip() and reading not in found:
                found[reading] = numbers or decoded
                if depth > 1:
                    waiting.append((reading, numbers or decoded, depth - 1))
    yield from found.items()


def _ways(text: str) -> Iterator[tuple[str, bool]]:
    """Yield a text with one disguise removed, and whether its numbers were disguised as well."""
    readable = Readable(text).text
    if _PERCENT.search(text):
        yield unquote_plus(text), True
    yield _JOINED.sub(" ", text), False
    for start, end, letters in spaced_out(readable):
        yield f"{readable[:start]} {letters} {readable[end:]}", True
    yield readable[::-1], False
    yield " ".join(word[::-1] for word in readable.split()), False
    yield text.translate(_ROT13), False
    for token in _OPAQUE.findall(text):
        for one in (token, token[::-1]):
            yield from ((decoded, True) for decoded in _decoded(one))


def _decoded(token: str) -> Iterator[str]:
    """Yield the texts that a token may encode in Base64 or hexadecimal."""
    with suppress(ValueError):
        yield bytes.fromhex(token).decode("utf-8")
    with suppress(ValueError, binascii.Error):
        padded = token.rstrip("=") + "=" * (-len(token.rstrip("=")) % 4)
        yield b64decode(padded, altchars=b"-_", validate=True).decode("utf-8")
