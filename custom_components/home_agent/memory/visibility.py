"""Who may see what is remembered."""

from .records import Memory


def is_visible(memory: Memory, person_id: str | None) -> bool:
    """Return whether this speaker may see a memory; None is somebody whom nobody knows.

    Everybody sees what is the household's. What is a person's is seen by that person, and what is private
    never by somebody unknown.
    """
    if memory.person is not None:
        return memory.person == person_id
    return not memory.private or person_id is not None
