"""A satellite that asks questions and hears what people answer."""

from typing import Any, override

from pytest_homeassistant_custom_component.common import MockConfigEntry

from homeassistant.components.assist_satellite import AssistSatelliteAnswer
from homeassistant.components.assist_satellite.const import DATA_COMPONENT, AssistSatelliteEntityFeature
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.everyday_house import Satellite


class AskingSatellite(Satellite):
    """Asks aloud; people answer with the sentences that a test gives."""

    _attr_supported_features = (
        AssistSatelliteEntityFeature.ANNOUNCE | AssistSatelliteEntityFeature.START_CONVERSATION
    )

    def __init__(self, name: str = "Satellite") -> None:
        super().__init__(name)
        self.answers: list[str] = []
        self.asked: list[str] = []

    @override
    async def async_internal_ask_question(
        self, question: str | None = None, **_options: Any
    ) -> AssistSatelliteAnswer | None:
        """Ask, and hear the next answer."""
        self.asked.append(question or "")
        if not self.answers:
            raise HomeAssistantError("No answer from question")
        return AssistSatelliteAnswer(id=None, sentence=self.answers.pop(0))


async def async_add_asking(hass: HomeAssistant, room: str) -> AskingSatellite:
    """Add a satellite on a device in a room."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "assist_satellite", {})
    satellite = AskingSatellite(f"{room} satellite")
    await hass.data[DATA_COMPONENT].async_add_entities([satellite])
    entry = MockConfigEntry(domain="speaker", title=room)
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("speaker", room)}, name=f"{room} speaker"
    )
    area = ar.async_get(hass).async_get_or_create(room)
    dr.async_get(hass).async_update_device(device.id, area_id=area.id)
    er.async_get(hass).async_update_entity(satellite.entity_id, device_id=device.id)
    return satellite
