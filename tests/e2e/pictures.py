"""Pictures of every page: the demo home with a scripted model, in a browser. `scripts/pictures` runs this."""

import argparse
import asyncio
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
from typing import Any, Final

from custom_components.home_agent.config.options import MENUS
from custom_components.home_agent.config.schemas import PAGES
from scripts.lib.agent import add_entry, agent_of, prefer_agent, reload, say, set_options
from scripts.lib.client import PASSWORD, USERNAME, Client, onboard
from scripts.lib.running import ROOT, HomeAssistant
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text

LOOKS: Final = [
    f"{language}-{theme}-{size}"
    for language in ("en", "de")
    for theme in ("light", "dark")
    for size in ("desktop", "phone")
]
RELEASES: Final = sorted(path.stem.removeprefix("ha-") for path in (ROOT / "requirements").glob("ha-*.txt"))
PANEL: Final = ("overview", "turns", "confirmations", "activity", "memories", "suggestions", "usage", "me")
SENTENCES: Final = ("Turn on the reading lamp", "Open the bedroom curtains", "Unlock the front door")

ROOM: Final = "mia_s_room"
GONE: Final = "Guests"
AGENT_PAGES: Final = ("agent", "permissions")


def answer(request: Captured) -> Reply:
    """Answer as a competent model would."""
    tools = (request.json or {}).get("tools") or []
    if len(tools) == 1:
        return Reply(calls=[(tools[0]["function"]["name"], {})])
    newest = request.messages[-1]
    if newest.get("role") == "tool":
        return text("That did not work." if '"success": false' in str(newest["content"]) else "Done.")
    said = str(newest.get("content"))
    known = {
        "reading lamp": ("turn_on", "light.reading_lamp"),
        "bedroom curtains": ("open", "cover.bedroom_curtains"),
        "front door": ("unlock", "lock.front_door"),
    }
    for words, (action, entity) in known.items():
        if words in said:
            return Reply(calls=[("ha_control", {"action": action, "entity_id": entity})])
    return text("I am fine, thank you.")


async def prepare(home: HomeAssistant, model: ModelServer) -> dict[str, str]:
    """Set up the home: an agent, some memories, some requests, one of them waiting for a yes."""
    token = await onboard(home.url)
    async with Client(home.url, token) as client:
        await client.wait_running()
        connection = {"name": "Home Agent", "llm_base_url": model.url, "llm_model": model.models[0]}
        entry = await add_entry(client, connection)
        agent = await agent_of(client, entry)
        pipeline = await prefer_agent(client, agent)
        await set_options(client, entry, {"policy_confirmation_timeout": 600})
        for memory in ("The bins go out on Tuesday", "Anna likes the bedroom at 18 degrees"):
            await client.call("home_agent.add_memory", {"content": memory}, response=True)
        for sentence in SENTENCES:
            await say(client, sentence, pipeline=pipeline)
        await add_agent(client, entry, "Children")
        gone = await add_agent(client, entry, GONE)
        await client.call(
            "home_agent.add_memory",
            {"content": "The guests like tea", "config_entry_id": gone},
            response=True,
        )
        await client.command("config_entries/subentries/delete", entry_id=entry, subentry_id=gone)
        return {"entry": entry, "agent": agent}


async def add_agent(client: Client, entry: str, name: str) -> str:
    """Add an agent that sees one room to a connection; return its id."""
    path = "config/config_entries/subentries/flow"
    flow = await client.rest("POST", path, {"handler": [entry, "agent"]})
    typed = {"name": name, "copy_from": "connection", "visible_entities": {"area_id": [ROOM]}}
    await client.rest("POST", f"{path}/{flow['flow_id']}", typed)
    await reload(client, entry)
    listed = await client.command("config_entries/subentries/list", entry_id=entry)
    return str(next(one["subentry_id"] for one in listed if one["title"] == name))


async def take(release: str, looks: list[str], singles: Path, sheets: Path) -> None:
    """Start the home, walk through all pages in each look, and put the pictures on sheets."""
    folder = ROOT / "custom_components" / "home_agent" / "translations"
    words = {
        language: json.loads((folder / f"{language}.json").read_text(encoding="utf-8"))
        for language in ("en", "de")
    }
    with ModelServer() as model, tempfile.TemporaryDirectory() as config:
        model.default = answer
        model.models = ["qwen3-8b-instruct"]
        async with HomeAssistant(version=release, config=Path(config) / "config") as home:
            known = await prepare(home, model)
            model.models = ["gemma3-12b-it"]  # the flow adds another agent
            plan = {
                **known,
                "url": home.url,
                "username": USERNAME,
                "password": PASSWORD,
                "server": model.url,
                "looks": looks,
                "pages": {menu: [page for page in pages if page in PAGES] for menu, pages in MENUS.items()},
                "panel": PANEL,
                "gone": GONE,
                "question": SENTENCES[-1],
                "words": {
                    language: {
                        "menus": {menu: found["options"]["step"][menu]["menu_options"] for menu in MENUS},
                        "agent": agent_words(found["config_subentries"]["agent"]),
                    }
                    for language, found in words.items()
                },
                "browser": os.environ["HOME_AGENT_BROWSER"],
                "playwright": os.environ["HOME_AGENT_PLAYWRIGHT"],
                "screenshots": str(singles),
                "sheets": str(sheets),
            }
            file = Path(config) / "plan.json"
            file.write_text(json.dumps(plan), encoding="utf-8")
            program = Path(__file__).with_name("pictures.mjs")
            result = await asyncio.to_thread(subprocess.run, ["node", program, file], check=False)
            if result.returncode:
                sys.exit("the walk stopped; failed.png shows where")


def agent_words(words: dict[str, Any]) -> dict[str, Any]:
    """Return what the buttons and the menu of further agents are called."""
    named = words["initiate_flow"]
    menu = words["step"]["reconfigure"]["menu_options"]
    return {"add": named["user"], "change": named["reconfigure"], "pages": AGENT_PAGES, "menu": menu}


def main() -> None:
    """Read the arguments and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--look", action="append", choices=LOOKS, dest="looks")
    parser.add_argument("--release", default=RELEASES[-1], choices=RELEASES)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    singles = options.out or ROOT / "artifacts" / "pictures"
    sheets = options.out or ROOT / "docs" / "images" / "pages"
    sheets.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(options.release, options.looks or LOOKS, singles, sheets))


if __name__ == "__main__":
    main()
