"""Further agents as an administrator makes them in a browser, and what they hear, do and remember."""

import asyncio
from collections.abc import Mapping, Sequence
import json
import os
from pathlib import Path
from typing import Any

import pytest

from scripts.lib.agent import add_entry, agent_of, prefer_agent, say
from scripts.lib.client import PASSWORD, USERNAME, Client, onboard
from scripts.lib.running import ROOT, HomeAssistant
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .browser import needs_browser
from .conftest import RELEASES, heard, keep_log, pass_probe, run, switch

SECONDS = 240
ROOM = "Mia's Room"
LAMP, ELSEWHERE = "light.mia_ceiling", "light.kitchen_ceiling"
FACT, OF_GUESTS = "The bins go out on Tuesday", "The guests like tea"
RULE = {"agent": "Children", "kind": "Light", "hours": "00:00-24:00", "person": "Demo"}


@needs_browser
@pytest.mark.parametrize("release", RELEASES)
async def test_further_agents(release: str, model: ModelServer, tmp_path: Path) -> None:
    """An agent for one room sees, controls and remembers that alone; a rule and a removal take effect."""
    model.clear()
    pass_probe(model)
    async with HomeAssistant(version=release, config=tmp_path / "config") as home:
        try:
            token = await onboard(home.url)
            async with Client(home.url, token) as client:
                await client.wait_running()
                await use(home, client, model, tmp_path / "plan.json")
        finally:
            keep_log(home)


async def use(home: HomeAssistant, client: Client, model: ModelServer, plan: Path) -> None:
    """Add two agents, talk to them, limit one by a rule, and remove the other."""
    connection = {"name": "Home Agent", "llm_base_url": model.url, "llm_model": model.models[0]}
    entry_id = await add_entry(client, connection)
    household = await prefer_agent(client, await agent_of(client, entry_id))
    await client.call("home_agent.add_memory", {"content": FACT}, response=True)
    seen = await walk(
        home,
        plan,
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
        plan,
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
    """Say a sentence to which the model switches a lamp, and look at the lamp."""
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


async def walk(home: HomeAssistant, plan: Path, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Let an administrator take steps in the browser; return what was seen."""
    settings = {
        "url": home.url,
        "username": USERNAME,
        "password": PASSWORD,
        "steps": steps,
        "browser": os.environ["HOME_AGENT_BROWSER"],
        "playwright": os.environ["HOME_AGENT_PLAYWRIGHT"],
        "screenshots": str(ROOT / "artifacts" / f"agents-{home.version}"),
    }
    await asyncio.to_thread(plan.write_text, json.dumps(settings), encoding="utf-8")
    program = Path(__file__).with_name("agents.mjs")
    code, output = await run("node", program, plan, env=dict(os.environ), seconds=SECONDS)
    assert code == 0, output
    seen = dict(json.loads(output.strip().splitlines()[-1]))
    assert seen["pageErrors"] == []
    return seen
