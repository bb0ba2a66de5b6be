"""The README: HACS shows it, and most people read nothing else."""

from pathlib import Path
import re

from tests.helpers.checks import every
from tests.helpers.documents import PAGES

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
    """The index names each page, the README those for households."""
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    for page in every(docs.rglob("*.md")):
        name = page.relative_to(docs).as_posix()
        assert name == "README.md" or f"({name})" in index
        assert "/" in name or f"(docs/{name}" in WRITTEN


def test_size() -> None:
    """All documents have at most 35,000 words, those for households 8,000."""
    households = [text for name, text in PAGES.items() if re.fullmatch(r"docs/(?!README)[\w-]+\.md", name)]
    assert sum(len(text.split()) for text in PAGES.values()) <= 35_000
    assert sum(len(text.split()) for text in every(households)) <= 8_000
