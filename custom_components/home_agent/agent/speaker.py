"""Who speaks, and from where."""

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr

from ..knowledge.speaker import Speaker


async def async_speaker(hass: HomeAssistant, user_input: conversation.ConversationInput) -> Speaker:
    """Return the speaker of a sentence.

    A satellite has a device and, as a rule, no user; the chat dialog has a user and no device.
    """
    area_id = floor_id = None
    if user_input.device_id and (device := dr.async_get(hass).async_get(user_input.device_id)):
        area_id = dr.async_get_effective_area_id(hass, device)
        if area_id and (area := ar.async_get(hass).async_get_area(area_id)):
            floor_id = area.floor_id
    person = None
    if user_input.context.user_id and (user := await hass.auth.async_get_user(user_input.context.user_id)):
        person = user.name
    return Speaker(
        context=user_input.context,
        language=user_input.language,
        device_id=user_input.device_id,
        area_id=area_id,
        floor_id=floor_id,
        person=person,
        voice=bool(user_input.device_id or user_input.satellite_id),
    )
