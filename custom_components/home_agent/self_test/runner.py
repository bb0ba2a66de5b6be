"""Asks the configured model every case, and checks the answers; nothing is ever called."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
import json
from statistics import median
from time import monotonic
from typing import Any, Final

from homeassistant.core import Context, HomeAssistant, State
from homeassistant.helpers import llm

from ..agent.claims.gate import ClaimGate
from ..agent.model_errors import as_agent_error
from ..agent.phrases import async_phrase
from ..agent.streaming import as_tool_input
from ..agent.written_calls import filter_for, written_calls
from ..const import CONF_KEEP_ALIVE, CONF_NUM_CTX, CONF_TEMPERATURE, CONF_THINKING, CONF_TOP_P
from ..context.catalogue import build_catalogue
from ..context.fitting import RequestDraft, fit
from ..context.manager import AssembledContext
from ..context.providers.base import Slot
from ..domains import domains_of
from ..errors import HomeAgentError
from ..inference.errors import ErrorKind, ModelServerError
from ..inference.models import ChatRequest, Delta, FunctionCall, Message, MessageCall
from ..knowledge.records import HouseSnapshot
from ..knowledge.speaker import Speaker
from ..runtime import HomeAgentData
from ..tools.calls.repair import fit as fit_call
from ..tools.control.arguments import read_args
from ..tools.control.planning import plan
from ..tools.control.values import Units
from ..tools.ha_control import ControlTool
from ..tools.ha_query import QueryTool
from ..tools.resolving.resolver import resolve
from ..tools.resolving.targets import Target
from .imaginary_house import CASES, Case, house, lines, states

MAX_TOKENS: Final = 160
"""Of one answer: none of them needs more, and a model that never ends is not waited for."""
SLOW_SECONDS: Final = 5.0
"""A time to the end of an answer from which people assume that nothing happens."""
BROKEN: Final = frozenset({ErrorKind.MALFORMED, ErrorKind.BAD_REQUEST, ErrorKind.CONTEXT_TOO_LONG})
"""Errors that tell something of the model; with others it cannot be judged."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answered: its calls, and its words."""

    calls: Sequence[llm.ToolInput]
    words: str


class Checker:
    """Knows the imaginary home and the tools."""

    def __init__(
        self,
        house: HouseSnapshot,
        states: Mapping[str, State],
        tools: Mapping[str, llm.Tool],
        speaker: Speaker,
    ) -> None:
        """Store what answers are checked against."""
        self._house = house
        self._states = states
        self._tools = tools
        self._speaker = speaker

    def problem(self, case: Case, answer: ModelAnswer) -> str | None:
        """Return the problem of an answer; None if it is right."""
        try:
            done = self._done(case, answer.calls)
            read = self._read(case, answer.calls)
        except HomeAgentError as err:
            return f"a call does not fit: {err}"
        if wrong := _difference(case, done, answer):
            return wrong
        if not case.effects and any(call.tool_name == ControlTool.name for call in answer.calls):
            return f"calls {ControlTool.name}, although nothing was to be done"
        if case.reads and case.reads not in read:
            return f"did not read the history of {case.reads}"
        return None

    def unsaid(self, case: Case, words: str) -> str | None:
        """Return the missing part of an answer, or None if the answer is complete."""
        if case.answers and not _says(words, case.answers):
            return f"does not say {' or '.join(case.answers)}"
        return None

    def _done(self, case: Case, calls: Sequence[llm.ToolInput]) -> dict[str, list[tuple[str, Any]]]:
        """Return the services that calls come down to, by entity. Raises HomeAgentError."""
        done: dict[str, list[tuple[str, Any]]] = {}
        for call in calls:
            if call.tool_name != ControlTool.name:
                continue
            fitted = fit_call(self._tools[ControlTool.name], call.tool_args, case.said)
            verb, target, given = read_args(fitted.checked)
            for record in self._meant(case, target, domains_of(verb)):
                made = plan(self._states[record], verb, given, Units())
                done.setdefault(record, []).extend((step.service, step.data) for step in made.calls)
        return done

    def _read(self, case: Case, calls: Sequence[llm.ToolInput]) -> set[str]:
        """Return the entities whose history is read. Raises HomeAgentError."""
        found: set[str] = set()
        for call in calls:
            if call.tool_name == QueryTool.name and case.reads:
                args = fit_call(self._tools[QueryTool.name], call.tool_args, case.said).checked
                if args.get("history"):
                    found.update(self._meant(case, Target.from_args(args), None))
        return found

    def _meant(self, case: Case, target: Target, domains: Any) -> list[str]:
        """Return the entities that a target means. Raises ValidationError."""
        found = resolve(
            self._house,
            target,
            speaker=self._speaker,
            sentence=case.said,
            allowed_domains=domains,
            exists=lambda _entity_id: False,
        )
        return [record.entity_id for record in found]


def _difference(case: Case, done: Mapping[str, list[tuple[str, Any]]], answer: ModelAnswer) -> str | None:
    """Return how what was done differs from what was wanted."""
    if case.effects and not done:
        if claims_success(case, answer.words):
            return "says that it is done, without a call"
        return "makes no call"
    if extra := sorted(done.keys() - case.effects.keys()):
        return f"also moves {', '.join(extra)}"
    if missing := sorted(case.effects.keys() - done.keys()):
        return f"leaves out {', '.join(missing)}"
    for entity_id, (service, data) in case.effects.items():
        if not any(name == service and data.items() <= given.items() for name, given in done[entity_id]):
            calls = "; ".join(f"{name} {given}" for name, given in done[entity_id])
            return f"{entity_id}: {calls}"
    return None


def claims_success(case: Case, words: str) -> bool:
    """Return whether words claim what no call has done."""
    gate = ClaimGate(case.said, case.language, lambda _reading, _kind: False)
    gate.feed(words)
    gate.finish()
    return gate.unbacked is not None


def _says(words: str, wanted: Sequence[str]) -> bool:
    """Return whether an answer contains one of the words."""
    said = words.casefold()
    return any(word in said for word in wanted)


GOOD, USABLE = 0.9, 0.7


@dataclass(slots=True, kw_only=True)
class Result:
    """What became of one case."""

    case: Case
    problem: str | None
    answer: ModelAnswer
    seconds: float
    first_seconds: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return it as the response shows it."""
        return {
            "name": self.case.name,
            "said": self.case.said,
            "passed": self.problem is None,
            "problem": self.problem,
            "answer": self.answer.words[:300],
            "calls": [f"{call.tool_name} {json.dumps(call.tool_args)}"[:300] for call in self.answer.calls],
            "seconds": round(self.seconds, 2),
        }


class SelfTest:
    """One run over the corpus."""

    def __init__(self, hass: HomeAssistant, data: HomeAgentData) -> None:
        """Take the agent that is tested."""
        self._hass = hass
        self._data = data
        self._house = house()
        self._tools: dict[str, llm.Tool] = dict(data.handler.tools)
        self._speaker = Speaker(context=Context(), language="en")
        self._checker = Checker(self._house, states(), self._tools, self._speaker)

    async def async_run(self, cases: Sequence[Case] = CASES) -> dict[str, Any]:
        """Return the report. Raises LLMError if the server cannot be asked."""
        results = [await self._async_case(case) for case in cases]
        passed = sum(result.problem is None for result in results)
        score = passed / len(results)
        verdict = "good" if score >= GOOD else "usable" if score >= USABLE else "poor"
        seconds = median(result.seconds for result in results)
        firsts = [result.first_seconds for result in results if result.first_seconds is not None]
        keys = [f"self_test_{verdict}", *(["self_test_slow"] if seconds > SLOW_SECONDS else [])]
        advice = [await async_phrase(self._hass, self._hass.config.language, key) for key in keys]
        return {
            "verdict": verdict,
            "advice": " ".join(advice),
            "passed": passed,
            "total": len(results),
            "median_seconds": round(seconds, 2),
            "median_first_token_seconds": round(median(firsts), 2) if firsts else None,
            "cases": [result.as_dict() for result in results],
        }

    async def _async_case(self, case: Case) -> Result:
        """Return the result of one case. Raises LLMError."""
        started = monotonic()
        messages: list[Message] = [{"role": "user", "content": case.said}]
        try:
            answer, first = await self._async_ask(messages)
            problem = self._checker.problem(case, answer)
            problem = problem or await self._async_afterwards(case, messages, answer)
        except ModelServerError as err:
            if err.kind not in BROKEN:
                raise as_agent_error(err) from err
            answer, first, problem = ModelAnswer((), ""), None, f"the server: {err.detail}"
        seconds = monotonic() - started
        return Result(
            case=case,
            problem=problem,
            answer=answer,
            seconds=seconds,
            first_seconds=None if first is None else first - started,
        )

    async def _async_afterwards(self, case: Case, messages: list[Message], answer: ModelAnswer) -> str | None:
        """Return the problem of the model's final answer, or None if it is right."""
        if case.refused and answer.calls:
            failed = {"success": False, "result": None, "error": case.refused}
            told = await self._async_told(messages, answer, failed)
            if not told.calls and claims_success(case, told.words):
                return f"claims success after an error: {told.words[:200]}"
            return None
        words = answer.words
        if case.answers and answer.calls:
            read = {"success": True, "result": list(lines(self._house)), "error": None}
            told = await self._async_told(messages, answer, read)
            words = f"{words} {told.words}"
        return self._checker.unsaid(case, words)

    async def _async_told(
        self, messages: list[Message], answer: ModelAnswer, result: Mapping[str, Any]
    ) -> ModelAnswer:
        """Return the answer of the model to the results of its calls."""
        results: list[Message] = []
        calls: list[MessageCall] = []
        for call in answer.calls:
            function: FunctionCall = {"name": call.tool_name, "arguments": json.dumps(call.tool_args)}
            calls.append({"id": call.id, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        asked: Message = {"role": "assistant", "content": answer.words or None, "tool_calls": calls}
        return (await self._async_ask([*messages, asked, *results]))[0]

    async def _async_ask(self, messages: Sequence[Message]) -> tuple[ModelAnswer, float | None]:
        """Return an answer, and when its first token came. Raises ModelServerError."""
        speech = filter_for(self._tools, voice=False)
        words, calls, first = "", [], None
        async with aclosing(self._data.router.primary.stream(self._request(messages))) as deltas:
            async for delta in deltas:
                if first is None and _holds_something(delta):
                    first = monotonic()
                words += speech.feed(delta.content).text
                calls += [as_tool_input(call) for call in delta.tool_calls]
        words += speech.flush().text
        return ModelAnswer(tuple(calls or written_calls(speech, self._tools)), words.strip()), first

    def _request(self, messages: Sequence[Message]) -> ChatRequest:
        """Return the request that the agent would send in the imaginary home."""
        data, window = self._data, self._data.context.window
        budget = window.budget()
        catalogue = build_catalogue(self._house, token_budget=budget.home)
        systems = data.prompt.systems(
            AssembledContext(house=self._house, catalogue=catalogue, budget=budget),
            str(messages[0]["content"]),
            self._speaker,
            [],
        )
        shown = Slot(heading="States now:", lines=tuple(lines(self._house)))
        tools = data.tool_schemas.beside(self._house, catalogue)
        tools_budget = budget.chosen.get("tools")
        draft = RequestDraft(systems=systems, tools=tools, tools_budget=tools_budget, slots=(shown,))
        fitted = fit(draft, messages, window.request_tokens(MAX_TOKENS))
        settings = data.settings
        return ChatRequest(
            messages=fitted.messages,
            tools=fitted.tools,
            temperature=settings[CONF_TEMPERATURE],
            top_p=settings[CONF_TOP_P],
            max_tokens=MAX_TOKENS,
            keep_alive=settings[CONF_KEEP_ALIVE],
            num_ctx=settings.get(CONF_NUM_CTX),
            thinking=settings[CONF_THINKING],
        )


def _holds_something(delta: Delta) -> bool:
    """Return whether a delta brings a token."""
    return bool(delta.content or delta.thinking or delta.tool_calls)
