"""What markdown, HTML and pictographs look like, for a voice that must not read them."""

import re
from typing import Final

from ...regex import lazy

PICTOGRAPHS: Final = (
    "\u2190-\u2191\u2193-\u21d1\u21d3-\u21ff"
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa"
    "\u2500-\u279b\u279d-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\ue000-\uf8ff\U0001f000-\U0001faff"
)
MODIFIERS: Final = "\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f"
"""Stand behind a pictograph, and are never spoken."""
INVISIBLE: Final = "\u00ad\u200b\u2060\ufeff\ufffd\ufffc\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
JOINER: Final = "\u200d"
"""Part of some scripts, and of pictographs when it stands behind one."""
PAUSES: Final = "\u2192\u21d2\u279c\u27f6\u2022"
"""Arrows and dots between words."""

INLINE: Final = lazy(
    rf"[*_~`\[\]{{}}!<&\\(\n|\u3010{PAUSES}{JOINER}{INVISIBLE}{MODIFIERS}{PICTOGRAPHS}]"
    r"|\b(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)"
)
PICTOGRAPH: Final = lazy(f"[{PICTOGRAPHS}]+")
UNSPOKEN: Final = lazy(f"[{INVISIBLE}{MODIFIERS}{PICTOGRAPHS}]+")
MID_WORD: Final = lazy(r"[^\W_]+")
ADDRESS_START: Final = lazy(r"\(?(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)")
_ADDRESS_PART: Final = r"(?:h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?|w{1,3})"
ADDRESS_CUT: Final = lazy(rf"\b{_ADDRESS_PART}\Z", re.IGNORECASE)
ADDRESS_BRACKET_CUT: Final = lazy(rf"\({_ADDRESS_PART}?\Z", re.IGNORECASE)
ADDRESS_WINDOW: Final = 8
ADDRESS: Final = lazy('[^\\s<>"`|\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]*')
ADDRESS_TAIL_MAX: Final = 16
ADDRESS_TAIL: Final = ".,;:!?)'*_~]}\u00bb\u201d\u2019\u2026"
"""Characters that end a sentence rather than an address."""

LINE_WINDOW: Final = 400
"""Characters within which a line shows what it is; no pattern of a line reaches further."""
BLANK: Final = lazy(r"[ \t]{0,200}\n")
RULE: Final = lazy(
    r"[ \t]{0,8}(?:(?:-[ \t]{0,2}){3,90}|(?:\*[ \t]{0,2}){3,90}|(?:_[ \t]{0,2}){3,90}|=[= \t]{0,200})"
    r"(?:\n|\Z)"
)
FENCE: Final = lazy(r"[ \t]{0,80}(?:`{3,9}|~{3,9})[ \t]{0,8}([^\n`]{0,60})(?:\n|\Z)")
FENCE_END: Final = lazy(r"[ \t]{0,12}(?:`{3,9}|~{3,9})[ \t]{0,12}(?=\n|\Z)")
FENCE_WINDOW: Final = 40
TABLE_RULE: Final = lazy(r"[ \t]{0,8}\|[ \t:|]{0,20}-[ \t:|-]{0,350}(?:\n|\Z)")
TABLE_ROW: Final = lazy(r"[ \t]{0,8}\|")
HEADING: Final = lazy(r"[ \t]{0,3}#{1,6}[ \t]{1,9}")
BULLET: Final = lazy(r"[ \t]{0,200}[-*+\u2022\u25aa\u25e6\u2023\u00b7][ \t]{1,9}(?:\[[ xX]\][ \t]{1,9})?")
NUMBER: Final = lazy(r"[ \t]{0,200}\d{1,3}[.)][ \t]")
QUOTE: Final = lazy(r"[ \t]{0,200}>[ \t]?")
INDENT: Final = lazy(r"[ \t]*")
LINE_PART: Final = lazy(
    r"[ \t]*+(?:#{1,6}[ \t]*|>[ \t]?|[-*+\u2022\u25aa\u25e6\u2023\u00b7][ \t]*(?:\[[ xX]?\]?[ \t]*)?"
    r"|\d{1,3}[.)]?|[-*_= \t]+|`{1,9}[ \t]*[^\n`]{0,60}|~{1,9}[ \t]*[^\n`]{0,60}|\|[ \t:|-]*)?\Z"
)
"""The beginning of a line that does not show yet what the line is."""

SPOKEN_FENCES: Final = frozenset(("", "text", "txt", "plaintext", "plain", "markdown", "md"))
"""Fences with prose in them; any other is code, which is left out."""

EMPHASIS: Final = lazy(r"\*{1,4}|_{1,4}|~{1,4}")
TICKS: Final = lazy(r"`{1,9}")
MAX_TICKS: Final = 9
CODE_TICKS: Final = 2
"""Back-ticks of code within a line."""

CITATION: Final = lazy(r"\[(?:\^[^\]\s]{1,30}|\d{1,3})\]")
CITATION_PART: Final = lazy(r"\[(?:\^[^\]\s]{0,30}|\d{0,3})\]?\Z")
LENS: Final = lazy("\u3010[^\u3011\n]{0,80}\u3011")
LENS_PART: Final = lazy("\u3010[^\u3011\n]{0,80}\\Z")
ENTITY: Final = lazy(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
ENTITY_PART: Final = lazy(r"&(?:#?|#\d{1,7}|#[xX][0-9a-fA-F]{0,6}|[A-Za-z][A-Za-z0-9]{0,30})\Z")
ESCAPED: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

_HTML_NAMES: Final = """
    a abbr article audio b big blockquote body br button center cite code dd del details div dl dt em font
    footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label li link main mark nav
    ol option p picture pre q s samp script section select small source span strike strong style sub summary
    sup svg table tbody td template textarea tfoot th thead title tr tt u ul var video wbr
"""
_HTML_BREAKS: Final = "blockquote br dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table td th tr ul"
HTML_NAMES: Final = frozenset(_HTML_NAMES.split())
HTML_BREAKS: Final = frozenset(_HTML_BREAKS.split())
HTML_WINDOW: Final = 400
_VALUE: Final = r"(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\s\"'<>=]{1,300})"
_VALUE_PART: Final = r"(?:\"[^\"\n]{0,300}\"?|'[^'\n]{0,300}'?|[^\s\"'<>=]{1,300})"
_ATTRIBUTES: Final = rf"(?:\s{{1,9}}[\w:-]{{1,30}}={_VALUE}){{0,12}}"
HTML_TAG: Final = lazy(rf"</?(?P<name>[A-Za-z][A-Za-z0-9]{{0,12}}){_ATTRIBUTES}\s{{0,9}}/?>")
HTML_PART: Final = lazy(
    rf"</?(?:(?P<name>[A-Za-z][A-Za-z0-9]{{0,12}})(?P<rest>{_ATTRIBUTES}"
    rf"(?:\s{{1,9}}(?:[\w:-]{{1,30}}(?:={_VALUE_PART}?)?)?)?/?))?\Z"
)
HTML_PREFIXES: Final = frozenset(name[:end] for name in HTML_NAMES for end in range(1, len(name) + 1))
COMMENT: Final = "<!--"
COMMENT_END: Final = lazy(r"-->")
AUTOLINK: Final = lazy(r"<(?:https?://|mailto:)[^\s<>]{0,380}>", re.IGNORECASE)
AUTOLINK_PART: Final = lazy(
    r"<(?:(?:https?://|mailto:)[^\s<>]{0,380}|h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?|m(?:a(?:i(?:l(?:to?)?)?)?)?)\Z",
    re.IGNORECASE,
)
