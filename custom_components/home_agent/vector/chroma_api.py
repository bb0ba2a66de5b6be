"""Chroma's REST API, version 2, of servers from 0.6 to 1.5: requests, answers, and what errors mean."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
import re
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import orjson
from yarl import URL

from ..inference.errors import server_message, shorten
from ..inference.transport import failure
from ..regex import lazy_regex
from .store import StoreProblem, VectorStoreError

CONNECT_SECONDS: Final = 5
SECONDS: Final = 30
"""For one request and its answer."""
MAX_ANSWER: Final = 32 * 1024 * 1024
"""Bytes."""

# In this order: the first that fits the server's words decides. 0.6 answers most of this with 400.
_WORDING: Final = (
    (StoreProblem.REFUSED, lazy_regex(r"read.?only|permission denied|forbidden", re.IGNORECASE)),
    (StoreProblem.DIMENSION, lazy_regex(r"invaliddimension|dimension of|dimensionality", re.IGNORECASE)),
    (StoreProblem.MISSING, lazy_regex(r"invalidcollection|collection \S+ does not exist", re.IGNORECASE)),
)
_STATUSES: Final[Mapping[int, StoreProblem]] = {
    HTTPStatus.UNAUTHORIZED: StoreProblem.REFUSED,
    HTTPStatus.FORBIDDEN: StoreProblem.REFUSED,
    HTTPStatus.NOT_FOUND: StoreProblem.MISSING,
    HTTPStatus.REQUEST_TIMEOUT: StoreProblem.UNAVAILABLE,
    HTTPStatus.TOO_MANY_REQUESTS: StoreProblem.UNAVAILABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChromaAddress:
    """Where the server is and what it is asked for."""

    host: str
    port: int = 8000
    ssl: bool = False
    token: str = field(default="", repr=False)
    tenant: str = "default_tenant"
    database: str = "default_database"

    @property
    def base_url(self) -> str:
        """Return scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return f"{'https' if self.ssl else 'http'}://{host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that carry the token: the one Chroma knows and the one proxies know."""
        if not (token := self.token.strip()):
            return {}
        return {"X-Chroma-Token": token, "Authorization": f"Bearer {token}"}


class ChromaAPI:
    """Sends requests about one database. Every method raises VectorStoreError."""

    def __init__(self, session: aiohttp.ClientSession, address: ChromaAddress) -> None:
        """Take a session, which stays the caller's."""
        self._session = session
        self._base = f"{address.base_url}/api/v2"
        self._database = f"/tenants/{_part(address.tenant)}/databases/{_part(address.database)}"
        self._address = address
        self._secrets = (address.token.strip(),) if address.token.strip() else ()

    async def check(self) -> int:
        """Reach the database; return how many entries the server takes at once."""
        try:
            await self._request("GET", self._database)
        except VectorStoreError as err:
            if err.problem is not StoreProblem.MISSING:
                raise
            raise await self._not_there() from None
        limits = await self._request("GET", "/pre-flight-checks")
        try:
            return max(1, int(limits["max_batch_size"]))
        except (LookupError, TypeError, ValueError) as err:
            raise _unreadable() from err

    async def version(self) -> str:
        """Return the version of the server; MISSING if it is not a Chroma server, or older than 0.6."""
        return str(await self._request("GET", "/version"))

    async def find_tenant(self) -> None:
        """Ask for the tenant; MISSING if there is none of this name."""
        await self._request("GET", f"/tenants/{_part(self._address.tenant)}")

    async def get(self, path: str) -> Any:
        """Return the answer to a question about the database."""
        return await self._request("GET", self._database + path)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send something to the database and return the answer."""
        return await self._request("POST", self._database + path, body)

    async def delete(self, path: str) -> None:
        """Delete something of the database."""
        await self._request("DELETE", self._database + path)

    async def _not_there(self) -> VectorStoreError:
        """Return the error that a missing database means: no such database, or no such server."""
        try:
            await self._request("GET", "/heartbeat")
        except VectorStoreError as err:
            if err.problem is not StoreProblem.MISSING:
                return err
            detail = "no Chroma server of version 0.6 or newer answers at this address"
            return VectorStoreError(StoreProblem.REFUSED, detail)
        where = f"tenant {self._address.tenant}, database {self._address.database}"
        return VectorStoreError(StoreProblem.REFUSED, shorten(f"there is no {where}", self._secrets))

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the decoded answer to one request."""
        data = None if body is None else _encode(body)
        try:
            async with asyncio.timeout(SECONDS):
                try:
                    response, answer = await self._send(method, path, data)
                except aiohttp.ServerDisconnectedError:
                    # The server closes connections that are kept open; every request may be sent twice.
                    response, answer = await self._send(method, path, data)
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as err:
            untrusted = isinstance(err, aiohttp.ClientConnectorCertificateError)
            asked_badly = isinstance(err, ValueError) and not untrusted
            problem = StoreProblem.INVALID if asked_badly else StoreProblem.UNAVAILABLE
            # The cause may quote headers, and those hold the token.
            raise VectorStoreError(problem, failure(err, self._secrets).detail) from None
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal(response, answer)
        if not answer:
            return None
        try:
            return orjson.loads(answer)
        except orjson.JSONDecodeError:
            raise _unreadable() from None

    async def _send(self, method: str, path: str, data: bytes | None) -> tuple[aiohttp.ClientResponse, bytes]:
        """Send a request and read its answer."""
        async with self._session.request(
            method,
            URL(self._base + path, encoded=True),
            data=data,
            headers={"Content-Type": "application/json", **self._address.headers},
            timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS),
            allow_redirects=False,
        ) as response:
            return response, await _read(response)

    def _refusal(self, response: aiohttp.ClientResponse, answer: bytes) -> VectorStoreError:
        """Return the error that an answer means."""
        try:
            body = orjson.loads(answer)
        except orjson.JSONDecodeError:
            body = {"message": response.reason}
        kind = str(body.get("error") or "") if isinstance(body, dict) else ""
        message = server_message(body.get("message") or body if isinstance(body, dict) else body)[0]
        words = f"{kind} {message}"
        worded = (problem for problem, pattern in _WORDING if pattern.search(words))
        problem = next(worded, _STATUSES.get(response.status, _of_class(response.status)))
        return VectorStoreError(problem, shorten(f"{response.status}: {message}", self._secrets))


def _encode(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON; vectors may be arrays of numpy."""
    try:
        return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY, default=lambda array: array.tolist())
    except TypeError:
        raise VectorStoreError(StoreProblem.INVALID, "a text holds characters that cannot be sent") from None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return a body of bounded size."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER:
            raise VectorStoreError(StoreProblem.INVALID, "the answer is too large")
    return bytes(body)


def _of_class(status: int) -> StoreProblem:
    """Return the problem for a status that only tells whether the client or the server is at fault."""
    theirs = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return StoreProblem.UNAVAILABLE if theirs else StoreProblem.INVALID


def _part(name: str) -> str:
    """Return a name as one part of a path."""
    return quote(name, safe="")


def _unreadable() -> VectorStoreError:
    """Return the error about an answer that is not Chroma's."""
    return VectorStoreError(StoreProblem.INVALID, "the server's answer cannot be read")
