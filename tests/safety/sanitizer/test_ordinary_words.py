"""The words that are nobody's secret, as they are gathered from Home Assistant's texts."""

import json
from pathlib import Path

import pytest

from scripts.lib.ordinary_words import LEAST_INTEGRATIONS, common


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
