"""A fixture for a house whose automations or sessions wait for a time; a module that imports it has it."""

import pytest


@pytest.fixture
def expected_lingering_timers() -> bool:
    return True
