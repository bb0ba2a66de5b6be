"""What is known of persons and of the household, as documents of one agent."""

from typing import Protocol

from ...safety.disclosure import Disclosure
from ..documents import KnowledgeDocument


class PersonalSource(Protocol):
    """Finds what is known of a person, such as the profile.

    It belongs to one agent, and what it gives depends on who asks; so it is asked in each search and is
    not among the documents that agents share.
    """

    async def async_find(
        self, text: str, person_id: str | None, model: Disclosure
    ) -> list[KnowledgeDocument]:
        """Return what this person may know of it by this model, best first; nothing that is sensitive."""
        ...
