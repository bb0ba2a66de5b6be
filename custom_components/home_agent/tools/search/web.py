"""HTTP to search services: bounded in size and time, never to another host, not into the house unasked."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import aiohttp
import yarl

from ...inference.errors import retry_seconds
from ...inference.transport import failure
from ..hosts import is_local_name, leads_home
from ..unpacking import unpacker

SECONDS: Final = 15
"""For one question and its whole answer."""
MAX_BYTES: Final = 2 * 1024 * 1024
MAX_REDIRECTS: Final = 3
AT_HOME: Final = "its name leads to an address at home"
AGENT: Final = "Mozilla/5.0 (compatible; HomeAgent/1.0)"


class WebTrouble(StrEnum):
    """What went wrong on the way."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    REDIRECT = "redirect"
    TOO_LARGE = "too_large"
    PRIVATE = "private"


class WebProblem(Exception):
    """There is no answer that could be read."""

    def __init__(self, trouble: WebTrouble, detail: str) -> None:
        """Store what is wrong."""
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

        An address within the house is asked only if a person typed it. Raises WebProblem.
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
    """Return where a redirect leads. Raises WebProblem where that is another server, or a less safe one."""
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
