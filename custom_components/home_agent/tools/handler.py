"""ToolHandler: runs the calls of the model, each through the guard.

Every call of every tool passes `async_execute`, every service call `async_call_service` in `guard.py`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, Final

import probatio

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..const import LOGGER
from ..errors import ConfirmationNeeded, HomeAgentError, PermissionDenied, ToolNotFound, ValidationError
from ..events import EventEmitter
from ..knowledge.house import Snapshots
from ..safety.confirmation import Confirmations
from ..safety.firewall import firewall
from ..safety.firewall.firewall import note_tools
from ..safety.firewall.own_values import comes_from_outside, has_text, is_news
from ..safety.frozen import CallOrigin, FrozenTool
from ..safety.journal import AuditKind
from ..safety.redaction import UNPARSED, without_secrets
from ..safety.sanitizer.origins import Origins
from .base import HomeAgentTool, PartlyFailed, TargetsFailed, ToolOutput, ToolRun, is_offered
from .call_events import CallEvents, reach_of, record_of
from .calls.arguments import fit
from .calls.bounds import TOO_LARGE, bounded
from .calls.names import Adapted, adapt
from .control.asked import check_calls, named_by_person
from .guard import Guard
from .native import disclosed_by_all
from .outside.other_apis import declared_by_tool, inner_name, intent_of, source_of
from .outside.outgoing import Leaving, Outgoing, texts_of
from .results import envelope, envelope_of, failed, partly, succeeded, together
from .telling import Told
from .turn_calls import Attempt, TurnCalls, call_key

NOT_JSON = "The arguments were not valid JSON. Call again with a JSON object."
HAVE_IT: Final = "You have this already; answer now."
TOO_OFTEN: Final = "Not run: this call was made too often for one request. Answer now and say so."
FAILED_AGAIN: Final = "This call fails each time; answer now and say so."
MAX_CONTEXTS = 256


class ToolHandler:
    """Runs tools: find, validate, permit, call, report. Never raises from `async_execute`."""

    def __init__(
        self,
        hass: HomeAssistant,
        house: Snapshots,
        tools: Iterable[HomeAgentTool],
        *,
        guard: Guard,
        timeout: float,
        emitter: EventEmitter,
        confirmations: Confirmations,
        outgoing: Outgoing,
    ) -> None:
        """Take the tools of this agent; `timeout` is in seconds and bounds one call.

        `outgoing` judges what leaves with tools of other LLM APIs.
        """
        self.hass = hass
        self.guard = guard
        self.timeout = timeout
        self._house = house
        self._events = CallEvents(emitter)
        self._confirmations = confirmations
        self._outgoing = outgoing
        self._outside_read: OrderedDict[str, Origins] = OrderedDict()
        """Home Assistant's contexts in whose name text from outside was read, and what that was."""
        self.tools: Mapping[str, llm.Tool] = {}
        self._scripts: Sequence[HomeAgentTool] = ()
        self.set_tools(tools)

    @callback
    def set_tools(self, tools: Iterable[HomeAgentTool]) -> None:
        """Offer these tools from now on; turns under way go on with those they have."""
        self._beside_scripts = list(tools)
        own = [*self._beside_scripts, *self._scripts]
        self.tools = {tool.name: tool for tool in own}
        self.guard.written = {tool.name: tool.vetted_action for tool in own if tool.vetted_action}
        note_tools(self.tools)

    @callback
    def set_scripts(self, tools: Sequence[HomeAgentTool]) -> None:
        """Offer these scripts beside the other tools."""
        self._scripts = tools
        self.set_tools(self._beside_scripts)

    async def async_prepare(self) -> None:
        """Let the tools build what their first call would have to wait for."""
        house = await self._house.async_snapshot()
        for tool in self.tools.values():
            if isinstance(tool, HomeAgentTool):
                await tool.async_prepare(self.hass, house)

    async def async_execute(self, call: llm.ToolInput, turn: TurnCalls) -> llm.ToolResult:
        """Run one call and return its envelope, whatever happens."""
        try:
            parts = adapt(bounded(call), turn.tools)
            turn.disclosure.record(call.id, disclosed_by_all(part.call.tool_name for part in parts))
            results = [await self._async_execute_once(part, turn) for part in parts]
            result = results[0] if len(results) == 1 else together(results)
            if turn.draft and turn.unattended:
                await self._async_ask_elsewhere(turn, result)
            return result
        finally:
            turn.answer()

    async def _async_ask_elsewhere(self, turn: TurnCalls, result: llm.ToolResult) -> None:
        """Ask through the channels, since the turn is not heard, and tell the caller how to answer."""
        action = await self._confirmations.async_open(turn.draft, unattended=True)
        envelope_of(result)["confirmation"] = action.as_response()

    async def _async_execute_once(self, adapted: Adapted, turn: TurnCalls) -> llm.ToolResult:
        """Run a call unless the budget is spent or the same call was made before."""
        call = adapted.call
        key = call_key(call.tool_name, call.tool_args, adapted.meanings)
        if turn.repeats(key):
            return _repeated(turn, key)
        while (duplicate := await turn.async_find_duplicate(key)) is not None:
            result = await asyncio.shield(duplicate)
            if not turn.is_outdated(key):
                return result
        if turn.exhausted:
            return failed("The limit of tool calls for this request is reached. Answer with what you have.")
        if turn.attempts_exhausted:
            return failed(turn.for_model(turn.give_up_message()))
        if turn.failed_too_often(key):
            return failed("This call failed before with the same arguments. Change them or ask the person.")
        attempt = Attempt(call.tool_name, [adapted.rule] if adapted.rule else [])
        turn.begin(key)
        started = monotonic()
        self._events.started(turn, call)
        result = failed("The call was interrupted.")
        try:
            self._inherit(turn)
            result = await self._async_run_safely(adapted, turn, attempt)
            if attempt.ran:
                await self._async_clean_result(call, turn, result)
            content = envelope_of(result)
            if content["error"] and UNPARSED not in call.tool_args:
                content["error"] = without_secrets(str(content["error"]), call.tool_args, call.tool_name)
        finally:
            turn.judge(attempt)
            self.guard.journal.settle(turn.speaker.turn_id)
            record = record_of(turn, call, result, attempt, started)
            turn.end(key, record, result, reach_of(self.hass, call, turn, result, record))
        self._events.ended(turn, call, result, attempt, record)
        if attempt.refused:
            content = envelope_of(result)
            content["error"] = turn.for_model(str(content["error"]))
        return result

    async def _async_run_safely(self, adapted: Adapted, turn: TurnCalls, attempt: Attempt) -> llm.ToolResult:
        """Run a call and turn whatever it raises into an envelope."""
        call = adapted.call
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await self._async_run(adapted, turn, attempt)
        except HomeAgentError as err:
            attempt.error_type = type(err).__name__
            misfit = isinstance(err, (ValidationError, ToolNotFound))
            if not misfit and not isinstance(err, (ConfirmationNeeded, PermissionDenied)):
                self._events.failed(turn, call, err)
            detail = turn.refuse(attempt, err) if misfit else str(err)
            if isinstance(err, PartlyFailed):
                return partly(detail, err.result)
            return failed(detail, err.result if isinstance(err, TargetsFailed) else None)
        except TimeoutError as err:
            attempt.error_type = type(err).__name__
            self._events.failed(turn, call, err)
            late = f"{call.tool_name} did not finish within {self.timeout:g} s"
            problem = late if limit.expired() else "A device did not answer in time"
            problem = f"{problem}; whether it acted is unknown."
        except asyncio.CancelledError as err:
            attempt.error_type = type(err).__name__
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            problem = f"{call.tool_name} was broken off; whether it acted is unknown."
        except (HomeAssistantError, probatio.Invalid) as err:
            attempt.error_type = type(err).__name__
            problem = f"{type(err).__name__}: {err}"
        except Exception as err:  # noqa: BLE001 - a tool must never end the turn
            attempt.error_type = type(err).__name__
            LOGGER.exception("Tool %s failed", call.tool_name)
            self._events.failed(turn, call, err)
            problem = f"{call.tool_name} failed unexpectedly ({type(err).__name__})."
        return failed(problem)

    async def _async_run(self, adapted: Adapted, turn: TurnCalls, attempt: Attempt) -> llm.ToolResult:
        call = adapted.call
        tool = turn.tools.get(call.tool_name)
        if tool is None:
            raise ToolNotFound(f"There is no tool {call.tool_name!r}. Tools: {_names(turn.tools)}")
        if UNPARSED in call.tool_args:
            large = call.tool_args[UNPARSED] == TOO_LARGE
            raise ValidationError(TOO_LARGE if large else NOT_JSON)
        fitted = fit(tool, call.tool_args)
        attempt.rules += fitted.rules
        house = await self._house.async_snapshot()
        if turn.has_read_outside:
            turn.speaker = replace(turn.speaker, names=named_by_person(self.hass, house, turn))
        draft = attempt.draft = turn.draft.of_call(turn.origin())
        run = ToolRun(
            hass=self.hass,
            guard=self.guard,
            house=house,
            speaker=turn.speaker,
            reader=await self.guard.async_reader(turn.speaker),
            calls=turn,
            draft=draft,
            meanings=adapted.meanings,
        )
        if isinstance(tool, HomeAgentTool):
            await tool.async_check(fitted.args, run)
            if tool.judged:
                await self.guard.async_check_tool(tool, fitted.args, turn.speaker, turn.llm_context, draft)
            attempt.ran = True
            try:
                output = await self._async_run_judged(tool, fitted.args, run)
            except PartlyFailed as err:
                attempt.told = _told(tool, fitted.args, _worked(err.result), run)
                raise
            attempt.told = _told(tool, fitted.args, output, run)
            return succeeded(output)
        calls = self.guard.calls_of(tool, fitted.args, turn.speaker)
        check_calls(calls if intent_of(tool) else (), run)
        leaving = self._leaving(tool, fitted.args)
        if leaving is not None:
            await self._outgoing.async_check(leaving, run)
        await self.guard.async_check_tool(tool, fitted.args, turn.speaker, turn.llm_context, draft)
        if leaving is not None:
            self._outgoing.note_sent(leaving, run)
        attempt.ran = True
        with self.guard.journal.acting_all(calls, turn.speaker, fitted.args):
            result = await tool.async_call(self.hass, replace(call, tool_args=fitted.args), turn.llm_context)
        return envelope(result)

    def _leaving(self, tool: llm.Tool, args: Mapping[str, Any]) -> Leaving | None:
        """Return the data that leaves the home with a call of another API's tool; None if nothing does.

        Where a person is asked about it, or the household allows the tool by name, private words may go.
        """
        if (source := source_of(tool)) is None:
            return None
        name, reads = inner_name(tool), tool.annotations.read_only
        return Leaving(
            tool=name,
            args=args,
            source=source,
            declared=declared_by_tool(tool),
            only_reads=reads,
            private=not reads or self.guard.policy.trusts_tool(name),
            allowing=f"If this tool is to have it, the person adds tool:{name} to the rules without asking.",
        )

    async def _async_run_judged(self, tool: HomeAgentTool, args: dict[str, Any], run: ToolRun) -> ToolOutput:
        """Run a tool of our own; one that acts outside the home leaves a line in the audit log."""
        if not tool.judged or tool.only_reads(args):
            return await tool.async_run(args, run)
        error: str | None = "interrupted"
        try:
            result = await tool.async_run(args, run)
            error = None
        except HomeAgentError as err:
            error = without_secrets(str(err), args, tool.name)
            raise
        finally:
            self.guard.journal.note(
                AuditKind.ACTION,
                service=f"tool:{tool.name}",
                success=error is None,
                reason=error,
                user_id=run.speaker.context.user_id,
                device_id=run.speaker.device_id,
                conversation_id=run.speaker.conversation_id,
            )
        return result

    async def async_run_own(self, tool: HomeAgentTool, args: dict[str, Any], origin: CallOrigin) -> None:
        """Run a confirmed call of a tool of our own. Raises HomeAgentError."""
        run = await self.async_run_of(origin)
        await tool.async_check(args, run)
        await self._async_run_judged(tool, args, run)

    async def async_check_leaving(self, item: FrozenTool, origin: CallOrigin) -> None:
        """Check and note what a confirmed call takes out of the home. Raises PermissionDenied."""
        if (leaving := self._leaving(item.tool, item.args)) is not None:
            run = await self.async_run_of(origin)
            await self._outgoing.async_check(leaving, run)
            self._outgoing.note_sent(leaving, run)

    async def async_run_of(self, origin: CallOrigin) -> ToolRun:
        """Return the run of a confirmed call, with the words and the mark of the turn that made it."""
        return ToolRun(
            hass=self.hass,
            guard=self.guard,
            house=await self._house.async_snapshot(),
            speaker=origin.speaker,
            reader=await self.guard.async_reader(origin.speaker),
            calls=TurnCalls.of_origin(origin, self.tools),
            confirmed=True,
        )

    def _inherit(self, turn: TurnCalls) -> None:
        """Have a call judged by what its asker has read; single calls of other agents share a context."""
        if not turn.round and (read := self._outside_read.get(turn.speaker.context.id)) is not None:
            turn.origins = read
            turn.taint()
        turn.judge_by_what_was_read()

    async def _async_clean_result(self, call: llm.ToolInput, turn: TurnCalls, result: llm.ToolResult) -> None:
        tool, content = turn.tools[call.tool_name], envelope_of(result)
        texts: list[str] | None = None
        if not isinstance(tool, HomeAgentTool):
            outside = comes_from_outside(tool) and has_text(content)
        elif not (outside := tool.untrusted):
            texts = list(tool.outside_texts(self.hass, content["result"]))
        if not outside and not texts:
            _note_read(tool, content, turn)
            return
        told = {"result": content["result"], "error": content["error"]}
        clean = partial(firewall.clean, told, texts, others=turn.tools)
        cleaned = await self.hass.async_add_executor_job(clean)
        result.data.update(cleaned.value)
        if cleaned.found:
            self.report_injection(cleaned.found, turn, call.tool_name)
        said = " ".join((turn.sentence, *turn.origins.said))
        if outside or cleaned.found or is_news(texts or (), said):
            turn.taint()
            _note_read(tool, content, turn)
            self._outside_read[turn.speaker.context.id] = turn.origins
            while len(self._outside_read) > MAX_CONTEXTS:
                self._outside_read.popitem(last=False)

    def report_injection(self, found: Sequence[firewall.Removal], turn: TurnCalls, source: str) -> None:
        """Keep in the audit log what was removed from a text from outside."""
        speaker = turn.speaker
        self.guard.journal.note(
            AuditKind.INJECTION,
            user_id=speaker.context.user_id,
            device_id=speaker.device_id,
            conversation_id=turn.conversation_id,
            source=source,
            rules=sorted({item.rule for item in found}),
            removed=len(found),
            text=found[0].text,
        )


def _note_read(tool: llm.Tool, content: Mapping[str, Any], turn: TurnCalls) -> None:
    """Keep what a server has answered: its words may go back to it."""
    if source := source_of(tool):
        turn.origins.note_read(source, texts_of(content["result"]))


def _repeated(turn: TurnCalls, key: str) -> llm.ToolResult:
    """Return the answer to a call that is made again and again, which is not run."""
    if turn.is_outdated(key):
        return failed(TOO_OFTEN)
    return failed(FAILED_AGAIN) if turn.failed(key) else succeeded(HAVE_IT)


def _names(tools: Mapping[str, llm.Tool]) -> str:
    return ", ".join(sorted(name for name, tool in tools.items() if is_offered(tool)))


def _worked(result: object) -> dict[str, Any]:
    done = result.get("done") if isinstance(result, Mapping) else None
    return {"done": done} if isinstance(done, Mapping) else {}


def _told(tool: HomeAgentTool, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[Told, ...]:
    """Return what a call did, for a sentence without the model; nothing if that cannot be told."""
    try:
        return tuple(tool.tell(args, result, run))
    except Exception:  # noqa: BLE001 - the call has worked, and the model can tell it
        LOGGER.exception("What %s did cannot be told", tool.name)
        return ()
