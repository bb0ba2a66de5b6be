"""A satellite that asks questions and hears what people answer."""

from typing import Any, override

from homeassistant.components.assist_satellite import AssistSatelliteAnswer
from homeassistant.components.assist_satellite.const import AssistSatelliteEntityFeature
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar
from tests.helpers.everyday_house import Satellite, async_add_satellite


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
        self.asked.append(question or "")
        if not self.answers:
            raise HomeAssistantError("No answer from question")
        return AssistSatelliteAnswer(id=None, sentence=self.answers.pop(0))


async def async_add_asking(hass: HomeAssistant, room: str) -> AskingSatellite:
    area = ar.async_get(hass).async_get_or_create(room)
    return await async_add_satellite(hass, f"{room} satellite", area.id, AskingSatellite)
