"""LLMMixin: the request, the rounds, the budgets."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic

from ..const import (
    CONF_STREAMING,
    EVENT_STREAMING_ERROR,
    LOGGER,
)
from ..event_data import StreamingError
from ..inference.models import Delta, ErrorKind, ModelServerError
from .honesty import async_unsaid_failure, gate_of
from .log import LogDelta, async_add_answer
from .model_errors import as_agent_error
from .phrases import async_phrase
from .quick import async_confirm
from .request import build, note_refusal
from .streaming import StreamingMixin
from .turn import MAX_ROUNDS, TURN_LIMIT_SECONDS, TURN_SECONDS, Turn

MAX_SHORTENED = 4
"""How often a request is made shorter that the server finds too long."""


class LLMMixin(StreamingMixin):
    """Asks the model until it has no more calls to make, or a budget ends."""

    async def _async_answer(self, turn: Turn) -> None:
        """Run the rounds of one turn; the answer is in the chat log afterwards.

        Raises LLMError if the model cannot be asked and TurnInterrupted if the agent is unloaded meanwhile.
        """
        deadline = monotonic() + TURN_SECONDS
        turn.give_up_at = self.hass.loop.time() + TURN_LIMIT_SECONDS
        async with self.data.turns.interruptible():
            for turn.record.rounds in range(1, MAX_ROUNDS + 1):
                turn.calls.round = turn.record.rounds
                calls = turn.calls
                spent = calls.exhausted or calls.attempts_exhausted or calls.goes_in_circles
                final = spent or turn.record.rounds == MAX_ROUNDS or monotonic() > deadline
                length, before = len(turn.chat_log.content), len(calls.records)
                deltas = self._async_useful_deltas(turn, allow_tools=not final)
                try:
                    async with aclosing(deltas):
                        await async_add_answer(turn, deltas)
                except ModelServerError as err:
                    raise as_agent_error(err, with_pictures=bool(turn.pictures)) from err
                finally:
                    turn.record.end_request()
                silent = len(turn.chat_log.content) == length
                if final or silent or turn.calls.draft or not turn.chat_log.unresponded_tool_results:
                    return
                if await async_confirm(turn, before):
                    return

    async def _async_useful_deltas(self, turn: Turn, *, allow_tools: bool) -> AsyncGenerator[LogDelta]:
        """Yield one answer; after none, or an order without a call, the model is asked once more."""
        gate, heard = gate_of(turn) if allow_tools else None, Heard()
        stream = self._async_asked(turn, allow_tools=allow_tools)
        async with aclosing(
            self._async_log_deltas(turn, stream, allow_tools=allow_tools, gate=gate)
        ) as deltas:
            async for delta in deltas:
                yield heard.hear(delta)
        withheld = gate.withheld if gate is not None else ""
        if withheld:
            LOGGER.info("The model answered an order without a call; asking again")
        elif not heard and allow_tools and not turn.has_own_words:
            LOGGER.info("The model said and called nothing; asking again, without thinking")
        else:
            is_answer = heard and not heard.calls
            if is_answer and (failure := await async_unsaid_failure(turn, heard.text)):
                yield {"content": f" {failure}"}
            return
        again = Heard()
        stream = self._async_asked(
            turn, allow_tools=allow_tools, withheld=withheld, after_silence=not withheld
        )
        try:
            async with aclosing(self._async_log_deltas(turn, stream, allow_tools=allow_tools)) as deltas:
                async for delta in deltas:
                    if "role" not in delta:
                        yield again.hear(delta)
        except ModelServerError as err:
            LOGGER.info("The model could not be asked again (%s)", err.kind)
        if withheld and not again:
            lead = " " if turn.said else ""
            yield {"content": f"{lead}{await async_phrase(self.hass, turn.language, 'not_done')}"}

    async def _async_asked(
        self, turn: Turn, *, allow_tools: bool, withheld: str = "", after_silence: bool = False
    ) -> AsyncGenerator[Delta]:
        """Yield one answer, streamed if the option says so; what fails is asked again in three ways.

        Where a model is down before it says anything, the next one is asked. A request that the server finds
        too long is made shorter. A stream that breaks or cannot be read is requested again as a whole,
        without what has been said, unless a call came: then it is taken as complete, as the call must not run
        twice.

        What ran in this turn is not run again: its results are in the request. Raises ModelServerError.
        """
        stream, shortened, said, begun = self.settings[CONF_STREAMING], 0, Delta(), False
        models = self.router.candidates()
        while True:
            model, answered = models.pop(0), False
            request = build(
                turn, model.name, allow_tools=allow_tools, withheld=withheld, after_silence=after_silence
            )
            try:
                async with aclosing(model.answer(request, stream=stream)) as deltas:
                    async for delta in deltas:
                        begun = answered = True
                        if stream:
                            said.content += delta.content
                            said.thinking += delta.thinking
                            said.tool_calls += delta.tool_calls
                        yield delta if stream else _less(delta, said)
            except ModelServerError as err:
                if err.is_down and models and not answered:
                    continue
                if err.kind is ErrorKind.CONTEXT_TOO_LONG and not begun and shortened < MAX_SHORTENED:
                    shortened += 1
                    note_refusal(turn, err)
                elif stream and (
                    said.tool_calls
                    or err.kind is ErrorKind.MALFORMED
                    or (answered and err.kind is ErrorKind.UNAVAILABLE)
                ):
                    # Timeouts and unreachable servers are not worth asking again.
                    LOGGER.info(
                        "The stream broke (%s)%s", err.kind, "" if said.tool_calls else "; asking again"
                    )
                    self.emitter.fire(
                        EVENT_STREAMING_ERROR,
                        StreamingError(
                            error=err.plain, error_type=str(err.kind), fallback=not said.tool_calls
                        ),
                        turn.calls.speaker.context,
                    )
                    if said.tool_calls:
                        return
                    stream = False
                else:
                    raise
                models = self.router.candidates()
            else:
                return


@dataclass(slots=True)
class Heard:
    """What the chat log got of one answer, beside thoughts."""

    text: str = ""
    calls: bool = False

    def __bool__(self) -> bool:
        """Return whether it has words or calls."""
        return self.calls or bool(self.text.strip())

    def hear(self, delta: LogDelta) -> LogDelta:
        """Note an addition to the chat log, and return it."""
        self.text += delta.get("content") or ""
        self.calls = self.calls or bool(delta.get("tool_calls"))
        return delta


def _less(answer: Delta, said: Delta) -> Delta:
    """Return an answer without the beginning that has been said already."""
    if answer.content.startswith(said.content):
        answer.content = answer.content[len(said.content) :]
    elif said.content:
        answer.content = f"\n{answer.content}"
    if said.thinking:
        answer.thinking = ""
    return answer
