"""What a person's sentence says against a call.

The model is the reader, so a rule refuses only what nothing in the sentence supports, and only in one answer
of the model: what it calls after that is done, if the policy allows it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from homeassistant.core import HomeAssistant

from ...errors import ValidationError
from ...knowledge.house import HouseSnapshot
from ...languages.sentence import read
from ...texts import words
from ...when import REPEATING, times_named
from ..base import ToolRun
from ..resolving.resolver import Mentioned, mention
from ..turn_calls import TurnCalls

WHEN_FORMS: Final = "10 minutes, 18:30, tomorrow 7:00, sunset - 30 minutes or 2026-03-29 18:30"
EVENT_FORMS: Final = "binary_sensor.washer off for 5 minutes, sensor.porch below 3 or person.anna home"
FOR_FORMS: Final = "5 minutes, 2 hours or until 23:00"
AGAIN: Final = "If the person does want it, make the same call again"
ONLY_ASKS: Final = f"The person only asks how things are: read it with ha_query and change nothing. {AGAIN}"
FORBIDDEN: Final = f"The person says what is not to be done, so nothing was done. {AGAIN}"
NEXT_TIME: Final = (
    "that is so already, so it is waited for the next time: tell the person. If it is meant for now, cancel "
    "it and call without when"
)
EVERY_TIME: Final = (
    "when, if: an event or a condition counts once, so repeat does not fit and nothing is planned. For every "
    "time it needs an automation in Home Assistant, which an administrator makes: say so"
)


def check_asked(run: ToolRun) -> None:
    """Refuse to change anything if the sentence only asks, or only forbids. Raises ValidationError."""
    sentence = read(run.sentence, run.speaker.language)
    if not (sentence.only_asks or sentence.only_forbids):
        return
    problem = ONLY_ASKS if sentence.only_asks else FORBIDDEN
    # In the first answer of the model that is refused so, and never again.
    rounds: Mapping[str, int] = run.calls.advised
    if problem not in rounds or (run.calls.round and rounds[problem] == run.calls.round):
        run.calls.advised[problem] = run.calls.round
        raise ValidationError(problem)


def named_by_person(hass: HomeAssistant, house: HouseSnapshot, turn: TurnCalls) -> Callable[[str], bool]:
    """Return whether what the person has said in this conversation names an entity.

    By its name, a label, its kind or its room; by "everything", too, unless a tool has read what that may
    be about: "put everything from the recipe on the list".
    """

    @cache
    def mentions() -> Sequence[Mentioned]:
        said = [mention(hass, house, text, turn.speaker.language) for text in turn.origins.said]
        # A kind is enough: "the children" are no room here.
        alike = [
            each._replace(everything=False, places=at) for each in said for at in (each.places, frozenset())
        ]
        if turn.has_read_by_tool:
            return alike
        nothing: frozenset[str] = frozenset()
        return [
            *alike,
            *(each._replace(entity_ids=nothing, kinds=nothing) for each in said if each.everything),
        ]

    said_words = f" {' '.join(word for text in turn.origins.said for word in words(text))} "

    def is_named(entity_id: str) -> bool:
        if (record := house.entities.get(entity_id)) is None:
            return False
        # "Evening" may be the name of a scene, and no name for the reader of topics.
        names = (*record.names, *record.labels)
        return any(f" {' '.join(words(name))} " in said_words for name in names) or any(
            each.fit(record) for each in mentions()
        )

    return is_named


def is_planted(run: ToolRun, entity_ids: Iterable[str], *, repeats: bool) -> bool:
    """Return whether somebody else's text may want a plan.

    In a marked turn the person names the targets, and says so if it `repeats`.
    """
    if not run.tainted or run.confirmed:
        return False
    if repeats and REPEATING.isdisjoint(times_named(run.calls.origins.said, run.speaker.language)):
        return True
    return not all(map(named_by_person(run.hass, run.house, run.calls), entity_ids))
