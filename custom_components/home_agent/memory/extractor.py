"""Extractor: after a turn, in the background, one exchange at a time."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback

from ..const import EVENT_MEMORY_EXTRACTED, LOGGER
from ..errors import HomeAgentError
from ..event_data import MemoryExtracted
from ..events import EventEmitter
from ..idle import IdleQueue
from ..inference.models import Message
from ..knowledge.speaker import Speaker
from ..safety.firewall import firewall
from .extraction_reply import read_candidates
from .memories import Memories, SaveOutcome, make_memory
from .quality import Candidate, Reason, refusal
from .records import Memory, Origin, Provenance
from .sentences import is_grounded, is_households, likeness

MAX_REFUSED: Final = 100
"""What was not kept, remembered with the reason until the next start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was said, as the model saw it."""

    messages: Sequence[Message]
    """The last request, and the answer."""
    tools: Sequence[Mapping[str, Any]]
    speaker: Speaker
    said: str
    """The person's own words."""
    at: datetime
    at_home: bool = False
    """Whether only a model at home may be shown this."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that was not kept."""

    at: datetime
    content: str
    reason: Reason
    person: str | None


type Ask = Callable[[Exchange], Awaitable[str]]
"""Asks a model; returns its reply. Raises HomeAgentError."""


class Extractor:
    """Finds what is worth remembering, and never delays a turn."""

    def __init__(
        self,
        hass: HomeAssistant,
        memories: Memories,
        *,
        ask: Ask,
        is_busy: Callable[[], bool],
        emitter: EventEmitter,
        least_importance: float,
        model: str = "local",
    ) -> None:
        self._memories = memories
        self._ask = ask
        self._queue = IdleQueue(hass, "memory extraction", self._async_look_at, is_busy=is_busy)
        self._emitter = emitter
        self._least_importance = least_importance
        self.model = model
        self._failing = False
        self.refused: deque[Refused] = deque(maxlen=MAX_REFUSED)

    @callback
    def note(self, exchange: Exchange) -> None:
        """Schedule an exchange, together with earlier ones of the same conversation."""
        conversation_id = exchange.speaker.conversation_id
        if (earlier := self._queue.get(conversation_id)) is not None:
            exchange = replace(exchange, said=f"{earlier.said}\n{exchange.said}")
        self._queue.put(conversation_id, exchange)

    @callback
    def stop(self) -> None:
        """Stop extracting."""
        self._queue.stop()

    @callback
    def forget(self, memories: Iterable[Memory]) -> None:
        """Forget rejected candidates that match what a person wants to forget."""
        texts = [memory.content for memory in memories]
        kept = [item for item in self.refused if not any(likeness(item.content, text) for text in texts)]
        self.refused = deque(kept, MAX_REFUSED)

    async def _async_look_at(self, conversation_id: str, exchange: Exchange) -> bool:
        """Ask the model for memories of an exchange, and keep the useful ones; False if that failed."""
        try:
            reply = await self._ask(exchange)
        except HomeAgentError as err:
            (LOGGER.debug if self._failing else LOGGER.warning)(
                "Nothing can be learned from conversations just now: %s", err
            )
            if not self._failing:
                self._emitter.fire_error("extraction", err, str(err), conversation_id)
            self._failing = True
            return False
        self._failing = False
        candidates = read_candidates(reply)
        if candidates is None:
            LOGGER.debug("The model's notes on a conversation could not be read")
            return True
        refused = [await self._async_keep(candidate, exchange) for candidate in candidates]
        kept = refused.count(None)
        if candidates:
            reasons = Counter(reason.value for reason in refused if reason is not None)
            LOGGER.info(
                "Of %d notes on a conversation %d are new; left: %s", len(refused), kept, dict(reasons)
            )
        self._emitter.fire(
            EVENT_MEMORY_EXTRACTED,
            MemoryExtracted(
                conversation_id=conversation_id, memories_extracted=kept, extraction_llm=self.model
            ),
            exchange.speaker.context,
        )
        return True

    async def _async_keep(self, candidate: Candidate, exchange: Exchange) -> Reason | None:
        """Remember something, or note why not; return the reason."""
        speaker = exchange.speaker
        reason = refusal(candidate, self._least_importance)
        if reason is None and not is_grounded(candidate.content, exchange.said, speaker.person or ""):
            reason = Reason.NOT_SAID
        shared = candidate.household and is_households(candidate.content, exchange.said, speaker.person or "")
        if reason is None and not shared and speaker.person_id is None:
            reason = Reason.NOBODY
        if (
            reason is None
            and speaker.person_id is None
            and firewall.clean(candidate.content, addressed=True).found
        ):
            reason = Reason.INSTRUCTION
        if reason is None:
            outcome, _ = await self._memories.async_remember(
                make_memory(
                    candidate.content,
                    type=candidate.type,
                    importance=candidate.importance,
                    person=None if shared else speaker.person_id,
                    origin=Origin.EXTRACTED,
                    heard=Provenance(
                        at=exchange.at,
                        person=speaker.person_id,
                        conversation_id=speaker.conversation_id,
                        said=exchange.said[:200],
                    ),
                ),
                speaker.context,
            )
            reason = {SaveOutcome.MERGED: Reason.KNOWN, SaveOutcome.FULL: Reason.FULL}.get(outcome)
        if reason is not None:
            self.refused.append(Refused(exchange.at, candidate.content, reason, speaker.person_id))
            told = "a code or password" if reason is Reason.SECRET else candidate.content
            LOGGER.debug("Not remembered (%s): %s", reason, told)
        return reason
