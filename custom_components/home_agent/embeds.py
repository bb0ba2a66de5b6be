"""Text where markdown is rendered: what a browser would fetch on its own, and what is shown as it is.

A picture whose address carries what was read would reveal it to an external server without a click.
"""

import re
from typing import Final

from .regex import lazy_regex

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
