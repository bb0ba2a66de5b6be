"""Who speaks, and from where."""

from collections.abc import Iterable, Mapping
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.script import script_stack_cv

from ..knowledge.persons import async_person_of_user, person_of_device
from ..knowledge.speaker import Speaker, Surface, surface, written_in
from .assist_run import Presentation, presentation


async def async_speaker(
    hass: HomeAssistant,
    user_input: conversation.ConversationInput,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Speaker:
    """Return the speaker of a sentence; `owners` says whose device is whose.

    A satellite has a device and, as a rule, no user; the chat dialog has a user and no device, even when its
    microphone is used. A device's owner says who is spoken with, and gives nobody that person's rights.
    """
    area_id = floor_id = None
    if user_input.device_id and (device := dr.async_get(hass).async_get(user_input.device_id)):
        area_id = dr.async_get_effective_area_id(hass, device)
        if area_id and (area := ar.async_get(hass).async_get_area(area_id)):
            floor_id = area.floor_id
    person = await async_person_of_user(hass, user_input.context.user_id)
    person = person or person_of_device(hass, owners, user_input.device_id)
    presented = presentation(hass, user_input)
    voice = bool(user_input.device_id or user_input.satellite_id) or presented is Presentation.SPOKEN
    return Speaker(
        context=user_input.context,
        language=user_input.language,
        device_id=user_input.device_id,
        area_id=area_id,
        floor_id=floor_id,
        person=person.name or None if person else None,
        person_id=person.id if person else None,
        voice=voice,
        shown=presented is Presentation.SHOWN or surface.get() is Surface.TELEGRAM,
        surface=_surface(user_input, voice=voice),
        chat=written_in.get(),
    )


def _surface(user_input: conversation.ConversationInput, *, voice: bool) -> Surface:
    """Return by which way somebody speaks.

    A satellite has no user, and neither has an automation. `home_agent.process` says that it is one, and
    `conversation.process` names no device. What runs because of something else has a parent context; a
    satellite never has. A script has the user who started it, and still nobody says its sentences.

    What a channel says of itself comes last: an automation that runs because of what somebody wrote there
    inherits it.
    """
    told, context = surface.get(), user_input.context
    if told is Surface.AUTOMATION:
        return told
    by_script = bool(script_stack_cv.get())
    if by_script if context.user_id else (context.parent_id is not None or not voice):
        return Surface.AUTOMATION
    return told or (Surface.VOICE if voice else Surface.CHAT)
