"""Satellites: their attributes show what they announce and ask; `stand_ins.answer` says what they hear."""

from typing import Any, override

import probatio

from homeassistant.components.assist_pipeline import PipelineEvent, PipelineEventType
from homeassistant.components.assist_satellite import (
    AssistSatelliteAnnouncement,
    AssistSatelliteConfiguration,
    AssistSatelliteEntity,
    AssistSatelliteEntityFeature,
)
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, entity_platform
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from . import device

ROOMS = ("Hallway", "Office")


class StandInSatellite(AssistSatelliteEntity):
    """A satellite without microphone and loudspeaker."""

    _attr_supported_features = (
        AssistSatelliteEntityFeature.ANNOUNCE | AssistSatelliteEntityFeature.START_CONVERSATION
    )

    def __init__(self, room: str) -> None:
        self.entity_id = f"assist_satellite.{room.casefold()}"
        self._attr_name = f"{room} satellite"
        self._attr_unique_id = room
        self._attr_device_info = device(f"{room} satellite", room)
        self._answers: list[str] = []
        self._said: list[str] = []
        self._asked: list[str] = []

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return what was announced and asked, the oldest first."""
        return {"said": list(self._said), "asked": list(self._asked)}

    @override
    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        """Return that there are no wake words."""
        return AssistSatelliteConfiguration([], [], 1)

    @override
    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Keep the configuration."""

    @override
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Take no notice."""

    @override
    async def async_announce(self, announcement: AssistSatelliteAnnouncement) -> None:
        self._said.append(announcement.message)

    @override
    async def async_start_conversation(self, start_announcement: AssistSatelliteAnnouncement) -> None:
        """Note what is asked, and hear the next answer, as the pipeline reports it."""
        self._asked.append(start_announcement.message)
        answer = self._answers.pop(0) if self._answers else None
        data = {"stt_output": {"text": answer}}
        self._internal_on_pipeline_event(PipelineEvent(PipelineEventType.STT_END, data))

    async def async_answer(self, sentence: str) -> None:
        self._answers.append(sentence)


async def async_setup_entry(
    _hass: HomeAssistant, _entry: ConfigEntry, add: AddConfigEntryEntitiesCallback
) -> None:
    add(StandInSatellite(room) for room in ROOMS)
    entity_platform.async_get_current_platform().async_register_entity_service(
        "answer", {probatio.Required("sentence"): cv.string}, "async_answer"
    )
