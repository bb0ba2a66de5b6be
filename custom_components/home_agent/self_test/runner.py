"""Asks the configured model every case, checks the answers, and judges the model; nothing is ever called."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
import json
from statistics import median
from time import monotonic
from typing import Any, Final, NamedTuple

from homeassistant.const import UnitOfTemperature
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from .. import const
from ..agent.describe import async_phrase
from ..agent.rounds import as_tool_input, filter_for, may_answer_order, written_calls
from ..const import DOMAIN
from ..context.catalogue import build_catalogue
from ..context.manager import AssembledContext
from ..context.window import RequestDraft, Slot, fit
from ..domains import domains_of
from ..errors import HomeAgentError
from ..inference.models import (
    Caller,
    ChatRequest,
    ErrorKind,
    FunctionCall,
    Message,
    MessageCall,
    ModelServerError,
    Priority,
    as_agent_error,
)
from ..knowledge.speaker import Speaker
from ..runtime import HomeAgentData
from ..texts import plain
from ..tools.base import HomeAgentTool
from ..tools.calls.repair import fit as fit_call
from ..tools.control.arguments import read_args
from ..tools.control.planning import plan
from ..tools.ha_control import ControlTool
from ..tools.ha_query import QueryTool
from ..tools.resolving.resolver import Target, resolve
from .cases import Case, cases, house, lines, states
from .kept import Capability, Progress, Report

MAX_TOKENS: Final = 160
"""Of one answer: none of them needs more, and a model that never ends is not waited for."""
FIRST_SECONDS: Final = 90.0
"""For the first case: the server may have to load the model, and reads rules and tools for the first time."""
CASE_SECONDS: Final = 30.0
"""For any other case. Nobody waits longer for an answer."""
MAX_LATE: Final = 2
"""Cases that may take too long; then the test ends, because nobody would use such a model."""
TOTAL_SECONDS: Final = 300.0
BROKEN: Final = frozenset({ErrorKind.MALFORMED, ErrorKind.BAD_REQUEST, ErrorKind.CONTEXT_TOO_LONG})
"""Errors that tell something of the model; with others it cannot be judged."""
GOOD, USABLE, WEAK = 0.9, 0.7, 0.6
"""Shares of cases: for the verdicts, and of one capability, below which it is named as weak."""
SLOW_SECONDS: Final = 5.0
"""A time to the end of an answer from which people assume that nothing happens."""
TOO_SLOW_SECONDS: Final = 15.0
MAX_CHARS: Final = 300


class ModelAnswer(NamedTuple):
    """What a model answered: its calls, its words, and when its first token came."""

    calls: Sequence[llm.ToolInput] = ()
    words: str = ""
    first: float | None = None


class Result(NamedTuple):
    """What became of one case."""

    row: dict[str, Any]
    """The case as the report shows it."""
    first_seconds: float | None
    is_late: bool
    """Whether it was broken off because it took too long."""


async def async_run_self_test(hass: HomeAssistant, data: HomeAgentData, watch: Progress) -> Report:
    """Run the self-test of an agent, keep its report and return it; `watch` is told how far it is.

    Who cancels this stops waiting; the test ends when nobody waits any more. Raises LLMError if the server
    cannot be asked, and ServiceValidationError if the options leave out a tool that the test needs.
    """
    kept = data.shared.self_tests.of(data.entry_id)
    test = SelfTest(hass, data)

    def tell(done: int, total: int) -> None:
        for each in kept.watchers:
            each(done, total)

    async def run() -> Report:
        report = await test.async_run(tell)
        kept.keep(report)
        return report

    kept.watchers.append(watch)
    if kept.task is None or kept.task.done():
        kept.task = hass.async_create_background_task(run(), "home_agent self-test")
    running = kept.task
    try:
        return await asyncio.shield(running)
    finally:
        kept.watchers.remove(watch)
        if not kept.watchers and not running.done():
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


class SelfTest:
    """One run over the cases."""

    def __init__(self, hass: HomeAssistant, data: HomeAgentData) -> None:
        """Take the agent that is tested.

        Raises ServiceValidationError if the options leave out a tool that the test needs.
        """
        if missing := {ControlTool.name, QueryTool.name} - data.handler.tools.keys():
            raise ServiceValidationError(
                translation_domain=DOMAIN,
                translation_key="self_test_without_tools",
                translation_placeholders={"tools": ", ".join(sorted(missing))},
            )
        self._hass = hass
        self._data = data
        self._house = house()
        self._tools: dict[str, llm.Tool] = dict(data.handler.tools)
        self._speaker = Speaker(context=Context(), language="en")

    async def async_run(self, progress: Progress, language: str = "") -> Report:
        """Return the report, in the language of its reader or of the home.

        A model that is too slow is not asked every case. Raises LLMError if the server cannot be asked.
        """
        asked = cases(self._hass.config.language, self._hass.config.country)
        results: list[Result] = []
        started = monotonic()
        for case in asked:
            progress(len(results), len(asked))
            results.append(await self._async_case(case, CASE_SECONDS if results else FIRST_SECONDS))
            late = sum(result.is_late for result in results)
            if late >= MAX_LATE or monotonic() - started > TOTAL_SECONDS:
                break
        model, language = self._data.settings[const.CONF_MODEL], language or self._hass.config.language
        return await async_report(self._hass, model, results, len(asked), language)

    async def _async_case(self, case: Case, seconds: float) -> Result:
        """Return the result of one case that may take so many seconds. Raises LLMError."""
        started, answer, is_late = monotonic(), ModelAnswer(), False
        messages: list[Message] = [{"role": "user", "content": case.said}]
        problem: str | None
        try:
            async with asyncio.timeout(seconds):
                answer = await self._async_ask(messages, case)
                problem = await self._async_problem(case, messages, answer)
        except TimeoutError:
            problem, is_late = f"no answer within {seconds:.0f} seconds", True
        except ModelServerError as err:
            if err.kind not in BROKEN:
                raise as_agent_error(err) from err
            problem = f"the server: {err.detail}"
        row = {
            "name": case.name,
            "capability": case.capability.value,
            "said": case.said,
            "passed": problem is None,
            "problem": problem,
            "answer": answer.words[:MAX_CHARS],
            "calls": [f"{call.tool_name} {json.dumps(call.tool_args)}"[:MAX_CHARS] for call in answer.calls],
            "seconds": round(monotonic() - started, 2),
        }
        return Result(row, None if answer.first is None else answer.first - started, is_late)

    async def _async_problem(self, case: Case, messages: list[Message], answer: ModelAnswer) -> str | None:
        """Return what is wrong with an answer, None if it is right. Raises ModelServerError."""
        if problem := self._wrong(case, answer):
            return problem
        if case.refused:
            if answer.calls:
                failed = {"success": False, "result": None, "error": case.refused}
                answer = await self._async_after(case, messages, answer, failed)
            if not answer.calls and claims_success(case, answer.words):
                return f"claims success after an error: {answer.words[:200]}"
            return None
        words = answer.words
        if case.answers and answer.calls:
            read = {"success": True, "result": list(lines(self._house)), "error": None}
            words = f"{words} {(await self._async_after(case, messages, answer, read)).words}"
        spoken = f" {plain(words)} "
        if wrong := next((word for word in case.wrong if f" {plain(word)} " in spoken), None):
            return f"says {wrong}"
        if case.answers and not any(f" {plain(wanted)} " in spoken for wanted in case.answers):
            return f"does not say {' or '.join(case.answers)}"
        return None

    async def _async_after(
        self, case: Case, messages: list[Message], answer: ModelAnswer, result: Mapping[str, Any]
    ) -> ModelAnswer:
        """Return what the model answers to the result of its calls."""
        results: list[Message] = []
        calls: list[MessageCall] = []
        for call in answer.calls:
            function: FunctionCall = {"name": call.tool_name, "arguments": json.dumps(call.tool_args)}
            calls.append({"id": call.id, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        asked: Message = {"role": "assistant", "content": answer.words or None, "tool_calls": calls}
        return await self._async_ask([*messages, asked, *results], case)

    async def _async_ask(self, messages: Sequence[Message], case: Case) -> ModelAnswer:
        speech = filter_for(self._tools, voice=False)
        words, calls, first = "", [], None
        async with aclosing(self._data.router.primary.stream(self._request(messages, case))) as deltas:
            async for delta in deltas:
                if first is None and (delta.content or delta.thinking or delta.tool_calls):
                    first = monotonic()
                words += speech.feed(delta.content).text
                calls += [as_tool_input(call) for call in delta.tool_calls]
        words += speech.flush().text
        return ModelAnswer(calls or written_calls(speech, self._tools), words.strip(), first)

    def _request(self, messages: Sequence[Message], case: Case) -> ChatRequest:
        data, settings, window = self._data, self._data.settings, self._data.context.window
        budget = window.budget()
        catalogue = build_catalogue(self._house, token_budget=budget.home)
        context = AssembledContext(house=self._house, catalogue=catalogue, budget=budget)
        history: list[Message] = []
        for said, answered in case.before:
            history += [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]
        draft = RequestDraft(
            systems=data.prompt.systems(context, case.said, self._speaker, []),
            tools=data.tool_schemas.beside(self._house, catalogue),
            tools_budget=budget.chosen.get("tools"),
            history=history,
            slots=(Slot(heading="States now:", lines=tuple(lines(self._house))),),
        )
        fitted = fit(draft, messages, window.request_tokens(MAX_TOKENS))
        return ChatRequest(
            messages=fitted.messages,
            tools=fitted.tools,
            temperature=settings[const.CONF_TEMPERATURE],
            top_p=settings[const.CONF_TOP_P],
            max_tokens=MAX_TOKENS,
            keep_alive=settings[const.CONF_KEEP_ALIVE],
            num_ctx=settings.get(const.CONF_NUM_CTX),
            thinking=settings[const.CONF_THINKING],
            caller=Caller("self-test", Priority.TASK),
        )

    def _wrong(self, case: Case, answer: ModelAnswer) -> str | None:
        """Return what is wrong with the calls of an answer; None if they are right."""
        done: dict[str, list[tuple[str, Any]]] = {}
        read: set[str] = set()
        unasked: list[str] = []
        try:
            for call in answer.calls:
                tool, args = self._tools.get(call.tool_name), call.tool_args
                if tool is not None and call.tool_name == ControlTool.name:
                    verb, target, given = read_args(fit_call(tool, args)[0])
                    for entity_id in self._meant(case, target, domains_of(verb)):
                        made = plan(states()[entity_id], verb, given, UnitOfTemperature.CELSIUS)
                        done.setdefault(entity_id, []).extend(
                            (step.service, step.data) for step in made.calls
                        )
                    if case.effects:
                        continue
                elif tool is not None and call.tool_name == QueryTool.name and case.reads:
                    fitted = fit_call(tool, args)[0]
                    if fitted.get("history"):
                        read.update(self._meant(case, Target.from_args(fitted), None))
                if tool is not None and not (isinstance(tool, HomeAgentTool) and tool.only_reads(args)):
                    unasked.append(call.tool_name)
        except HomeAgentError as err:
            return None if case.tries else f"a call does not fit: {err}"
        if case.effects and not done:
            claims = claims_success(case, answer.words)
            return "says that it is done, without a call" if claims else "makes no call"
        if extra := sorted(done.keys() - case.effects.keys()):
            return f"also moves {', '.join(extra)}"
        if missing := sorted(case.effects.keys() - done.keys()):
            return f"leaves out {', '.join(missing)}"
        for entity_id, (service, data) in case.effects.items():
            if not any(name == service and data.items() <= given.items() for name, given in done[entity_id]):
                calls = "; ".join(f"{name} {given}" for name, given in done[entity_id])
                return f"{entity_id}: {calls}"
        if unasked:
            return f"calls {unasked[0]}, although nothing of the kind was asked for"
        if case.reads and case.reads not in read:
            return f"did not read the history of {case.reads}"
        return None

    def _meant(self, case: Case, target: Target, domains: Any) -> list[str]:
        records = resolve(
            self._house,
            target,
            speaker=self._speaker,
            sentence=case.said,
            allowed_domains=domains,
            exists=lambda _entity_id: False,
        )
        return [record.entity_id for record in records]


def claims_success(case: Case, words: str) -> bool:
    """Return whether words claim what no call has done."""
    return bool(words.strip()) and not may_answer_order(words, case.language)


async def async_report(
    hass: HomeAssistant, model: str, results: Sequence[Result], planned: int, language: str
) -> Report:
    """Return the report about the results, of which there is at least one; its advice is in a language."""
    rows = [result.row for result in results]
    seconds = median(row["seconds"] for row in rows)
    firsts = [result.first_seconds for result in results if result.first_seconds is not None]
    scores: dict[str, dict[str, int]] = {}
    for capability in Capability:
        if passed := [row["passed"] for row in rows if row["capability"] == capability]:
            scores[capability.value] = {"passed": sum(passed), "total": len(passed)}
    weak = [name for name, score in scores.items() if score["passed"] < WEAK * score["total"]]
    right = sum(row["passed"] for row in rows)
    share = right / len(rows)
    if len(rows) < planned or seconds > TOO_SLOW_SECONDS:
        verdict, keys = "slow", ["self_test_too_slow"]
    else:
        verdict = "usable" if share >= USABLE else "poor"
        # A model that acts without being asked is never a good one.
        if share >= GOOD and Capability.ABSTAINING not in weak:
            verdict = "good"
        keys = [f"self_test_{verdict}", *(["self_test_slow"] if seconds > SLOW_SECONDS else [])]
        keys += [f"self_test_weak_{name}" for name in weak] if verdict != "poor" else []
    rounded = f"{seconds:.0f}"
    return {
        "verdict": verdict,
        "advice": " ".join([await async_phrase(hass, language, key, seconds=rounded) for key in keys]),
        "model": model,
        "at": dt_util.utcnow().isoformat(),
        "passed": right,
        "total": len(rows),
        "planned": planned,
        "capabilities": scores,
        "weak": weak,
        "median_seconds": round(seconds, 2),
        "median_first_token_seconds": round(median(firsts), 2) if firsts else None,
        "cases": rows,
    }
