"""The words that are nobody's secret, as they are gathered from Home Assistant's texts."""

import json
from pathlib import Path

import pytest

from custom_components.home_agent.safety.sanitizer.private_names import ordinary_words
from scripts.lib.ordinary_words import CITIES, GIVEN_NAMES, LEAST_INTEGRATIONS, common, ordinary


@pytest.fixture
def components(tmp_path: Path) -> Path:
    """Return integrations that all say the same, and one that says something else."""
    folder = tmp_path / "homeassistant" / "components"
    for number in range(LEAST_INTEGRATIONS):
        _write(
            folder / f"maker_{'abcdefgh'[number]}x",
            "The Button of Bob, see {nonesuch} of the box",
            "Der Knopf",
        )
    _write(folder / "other_hub", "A rare gadget", "Ein seltenes Ding")
    generated = folder.parent / "generated" / "integrations.json"
    generated.parent.mkdir()
    generated.write_text(json.dumps({"integration": {"acme": {"name": "Acme", "integrations": {}}}}))
    return folder


def _write(folder: Path, english: str, german: str) -> None:
    (folder / "translations").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"name": f"{folder.name.title()} Lamps"}))
    for language, text in (("en", english), ("de", german)):
        path = folder / "translations" / f"{language}.json"
        path.write_text(json.dumps({"title": {"step": text}}), encoding="utf-8")


def test_words_of_several_integrations(components: Path) -> None:
    """Those with a capital may be names, but in German."""
    assert common(components, "en") == {"box", "of", "see", "the"}
    assert common(components, "de") == {"der", "knopf"}


def test_what_is_gathered(components: Path) -> None:
    """Names of integrations, makers and places too; none of people, nothing short."""
    written, names = ordinary(components, ["Europe/Testville", "America/San_Juan"])
    assert written == sorted(set(written) - set(names))
    assert {"the", "knopf", "lamps"} <= set(written)
    assert {"hub", "acme", "testville", "america", "san", "hamburg"} <= set(names)
    found = {*written, *names}
    assert not {"bob", "juan", "nonesuch", "of"} & found


def test_the_file() -> None:
    """It holds cities and no given names."""
    assert set(CITIES.split()) <= ordinary_words()
    assert not set(GIVEN_NAMES.split()) & ordinary_words()
    assert {"kitchen", "kuche", "temperature", "philips"} <= ordinary_words()
    assert {"kitchen", "kuche"} <= ordinary_words(names=False)
    assert not {"lupus", "philips"} & ordinary_words(names=False)
