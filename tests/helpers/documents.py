"""The documentation as tests read it: pages, sections, tables, examples."""

from collections.abc import Iterator
from pathlib import Path
import re
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
}


def section(page: str, heading: str, level: int = 2) -> str:
    """Return what stands under a heading, down to the next one of its level or above."""
    marks = "#" * level
    found = re.search(
        rf"^{marks} {re.escape(heading)}\n(.*?)(?=^#{{1,{level}}} |\Z)", PAGES[page], re.MULTILINE | re.DOTALL
    )
    assert found, f"{page} has no section {heading}"
    return found[1]


def rows(written: str, columns: int) -> Iterator[list[str]]:
    """Yield the rows of tables of so many columns that begin with something set as code."""
    for line in written.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == columns:
            yield cells


def code(cell: str) -> list[str]:
    """Return what is set as code in a cell."""
    return re.findall(r"`([^`]*)`", cell)


def fields_of(service: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an action's form, also those in sections."""
    found: dict[str, Any] = {}
    for name, field in service.get("fields", {}).items():
        found |= field.get("fields", {name: field})
    return found


def examples(language: str) -> list[Any]:
    """Return the examples in a language, with their page and number as ids."""
    return [
        pytest.param(found, id=f"{page}-{number}")
        for page, written in PAGES.items()
        for number, found in enumerate(re.findall(rf"```{language}\n(.*?)```", written, re.DOTALL), 1)
    ]
