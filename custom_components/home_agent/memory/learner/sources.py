"""Where actions are read from: the recorder's database, or InfluxDB as Home Assistant fills it.

The recorder knows who did what, and what was drawn. InfluxDB 1.x is asked in InfluxQL, 2.x in Flux; a point
has the tags `domain` and `entity_id` (without the domain), the state as the field `state`, and attributes as
fields of their names.
"""

from abc import abstractmethod
import asyncio
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
import csv
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from http import HTTPStatus
import io
from itertools import batched
import json
from typing import TYPE_CHECKING, Any, Final, override
from urllib.parse import urlencode

import aiohttp
import orjson
from yarl import URL

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads_object

from ...const import (
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
    CONF_INFLUX_URL,
    CONF_INFLUX_USERNAME,
    CONF_INFLUX_VERSION,
    INFLUX_1,
)
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


MAX_ROWS: Final = 20_000
"""Rows of one reading; further ones, as of a chatty thermostat, are left out."""
MAX_IDS: Final = 400
"""Entities of one query, below the limit of SQLite."""
WITH_TARGET: Final = "climate."
HOUR: Final = timedelta(hours=1)
FINE: Final = timedelta(minutes=5)
MACHINES: Final = ("automation_triggered", "script_started")
"""Events that begin actions without a person."""


class ObservationSource:
    """What the recorder knows. Every method raises SourceError."""

    knows_who = True
    """Whether the source distinguishes people from automations."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass

    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return the changes of entities from `start` to before `end`, in order."""
        return await self._async_run(_read_changes, sorted(entity_ids), start, end)

    async def async_levels(
        self, sensors: Collection[str], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return statistics of power sensors: of five minutes where there are some, else of hours."""

        def read(hass: HomeAssistant) -> dict[str, list[Level]]:
            hours = _statistics(hass, set(sensors), start, end, HOUR)
            fine = _statistics(hass, set(sensors), start, end, FINE) if step < HOUR else {}
            for key, rows in fine.items():
                if rows:
                    hours[key] = [*(one for one in hours.get(key, ()) if one.start < rows[0].start), *rows]
            return hours

        return await self._async_run(read) if sensors else {}

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
STATE: Final = "state"
INFLUX_TARGET: Final = ("climate", "temperature")

type Point = tuple[datetime, str, Any]
"""When, the entity id, and the value."""


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


class InfluxSource(ObservationSource):
    """Changes from InfluxDB, and statistics from the recorder. Raises InfluxError.

    A subclass speaks the language of its version.
    """

    knows_who = False

    def __init__(self, hass: HomeAssistant, settings: Mapping[str, Any]) -> None:
        super().__init__(hass)
        self._settings = settings
        keys = (settings[CONF_INFLUX_PASSWORD], settings[CONF_INFLUX_TOKEN])
        self._secrets = tuple(filter(None, keys))

    async def async_check(self) -> None:
        """Ask for the last minute, to check the server, the database and the key."""
        now = dt_util.utcnow()
        await self._async_points(["light"], STATE, now - timedelta(minutes=1), now)

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
        changes = [
            *(change(at=at, entity_id=key, state=str(value)) for at, key, value in states),
            *(
                change(at=at, entity_id=key, target=float(value))
                for at, key, value in targets
                if isinstance(value, int | float)
            ),
        ]
        return sorted((one for one in changes if one.entity_id in entity_ids), key=lambda one: one.at)

    @override
    async def async_levels(
        self, sensors: Collection[str], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return the recorder's statistics of power sensors, as far as there is a recorder."""
        try:
            return await super().async_levels(sensors, start, end, step)
        except SourceError:
            return {}

    @abstractmethod
    async def _async_points(
        self, domains: Sequence[str], name: str, start: datetime, end: datetime
    ) -> list[Point]:
        """Return the values of one field of all entities of some domains."""

    async def _async_send(self, path: str, query: Mapping[str, str], data: bytes, headers: Any) -> bytes:
        url = URL(self._settings[CONF_INFLUX_URL] + path).with_query(query)
        try:
            async with asyncio.timeout(SECONDS):
                response, answer = await fetch(
                    async_get_clientsession(self._hass),
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
    async def _async_points(
        self, domains: Sequence[str], name: str, start: datetime, end: datetime
    ) -> list[Point]:
        wanted = " OR ".join(f"\"domain\" = '{domain}'" for domain in domains)
        between = f"time >= {_milliseconds(start)}ms AND time < {_milliseconds(end)}ms"
        query = (
            f'SELECT "{name}" FROM /.*/ WHERE ({wanted}) AND {between} '  # noqa: S608 - names of our own
            f'GROUP BY "domain", "entity_id" LIMIT {MAX_POINTS}'
        )
        settings = self._settings
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if user := settings[CONF_INFLUX_USERNAME]:
            pair = b64encode(f"{user}:{settings[CONF_INFLUX_PASSWORD]}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        data = urlencode({"q": query, "db": settings[CONF_INFLUX_DATABASE], "epoch": "ms"}).encode()
        answer = await self._async_send("/query", {}, data, headers)
        try:
            (result,) = orjson.loads(answer)["results"]
            if problem := result.get("error"):
                trouble = InfluxTrouble.MISSING if "not found" in str(problem) else InfluxTrouble.OTHER
                raise self._error(trouble, str(problem))
            return [
                (
                    dt_util.utc_from_timestamp(milliseconds / 1000),
                    "{domain}.{entity_id}".format(**tags),
                    value,
                )
                for series in result.get("series", ())
                for tags in (series["tags"],)
                for milliseconds, value in series["values"]
                if value is not None
            ]
        except orjson.JSONDecodeError, LookupError, TypeError, ValueError, AttributeError:
            raise self._error(
                InfluxTrouble.OTHER, "the answer is not that of a server of version 1"
            ) from None


class FluxSource(InfluxSource):
    """Version 2.x."""

    @override
    async def _async_points(
        self, domains: Sequence[str], name: str, start: datetime, end: datetime
    ) -> list[Point]:
        wanted = " or ".join(f'r["domain"] == "{domain}"' for domain in domains)
        bucket = json.dumps(self._settings[CONF_INFLUX_DATABASE], ensure_ascii=False).replace("${", "\\${")
        query = (
            f"from(bucket: {bucket}) |> range(start: {_rfc(start)}, stop: {_rfc(end)})"
            f' |> filter(fn: (r) => ({wanted}) and (r["_field"] == "{name}"))'
            f' |> keep(columns: ["_time", "_value", "domain", "entity_id"]) |> limit(n: {MAX_POINTS})'
        )
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/csv",
            "Authorization": f"Token {self._settings[CONF_INFLUX_TOKEN]}",
        }
        dialect = {"header": True, "annotations": []}
        body = orjson.dumps({"query": query, "type": "flux", "dialect": dialect})
        org = {"org": self._settings[CONF_INFLUX_ORG]}
        answer = await self._async_send("/api/v2/query", org, body, headers)
        # Tables of several shapes, each with a header after an empty line.
        points: list[Point] = []
        header: list[str] | None = None
        for line in csv.reader(io.StringIO(answer.decode(errors="replace"))):
            if header is None or not any(line):
                header = line if any(line) else None
                continue
            row = dict(zip(header, line, strict=False))
            if problem := row.get("error"):
                raise self._error(InfluxTrouble.OTHER, problem)
            with suppress(LookupError, ValueError):
                value = row["_value"] if name == STATE else float(row["_value"])
                entity_id = f"{row['domain']}.{row['entity_id']}"
                points.append((datetime.fromisoformat(row["_time"]), entity_id, value))
        return points


def influx_source(hass: HomeAssistant, settings: Mapping[str, Any]) -> InfluxSource:
    """Return the InfluxDB that the options name."""
    kind = InfluxQLSource if settings[CONF_INFLUX_VERSION] == INFLUX_1 else FluxSource
    return kind(hass, settings)


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _rfc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
