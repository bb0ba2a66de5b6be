"""A voice that makes no sound."""

from typing import Any, override

from homeassistant.components.tts import TextToSpeechEntity, TtsAudioType
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback


class StandInVoice(TextToSpeechEntity):
    """Speaks English."""

    _attr_name = "Voice"
    _attr_unique_id = "voice"
    _attr_default_language = "en"
    _attr_supported_languages = ["en"]  # noqa: RUF012 - as Home Assistant declares it

    def __init__(self) -> None:
        self.entity_id = "tts.voice"

    @override
    async def async_get_tts_audio(self, message: str, language: str, options: dict[str, Any]) -> TtsAudioType:
        return "wav", b""


async def async_setup_entry(
    _hass: HomeAssistant, _entry: ConfigEntry, add: AddConfigEntryEntitiesCallback
) -> None:
    add([StandInVoice()])
