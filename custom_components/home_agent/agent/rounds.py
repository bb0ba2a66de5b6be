"""The rounds of a turn: the model is asked, its answer filtered, and asked again where that helps."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import cache, partial
import re
from time import monotonic
from typing import Final

from homeassistant.helpers import llm
from homeassistant.util.async_ import create_eager_task

from ..const import (
    CONF_ONE_MOMENT,
    CONF_STREAMING,
    EVENT_STREAMING_ERROR,
    HEARTBEAT_SECONDS,
    LOGGER,
    MOMENT_SECONDS,
)
from ..inference.dialects.base import new_call_id
from ..inference.models import Delta, ErrorKind, ModelServerError, ToolCall, as_agent_error
from ..knowledge.house import HouseSnapshot
from ..languages import DEFAULT, find, table, words
from ..languages.lexicon import Lexicon, clauses
from ..languages.sentence import Mood, read
from ..regex import lazy_regex
from ..safety.redaction import UNPARSED
from ..texts import EmbedFilter, fold, plain, read_arguments
from ..tools.calls.repair import TEXT_NAMES, are_arguments, is_known, tool_of
from ..tools.calls.schema import bounded
from ..tools.turn_calls import CallRecord
from .confirming import async_acknowledge
from .describe import async_phrase
from .request import build, note_refusal, note_usage
from .speech import MAX_CALLS, SpeechFilter, is_question
from .turn import MAX_ROUNDS, TURN_LIMIT_SECONDS, TURN_SECONDS, LogDelta, Turn, async_add_answer

MAX_NAMES: Final = 5
MAX_CHARS: Final = 2000
"""How much of an answer is read."""


def needs_call(turn: Turn) -> bool:
    """Return whether a person orders something for which nothing was called yet."""
    calls = turn.calls
    if turn.user_input is None or turn.response_schema is not None or calls.records or turn.said:
        return False
    if calls.speaker.unprompted:  # it may be said to somebody else
        return False
    return read(calls.sentence, turn.language).kind is Mood.ORDER


def may_answer_order(text: str, language: str) -> bool:
    """Return whether an answer to an order may stand without a call: it asks, or refuses."""
    return is_question(text.strip(), language) or _has_word(text, language, ("denies", "fails"))


async def async_unsaid_failure(turn: Turn, text: str) -> str | None:
    """Return the sentence about what failed for good, if an answer has no word of it and asks nothing."""
    records = turn.calls.records

    def has_failed(record: CallRecord) -> bool:
        return not record.read_only and not record.waits and (not record.success or record.in_part)

    def is_made_up(record: CallRecord, later: CallRecord) -> bool:
        is_same = later.tool_name == record.tool_name or f"call {later.tool_name} " in record.said
        is_done = later.success and (later.waits or not has_failed(later))
        return is_same and is_done and later.round > record.round

    failed = [
        record
        for record in records
        if has_failed(record) and not any(is_made_up(record, later) for later in records)
    ]
    if not failed or turn.user_input is None or is_question(text.strip(), turn.language):
        return None
    if _has_word(text, turn.language, ("fails",)):
        return None
    house = await turn.data.house.async_snapshot()
    keys = dict.fromkeys(key for record in failed for key in record.targets.get("failed", ()))
    names = [house.entities[key].name for key in keys if key in house.entities][:MAX_NAMES]
    key = "not_all_done_names" if names else "not_all_done" if turn.calls.done else "not_done"
    return await async_phrase(turn.hass, turn.language, key, names=", ".join(names))


def _has_word(text: str, language: str, names: tuple[str, ...]) -> bool:
    """Return whether a text has a word of some tables, in its language or in English.

    Models change to English now and then. Of a language without such words nothing is known.
    """
    own, text = find(language), text[:MAX_CHARS]
    if own is None or table(own, "replies.denies") is None:
        return True
    if table(own, "unspaced") or table(own, "questions.inside_words"):
        entries = [entry for name in ("denies", "fails") for entry in words(own, f"replies.{name}")]
        return any(plain(entry) in plain(text) for entry in entries)
    return any(
        _lexicon(each, names).matches("words", clause.words)
        for each in {own, DEFAULT}
        for clause in clauses(text)
    )


@cache
def _lexicon(language: str, names: tuple[str, ...]) -> Lexicon:
    return Lexicon({"words": [entry for name in names for entry in words(language, f"replies.{name}")]})


TAIL_CHARS: Final = 80
"""How much of the answer is kept, to see what precedes an id."""
_ID: Final = lazy_regex(r"( ?\()?(?<![\w./@\\=-])([a-z_]{1,40}\.[a-z0-9_]{1,120})(?!\.?\w)(\))?")
_CODE: Final = lazy_regex("entity_id|```")
"""Behind this an answer is code, which needs ids."""
_WORD: Final = lazy_regex(r"[\w.]+")


class NamesForIds:
    """Gives names in place of ids to one answer, as it arrives in whole words."""

    def __init__(self, name_of: Callable[[str], str | None] | None) -> None:
        """Begin an answer; ids stay without a function that names an entity."""
        self._name_of = name_of
        self._tail = ""
        self._is_code = name_of is None

    def feed(self, text: str) -> str:
        """Return the next piece with names."""
        whole, at = f"{self._tail}{text}", len(self._tail)
        self._tail = whole[-TAIL_CHARS:]
        code = _CODE.search(whole)
        end = at if self._is_code else code.start() if code else len(whole)
        pieces: list[str] = []
        for token in _ID.finditer(whole, at, end):
            pieces += whole[at : token.start()], self._name(token)
            at = token.end()
        self._is_code = self._is_code or code is not None
        return "".join((*pieces, whole[at:]))

    def _name(self, token: re.Match[str]) -> str:
        """Return the name of the entity; nothing for an id in brackets behind the name."""
        opening, entity_id, closing = token.groups(default="")
        name = (self._name_of and self._name_of(entity_id)) or entity_id
        is_told = opening and closing and token.string.endswith(name, 0, token.start())
        return "" if is_told else f"{opening}{name}{closing}"


def names_for_ids(house: HouseSnapshot, sentence: str, language: str) -> NamesForIds:
    """Return the filter of one answer; who asks for ids or code gets them."""
    parts = {part.rstrip(".") for part in _WORD.findall(sentence)}
    asking = {word for each in (DEFAULT, find(language) or DEFAULT) for word in words(each, "questions.ids")}
    is_named = any(part.casefold() in house.entities for part in parts)
    keeps_ids = is_named or {*map(fold, parts)} & {*map(fold, asking)}

    def name_of(entity_id: str) -> str | None:
        record = house.entities.get(entity_id)
        return record.name if record else None

    return NamesForIds(None if keeps_ids else name_of)


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
SPOKEN_AT_ONCE: Final = 61
"""Characters with which the voice pipeline begins to speak (its STREAM_RESPONSE_CHARS and one more)."""


def _may_bridge(turn: Turn) -> bool:
    """Return whether one moment may be asked for: by voice, and once in a conversation."""
    speaker, settings = turn.calls.speaker, turn.data.settings
    may = settings[CONF_ONE_MOMENT] and settings[CONF_STREAMING] and turn.user_input is not None
    may = may and not speaker.unprompted
    return may and speaker.voice and not turn.recent.patience


async def _async_bridge(turn: Turn) -> LogDelta:
    """Return what asks for one moment; spaces behind it make the pipeline speak it now."""
    words = f"{await async_phrase(turn.hass, turn.language, 'one_moment')} "
    if turn.said:
        words = f" {words}"
    turn.patience = words.ljust(SPOKEN_AT_ONCE)
    turn.recent.patience = True
    return {"content": turn.patience}


class _Answer:
    """One answer on its way to the chat log, through its filters in this order.

    First come the calls that the model made. Then its words are divided into what is said, thoughts, and
    calls written as text. The latter become calls if the model made none. Ids that it repeats become names.
    At last, the answer to an order is held back until a call stands behind it.

    Some models have their thought opened by the prompt, so that only its end shows in the answer: that is
    learned here.
    """

    def __init__(self, turn: Turn, *, allow_tools: bool, waits: bool = False) -> None:
        """Begin an answer; one that `waits` is held back, as words beside the call of an order are early."""
        self._turn = turn
        self._allow_tools = allow_tools
        self._waits = waits
        self.text = ""
        self.has_calls = False
        self.withheld = ""
        """The answer, if it may not stand without a call."""
        self._thought = EmbedFilter()
        self._finish_reason: str | None = None
        self._has_native_calls = False
        self._verbatim = turn.response_schema is not None
        """Data is passed on as it is: an object with a name and parameters is not a call."""
        self._names: NamesForIds | None = None
        if turn.context is not None and not self._verbatim:
            self._names = names_for_ids(turn.context.house, turn.calls.sentence, turn.language)
        self._is_apart = not turn.said
        """Whether the words are parted from what was said before a call."""

    @property
    def is_empty(self) -> bool:
        """Return whether there are neither words nor calls, whatever was thought."""
        return not self.has_calls and not self.text.strip()

    async def deltas(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[LogDelta]:
        """Yield what the answer adds to the chat log, until its calls have run."""
        turn, has_begun = self._turn, False
        yield {"role": "assistant"}
        may_bridge = not turn.said and _may_bridge(turn)
        beat = min(MOMENT_SECONDS, HEARTBEAT_SECONDS) if may_bridge else HEARTBEAT_SECONDS
        async with aclosing(with_heartbeats(stream, beat)) as deltas:
            async for delta in deltas:
                # A model that thinks is not silent, but nothing of it is heard.
                if may_bridge and not turn.said and monotonic() - turn.record.begun >= MOMENT_SECONDS:
                    may_bridge = False
                    if delta is None or not (delta.content or delta.tool_calls):
                        yield await _async_bridge(turn)
                if delta is None:
                    yield HEARTBEAT
                    continue
                if not has_begun:
                    self._begin()
                    has_begun = True
                turn.record.hear(delta)
                if delta.usage:
                    note_usage(turn, delta.usage)
                for out in self._take(delta):
                    yield out
        for out in self._end() if has_begun else ():
            yield out
        while turn.calls.unanswered > 0:
            may_bridge = _may_bridge(turn)
            beat = min(MOMENT_SECONDS, HEARTBEAT_SECONDS) if may_bridge else HEARTBEAT_SECONDS
            try:
                async with asyncio.timeout(beat):
                    await turn.calls.idle.wait()
            except TimeoutError:
                yield await _async_bridge(turn) if may_bridge else HEARTBEAT

    def _begin(self) -> None:
        """Begin to read, when it is known which model answers."""
        self._model = self._turn.data.router.last_used
        starts_thinking = self._model in self._turn.data.models_starting_in_thought
        self._speech = self._new_speech(starts_thinking=starts_thinking)
        self._unsaid: list[str] | None = [] if starts_thinking else None
        """The answer so far, while it may be a thought as a whole."""

    def _take(self, delta: Delta) -> list[LogDelta]:
        calls = [as_tool_input(call) for call in delta.tool_calls] if self._allow_tools else []
        self._has_native_calls = self._has_native_calls or bool(calls)
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

    def _end(self) -> list[LogDelta]:
        """Return what was held back until the end of the answer."""
        spoken, models = self._speech.flush(), self._turn.data.models_starting_in_thought
        text, thinking = spoken.text, self._thought.feed(spoken.thinking, final=True)
        if self._speech.unopened_thought:
            models.add(self._model)
        if self._unsaid is not None and not text and self._finish_reason != "length":
            # The supposed thought never ended, so these are words.
            models.discard(self._model)
            plain = self._new_speech(starts_thinking=False)
            begun, rest = plain.feed("".join(self._unsaid)), plain.flush()
            text, thinking = begun.text + rest.text, begun.thinking + rest.thinking
        calls: list[llm.ToolInput] = []
        if self._allow_tools and not self._has_native_calls:
            calls = written_calls(self._speech, self._turn.calls.tools)
        return self._add(text, thinking, calls, final=True)

    def _add(
        self, text: str, thinking: str, calls: list[llm.ToolInput], *, final: bool = False
    ) -> list[LogDelta]:
        if self._names is not None:
            text = self._names.feed(text)
        self.text += text
        self.has_calls = self.has_calls or bool(calls)
        if self._waits:
            text = self.text if final and not self.has_calls else ""
            if text.strip() and not may_answer_order(text, self._turn.language):
                self.withheld, text = text, ""
        if not self._is_apart and text.strip():
            text, self._is_apart = f" {text.lstrip()}", True
        words: LogDelta = {}
        if text:
            self._turn.said = True
            words["content"] = text
        if thinking:
            words["thinking_content"] = thinking
        added = [words] if words else [] if calls or final else [HEARTBEAT]
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


async def with_heartbeats[T](stream: AsyncGenerator[T], seconds: float) -> AsyncGenerator[T | None]:
    """Yield the items of a stream, and None after each pause of so many seconds."""
    async with aclosing(stream):
        while True:
            coming = create_eager_task(anext(stream), name="home_agent model stream")
            try:
                while not coming.done():
                    await asyncio.wait([coming], timeout=seconds)
                    if not coming.done():
                        yield None
                item = coming.result()
            except StopAsyncIteration:
                return
            finally:
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait([coming])
                if not coming.cancelled():
                    coming.exception()  # where the consumer has gone, nobody else asks for it
            yield item


MAX_SHORTENED = 4
"""How often a request is made shorter that the server finds too long."""


async def async_answer(turn: Turn) -> None:
    """Run the rounds of one turn; the answer is in the chat log afterwards.

    Raises LLMError if the model cannot be asked and TurnInterrupted if the agent is unloaded meanwhile.
    """
    deadline = monotonic() + TURN_SECONDS
    turn.give_up_at = turn.hass.loop.time() + TURN_LIMIT_SECONDS
    async with turn.data.turns.interruptible():
        for turn.record.rounds in range(1, MAX_ROUNDS + 1):
            turn.calls.round = turn.record.rounds
            calls = turn.calls
            spent = calls.exhausted or calls.attempts_exhausted or calls.goes_in_circles
            final = spent or turn.record.rounds == MAX_ROUNDS or monotonic() > deadline
            length, before = len(turn.chat_log.content), len(calls.records)
            deltas = _useful_deltas(turn, allow_tools=not final)
            try:
                async with aclosing(deltas):
                    await async_add_answer(turn, deltas)  # Home Assistant's chat log runs the calls
            except ModelServerError as err:
                raise as_agent_error(err, with_pictures=bool(turn.pictures)) from err
            finally:
                turn.record.end_request()
            silent = len(turn.chat_log.content) == length
            if final or silent or turn.calls.draft or not turn.chat_log.unresponded_tool_results:
                return
            if await async_acknowledge(turn, before):
                return


async def _useful_deltas(turn: Turn, *, allow_tools: bool) -> AsyncGenerator[LogDelta]:
    """Yield one answer; after none, or an order without a call, the model is asked once more."""
    answer = _Answer(turn, allow_tools=allow_tools, waits=allow_tools and needs_call(turn))
    async with aclosing(answer.deltas(_asked(turn, allow_tools=allow_tools))) as deltas:
        async for delta in deltas:
            yield delta
    calls, withheld = turn.calls, answer.withheld
    if withheld:
        LOGGER.info("The model answered an order without a call; asking again")
    elif answer.is_empty and allow_tools and not (calls.draft or calls.acted or calls.attempts_exhausted):
        LOGGER.info("The model said and called nothing; asking again, without thinking")
    else:
        is_last = not answer.is_empty and not answer.has_calls
        if is_last and (failure := await async_unsaid_failure(turn, answer.text)):
            yield {"content": f" {failure}"}
        return
    again = _Answer(turn, allow_tools=allow_tools)
    stream = _asked(turn, allow_tools=allow_tools, withheld=withheld, after_silence=not withheld)
    try:
        async with aclosing(again.deltas(stream)) as deltas:
            async for delta in deltas:
                if "role" not in delta:
                    yield delta
    except ModelServerError as err:
        LOGGER.info("The model could not be asked again (%s)", err.kind)
    if withheld and again.is_empty:
        lead = " " if turn.said else ""
        yield {"content": f"{lead}{await async_phrase(turn.hass, turn.language, 'not_done')}"}


async def _asked(
    turn: Turn, *, allow_tools: bool, withheld: str = "", after_silence: bool = False
) -> AsyncGenerator[Delta]:
    """Yield one answer, streamed if the option says so; what fails is asked again in three ways.

    Where a model is down before it says anything, the next one is asked. A request that the server finds
    too long is made shorter. A stream that breaks or cannot be read is requested again as a whole,
    without what has been said, unless a call came: then it is taken as complete, as the call must not run
    twice.

    What ran in this turn is not run again: its results are in the request. Raises ModelServerError.
    """
    stream, shortened, heard, begun = turn.data.settings[CONF_STREAMING], 0, Delta(), False
    models = turn.data.router.candidates()
    while True:
        model, answered = models.pop(0), False
        request = build(turn, model, allow_tools=allow_tools, withheld=withheld, after_silence=after_silence)
        LOGGER.debug(
            "Request %d to the %s model: %d messages, %d tools",
            *(turn.record.rounds, model, len(request.messages), len(request.tools)),
        )
        try:
            async with aclosing(turn.data.router.answer(model, request, stream=stream)) as deltas:
                async for delta in deltas:
                    begun = answered = True
                    if stream:
                        heard.content += delta.content
                        heard.thinking += delta.thinking
                        heard.tool_calls += delta.tool_calls
                    else:  # without the beginning that has been said already
                        gap = "\n" if heard.content and not delta.content.startswith(heard.content) else ""
                        delta.content = gap + delta.content.removeprefix(heard.content)
                        delta.thinking = "" if heard.thinking else delta.thinking
                    yield delta
        except ModelServerError as err:
            if err.is_down and models and not answered:
                continue
            if err.kind is ErrorKind.CONTEXT_TOO_LONG and not begun and shortened < MAX_SHORTENED:
                shortened += 1
                note_refusal(turn, model, err)
            elif stream and (
                heard.tool_calls
                or err.kind is ErrorKind.MALFORMED
                or (answered and err.kind is ErrorKind.UNAVAILABLE)
            ):
                # Timeouts and unreachable servers are not worth asking again.
                LOGGER.info("The stream broke (%s)%s", err.kind, "" if heard.tool_calls else "; asking again")
                turn.data.emitter.fire(
                    EVENT_STREAMING_ERROR,
                    {"error": err.plain, "error_type": str(err.kind), "fallback": not heard.tool_calls},
                    turn.calls.speaker.context,
                )
                if heard.tool_calls:
                    return
                stream = False
            else:
                raise
            models = turn.data.router.candidates()
        else:
            return
