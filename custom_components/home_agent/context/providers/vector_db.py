"""VectorDbContextProvider: entities found by meaning as well as by words, anew for each sentence.

Where the index is not available, words alone find them.
"""

from typing import override

from ...const import (
    CONF_CONTEXT_MODE,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_THRESHOLD,
    CONF_VECTOR_TOP_K,
    MODE_VECTOR,
)
from ...knowledge.documents import Source
from .base import ContextProvider, ContextRequest, ProviderSetup
from .direct import DirectContextProvider, Meant


class VectorDbContextProvider(DirectContextProvider):
    """Adds the entities that are closest in meaning; what is said of them stays the same."""

    name = "vector_db"
    shows_chosen = False

    def __init__(self, setup: ProviderSetup) -> None:
        """Read the options once; an entry is set up anew when they change."""
        super().__init__(setup)
        self._semantic = setup.semantic
        self._collection: str = setup.settings[CONF_VECTOR_COLLECTION]
        self._top_k = int(setup.settings[CONF_VECTOR_TOP_K])
        self._threshold = float(setup.settings[CONF_VECTOR_THRESHOLD])

    @override
    async def async_meant(self, request: ContextRequest) -> Meant:
        """Return the entities closest to the sentence; retrieval checks whether they are exposed."""
        hits = await self._semantic.async_search(
            self._collection,
            request.sentence,
            self._top_k,
            self._threshold,
            where={"source": Source.ENTITY.value},
        )
        answered = self._semantic.available  # a search that fails finds that out
        return Meant(
            tuple((hit.id, hit.similarity) for hit in hits), query=request.sentence if answered else None
        )


def entities_provider(setup: ProviderSetup) -> ContextProvider:
    """Return what finds entities in the chosen mode."""
    vector = setup.settings[CONF_CONTEXT_MODE] == MODE_VECTOR
    return VectorDbContextProvider(setup) if vector else DirectContextProvider(setup)
