"""What a person's sentence says against a call.

The model is the reader, so a rule refuses only what nothing in the sentence supports, and only in one answer
of the model: what it calls after that is done, if the policy allows it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from functools import cache
from typing import Final

from homeassistant.core import HomeAssistant

from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...languages.sentence import Sentence, Wait, read, times_in
from ...safety.frozen import ServiceCall
from ...texts import words
from ..base import HomeAgentTool, ToolRun
from ..resolving.resolver import Mentioned, mention
from ..turn_calls import TurnCalls

TAKE_TIMES: Final = frozenset({"timer", "input_datetime", "datetime", "date", "time", "calendar", "schedule"})
"""Domains whose own values are times."""
TIME_VALUES: Final = frozenset({"duration", "time", "datetime", "date", "start_time", "end_time"})
WHEN_FORMS: Final = "10 minutes, 18:30, tomorrow 7:00, sunset - 30 minutes or 2026-03-29 18:30"
EVENT_FORMS: Final = "binary_sensor.washer off for 5 minutes, sensor.porch below 3 or person.anna home"
FOR_FORMS: Final = "5 minutes, 2 hours or until 23:00"
AGAIN: Final = "If the person does want it, make the same call again"
ONLY_ASKS: Final = f"The person only asks how things are: read it with ha_query and change nothing. {AGAIN}"
FORBIDDEN: Final = f"The person says what is not to be done, so nothing was done. {AGAIN}"
NEEDS_WHEN: Final = (
    f"This is for later, so nothing was done. Call again with when, such as {WHEN_FORMS}; without it if it "
    "is for now"
)
NEEDS_FOR: Final = (
    f"This is for a while only, so nothing was done. Call again with for, such as {FOR_FORMS}; without it if "
    "it is to stay so"
)
NEEDS_REPEAT: Final = (
    "This is to be repeated, so nothing was done. Call again with when and repeat: "
    "daily, weekdays, weekends, weekly or days of the week"
)
NEEDS_ONCE: Final = (
    "This depends on a condition, so nothing was done. Once: call again with when, such as lock.x locked, or "
    "beside a time with if. Each time: "
)
NEEDS_AUTOMATION: Final = f"{NEEDS_ONCE}it needs an automation, which an administrator makes. {AGAIN} now"
CREATE_AUTOMATION: Final = f"{NEEDS_ONCE}Call automation with action create"
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
    sentence = _read(run)
    if sentence.only_asks:
        _refuse_once(run, ONLY_ASKS)
    if sentence.only_forbids:
        _refuse_once(run, FORBIDDEN)


def check_times(
    run: ToolRun, records: Sequence[EntityRecord], given: Collection[str], answers: AbstractSet[Wait]
) -> None:
    """Refuse a call for now if the sentence is one order for later. Raises ValidationError.

    `given` are the names of its values, `answers` what it waits for itself.
    """
    if not _read(run).waits or not TIME_VALUES.isdisjoint(given):
        return
    if any(record.domain in TAKE_TIMES for record in records):
        return
    # "Every Evening" may be the name of a scene.
    names = {
        name for record in records for name in record.names if name.casefold() in run.sentence.casefold()
    }
    named = {wait for name in names for wait in times_in(name, run.speaker.language)}
    waits = _read(run).waits - answers - named
    for wait, problem in (
        (Wait.CONDITION, needs_automation(run)),
        (Wait.REPEATED, NEEDS_REPEAT),
        (Wait.TIME, NEEDS_WHEN),
        (Wait.LENGTH, NEEDS_FOR),
    ):
        if wait in waits:
            _refuse_once(run, problem)


def check_calls(calls: Iterable[ServiceCall], run: ToolRun) -> None:
    """Check the service calls behind a tool of another API. Raises ValidationError."""
    for call in calls:
        check_asked(run)
        records = [run.house.entities[key] for key in call.entity_ids if key in run.house.entities]
        check_times(run, records, call.data, frozenset())


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
    """Return whether somebody else's text may want a plan: what outlives a marked turn was said, or is asked.

    The person names the targets, and a repetition if it `repeats`.
    """
    if not run.tainted or run.confirmed:
        return False
    said, language = run.calls.origins.said, run.speaker.language
    if repeats and not any(Wait.REPEATED in times_in(text, language) for text in said):
        return True
    return not all(map(named_by_person(run.hass, run.house, run.calls), entity_ids))


def needs_automation(run: ToolRun) -> str:
    """Return what to do about a condition: to call the tool for automations, where there is one."""
    tool = run.calls.tools.get("automation")
    is_there = isinstance(tool, HomeAgentTool) and tool.has_use(run.hass, run.house)
    return CREATE_AUTOMATION if is_there else NEEDS_AUTOMATION


def _read(run: ToolRun) -> Sentence:
    return read(run.sentence, run.speaker.language)


def _refuse_once(run: ToolRun, problem: str) -> None:
    """Raise ValidationError in the first answer of the model that is refused so."""
    rounds: Mapping[str, int] = run.calls.advised
    if problem not in rounds or (run.calls.round and rounds[problem] == run.calls.round):
        run.calls.advised[problem] = run.calls.round
        raise ValidationError(problem)
