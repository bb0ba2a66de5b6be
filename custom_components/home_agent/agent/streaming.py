"""StreamingMixin: the filtered stream of a model server, as deltas of Home Assistant's chat log."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
import re
from string import ascii_lowercase, digits
from typing import Final

from homeassistant.helpers import llm
from homeassistant.util.async_ import create_eager_task

from ..const import HEARTBEAT_SECONDS
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
from ..tools.calls.repair import TEXT_NAMES, are_arguments, is_known, tool_of
from ..tools.calls.schema import bounded
from .honesty import AnswerGate
from .log import LogDelta
from .phrases import async_phrase
from .request import note_usage
from .speech import MAX_CALLS, SpeechFilter
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


class StreamingMixin(HomeAgentBaseEntity):
    """Turns model deltas into chat-log deltas: filtered for speech, calls at once, never silent for long."""

    async def _async_log_deltas(
        self, turn: Turn, stream: AsyncIterator[Delta], *, allow_tools: bool, gate: AnswerGate | None = None
    ) -> AsyncGenerator[LogDelta]:
        """Yield the chat-log deltas of one model answer; `gate` holds it back until its end."""
        answer: _Answer | None = None
        yield {"role": "assistant"}
        async with aclosing(with_heartbeats(stream, HEARTBEAT_SECONDS)) as deltas:
            async for delta in deltas:
                if delta is None:
                    yield HEARTBEAT
                    continue
                # Which model answers is known once it has begun.
                answer = answer or _Answer(turn, gate, allow_tools=allow_tools)
                turn.record.hear(delta)
                if delta.usage:
                    note_usage(turn, delta.usage)
                for out in answer.take(delta):
                    yield out
        for out in answer.end() if answer else ():
            yield out
        is_told = not turn.calls.speaker.voice or not turn.said
        while turn.calls.unanswered > 0:
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await turn.calls.idle.wait()
            except TimeoutError:
                if is_told:
                    yield HEARTBEAT
                    continue
                is_told = True
                yield {"content": f" {await async_phrase(self.hass, turn.language, 'one_moment')}"}


class _Answer:
    """One answer on its way to the chat log, through its filters in this order.

    First come the calls that the model made. Then its words are divided into what is said, thoughts, and
    calls written as text. The latter become calls if the model made none. Ids that it repeats become names.
    At last, the answer to an order is held back until a call stands behind it.

    Some models have their thought opened by the prompt, so that only its end shows in the answer: that is
    learned here.
    """

    def __init__(self, turn: Turn, gate: AnswerGate | None, *, allow_tools: bool) -> None:
        self._turn = turn
        self._gate = gate
        self._allow_tools = allow_tools
        self._starting_in_thought = turn.data.models_starting_in_thought
        self._model = turn.data.router.last_used
        starts_thinking = self._model in self._starting_in_thought
        self._speech = self._new_speech(starts_thinking=starts_thinking)
        self._thought = EmbedFilter()
        self._unsaid: list[str] | None = [] if starts_thinking else None
        """The answer so far, while it may be a thought as a whole."""
        self._finish_reason: str | None = None
        self._has_calls = False
        self._verbatim = turn.response_schema is not None
        """Data is passed on as it is: an object with a name and parameters is not a call."""
        self._names: NamesForIds | None = None
        if turn.context is not None and not self._verbatim:
            self._names = names_for_ids(turn.context.house, turn.calls.sentence, turn.language)
        self._is_apart = not turn.said
        """Whether the words are parted from what was said before a call."""

    def take(self, delta: Delta) -> list[LogDelta]:
        """Return what a delta adds to the chat log."""
        calls = [as_tool_input(call) for call in delta.tool_calls] if self._allow_tools else []
        self._has_calls = self._has_calls or bool(calls)
        self._finish_reason = delta.finish_reason or self._finish_reason
        if self._verbatim:
            return self._add(delta.content, delta.thinking, calls)
        spoken = self._speech.feed(delta.content)
        if spoken.text or delta.tool_calls or delta.thinking:
            self._unsaid = None
        elif self._unsaid is not None:
            self._unsaid.append(delta.content)
        thinking = delta.thinking + spoken.thinking
        return self._add(spoken.text, self._thought.feed(thinking) if thinking else "", calls)

    def end(self) -> list[LogDelta]:
        """Return what was held back until the end of the answer."""
        spoken = self._speech.flush()
        text, thinking = spoken.text, self._thought.feed(spoken.thinking, final=True)
        if self._speech.unopened_thought:
            self._starting_in_thought.add(self._model)
        if self._unsaid is not None and not text and self._finish_reason != "length":
            # The supposed thought never ended, so these are words.
            self._starting_in_thought.discard(self._model)
            plain = self._new_speech(starts_thinking=False)
            begun, rest = plain.feed("".join(self._unsaid)), plain.flush()
            text, thinking = begun.text + rest.text, begun.thinking + rest.thinking
        calls: list[llm.ToolInput] = []
        if self._allow_tools and not self._has_calls:
            calls = written_calls(self._speech, self._turn.calls.tools)
        return self._add(text, thinking, calls, final=True)

    def _add(
        self, text: str, thinking: str, calls: list[llm.ToolInput], *, final: bool = False
    ) -> list[LogDelta]:
        """Return additions to the chat log: words and thoughts, then calls."""
        is_withheld = False
        if self._names is not None and (text or final):
            text = self._names.feed(text, final=final)
            is_withheld = not text
        if self._gate is not None:
            self._gate.take(text, has_calls=bool(calls))
            is_withheld = is_withheld or bool(text)
            text = self._gate.release() if final else ""
        if not self._is_apart and text.strip():
            text, self._is_apart = f" {text.lstrip()}", True
        words: LogDelta = {}
        if text:
            self._turn.said = True
            words["content"] = text
        if thinking:
            words["thinking_content"] = thinking
        added = [words] if words else [HEARTBEAT] if is_withheld and not final else []
        if calls:
            self._turn.calls.announce(len(calls))
            added.append({"tool_calls": calls})
        return added

    def _new_speech(self, *, starts_thinking: bool) -> SpeechFilter:
        calls = self._turn.calls
        return filter_for(calls.tools, voice=calls.speaker.voice, starts_thinking=starts_thinking)


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
