"""Asks the configured model every case, and checks the answers; nothing is ever called."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
import json
from time import monotonic
from typing import Any, Final

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import llm

from ..agent.model_errors import as_agent_error
from ..agent.streaming import as_tool_input
from ..agent.written_calls import filter_for, written_calls
from ..const import (
    CONF_KEEP_ALIVE,
    CONF_MODEL,
    CONF_NUM_CTX,
    CONF_TEMPERATURE,
    CONF_THINKING,
    CONF_TOP_P,
    DOMAIN,
)
from ..context.catalogue import build_catalogue
from ..context.fitting import RequestDraft, fit
from ..context.manager import AssembledContext
from ..context.providers.base import Slot
from ..inference.errors import ErrorKind, ModelServerError
from ..inference.models import ChatRequest, Delta, FunctionCall, Message, MessageCall
from ..inference.queue import Caller, Priority
from ..knowledge.speaker import Speaker
from ..runtime import HomeAgentData
from ..self_test_reports import Progress, Report
from ..tools.ha_control import ControlTool
from ..tools.ha_query import QueryTool
from .cases import Case, cases
from .checker import Checker, ModelAnswer, claims_success
from .imaginary_house import house, lines, states
from .report import Result, async_report

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
        self._checker = Checker(self._house, states(), self._tools, self._speaker)

    async def async_run(self, progress: Progress | None = None, language: str | None = None) -> Report:
        """Return the report, with advice in a language. Raises LLMError if the server cannot be asked.

        A model that is too slow is not asked every case.
        """
        asked = cases(self._hass.config.language, self._hass.config.country)
        results: list[Result] = []
        started = monotonic()
        for case in asked:
            if progress is not None:
                progress(len(results), len(asked))
            results.append(await self._async_case(case, CASE_SECONDS if results else FIRST_SECONDS))
            late = sum(result.late for result in results)
            if late >= MAX_LATE or monotonic() - started > TOTAL_SECONDS:
                break
        spoken = language or self._hass.config.language
        return await async_report(self._hass, spoken, self._data.settings[CONF_MODEL], results, len(asked))

    async def _async_case(self, case: Case, seconds: float) -> Result:
        """Return the result of one case that may take so many seconds. Raises LLMError."""
        turn = _Turn(started=monotonic())
        problem: str | None
        late = False
        try:
            async with asyncio.timeout(seconds):
                problem = await self._async_problem(case, turn)
        except TimeoutError:
            problem, late = f"no answer within {seconds:.0f} seconds", True
        except ModelServerError as err:
            if err.kind not in BROKEN:
                raise as_agent_error(err) from err
            problem = f"the server: {err.detail}"
        return Result(
            case=case,
            problem=problem,
            words=turn.answer.words,
            calls=[f"{call.tool_name} {json.dumps(call.tool_args)}" for call in turn.answer.calls],
            seconds=monotonic() - turn.started,
            first_seconds=None if turn.first is None else turn.first - turn.started,
            late=late,
        )

    async def _async_problem(self, case: Case, turn: _Turn) -> str | None:
        """Ask a case, and return what is wrong with the answer, None if it is right.

        Raises ModelServerError.
        """
        messages: list[Message] = [{"role": "user", "content": case.said}]
        turn.answer, turn.first = await self._async_ask(messages, case)
        problem = self._checker.problem(case, turn.answer)
        return problem or await self._async_afterwards(case, messages, turn.answer)

    async def _async_afterwards(self, case: Case, messages: list[Message], answer: ModelAnswer) -> str | None:
        """Return the problem of the model's final answer, or None if it is right."""
        if case.refused:
            told = answer
            if answer.calls:
                failed = {"success": False, "result": None, "error": case.refused}
                told = await self._async_told(case, messages, answer, failed)
            if not told.calls and claims_success(case, told.words):
                return f"claims success after an error: {told.words[:200]}"
            return None
        words = answer.words
        if case.answers and answer.calls:
            read = {"success": True, "result": list(lines(self._house)), "error": None}
            told = await self._async_told(case, messages, answer, read)
            words = f"{words} {told.words}"
        return self._checker.unsaid(case, words)

    async def _async_told(
        self, case: Case, messages: list[Message], answer: ModelAnswer, result: Mapping[str, Any]
    ) -> ModelAnswer:
        results: list[Message] = []
        calls: list[MessageCall] = []
        for call in answer.calls:
            function: FunctionCall = {"name": call.tool_name, "arguments": json.dumps(call.tool_args)}
            calls.append({"id": call.id, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        asked: Message = {"role": "assistant", "content": answer.words or None, "tool_calls": calls}
        return (await self._async_ask([*messages, asked, *results], case))[0]

    async def _async_ask(self, messages: Sequence[Message], case: Case) -> tuple[ModelAnswer, float | None]:
        """Return an answer, and when its first token came. Raises ModelServerError."""
        speech = filter_for(self._tools, voice=False)
        words, calls, first = "", [], None
        async with aclosing(self._data.router.primary.stream(self._request(messages, case))) as deltas:
            async for delta in deltas:
                if first is None and _holds_something(delta):
                    first = monotonic()
                words += speech.feed(delta.content).text
                calls += [as_tool_input(call) for call in delta.tool_calls]
        words += speech.flush().text
        return ModelAnswer(tuple(calls or written_calls(speech, self._tools)), words.strip()), first

    def _request(self, messages: Sequence[Message], case: Case) -> ChatRequest:
        data, window = self._data, self._data.context.window
        budget = window.budget()
        catalogue = build_catalogue(self._house, token_budget=budget.home)
        systems = data.prompt.systems(
            AssembledContext(house=self._house, catalogue=catalogue, budget=budget),
            case.said,
            self._speaker,
            [],
        )
        shown = Slot(heading="States now:", lines=tuple(lines(self._house)))
        tools = data.tool_schemas.beside(self._house, catalogue)
        tools_budget = budget.chosen.get("tools")
        draft = RequestDraft(
            systems=systems,
            tools=tools,
            tools_budget=tools_budget,
            history=_history(case),
            slots=(shown,),
        )
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
            caller=Caller("self-test", Priority.TASK),
        )


@dataclass(slots=True)
class _Turn:
    """What is known of a case when it is broken off."""

    started: float
    answer: ModelAnswer = field(default_factory=lambda: ModelAnswer((), ""))
    first: float | None = None


def _history(case: Case) -> list[Message]:
    messages: list[Message] = []
    for said, answered in case.before:
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]
    return messages


def _holds_something(delta: Delta) -> bool:
    return bool(delta.content or delta.thinking or delta.tool_calls)
