"""The search services that web_search can ask."""

from abc import ABC, abstractmethod
import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Any, Final, override
from urllib.parse import urlencode

from aiohttp import ClientSession
import orjson
import yarl

from homeassistant.core import HomeAssistant

from ..connection import render_key
from ..const import (
    CONF_SEARCH_KEY,
    CONF_SEARCH_PROVIDER,
    CONF_SEARCH_URL,
    SEARCH_DUCKDUCKGO,
    SEARCH_SEARXNG,
    SEARCH_TAVILY,
)
from ..errors import ToolExecutionError
from ..inference.models import retry_seconds, shorten
from ..texts import clean
from .outside.fetch import FetchError, HttpAnswer, Request, async_fetch, async_session, is_local_name

SECONDS: Final = 15
"""For one question and its whole answer."""
MAX_BYTES: Final = 2 * 1024 * 1024
AT_HOME: Final = "its name leads to an address at home"
AGENT: Final = "Mozilla/5.0 (compatible; HomeAgent/1.0)"
MAX_RESULTS: Final = 5
MAX_TITLE: Final = 150
MAX_SNIPPET: Final = 500
MAX_URL: Final = 300
MAX_PAUSE: Final = 3
"""The longest pause in seconds that a service may ask for before the query is repeated once."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One thing that was found, in plain text."""

    title: str
    snippet: str
    url: str


class SearchTrouble(StrEnum):
    """Why a search gave nothing."""

    REFUSED = "refused"
    RATE_LIMIT = "rate_limit"
    BLOCKED = "blocked"
    """The service takes the integration for a bot and asks for a captcha."""
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    FAILED = "failed"


SENTENCES: Final[Mapping[SearchTrouble, str]] = {
    SearchTrouble.REFUSED: (
        "The search service refused the key: it has to be checked in the options, page Web and other models"
    ),
    SearchTrouble.RATE_LIMIT: (
        "The search service asks for patience, or the account is used up. Try again later"
    ),
    SearchTrouble.BLOCKED: (
        "The search service takes this house for a robot and answers nothing. Try again later"
    ),
    SearchTrouble.UNREACHABLE: "The search service cannot be reached",
    SearchTrouble.TIMEOUT: "The search service did not answer in time",
    SearchTrouble.FAILED: "The search failed",
}


class SearchError(ToolExecutionError):
    """A search gave nothing. `reason` is short, in English, and holds no key."""

    def __init__(self, trouble: SearchTrouble, reason: str = "") -> None:
        super().__init__(f"{SENTENCES[trouble]}{f' ({reason})' if reason else ''}.")
        self.trouble = trouble
        self.reason = reason


class SearchProvider(ABC):
    """One service at one address."""

    default_url: str = ""
    needs_key: bool = False

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
        """Return the answer of the service, once more where it names a short pause.

        An address at home is asked only if a person typed it. Raises SearchError.
        """
        if not self._typed and is_local_name(url.host or ""):
            raise SearchError(SearchTrouble.FAILED, AT_HOME)
        sent = {"User-Agent": AGENT, **(headers or {})}
        data: bytes | None = None
        if body is not None:
            sent["Content-Type"], data = "application/json", orjson.dumps(body)
        elif form is not None:
            sent["Content-Type"], data = "application/x-www-form-urlencoded", urlencode(form).encode()
        request = Request(method="GET" if data is None else "POST", url=str(url), headers=sent, body=data)
        session = async_session(self._hass, local=self._typed, verify_ssl=True)
        answer = await self._async_ask_once(session, request)
        pause = retry_seconds(answer.headers)
        if (
            answer.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
            and pause is not None
        ):
            if pause > MAX_PAUSE:
                raise SearchError(SearchTrouble.RATE_LIMIT, f"in {pause:g} seconds")
            await asyncio.sleep(pause)
            answer = await self._async_ask_once(session, request)
        if answer.cut:
            raise SearchError(SearchTrouble.FAILED, "the answer is too large")
        return answer

    async def _async_ask_once(self, session: ClientSession, request: Request) -> HttpAnswer:
        try:
            async with asyncio.timeout(SECONDS):
                return await async_fetch(session, request, MAX_BYTES)
        except TimeoutError:
            raise SearchError(SearchTrouble.TIMEOUT, f"{SECONDS} seconds") from None
        except FetchError as err:
            trouble = SearchTrouble.UNREACHABLE if err.is_unreachable else SearchTrouble.FAILED
            raise SearchError(trouble, str(err)) from None

    def _shown(self, detail: str) -> str:
        """Return a detail without the key."""
        return shorten(detail, (self._key,) if self._key else ())

    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}


def check_status(answer: HttpAnswer, detail: str = "") -> None:
    """Raise SearchError for an answer that is a refusal."""
    status = answer.status
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise SearchError(SearchTrouble.REFUSED, detail)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
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


def best(rows: Iterable[tuple[object, object, object]]) -> list[SearchResult]:
    """Return the first few results of titles, texts and addresses: one-line texts, each address once."""
    results: dict[str, SearchResult] = {}
    for title, snippet, url in rows:
        address, shown = str(url or "").strip(), clean(str(title or ""), MAX_TITLE)
        is_web = address.startswith(("http://", "https://")) and len(address) <= MAX_URL * 4
        if is_web and shown and len(results) < MAX_RESULTS:
            address = clean(address, MAX_URL)
            results.setdefault(address, SearchResult(shown, clean(str(snippet or ""), MAX_SNIPPET), address))
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
        self._into, self._until = into, len(self._stack)


def read_page(content: bytes, layout: Layout) -> ResultPage:
    """Return a page as it was read."""
    page = ResultPage(layout)
    page.feed(content.decode("utf-8", "replace"))
    page.close()
    return page


def results_of(found: Iterable[tuple[PageResult, str]]) -> list[SearchResult]:
    """Return the results, with the addresses of their links."""
    return best(("".join(item.title), "".join(item.snippet), url) for item, url in found)


PAGES: Final = ("https://html.duckduckgo.com/html", "https://lite.duckduckgo.com/lite")
"""The second page is asked if the first one takes the integration for a bot."""
DUCKDUCKGO_LAYOUT: Final = Layout(
    titles=frozenset({"result__a", "result-link"}), snippets=frozenset({"result__snippet", "result-snippet"})
)
RIDDLES: Final = ("anomaly", "challenge-form", "g-recaptcha", "captcha")
"""Beginnings of the classes and ids of a page that asks for a person."""
NOTHING: Final = frozenset({"no-results", "result--no-result"})
DUCKDUCKGO_EXPECTED: Final = frozenset({"results", "links", "search_form", "filters", "serp__results"})


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
        url = page.with_path(f"{page.path if page.path != '/' else '/html'}/")
        headers = {"Accept-Language": f"{language},en;q=0.5"}
        answer = await self._async_ask(url, headers=headers, form={"q": query})
        if answer.status in (HTTPStatus.ACCEPTED, HTTPStatus.FORBIDDEN):
            raise SearchError(SearchTrouble.BLOCKED)
        check_status(answer)
        return await async_parsed(_duckduckgo_results, answer.content)


def _duckduckgo_results(content: bytes) -> list[SearchResult]:
    """Return the results of a page. Raises SearchError for a captcha, ValueError for another page."""
    page = read_page(content, DUCKDUCKGO_LAYOUT)
    found = results_of((item, url) for item in page.found if (url := _target(item)))
    if found:
        return found
    if any(name.startswith(RIDDLES) for name in page.classes):
        raise SearchError(SearchTrouble.BLOCKED)
    if page.found or page.classes & (NOTHING | DUCKDUCKGO_EXPECTED):
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


SEARXNG_LAYOUT: Final = Layout(
    headings=frozenset({"h3", "h4"}), snippets=frozenset({"content", "result-content"})
)
SEARXNG_EXPECTED: Final = frozenset({"results", "urls", "search", "main_results"})


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
                return await async_parsed(_searxng_results, answer.content)
        answer = await self._async_ask(asked, headers={"Accept": "text/html", **self._headers(language)})
        check_status(answer)
        found = await async_parsed(_page_results, answer.content)
        self._as_page = True
        return found

    def _headers(self, language: str) -> dict[str, str]:
        return {"Accept-Language": f"{language},en;q=0.5", **self._bearer()}


def _listed(items: Iterable[Mapping[str, Any]]) -> list[SearchResult]:
    return best((item.get("title"), item.get("content"), item.get("url")) for item in items)


def _searxng_results(content: bytes) -> list[SearchResult]:
    """Return the results of JSON. Raises SearchError if all engines behind the server failed."""
    answer: dict[str, Any] = orjson.loads(content)
    found = _listed(answer["results"])
    failed = answer.get("unresponsive_engines") or []
    if failed and not found:
        reasons = ", ".join(sorted({str(item[1])[:60] for item in failed if len(item) > 1}))
        raise SearchError(SearchTrouble.BLOCKED, f"its engines: {reasons}"[:200])
    return found


def _page_results(content: bytes) -> list[SearchResult]:
    """Return the results of a page. Raises ValueError for another page."""
    page = read_page(content, SEARXNG_LAYOUT)
    found = results_of((item, item.url) for item in page.found)
    if not found and not page.classes & SEARXNG_EXPECTED:
        raise ValueError("no page of results")
    return found


USED_UP: Final = (432, 433)
"""Statuses of an account whose plan or pay-as-you-go limit is used up."""


class Tavily(SearchProvider):
    """The key travels in a header."""

    default_url = "https://api.tavily.com"
    needs_key = True

    @override
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        """Ask for a basic search: one credit."""
        base = self._url if self._url.name == "search" else self._url / "search"
        body = {"query": query, "max_results": MAX_RESULTS, "search_depth": "basic"}
        answer = await self._async_ask(base, headers=self._bearer(), body=body)
        if answer.status in USED_UP:
            raise SearchError(SearchTrouble.RATE_LIMIT, "the account is used up")
        if answer.status >= HTTPStatus.BAD_REQUEST:
            check_status(answer, self._shown(_detail(answer.content)))
        return await async_parsed(_tavily_results, answer.content)


def _tavily_results(content: bytes) -> list[SearchResult]:
    return _listed(orjson.loads(content)["results"])


def _detail(content: bytes) -> str:
    """Return why a request was refused, as far as the answer says so."""
    try:
        detail = orjson.loads(content)["detail"]
        return str(detail["error"] if isinstance(detail, dict) else detail)
    except ValueError, LookupError, TypeError:
        return ""


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
