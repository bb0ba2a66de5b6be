"""Voice satellites that can ask a question: which of them are free, where somebody is, and their language."""

from collections.abc import Callable, Iterator
from typing import Final

from homeassistant.components.binary_sensor.const import BinarySensorDeviceClass
from homeassistant.const import ATTR_DEVICE_CLASS, STATE_ON
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

from ..domains.features import supports
from ..knowledge.speaker import pipeline_of

SATELLITE: Final = "assist_satellite"
IDLE: Final = "idle"
PRESENCE: Final = frozenset(
    {
        BinarySensorDeviceClass.MOTION,
        BinarySensorDeviceClass.OCCUPANCY,
        BinarySensorDeviceClass.PRESENCE,
    }
)


@callback
def can_ask(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether a satellite can ask something now, without interrupting a conversation."""
    state = hass.states.get(entity_id)
    return state is not None and state.state == IDLE and supports(state, "START_CONVERSATION")


@callback
def near_somebody(hass: HomeAssistant, is_exposed: Callable[[str], bool]) -> list[str]:
    """Return a free satellite of each room where an exposed sensor shows that somebody is there."""
    rooms = dict.fromkeys(_occupied(hass, is_exposed))
    found: dict[str, str] = {}
    for state in hass.states.async_all(SATELLITE):
        area = area_of(hass, state.entity_id)
        if area is not None and area in rooms and can_ask(hass, state.entity_id):
            found.setdefault(area, state.entity_id)
    return [found[area] for area in rooms if area in found]


@callback
def _occupied(hass: HomeAssistant, is_exposed: Callable[[str], bool]) -> Iterator[str]:
    """Yield the areas in which a sensor shows that somebody is there, the one with the newest state first."""
    states = hass.states.async_all("binary_sensor")
    for state in sorted(states, key=lambda state: state.last_changed, reverse=True):
        is_on = state.state == STATE_ON and state.attributes.get(ATTR_DEVICE_CLASS) in PRESENCE
        if is_on and is_exposed(state.entity_id) and (area := area_of(hass, state.entity_id)):
            yield area


@callback
def area_of(hass: HomeAssistant, entity_id: str) -> str | None:
    """Return the area of an entity, or of its device."""
    entry = er.async_get(hass).async_get(entity_id)
    return er.async_get_effective_area_id(hass, entry) if entry else None


@callback
def device_of(hass: HomeAssistant, entity_id: str) -> str | None:
    """Return the device of an entity."""
    entry = er.async_get(hass).async_get(entity_id)
    return entry.device_id if entry else None


@callback
def language_of(hass: HomeAssistant, entity_id: str) -> str:
    """Return the language that people speak to a satellite: that of its Assist pipeline."""
    pipeline = pipeline_of(hass, entity_id)
    return (pipeline.stt_language or pipeline.language) if pipeline else hass.config.language
