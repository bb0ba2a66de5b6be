"""InfluxDB as Home Assistant's own integration fills it: 1.x is asked in InfluxQL, 2.x in Flux.

A point has the tags `domain` and `entity_id` (without the domain), the state as the field `state` or, where
it is a number, `value`, and attributes as fields of their names.
"""

from abc import ABC, abstractmethod
import asyncio
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
import csv
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
import io
from typing import Any, Final, override
from urllib.parse import urlencode

import aiohttp
import orjson
from yarl import URL

from ...inference.models import server_message, shorten
from ...inference.transport import failure
from .recorder import Level, ObservedChange, SourceError

SECONDS: Final = 60
"""For one query and its answer."""
CONNECT_SECONDS: Final = 10
MAX_ANSWER: Final = 32 * 1024 * 1024
"""Bytes."""
MAX_POINTS: Final = 20_000
"""Points of one series."""
STEP: Final = timedelta(minutes=15)
STATE: Final = "state"
TARGET: Final = ("climate", "temperature")
SENSOR: Final = "sensor"


class InfluxTrouble(StrEnum):
    """What is wrong with a server, as far as a person can do something about it."""

    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    MISSING = "missing"
    """There is no such database, bucket or organisation."""
    OTHER = "other"


_STATUSES: Final[Mapping[int, InfluxTrouble]] = {
    HTTPStatus.UNAUTHORIZED: InfluxTrouble.REFUSED,
    HTTPStatus.FORBIDDEN: InfluxTrouble.REFUSED,
    HTTPStatus.NOT_FOUND: InfluxTrouble.MISSING,
}


class InfluxError(SourceError):
    """The server could not be asked. The text is short and holds no key."""

    def __init__(self, trouble: InfluxTrouble, detail: str) -> None:
        super().__init__(f"InfluxDB: {detail}")
        self.trouble = trouble
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluxAddress:
    """The server's address, and the credentials."""

    url: str
    database: str
    """A bucket for 2.x."""
    org: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one entity."""

    at: datetime
    entity_id: str
    value: Any


class InfluxSource(ABC):
    """What both versions share; a subclass speaks the language of its version. Raises InfluxError."""

    knows_who = False

    def __init__(self, session: aiohttp.ClientSession, address: InfluxAddress) -> None:
        self._session = session
        self._address = address
        self._secrets = tuple(secret for secret in (address.password, address.token) if secret)

    @abstractmethod
    async def async_check(self) -> None:
        """Send a minimal query to check the server, the database and the key."""

    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return the changes of entities; the database does not tell who made them."""
        domains = sorted({entity_id.partition(".")[0] for entity_id in entity_ids})
        states = await self._async_points(domains, STATE, start, end) if domains else []
        domain, attribute = TARGET
        targets = await self._async_points([domain], attribute, start, end) if domain in domains else []
        found = [
            *(_change(point, state=str(point.value)) for point in states),
            *(_change(point, target=float(point.value)) for point in targets if _is_number(point.value)),
        ]
        return sorted((item for item in found if item.entity_id in entity_ids), key=lambda item: item.at)

    async def async_levels(
        self, sensors: Mapping[str, float], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return the values of sensors, in steps of a quarter of an hour or longer."""
        if not sensors:
            return {}
        length = max(step, STEP)
        names = sorted(sensors)
        means = _numbers(await self._async_steps(names, "mean", start, end, length))
        highs = _numbers(await self._async_steps(names, "max", start, end, length))
        levels: dict[str, list[Level]] = {}
        for (entity_id, at), mean in sorted(means.items()):
            watts = sensors.get(entity_id)
            if watts is not None:
                high = highs.get((entity_id, at), mean)
                levels.setdefault(entity_id, []).append(Level(at, length, mean * watts, high * watts))
        return levels

    @abstractmethod
    async def _async_points(
        self, domains: Sequence[str], name: str, start: datetime, end: datetime
    ) -> list[Point]:
        """Return the values of one field of all entities of some domains."""

    @abstractmethod
    async def _async_steps(
        self, sensors: Sequence[str], function: str, start: datetime, end: datetime, length: timedelta
    ) -> list[Point]:
        """Return one number for each step and sensor; without new values the last one is repeated."""

    async def _async_send(self, path: str, query: Mapping[str, str], data: bytes, headers: Any) -> bytes:
        url = URL(self._address.url + path).with_query(query)
        try:
            async with (
                asyncio.timeout(SECONDS),
                self._session.post(
                    url,
                    data=data,
                    headers=headers,
                    timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS),
                    allow_redirects=False,
                ) as response,
            ):
                answer = await _read(response)
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as err:
            # The cause may quote headers, which contain the key.
            raise InfluxError(InfluxTrouble.UNREACHABLE, failure(err, self._secrets).detail) from None
        if response.status != HTTPStatus.OK:
            raise self._refusal(response, answer)
        return answer

    def _refusal(self, response: aiohttp.ClientResponse, answer: bytes) -> InfluxError:
        try:
            body = orjson.loads(answer)
        except orjson.JSONDecodeError:
            body = {"message": response.reason}
        message = server_message(body.get("error") or body.get("message") if isinstance(body, dict) else body)
        return self._error(
            _STATUSES.get(response.status, InfluxTrouble.OTHER), f"{response.status}: {message[0]}"
        )

    def _error(self, trouble: InfluxTrouble, detail: str) -> InfluxError:
        return InfluxError(trouble, shorten(detail, self._secrets))


class InfluxQLSource(InfluxSource):
    """Version 1.x."""

    @override
    async def async_check(self) -> None:
        """Ask for something that every database has, and only there is."""
        await self._async_query("SHOW RETENTION POLICIES")

    @override
    async def _async_points(
        self, domains: Sequence[str], name: str, start: datetime, end: datetime
    ) -> list[Point]:
        series = await self._async_query(
            f'SELECT "{name}" FROM /.*/ WHERE {_any_of("domain", domains)} AND {_between(start, end)} '  # noqa: S608
            f'GROUP BY "domain", "entity_id" LIMIT {MAX_POINTS}'
        )
        return [point for one in series for point in _points(one, one["tags"]["domain"])]

    @override
    async def _async_steps(
        self, sensors: Sequence[str], function: str, start: datetime, end: datetime, length: timedelta
    ) -> list[Point]:
        names = [entity_id.partition(".")[2] for entity_id in sensors]
        series = await self._async_query(
            f'SELECT {function}("value") FROM /.*/ WHERE "domain" = {_text(SENSOR)} '  # noqa: S608 - quoted
            f"AND {_any_of('entity_id', names)} AND {_between(start, end)} "
            f'GROUP BY time({int(length.total_seconds())}s), "entity_id" fill(previous) LIMIT {MAX_POINTS}'
        )
        return [point for one in series for point in _points(one, SENSOR)]

    async def _async_query(self, query: str) -> list[dict[str, Any]]:
        address = self._address
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if address.username:
            pair = b64encode(f"{address.username}:{address.password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        data = urlencode({"q": query, "db": address.database, "epoch": "ms"}).encode()
        answer = await self._async_send("/query", {}, data, headers)
        try:
            (result,) = orjson.loads(answer)["results"]
            series = result.get("series", [])
        except orjson.JSONDecodeError, LookupError, TypeError, ValueError, AttributeError:
            raise self._error(
                InfluxTrouble.OTHER, "the answer is not that of a server of version 1"
            ) from None
        if problem := result.get("error"):
            trouble = InfluxTrouble.MISSING if "not found" in str(problem) else InfluxTrouble.OTHER
            raise self._error(trouble, str(problem))
        return list(series)


class FluxSource(InfluxSource):
    """Version 2.x."""

    @override
    async def async_check(self) -> None:
        """Ask for a point of the last minute."""
        bucket = _flux(self._address.database)
        await self._async_query(f"from(bucket: {bucket}) |> range(start: -1m) |> limit(n: 1)")

    @override
    async def _async_points(
        self, domains: Sequence[str], name: str, start: datetime, end: datetime
    ) -> list[Point]:
        rows = await self._async_query(
            self._selected({"domain": domains, "_field": [name]}, start, end)
            + f' |> keep(columns: ["_time", "_value", "domain", "entity_id"]) |> limit(n: {MAX_POINTS})'
        )
        return [point for row in rows for point in _row_points(row, numeric=name != STATE)]

    @override
    async def _async_steps(
        self, sensors: Sequence[str], function: str, start: datetime, end: datetime, length: timedelta
    ) -> list[Point]:
        names = [entity_id.partition(".")[2] for entity_id in sensors]
        rows = await self._async_query(
            self._selected({"domain": [SENSOR], "entity_id": names, "_field": ["value"]}, start, end)
            + f' |> aggregateWindow(every: {int(length.total_seconds())}s, fn: {function}, timeSrc: "_start")'
            ' |> fill(usePrevious: true) |> keep(columns: ["_time", "_value", "domain", "entity_id"])'
        )
        return [point for row in rows for point in _row_points(row, numeric=True)]

    def _selected(self, wanted: Mapping[str, Iterable[str]], start: datetime, end: datetime) -> str:
        conditions = " and ".join(
            "(" + " or ".join(f"r[{_flux(column)}] == {_flux(value)}" for value in values) + ")"
            for column, values in wanted.items()
        )
        return (
            f"from(bucket: {_flux(self._address.database)}) |> range(start: {_rfc(start)}, stop: {_rfc(end)})"
            f" |> filter(fn: (r) => {conditions})"
        )

    async def _async_query(self, query: str) -> list[dict[str, str]]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/csv",
            "Authorization": f"Token {self._address.token}",
        }
        dialect = {"header": True, "annotations": []}
        body = orjson.dumps({"query": query, "type": "flux", "dialect": dialect})
        answer = await self._async_send("/api/v2/query", {"org": self._address.org}, body, headers)
        rows = _read_tables(answer.decode(errors="replace"))
        if problem := next((row["error"] for row in rows if row.get("error")), None):
            raise self._error(InfluxTrouble.OTHER, problem)
        return rows


def _read_tables(text: str) -> list[dict[str, str]]:
    """Return the rows of an answer: tables of several shapes, each with a header after an empty line."""
    rows: list[dict[str, str]] = []
    header: list[str] | None = None
    for line in csv.reader(io.StringIO(text)):
        if not any(line):
            header = None
        elif header is None:
            header = line
        else:
            rows.append(dict(zip(header, line, strict=False)))
    return rows


def _row_points(row: Mapping[str, str], *, numeric: bool) -> list[Point]:
    """Return the point of a row; None if it is invalid."""
    try:
        value = float(row["_value"]) if numeric else row["_value"]
        return [Point(datetime.fromisoformat(row["_time"]), f"{row['domain']}.{row['entity_id']}", value)]
    except LookupError, ValueError:
        return []


def _points(series: Mapping[str, Any], domain: str) -> list[Point]:
    entity_id = f"{domain}.{series['tags']['entity_id']}"
    return [
        Point(datetime.fromtimestamp(milliseconds / 1000, UTC), entity_id, value)
        for milliseconds, value in series["values"]
        if value is not None
    ]


def _change(point: Point, *, state: str | None = None, target: float | None = None) -> ObservedChange:
    """Return the change of a point, without the previous state."""
    return ObservedChange(at=point.at, entity_id=point.entity_id, state=state, target=target, follows=False)


def _numbers(points: Iterable[Point]) -> dict[tuple[str, datetime], float]:
    return {(point.entity_id, point.at): point.value for point in points if _is_number(point.value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _any_of(tag: str, values: Iterable[str]) -> str:
    return "(" + " OR ".join(f'"{tag}" = {_text(value)}' for value in values) + ")"


def _between(start: datetime, end: datetime) -> str:
    return f"time >= {int(start.timestamp() * 1000)}ms AND time < {int(end.timestamp() * 1000)}ms"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"'{escaped}'"


def _flux(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("${", "\\${").replace("\n", " ")
    return f'"{escaped}"'


def _rfc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER:
            raise InfluxError(InfluxTrouble.OTHER, "the answer is too large")
    return bytes(body)
