"""Result pages as HTML: titles, addresses and texts, whatever else is on them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final, override

from .base import SearchResult, best, make_result

VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
HIDDEN: Final = frozenset({"script", "style", "template", "noscript", "svg"})
"""Elements whose text is not visible."""
MAX_TEXT: Final = 4_000
MAX_TAGS: Final = 50_000
MAX_DEPTH: Final = 500
"""Beyond these a page is read no further."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a service marks its results."""

    titles: frozenset[str] = frozenset()
    """Classes of links that are titles."""
    headings: frozenset[str] = frozenset()
    """Elements, within a result, whose first link is the title."""
    snippets: frozenset[str] = frozenset()
    """Classes of elements with the text."""


@dataclass(slots=True)
class PageResult:
    """A result as the page shows it."""

    url: str
    title: list[str] = field(default_factory=list)
    snippet: list[str] = field(default_factory=list)


class ResultPage(HTMLParser):
    """Reads one page."""

    def __init__(self, layout: Layout) -> None:
        """Start with nothing found."""
        super().__init__()
        self._layout = layout
        self.found: list[PageResult] = []
        self.classes: set[str] = set()
        """All classes and ids on the page."""
        self._into: list[str] | None = None
        self._until = 0
        self._stack: list[str] = []
        self._hidden = 0
        self._tags = 0

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a title or a text."""
        self._tags += 1
        if self._tags > MAX_TAGS or len(self._stack) > MAX_DEPTH:
            return
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        self.classes |= classes | {given.get("id", "")}
        if tag in VOID:
            if self._into is not None:
                self._into.append(" ")
            return
        self._stack.append(tag)
        self._hidden += tag in HIDDEN
        if tag == "a" and (classes & self._layout.titles or self._layout.headings.intersection(self._stack)):
            self.found.append(PageResult(given.get("href", "")))
            self._begin(self.found[-1].title)
        elif classes & self._layout.snippets and self.found:
            self._begin(self.found[-1].snippet)

    @override
    def handle_endtag(self, tag: str) -> None:
        """End what the element began; what was left open within it ends too."""
        if tag not in self._stack:
            return
        while (ended := self._stack.pop()) != tag:
            self._hidden -= ended in HIDDEN
        self._hidden -= tag in HIDDEN
        if self._into is not None and len(self._stack) < self._until:
            self._into = None

    @override
    def handle_data(self, data: str) -> None:
        """Keep text that belongs to a result."""
        if self._into is not None and not self._hidden and sum(map(len, self._into)) < MAX_TEXT:
            self._into.append(data[:MAX_TEXT])

    def _begin(self, into: list[str]) -> None:
        """Collect what follows, until the element ends that has just begun."""
        self._into, self._until = into, len(self._stack)


def read_page(content: bytes, layout: Layout) -> ResultPage:
    """Return a page as it was read."""
    page = ResultPage(layout)
    page.feed(content.decode("utf-8", "replace"))
    page.close()
    return page


def results_of(found: Iterable[tuple[PageResult, str]]) -> list[SearchResult]:
    """Return the results, with the addresses of their links."""
    return best([make_result("".join(item.title), "".join(item.snippet), url) for item, url in found])
