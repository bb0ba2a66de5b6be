"""One turn: everything that belongs to one sentence and its answer."""

from dataclasses import dataclass, field
from typing import Any, Final

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent

from ..context.manager import AssembledContext
from ..context.window import FittedRequest, Prompt, RequestDraft
from ..inference.client import PRIMARY
from ..inference.models import Message, RequestBudget
from ..runtime import HomeAgentData
from ..tools.turn_calls import TurnCalls
from .record import TurnRecord

MAX_ROUNDS: Final = 10
TURN_SECONDS: Final = 180
"""After this time the model is asked for its final answer, without tools."""
TURN_LIMIT_SECONDS: Final = 600
"""After it no more of an answer is awaited."""
MAX_REQUESTS: Final = 40
"""The most chat requests that one sentence can cost, whatever fails.

Three layers ask again, and what any of them sends counts:

- The turn: up to `MAX_ROUNDS` rounds with tools. Each asks once more where an order is answered without
  a call or the answer is empty, up to `MAX_SHORTENED` times where the request is too long, once as a whole
  where a stream broke, and the fallback where the primary is down.
- The request, in `inference/client.py`: `ATTEMPTS` where the server fails before it says anything, and once
  more for each parameter that it refuses; what it refuses is remembered.
- The connection, in `inference/transport.py`: once more where a kept connection turns out to be closed. The
  first one has not reached the server, so it does not count.
"""


@dataclass(slots=True, kw_only=True)
class Turn:
    """The state of one turn. It is never kept on the entity: two people may speak at once."""

    hass: HomeAssistant
    data: HomeAgentData
    """The parts of the agent that answers."""
    agent_id: str
    """The entity that answers, as the author of what is in the chat log."""
    chat_log: conversation.ChatLog
    """Only `log.py` writes to it."""
    calls: TurnCalls
    """What is known of the turn as its tools see it: who speaks, what was said, called and read."""
    language: str
    max_tokens: int
    user_input: conversation.ConversationInput | None = None
    history_id: str | None = None
    shared_chat_log: bool = False
    """Whether someone else's words are in the chat log too: they are not for this speaker."""
    first: int = 0
    """Where the newest user message is in the chat log."""
    draft: RequestDraft = field(default_factory=lambda: RequestDraft(systems=[lambda: Prompt("")]))
    """What a request is made of, before it is fitted into the model's context."""
    fitted: FittedRequest | None = None
    """The last request as it was sent."""
    asked: str = PRIMARY
    """The model that this request was made for."""
    context: AssembledContext | None = None
    reported: tuple[int, tuple[str, ...]] | None = None
    """What the last event said of the context: tokens and entities."""
    compressed: tuple[str, ...] = ()
    """What was done last to make a request fit."""
    pictures: list[str] = field(default_factory=list)
    """Pictures beside the newest user message, as data URLs; they are never stored."""
    response_schema: dict[str, Any] | None = None
    give_up_at: float | None = None
    """When no more of an answer is awaited, by the clock of the event loop."""
    requests: RequestBudget = field(default_factory=lambda: RequestBudget(MAX_REQUESTS))
    """How many requests may still be sent to models."""
    asks: bool = False
    """Whether the last words are a question of ours, so that the microphone opens."""
    question: str = ""
    """Our question, where the chat log has it as markdown: its values are not to be read as marks."""
    silent: bool = False
    """Whether nothing is spoken, because everything happened in the room of the satellite."""
    said: bool = False
    """Whether text has been released; a satellite is speaking then."""
    lead: str = ""
    """What Home Agent said itself before the model was asked. The answer begins with it."""
    heard: str = ""
    """The whole sentence, where the model gets only what follows a yes."""
    before: list[Message] = field(default_factory=list)
    """The yes and what was said to it, which the model reads before the sentence."""
    local_response: intent.IntentResponse | None = None
    """The response of Home Assistant's own sentences, if they answered."""
    record: TurnRecord = field(init=False)
    """What happened, for everything that tells of it later."""

    @property
    def has_own_words(self) -> bool:
        """Return whether Home Agent itself has something to say where the model says nothing."""
        return bool(self.calls.draft) or self.calls.acted or self.calls.attempts_exhausted

    def __post_init__(self) -> None:
        """Begin the record."""
        calls = self.calls
        self.record = TurnRecord(calls=calls.records, external=calls.external, caller=calls.caller)
