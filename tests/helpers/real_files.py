"""A fixture for a Home Assistant whose stores are real files; a module that imports it has it."""

from typing import Any

import pytest


@pytest.fixture
def hass_storage() -> dict[str, Any]:
    """Let stores be real files."""
    return {}
