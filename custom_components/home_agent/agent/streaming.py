"""StreamingMixin: what a model server streams, as deltas of the chat log."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from homeassistant.helpers import llm
from homeassistant.util.async_ import create_eager_task

from ..const import HEARTBEAT_SECONDS
from ..entity import HomeAgentBaseEntity
from ..inference.models import Delta, ToolCall
from ..literals import parsed
from ..safety.redaction import UNPARSED
from ..tools.calls.bounds import bounded
from .claims.gate import ClaimGate
from .log import LogDelta
from .phrases import async_phrase
from .reply import Reply
from .request import note_usage
from .speech import Spoken
from .turn import Turn
from .written_calls import WrittenCalls

HEARTBEAT: LogDelta = {"thinking_content": ""}
"""A delta that changes nothing. A satellite that hears nothing for five seconds hangs."""

QUEUE_SIZE = 32
"""Deltas read ahead. What waits is handled in one go, so that many would hold up the event loop."""


class StreamingMixin(HomeAgentBaseEntity):
    """Turns model deltas into chat-log deltas: filtered for speech, calls at once, never silent for long."""

    async def _async_log_deltas(
        self, turn: Turn, stream: AsyncIterator[Delta], *, allow_tools: bool, gate: ClaimGate | None = None
    ) -> AsyncGenerator[LogDelta]:
        """Yield the chat-log deltas of one model answer; `gate` keeps back what is not true."""
        reply: Reply | None = None
        written = WrittenCalls(turn.calls.tools)
        called = False
        yield {"role": "assistant"}
        async with aclosing(with_heartbeats(stream, HEARTBEAT_SECONDS)) as deltas:
            async for delta in deltas:
                if delta is None:
                    yield HEARTBEAT
                    continue
                # Which model answers is known once it has begun.
                reply = reply or Reply(turn, self.data.thoughtful, self.router.last_used)
                self._note(turn, delta)
                spoken = reply.take(delta)
                written.add(delta.content, spoken.calls)
                words = spoken.text
                if gate and words:
                    spoken.text = gate.feed(words)
                if out := _log_delta(turn, spoken):
                    yield out
                elif words:
                    yield HEARTBEAT
                if delta.tool_calls and allow_tools:
                    called = True
                    turn.calls.announce(len(delta.tool_calls))
                    yield {"tool_calls": [as_tool_input(call) for call in delta.tool_calls]}
        spoken = reply.end() if reply is not None else Spoken()
        written.add("", spoken.calls)
        inputs = written.inputs() if allow_tools and not called else []
        if gate:
            gate.has_calls = called or bool(inputs)
            spoken.text = gate.feed(spoken.text) + gate.finish()
        if out := _log_delta(turn, spoken):
            yield out
        if inputs:
            turn.calls.announce(len(inputs))
            yield {"tool_calls": inputs}
        async for waiting in self._async_while_tools_run(turn):
            yield waiting

    async def _async_while_tools_run(self, turn: Turn) -> AsyncGenerator[LogDelta]:
        """Keep a spoken stream alive until the tools it started are done."""
        told = not turn.calls.speaker.voice or not turn.said
        while turn.calls.answered < turn.calls.announced:
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await turn.calls.idle.wait()
            except TimeoutError:
                if told:
                    yield HEARTBEAT
                    continue
                told = True
                yield {"content": f" {await async_phrase(self.hass, turn.language, 'one_moment')}"}

    def _note(self, turn: Turn, delta: Delta) -> None:
        """Keep the figures that a delta carries."""
        turn.trace.hear(delta)
        if delta.content or delta.thinking or delta.tool_calls:
            turn.figures.note_first_token()
        if delta.usage:
            turn.figures.prompt_tokens += delta.usage.prompt
            turn.figures.completion_tokens += delta.usage.completion
            turn.figures.cached_tokens += delta.usage.cached
            note_usage(turn, delta.usage)


def _log_delta(turn: Turn, spoken: Spoken) -> LogDelta:
    """Return what there is to say and to think, and nothing where there is neither."""
    delta: LogDelta = {}
    if spoken.text:
        turn.said = True
        delta["content"] = spoken.text
    if spoken.thinking:
        delta["thinking_content"] = spoken.thinking
    return delta


def as_tool_input(call: ToolCall) -> llm.ToolInput:
    """Return a call for the chat log; arguments that are no JSON object go to the guard as they are."""
    args = parsed(call.arguments or "{}")
    if not isinstance(args, dict):
        args = {UNPARSED: call.arguments}
    return bounded(llm.ToolInput(id=call.id, tool_name=call.name, tool_args=args))


async def with_heartbeats[T](stream: AsyncIterator[T], seconds: float) -> AsyncGenerator[T | None]:
    """Yield what a stream yields, and None after each pause of so many seconds.

    One task reads ahead, so that a pause can be seen without cancelling a read.
    """
    queue: asyncio.Queue[T | BaseException | None] = asyncio.Queue(QUEUE_SIZE)

    async def read() -> None:
        try:
            async with aclosing(stream) as items:  # type: ignore[type-var]
                async for item in items:
                    await queue.put(item)
        except Exception as err:  # noqa: BLE001 - raised again by the consumer
            await queue.put(err)
        else:
            await queue.put(None)

    reader = create_eager_task(read(), name="home_agent model stream")
    try:
        while True:
            if queue.empty():
                try:
                    async with asyncio.timeout(seconds):
                        item = await queue.get()
                except TimeoutError:
                    yield None
                    continue
            else:
                item = queue.get_nowait()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        if not reader.done():
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
