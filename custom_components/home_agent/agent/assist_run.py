"""How an Assist pipeline will present the answer to a sentence: read it out, or show it.

The microphone of the Assist dialog sends no device, so the conversation input looks like a typed sentence.
The pipeline run tells them apart: one that ends in text-to-speech announces its audio when it starts.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant

if TYPE_CHECKING:
    from homeassistant.components.assist_pipeline.models import PipelineEvent

ASSIST_PIPELINE = "assist_pipeline"


class Presentation(Enum):
    """Whether an answer is spoken or shown."""

    SPOKEN = auto()
    SHOWN = auto()
    UNKNOWN = auto()
    """No pipeline asked: an action or an API did, and may do either."""


def presentation(hass: HomeAssistant, user_input: conversation.ConversationInput) -> Presentation:
    """Return how the running pipeline that asks this sentence presents the answer."""
    if ASSIST_PIPELINE not in hass.config.components:
        return Presentation.UNKNOWN
    for events in _latest_runs(hass):
        told = {event.type.value: event.data or {} for event in events}
        asked = told.get("intent-start", {})
        if "intent-end" in told or "run-end" in told or asked.get("intent_input") != user_input.text:
            continue
        if asked.get("conversation_id") == user_input.conversation_id:
            return Presentation.SPOKEN if told["run-start"].get("tts_output") else Presentation.SHOWN
    return Presentation.UNKNOWN


def _latest_runs(hass: HomeAssistant) -> Iterator[list[PipelineEvent]]:
    """Yield the events of the latest pipeline runs, newest first."""
    from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE  # noqa: PLC0415

    for runs in list(hass.data[KEY_ASSIST_PIPELINE].pipeline_debug.values()):
        for run in reversed(runs.values()):
            yield run.events
