"""The interface of search services: a query, and a few results with title, text and address."""

from abc import ABC, abstractmethod
import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
import yarl

from ...errors import ToolExecutionError
from ...inference.errors import retry_seconds, shorten
from ...inference.transport import failure
from ...texts import clean
from ..outside.hosts import is_local_name, leads_home
from ..outside.unpacking import unpacker

SECONDS: Final = 15
"""For one question and its whole answer."""
MAX_BYTES: Final = 2 * 1024 * 1024
MAX_REDIRECTS: Final = 3
AT_HOME: Final = "its name leads to an address at home"
AGENT: Final = "Mozilla/5.0 (compatible; HomeAgent/1.0)"
MAX_RESULTS: Final = 5
MAX_TITLE: Final = 150
MAX_SNIPPET: Final = 500
MAX_URL: Final = 300
MAX_PAUSE: Final = 3
"""The longest pause in seconds that a service may ask for before the query is repeated once."""


class WebTrouble(StrEnum):
    """What went wrong on the way."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    REDIRECT = "redirect"
    TOO_LARGE = "too_large"
    PRIVATE = "private"


class WebProblem(Exception):
    """The answer could not be read."""

    def __init__(self, trouble: WebTrouble, detail: str) -> None:
        """Store the problem."""
        super().__init__(detail)
        self.trouble = trouble
        self.detail = detail


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a server answered."""

    status: int
    content: bytes
    retry_after: float | None = None
    """Seconds, where it names them."""


class Web:
    """Asks one address and follows it nowhere else."""

    def __init__(self, session_to: Callable[[bool], aiohttp.ClientSession]) -> None:
        """Take a function that returns the caller's sessions; with True one that may reach the home."""
        self._session_to = session_to

    async def async_ask(
        self,
        url: yarl.URL,
        *,
        headers: Mapping[str, str],
        data: bytes | Mapping[str, str] | None = None,
        may_be_private: bool,
    ) -> WebAnswer:
        """Return the answer, a POST where there is something to send.

        An address within the home is asked only if a person typed it. Raises WebProblem.
        """
        try:
            async with asyncio.timeout(SECONDS):
                if not may_be_private and is_local_name(url.host or ""):
                    raise WebProblem(WebTrouble.PRIVATE, AT_HOME)
                session = self._session_to(may_be_private)
                return await self._async_follow(session, url, headers, data)
        except TimeoutError:
            raise WebProblem(WebTrouble.TIMEOUT, f"{SECONDS} seconds") from None
        except (aiohttp.ClientError, OSError, ValueError) as err:
            if leads_home(err):
                raise WebProblem(WebTrouble.PRIVATE, AT_HOME) from None
            raise WebProblem(WebTrouble.UNREACHABLE, failure(err, ()).detail) from None

    async def _async_follow(
        self,
        session: aiohttp.ClientSession,
        url: yarl.URL,
        headers: Mapping[str, str],
        data: bytes | Mapping[str, str] | None,
    ) -> WebAnswer:
        """Return the answer of an address, or of another one of the same server that it names."""
        for _ in range(MAX_REDIRECTS + 1):
            response = await session.request(
                "GET" if data is None else "POST",
                url,
                data=data,
                headers={"User-Agent": AGENT, "Accept-Encoding": "identity", **headers},
                allow_redirects=False,
            )
            async with response:
                location = response.headers.get("location")
                if location and HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
                    url = _same_host(url, location)
                    continue
                return WebAnswer(
                    response.status, await _async_read(response), retry_seconds(response.headers)
                )
        raise WebProblem(WebTrouble.REDIRECT, "it redirects in circles")


def _same_host(url: yarl.URL, location: str) -> yarl.URL:
    """Return where a redirect leads. Raises WebProblem if that is another server, or a less safe one."""
    target = url.join(yarl.URL(location))
    same = target.host == url.host and (
        target.port == url.port or (url.scheme, target.scheme) == ("http", "https")
    )
    if not same or (url.scheme, target.scheme) == ("https", "http"):
        raise WebProblem(WebTrouble.REDIRECT, "it redirects to another server")
    return target


async def _async_read(response: aiohttp.ClientResponse) -> bytes:
    """Return a body of bounded size. Raises WebProblem for a larger one."""
    unpack = unpacker(response.headers)
    body = bytearray()
    async for chunk in response.content.iter_chunked(64 * 1024):
        body += unpack(chunk, MAX_BYTES + 1 - len(body))
        if len(body) > MAX_BYTES:
            raise WebProblem(WebTrouble.TOO_LARGE, "the answer is too large")
    return bytes(body)


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
        """Store the problem."""
        super().__init__(f"{SENTENCES[trouble]}{f' ({reason})' if reason else ''}.")
        self.trouble = trouble
        self.reason = reason


class SearchProvider(ABC):
    """One service at one address."""

    default_url: str = ""
    needs_key: bool = False

    def __init__(self, web: Web, url: str = "", key: str = "") -> None:
        """Take an address that a person typed, or the service's own."""
        self._web = web
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
    ) -> WebAnswer:
        """Return the answer of the service, once more where it names a short pause. Raises SearchError."""
        answer = await self._async_ask_once(url, headers, form, body)
        pause = answer.retry_after
        if (
            answer.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
            and pause is not None
        ):
            if pause > MAX_PAUSE:
                raise SearchError(SearchTrouble.RATE_LIMIT, f"in {pause:g} seconds")
            await asyncio.sleep(pause)
            answer = await self._async_ask_once(url, headers, form, body)
        return answer

    async def _async_ask_once(
        self,
        url: yarl.URL,
        headers: Mapping[str, str] | None,
        form: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
    ) -> WebAnswer:
        """Ask, and turn what went wrong on the way into SearchError."""
        data = orjson.dumps(body) if body is not None else form
        sent = {**({"Content-Type": "application/json"} if body is not None else {}), **(headers or {})}
        try:
            return await self._web.async_ask(url, headers=sent, data=data, may_be_private=self._typed)
        except WebProblem as err:
            raise SearchError(
                _TROUBLES.get(err.trouble, SearchTrouble.FAILED), self._shown(err.detail)
            ) from None

    def _shown(self, detail: str) -> str:
        """Return a detail without the key."""
        return shorten(detail, (self._key,) if self._key else ())

    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}


_TROUBLES: Final[Mapping[WebTrouble, SearchTrouble]] = {
    WebTrouble.UNREACHABLE: SearchTrouble.UNREACHABLE,
    WebTrouble.TIMEOUT: SearchTrouble.TIMEOUT,
}


def check_status(answer: WebAnswer, detail: str = "") -> None:
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


def make_result(title: object, snippet: object, url: object) -> SearchResult | None:
    """Return a result as one-line texts; None for one without a title or a web address."""
    address = str(url or "").strip()
    if not address.startswith(("http://", "https://")) or len(address) > MAX_URL * 4:
        return None
    shown = clean(str(title or ""), MAX_TITLE)
    if not shown:
        return None
    return SearchResult(shown, clean(str(snippet or ""), MAX_SNIPPET), clean(address, MAX_URL))


def best(results: Sequence[SearchResult | None]) -> list[SearchResult]:
    """Return the first few results, each address once."""
    found: dict[str, SearchResult] = {}
    for result in results:
        if result and len(found) < MAX_RESULTS:
            found.setdefault(result.url, result)
    return list(found.values())
