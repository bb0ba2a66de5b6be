"""Real Chroma servers on loopback, which scripts/test has installed."""

import json
import os
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
import uuid

from custom_components.home_agent.vector.chroma import ChromaAddress
from scripts.lib.processes import free_port

from .process import ServerProcess

PROGRAMS_VARIABLE = "HOME_AGENT_CHROMA"
TENANT = "default_tenant"


def programs() -> list[Path]:
    """Return the servers to test with: those that are named, or the newest in the cache."""
    if named := os.environ.get(PROGRAMS_VARIABLE):
        return [Path(name) for name in named.split(":")]
    cache = Path(os.environ.get("HOME_AGENT_CACHE") or Path(__file__).parents[2] / ".cache")
    return sorted(cache.glob("chroma-*/bin/chroma"))[-1:]


def name_of(program: Path) -> str:
    """Return the name of a server's environment, which holds its version."""
    return program.parents[1].name


class ChromaServer:
    """A server with a folder of its own. It says nothing to anybody but us."""

    def __init__(self, program: Path, folder: Path, environment: dict[str, str] | None = None) -> None:
        self.program = program
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            str(program),
            "run",
            "--path",
            str(folder),
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        self._process = ServerProcess(
            command,
            log=folder.with_suffix(".log"),
            answers=self._answers,
            folder=folder.parent,
            environment={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "ANONYMIZED_TELEMETRY": "False",
                **(environment or {}),
            },
        )

    @property
    def is_old(self) -> bool:
        """Tell whether this is a server from before 1.0."""
        return name_of(self.program).startswith("chroma-0")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start and return once it answers."""
        self._process.start()

    def stop(self) -> None:
        """End the process; what it holds stays in its folder."""
        self._process.stop()

    def _answers(self) -> bool:
        try:
            self.ask("GET", "/heartbeat")
        except URLError:
            return False
        return True

    def new_database(self, **settings: Any) -> ChromaAddress:
        """Return the address of a database that nobody has used."""
        name = f"test-{uuid.uuid4().hex}"
        self.ask("POST", f"/tenants/{TENANT}/databases", {"name": name}, settings.get("token", ""))
        return ChromaAddress(host="127.0.0.1", port=self.port, database=name, **settings)

    def ask(self, method: str, path: str, body: Any = None, token: str = "") -> Any:
        """Return the answer to a request that the code under test has no part in. Raises URLError."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.port}/api/v2{path}"
        try:
            with urlopen(Request(url, data, headers, method=method), timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except HTTPError as err:
            raise AssertionError(f"{method} {path}: {err.code} {err.read()[:300]!r}") from err

    def fill(
        self,
        address: ChromaAddress,
        name: str,
        entries: dict[str, Any],
        *,
        metadata: dict[str, Any] | None = None,
        configuration: dict[str, Any] | None = None,
    ) -> None:
        """Fill a collection as another program does."""
        root = f"/tenants/{TENANT}/databases/{address.database}/collections"
        settings = {"configuration": configuration} if configuration else {}
        made = self.ask("POST", root, {"name": name, "metadata": metadata, **settings})
        self.ask("POST", f"{root}/{made['id']}/add", entries)

    def names(self, address: ChromaAddress) -> list[str]:
        root = f"/tenants/{TENANT}/databases/{address.database}/collections"
        return sorted(str(found["name"]) for found in self.ask("GET", root))

    def count(self, address: ChromaAddress, name: str) -> int:
        """Return how many entries a collection has."""
        root = f"/tenants/{TENANT}/databases/{address.database}/collections"
        made = self.ask("GET", f"{root}/{name}")
        return int(self.ask("GET", f"{root}/{made['id']}/count"))


class ChromaServers:
    """The servers of one test run, each started when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[Path, ChromaServer] = {}

    def get(self, program: Path) -> ChromaServer:
        if program not in self._running:
            server = self._running[program] = ChromaServer(program, self._folder / name_of(program))
            server.start()
        return self._running[program]

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()
