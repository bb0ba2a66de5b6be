"""What the agent can look up besides entities: texts with a source."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple, Protocol

from homeassistant.core import CALLBACK_TYPE

from ..safety.disclosure import Disclosure


class Source(StrEnum):
    """Where a text of the knowledge comes from."""

    ENTITY = "entity"
    AUTOMATION = "automation"
    SCENE = "scene"
    SCRIPT = "script"
    AREA = "area"
    SUMMARY = "summary"
    """What happened in the last 24 hours."""
    PROFILE = "profile"
    MEMORY = "memory"
    FILE = "file"
    """A passage of a text file, in an additional collection; never among the home's own knowledge."""


class KnowledgeDocument(NamedTuple):
    """One text that can be found."""

    id: str
    """Unique over all sources: the entity id, or `source:name`."""
    source: Source
    title: str
    text: str
    entity_ids: tuple[str, ...] = ()
    """The entities it speaks of. Where none of them is exposed any more, it is not shown."""
    person: str | None = None
    """The owner; None is the household."""


class KnowledgeSource(Protocol):
    """One kind of knowledge."""

    source: Source

    async def async_documents(self) -> Iterable[KnowledgeDocument]:
        """Return all documents as of now; takes no time on the event loop."""
        ...

    def async_listen(self, changed: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `changed` when documents may differ; return how to stop that."""
        ...


class PersonalSource(Protocol):
    """Finds what is known of a person, such as the profile.

    It belongs to one agent, and what it gives depends on who asks. So each search asks it, and its documents
    are not among those that agents share.
    """

    async def async_find(
        self, text: str, person_id: str | None, model: Disclosure
    ) -> list[KnowledgeDocument]:
        """Return the results that this person may see with this model, best first, without sensitive ones."""
        ...
