"""LLMMixin: the request, the rounds, the budgets."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import monotonic

from ..const import (
    CONF_KEEP_ALIVE,
    CONF_NUM_CTX,
    CONF_REASONING_EFFORT,
    CONF_STREAMING,
    CONF_TEMPERATURE,
    CONF_THINKING,
    CONF_TOP_P,
    EVENT_STREAMING_ERROR,
    LOGGER,
    MAX_ROUNDS,
    TURN_SECONDS,
)
from ..entity import HomeAgentBaseEntity
from ..inference.errors import ErrorKind, ModelServerError
from ..inference.models import ChatRequest, Delta
from .messages import from_contents, with_volatile
from .model_errors import as_agent_error
from .streaming import StreamingMixin
from .turn import Turn


class LLMMixin(StreamingMixin, HomeAgentBaseEntity):
    """Asks the model until it has no more calls to make, or a budget ends."""

    async def _async_answer(self, turn: Turn) -> None:
        """Run the rounds of one turn; the answer stands in the chat log afterwards.

        Raises LLMError if the model cannot be asked.
        """
        deadline = monotonic() + TURN_SECONDS
        for turn.figures.rounds in range(1, MAX_ROUNDS + 1):
            turn.calls.round = turn.figures.rounds
            spent = turn.calls.exhausted or turn.calls.gave_up
            final = spent or turn.figures.rounds == MAX_ROUNDS or monotonic() > deadline
            await self._async_round(turn, allow_tools=not final)
            if final or not turn.chat_log.unresponded_tool_results:
                return

    async def _async_round(self, turn: Turn, *, allow_tools: bool) -> None:
        """Let one answer into the chat log, which runs its tools as they come."""
        started = monotonic()
        request = self._request(turn, allow_tools=allow_tools)
        deltas = self._async_log_deltas(turn, self._async_deltas(request), allow_tools=allow_tools)
        try:
            async for _content in turn.chat_log.async_add_delta_content_stream(self.entity_id, deltas):
                pass
        except ModelServerError as err:
            raise as_agent_error(err) from err
        finally:
            turn.figures.llm_ms += (monotonic() - started) * 1000

    async def _async_deltas(self, request: ChatRequest) -> AsyncGenerator[Delta]:
        """Yield one answer, streamed if the option says so.

        A stream that breaks after a call came is taken as complete: the call runs, and it must not run twice.
        One that breaks before is asked for again as a whole, less what has been said.

        Raises ModelServerError.
        """
        if not self.settings[CONF_STREAMING]:
            yield await self._async_whole(request)
            return
        said: list[str] = []
        called = False
        try:
            async with aclosing(self.router.stream(request)) as deltas:
                async for delta in deltas:
                    said.append(delta.content)
                    called = called or bool(delta.tool_calls)
                    yield delta
        except ModelServerError as err:
            if not called and not said and err.kind is not ErrorKind.MALFORMED:
                raise
            self._report_broken_stream(err, asking_again=not called)
            if called:
                return
            yield _less(await self._async_whole(request), "".join(said))

    async def _async_whole(self, request: ChatRequest) -> Delta:
        """Return a whole answer as one delta."""
        answer = await self.router.complete(request)
        return Delta(
            content=answer.content,
            thinking=answer.thinking,
            tool_calls=answer.tool_calls,
            finish_reason=answer.finish_reason,
            usage=answer.usage,
        )

    def _request(self, turn: Turn, *, allow_tools: bool) -> ChatRequest:
        """Return the request of the next round."""
        settings = self.settings
        current = from_contents(turn.chat_log.content[turn.first :])
        return ChatRequest(
            messages=[*turn.messages, *with_volatile(current, turn.volatile)],
            tools=turn.tools,
            tool_choice=None if allow_tools or not turn.tools else "none",
            temperature=settings[CONF_TEMPERATURE],
            top_p=settings[CONF_TOP_P],
            max_tokens=turn.max_tokens,
            keep_alive=settings[CONF_KEEP_ALIVE],
            num_ctx=settings.get(CONF_NUM_CTX),
            thinking=settings[CONF_THINKING],
            reasoning_effort=settings.get(CONF_REASONING_EFFORT),
            response_schema=turn.response_schema,
            conversation_id=turn.chat_log.conversation_id,
        )

    def _report_broken_stream(self, err: ModelServerError, *, asking_again: bool) -> None:
        """Say that a stream broke, and what is done about it."""
        LOGGER.info("The stream broke (%s)%s", err.kind, "; asking again as a whole" if asking_again else "")
        self.emitter.fire(
            EVENT_STREAMING_ERROR, error=err.detail, error_type=str(err.kind), fallback=asking_again
        )


def _less(answer: Delta, said: str) -> Delta:
    """Return an answer without the beginning that has been said already."""
    if answer.content.startswith(said):
        answer.content = answer.content[len(said) :]
    elif said:
        answer.content = f"\n{answer.content}"
    return answer
