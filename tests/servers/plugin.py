"""Fixtures of the servers that tests speak to."""

from collections.abc import Iterator

import pytest

from .chroma import ChromaServer, ChromaServers, name_of, programs
from .chroma_between import ChromaBetween
from .chroma_stand_in import ChromaStandIn
from .influxdb import InfluxServer, InfluxStandIn, program
from .model_server import ModelServer
from .rest_server import RestServer
from .search_server import SearchServer
from .telegram_server import TelegramServer


@pytest.fixture
def model_server(socket_enabled: None) -> Iterator[ModelServer]:
    """Return a scripted model server on loopback."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def other_model_server(socket_enabled: None) -> Iterator[ModelServer]:
    """Return a second one, for fallbacks and external models."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def rest_server(socket_enabled: None) -> Iterator[RestServer]:
    with RestServer() as server:
        yield server


@pytest.fixture(scope="session")
def chroma_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServers]:
    """Return the real Chroma servers of this run."""
    servers = ChromaServers(tmp_path_factory.mktemp("chroma"))
    yield servers
    servers.stop()


@pytest.fixture(params=programs() or [None], ids=lambda program: name_of(program) if program else "none")
def chroma(
    request: pytest.FixtureRequest, socket_enabled: None, chroma_servers: ChromaServers
) -> ChromaServer:
    """Return a real Chroma server, of each version that is to be tested."""
    if request.param is None:
        pytest.fail("there is no Chroma server: run scripts/test --unit once, it installs one")
    return chroma_servers.get(request.param)


@pytest.fixture
def chroma_between(chroma: ChromaServer) -> Iterator[ChromaBetween]:
    """Return what stands before a real Chroma server."""
    with ChromaBetween(chroma.port) as between:
        yield between


@pytest.fixture
def chroma_stand_in(socket_enabled: None) -> Iterator[ChromaStandIn]:
    with ChromaStandIn() as server:
        yield server


@pytest.fixture(scope="session")
def _influx_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxServer | None]:
    """Return a real InfluxDB of this run, or nothing where it is not installed."""
    installed = program()
    if installed is None:
        yield None
        return
    with InfluxServer(installed, tmp_path_factory.mktemp("influxdb")) as server:
        yield server


@pytest.fixture
def influxdb(socket_enabled: None, request: pytest.FixtureRequest) -> InfluxServer:
    """Return a real InfluxDB of version 1."""
    server: InfluxServer | None = request.getfixturevalue("_influx_server")
    if server is None:
        pytest.fail("there is no InfluxDB: run scripts/test --unit once, it installs one")
    return server


@pytest.fixture
def influx_stand_in(socket_enabled: None) -> Iterator[InfluxStandIn]:
    """Return a stand-in for InfluxDB of version 2."""
    with InfluxStandIn() as server:
        yield server


@pytest.fixture
def search_server(socket_enabled: None) -> Iterator[SearchServer]:
    """Return a scripted search service."""
    with SearchServer() as server:
        yield server


@pytest.fixture
def telegram_server(socket_enabled: None) -> Iterator[TelegramServer]:
    with TelegramServer() as server:
        yield server
