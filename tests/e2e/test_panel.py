"""What people see and do in the panel, in a real browser."""

from pathlib import Path
import re
from typing import Any

import pytest

from scripts.lib.agent import add_entry, agent_of, prefer_agent, say
from scripts.lib.client import Client, onboard
from scripts.lib.running import HomeAssistant
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply

from .browser import drive, fresh_home, needs_browser
from .conftest import KEY, RELEASES, heard, pass_probe, switch

LAMP = "light.reading_lamp"
DOOR = "lock.front_door"
HOSTILE = "<img src=x onerror='window.attacked=1'><b>bold</b>"
PHONE = 390
"""Pixels."""
OTHER = {"username": "ben", "password": "ben-ben-ben"}


@needs_browser
@pytest.mark.parametrize("release", RELEASES)
async def test_the_panel(release: str, model: ModelServer, tmp_path: Path) -> None:
    async with fresh_home(release, model, tmp_path) as home:
        seen = await use(home, model, tmp_path)
    assert seen["pageErrors"] == []
    assert seen["elsewhere"] == []
    texts = seen["texts"]
    assert all(HOSTILE in texts[page] for page in ("turns", "memories"))
    assert (seen["images"], seen["attacked"]) == (0, False)
    assert "ha_control" in texts["turn"]
    assert "Entity list" in texts["turn"]
    assert "You are" in texts["turn"], "the text that was sent"
    assert "Other languages 0/" in texts["overview-tested"]
    assert seen["stretches"] >= 3, "context, a request with its answer, a call"
    assert "Tuesday" not in texts["memories-found"]
    assert seen["bars"] >= 3
    assert "I unlocked the Front Door Lock." in texts["activity"]
    assert "Undo" in texts["today"]
    assert "I've undone that and locked the Front Door Lock." in texts["today"]
    assert "Reject" not in texts["today"], "nothing waits any more"
    check_places(seen)
    check_looks(seen)
    assert {page: found for page, found in seen["barriers"].items() if found} == {}
    assert seen["focus"]["left"] == "button Add", "the keyboard is where it was before"
    assert 0 < seen["frame"] < seen["paint"], "the frame waits for no data"
    figures = f"its frame {seen['frame']} ms, first paint of the panel on {release}: {seen['paint']} ms"
    print(figures)  # noqa: T201 - to read


def check_places(seen: dict[str, Any]) -> None:
    """Every page has an address, and nothing that somebody reads is drawn again."""
    addresses = seen["addresses"]
    assert addresses["first"] == "overview"
    assert addresses["turn"].startswith("turns/")
    assert addresses["back"] == "turns"
    assert addresses["reloaded"] == addresses["turn"]
    assert seen["tops"]["turn"] == 0
    assert seen["kept"] == {"progress": True, "open": 1, "marked": 1, "badge": "1"}
    assert (addresses["other"], seen["tabs"]) == ("me", 1)
    assert "bins" not in seen["texts"]["other"]


def check_looks(seen: dict[str, Any]) -> None:
    """On a phone nothing is wider than the screen, today is shown, and German has no English words."""
    phone = {name: width for name, width in seen["wide"].items() if name.startswith(("phone", "german"))}
    assert {name: width for name, width in phone.items() if width > PHONE} == {}
    assert len(phone) == 15
    assert seen["today"] <= PHONE
    texts = seen["texts"]
    german = " ".join(words for name, words in texts.items() if name.startswith("german"))
    for word in ("Erreichbar", "Unterhaltungen", "Rückfragen", "Über mich", "ausgeführt"):
        assert word in german, word
    english = re.compile(r"\b(requested|approved|waiting|tokens|answered|Undo|Delete|household)\b")
    assert english.findall(german) == []


async def use(home: HomeAssistant, model: ModelServer, folder: Path) -> dict[str, Any]:
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
        await add_user(client)
        seen = await drive("panel", home, folder, agent=agent, entry=entry_id, other=OTHER)
        assert (await client.state(DOOR))["state"] == "unlocked"
    return seen


async def add_user(client: Client) -> None:
    """Add somebody who is no administrator."""
    created = await client.command("config/auth/create", name="Ben", group_ids=["system-users"])
    login = {"user_id": created["user"]["id"], **OTHER}
    await client.command("config/auth_provider/homeassistant/create", **login)
