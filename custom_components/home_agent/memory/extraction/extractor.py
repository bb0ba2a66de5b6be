"""Extractor: after a turn, in the background, one exchange at a time."""

from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later

from ...const import EVENT_MEMORY_EXTRACTED, LOGGER
from ...errors import HomeAgentError
from ...events import EventEmitter
from ...knowledge.speaker import Speaker
from ..memories import Memories, Outcome, make_memory
from ..quality import Candidate, Reason, refusal
from ..records import Origin, Provenance
from .grounds import is_grounded
from .reply import read_candidates

PAUSE: Final = 4
"""Seconds of silence before a conversation is looked at, so that nobody waits for a busy model."""
MAX_WAITING: Final = 20
"""Conversations that wait; the oldest are dropped."""
MAX_ATTEMPTS: Final = 3
MAX_REFUSED: Final = 100
"""What was not kept, remembered with the reason until the next start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was said, as the model saw it."""

    messages: Sequence[Mapping[str, Any]]
    """The last request, and the answer."""
    tools: Sequence[Mapping[str, Any]]
    speaker: Speaker
    said: str
    """The person's own words."""
    at: datetime
    attempts: int = 0


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
    """Finds what is worth remembering; never in the way of somebody who speaks."""

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
        """Take who is asked, and what tells whether somebody is being answered just now."""
        self._hass = hass
        self._memories = memories
        self._ask = ask
        self._is_busy = is_busy
        self._emitter = emitter
        self._least_importance = least_importance
        self._model = model
        self._waiting: OrderedDict[str, Exchange] = OrderedDict()
        self._timer: CALLBACK_TYPE | None = None
        self._working = False
        self._failing = False
        self.refused: deque[Refused] = deque(maxlen=MAX_REFUSED)

    @callback
    def note(self, exchange: Exchange) -> None:
        """Look at an exchange soon; what was said before in the same conversation is looked at with it."""
        conversation_id = exchange.speaker.conversation_id
        if (earlier := self._waiting.pop(conversation_id, None)) is not None:
            exchange = replace(exchange, said=f"{earlier.said}\n{exchange.said}")
        self._waiting[conversation_id] = exchange
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)
        self._wait()

    @callback
    def stop(self) -> None:
        """Look at nothing any more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer()
            self._timer = None

    @callback
    def _wait(self) -> None:
        """Begin when nobody has spoken for a while."""
        if self._timer is not None:
            self._timer()
        self._timer = async_call_later(
            self._hass, PAUSE * 2**self._tried, HassJob(self._begin, cancel_on_shutdown=True)
        )

    @property
    def _tried(self) -> int:
        """Return how often the oldest has been tried."""
        return next(iter(self._waiting.values())).attempts if self._waiting else 0

    @callback
    def _begin(self, _now: datetime) -> None:
        """Work, unless somebody is being answered."""
        self._timer = None
        if self._is_busy() or self._working:
            self._wait()
            return
        self._hass.async_create_background_task(self._async_work(), "home_agent memory extraction")

    async def _async_work(self) -> None:
        """Look at what waits, until somebody speaks."""
        self._working = True
        try:
            while self._waiting and not self._is_busy():
                conversation_id, exchange = self._waiting.popitem(last=False)
                await self._async_look_at(conversation_id, exchange)
        finally:
            self._working = False
        if self._waiting:
            self._wait()

    async def _async_look_at(self, conversation_id: str, exchange: Exchange) -> None:
        """Ask the model what an exchange brought, and keep what is worth it."""
        try:
            reply = await self._ask(exchange)
        except HomeAgentError as err:
            self._note_failure(conversation_id, exchange, err)
            return
        self._failing = False
        candidates = read_candidates(reply)
        if candidates is None:
            LOGGER.debug("The model's notes on a conversation could not be read")
            return
        refused = [await self._async_keep(candidate, exchange) for candidate in candidates]
        kept = refused.count(None)
        if candidates:
            reasons = Counter(reason.value for reason in refused if reason is not None)
            LOGGER.info(
                "Of %d notes on a conversation %d are new; left: %s", len(refused), kept, dict(reasons)
            )
        self._emitter.fire(
            EVENT_MEMORY_EXTRACTED,
            conversation_id=conversation_id,
            memories_extracted=kept,
            extraction_llm=self._model,
        )

    async def _async_keep(self, candidate: Candidate, exchange: Exchange) -> Reason | None:
        """Remember something, or note why not; return the reason."""
        speaker = exchange.speaker
        reason = refusal(candidate, self._least_importance)
        if reason is None and not is_grounded(candidate.content, exchange.said, speaker.person or ""):
            reason = Reason.NOT_SAID
        if reason is None:
            outcome, _ = await self._memories.async_remember(
                make_memory(
                    candidate.content,
                    type=candidate.type,
                    importance=candidate.importance,
                    person=None if candidate.household else speaker.person_id,
                    origin=Origin.EXTRACTED,
                    heard=Provenance(
                        at=exchange.at,
                        person=speaker.person_id,
                        conversation_id=speaker.conversation_id,
                        said=exchange.said[:200],
                    ),
                )
            )
            reason = {Outcome.MERGED: Reason.KNOWN, Outcome.FULL: Reason.FULL}.get(outcome)
        if reason is not None:
            self.refused.append(Refused(exchange.at, candidate.content, reason, speaker.person_id))
            LOGGER.debug("Not remembered (%s): %s", reason, candidate.content)
        return reason

    def _note_failure(self, conversation_id: str, exchange: Exchange, err: HomeAgentError) -> None:
        """Try again later, and say once that it does not work."""
        if exchange.attempts + 1 < MAX_ATTEMPTS:
            newer = self._waiting.get(conversation_id)
            if newer is None:
                self._waiting[conversation_id] = replace(exchange, attempts=exchange.attempts + 1)
        level = LOGGER.debug if self._failing else LOGGER.warning
        level("Nothing can be learned from conversations just now: %s", err)
        self._failing = True
