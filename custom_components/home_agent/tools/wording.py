"""Calls that a sentence cannot mean, whatever the model makes of it: a question, or the opposite command."""

from collections.abc import Iterable

from ..errors import ValidationError
from .base import ServiceCall, ToolRun
from .control.direction import contradicts, direction_of
from .control.questions import asks_about_state

ONLY_ASKS = "The person only asks how things are. Read it with ha_query and change nothing"
OPPOSITE = "is not moved: the person asked for the opposite"


def check_asked(run: ToolRun) -> None:
    """Raise ValidationError if the sentence only asks how things are."""
    if asks_about_state(run.sentence, run.speaker.language):
        raise ValidationError(ONLY_ASKS)


def check_calls(calls: Iterable[ServiceCall], run: ToolRun) -> None:
    """Raise ValidationError if the sentence only asks, or commands the opposite of one of the calls."""
    for call in calls:
        check_asked(run)
        if contradicts(direction_of(call.service, call.data), run.sentence, run.speaker.language):
            raise ValidationError(f"{', '.join(call.entity_ids)} {OPPOSITE}")
