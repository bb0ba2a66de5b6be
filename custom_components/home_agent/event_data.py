"""The data of each of the integration's events. `docs/reference/events.md` describes the fields."""

from typing import Any, NotRequired, TypedDict


class EventData(TypedDict):
    """What all events have. The emitter sets the agent, and the time in UTC and as ISO 8601."""

    config_entry_id: NotRequired[str]
    subentry_id: NotRequired[str]
    timestamp: NotRequired[str]


class ConversationStarted(EventData):
    """A sentence has arrived."""

    conversation_id: str
    user_id: str | None
    device_id: str | None
    context_mode: str


class TokenCounts(TypedDict):
    """Tokens of all requests of a turn to one model."""

    prompt: int
    completion: int
    total: int
    cached: int


class TurnTimes(TypedDict):
    """Milliseconds."""

    llm_latency_ms: float
    tool_latency_ms: float
    context_latency_ms: float
    ttft_ms: float | None
    queue_ms: float
    """Spent in the queue of the model server."""


class FitCounts(TypedDict):
    """How many calls fitted their tools, and how."""

    first_try: int
    repaired: int
    retried: int
    refused: int
    exhausted: int


class TurnQuality(FitCounts):
    """How well the calls of a turn fitted, in all and by tool; and how often each repair was made."""

    rules: dict[str, int]
    tools: dict[str, FitCounts]


class ConversationFinished(EventData):
    """A turn has finished, with what it cost."""

    conversation_id: str
    user_id: str | None
    person: str | None
    error_type: str | None
    error_message: str | None
    duration_ms: float
    tool_calls: int
    tool_breakdown: dict[str, int]
    tokens: TokenCounts
    tokens_used: int
    external_tokens: TokenCounts
    performance: TurnTimes
    used_external_llm: bool
    tool_quality: TurnQuality


class ToolProgress(EventData):
    """A call starts, and ends. `success` is None until it has ended."""

    tool_name: str
    tool_call_id: str
    status: str
    success: bool | None
    error: str | None
    error_type: str | None


class ToolExecuted(EventData):
    """A call has ended."""

    tool_name: str
    parameters: dict[str, Any]
    result: str
    success: bool
    waiting: bool
    duration_ms: float
    conversation_id: str


class ConfirmationRequested(EventData):
    """An action waits for a confirmation."""

    action_id: str
    summary: str
    expires_at: str
    conversation_id: str
    user_id: str | None
    person: str | None


class ConfirmationResolved(EventData):
    """An action no longer waits."""

    action_id: str
    outcome: str


class TimerFinished(EventData):
    """The time of a timer or reminder has come."""

    timer_id: str
    name: str
    due: str
    user_id: str | None
    device_id: str | None
    told_by: str


class PlannedRun(EventData):
    """A planned command was due."""

    command_id: str
    action: str
    entity_ids: list[str]
    due: str
    outcome: str
    failed: list[str]
    user_id: str | None
    person: str | None


class SuggestionRequested(EventData):
    """A habit is suggested as an automation."""

    suggestion_id: str
    summary: str
    expires_at: str


class SuggestionResolved(EventData):
    """A suggestion no longer waits."""

    suggestion_id: str
    outcome: str


class ContextInjected(EventData):
    """What a request carries beside rules, tools and conversation."""

    conversation_id: str
    mode: str
    entities_included: list[str]
    entity_count: int
    token_count: int
    request_tokens: int
    vector_db_query: str | None


class ContextOptimized(EventData):
    """A request was made shorter before it was sent."""

    conversation_id: str
    original_tokens: int
    optimized_tokens: int
    compression_ratio: float
    was_truncated: bool
    shortened: list[str]


class VectorQueried(EventData):
    """A vector store was searched."""

    collection: str
    results_count: int
    top_k: int
    entity_ids: list[str]


class IndexProgress(EventData):
    """A collection of the vector index is updated."""

    collection: str
    status: str
    done: int
    total: int
    failed: int


class HistorySaved(EventData):
    """The file of the conversations was written."""

    conversation_count: int
    message_count: int
    size_bytes: int


class MemoryExtracted(EventData):
    """The model was asked what is worth remembering of a conversation."""

    conversation_id: str
    memories_extracted: int
    extraction_llm: str


class MemoryStored(EventData):
    """A memory is new, or was corrected. Its content is not in the event."""

    memory_id: str
    memory_type: str
    person: str | None
    source: str
    private: bool


class StreamingError(EventData):
    """A stream broke in the middle."""

    error: str
    error_type: str
    fallback: bool


class ErrorContext(TypedDict, total=False):
    """Where an error happened; each component has its own field."""

    rounds: int
    part: str
    channel: str
    tool: str


class ErrorReported(EventData):
    """A turn ended with an error, or a background task failed."""

    error_type: str
    error_message: str
    conversation_id: str | None
    component: str
    context: ErrorContext
