"""What a person does in the browser: the settings, then the Assist dialog."""

from pathlib import Path
from typing import Any

import pytest

from scripts.lib.client import Client, onboard
from scripts.lib.running import HomeAssistant
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text

from .browser import drive, fresh_home, needs_browser
from .conftest import KEY, RELEASES, heard, pass_probe, switch

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
SENTENCES = [
    {"say": "Turn on the reading lamp", "expect": "I turned on the Reading Lamp.", "name": "answer"},
    {"say": "Tell me a story", "expect": STORY[-1].strip(), "name": "story"},
    {"say": "Unlock the front door", "expect": QUESTION, "name": "confirmation"},
    {"say": "No", "expect": "Okay, I won't.", "name": "rejected"},
    {"say": "Unlock the front door", "expect": QUESTION, "name": "asked-again", "times": 2},
    {"say": "Yes", "expect": "I unlocked the Front Door Lock.", "name": "confirmed"},
    {"say": ARRIVES, "expect": "light.hallway", "name": "automation"},
    {"say": "Yes", "expect": "Done.", "name": "created"},
]


@needs_browser
@pytest.mark.parametrize("release", RELEASES)
async def test_settings_and_chat_in_the_browser(release: str, model: ModelServer, tmp_path: Path) -> None:
    async with fresh_home(release, model, tmp_path) as home:
        seen = await use(home, model, tmp_path)
    assert seen["pageErrors"] == []
    assert "Turn o" in seen["ready"]
    assert seen["assistant"]["conversation_engine"].startswith("conversation.home_agent")
    assert seen["assistant"]["prefer_local_intents"] is False
    assert len(set(seen["lengths"])) > 4, "the answer came at once instead of in pieces"


async def use(home: HomeAssistant, model: ModelServer, folder: Path) -> dict[str, Any]:
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
        connection = {"llm_base_url": model.url, "llm_api_key": KEY}
        seen = await drive("browser", home, folder, connection=connection, sentences=SENTENCES)
        assert (await client.state(LAMP))["state"] == "on"
        assert (await client.state(DOOR))["state"] == "unlocked"
    return seen
