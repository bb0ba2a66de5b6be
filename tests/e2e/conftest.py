"""A running Home Assistant of each supported release, with the demo house and a scripted model."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
import itertools
from pathlib import Path
import re
from typing import Any

import pytest

from scripts.lib.agent import Answer, add_entry, agent_of, prefer_agent, say
from scripts.lib.client import Client, onboard
from scripts.lib.processes import BOUND
from scripts.lib.running import ROOT, HomeAssistant
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer, Predicate
from tests.servers.replies import Reply, text

RELEASES = sorted(path.stem.removeprefix("ha-") for path in (ROOT / "requirements").glob("ha-*.txt"))
KEY = "sk-end-to-end-0123456789"
HERE = Path(__file__).parent
STAND_INS = HERE / "stand_ins"
WAIT_SECONDS = 30
LOOK_SECONDS = 0.1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is here; skip it where Home Assistant's own test plugin rules."""
    inside = config.pluginmanager.has_plugin("homeassistant")
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)
            if inside:
                item.add_marker(pytest.mark.skip(reason="run by scripts/test --e2e"))


@dataclass(slots=True)
class Household:
    """A running house: who speaks for it, and the model that answers."""

    home: HomeAssistant
    client: Client
    model: ModelServer
    token: str
    entry_id: str = ""
    pipeline: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def connection(self) -> dict[str, str]:
        """Return the answers to the config flow."""
        return {
            "name": "Home Agent",
            "llm_base_url": self.model.url,
            "llm_model": self.model.models[0],
            "llm_api_key": KEY,
        }

    async def set_up_agent(self) -> None:
        """Add Home Agent through its config flow and give it a pipeline."""
        self.entry_id = await add_entry(self.client, self.connection)
        await self.find_agent()

    async def find_agent(self) -> None:
        self.pipeline = await prefer_agent(self.client, await agent_of(self.client, self.entry_id))

    async def say(self, text: str, conversation_id: str | None = None) -> Answer:
        return await say(self.client, text, pipeline=self.pipeline, conversation_id=conversation_id)

    def teach(self, words: str, reply: Reply, then: str = "Done.") -> None:
        """Let the model answer a sentence with these words, and a tool's result with a text."""
        self.model.default = text(then)
        self.model.on(heard(words), reply)

    def requests(self, words: str) -> list[Captured]:
        """Return the model's requests about these words; the warming-up ones have none."""
        return [chat for chat in self.model.chats if words in chat.raw.decode()]

    async def state(self, entity_id: str) -> str:
        return str((await self.client.state(entity_id))["state"])

    async def until(self, entity_id: str, state: str) -> None:
        """Wait until an entity has a state. Raises TimeoutError."""

        async def shows() -> bool:
            return await self.state(entity_id) == state

        await until(shows)

    async def restart(self) -> None:
        await self.client.__aexit__()
        await self.home.restart()
        self.client = await Client(self.home.url, self.token).__aenter__()
        await self.client.wait_running()

    def complaints(self) -> list[str]:
        """Return what the log holds against us: warnings and errors of Home Agent, exceptions."""
        ours = re.compile(r"(WARNING|ERROR|CRITICAL).*home_agent")
        custom = "We found a custom integration"
        lines = self.home.log.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if ours.search(line) and custom not in line]


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session", params=RELEASES)
async def household(
    request: pytest.FixtureRequest, model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Household]:
    model.clear()
    config = tmp_path_factory.mktemp(f"home-{request.param}")
    async with HomeAssistant(version=request.param, config=config, more=STAND_INS) as home:
        token = await onboard(home.url)
        client = await Client(home.url, token).__aenter__()
        await client.wait_running()
        household = Household(home, client, model, token)
        pass_probe(model)
        try:
            await household.set_up_agent()
            yield household
        finally:
            await household.client.__aexit__()
            keep_log(home)


@pytest.fixture(autouse=True)
def _fresh_script(request: pytest.FixtureRequest) -> None:
    if "household" in request.fixturenames:
        model: ModelServer = request.getfixturevalue("model")
        model.clear()
        model.default = text("Done.")


def keep_log(home: HomeAssistant) -> None:
    artifacts = ROOT / "artifacts"
    artifacts.mkdir(exist_ok=True)
    (artifacts / f"home-assistant-{home.version}.log").write_bytes(home.log.read_bytes())


def pass_probe(model: ModelServer) -> None:
    """Let the model call the one tool with which the config flow tries it."""

    def tools(request: Captured) -> list[dict[str, Any]]:
        return (request.json or {}).get("tools") or []

    model.on(
        lambda request: len(tools(request)) == 1,
        lambda request: Reply(calls=[(tools(request)[0]["function"]["name"], {})]),
    )


def heard(words: str) -> Predicate:
    """Match chat requests whose newest message is a person's and has these words."""

    def matches(request: Captured) -> bool:
        newest = request.messages[-1] if request.messages else {}
        return newest.get("role") == "user" and words in str(newest["content"])

    return matches


def switch(entity_id: str, action: str = "turn_on") -> Reply:
    """Return a model's call of ha_control."""
    return Reply(calls=[("ha_control", {"action": action, "entity_id": entity_id})])


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so. Raises TimeoutError."""
    async with asyncio.timeout(WAIT_SECONDS):
        for _ in itertools.count():
            if await look():
                return
            await asyncio.sleep(LOOK_SECONDS)


async def run(*command: str | Path, env: dict[str, str], seconds: float) -> tuple[int, str]:
    """Run a command to its end; return exit code and output."""
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, **BOUND
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.terminate()
        output, _ = await process.communicate()
        pytest.fail(f"{command[0]} did not end within {seconds} s:\n{output.decode()}")
    return process.returncode or 0, output.decode()
