"""Fixtures for a Home Assistant whose stores are real files; a module that imports them has them."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def hass_storage() -> dict[str, Any]:
    """Let stores be real files."""
    return {}


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Give every test separate files."""
    return str(tmp_path)
