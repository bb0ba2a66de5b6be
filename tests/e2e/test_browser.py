"""What a person does in the browser: the settings, then the Assist dialog."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scripts.lib.client import PASSWORD, USERNAME, Client, onboard
from scripts.lib.running import ROOT, HomeAssistant
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text

from .browser import needs_browser
from .conftest import KEY, RELEASES, heard, keep_log, pass_probe, run, switch

LAMP = "light.reading_lamp"
DOOR = "lock.front_door"
QUESTION = "Should I unlock the Front Door Lock?"
ARRIVES = "When I come home, turn on the hallway light"
AUTOMATION = {
    "action": "create",
    "when": [{"person": "me", "to": "home"}],
    "do": [{"action": "turn_on", "entity_id": ["light.hallway"]}],
}
STORY = [f"Sentence {number} of a long answer. " for number in range(12)]
SECONDS = 300


@needs_browser
@pytest.mark.parametrize("release", RELEASES)
async def test_settings_and_chat_in_the_browser(release: str, model: ModelServer, tmp_path: Path) -> None:
    model.clear()
    async with HomeAssistant(version=release, config=tmp_path / "config") as home:
        try:
            seen = await use(home, model, tmp_path / "plan.json")
        finally:
            keep_log(home)
    assert seen["pageErrors"] == []
    assert "Turn o" in seen["ready"]
    assert seen["assistant"]["conversation_engine"].startswith("conversation.home_agent")
    assert seen["assistant"]["prefer_local_intents"] is False
    assert len(set(seen["lengths"])) > 4, "the answer came at once instead of in pieces"


async def use(home: HomeAssistant, model: ModelServer, plan: Path) -> dict[str, Any]:
    """Let a person use the house by the browser; return what was seen."""
    token = await onboard(home.url)
    async with Client(home.url, token) as client:
        await client.wait_running()
        model.default = text("The lamp is on.")
        model.on(heard("reading lamp"), switch(LAMP))
        model.on(heard("Unlock the front door"), switch(DOOR, "unlock"))
        model.on(heard(ARRIVES), Reply(calls=[("automation", AUTOMATION)]))
        model.on(heard("Tell me a story"), Reply(chunks=STORY, gap=0.3))
        pass_probe(model)
        write_plan(plan, home, model)
        seen = await drive(plan)
        assert (await client.state(LAMP))["state"] == "on"
        assert (await client.state(DOOR))["state"] == "unlocked"
    return seen


def write_plan(path: Path, home: HomeAssistant, model: ModelServer) -> None:
    """Write down what the browser is to do."""
    plan = {
        "url": home.url,
        "username": USERNAME,
        "password": PASSWORD,
        "connection": {"llm_base_url": model.url, "llm_api_key": KEY},
        "sentences": [
            {"say": "Turn on the reading lamp", "expect": "Reading Lamp on.", "name": "answer"},
            {"say": "Tell me a story", "expect": STORY[-1].strip(), "name": "story"},
            {"say": "Unlock the front door", "expect": QUESTION, "name": "confirmation"},
            {"say": "No", "expect": "Okay, I won't.", "name": "rejected"},
            {"say": "Unlock the front door", "expect": QUESTION, "name": "asked-again", "times": 2},
            {"say": "Yes", "expect": "Front Door Lock unlocked.", "name": "confirmed"},
            {"say": ARRIVES, "expect": "light.hallway", "name": "automation"},
            {"say": "Yes", "expect": "Done.", "name": "created"},
        ],
        "browser": os.environ["HOME_AGENT_BROWSER"],
        "playwright": os.environ["HOME_AGENT_PLAYWRIGHT"],
        "screenshots": str(ROOT / "artifacts" / f"browser-{home.version}"),
    }
    path.write_text(json.dumps(plan), encoding="utf-8")


async def drive(plan: Path) -> dict[str, Any]:
    """Let the browser do its work; return what it saw."""
    program = Path(__file__).with_name("browser.mjs")
    code, output = await run("node", program, plan, env=dict(os.environ), seconds=SECONDS)
    assert code == 0, output
    return dict(json.loads(output.strip().splitlines()[-1]))
