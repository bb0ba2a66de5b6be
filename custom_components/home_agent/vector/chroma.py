"""The store on a Chroma server."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import batched
from math import isfinite
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import aiohttp
import orjson
from yarl import URL

from ..inference.models import server_message, shorten
from ..inference.transport import failure, fetch
from ..regex import lazy_regex
from .store import Entry, Hit, StoreProblem, VectorStoreError, check_maker

if TYPE_CHECKING:
    from .store import Vector


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
        self._session = session
        self._base = f"{address.base_url}/api/v2"
        self._database = f"/tenants/{_part(address.tenant)}/databases/{_part(address.database)}"
        self._address = address
        self._secrets = (address.token.strip(),) if address.token.strip() else ()

    async def check(self) -> int:
        """Reach the database; return how many entries the server takes at once."""
        try:
            await self.ask("GET")
        except VectorStoreError as err:
            if err.problem is not StoreProblem.MISSING:
                raise
            where = f"tenant {self._address.tenant}, database {self._address.database}"
            detail = f"there is no {where} on a Chroma server of version 0.6 or newer at this address"
            raise VectorStoreError(StoreProblem.REFUSED, shorten(detail, self._secrets)) from None
        limits = await self._request("GET", "/pre-flight-checks")
        try:
            return max(1, int(limits["max_batch_size"]))
        except (LookupError, TypeError, ValueError) as err:
            raise _unreadable() from err

    async def ask(self, method: str, path: str = "", body: Mapping[str, Any] | None = None) -> Any:
        """Return the answer to a request about the database."""
        return await self._request(method, self._database + path, body)

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            numpy = orjson.OPT_SERIALIZE_NUMPY
            data = orjson.dumps(body, option=numpy, default=lambda array: array.tolist()) if body else None
        except TypeError:
            detail = "a text holds characters that cannot be sent"
            raise VectorStoreError(StoreProblem.INVALID, detail) from None
        send = partial(
            fetch,
            self._session,
            method,
            URL(self._base + path, encoded=True),
            data=data,
            headers={"Content-Type": "application/json", **self._address.headers},
            connect_seconds=CONNECT_SECONDS,
            most=MAX_ANSWER,
        )
        try:
            async with asyncio.timeout(SECONDS):
                try:
                    response, answer = await send()
                except aiohttp.ServerDisconnectedError:
                    # The server closes connections that are kept open; every request may be sent twice.
                    response, answer = await send()
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

    def _refusal(self, response: aiohttp.ClientResponse, answer: bytes) -> VectorStoreError:
        try:
            body = orjson.loads(answer)
        except orjson.JSONDecodeError:
            body = {"message": response.reason}
        kind = str(body.get("error") or "") if isinstance(body, dict) else ""
        message = server_message(body.get("message") or body if isinstance(body, dict) else body)[0]
        words = f"{kind} {message}"
        worded = (problem for problem, pattern in _WORDING if pattern.search(words))
        theirs = response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        by_class = StoreProblem.UNAVAILABLE if theirs else StoreProblem.INVALID
        problem = next(worded, _STATUSES.get(response.status, by_class))
        return VectorStoreError(problem, shorten(f"{response.status}: {message}", self._secrets))


def _part(name: str) -> str:
    return quote(name, safe="")


def _unreadable() -> VectorStoreError:
    return VectorStoreError(StoreProblem.INVALID, "the server's answer cannot be read")


FINGERPRINT: Final = "home_agent:fingerprint"
HASH: Final = "home_agent:hash"
HOME: Final = "home_agent:home"
SPACE: Final = "hnsw:space"
COSINE: Final = "cosine"
PER_DISTANCE: Final[Mapping[str, float]] = {COSINE: 1.0, "ip": 1.0, "l2": 0.5}
"""By how a collection measures: what a distance takes off the similarity of vectors of length 1."""
BATCH: Final = 100
"""Entries of one request; the server may allow fewer."""
PAGE: Final = 250
MAX_PAGES: Final = 400
NAME_CHARS: Final = 50
HOME_CHARS: Final = 8
"""Characters of the name and of the id of the home in the name of a collection."""


class KnownCollection(NamedTuple):
    """A collection on the server."""

    id: str
    name: str
    fingerprint: str | None
    """None if someone else made it: it is read, never changed."""
    per_distance: float
    home: str = ""
    """The Home Assistant that made it, as far as that is written there."""

    @property
    def path(self) -> str:
        """Return where its entries are."""
        return f"/collections/{self.id}"


class ChromaStore:
    """Implements VectorStore with a server from 0.6 on, over a session that stays the caller's.

    Collections that other programs filled can be searched; they are never written to. The same applies to
    those of another Home Assistant. Where it has taken the name of one of the agent's `own` collections, this
    one gets a name with the id of its `home` behind it.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        address: ChromaAddress,
        *,
        home: str = "",
        own: Collection[str] = (),
    ) -> None:
        self._api = ChromaAPI(session, address)
        self._home = home
        self._own = frozenset(own)
        self._names: dict[str, str] = {}
        """The names on the server of own collections that have another one there."""
        self._known: dict[str, KnownCollection] = {}
        self._batch = BATCH

    async def async_start(self) -> None:
        """Reach the server and the database."""
        self._batch = min(BATCH, await self._api.check())

    async def async_collections(self) -> Mapping[str, str | None]:
        """Return the collections, those of other programs too; they have no fingerprint."""
        found: dict[str, KnownCollection] = {}
        for page in range(MAX_PAGES):
            answer = await self._api.ask("GET", f"/collections?limit={PAGE}&offset={page * PAGE}")
            if not isinstance(answer, list):
                raise _unreadable()
            found.update({known.name: known for known in map(_read_known, answer)})
            if len(answer) < PAGE:
                break
        found = {name: self._judged(known) for name, known in found.items()}
        for collection in self._own if self._home else ():
            other = f"{collection[:NAME_CHARS]}-{self._home[:HOME_CHARS]}"
            taken_by = known.home if (known := found.get(collection)) is not None else ""
            if other in found or taken_by not in ("", self._home):
                self._names[collection] = other
                found.pop(collection, None)
                if (known := found.pop(other, None)) is not None:
                    found[collection] = known
        self._known = found
        return {name: known.fingerprint for name, known in found.items()}

    def _judged(self, known: KnownCollection) -> KnownCollection:
        """Return a collection; that of another home is like that of another program."""
        is_foreign = self._home and known.home and known.home != self._home
        return known._replace(fingerprint=None) if is_foreign else known

    async def async_create(self, collection: str, fingerprint: str) -> None:
        """Make an empty collection; one of ours is emptied. REFUSED where another program filled it."""
        known, name = await self._look_up(collection), self._names.get(collection, collection)
        if known is not None:
            if known.fingerprint is None and await self._api.ask("GET", f"{known.path}/count"):
                raise _foreign(collection)
            self._known.pop(collection, None)
            try:
                await self._api.ask("DELETE", f"/collections/{_part(name)}")
            except VectorStoreError as err:
                if err.problem is not StoreProblem.MISSING:  # someone else has just done it
                    raise
        whose = {HOME: self._home} if self._home else {}
        body = {
            "name": name,
            "metadata": {SPACE: COSINE, FINGERPRINT: fingerprint, **whose},
            "get_or_create": True,
        }
        known = self._judged(_read_known(await self._api.ask("POST", "/collections", body)))
        if known.fingerprint != fingerprint:
            raise VectorStoreError(StoreProblem.INVALID, "somebody else made the collection at the same time")
        self._known[collection] = known

    async def async_hashes(self, collection: str) -> Mapping[str, str]:
        """Return the content hash of each id; it is empty for what other programs put there."""
        hashes: dict[str, str] = {}
        for page in range(MAX_PAGES):
            body = {"include": ["metadatas"], "limit": PAGE, "offset": page * PAGE}
            answer = await self._post(collection, "get", body)
            rows = list(_columns(answer, "ids", "metadatas"))
            hashes.update({str(key): str(_metadata(metadata).get(HASH, "")) for key, metadata in rows})
            if len(rows) < PAGE:
                break
        return hashes

    async def async_upsert(self, collection: str, entries: Sequence[Entry]) -> None:
        """Add or replace entries, a batch at a time."""
        distinct = list({entry.id: entry for entry in entries}.values())
        _check_numbers(entry.vector for entry in distinct)
        for batch in batched(distinct, self._batch, strict=False):
            body = {
                "ids": [entry.id for entry in batch],
                "embeddings": [entry.vector for entry in batch],
                "documents": [entry.text for entry in batch],
                "metadatas": [{**entry.metadata, HASH: entry.content_hash} for entry in batch],
            }
            await self._post(collection, "upsert", body, ours=True)

    async def async_delete(self, collection: str, ids: Collection[str]) -> None:
        """Remove entries, a batch at a time."""
        for batch in batched(dict.fromkeys(ids), self._batch, strict=False):
            await self._post(collection, "delete", {"ids": list(batch)}, ours=True)

    async def async_search(
        self, collection: str, vector: Vector, limit: int, *, made_by: str | None = None
    ) -> list[Hit]:
        """Return the closest entries, best first."""
        if limit < 1:
            return []
        _check_numbers([vector])
        known = await self._find(collection)
        check_maker(known.fingerprint, made_by)
        included = ["documents", "metadatas", "distances"]
        body = {"query_embeddings": [vector], "n_results": limit, "include": included}
        answer = await self._post(collection, "query", body)
        hits: list[Hit] = []
        for key, text, metadata, distance in _columns(answer, "ids", *included, first=True):
            try:
                similarity = min(1.0, max(0.0, 1 - float(distance) * known.per_distance))
            except (TypeError, ValueError) as err:
                raise _unreadable() from err
            kept = {
                name: value
                for name, value in _metadata(metadata).items()
                if name != HASH and value is not None
            }
            hits.append(Hit(id=str(key), text=str(text or ""), similarity=similarity, metadata=kept))
        return sorted(hits, key=lambda hit: -hit.similarity)

    async def async_close(self) -> None:
        """Forget what was learnt; the session is the caller's."""
        self._known.clear()

    async def _post(self, collection: str, verb: str, body: Mapping[str, Any], *, ours: bool = False) -> Any:
        """Send something to a collection; one that somebody made again is looked up the next time."""
        known = await self._find(collection)
        if ours and known.fingerprint is None:
            raise _foreign(collection)
        try:
            return await self._api.ask("POST", f"{known.path}/{verb}", body)
        except VectorStoreError as err:
            if err.problem is StoreProblem.MISSING:
                self._known.pop(collection, None)
            raise

    async def _find(self, collection: str) -> KnownCollection:
        known = self._known.get(collection) or await self._look_up(collection)
        if known is None:
            raise VectorStoreError(StoreProblem.MISSING, f"there is no collection {collection}")
        return known

    async def _look_up(self, collection: str) -> KnownCollection | None:
        self._known.pop(collection, None)
        name = self._names.get(collection, collection)
        try:
            known = self._judged(_read_known(await self._api.ask("GET", f"/collections/{_part(name)}")))
        except VectorStoreError as err:
            if err.problem is StoreProblem.MISSING:
                return None
            raise
        if known.name != name:
            raise _unreadable()
        self._known[collection] = known
        return known


def _check_numbers(vectors: Iterable[Vector]) -> None:
    """Raise VectorStoreError for NaN and infinity: version 0.6 accepts them and then finds nothing."""
    if not all(isfinite(vector.sum()) for vector in vectors):
        raise VectorStoreError(StoreProblem.INVALID, "a vector holds what is no number")


def _space(found: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Return how a collection measures: 0.6 says it in the metadata, 1.0 and later in the configuration."""
    configuration = found.get("configuration_json") or {}
    for index in ("hnsw", "spann"):
        if settings := configuration.get(index):
            return str(settings.get("space") or "l2")
    return str(metadata.get(SPACE) or "l2")


def _read_known(answer: Any) -> KnownCollection:
    try:
        metadata = _metadata(answer.get("metadata"))
        fingerprint = metadata.get(FINGERPRINT)
        return KnownCollection(
            id=quote(str(answer["id"]), safe=""),
            name=str(answer["name"]),
            fingerprint=None if fingerprint is None else str(fingerprint),
            per_distance=PER_DISTANCE.get(_space(answer, metadata), 1.0),
            home=str(metadata.get(HOME) or ""),
        )
    except (LookupError, TypeError, AttributeError) as err:
        raise _unreadable() from err


def _columns(answer: Any, *names: str, first: bool = False) -> list[tuple[Any, ...]]:
    """Return the rows of an answer that has columns, and of its first query if asked for.

    A column may be null.
    """
    try:
        columns = [answer[name] for name in names]
        if first:
            columns = [column and column[0] for column in columns]
        length = len(columns[0])
        return list(zip(*(column or [None] * length for column in columns), strict=True))
    except (LookupError, TypeError, ValueError) as err:
        raise _unreadable() from err


def _metadata(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _foreign(collection: str) -> VectorStoreError:
    detail = f"another program filled the collection {collection}; choose another name"
    return VectorStoreError(StoreProblem.REFUSED, detail)
