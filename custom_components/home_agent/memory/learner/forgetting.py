"""Nothing is kept of what was learned where learning is switched off."""

from ..memories import Memories
from ..records import Memory, Origin
from .observations import Observations


async def async_forget_learned(observations: Observations, memories: Memories) -> None:
    """Forget all that was observed, and the habits among the memories; what was deleted stays so."""
    if observations.read_until is None:
        return
    observations.erase(keep_silenced=True)
    observations.read_until = None
    await memories.async_drop([memory.id for memory in memories.records() if is_learned(memory)])


def is_learned(memory: Memory) -> bool:
    """Return whether a memory was observed, and nobody has said it since."""
    return memory.origin is Origin.OBSERVED
