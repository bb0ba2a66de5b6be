"""The pages of the options as people see them: in two languages and two sizes, each saved once."""

import json
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.config.options import MENUS
from custom_components.home_agent.config.schemas import HOUSEHOLD, PAGES
from scripts.lib.agent import add_entry, set_options
from scripts.lib.client import Client, onboard
from scripts.lib.running import ROOT, HomeAssistant
from tests.helpers.checks import every
from tests.servers.model_server import ModelServer

from .browser import drive, fresh_home, needs_browser
from .conftest import KEY, RELEASES, pass_probe

LANGUAGES = ("en", "de")
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
LOOKS = [
    {"language": "en", "dark": False, "sizes": [DESKTOP, PHONE]},
    {"language": "de", "dark": True, "sizes": [DESKTOP, PHONE]},
]
"""An older release is looked at in the first way only."""
MOST_FIELDS = 8
MOST_IN_ALL = 32
RULE = {
    "decision": "Never",
    "kinds": ["Light"],
    "hours": ["Saturday", "20:00-07:00"],
    "presence": "Nobody is at home",
    "whom": ["Guests", "Except administrators"],
}
"""In the words of the form, which are those of the home's language."""
LINE = "Never · Light · Saturday, 20:00-07:00 · Nobody is at home · Guests, Except administrators"


@needs_browser
@pytest.mark.parametrize("release", RELEASES)
async def test_every_page(release: str, model: ModelServer, tmp_path: Path) -> None:
    """Fields have labels and help, nothing is cut off, no key is shown, and saving leads back to the menu."""
    looks = LOOKS if release == RELEASES[-1] else LOOKS[:1]
    async with fresh_home(release, model, tmp_path) as home:
        seen = await walk(home, model, tmp_path, looks)
    assert seen["pageErrors"] == []
    assert seen["rule"][:3] == ["entities", "duration", "persons"]
    assert "llm_base_url" in seen["server"]
    assert seen["saved"] == list(PAGES) * len(looks)
    for found in every(seen["pages"]):
        check_page(found)
    collapsed = [found for found in seen["pages"] if not found["part"]]
    for found in every([found for found in collapsed if found["page"] == "permissions"]):
        assert LINE in found["texts"], "a rule is one line that people can read"
    assert len(collapsed) == len(PAGES) * sum(len(look["sizes"]) for look in looks)
    assert max(len(found["fields"]) for found in collapsed) <= MOST_FIELDS
    first = [found for found in collapsed if (found["language"], found["width"]) == ("en", 1280)]
    assert sum(len(found["fields"]) for found in first if found["page"] in HOUSEHOLD) <= MOST_IN_ALL


def check_page(found: dict[str, Any]) -> None:
    where = f"{found['page']}{found['part']}, {found['language']}, {found['width']}"
    keys = [field.key for field in PAGES[found["page"]]]
    assert found["title"].endswith(": Home Agent"), where
    for field in every(found["fields"]):
        assert field["label"], (where, field)
        assert field["isLabelShown"], (where, field)
        assert field["helps"], (where, field)
        assert field["label"] not in keys, (where, field)
    assert not found["scrolls"], where
    assert not found.get("beyond"), (where, found["beyond"])
    shown = found["texts"].split()
    assert [key for key in keys if "_" in key and key in shown] == [], where


async def walk(
    home: HomeAssistant, model: ModelServer, folder: Path, looks: list[dict[str, Any]]
) -> dict[str, Any]:
    """Let an administrator go through all pages; return what was seen."""
    token = await onboard(home.url)
    async with Client(home.url, token) as client:
        await client.wait_running()
        pass_probe(model)
        connection = {"name": "Home Agent", "llm_base_url": model.url, "llm_model": model.models[0]}
        entry_id = await add_entry(client, {**connection, "llm_api_key": KEY})
        await set_options(client, entry_id, {"policy_choices": [RULE]})
        return await drive("options", home, folder, looks=looks, **words())


def words() -> dict[str, Any]:
    """Return what menus and buttons are called."""
    folder = ROOT / "custom_components" / "home_agent" / "translations"
    steps = {
        language: json.loads((folder / f"{language}.json").read_text(encoding="utf-8"))["options"]["step"]
        for language in LANGUAGES
    }
    return {
        "menus": {
            menu: {
                page: {language: step[menu]["menu_options"][page] for language, step in steps.items()}
                for page in pages
            }
            for menu, pages in MENUS.items()
        },
        "configure": {"en": "Configure", "de": "Konfigurieren"},
        "save": {language: step["answers"]["submit"] for language, step in steps.items()},
        "pages": list(PAGES),
        # What the entries of a list say comes from the home, in its language.
        "add": dict.fromkeys(LANGUAGES, "Add a rule"),
        "rule": dict.fromkeys(LANGUAGES, "Battery low"),
    }
