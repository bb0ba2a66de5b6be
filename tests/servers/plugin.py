"""Fixtures of the servers that tests speak to."""

from collections.abc import Iterator

import pytest

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
