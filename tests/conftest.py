"""What all tests share: a real `hass` that finds the integration."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import wraps
import gc
import logging
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from aiohttp import web_app
from hypothesis import settings
import pytest

import custom_components.home_agent  # noqa: F401 - before the plugin's own package of that name
from custom_components.home_agent.knowledge.house import House
from homeassistant.core import HomeAssistant
from homeassistant.helpers import aiohttp_client
from homeassistant.helpers.template import states
from homeassistant.loader import DATA_CUSTOM_COMPONENTS
from homeassistant.setup import async_setup_component
from tests.helpers.agent import IDLE_SECONDS, Agent, async_agent
from tests.helpers.examples import FAST
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer

NEED_HOME = {"hass", "hass_storage", "hass_config_dir", "chroma", "chroma_servers", "influxdb"}
"""Fixtures that `scripts/test --pure` lacks: Home Assistant's plugin and real servers."""
SECONDS = {
    "inference.client.PAUSE": 0,  # a second attempt follows the first one at once
    "idle.PAUSE": IDLE_SECONDS,  # its request would take a reply that was meant for the next turn
    "agent.rounds.HEARTBEAT_SECONDS": 60,
    "agent.rounds.MOMENT_SECONDS": 60,
    "context.manager.PROVIDER_SECONDS": 60,
    "context.retrieval.INDEX_WAIT_SECONDS": 60,
    "knowledge.semantic.SEARCH_SECONDS": 60,
}

pytest_plugins = ("tests.servers.plugin",)

settings.register_profile("any machine", deadline=None)  # no test fails because the machine is busy
settings.load_profile("any machine")

logging.getLogger("sqlalchemy.engine").setLevel(logging.WARNING)  # the plugin has each statement written down


@pytest.fixture
def hass(hass: HomeAssistant) -> HomeAssistant:
    """Return a Home Assistant that loads the integration."""
    hass.data.pop(DATA_CUSTOM_COMPONENTS)
    forget_earlier()
    return hass


def forget_earlier() -> None:
    """Empty the caches in which libraries keep the Home Assistant of earlier tests, megabytes each."""
    web_app._cached_build_middleware.cache_clear()
    states.CACHED_TEMPLATE_LRU.clear()
    states.CACHED_TEMPLATE_NO_COLLECT_LRU.clear()
    if isinstance(make_resolver := aiohttp_client._async_make_resolver, Mock):
        make_resolver.reset_mock()  # the plugin's, one for all tests, which keeps what it was called with


@pytest.fixture(autouse=True, scope="module")
def garbage_collection() -> None:
    """Free what earlier tests left. The plugin's, which this replaces, froze it: it stayed for good."""
    forget_earlier()
    gc.collect()
    if not gc.get_freeze_count():
        gc.freeze()  # what was imported before the first test need not be looked through again


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Give every test files of its own; the plugin has one folder for all."""
    (tmp_path / ".storage").mkdir()
    return str(tmp_path)


@pytest.fixture
async def secure(hass: HomeAssistant, model_server: ModelServer) -> SecureHouse:
    """Return a furnished house with doors, Anna and Ben."""
    house = SecureHouse(hass)
    house.server = model_server
    await house.async_build()
    return house


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show where each task waits when a test took too long: the stack ends in the loop."""
    report = yield
    if call.excinfo and "from pytest-timeout" in str(call.excinfo.value):
        with suppress(RuntimeError):  # there is no loop any more
            tasks = asyncio.all_tasks(asyncio.get_event_loop())
            report.sections.append(("tasks", "\n".join(map(asyncio.format_call_graph, tasks))))
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that this run can do and has time for."""
    kept = list(items)
    if not config.pluginmanager.has_plugin("homeassistant"):
        kept = [item for item in kept if not NEED_HOME.intersection(getattr(item, "fixturenames", NEED_HOME))]
    if FAST:
        kept = list(_few(kept))
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def _few(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the first and the last case of each test that is not slow."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found in cases.values():
        yield from dict.fromkeys((found[0], found[-1]))


@pytest.fixture
async def house(hass: HomeAssistant) -> HomeAssistant:
    """Return a Home Assistant whose exposure settings and services are there."""
    assert await async_setup_component(hass, "homeassistant", {})
    return hass


@pytest.fixture
async def known(house: HomeAssistant) -> AsyncGenerator[House]:
    """Return a started house that knows what `hass` has."""
    agent_house = House(house)
    await agent_house.async_start()
    yield agent_house
    await agent_house.async_stop()


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent with default options."""
    return await async_agent(hass, model_server)


class Rows:
    """Subtests that are named by the words for a row, which any worker of the run can send home."""

    def __init__(self, subtests: pytest.Subtests) -> None:
        self._subtests = subtests

    def test(self, name: str | None = None, **row: Any) -> AbstractContextManager[None]:
        """Return the context in which the assertions about a row are made."""
        return self._subtests.test(name, **{key: str(value) for key, value in row.items()})


@pytest.fixture(name="subtests")
def _subtests(subtests: pytest.Subtests) -> Rows:
    return Rows(subtests)


@pytest.fixture(autouse=True)
def _seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing begin or end because the machine is slow."""
    for name, seconds in SECONDS.items():
        monkeypatch.setattr(f"custom_components.home_agent.{name}", seconds)


@pytest.fixture(autouse=True)
async def enable_event_loop_debug() -> None:
    """Check threads as asyncio's debug mode does, without its traces: they take half of a test's time.

    With PYTHONASYNCIODEBUG=1 it is the debug mode itself. The name is the plugin's, which this replaces.
    """
    loop = asyncio.get_running_loop()
    if loop.get_debug():
        return

    def checked(schedule: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(schedule)
        def call(*args: Any, **kwargs: Any) -> Any:
            loop._check_thread()
            return schedule(*args, **kwargs)

        return call

    for name in ("call_soon", "call_at"):
        setattr(loop, name, checked(getattr(loop, name)))
