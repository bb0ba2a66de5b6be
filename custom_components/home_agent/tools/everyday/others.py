"""Whether a reminder is for somebody else than the speaker, whom a timer does not reach."""

from functools import cache

from ...errors import ValidationError
from ...knowledge.persons import persons
from ...languages.later import beside_times
from ...languages.phrases import all_words as all_phrases
from ...texts import first_name, fold, words
from ..base import HomeAgentTool, ToolRun
from ..messages import NOTIFY_TOOL


def check_own(name: str, run: ToolRun) -> None:
    """Raise ValidationError if the sentence wants to remind others; `name` is what the timer is called.

    "Remind Tom to take the bins out" is for Tom, "remind me to call Tom" is not. This is not always clear, so
    a second call counts as written.
    """
    tool = run.calls.tools.get(NOTIFY_TOOL)
    if not isinstance(tool, HomeAgentTool) or not tool.has_use(run.hass, run.house):
        return
    if any(record.tool_name == "timer" for record in run.calls.records):
        return
    said, called = beside_times(run.sentence, run.speaker.language), words(name)
    others = {
        fold(first_name(one.name)): one.name
        for one in persons(run.hass)
        if one.name.strip() and one.id != run.speaker.person_id
    }
    to_self = not (_self_words() - others.keys()).isdisjoint(said)
    others |= {} if to_self else dict.fromkeys(_people_words(), "everybody")
    meant = [others[word] for word in said if word in others and word not in called]
    if not meant and called and called[0] in others and not to_self:
        meant = [others[called[0]]]
    if meant:
        raise ValidationError(
            f"A timer reminds only the person who sets it, so none was set. To tell {meant[0]} call "
            f"{NOTIFY_TOOL} with person, message and when. If it is for the speaker, call timer again"
        )


@cache
def _people_words() -> frozenset[str]:
    """Return the words for all people, in all languages."""
    return frozenset(fold(entry) for entry in all_phrases("quantities.people") if " " not in entry)


@cache
def _self_words() -> frozenset[str]:
    """Return the words for the speaker, in all languages."""
    return frozenset(word for entry in all_phrases("memory.self") for word in words(entry))
