"""SearXNG, hosted by the household or public; JSON if the server allows it, else its page."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, override

import orjson
import yarl

from .base import (
    SearchError,
    SearchProvider,
    SearchResult,
    SearchTrouble,
    async_parsed,
    best,
    check_status,
    make_result,
)
from .pages import Layout, read_page, results_of

LAYOUT: Final = Layout(headings=frozenset({"h3", "h4"}), snippets=frozenset({"content", "result-content"}))
EXPECTED: Final = frozenset({"results", "urls", "search", "main_results"})


class SearXNG(SearchProvider):
    """The address of the server is configured; a key goes to the proxy in front of it."""

    _as_page = False
    """Whether the server gives no JSON."""

    @override
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        """Ask for JSON; a server that refuses the format is asked for its page from then on."""
        base = self._url if self._url.name == "search" else self._url / "search"
        asked = base.with_query({"q": query, "language": language})
        if not self._as_page:
            answer = await self._async_ask(asked.update_query(format="json"), headers=self._headers(language))
            if answer.status != HTTPStatus.FORBIDDEN:
                check_status(answer, "" if answer.status != HTTPStatus.NOT_FOUND else "there is no /search")
                return await async_parsed(_results, answer.content)
        found = await self._async_page(asked, language)
        self._as_page = True
        return found

    async def _async_page(self, asked: yarl.URL, language: str) -> Sequence[SearchResult]:
        """Return the results of the page for browsers."""
        answer = await self._async_ask(asked, headers={"Accept": "text/html", **self._headers(language)})
        check_status(answer)
        return await async_parsed(_page_results, answer.content)

    def _headers(self, language: str) -> dict[str, str]:
        return {"Accept-Language": f"{language},en;q=0.5", **self._bearer()}


def _results(content: bytes) -> list[SearchResult]:
    """Return the results of JSON. Raises SearchError if all engines behind the server failed."""
    answer: dict[str, Any] = orjson.loads(content)
    found = best(
        [make_result(item.get("title"), item.get("content"), item.get("url")) for item in answer["results"]]
    )
    failed = answer.get("unresponsive_engines") or []
    if failed and not found:
        reasons = ", ".join(sorted({str(item[1])[:60] for item in failed if len(item) > 1}))
        raise SearchError(SearchTrouble.BLOCKED, f"its engines: {reasons}"[:200])
    return found


def _page_results(content: bytes) -> list[SearchResult]:
    """Return the results of a page. Raises ValueError for another page."""
    page = read_page(content, LAYOUT)
    found = results_of([(item, item.url) for item in page.found])
    if not found and not page.classes & EXPECTED:
        raise ValueError("no page of results")
    return found
