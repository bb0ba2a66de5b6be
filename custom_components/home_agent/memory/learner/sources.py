"""Where actions and power are read from: the recorder's database, or InfluxDB as Home Assistant fills it.

The recorder knows who did what. InfluxDB 1.x is asked in InfluxQL, 2.x in Flux; a point has the tags `domain`
and `entity_id` (without the domain), the state as the field `state` or, where it is a number, `value`, and
attributes as fields of their names.
"""

from abc import ABC, abstractmethod
import asyncio
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
import csv
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from http import HTTPStatus
import io
from itertools import batched
from typing import TYPE_CHECKING, Any, Final, override
from urllib.parse import urlencode

import aiohttp
import orjson
from yarl import URL

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads_object

from ...database import DatabaseError, async_read_database
from ...domains import DOMAINS
from ...inference.models import server_message, shorten
from ...inference.transport import failure, fetch
from .habits import TARGET, Observation

if TYPE_CHECKING:
    from sqlalchemy import Row, Select


MIN_WATTS: Final = 20.0
"""What something draws at least while it is in use."""
APART: Final = 5.0
"""The least ratio between the power in use and at rest."""
OF_RANGE: Final = 0.2
"""Fraction between the power at rest and in use from which it counts as in use."""
MAX_SHARE_IN_USE: Final = 0.25
"""Share of the hours; what runs longer works on its own: fridges, heat pumps, solar panels."""
MIN_HOURS: Final = 3 * 24
PAUSE: Final = timedelta(hours=1)
"""A shorter pause of a machine belongs to the same run."""
SEEN_OFTEN: Final = 4
"""The highest of so many hours are ignored as peaks."""
UNKNOWN: Final = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN, ""})
NOTHING: Final = "-"
"""Noted for a state that people do not cause on purpose, like a vacuum that returns to its dock."""
LOST: Final = ""
"""Recorded if the state was lost: the next state is not an action, as it may have existed before."""


@dataclass(frozen=True, slots=True)
class Level:
    """What something drew during a step of time, in watts."""

    start: datetime
    length: timedelta
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Power:
    """What something draws at rest, and from where on it is in use; in watts."""

    rest: float
    threshold: float


def read_power(hours: Sequence[Level]) -> Power | None:
    """Return how use shows in hours of several weeks; None if it does not."""
    if len(hours) < MIN_HOURS:
        return None
    highs = sorted(hour.high for hour in hours)
    rest, top = max(highs[len(highs) // 10], 0.0), highs[-SEEN_OFTEN]
    if top < max(MIN_WATTS, APART * rest):
        return None
    threshold = rest + OF_RANGE * (top - rest)
    share = sum(high >= threshold for high in highs) / len(highs)
    return Power(rest, threshold) if share <= MAX_SHARE_IN_USE else None


def starts(levels: Sequence[Level], power: Power) -> Iterator[datetime]:
    """Yield when something began to be used."""
    used_until: datetime | None = None
    for level in levels:
        if level.high < power.threshold:
            continue
        if used_until is not None and level.start - used_until < PAUSE:
            used_until = level.start + level.length
            continue
        used_until = level.start + level.length
        share = (level.mean - power.rest) / max(level.high - power.rest, 1.0)
        yield level.start + level.length * (1 - min(max(share, 0.0), 1.0))


def watched_domains() -> list[str]:
    """Return the domains in which a person can do something."""
    return [facts.name for facts in DOMAINS.values() if facts.acts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChange:
    """A state as a source reports it; each source reports those of an entity in order."""

    at: datetime
    entity_id: str
    state: str | None = None
    """None if only the target is reported."""
    target: float | None = None
    """The target temperature of a thermostat."""
    user_id: str | None = None
    by_machine: bool = False
    """An automation or a script did it."""
    follows: bool = True
    """Something else was recorded before. False where the source cannot tell."""


def acts(changes: Iterable[ObservedChange], last: MutableMapping[str, str]) -> Iterator[Observation]:
    """Yield the actions of users; `last` has the last value of each entity and is updated."""
    for change in changes:
        values: dict[str, str] = {}
        if change.state is not None:
            values[change.entity_id] = _value(change.entity_id.partition(".")[0], change.state)
        if change.state in UNKNOWN:
            values[f"{change.entity_id} target"] = LOST
        elif change.target is not None:
            values[f"{change.entity_id} target"] = TARGET.format(degrees=change.target)
        for track, value in values.items():
            before = last.get(track)
            last[track] = value
            if value in (before, LOST, NOTHING) or before == LOST or change.by_machine:
                continue
            if before is not None or change.follows:
                yield Observation(change.at, change.entity_id, value, change.user_id)


def _value(domain: str, state: str) -> str:
    if state in UNKNOWN:
        return LOST
    facts = DOMAINS[domain]
    return facts.acts.get(state) or (facts.other_act or NOTHING).format(state=state)


class SourceError(Exception):
    """A source cannot be read. The text says why in one line, without keys."""


class ObservationSource(ABC):
    """A source of events. Every method raises SourceError."""

    knows_who: bool
    """Whether the source distinguishes people from automations."""

    @abstractmethod
    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return the changes of entities from `start` to before `end`, in order."""

    @abstractmethod
    async def async_levels(
        self, sensors: Mapping[str, float], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return the values of sensors, in steps of this length or longer.

        `sensors` maps each sensor to the number of watts of its unit.
        """


MAX_ROWS: Final = 20_000
"""Rows of one reading; further ones, as of a chatty thermostat, are left out."""
MAX_IDS: Final = 400
"""Entities of one query, below the limit of SQLite."""
WITH_TARGET: Final = "climate."
HOUR: Final = timedelta(hours=1)
FINE: Final = timedelta(minutes=5)
MACHINES: Final = ("automation_triggered", "script_started")
"""Events that begin actions without a person."""


class RecorderSource(ObservationSource):
    """Reads the recorder's database, in its own threads."""

    knows_who = True

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass

    @override
    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return who changed which of these entities. Raises SourceError."""
        return await self._async_run(_read_changes, sorted(entity_ids), start, end)

    @override
    async def async_levels(
        self, sensors: Mapping[str, float], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return statistics of sensors: of five minutes where there are some, else of hours."""
        if not sensors:
            return {}

        def read(hass: HomeAssistant) -> dict[str, list[Level]]:
            """Read the statistics; runs in the recorder's executor."""
            hours = _statistics(hass, set(sensors), start, end, HOUR)
            fine = _statistics(hass, set(sensors), start, end, FINE) if step < HOUR else {}
            for key, rows in fine.items():
                if rows:
                    hours[key] = [*(one for one in hours.get(key, ()) if one.start < rows[0].start), *rows]
            return hours

        return await self._async_run(read)

    async def _async_run[T](self, read: Callable[..., T], *args: Any) -> T:
        try:
            return await async_read_database(self._hass, read, self._hass, *args)
        except DatabaseError as err:
            raise SourceError(str(err)) from err


def _read_changes(
    hass: HomeAssistant, entity_ids: Sequence[str], start: datetime, end: datetime
) -> list[ObservedChange]:
    """Return the changes of some entities; runs in the recorder's executor."""
    from sqlalchemy import select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import Events, EventTypes  # noqa: PLC0415

    begun = start - timedelta(hours=1)  # actions that began shortly before may still run
    by_machines = (
        select(Events.context_id_bin)
        .join(EventTypes, Events.event_type_id == EventTypes.event_type_id)
        .where(EventTypes.event_type.in_(MACHINES))
        .where(Events.time_fired_ts >= begun.timestamp())
        .where(Events.time_fired_ts < end.timestamp())
        .limit(MAX_ROWS)
    )
    changes: list[ObservedChange] = []
    with session_scope(hass=hass, read_only=True) as session:
        machines = {row[0] for row in session.execute(by_machines)}
        for with_target in (False, True):
            wanted = [key for key in entity_ids if key.startswith(WITH_TARGET) is with_target]
            for some in batched(wanted, MAX_IDS, strict=False):
                rows = session.execute(_select_states(some, start, end, with_target=with_target))
                for row in rows:
                    changes += _changes(row, machines)
    return sorted(changes, key=lambda change: change.at)


def _select_states(
    entity_ids: Sequence[str], start: datetime, end: datetime, *, with_target: bool
) -> Select[Any]:
    """Return the query for the changes of entities; attributes are read only where the target is in them."""
    from sqlalchemy import or_, select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import (  # noqa: PLC0415
        StateAttributes,
        States,
        StatesMeta,
    )

    query = (
        select(
            StatesMeta.entity_id,
            States.state,
            States.last_updated_ts,
            States.old_state_id,
            States.context_id_bin,
            States.context_user_id_bin,
            States.context_parent_id_bin,
            *((StateAttributes.shared_attrs,) if with_target else ()),
        )
        .join(StatesMeta, States.metadata_id == StatesMeta.metadata_id)
        .where(StatesMeta.entity_id.in_(entity_ids))
        .where(States.last_updated_ts >= start.timestamp())
        .where(States.last_updated_ts < end.timestamp())
        .order_by(States.last_updated_ts)
        .limit(MAX_ROWS)
    )
    if with_target:
        return query.outerjoin(StateAttributes, States.attributes_id == StateAttributes.attributes_id)
    changed = States.last_changed_ts
    return query.where(or_(changed.is_(None), changed == States.last_updated_ts))


def _changes(row: Row[Any], machines: Collection[bytes | None]) -> Iterator[ObservedChange]:
    """Yield the change of a row; the first state after a start was not caused by anyone."""
    from homeassistant.components.recorder.models import bytes_to_uuid_hex_or_none  # noqa: PLC0415

    at, target = dt_util.utc_from_timestamp(row.last_updated_ts), None
    if (text := getattr(row, "shared_attrs", None)) and row.state not in UNKNOWN:
        with suppress(*JSON_DECODE_EXCEPTIONS):
            target = json_loads_object(text).get("temperature")
    if row.old_state_id is None:
        yield ObservedChange(at=at, entity_id=row.entity_id, state="unavailable")
    yield ObservedChange(
        at=at,
        entity_id=row.entity_id,
        state=row.state or "",
        target=float(target) if isinstance(target, int | float) else None,
        user_id=bytes_to_uuid_hex_or_none(row.context_user_id_bin),
        by_machine=row.context_parent_id_bin is not None or row.context_id_bin in machines,
    )


def _statistics(
    hass: HomeAssistant, sensors: set[str], start: datetime, end: datetime, length: timedelta
) -> dict[str, list[Level]]:
    from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

    rows = statistics_during_period(
        hass, start, end, sensors, "hour" if length == HOUR else "5minute", {"power": "W"}, {"mean", "max"}
    )
    return {
        key: [
            Level(dt_util.utc_from_timestamp(row["start"]), length, mean, mean if high is None else high)
            for row in found
            if (mean := row.get("mean")) is not None
            for high in (row.get("max"),)
        ]
        for key, found in rows.items()
    }


SECONDS: Final = 60
"""For one query and its answer."""
CONNECT_SECONDS: Final = 10
MAX_ANSWER: Final = 32 * 1024 * 1024
"""Bytes."""
MAX_POINTS: Final = 20_000
"""Points of one series."""
STEP: Final = timedelta(minutes=15)
STATE: Final = "state"
INFLUX_TARGET: Final = ("climate", "temperature")
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


class InfluxSource(ObservationSource):
    """What both versions share; a subclass speaks the language of its version. Raises InfluxError."""

    knows_who = False

    def __init__(self, session: aiohttp.ClientSession, address: InfluxAddress) -> None:
        self._session = session
        self._address = address
        self._secrets = tuple(secret for secret in (address.password, address.token) if secret)

    @abstractmethod
    async def async_check(self) -> None:
        """Send a minimal query to check the server, the database and the key."""

    @override
    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return the changes of entities; the database does not tell who made them."""
        domains = sorted({entity_id.partition(".")[0] for entity_id in entity_ids})
        states = await self._async_points(domains, STATE, start, end) if domains else []
        domain, attribute = INFLUX_TARGET
        targets = await self._async_points([domain], attribute, start, end) if domain in domains else []
        change = partial(ObservedChange, follows=False)  # what was before is not known
        found = [
            *(change(at=point.at, entity_id=point.entity_id, state=str(point.value)) for point in states),
            *(
                change(at=point.at, entity_id=point.entity_id, target=float(point.value))
                for point in targets
                if _is_number(point.value)
            ),
        ]
        return sorted((item for item in found if item.entity_id in entity_ids), key=lambda item: item.at)

    @override
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
            async with asyncio.timeout(SECONDS):
                response, answer = await fetch(
                    self._session,
                    "POST",
                    url,
                    data=data,
                    headers=headers,
                    connect_seconds=CONNECT_SECONDS,
                    most=MAX_ANSWER,
                )
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as err:
            # The cause may quote headers, which contain the key.
            raise InfluxError(InfluxTrouble.UNREACHABLE, failure(err, self._secrets).detail) from None
        if response.status != HTTPStatus.OK:
            try:
                message = server_message(orjson.loads(answer))[0]
            except orjson.JSONDecodeError:
                message = response.reason or ""
            trouble = _STATUSES.get(response.status, InfluxTrouble.OTHER)
            raise self._error(trouble, f"{response.status}: {message}")
        return answer

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
        # Tables of several shapes, each with a header after an empty line.
        rows: list[dict[str, str]] = []
        header: list[str] | None = None
        for line in csv.reader(io.StringIO(answer.decode(errors="replace"))):
            if not any(line):
                header = None
            elif header is None:
                header = line
            else:
                rows.append(dict(zip(header, line, strict=False)))
        if problem := next((row["error"] for row in rows if row.get("error")), None):
            raise self._error(InfluxTrouble.OTHER, problem)
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
