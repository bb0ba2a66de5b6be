"""What an administrator sees and does in the panel, in a real browser."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scripts.lib.agent import add_entry, agent_of, prefer_agent, say
from scripts.lib.client import PASSWORD, USERNAME, Client, onboard
from scripts.lib.running import ROOT, HomeAssistant
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply

from .browser import needs_browser
from .conftest import KEY, RELEASES, heard, keep_log, pass_probe, run, switch

LAMP = "light.reading_lamp"
DOOR = "lock.front_door"
HOSTILE = "<img src=x onerror='window.attacked=1'><b>bold</b>"
SECONDS = 240


@needs_browser
@pytest.mark.parametrize("release", RELEASES)
async def test_the_panel(release: str, model: ModelServer, tmp_path: Path) -> None:
    model.clear()
    async with HomeAssistant(version=release, config=tmp_path / "config") as home:
        try:
            seen = await use(home, model, tmp_path / "plan.json")
        finally:
            keep_log(home)
    assert seen["pageErrors"] == []
    assert seen["elsewhere"] == []
    texts = seen["texts"]
    assert all(HOSTILE in texts[page] for page in ("turns", "memories"))
    assert (seen["images"], seen["attacked"]) == (0, False)
    assert "ha_control" in texts["turn"]
    assert "entity list" in texts["turn"]
    assert seen["stretches"] >= 4, "context, a request with its answer, a call"
    assert "Tuesday" not in texts["memories-found"]
    assert seen["bars"] >= 3
    assert seen["selected"] == "tab-turns"
    assert seen["wide"] <= 390
    assert "Rückfragen" in texts["german"]


async def use(home: HomeAssistant, model: ModelServer, plan: Path) -> dict[str, Any]:
    """Let an administrator look at what was said before, and settle what waits."""
    token = await onboard(home.url)
    async with Client(home.url, token) as client:
        await client.wait_running()
        pass_probe(model)
        connection = {"name": "Home Agent", "llm_base_url": model.url, "llm_model": model.models[0]}
        entry_id = await add_entry(client, {**connection, "llm_api_key": KEY})
        agent = await agent_of(client, entry_id)
        pipeline = await prefer_agent(client, agent)
        model.default = Reply(chunks=["The ", "lamp ", "is ", "on."], gap=0.1)
        model.on(heard("reading lamp"), switch(LAMP))
        model.on(heard("Unlock the front door"), switch(DOOR, "unlock"))
        model.on(heard("web page"), Reply(text=f"It says {HOSTILE}"))
        for memory in ("The bins go out on Tuesday", f"Anna likes {HOSTILE}"):
            await client.call("home_agent.add_memory", {"content": memory}, response=True)
        for sentence in ("Turn on the reading lamp", f"What is on the web page {HOSTILE}?"):
            await say(client, sentence, pipeline=pipeline)
        write_plan(plan, home, agent)
        program = Path(__file__).with_name("panel.mjs")
        code, output = await run("node", program, plan, env=dict(os.environ), seconds=SECONDS)
        assert code == 0, output
        assert (await client.state(DOOR))["state"] == "unlocked"
    return dict(json.loads(output.strip().splitlines()[-1]))


def write_plan(path: Path, home: HomeAssistant, agent: str) -> None:
    """Write down what the browser is to know."""
    plan = {
        "url": home.url,
        "username": USERNAME,
        "password": PASSWORD,
        "agent": agent,
        "browser": os.environ["HOME_AGENT_BROWSER"],
        "playwright": os.environ["HOME_AGENT_PLAYWRIGHT"],
        "screenshots": str(ROOT / "artifacts" / f"panel-{home.version}"),
    }
    path.write_text(json.dumps(plan), encoding="utf-8")
