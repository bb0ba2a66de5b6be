"""Cuts a text into passages that can be found and read on their own."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ..regex import lazy

PASSAGE_CHARS: Final = 700
"""How long a passage may be, without its headings: about 175 tokens of English."""
OVERLAP_CHARS: Final = 120
"""How much of a passage the next one begins with, so that a sentence keeps what it refers to."""
HEADING_CHARS: Final = 120

_HEADING = lazy(r"^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_UNDERLINE = lazy(r"^ {0,3}(=+|-+)\s*$")
_FENCE = lazy(r"^ {0,3}(```|~~~)")
_SENTENCE_END = lazy(r"(?<=[.!?…])\s+|(?<=[\u3002\uff01\uff1f])")


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A paragraph with the headings above it."""

    headings: tuple[str, ...]
    text: str


def passages(text: str, *, markdown: bool) -> Iterator[str]:
    """Yield the passages of a text, each under one heading and beginning with it.

    Only Markdown has headings. Line breaks within a paragraph are lost.
    """
    headings: tuple[str, ...] = ()
    pieces: list[str] = []
    for paragraph in _paragraphs(text.splitlines(), markdown=markdown):
        if paragraph.headings != headings:
            yield from _packed(headings, pieces)
            headings, pieces = paragraph.headings, []
        pieces.append(paragraph.text)
    yield from _packed(headings, pieces)


def _paragraphs(lines: list[str], *, markdown: bool) -> Iterator[_Paragraph]:
    """Yield the paragraphs of a text."""
    headings: list[str] = []
    taken: list[str] = []
    fenced = False
    for line in [*lines, ""]:
        fenced ^= markdown and bool(_FENCE.match(line))
        level, heading = _heading(line, taken) if markdown and not fenced else (0, "")
        if line.strip() and not level:
            taken.append(line.strip())
            continue
        if taken:
            yield _Paragraph(tuple(headings), " ".join(taken))
            taken = []
        if level:
            headings = [*headings[: level - 1], heading]


def _heading(line: str, taken: list[str]) -> tuple[int, str]:
    """Return level and text of a heading, 0 for another line; an underlined one leaves the paragraph."""
    if found := _HEADING.match(line):
        return len(found[1]), found[2]
    if len(taken) == 1 and (found := _UNDERLINE.match(line)):
        return (1 if found[1][0] == "=" else 2), taken.pop()
    return 0, ""


def _packed(headings: tuple[str, ...], pieces: Iterable[str]) -> Iterator[str]:
    """Yield passages of what stands under one heading, each beginning with the end of the one before."""
    above = f"{' > '.join(headings)[-HEADING_CHARS:]}: " if headings else ""
    taken: list[str] = []
    for sentence in (part for piece in pieces for part in _sentences(piece)):
        if taken and len(" ".join((*taken, sentence))) > PASSAGE_CHARS:
            yield above + " ".join(taken)
            taken = _overlap(taken, PASSAGE_CHARS - len(sentence) - 1)
        taken.append(sentence)
    if taken:
        yield above + " ".join(taken)


def _overlap(taken: list[str], room: int) -> list[str]:
    """Return the last sentences of a passage, as many as the next one may begin with."""
    kept: list[str] = []
    for sentence in reversed(taken):
        if len(" ".join((sentence, *kept))) > min(OVERLAP_CHARS, room):
            break
        kept.insert(0, sentence)
    return kept


def _sentences(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; one longer than a passage is cut between words."""
    for sentence in _SENTENCE_END.split(paragraph):
        rest = sentence.strip()
        while len(rest) > PASSAGE_CHARS:
            cut = rest.rfind(" ", PASSAGE_CHARS // 2, PASSAGE_CHARS) + 1 or PASSAGE_CHARS
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest
