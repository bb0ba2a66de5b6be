"""The search services that search_web can ask: one of them is loaded where one is chosen."""

from abc import ABC, abstractmethod
import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Any, Final, NamedTuple, override
from urllib.parse import urlencode

import orjson
import yarl

from homeassistant.core import HomeAssistant

from ...connection import render_key
from ...const import (
    CONF_SEARCH_KEY,
    CONF_SEARCH_PROVIDER,
    CONF_SEARCH_URL,
    SEARCH_DUCKDUCKGO,
    SEARCH_SEARXNG,
    SEARCH_TAVILY,
)
from ...errors import ToolExecutionError
from ...inference.models import shorten
from ...texts import clean
from .fetch import FetchError, HttpAnswer, Request, async_fetch, async_session, is_local_name

SECONDS: Final = 15
"""For one question and its whole answer."""
MAX_BYTES: Final = 2 * 1024 * 1024
AT_HOME: Final = "its name leads to an address at home"
AGENT: Final = "Mozilla/5.0 (compatible; HomeAgent/1.0)"
MAX_RESULTS: Final = 5
MAX_TITLE: Final = 150
MAX_SNIPPET: Final = 500
MAX_URL: Final = 300
BUSY: Final = (HTTPStatus.TOO_MANY_REQUESTS, 432, 433)
"""Statuses of a service that is asked too often; the last two of an account whose plan is used up."""


class SearchResult(NamedTuple):
    """One thing that was found, in plain text."""

    title: str
    snippet: str
    url: str


class SearchTrouble(StrEnum):
    """Why a search gave nothing."""

    REFUSED = (
        "The search service refused the key: it has to be checked in the options, page Web and other models"
    )
    RATE_LIMIT = "The search service asks for patience, or the account is used up. Try again later"
    BLOCKED = "The search service takes this house for a robot and answers nothing. Try again later"
    UNREACHABLE = "The search service cannot be reached"
    TIMEOUT = "The search service did not answer in time"
    FAILED = "The search failed"


class SearchError(ToolExecutionError):
    """A search gave nothing; `detail` is short, in English, and contains no key."""

    def __init__(self, trouble: SearchTrouble, detail: str = "") -> None:
        super().__init__(f"{trouble}{f' ({detail})' if detail else ''}.")
        self.trouble = trouble


class SearchProvider(ABC):
    """One service at one address."""

    default_url: str = ""
    needs_key: bool = False
    takes_key: bool = True

    def __init__(self, hass: HomeAssistant, url: str = "", key: str = "") -> None:
        self._hass = hass
        self._url = yarl.URL((url or self.default_url).rstrip("/"))
        self._typed = bool(url)
        self._key = key.strip()

    @property
    def address(self) -> str:
        """Return where it is asked."""
        return str(self._url)

    @property
    def key_can_be_sent(self) -> bool:
        """Return whether the key holds nothing but what a header can carry."""
        return self._key.isascii() and (not self._key or self._key.isprintable())

    @abstractmethod
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        """Return the results, the best first, at most MAX_RESULTS. Raises SearchError."""

    async def _async_ask(
        self,
        url: yarl.URL,
        *,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> HttpAnswer:
        """Return the answer of the service; an address at home is asked only if a person typed it.

        Raises SearchError.
        """
        if not self._typed and is_local_name(url.host or ""):
            raise SearchError(SearchTrouble.FAILED, AT_HOME)
        sent = {"User-Agent": AGENT, **(headers or {})}
        if self._key and self.takes_key:
            sent["Authorization"] = f"Bearer {self._key}"
        data: bytes | None = None
        if body is not None:
            sent["Content-Type"], data = "application/json", orjson.dumps(body)
        elif form is not None:
            sent["Content-Type"], data = "application/x-www-form-urlencoded", urlencode(form).encode()
        request = Request(method="GET" if data is None else "POST", url=str(url), headers=sent, body=data)
        session = async_session(self._hass, local=self._typed, verify_ssl=True)
        try:
            async with asyncio.timeout(SECONDS):
                answer = await async_fetch(session, request, MAX_BYTES)
        except TimeoutError:
            raise SearchError(SearchTrouble.TIMEOUT, f"{SECONDS} seconds") from None
        except FetchError as err:
            trouble = SearchTrouble.UNREACHABLE if err.is_unreachable else SearchTrouble.FAILED
            raise SearchError(trouble, str(err)) from None
        if answer.cut:
            raise SearchError(SearchTrouble.FAILED, "the answer is too large")
        return answer


def check_status(answer: HttpAnswer, detail: str = "") -> None:
    """Raise SearchError for an answer that is a refusal."""
    status = answer.status
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise SearchError(SearchTrouble.REFUSED, detail)
    if status in BUSY:
        raise SearchError(SearchTrouble.RATE_LIMIT, detail)
    if status >= HTTPStatus.BAD_REQUEST:
        raise SearchError(SearchTrouble.FAILED, detail or f"answer {status}")


async def async_parsed[T](parse: Callable[[bytes], T], content: bytes) -> T:
    """Return the parsed body; parses in a worker thread. Raises SearchError."""
    try:
        return await asyncio.get_running_loop().run_in_executor(None, parse, content)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as err:
        raise SearchError(
            SearchTrouble.FAILED, "the answer cannot be read; is it the address of this service?"
        ) from err


def best(items: Iterable[Mapping[str, Any]]) -> list[SearchResult]:
    """Return the first results of `title`, `content` and `url`: one-line texts, each address once."""
    results: dict[str, SearchResult] = {}
    for item in items:
        address, title = str(item.get("url") or "").strip(), clean(str(item.get("title") or ""), MAX_TITLE)
        is_web = address.startswith(("http://", "https://")) and len(address) <= MAX_URL * 4
        if is_web and title and len(results) < MAX_RESULTS:
            address, snippet = clean(address, MAX_URL), clean(str(item.get("content") or ""), MAX_SNIPPET)
            results.setdefault(address, SearchResult(title, snippet, address))
    return list(results.values())


VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
HIDDEN: Final = frozenset({"script", "style", "template", "noscript", "svg"})
"""Elements whose text is not visible."""
MAX_TEXT: Final = 4_000
MAX_TAGS: Final = 50_000
MAX_DEPTH: Final = 500
"""Beyond these a page is read no further."""


class ResultPage(HTMLParser):
    """The results on one page.

    Titles are links of some classes, or those in some elements; texts are elements of some classes.
    """

    def __init__(
        self,
        content: bytes,
        *,
        snippets: Iterable[str],
        titles: Iterable[str] = (),
        headings: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self._titles, self._headings, self._snippets = {*titles}, {*headings}, {*snippets}
        self.results: list[dict[str, str]] = []
        """`url`, `title` and `content` as the page shows them."""
        self.classes: set[str] = set()
        """All classes and ids on the page."""
        self._into = ""
        """What of the last result is read, in an element at this depth."""
        self._depth = 0
        self._stack: list[str] = []
        self._tags = 0
        self.feed(content.decode("utf-8", "replace"))
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tags += 1
        if self._tags > MAX_TAGS or len(self._stack) > MAX_DEPTH:
            return
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        self.classes |= classes | {given.get("id", "")}
        if tag in VOID:
            self.handle_data(" ")
            return
        self._stack.append(tag)
        if tag == "a" and (classes & self._titles or self._headings.intersection(self._stack)):
            self.results.append({"url": given.get("href", ""), "title": "", "content": ""})
            self._into, self._depth = "title", len(self._stack)
        elif classes & self._snippets and self.results:
            self._into, self._depth = "content", len(self._stack)

    @override
    def handle_endtag(self, tag: str) -> None:
        # What was left open within the element ends too.
        while tag in self._stack and self._stack.pop() != tag:
            pass
        if len(self._stack) < self._depth:
            self._into, self._depth = "", 0

    @override
    def handle_data(self, data: str) -> None:
        if self._into and HIDDEN.isdisjoint(self._stack):
            text = self.results[-1][self._into] + data
            self.results[-1][self._into] = text[:MAX_TEXT]


PAGES: Final = ("https://html.duckduckgo.com/html", "https://lite.duckduckgo.com/lite")
"""The second page is asked if the first one takes the integration for a bot."""
RIDDLES: Final = ("anomaly", "challenge-form", "g-recaptcha", "captcha")
"""Beginnings of the classes and ids of a page that asks for a person."""
DUCKDUCKGO_EXPECTED: Final = frozenset(
    {"no-results", "result--no-result", "results", "links", "search_form", "filters", "serp__results"}
)


class DuckDuckGo(SearchProvider):
    """The query travels in the body, not in the address."""

    default_url = PAGES[0]
    takes_key = False

    @override
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        def parse(content: bytes) -> list[SearchResult] | None:  # None for a captcha
            titles, snippets = ("result__a", "result-link"), ("result__snippet", "result-snippet")
            page = ResultPage(content, titles=titles, snippets=snippets)
            for item in page.results:
                with suppress(ValueError):
                    url = yarl.URL(f"https:{item['url']}" if item["url"].startswith("//") else item["url"])
                    if (url.host or "").endswith("duckduckgo.com"):  # a link to it, or an advertisement
                        item["url"] = url.query.get("uddg", "") if url.path.startswith("/l/") else ""
            results = best(page.results)
            if not results and any(name.startswith(RIDDLES) for name in page.classes):
                return None
            if not page.results and not page.classes & DUCKDUCKGO_EXPECTED:
                raise ValueError("no page of results")
            return results

        headers = {"Accept-Language": f"{language},en;q=0.5"}
        for page in [self._url] if self._typed else map(yarl.URL, PAGES):
            url = page.with_path(f"{page.path if page.path != '/' else '/html'}/")
            answer = await self._async_ask(url, headers=headers, form={"q": query})
            if answer.status not in (HTTPStatus.ACCEPTED, HTTPStatus.FORBIDDEN):
                check_status(answer)
                results = await async_parsed(parse, answer.content)
                if results is not None:
                    return results
        raise SearchError(SearchTrouble.BLOCKED)


SEARXNG_EXPECTED: Final = frozenset({"results", "urls", "search", "main_results"})


class SearXNG(SearchProvider):
    """The address of the server is configured; a key goes to the proxy in front of it."""

    _as_page = False
    """Whether the server gives no JSON."""

    @override
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        """Ask for JSON; a server that refuses the format is asked for its page from then on."""

        def parse(content: bytes) -> list[SearchResult]:
            answer: dict[str, Any] = orjson.loads(content)
            results = best(answer["results"])
            failed = answer.get("unresponsive_engines") or []
            if failed and not results:
                reasons = ", ".join(sorted({str(item[1])[:60] for item in failed if len(item) > 1}))
                raise SearchError(SearchTrouble.BLOCKED, f"its engines: {reasons}"[:200])
            return results

        def parse_page(content: bytes) -> list[SearchResult]:
            page = ResultPage(content, headings=("h3", "h4"), snippets=("content", "result-content"))
            if not page.results and not page.classes & SEARXNG_EXPECTED:
                raise ValueError("no page of results")
            return best(page.results)

        base = self._url if self._url.name == "search" else self._url / "search"
        asked = base.with_query({"q": query, "language": language})
        headers = {"Accept-Language": f"{language},en;q=0.5"}
        if not self._as_page:
            answer = await self._async_ask(asked.update_query(format="json"), headers=headers)
            if answer.status != HTTPStatus.FORBIDDEN:
                check_status(answer, "" if answer.status != HTTPStatus.NOT_FOUND else "there is no /search")
                return await async_parsed(parse, answer.content)
        answer = await self._async_ask(asked, headers={"Accept": "text/html", **headers})
        check_status(answer)
        results = await async_parsed(parse_page, answer.content)
        self._as_page = True
        return results


class Tavily(SearchProvider):
    """The key travels in a header."""

    default_url = "https://api.tavily.com"
    needs_key = True

    @override
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        base = self._url if self._url.name == "search" else self._url / "search"
        body = {"query": query, "max_results": MAX_RESULTS, "search_depth": "basic"}
        answer = await self._async_ask(base, body=body)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            try:
                detail = orjson.loads(answer.content)["detail"]
                reason = str(detail["error"] if isinstance(detail, dict) else detail)
            except ValueError, LookupError, TypeError:
                reason = ""
            check_status(answer, shorten(reason, (self._key,) if self._key else ()))
        return await async_parsed(lambda content: best(orjson.loads(content)["results"]), answer.content)


PROVIDERS: Final[Mapping[str, type[SearchProvider]]] = {
    SEARCH_TAVILY: Tavily,
    SEARCH_DUCKDUCKGO: DuckDuckGo,
    SEARCH_SEARXNG: SearXNG,
}


def search_provider(hass: HomeAssistant, settings: Mapping[str, Any]) -> SearchProvider:
    """Return the chosen service, which has to be set up.

    Raises AuthenticationError for a key whose template cannot be rendered.
    """
    key = render_key(hass, settings[CONF_SEARCH_KEY])
    made = PROVIDERS[settings[CONF_SEARCH_PROVIDER]]
    return made(hass, settings[CONF_SEARCH_URL], key)


def is_set_up(settings: Mapping[str, Any]) -> bool:
    """Return whether a service is chosen, and has the address and the key that it needs."""
    made = PROVIDERS.get(settings[CONF_SEARCH_PROVIDER])
    return (
        made is not None
        and bool(settings[CONF_SEARCH_URL] or made.default_url)
        and (bool(settings[CONF_SEARCH_KEY]) or not made.needs_key)
    )
