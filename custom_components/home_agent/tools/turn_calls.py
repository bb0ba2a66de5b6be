"""The tool calls of one turn: one record of each, the budget, repeats, what is still running."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
import json
from time import monotonic
from typing import Any, Final, NotRequired, Self, TypedDict

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers import llm

from ..const import ASSISTANT, DOMAIN
from ..errors import HomeAgentError, PermissionDenied, RefusedByRule, ValidationError
from ..inference.models import Caller, TokenUsage
from ..knowledge.speaker import Speaker
from ..safety.disclosure import TurnDisclosure
from ..safety.frozen import CallDraft, CallOrigin, WaitingCalls
from ..safety.sanitizer.origins import Origins
from ..texts import leaves
from .calls.schema import MAX_ERROR, with_request
from .results import ControlResult, ToldAct, failed, succeeded

MAX_SAME_FAILURE = 2
"""How often a call that fails may be tried with the same arguments."""
MAX_REPEATS = 3
"""From which answer of the model that makes the same call as before it gets no more tools."""
MAX_ATTEMPTS = 3
"""How often a model may write calls that do not fit before the person is asked."""
UNKNOWN: Final = "unknown"
"""The tool that calls of invented names are counted for."""
HAVE_IT: Final = "You have this already; answer now."
TOO_OFTEN: Final = "Not run: this call was made too often for one request. Answer now and say so."
FAILED_AGAIN: Final = "This call fails each time; answer now and say so."


class Fit(StrEnum):
    """How a call came to run, or did not."""

    FIRST_TRY = "first_try"
    REPAIRED = "repaired"
    RETRIED = "retried"
    REFUSED = "refused"
    """It did not fit; the model may try again."""
    EXHAUSTED = "exhausted"
    """It did not fit, and the attempts of the turn are used up."""


class CallSummary(TypedDict):
    """One call, for the caller of a service."""

    tool_name: str
    parameters: dict[str, Any]
    success: bool
    duration_ms: float
    waiting: NotRequired[bool]


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """One call, filled in while it runs; events, counters, the panel and our own sentences read it."""

    id: str
    tool_name: str
    counted_as: str
    """The tool as counters name it."""
    args: dict[str, Any]
    """Without codes and keys."""
    round: int = 0
    """The number of the model's answer that contains it."""
    started: float = field(default_factory=monotonic)
    """By the clock that never jumps, in seconds."""
    duration_ms: float = 0
    rules: list[str] = field(default_factory=list)
    """What was repaired."""
    fit: Fit = Fit.FIRST_TRY
    refused: bool = False
    """Whether it did not fit."""
    ran: bool = False
    """Whether the tool was reached: what a refusal says is our own."""
    draft: CallDraft | None = None
    """What of it waits for a confirmation, while it runs."""
    waits: bool = False
    """Whether something of it waits for a confirmation: then it has neither worked nor failed."""
    told: tuple[ToldAct, ...] = ()
    """What it did, if a sentence of our own can tell it."""
    success: bool = False
    error: str | None = None
    """What is wrong, also where only a part failed; without codes and keys."""
    error_type: str = "ToolError"
    """What kind of error ended it, if one did; a tool that reports a failure itself names none."""
    said: str = ""
    """The beginning of what it gave, without codes and keys."""
    read_only: bool = False
    stored_memory: bool = False
    """Whether it stored a memory."""
    targets: ControlResult = field(default_factory=ControlResult)
    """What became of each target of ha_control; empty for other tools."""
    refusals: tuple[RefusedByRule, ...] = ()
    """The rules of the household that refused it, if nothing else became of it."""
    entity_ids: frozenset[str] = frozenset()
    """The entities that it names, and the members of groups; empty for what concerns no entity."""
    reads_home: bool = False
    """Whether it only read, and nothing outside the home."""
    is_open: bool = True
    """Whether it may have reached entities that it does not name."""
    reverses: bool = False
    """Whether it may reverse what any tool has done."""

    @property
    def done(self) -> bool:
        """Return whether it changed something, be it only in part, or found it as asked."""
        return self.success and not self.read_only

    @property
    def in_part(self) -> bool:
        """Return whether a part of it failed, although it counts as a success."""
        return self.success and bool(self.error)

    def outdates(self, earlier: CallRecord) -> bool:
        """Return whether the result of an earlier call may no longer hold after this one.

        Calls of one tool with the same action add up: a second entry on a list leaves the first one there.
        """
        if not self.done or earlier.waits:
            return False
        if self.reverses or earlier.reads_home:
            return True
        if not earlier.done:
            return False
        if self.is_open or (earlier.is_open and earlier.entity_ids and self.entity_ids):
            return earlier.is_open or bool(earlier.entity_ids)
        if self.entity_ids and earlier.entity_ids:
            return not self.entity_ids.isdisjoint(earlier.entity_ids)
        return self.tool_name == earlier.tool_name and self.args.get("action") != earlier.args.get("action")

    def summary(self) -> CallSummary:
        """Return the call for the caller of a service."""
        summary: CallSummary = {
            "tool_name": self.tool_name,
            "parameters": self.args,
            "success": self.success,
            "duration_ms": round(self.duration_ms, 1),
        }
        if self.waits:
            summary["waiting"] = True
        return summary


def entities_of(hass: HomeAssistant, *named_in: object) -> frozenset[str]:
    """Return the entities that arguments and results name, with the members of groups and scenes."""
    entity_ids: set[str] = set()
    waiting = [
        text for text in leaves(named_in, keys=True) if isinstance(text, str) and valid_entity_id(text)
    ]
    while waiting:
        if (entity_id := waiting.pop()) in entity_ids:
            continue
        entity_ids.add(entity_id)
        state = hass.states.get(entity_id)
        members = state.attributes.get(ATTR_ENTITY_ID) if state is not None else None
        if isinstance(members, list | tuple):
            waiting += map(str, members)
    return frozenset(entity_ids)


@dataclass(slots=True)
class Quality:
    """Counters of calls, by how they came to run and by what was repaired."""

    fits: Counter[Fit] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, records: Iterable[CallRecord]) -> Self:
        """Count calls."""
        for record in records:
            self.fits[record.fit] += 1
            self.rules.update(record.rules)
        return self

    @property
    def first_try_rate(self) -> float | None:
        """Return the percentage of calls that fitted at once; None before the first call."""
        return round(100 * self.fits[Fit.FIRST_TRY] / self.fits.total(), 1) if self.fits else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything that was counted."""
        return {**{fit.value: self.fits[fit] for fit in Fit}, "rules": dict(self.rules)}


@dataclass(slots=True)
class SameCalls:
    """What a turn knows of the calls of one tool with the same arguments."""

    result: asyncio.Future[llm.ToolResult] | None = None
    """The result of the last one, while it runs and as long as it holds."""
    record: CallRecord | None = None
    """Of the call whose result holds."""
    is_outdated: bool = False
    """Whether a later call has changed what it was about."""
    failures: int = 0
    rounds: set[int] = field(default_factory=set)
    """The answers of the model that make it."""


@dataclass(slots=True, kw_only=True)
class TurnCalls:
    """What one turn may still call, and what it called.

    Two people may speak at once, so all of this lives here and not on the handler.
    """

    speaker: Speaker
    sentence: str
    conversation_id: str
    tools: Mapping[str, llm.Tool]
    llm_context: llm.LLMContext
    max_calls: int
    caller: Caller = field(default_factory=Caller)
    """Who waits for the answer of a model."""
    records: list[CallRecord] = field(default_factory=list)
    """The calls that have ended, in that order."""
    started: int = 0
    unanswered: int = 0
    """Calls that were handed to the chat log and have no answer yet."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while every announced call has its answer."""
    touched: list[str] = field(default_factory=list)
    """Entities that a service was called on, in order."""
    denied: dict[str, PermissionDenied] = field(default_factory=dict)
    """Entities that the guard refused to change."""
    round: int = 0
    """The number of the model's answer that contains the calls; 0 if answers are not counted."""
    likely: tuple[str, ...] = ()
    """What the person may have meant by what could not be resolved."""
    unattended: bool = True
    """The answer is not heard, so questions go to the channels at once."""
    external: list[TokenUsage] = field(default_factory=list)
    """What each answer of the external model cost; it is not a part of the agent's own figures."""
    forgotten: list[str] = field(default_factory=list)
    """The forgotten texts: neither this turn nor any other one that contains them is stored."""
    disclosure: TurnDisclosure = field(default_factory=TurnDisclosure)
    """What the models that are asked may receive."""
    origins: Origins = field(default_factory=Origins)
    """What was said and read from outside in this conversation."""
    advised: dict[str, int] = field(default_factory=dict)
    """What calls were refused for because of the sentence, and in which answer: it is said only once."""
    in_order: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by a call that reads what another call of the same answer may change: they run concurrently."""
    draft: WaitingCalls = field(init=False)
    """What waits for a confirmation."""

    tainted: bool = False
    """Whether the model reads text from an untrusted source."""
    _tainted_in: int = 0
    """The answer of the model after which it read such text; 0 where that stood in the request."""
    has_read_by_tool: bool = False
    """Whether a tool of this turn gave the model such text, and not only what stood beside the sentence."""
    _read_in: int | None = None
    """The first answer of this turn after which it read such text that was not in an earlier turn, 0 where
    that stood in the request; None if it read none."""
    _by_key: dict[str, SameCalls] = field(default_factory=dict)
    """By tool and arguments, those that began last at the end."""
    _attempts: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin with what was said, and nothing that waits."""
        if not self.origins.said:
            self.origins.said.append(self.sentence)
        self.draft = WaitingCalls(speaker=self.speaker, conversation_id=self.conversation_id)

    @classmethod
    def of_origin(cls, origin: CallOrigin, tools: Mapping[str, llm.Tool]) -> Self:
        """Return the turn that made a confirmed call, as it was then."""
        speaker = origin.speaker
        context = llm.LLMContext(DOMAIN, speaker.context, speaker.language, ASSISTANT, speaker.device_id)
        return cls(
            speaker=speaker,
            sentence=origin.sentence,
            conversation_id=speaker.conversation_id,
            tools=tools,
            llm_context=context,
            max_calls=1,
            origins=origin.words,
            disclosure=TurnDisclosure(origin.disclosure),
        )

    def taint(self, *, earlier: bool = False) -> None:
        """Note that the model will read text from an untrusted source, or did in an `earlier` turn."""
        if not self.tainted:
            self.tainted, self._tainted_in = True, self.round
        if self._read_in is None and not earlier:
            self._read_in = self.round
        self.has_read_by_tool = self.has_read_by_tool or bool(self.round and not earlier)
        self.judge_by_what_was_read()

    def judge_by_what_was_read(self) -> None:
        """Let the calls of an answer be judged by what the model had read when it gave the answer.

        Results of calls of the same answer it had not.
        """
        if self.tainted and (not self.round or self.round > self._tainted_in):
            self.speaker = replace(self.speaker, tainted=True)

    @property
    def has_read_outside(self) -> bool:
        """Return whether the model gave its answer after it read such text in this turn."""
        return self._read_in is not None and self._read_in < self.round

    def draft_of_call(self) -> CallDraft:
        """Return where a call lets things wait, with the turn as it is now."""
        origin = CallOrigin(
            speaker=self.speaker, sentence=self.sentence, disclosure=self.disclosure.model, words=self.origins
        )
        return CallDraft(draft=self.draft, origin=origin)

    @property
    def exhausted(self) -> bool:
        """Return whether no further call will be run."""
        return self.started >= self.max_calls

    @property
    def attempts_exhausted(self) -> bool:
        """Return whether the attempts are used up, so that the person has to be asked."""
        return len(self._attempts) >= MAX_ATTEMPTS

    @property
    def goes_in_circles(self) -> bool:
        """Return whether the model makes the same call again and again, so that it gets no more tools."""
        return any(len(same.rounds) >= MAX_REPEATS for same in self._by_key.values())

    @property
    def acted(self) -> bool:
        """Return whether something was changed, and nothing failed."""
        return bool(self.touched) and all(record.success and not record.in_part for record in self.records)

    @property
    def done(self) -> bool:
        """Return whether anything at all was changed as asked."""
        return any(record.done for record in self.records)

    async def async_answer_without_run(self, key: str) -> llm.ToolResult | None:
        """Note a call; return the answer to one that is not run, None for one that is.

        It is known already, fails each time, or is one too many. The same call twice in one answer of the
        model is no repetition. Calls of one answer run concurrently: the end of those that began after the
        earlier call is awaited, since they may outdate its result.
        """
        same = self._by_key.setdefault(key, SameCalls())
        if self.round:
            same.rounds.add(self.round)
            if len(same.rounds) >= MAX_REPEATS:
                if same.is_outdated:
                    return failed(TOO_OFTEN)
                return failed(FAILED_AGAIN) if same.failures else succeeded(HAVE_IT)
        while (future := same.result) is not None:
            begun = list(self._by_key)
            later = (self._by_key[other].result for other in begun[begun.index(key) + 1 :])
            if running := [other for other in later if other is not None and not other.done()]:
                await asyncio.wait(running)
                continue
            result = await asyncio.shield(future)
            if not same.is_outdated:
                return result
        if self.exhausted:
            return failed("The limit of tool calls for this request is reached. Answer with what you have.")
        if self.attempts_exhausted:
            return failed(with_request(self._give_up_message(), self.sentence))
        if same.failures >= MAX_SAME_FAILURE:
            return failed("This call failed before with the same arguments. Change them or ask the person.")
        return None

    def begin(self, key: str) -> None:
        """Count a call that starts to run."""
        self.started += 1
        same = self._by_key[key] = self._by_key.pop(key)
        same.is_outdated = False
        same.result = asyncio.get_running_loop().create_future()

    def refuse(self, record: CallRecord, err: HomeAgentError) -> str:
        """Note a call that does not fit and return what is wrong with it.

        Calls of one answer are one attempt.
        """
        record.refused = True
        self._attempts.add(self.round or -len(self._attempts) - 1)
        if isinstance(err, ValidationError) and err.names:
            self.likely = err.names
        return self._give_up_message() if self.attempts_exhausted else str(err)

    def _give_up_message(self) -> str:
        which = f" which is meant: {', '.join(self.likely)}" if self.likely else " to say it another way"
        return f"{MAX_ATTEMPTS} attempts did not fit. Make no more calls; ask the person{which}"[:MAX_ERROR]

    def end(self, key: str, record: CallRecord, result: llm.ToolResult) -> None:
        """Note how a call ended. Results that no longer hold after it are forgotten."""
        if record.refused:
            record.fit = Fit.EXHAUSTED if self.attempts_exhausted else Fit.REFUSED
        elif any(
            earlier.fit is Fit.REFUSED and earlier.counted_as in (record.counted_as, UNKNOWN)
            for earlier in self.records
        ):
            record.fit = Fit.RETRIED
        elif record.rules:
            record.fit = Fit.REPAIRED
        for earlier in self._by_key.values():
            if earlier.record is not None and record.outdates(earlier.record):
                earlier.record = earlier.result = None
                earlier.is_outdated = True
        self.records.append(record)
        same = self._by_key[key]
        if same.result is not None:
            same.result.set_result(result)
        same.record = record
        same.failures += result.error
        repeatable = record.reverses and record.done
        if result.error or repeatable:
            same.record = same.result = None
        if repeatable:
            same.is_outdated = True  # a second undo goes on to what was before

    def announce(self, count: int) -> None:
        """Expect the answers of so many calls."""
        self.unanswered += count
        self.idle.clear()

    def answer(self) -> None:
        """Note that a call has its answer, whether it was run or refused."""
        self.unanswered -= 1
        if self.unanswered <= 0:
            self.idle.set()


def call_key(name: str, args: dict[str, Any], meanings: Mapping[str, str] | None = None) -> str:
    """Return the key by which two calls are equal."""
    return f"{name}:{json.dumps([args, dict(meanings or {})], sort_keys=True, default=str)}"
