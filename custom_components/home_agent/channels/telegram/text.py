"""Answers as Telegram takes them: its HTML, in pieces."""

from collections.abc import Iterator
from html import escape
import re
from typing import Final

from ...regex import lazy_regex

MAX_UNITS: Final = 4096
"""Characters of one message, as Telegram counts them: UTF-16 code units."""

MAX_NESTED: Final = 6
"""Marks within marks; what is deeper is shown as it was written."""

_FENCE: Final = "```"
_INLINE: Final = lazy_regex(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?<!`)(?P<code>`{1,2})(?!`)(?P<verbatim>[^\n]+?)(?<!`)(?P=code)(?!`)"
    r"|\[(?P<label>[^\]\[\n]{1,300})\]\((?P<url>https?://[^\s()<>]{1,1000})\)"
    r"|(?P<strong>\*\*|__)(?=\S)(?P<bold>[^\n]+?)(?<=\S)(?P=strong)(?![*_])"
    r"|(?<![\w*])\*(?=[^\s*])(?P<slanted>[^*\n]+?)(?<=[^\s*])\*(?![\w*])"
    r"|(?<![\w_])_(?=[^\s_])(?P<underlined>[^_\n]+?)(?<=[^\s_])_(?![\w_])"
    r"|~~(?=\S)(?P<struck>[^\n]+?)(?<=\S)~~"
)
_HEADING: Final = lazy_regex(r"(?m)^[ \t]{0,3}#{1,6}[ \t]+(?P<title>[^\n]*)$")
_BULLET: Final = lazy_regex(r"(?m)^(?P<indent>[ \t]*)[-*+][ \t]+")
_STYLES: Final = {"bold": "b", "slanted": "i", "underlined": "i", "struck": "s"}


def as_html(text: str) -> str:
    """Return markdown as the HTML that Telegram knows; everything else stays as it was written."""
    parts = text.split(_FENCE)
    shown = []
    for number, part in enumerate(parts):
        is_code = number % 2 == 1
        if is_code and number < len(parts) - 1:
            first, line, rest = part.partition("\n")
            code = rest if line and re.fullmatch(r"[\w+#-]{0,20}", first.strip()) else part
            shown.append(f"<pre>{escape(code.strip('\n'), quote=False)}</pre>")
        else:
            shown.append(_prose(f"{_FENCE}{part}" if is_code else part))
    return "".join(shown).strip()


def _prose(text: str) -> str:
    """Return text without fences."""
    return _inline(_BULLET.sub(r"\g<indent>• ", _HEADING.sub(_bold, text)))


def _bold(heading: re.Match[str]) -> str:
    return f"**{heading['title'].rstrip(' \t#')}**"


def _inline(text: str, depth: int = MAX_NESTED) -> str:
    if not depth:
        return escape(text, quote=False)
    shown, end = [], 0
    for found in _INLINE.finditer(text):
        shown.append(escape(text[end : found.start()], quote=False))
        end = found.end()
        if found["escaped"]:
            shown.append(escape(found["escaped"], quote=False))
        elif found["verbatim"]:
            shown.append(f"<code>{escape(found['verbatim'].strip(), quote=False)}</code>")
        elif found["label"]:
            shown.append(f'<a href="{escape(found["url"])}">{escape(found["label"], quote=False)}</a>')
        else:
            style = next(name for name in _STYLES if found[name])
            tag = _STYLES[style]
            shown.append(f"<{tag}>{_inline(found[style], depth - 1)}</{tag}>")
    return "".join([*shown, escape(text[end:], quote=False)])


def pieces(text: str, limit: int = MAX_UNITS) -> Iterator[str]:
    """Yield a text in pieces: cut between paragraphs, else lines, else sentences, else words.

    A block of code that is cut is closed and opened again.
    """
    rest, fence = text.strip(), ""
    while rest:
        room = limit - _units(fence) - len(_FENCE) - 1
        if _units(fence) + _units(rest) <= limit:
            yield f"{fence}{rest}"
            return
        end = _cut(rest, room)
        piece = f"{fence}{rest[:end].rstrip()}"
        rest = rest[end:].lstrip("\n" if piece.count(_FENCE) % 2 else None)
        fence = f"{_FENCE}\n" if piece.count(_FENCE) % 2 else ""
        yield f"{piece}\n{_FENCE}" if fence else piece


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _cut(text: str, limit: int) -> int:
    end = len(text.encode("utf-16-le")[: 2 * limit].decode("utf-16-le", "ignore"))
    for mark in ("\n\n", "\n", ". ", " "):
        if (found := text.rfind(mark, end // 2, end)) > 0:
            return found + len(mark)
    return end
