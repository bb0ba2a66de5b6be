"""The speaker, their location, and how the answer will be presented.

The microphone of the Assist dialog sends no device, so the conversation input looks like a typed sentence.
The pipeline run tells them apart: one that ends in text-to-speech announces its audio when it starts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.script import script_stack_cv

from ..knowledge.speaker import Speaker, Surface, async_person_of_user, person_of_device, surface, written_in

if TYPE_CHECKING:
    pass

ASSIST_PIPELINE: Final = "assist_pipeline"


class Presentation(Enum):
    """Whether an answer is spoken or shown."""

    SPOKEN = auto()
    SHOWN = auto()
    UNKNOWN = auto()
    """No pipeline asked: an action or an API did, and may do either."""


async def async_speaker(
    hass: HomeAssistant,
    user_input: conversation.ConversationInput,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Speaker:
    """Return the speaker of a sentence; `owners` says the owners of devices.

    A satellite has a device and, as a rule, no user; the chat dialog has a user and no device, even when its
    microphone is used. The owner of a device tells who the speaker is, but grants no one that person's
    rights.
    """
    presented = presentation(hass, user_input)
    voice = bool(user_input.device_id or user_input.satellite_id) or presented is Presentation.SPOKEN
    return replace(
        await async_speaker_at(hass, user_input.context, user_input.language, user_input.device_id, owners),
        voice=voice,
        shown=presented is Presentation.SHOWN or surface.get() is Surface.TELEGRAM,
        surface=_surface(user_input, voice=voice),
        chat=written_in.get(),
    )


async def async_speaker_at(
    hass: HomeAssistant,
    context: Context,
    language: str,
    device_id: str | None,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Speaker:
    """Return who speaks in the name of a context at a device, and their location."""
    area_id = floor_id = None
    if device_id and (device := dr.async_get(hass).async_get(device_id)):
        area_id = dr.async_get_effective_area_id(hass, device)
        if area_id and (area := ar.async_get(hass).async_get_area(area_id)):
            floor_id = area.floor_id
    person = await async_person_of_user(hass, context.user_id)
    person = person or person_of_device(hass, owners, device_id)
    return Speaker(
        context=context,
        language=language,
        device_id=device_id,
        area_id=area_id,
        floor_id=floor_id,
        person=person.name or None if person else None,
        person_id=person.id if person else None,
    )


def _surface(user_input: conversation.ConversationInput, *, voice: bool) -> Surface:
    """Return the channel that a person uses.

    A satellite has no user, and neither has an automation. `home_agent.process` says that it is one, and
    `conversation.process` names no device. What runs because of something else has a parent context; a
    satellite never has. A script has the user who started it, but its sentences are not spoken by a person.

    What a channel says of itself comes last: an automation that runs because of what a person wrote there
    inherits it.
    """
    told, context = surface.get(), user_input.context
    if told is Surface.AUTOMATION:
        return told
    by_script = bool(script_stack_cv.get())
    if by_script if context.user_id else (context.parent_id is not None or not voice):
        return Surface.AUTOMATION
    return told or (Surface.VOICE if voice else Surface.CHAT)


def presentation(hass: HomeAssistant, user_input: conversation.ConversationInput) -> Presentation:
    """Return how the running pipeline that asks this sentence presents the answer."""
    if ASSIST_PIPELINE not in hass.config.components:
        return Presentation.UNKNOWN
    from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE  # noqa: PLC0415

    # The latest first.
    pipelines = list(hass.data[KEY_ASSIST_PIPELINE].pipeline_debug.values())
    for events in (run.events for runs in pipelines for run in reversed(runs.values())):
        told = {event.type.value: event.data or {} for event in events}
        asked = told.get("intent-start", {})
        if "intent-end" in told or "run-end" in told or asked.get("intent_input") != user_input.text:
            continue
        if asked.get("conversation_id") == user_input.conversation_id:
            return Presentation.SPOKEN if told["run-start"].get("tts_output") else Presentation.SHOWN
    return Presentation.UNKNOWN
