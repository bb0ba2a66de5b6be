"""The tool calls of one turn: budget, repeats, what is still running."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
import json
from typing import Any, Final, NotRequired, Self, TypedDict

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers import llm

from ..const import ASSISTANT, DOMAIN
from ..domains import DOMAINS
from ..errors import HomeAgentError, PermissionDenied, RefusedByRule, ValidationError
from ..event_data import FitCounts, TurnQuality
from ..inference.models import TokenUsage
from ..inference.queue import Caller, Priority
from ..knowledge.speaker import Speaker
from ..safety.disclosure import TurnDisclosure
from ..safety.frozen import CallDraft, CallOrigin, Draft
from ..safety.sanitizer.origins import Origins
from .calls.schema import MAX_ERROR, with_request
from .results import ControlResult
from .telling import Told

MAX_DEPTH: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a call was about that has ended."""

    tool: str
    action: str
    entity_ids: frozenset[str]
    """The entities that it names, and the members of groups; empty for what concerns no entity."""
    changes: bool
    """Whether it changed something, be it only in part, or found it as asked."""
    reads_home: bool
    """Whether it only read, and nothing outside the home."""
    is_open: bool
    """Whether it may have reached entities that it does not name."""
    reverses: bool
    """Whether it may reverse what any tool has done."""
    waits: bool
    """Whether something of it waits for a confirmation."""

    def outdates(self, earlier: Reach) -> bool:
        """Return whether the result of an earlier call may no longer hold after this one.

        Calls of one tool with the same action add up: a second entry on a list leaves the first one there.
        """
        if not self.changes or earlier.waits:
            return False
        if self.reverses or earlier.reads_home:
            return True
        if not earlier.changes:
            return False
        if self.is_open or (earlier.is_open and earlier.entity_ids and self.entity_ids):
            return earlier.is_open or bool(earlier.entity_ids)
        if self.entity_ids and earlier.entity_ids:
            return not self.entity_ids.isdisjoint(earlier.entity_ids)
        return self.tool == earlier.tool and self.action != earlier.action


def entities_of(hass: HomeAssistant, *named_in: object) -> frozenset[str]:
    """Return the entities that arguments and results name, with the members of groups and scenes."""
    found: set[str] = set()
    _collect(hass, _entities(named_in), found)
    return frozenset(found)


def runs_others(entity_ids: frozenset[str]) -> bool:
    """Return whether entities such as scripts may change others, which they do not name."""
    return any(DOMAINS[entity_id.partition(".")[0]].runs for entity_id in entity_ids)


def _entities(value: Any, depth: int = MAX_DEPTH) -> Iterator[str]:
    if isinstance(value, str):
        if valid_entity_id(value):
            yield value
    elif isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield from _entities(key)
            yield from _entities(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for item in value:
            yield from _entities(item, depth - 1)


def _collect(hass: HomeAssistant, entity_ids: Iterable[str], found: set[str]) -> None:
    for entity_id in entity_ids:
        if entity_id in found:
            continue
        found.add(entity_id)
        state = hass.states.get(entity_id)
        members = state.attributes.get(ATTR_ENTITY_ID) if state is not None else None
        if isinstance(members, list | tuple):
            _collect(hass, map(str, members), found)


MAX_PAIRS: Final = 200
OTHER: Final = "other"


class Fit(StrEnum):
    """How a call came to run, or did not."""

    FIRST_TRY = "first_try"
    REPAIRED = "repaired"
    RETRIED = "retried"
    REFUSED = "refused"
    """It did not fit; the model may try again."""
    EXHAUSTED = "exhausted"
    """It did not fit, and the attempts of the turn are used up."""


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What is counted of one call."""

    tool: str
    fit: Fit
    rules: tuple[str, ...] = ()


@dataclass(slots=True)
class Quality:
    """Counters of many calls, bounded in the names that they keep."""

    counts: dict[tuple[str, str], Counter[Fit]] = field(default_factory=dict)
    """By model and tool."""
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, model: str, verdicts: Iterable[CallVerdict]) -> None:
        """Count the calls of a turn."""
        for verdict in verdicts:
            pair = (model, verdict.tool)
            if pair not in self.counts and len(self.counts) >= MAX_PAIRS:
                pair = (OTHER, OTHER)
            self.counts.setdefault(pair, Counter())[verdict.fit] += 1
            self.rules.update(verdict.rules)

    def total(self, fit: Fit) -> int:
        """Return how many calls went so."""
        return sum(counts[fit] for counts in self.counts.values())

    @property
    def first_try_rate(self) -> float | None:
        """Return the percentage of calls that fitted at once; None before the first call."""
        total = sum(sum(counts.values()) for counts in self.counts.values())
        return round(100 * self.total(Fit.FIRST_TRY) / total, 1) if total else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything that was counted."""
        return {
            "models": [
                {"model": model, "tool": tool, **_named(counts)}
                for (model, tool), counts in self.counts.items()
            ],
            "rules": dict(self.rules),
        }


def turn_quality(verdicts: Iterable[CallVerdict]) -> TurnQuality:
    """Return the counters of one turn, in all and by tool."""
    own = list(verdicts)
    tools = dict.fromkeys(verdict.tool for verdict in own)
    return {
        **_named(Counter(verdict.fit for verdict in own)),
        "rules": dict(Counter(rule for verdict in own for rule in verdict.rules)),
        "tools": {
            tool: _named(Counter(verdict.fit for verdict in own if verdict.tool == tool)) for tool in tools
        },
    }


def _named(counts: Counter[Fit]) -> FitCounts:
    return {
        "first_try": counts[Fit.FIRST_TRY],
        "repaired": counts[Fit.REPAIRED],
        "retried": counts[Fit.RETRIED],
        "refused": counts[Fit.REFUSED],
        "exhausted": counts[Fit.EXHAUSTED],
    }


MAX_SAME_FAILURE = 2
"""How often a call that fails may be tried with the same arguments."""

MAX_REPEATS = 3
"""From which answer of the model that makes the same call as before it gets no more tools."""

MAX_ATTEMPTS = 3
"""How often a model may write calls that do not fit before the person is asked."""


@dataclass(slots=True)
class Attempt:
    """One call on its way: what was repaired, and whether it was refused."""

    tool: str
    rules: list[str] = field(default_factory=list)
    refused: bool = False
    error_type: str = "ToolError"
    """What kind of error ended it, if one did; a tool that reports a failure itself names none."""
    ran: bool = False
    """Whether the tool was reached: what a refusal says is our own."""
    draft: CallDraft | None = None
    """What of it waits for a confirmation."""
    told: tuple[Told, ...] = ()
    """What it did, if a sentence of our own can tell it."""


class CallSummary(TypedDict):
    """One call, for the caller of a service."""

    tool_name: str
    parameters: dict[str, Any]
    success: bool
    duration_ms: float
    waiting: NotRequired[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One executed call."""

    tool_name: str
    success: bool
    read_only: bool
    duration_ms: float
    args: dict[str, Any]
    """Without codes and keys."""
    done: bool = False
    """Whether it changed something, be it only in part, or found it as asked."""
    in_part: bool = False
    """Whether a part of it failed, although it counts as a success."""
    targets: ControlResult = field(default_factory=ControlResult)
    """What became of each target of ha_control; empty for other tools."""
    round: int = 0
    """The number of the model's answer that contains it."""
    started: float = 0.0
    """By the clock that never jumps, in seconds."""
    said: str = ""
    """The beginning of what it gave, without codes and keys."""
    stored_memory: bool = False
    """Whether it stored a memory."""
    told: tuple[Told, ...] = ()
    """What it did, if a sentence of our own can tell it."""
    waits: bool = False
    """Whether something of it waits for a confirmation: then it has neither worked nor failed."""
    refusals: tuple[RefusedByRule, ...] = ()
    """The rules of the household that refused it, if nothing else became of it."""

    def summary(self) -> CallSummary:
        """Return the response for the caller of a service."""
        found: CallSummary = {
            "tool_name": self.tool_name,
            "parameters": self.args,
            "success": self.success,
            "duration_ms": round(self.duration_ms, 1),
        }
        if self.waits:
            found["waiting"] = True
        return found


def caller_of(speaker: Speaker) -> Caller:
    """Return the one that waits for a model's answer; people come before automations."""
    who = speaker.device_id or speaker.context.user_id or speaker.conversation_id
    return Caller(who, Priority.TASK if speaker.is_automation else Priority.PERSON)


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
    started: int = 0
    announced: int = 0
    """Calls that were handed to the chat log."""
    answered: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while every announced call has its answer."""
    touched: list[str] = field(default_factory=list)
    """Entities that a service was called on, in order."""
    denied: dict[str, PermissionDenied] = field(default_factory=dict)
    """Entities that the guard refused to change."""
    round: int = 0
    """The number of the model's answer that contains the calls; 0 if answers are not counted."""
    verdicts: list[CallVerdict] = field(default_factory=list)
    """How well each call fitted."""
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
    draft: Draft = field(init=False)
    """What waits for a confirmation."""

    tainted: bool = False
    """Whether the model reads text from an untrusted source; see `safety/firewall/taint.py`."""
    _tainted_in: int = 0
    """The answer of the model after which it read such text; 0 where that stood in the request."""
    _read_in: int = 0
    """The first answer of this turn after which a tool gave it such text; 0 if none did."""
    _calls: dict[str, asyncio.Future[llm.ToolResult]] = field(default_factory=dict)
    _reaches: dict[str, Reach] = field(default_factory=dict)
    _outdated: set[str] = field(default_factory=set)
    """Calls whose results no longer hold, as a later call has changed what they were about."""
    _failures: dict[str, int] = field(default_factory=dict)
    _rounds: dict[str, set[int]] = field(default_factory=dict)
    """By call: the answers of the model that make it."""
    _attempts: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin with what was said, and nothing that waits."""
        if not self.origins.said:
            self.origins.said.append(self.sentence)
        self.draft = Draft(speaker=self.speaker, conversation_id=self.conversation_id)

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

    def taint(self) -> None:
        """Note that the model will read text from an untrusted source."""
        if not self.tainted:
            self.tainted, self._tainted_in = True, self.round
        self._read_in = self._read_in or self.round
        self.judge_by_what_was_read()

    def judge_by_what_was_read(self) -> None:
        """Let the calls of an answer be judged by what the model had read when it gave the answer.

        Results of calls of the same answer it had not.
        """
        if self.tainted and (not self.round or self.round > self._tainted_in):
            self.speaker = replace(self.speaker, tainted=True)

    @property
    def has_read_outside(self) -> bool:
        """Return whether the model gave its answer after a tool of this turn gave it such text."""
        return 0 < self._read_in < self.round

    def origin(self) -> CallOrigin:
        """Return the turn as it is now, for what a call lets wait."""
        return CallOrigin(
            speaker=self.speaker,
            sentence=self.sentence,
            disclosure=self.disclosure.model,
            words=self.origins,
        )

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
        return any(len(rounds) >= MAX_REPEATS for rounds in self._rounds.values())

    @property
    def refused(self) -> dict[str, RefusedByRule]:
        """Return the entities that a rule of the household refused to change."""
        return {key: err for key, err in self.denied.items() if isinstance(err, RefusedByRule)}

    def repeats(self, key: str) -> bool:
        """Note a call and return whether too many answers of the model have made it.

        The same call twice in one answer is no repetition.
        """
        if not self.round:
            return False
        rounds = self._rounds.setdefault(key, set())
        rounds.add(self.round)
        return len(rounds) >= MAX_REPEATS

    def refuse(self, attempt: Attempt, err: HomeAgentError) -> str:
        """Note a call that does not fit and return what is wrong with it.

        Calls of one answer are one attempt.
        """
        attempt.refused = True
        self._attempts.add(self.round or -len(self._attempts) - 1)
        if isinstance(err, ValidationError) and err.names:
            self.likely = err.names
        return self.give_up_message() if self.attempts_exhausted else str(err)

    def give_up_message(self) -> str:
        """Return the sentence for exhausted attempts."""
        which = f" which is meant: {', '.join(self.likely)}" if self.likely else " to say it another way"
        return f"{MAX_ATTEMPTS} attempts did not fit. Make no more calls; ask the person{which}"[:MAX_ERROR]

    def for_model(self, error: str) -> str:
        """Return an error as the model reads it: with the request, which goes into no event and no log."""
        return with_request(error, self.sentence)

    def judge(self, attempt: Attempt) -> None:
        """Count how well a call fitted."""
        tool = attempt.tool if attempt.tool in self.tools else "unknown"
        if attempt.refused:
            fit = Fit.EXHAUSTED if self.attempts_exhausted else Fit.REFUSED
        elif any(seen.fit is Fit.REFUSED and seen.tool in (tool, "unknown") for seen in self.verdicts):
            fit = Fit.RETRIED
        else:
            fit = Fit.REPAIRED if attempt.rules else Fit.FIRST_TRY
        self.verdicts.append(CallVerdict(tool, fit, tuple(attempt.rules)))

    @property
    def acted(self) -> bool:
        """Return whether something was changed, and nothing failed."""
        return bool(self.touched) and all(record.success and not record.in_part for record in self.records)

    @property
    def done(self) -> bool:
        """Return whether anything at all was changed as asked."""
        return any(record.done for record in self.records)

    def summary(self) -> list[CallSummary]:
        """Return the calls, for the caller of a service."""
        return [record.summary() for record in self.records]

    async def async_find_duplicate(self, key: str) -> asyncio.Future[llm.ToolResult] | None:
        """Return the same call, running or done: it is not run a second time.

        A call whose result a later one has outdated is none. Later calls of the same answer run
        concurrently, so their end is awaited.
        """
        while (found := self._calls.get(key)) is not None:
            begun = list(self._calls)
            running = [
                self._calls[other] for other in begun[begun.index(key) + 1 :] if not self._calls[other].done()
            ]
            if not running:
                return found
            await asyncio.wait(running)
        return None

    def begin(self, key: str) -> None:
        """Count a call that starts to run."""
        self.started += 1
        self._outdated.discard(key)
        self._calls[key] = asyncio.get_running_loop().create_future()

    def end(self, key: str, record: CallRecord, result: llm.ToolResult, reach: Reach) -> None:
        """Note how a call ended. Results that no longer hold after it are forgotten."""
        outdated = [other for other, earlier in self._reaches.items() if reach.outdates(earlier)]
        for other in outdated:
            del self._reaches[other]
            self._calls.pop(other, None)
            self._outdated.add(other)
        self._reaches[key] = reach
        repeatable = reach.reverses and reach.changes
        self.records.append(record)
        self._calls[key].set_result(result)
        if result.error:
            self._failures[key] = self._failures.get(key, 0) + 1
        if result.error or repeatable:
            del self._calls[key], self._reaches[key]
        if repeatable:
            self._outdated.add(key)  # a second undo goes on to what was before

    def announce(self, count: int) -> None:
        """Expect the answers of so many calls."""
        self.announced += count
        self.idle.clear()

    def answer(self) -> None:
        """Note that a call has its answer, whether it was run or refused."""
        self.answered += 1
        if self.answered >= self.announced:
            self.idle.set()

    def failed(self, key: str) -> bool:
        """Return whether the same call has failed before."""
        return key in self._failures

    def is_outdated(self, key: str) -> bool:
        """Return whether the same call was run before, but its result no longer holds."""
        return key in self._outdated

    def failed_too_often(self, key: str) -> bool:
        """Return whether the same call has failed as often as it may."""
        return self._failures.get(key, 0) >= MAX_SAME_FAILURE


def call_key(name: str, args: dict[str, Any], meanings: Mapping[str, str] | None = None) -> str:
    """Return the key by which two calls are equal."""
    return f"{name}:{json.dumps([args, dict(meanings or {})], sort_keys=True, default=str)}"
