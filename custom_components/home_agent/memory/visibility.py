"""Who may see what is remembered."""

from ..safety.disclosure import AT_HOME, Disclosure
from .profile_records import ProfileEntry, Sensitivity
from .records import Memory


def is_visible(memory: Memory, person_id: str | None, model: Disclosure = AT_HOME) -> bool:
    """Return whether this speaker may see a memory; None is somebody whom nobody knows.

    Everybody sees what is the household's. What is a person's is seen by that person, and what is private
    never by somebody unknown, and never by a model outside the house.
    """
    if not model.home and (memory.private or not model.people):
        return False
    return _is_for(memory.person, person_id, private=memory.private)


def is_entry_visible(entry: ProfileEntry, person_id: str | None, model: Disclosure = AT_HOME) -> bool:
    """Return whether this speaker may see an entry of a profile, as `is_visible` does."""
    private = entry.sensitivity is not Sensitivity.PUBLIC
    if not model.home and (private or not model.people):
        return False
    return _is_for(entry.person, person_id, private=private)


def _is_for(whose: str | None, person_id: str | None, *, private: bool) -> bool:
    """Return whether something of a person, or of the household, is for this speaker."""
    if whose is not None:
        return whose == person_id
    return not private or person_id is not None
