"""DuckDuckGo: the pages for browsers without scripts; no key."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, override

import yarl

from .base import SearchError, SearchProvider, SearchResult, SearchTrouble, async_parsed, check_status
from .pages import Layout, PageResult, read_page, results_of

PAGES: Final = ("https://html.duckduckgo.com/html", "https://lite.duckduckgo.com/lite")
"""The second page is asked if the first one takes the integration for a bot."""
LAYOUT: Final = Layout(
    titles=frozenset({"result__a", "result-link"}), snippets=frozenset({"result__snippet", "result-snippet"})
)
RIDDLES: Final = ("anomaly", "challenge-form", "g-recaptcha", "captcha")
"""Beginnings of the classes and ids of a page that asks for a person."""
NOTHING: Final = frozenset({"no-results", "result--no-result"})
EXPECTED: Final = frozenset({"results", "links", "search_form", "filters", "serp__results"})


class DuckDuckGo(SearchProvider):
    """The query travels in the body, not in the address."""

    default_url = PAGES[0]

    @override
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        """Ask the page with texts, then the small one."""
        pages = (self._url,) if self._typed else tuple(map(yarl.URL, PAGES))
        for last, page in enumerate(pages, 1 - len(pages)):
            try:
                return await self._async_page(page, query, language)
            except SearchError as err:
                if err.trouble is not SearchTrouble.BLOCKED or not last:
                    raise
        raise AssertionError  # the last page returns or raises

    async def _async_page(self, page: yarl.URL, query: str, language: str) -> Sequence[SearchResult]:
        """Return the results of one page."""
        url = page.with_path(f"{page.path if page.path != '/' else '/html'}/")
        headers = {"Accept-Language": f"{language},en;q=0.5"}
        answer = await self._async_ask(url, headers=headers, form={"q": query})
        if answer.status in (HTTPStatus.ACCEPTED, HTTPStatus.FORBIDDEN):
            raise SearchError(SearchTrouble.BLOCKED)
        check_status(answer)
        return await async_parsed(_results, answer.content)


def _results(content: bytes) -> list[SearchResult]:
    """Return the results of a page. Raises SearchError for a captcha, ValueError for another page."""
    page = read_page(content, LAYOUT)
    found = results_of([(item, url) for item in page.found if (url := _target(item))])
    if found:
        return found
    if any(name.startswith(RIDDLES) for name in page.classes):
        raise SearchError(SearchTrouble.BLOCKED)
    if page.found or page.classes & (NOTHING | EXPECTED):
        return []
    raise ValueError("no page of results")


def _target(item: PageResult) -> str:
    """Return where a result leads; nothing for an advertisement."""
    try:
        url = yarl.URL(f"https:{item.url}" if item.url.startswith("//") else item.url)
    except ValueError:
        return ""
    if (url.host or "").endswith("duckduckgo.com"):
        return url.query.get("uddg", "") if url.path.startswith("/l/") else ""
    return item.url
