"""Further agents as an administrator makes them in a browser, and what they hear, do and remember."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scripts.lib.agent import add_entry, agent_of, prefer_agent, say
from scripts.lib.client import Client, onboard
from scripts.lib.running import HomeAssistant
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .browser import drive, fresh_home, needs_browser
from .conftest import RELEASES, heard, pass_probe, switch

ROOM = "Mia's Room"
LAMP, ELSEWHERE = "light.mia_ceiling", "light.kitchen_ceiling"
FACT, OF_GUESTS = "The bins go out on Tuesday", "The guests like tea"
RULE = {"agent": "Children", "kind": "Light", "hours": "00:00-24:00", "person": "Demo"}


@needs_browser
@pytest.mark.parametrize("release", RELEASES)
async def test_further_agents(release: str, model: ModelServer, tmp_path: Path) -> None:
    """An agent for one room sees, controls and remembers that alone; a rule and a removal take effect."""
    async with fresh_home(release, model, tmp_path) as home:
        pass_probe(model)
        token = await onboard(home.url)
        async with Client(home.url, token) as client:
            await client.wait_running()
            await use(home, client, model, tmp_path)


async def use(home: HomeAssistant, client: Client, model: ModelServer, folder: Path) -> None:
    """Add two agents, talk to them, limit one by a rule, and remove the other."""
    connection = {"name": "Home Agent", "llm_base_url": model.url, "llm_model": model.models[0]}
    entry_id = await add_entry(client, connection)
    household = await prefer_agent(client, await agent_of(client, entry_id))
    await client.call("home_agent.add_memory", {"content": FACT}, response=True)
    seen = await walk(
        home,
        folder,
        [
            {"do": "add", "name": "Children", "area": ROOM},
            {"do": "add", "name": "Guests", "copy": "Children"},
        ],
    )
    assert ["is ready" in told for told in seen["dialogs"]] == [True, True]
    children = await prefer_agent(client, "conversation.children", "Children")
    await sees_one_room(client, model, children)
    await client.call(
        "home_agent.add_memory", {"content": OF_GUESTS, "agent_id": "conversation.guests"}, response=True
    )
    assert await memories(client, "conversation.guests") == [OF_GUESTS]
    seen = await walk(
        home,
        folder,
        [
            {"do": "rule", **RULE},
            {"do": "remove", "agent": "Guests"},
            {"do": "give", "agent": "Guests", "to": "Home Agent"},
        ],
    )
    assert "Never · Light · 00:00-24:00 · Demo" in seen["lines"][0]
    assert sorted(await memories(client)) == sorted([FACT, OF_GUESTS])
    await switches(client, model, children, LAMP, "turn_off", "on")
    await switches(client, model, household, LAMP, "turn_off", "off")


async def sees_one_room(client: Client, model: ModelServer, pipeline: str) -> None:
    """The agent controls what is in its room, and its request contains nothing else of the home."""
    await switches(client, model, pipeline, LAMP, "turn_on", "on")
    sent = asked(model)[0]
    assert LAMP in sent
    assert [word for word in (ELSEWHERE, "Bedroom", "Leo", FACT) if word in sent] == []
    before = (await client.state(ELSEWHERE))["state"]
    await switches(client, model, pipeline, ELSEWHERE, "turn_off" if before == "on" else "turn_on", before)


async def switches(
    client: Client, model: ModelServer, pipeline: str, lamp: str, action: str, after: str
) -> None:
    model.clear()
    model.default = text("Well.")
    model.on(heard("the switch please"), switch(lamp, action))
    await say(client, "Do the switch please", pipeline=pipeline)
    assert asked(model)
    assert (await client.state(lamp))["state"] == after


def asked(model: ModelServer) -> list[str]:
    """Return the requests about the sentence; the warming-up ones are not about any."""
    found = [chat.raw.decode() for chat in model.chats]
    return [request for request in found if "the switch please" in request]


async def memories(client: Client, agent: str = "") -> list[str]:
    """Return what an agent remembers; without a name the first one."""
    whose = {"agent_id": agent} if agent else {}
    found = await client.call("home_agent.list_memories", whose, response=True)
    return [memory["content"] for memory in found["memories"]]


async def walk(home: HomeAssistant, folder: Path, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Let an administrator take steps in the browser; return what was seen."""
    seen = await drive("agents", home, folder, steps=steps)
    assert seen["pageErrors"] == []
    return seen
