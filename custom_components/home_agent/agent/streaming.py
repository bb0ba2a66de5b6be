"""StreamingMixin: the filtered stream of a model server, as deltas of Home Assistant's chat log."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
import re
from string import ascii_lowercase, digits
from typing import Final, Protocol

from homeassistant.helpers import llm
from homeassistant.util.async_ import create_eager_task

from ..const import HEARTBEAT_SECONDS
from ..context.manager import AssembledContext
from ..embeds import EmbedFilter
from ..entity import HomeAgentBaseEntity
from ..inference.dialects.base import new_call_id
from ..inference.models import Delta, ToolCall
from ..knowledge.house import HouseSnapshot
from ..languages import DEFAULT, find, words
from ..literals import read_arguments
from ..regex import lazy_regex
from ..safety.redaction import UNPARSED
from ..texts import fold
from ..tools.calls.arguments import are_arguments, tool_of
from ..tools.calls.names import TEXT_NAMES, is_known
from ..tools.calls.schema import bounded
from .honesty import AnswerGate
from .log import LogDelta
from .phrases import async_phrase
from .request import note_usage
from .speech import MAX_CALLS, SpeechFilter, Spoken
from .turn import Turn

TAIL_CHARS: Final = 80
"""How much of the answer is kept, to see what precedes an id."""
_ID_CHARS: Final = f"{ascii_lowercase}{digits}_."
_ID: Final = lazy_regex(r"( ?\()?(?<![\w./@\\=-])([a-z_]{1,40}\.[a-z0-9_]{1,120})(?!\.?\w)(\))?")
_CODE: Final = lazy_regex("entity_id|```")
"""Behind this an answer is code, which needs ids."""
_WORD: Final = lazy_regex(r"[\w.]+")


class NamesForIds:
    """Filters one answer as it arrives. The result does not depend on how the answer was cut."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._ids = list(names)
        self._held = ""
        self._tail = ""
        self._is_code = False

    def feed(self, text: str, *, final: bool = False) -> str:
        """Take the next piece and return the text that is certain by now."""
        text = self._held + text
        cut = len(text) if final or self._is_code or not self._ids else self._certain(text)
        self._held = text[cut:]
        whole, at = f"{self._tail}{text[:cut]}", len(self._tail)
        self._tail = whole[-TAIL_CHARS:]
        code = _CODE.search(whole)
        said: list[str] = []
        for token in (
            _ID.finditer(whole, at, code.start() if code else len(whole)) if not self._is_code else ()
        ):
            said += whole[at : token.start()], self._name(token)
            at = token.end()
        self._is_code = self._is_code or code is not None
        return "".join((*said, whole[at:]))

    def _certain(self, text: str) -> int:
        """Return where the beginning of an id, or of the bracket before it, may have been cut off."""
        start = len(text.rstrip(_ID_CHARS))
        id_part = text[start:].rstrip(".")
        at = bisect_left(self._ids, id_part)
        if start < len(text) and not (at < len(self._ids) and self._ids[at].startswith(id_part)):
            return len(text)
        start -= text.endswith("(", 0, start)
        return start - text.endswith(" ", 0, start)

    def _name(self, token: re.Match[str]) -> str:
        """Return the name of the entity; nothing for an id in brackets behind the name."""
        opening, entity_id, closing = token.groups(default="")
        name = self._names.get(entity_id, entity_id)
        is_told = opening and closing and token.string.endswith(name, 0, token.start())
        return "" if is_told else f"{opening}{name}{closing}"


def names_for_ids(house: HouseSnapshot, sentence: str, language: str) -> NamesForIds:
    """Return the filter of one answer; who asks for ids or code gets them."""
    parts = {part.rstrip(".") for part in _WORD.findall(sentence)}
    asking = {word for each in (DEFAULT, find(language) or DEFAULT) for word in words(each, "questions.ids")}
    is_named = any(part.casefold() in house.entities for part in parts)
    keeps_ids = is_named or {*map(fold, parts)} & {*map(fold, asking)}
    return NamesForIds({} if keeps_ids else house.derived("names by id", _names))


def _names(house: HouseSnapshot) -> Mapping[str, str]:
    return {key: record.name for key, record in house.entities.items()}


def filter_for(tools: Mapping[str, llm.Tool], *, voice: bool, starts_thinking: bool = False) -> SpeechFilter:
    """Return a filter that knows the calls of these tools, also by other agents' names for them."""
    return SpeechFilter(
        voice=voice,
        tool_names=(*tools, *TEXT_NAMES),
        are_arguments=partial(are_arguments, tools=tools),
        starts_thinking=starts_thinking,
    )


def written_calls(speech: SpeechFilter, tools: Mapping[str, llm.Tool]) -> list[llm.ToolInput]:
    """Return the calls that a filter has taken out of a whole reply, as if the model had made them."""
    is_tool = partial(is_known, tools=tools)
    calls = [call for text in speech.calls for call in text.read(is_tool)] if tools else []
    return [
        bounded(
            llm.ToolInput(
                id=new_call_id(),
                tool_name=call.name or tool_of(call.args or {}, tools) or "",
                tool_args={UNPARSED: ""} if call.args is None else call.args,
            )
        )
        for call in calls[:MAX_CALLS]
    ]


HEARTBEAT: LogDelta = {"thinking_content": ""}
"""A delta that changes nothing. A satellite that hears nothing for five seconds hangs."""

QUEUE_SIZE = 32
"""Deltas that are read ahead. They are handled at once, so too many would block the event loop."""


@dataclass(slots=True)
class Piece:
    """What one delta adds to the answer, on its way through the filters."""

    delta: Delta
    """What the model sent; empty at the end of the answer."""
    text: str = ""
    """What is said."""
    thinking: str = ""
    calls: list[llm.ToolInput] = field(default_factory=list)
    """Calls to run."""
    withheld: bool = False
    """Whether words were held back, so that a listener would wait."""


class StreamFilter(Protocol):
    """One step between the model and the chat log. It changes the pieces in place."""

    def take(self, piece: Piece) -> None:
        """Take what a delta adds."""

    def end(self, piece: Piece) -> None:
        """Add the held text at the end of the answer."""


def filters_of(turn: Turn, gate: AnswerGate | None, *, allow_tools: bool) -> list[StreamFilter]:
    """Return the filters of one answer, in the order in which they see each piece.

    First come the calls that the model made. Then its words are divided into what is said, thoughts, and
    calls written as text. The latter become calls if the model made none. What it repeats of its context is
    named or cut. At last, the answer to an order is held back until a call stands behind it. The outermost
    wrapper is `with_heartbeats`.
    """
    words = _SaidWords(turn)
    filters: list[StreamFilter] = [_MadeCalls(allow_tools=allow_tools), words]
    if allow_tools:
        filters.append(_CallsInText(words))
    if turn.context is not None and turn.response_schema is None:
        filters.append(_Repeated(turn, turn.context))
    if gate is not None:
        filters.append(_Held(gate))
    return filters


class StreamingMixin(HomeAgentBaseEntity):
    """Turns model deltas into chat-log deltas: filtered for speech, calls at once, never silent for long."""

    async def _async_log_deltas(
        self, turn: Turn, stream: AsyncIterator[Delta], *, allow_tools: bool, gate: AnswerGate | None = None
    ) -> AsyncGenerator[LogDelta]:
        """Yield the chat-log deltas of one model answer; `gate` holds it back until its end."""
        filters: list[StreamFilter] = []
        is_apart = not turn.said
        yield {"role": "assistant"}
        async with aclosing(with_heartbeats(stream, HEARTBEAT_SECONDS)) as deltas:
            async for delta in deltas:
                if delta is None:
                    yield HEARTBEAT
                    continue
                # Which model answers is known once it has begun.
                filters = filters or filters_of(turn, gate, allow_tools=allow_tools)
                turn.record.hear(delta)
                if delta.usage:
                    note_usage(turn, delta.usage)
                piece = Piece(delta)
                for each in filters:
                    each.take(piece)
                is_apart = _set_apart(piece, is_apart=is_apart)
                for out in _log_deltas(turn, piece):
                    yield out
        last = Piece(Delta())
        for each in filters:
            each.end(last)
        _set_apart(last, is_apart=is_apart)
        for out in _log_deltas(turn, last):
            yield out
        async for waiting in self._async_while_tools_run(turn):
            yield waiting

    async def _async_while_tools_run(self, turn: Turn) -> AsyncGenerator[LogDelta]:
        told = not turn.calls.speaker.voice or not turn.said
        while turn.calls.unanswered > 0:
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await turn.calls.idle.wait()
            except TimeoutError:
                if told:
                    yield HEARTBEAT
                    continue
                told = True
                yield {"content": f" {await async_phrase(self.hass, turn.language, 'one_moment')}"}


def _set_apart(piece: Piece, *, is_apart: bool) -> bool:
    """Part the first words of an answer from what was said before a call; return whether that is done."""
    if not is_apart and piece.text.strip():
        piece.text = f" {piece.text.lstrip()}"
        return True
    return is_apart


def _log_deltas(turn: Turn, piece: Piece) -> list[LogDelta]:
    """Return the additions to the chat log: words and thoughts, then calls."""
    words: LogDelta = {}
    if piece.text:
        turn.said = True
        words["content"] = piece.text
    if piece.thinking:
        words["thinking_content"] = piece.thinking
    out = [words] if words else [HEARTBEAT] if piece.withheld else []
    if piece.calls:
        turn.calls.announce(len(piece.calls))
        out.append({"tool_calls": piece.calls})
    return out


class _MadeCalls:
    """The calls that the model made."""

    def __init__(self, *, allow_tools: bool) -> None:
        self._allow_tools = allow_tools

    def take(self, piece: Piece) -> None:
        if self._allow_tools:
            piece.calls = [as_tool_input(call) for call in piece.delta.tool_calls]

    def end(self, piece: Piece) -> None:
        """Nothing was held back."""


class _SaidWords:
    """Separates speech and thoughts of an answer; learns whether its model begins inside a thought.

    Some models have their thought opened by the prompt, so that only its end shows in the answer.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._starting_in_thought = turn.data.models_starting_in_thought
        self._model = model = turn.data.router.last_used
        self._verbatim = turn.response_schema is not None
        """Data is passed on as it is: an object with a name and parameters is not a call."""
        self._filter = self._new_filter(starts_thinking=model in self._starting_in_thought)
        self._thought = EmbedFilter()
        self._unsaid: list[str] | None = [] if model in self._starting_in_thought else None
        """The answer so far, while it may be a thought as a whole."""
        self._finish_reason: str | None = None

    def take(self, piece: Piece) -> None:
        delta = piece.delta
        self._finish_reason = delta.finish_reason or self._finish_reason
        if self._verbatim:
            piece.text, piece.thinking = delta.content, delta.thinking
            return
        spoken = self._filter.feed(delta.content)
        if spoken.text or delta.tool_calls or delta.thinking:
            self._unsaid = None
        elif self._unsaid is not None:
            self._unsaid.append(delta.content)
        piece.text = spoken.text
        if thinking := delta.thinking + spoken.thinking:
            piece.thinking = self._thought.feed(thinking)

    def end(self, piece: Piece) -> None:
        spoken = self._filter.flush()
        spoken.thinking = self._thought.feed(spoken.thinking, final=True)
        if self._filter.unopened_thought:
            self._starting_in_thought.add(self._model)
        if self._unsaid is not None and not spoken.text and self._finish_reason != "length":
            spoken = self._as_said("".join(self._unsaid))
        piece.text, piece.thinking = spoken.text, spoken.thinking

    def written_calls(self) -> list[llm.ToolInput]:
        """Return the calls that were taken out of the answer."""
        return written_calls(self._filter, self._turn.calls.tools)

    def _as_said(self, text: str) -> Spoken:
        """Return an answer as words after all, as its supposed thought never ended."""
        self._starting_in_thought.discard(self._model)
        plain = self._new_filter(starts_thinking=False)
        begun, rest = plain.feed(text), plain.flush()
        return Spoken(begun.text + rest.text, begun.thinking + rest.thinking)

    def _new_filter(self, *, starts_thinking: bool) -> SpeechFilter:
        calls = self._turn.calls
        return filter_for(calls.tools, voice=calls.speaker.voice, starts_thinking=starts_thinking)


class _CallsInText:
    """Calls written as text, run at the end of an answer in which the model made none."""

    def __init__(self, words: _SaidWords) -> None:
        self._words = words
        self._made = False

    def take(self, piece: Piece) -> None:
        self._made = self._made or bool(piece.calls)

    def end(self, piece: Piece) -> None:
        if not self._made:
            piece.calls = self._words.written_calls()


class _Repeated:
    """Names instead of ids of entities."""

    def __init__(self, turn: Turn, context: AssembledContext) -> None:
        self._filter = names_for_ids(context.house, turn.calls.sentence, turn.language)

    def take(self, piece: Piece) -> None:
        if words := piece.text:
            piece.text = self._filter.feed(words)
            piece.withheld = not piece.text

    def end(self, piece: Piece) -> None:
        piece.text = self._filter.feed(piece.text, final=True)


class _Held:
    """Words held back until the end of the answer."""

    def __init__(self, gate: AnswerGate) -> None:
        self._gate = gate

    def take(self, piece: Piece) -> None:
        self._gate.take(piece.text, has_calls=bool(piece.calls))
        piece.withheld = piece.withheld or bool(piece.text)
        piece.text = ""

    def end(self, piece: Piece) -> None:
        self._gate.take(piece.text, has_calls=bool(piece.calls))
        piece.text = self._gate.release()


def as_tool_input(call: ToolCall) -> llm.ToolInput:
    """Return a call for the chat log; arguments that are no JSON object go to the guard as they are."""
    args = read_arguments(call.arguments or "{}")
    if args is None:
        args = {UNPARSED: call.arguments}
    return bounded(llm.ToolInput(id=call.id, tool_name=call.name, tool_args=args))


async def with_heartbeats[T](stream: AsyncIterator[T], seconds: float) -> AsyncGenerator[T | None]:
    """Yield the items of a stream, and None after each pause of so many seconds.

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
