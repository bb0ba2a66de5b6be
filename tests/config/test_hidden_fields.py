"""Fields that the other fields of a form hide, as Home Assistant does since 2026.11."""

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.config.options import HIDES_FIELDS
from homeassistant.core import HomeAssistant
from tests.helpers.options_pages import entry, is_saved, save  # noqa: F401 - fixtures


@pytest.mark.skipif(not HIDES_FIELDS, reason="this Home Assistant hides no fields")
async def test_a_hidden_field_that_is_sent_changes_nothing(
    hass: HomeAssistant,
    house: HomeAssistant,
    entry: MockConfigEntry,
) -> None:
    """What is stored of it stays, and is in use again when it is shown again."""
    chroma = {"vector_db_host": "chroma.local", "vector_db_port": 8001}
    hass.config_entries.async_update_entry(entry, options={"vector_db_backend": "chroma", **chroma})
    typed = {"vector_db_backend": "embedded", "vector_db_host": "elsewhere", "vector_db_port": 99_999}
    assert is_saved(await save(hass, entry, "vector_store", typed))
    assert dict(entry.options) == {"vector_db_backend": "embedded", **chroma}
