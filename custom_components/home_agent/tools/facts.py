"""What is known of each native tool by its name, whether the tool is loaded or not.

Every check that depends on what a tool is reads it here, by the tool's class where there is one. The names
of the tools of this integration stand nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..safety.disclosure import Tells


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """Facts about one tool."""

    name: str
    tells: Tells = Tells.STATES
    """What its results tell. A tool that tells of people leaves out by itself what the model that calls it
    may not read."""
    stores_memory: bool = False
    """Whether a successful call stores a memory, so that nothing else is learned from the turn."""


UNKNOWN: Final = ToolFacts(name="")
"""What has to be assumed of any other tool: that it tells states."""

CONTROL: Final = ToolFacts(name="ha_control")
QUERY: Final = ToolFacts(name="ha_query")
ACTIVITY: Final = ToolFacts(name="activity")
KNOWLEDGE: Final = ToolFacts(name="retrieve_knowledge", tells=Tells.PEOPLE | Tells.STATES)
ENTITIES: Final = ToolFacts(name="get_ha_entities", tells=Tells.NAMES)
STORE_MEMORY: Final = ToolFacts(name="store_memory", tells=Tells.PEOPLE, stores_memory=True)
RECALL_MEMORY: Final = ToolFacts(name="recall_memory", tells=Tells.PEOPLE)
FORGET_MEMORY: Final = ToolFacts(name="forget_memory", tells=Tells.PEOPLE)
READ_PROFILE: Final = ToolFacts(name="get_user_profile", tells=Tells.PEOPLE)
UPDATE_PROFILE: Final = ToolFacts(name="update_user_profile", tells=Tells.PEOPLE)
EXTERNAL_MODEL: Final = ToolFacts(name="query_external_llm", tells=Tells.PEOPLE | Tells.STATES)
WEB_SEARCH: Final = ToolFacts(name="search_web", tells=Tells.NAMES)
TODO: Final = ToolFacts(name="todo_list")
CALENDAR: Final = ToolFacts(name="calendar")
WEATHER: Final = ToolFacts(name="weather")
TIMER: Final = ToolFacts(name="timer")
NOTIFY: Final = ToolFacts(name="notify_person")
CAMERA: Final = ToolFacts(name="look_at_camera")
MEDIA: Final = ToolFacts(name="play_media")

NATIVE: Final[Mapping[str, ToolFacts]] = {
    facts.name: facts
    for facts in (
        *(CONTROL, QUERY, ACTIVITY, KNOWLEDGE, ENTITIES),
        *(STORE_MEMORY, RECALL_MEMORY, FORGET_MEMORY),
        *(READ_PROFILE, UPDATE_PROFILE, EXTERNAL_MODEL, WEB_SEARCH),
        *(TODO, CALENDAR, WEATHER, TIMER, NOTIFY, CAMERA, MEDIA),
    )
}
"""All native tools by name; no other tool may have one of these names."""


def facts_of(name: str) -> ToolFacts:
    """Return what is known of a tool of this name."""
    return NATIVE.get(name, UNKNOWN)
