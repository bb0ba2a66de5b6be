"""Fixtures of the servers that tests speak to."""

from collections.abc import Iterator

import pytest

from .chroma import ChromaServer, ChromaServers, name_of, programs
from .chroma_between import ChromaBetween
from .chroma_stand_in import ChromaStandIn
from .model_server import ModelServer


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
    """Return a scripted stand-in for Chroma."""
    with ChromaStandIn() as server:
        yield server
