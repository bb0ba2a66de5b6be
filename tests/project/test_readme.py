"""The README: HACS shows it, and most people read nothing else."""

from pathlib import Path
import re

from tests.helpers.checks import every

ROOT = Path(__file__).parents[2]
WRITTEN = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme() -> None:
    assert WRITTEN.startswith("# Home Agent\n")
    assert 500 < len(WRITTEN) < 6000


def test_commands_exist() -> None:
    """What is to be typed is there and can be run."""
    commands = re.findall(r"^(scripts/\w+)", WRITTEN, re.MULTILINE)
    assert commands == ["scripts/demo", "scripts/test"]
    for command in commands:
        assert (ROOT / command).stat().st_mode & 0o111


def test_every_page_can_be_reached() -> None:
    for page in every((ROOT / "docs").glob("*.md")):
        index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
        assert page.name == "README.md" or f"({page.name})" in index
        assert page.name == "README.md" or f"(docs/{page.name}" in WRITTEN
