"""A fixture for a Home Assistant whose stores are real files; a module that imports it has it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def hass_storage() -> dict[str, Any]:
    return {}


def files_with(folder: str, word: str) -> Iterator[str]:
    """Yield the files that hold a word, in whatever letters."""
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and word.casefold().encode() in path.read_bytes().lower():
            yield str(path.relative_to(folder))
