"""A real Home Assistant of any size, two agents in it, and a scripted server in a process of its own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
import os
from pathlib import Path
import subprocess
import sys
import tempfile
from typing import Any
from unittest.mock import patch

import tests.releases  # noqa: F401 - before the test plugin  # isort: skip

import aiohttp
from aiohttp.resolver import ThreadedResolver
from pytest_homeassistant_custom_component import patch_time  # noqa: F401 - first: the clock can be frozen then
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_test_home_assistant

import custom_components.home_agent  # noqa: F401 - before the test plugin's own package of that name
from custom_components.home_agent.const import MINOR_VERSION
from homeassistant import loader
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers import entity_registry as er, frame
from homeassistant.setup import async_setup_component
from scripts.lib.processes import free_port, popen
from tests.helpers.homes import BuiltHome, build_home

UNLIMITED = 100_000
ROOT = Path(__file__).parents[1]


class LoopbackResolver(ThreadedResolver):
    """A resolver as Home Assistant wants it closed."""

    async def real_close(self) -> None:
        """Close nothing."""


class ServerProcess:
    """The scripted model server, started as a process so that its time is not ours."""

    def __init__(self) -> None:
        self._process = popen(
            [sys.executable, "-m", "tests.servers.model_server"],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().decode().strip()
        self.url = f"{self.address}/v1"

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()

    async def script(self, session: aiohttp.ClientSession, **script: Any) -> None:
        """Replace the script and forget the requests."""
        await (await session.post(f"{self.address}/_script", json=script)).read()
        await (await session.post(f"{self.address}/_reset")).read()

    async def seconds(self, session: aiohttp.ClientSession) -> tuple[int, float]:
        """Return how many chat requests came and how long the server took for them in all."""
        answer = await session.get(f"{self.address}/_requests")
        requests = [item for item in await answer.json() if "chat" in item["path"]]
        await (await session.post(f"{self.address}/_reset")).read()
        return len(requests), sum(item["last_byte"] - item["received"] for item in requests)


@dataclass(slots=True)
class Bench:
    """A running Home Assistant with a house and both agents."""

    hass: HomeAssistant
    home: BuiltHome
    ours: str
    core: str

    @property
    def light(self) -> str:
        """Return a light that may be switched."""
        return next(entity_id for entity_id in self.home.entities if entity_id.startswith("light."))


@asynccontextmanager
async def running_hass() -> AsyncGenerator[HomeAssistant]:
    """Return a Home Assistant that finds the integration, and stop it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        # No zeroconf: nothing is looked up by name here, and it would listen on the network.
        resolver = patch(
            "homeassistant.helpers.aiohttp_client._async_make_resolver", lambda _hass: LoopbackResolver()
        )
        async with async_test_home_assistant(config_dir=folder) as hass:
            frame.async_setup(hass)
            hass.data.pop(loader.DATA_CUSTOM_COMPONENTS, None)
            (Path(folder) / "custom_components").symlink_to(ROOT / "custom_components")
            web = {"http": {"server_host": "127.0.0.1", "server_port": free_port()}}
            with resolver:
                for component in ("homeassistant", "http", "intent", "conversation", "ai_task"):
                    assert await async_setup_component(hass, component, web)
                try:
                    yield hass
                finally:
                    await hass.async_stop(force=True)


@asynccontextmanager
async def running_home(entities: int) -> AsyncGenerator[tuple[HomeAssistant, BuiltHome]]:
    """Return a Home Assistant with a house of so many exposed entities."""
    async with running_hass() as hass:
        home = build_home(hass, entities)

        async def switch(call: ServiceCall) -> None:
            targets = call.data["entity_id"]
            for entity_id in [targets] if isinstance(targets, str) else targets:
                state = hass.states.get(entity_id)
                assert state is not None
                hass.states.async_set(
                    entity_id, call.service.removeprefix("turn_"), state.attributes, context=call.context
                )

        # The synthetic lights have a state and no integration behind it.
        for service in ("turn_on", "turn_off"):
            hass.services.async_register("light", service, switch)
        await hass.async_block_till_done()
        yield hass, home


@asynccontextmanager
async def bench(entities: int, url: str, options: dict[str, Any] | None = None) -> AsyncGenerator[Bench]:
    """Return a house with Home Agent and core's own agent, both on the same model server."""
    async with running_home(entities) as (hass, home):
        yield Bench(hass, home, ours=await add_ours(hass, url, options or {}), core=await add_core(hass, url))


def our_entry(hass: HomeAssistant, url: str, options: dict[str, Any]) -> MockConfigEntry:
    """Return an entry of Home Agent that is not set up yet."""
    entry = MockConfigEntry(
        domain="home_agent",
        title="Home Agent",
        minor_version=MINOR_VERSION,  # no option is checked against the ranges of the forms
        data={"name": "Home Agent", "llm_base_url": url, "llm_model": "test-model"},
        # Turns without a user count as an automation's, and those are limited.
        options={"automation_turns_per_minute": UNLIMITED, **options},
    )
    entry.add_to_hass(hass)
    return entry


async def add_ours(hass: HomeAssistant, url: str, options: dict[str, Any]) -> str:
    """Set up Home Agent and return its entity id."""
    entry = our_entry(hass, url, options)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    return agent_entity_id(hass, "home_agent", entry.entry_id)


async def add_core(hass: HomeAssistant, url: str) -> str:
    """Set up core's agent for OpenAI-compatible servers with the Assist API and return its entity id."""
    subentry = ConfigSubentryData(
        data={"llm_hass_api": ["assist"], "chat_model": "test-model"},
        subentry_type="conversation",
        title="Core",
        unique_id=None,
    )
    entry = MockConfigEntry(
        domain="llama_cpp",
        title="Core",
        data={"base_url": url, "streaming": True},
        subentries_data=[subentry],
    )
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    return agent_entity_id(hass, "llama_cpp", next(iter(entry.subentries)))


def agent_entity_id(hass: HomeAssistant, domain: str, unique_id: str) -> str:
    """Return the entity id of an agent."""
    found = er.async_get(hass).async_get_entity_id("conversation", domain, unique_id)
    assert found is not None
    return found
