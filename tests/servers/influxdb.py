"""InfluxDB for tests: the real 1.x that scripts/test has installed, and a stand-in for 2.x."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
import json
import os
from pathlib import Path
import re
from typing import Any, Self, override
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen
import uuid

from scripts.lib.processes import free_port

from .loopback import Captured, LoopbackServer, Rendered
from .process import ServerProcess
from .replies import Reply

PROGRAM_VARIABLE = "HOME_AGENT_INFLUXDB"
ADMIN, PASSWORD = "admin", "wrench-and-hammer"
READER, READER_PASSWORD = "reader", "only reads 'this'"
TOKEN = "token-of-the-household-0123456789"
CONFIGURATION = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  auth-enabled = true
  log-enabled = false
"""


def program() -> Path | None:
    cache = Path(os.environ.get("HOME_AGENT_CACHE") or Path(__file__).parents[2] / ".cache")
    found = Path(os.environ.get(PROGRAM_VARIABLE) or cache / "influxdb/usr/bin/influxd")
    return found if found.exists() else None


@dataclass(frozen=True, slots=True)
class Written:
    """A field of a point as Home Assistant's integration writes it."""

    at: datetime
    measurement: str
    entity_id: str
    name: str
    value: str | float

    @property
    def line(self) -> str:
        domain, _, object_id = self.entity_id.partition(".")
        value = f'"{self.value}"' if isinstance(self.value, str) else self.value
        moment = int(self.at.timestamp())
        return f"{self.measurement},domain={domain},entity_id={object_id} {self.name}={value} {moment}"


class InfluxServer:
    """A server of version 1 with a folder of its own, an administrator and somebody who may only read."""

    def __init__(self, installed: Path, folder: Path) -> None:
        self.port, rpc = free_port(), free_port()
        configuration = folder / "influxd.conf"
        configuration.write_text(CONFIGURATION.format(folder=folder, port=self.port, rpc=rpc))
        command = [str(installed), "run", "-config", str(configuration)]
        self._process = ServerProcess(command, log=folder / "influxd.log", answers=self._answers)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._process.start()
        self._send({}, f"CREATE USER {ADMIN} WITH PASSWORD '{PASSWORD}' WITH ALL PRIVILEGES")
        quoted = READER_PASSWORD.replace("'", "\\'")
        self.ask(f"CREATE USER {READER} WITH PASSWORD '{quoted}'")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def new_database(self) -> str:
        """Return the name of a database that nobody has used, which the reader may read."""
        name = f"house_{uuid.uuid4().hex}"
        self.ask(f'CREATE DATABASE "{name}"')
        self.ask(f'GRANT READ ON "{name}" TO {READER}')
        return name

    def write(self, database: str, written: Iterable[Written]) -> None:
        body = "\n".join(item.line for item in written).encode()
        query = urlencode({"db": database, "precision": "s", "u": ADMIN, "p": PASSWORD})
        with urlopen(Request(f"http://127.0.0.1:{self.port}/write?{query}", body), timeout=30) as answer:
            assert answer.status == 204

    def ask(self, query: str) -> Any:
        """Return the answer to a query of the administrator's."""
        return self._send({"u": ADMIN, "p": PASSWORD}, query)

    def _send(self, who: dict[str, str], query: str) -> Any:
        url = f"http://127.0.0.1:{self.port}/query?{urlencode(who)}"
        with urlopen(Request(url, urlencode({"q": query}).encode()), timeout=30) as answer:
            return json.loads(answer.read())

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=5):
                return True
        except HTTPError:
            return True
        except URLError:
            return False


class InfluxStandIn(LoopbackServer):
    """Understands the Flux that is asked of it, over the points it was given."""

    def __init__(self) -> None:
        super().__init__()
        self._series: dict[tuple[str, str], list[tuple[datetime, Any]]] = {}
        self.bucket, self.org = "home", "berg"
        self.answer: Reply | None = None

    def write(self, written: Iterable[Written]) -> None:
        for item in sorted(written, key=lambda item: item.at):
            points = self._series.setdefault((item.entity_id, item.name), [])
            points.append((item.at.astimezone(UTC), item.value))

    @override
    def choose(self, request: Captured) -> Reply:
        """Answer a query, or refuse it as the real one does."""
        if self.answer is not None:
            return self.answer
        if request.headers.get("authorization") != f"Token {TOKEN}":
            return _refusal(401, "unauthorized", "unauthorized access")
        flux = request.json["query"]
        if request.query != f"org={self.org}":
            return _refusal(404, "not found", "organization name not found")
        if f'from(bucket: "{self.bucket}")' not in flux:
            return _refusal(404, "not found", "could not find bucket")
        return Reply(body=self._select(flux).encode(), content_type="text/csv; charset=utf-8")

    @override
    def render(self, request: Captured, reply: Reply) -> Rendered:
        """Return the reply as it is."""
        return Rendered(reply.content_type, whole=reply.body or b"{}")

    def _select(self, flux: str) -> str:
        """Return the points that a query selects, as CSV with one table for each entity."""
        found = re.search(r"range\(start: (\S+), stop: (\S+)\)", flux)
        if found is None:
            return "\r\n"
        start, stop = (datetime.fromisoformat(text) for text in found.groups())
        wanted = {
            column: set(re.findall(rf'r\["{column}"\] == "([^"]*)"', flux)) for column in ("domain", "_field")
        }
        series: dict[str, list[tuple[datetime, Any]]] = {}
        for (entity_id, name), points in self._series.items():
            if entity_id.partition(".")[0] in wanted["domain"] and name in wanted["_field"]:
                low, high = (bisect_left(points, moment, key=_moment) for moment in (start, stop))
                if low < high:
                    series[entity_id] = points[low:high]
        return "\r\n".join(_table(number, key, points) for number, (key, points) in enumerate(series.items()))


def _moment(point: tuple[datetime, Any]) -> datetime:
    return point[0]


def _table(number: int, entity_id: str, points: list[tuple[datetime, Any]]) -> str:
    domain, _, object_id = entity_id.partition(".")
    rows = [
        f",_result,{number},{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ},{value},{domain},{object_id}"
        for moment, value in points
    ]
    return "\r\n".join([",result,table,_time,_value,domain,entity_id", *rows, ""])


def _refusal(status: int, code: str, message: str) -> Reply:
    return Reply(status=status, body=json.dumps({"code": code, "message": message}).encode())
