"""ToolHandler: runs the calls of the model and those that a person has confirmed, each through the guard.

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

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.helpers.redact import REDACTED

from ..const import EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS, LOGGER
from ..domains import DOMAINS
from ..errors import (
    ChangedSinceAsked,
    ConfirmationNeeded,
    HomeAgentError,
    PermissionDenied,
    RefusedByRule,
    ToolExecutionError,
    ToolNotFound,
    ValidationError,
)
from ..events import EventEmitter
from ..knowledge.house import Snapshots
from ..safety.confirmation import Confirmations, PendingAction
from ..safety.disclosure import DataCategory
from ..safety.firewall import firewall
from ..safety.firewall.firewall import note_tools
from ..safety.firewall.own_values import comes_from_outside, has_text, is_news, texts_of_intent
from ..safety.frozen import (
    CallOrigin,
    Frozen,
    FrozenAutomation,
    FrozenCall,
    FrozenIntent,
    FrozenLook,
    FrozenPlan,
    FrozenTool,
)
from ..safety.journal import AuditKind
from ..safety.redaction import UNPARSED, redacted, without_secrets
from ..safety.sanitizer.origins import Origins
from .automating.kept import AutomationRefusedError, check_administrator, unattended
from .base import HomeAgentTool, Leaving, PartlyFailed, TargetsFailed, ToolOutput, ToolRun, is_offered
from .calls.repair import Adapted, adapt, fit
from .calls.schema import TOO_LARGE, bounded, with_request
from .control.asked import check_asked, named_by_person
from .event_conditions import async_read_once
from .guard import Guard
from .intents import inner_name, intent_of
from .native import NATIVE
from .outside.other_apis import source_of
from .outside.outgoing import Outgoing, declared_by, texts_of
from .pending import check_unchanged
from .recipients import is_spoken
from .results import ToldAct, envelope, envelope_of, failed, outcome_of, succeeded, together
from .run import async_look, async_make
from .turn_calls import UNKNOWN, CallRecord, TurnCalls, call_key, entities_of

NOT_JSON: Final = "The arguments were not valid JSON. Call again with a JSON object."
MAX_CONTEXTS: Final = 256
MAX_EVENT_CHARS: Final = 500


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
        self._emitter = emitter
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
            discloses = DataCategory.NAMES
            for part in parts:
                discloses |= NATIVE.get(part.call.tool_name, HomeAgentTool).discloses
            turn.disclosure.record(call.id, discloses)
            results = [await self._async_execute_once(part, turn) for part in parts]
            result = results[0] if len(results) == 1 else together(results)
            if turn.draft and turn.unattended:
                # The turn is not heard, so the channels ask, and the caller is told how to answer.
                action = await self._confirmations.async_open(turn.draft, unattended=True)
                envelope_of(result)["confirmation"] = action.as_response()
            return result
        finally:
            turn.answer()

    async def _async_execute_once(self, adapted: Adapted, turn: TurnCalls) -> llm.ToolResult:
        call = adapted.call
        key = call_key(call.tool_name, call.tool_args, adapted.meanings)
        if (answer := await turn.async_answer_without_run(key)) is not None:
            return answer
        turn.begin(key)
        record = self.begin(turn, call, adapted.rule)
        result: llm.ToolResult | None = None
        try:
            # Single calls of other agents share a context.
            if not turn.round and (read := self._outside_read.get(turn.speaker.context.id)) is not None:
                turn.origins = read
                turn.taint()
            if turn.tainted:
                turn.judge_by_what_was_read()
            result = await self._async_run_safely(adapted, turn, record)
            if record.ran:
                await self._async_clean_result(call, turn, result, record)
        finally:
            if result is None:
                result = failed("The call was interrupted.")
            self.settle(turn, call, result, record)
            turn.end(key, record, result)
        self.report(turn, record)
        content = envelope_of(result)
        if content["error"] and UNPARSED not in call.tool_args:
            content["error"] = record.error
        if record.refused:
            content["error"] = with_request(str(content["error"]), turn.sentence)
        return result

    @callback
    def begin(self, turn: TurnCalls, call: llm.ToolInput, rule: str | None = None) -> CallRecord:
        """Return the record of a call that begins, and tell that it does."""
        record = CallRecord(
            id=call.id,
            tool_name=call.tool_name,
            counted_as=call.tool_name if call.tool_name in turn.tools else UNKNOWN,
            args=redacted(call.tool_args, call.tool_name),
            round=turn.round,
            rules=[rule] if rule else [],
        )
        self._progress(turn, record, "started")
        return record

    @callback
    def settle(
        self, turn: TurnCalls, call: llm.ToolInput, result: llm.ToolResult, record: CallRecord
    ) -> None:
        """Complete the record of a call that has ended."""
        self.guard.journal.settle(turn.speaker.turn_id)
        tool, content = turn.tools.get(call.tool_name), envelope_of(result)
        own = tool if isinstance(tool, HomeAgentTool) else None
        record.waits = record.draft is not None and record.draft.waits
        record.draft = None  # it has what codes the call was made with
        record.duration_ms = (monotonic() - record.started) * 1000
        record.success = not result.error
        record.read_only = tool is not None and tool.annotations.read_only
        if own is not None:
            record.read_only = own.only_reads(call.tool_args)
        given = str(content["error"] or content["result"])
        given = without_secrets(given, call.tool_args, call.tool_name)
        record.error = given if content["error"] else None
        record.said = given[:MAX_EVENT_CHARS]
        if content["error"] and not record.waits:
            record.told = ()
        if own is not None and own.reports_targets:
            record.targets = outcome_of(content["result"])
            errors = [turn.denied.get(entity_id) for entity_id in record.targets.get("failed", {})]
            refusals = {str(error): error for error in errors if isinstance(error, RefusedByRule)}
            is_all = all(isinstance(error, RefusedByRule) for error in errors)
            if is_all and not record.targets.keys() - {"failed", "notes"}:
                record.refusals = tuple(refusals.values())
        record.stored_memory = record.done and own is not None and own.stores_memory
        record.entity_ids = entities_of(self.hass, call.tool_args, content["result"])
        record.reads_home = record.read_only and own is not None and not own.annotations.open_world
        record.reverses = own is not None and own.reverses
        record.is_open = (
            own is None
            or (own.names_targets and not record.entity_ids)
            or any(DOMAINS[entity_id.partition(".")[0]].runs for entity_id in record.entity_ids)
        )

    @callback
    def report(self, turn: TurnCalls, record: CallRecord) -> None:
        """Fire the events of a call that has ended: what it was made with, and nothing that was said.

        Nothing of a private tool's; the model may have meant one by a name that is unknown, and is told so.
        """
        tool = turn.tools.get(record.tool_name)
        hidden = tool is None or bool(getattr(tool, "private", False))
        outcome = "waits" if record.waits else "worked" if record.success else record.error_type
        LOGGER.debug(
            "Call of %s with %s: %s after %d ms; repaired: %s",
            *(record.counted_as, ", ".join(record.args), outcome, record.duration_ms),
            ", ".join(record.rules) or "nothing",
        )
        if record.waits:
            self._progress(turn, record, "waiting")
        else:
            error = REDACTED if record.error and hidden and tool is not None else record.error
            self._progress(turn, record, "completed" if record.success else "failed", error)
        self._emitter.fire(
            EVENT_TOOL_EXECUTED,
            {
                "tool_name": record.tool_name,
                "parameters": dict.fromkeys(record.args, REDACTED) if hidden else record.args,
                "result": REDACTED if hidden else record.said,
                "success": record.success,
                "waiting": record.waits,
                "duration_ms": round(record.duration_ms, 1),
                "conversation_id": turn.conversation_id,
            },
            turn.speaker.context,
        )

    def _progress(self, turn: TurnCalls, record: CallRecord, status: str, error: str | None = None) -> None:
        self._emitter.fire(
            EVENT_TOOL_PROGRESS,
            {
                "tool_name": record.tool_name,
                "tool_call_id": record.id,
                "status": status,
                "success": {"completed": True, "failed": False}.get(status),
                "error": error,
                "error_type": record.error_type if error else None,
            },
            turn.speaker.context,
        )

    async def _async_run_safely(
        self, adapted: Adapted, turn: TurnCalls, record: CallRecord
    ) -> llm.ToolResult:
        name, limit = record.tool_name, asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await self._async_run(adapted, turn, record)
        except (Exception, asyncio.CancelledError) as err:
            record.error_type = type(err).__name__
            if isinstance(err, HomeAgentError) and err.quotes and record.draft is not None:
                record.draft.quotes = True
            is_reported = False
            match err:
                case ValidationError() | ToolNotFound():
                    problem = turn.refuse(record, err)
                case HomeAgentError():
                    problem = str(err)
                    is_reported = not isinstance(err, (ConfirmationNeeded, PermissionDenied))
                case TimeoutError():
                    late = f"{name} did not finish within {self.timeout:g} s"
                    problem = late if limit.expired() else "A device did not answer in time"
                    problem = f"{problem}; whether it acted is unknown."
                    is_reported = True
                case asyncio.CancelledError():
                    if (task := asyncio.current_task()) is None or task.cancelling():
                        raise
                    problem = f"{name} was broken off; whether it acted is unknown."
                case HomeAssistantError() | probatio.Invalid():
                    problem = f"{type(err).__name__}: {err}"
                case _:
                    LOGGER.exception("Tool %s failed", name)
                    problem = f"{name} failed unexpectedly ({type(err).__name__})."
                    is_reported = True
            if is_reported and (component := getattr(turn.tools.get(name), "component", None)):
                message = f"the tool {name} failed"  # one of the household's
                self._emitter.fire_error(component, err, message, turn.conversation_id, tool=name)
            if isinstance(err, PartlyFailed):
                return succeeded(err.result, problem)
            return failed(problem, err.result if isinstance(err, TargetsFailed) else None)

    async def _async_run(self, adapted: Adapted, turn: TurnCalls, record: CallRecord) -> llm.ToolResult:
        call = adapted.call
        tool = turn.tools.get(call.tool_name)
        if tool is None:
            names = ", ".join(sorted(name for name, tool in turn.tools.items() if is_offered(tool)))
            raise ToolNotFound(f"There is no tool {call.tool_name!r}. Tools: {names}")
        if UNPARSED in call.tool_args:
            large = call.tool_args[UNPARSED] == TOO_LARGE
            raise ValidationError(TOO_LARGE if large else NOT_JSON)
        args, rules = fit(tool, call.tool_args)
        record.rules += rules
        if turn.has_read_outside:
            house = await self._house.async_snapshot()
            turn.speaker = replace(turn.speaker, names=named_by_person(self.hass, house, turn))
        record.draft = turn.draft_of_call()
        run = await self._async_tool_run(turn, draft=record.draft, meanings=adapted.meanings)
        item = FrozenTool(tool=tool, args=args, llm_context=turn.llm_context)
        leaving = await self._async_check(item, run)
        record.ran = True
        try:
            result = await self._async_run_tool(item, replace(call, tool_args=args), run, leaving)
        except PartlyFailed as err:
            done = err.result.get("done") if isinstance(err.result, Mapping) else None
            record.told = _told(tool, args, {"done": done} if isinstance(done, Mapping) else {}, run)
            raise
        if isinstance(result, llm.ToolResult):
            return envelope(result)
        record.told = _told(tool, args, result, run)
        return succeeded(result)

    async def _async_check(self, item: FrozenTool, run: ToolRun) -> Leaving | None:
        """Make the checks of a call whose arguments fit, in their order, and return what leaves the home.

        What no confirmation could allow comes before the question. The services that the tool calls are
        judged when it calls them, see `Guard`. Raises HomeAgentError.
        """
        tool, args = item.tool, item.args
        own = tool if isinstance(tool, HomeAgentTool) else None
        if own is not None:
            await own.async_check(args, run)
        elif intent_of(tool) and not run.confirmed and self.guard.calls_of(tool, args, run.speaker):
            check_asked(run)
        leaving = own.leaving(args) if own is not None else None
        if own is None and (source := source_of(tool)) is not None:
            name, reads = inner_name(tool), tool.annotations.read_only
            leaving = Leaving(
                tool=name,
                args=args,
                source=source,
                declared=declared_by(tool),
                only_reads=reads,
                # Private words may go where a person is asked, or the household allows the tool by name.
                private=not reads or self.guard.policy.trusts_tool(name),
                allowing=(
                    f"If this tool is to have it, the person adds tool:{name} to the rules without asking."
                ),
            )
        if leaving is not None:
            await self._outgoing.async_check(leaving, run)
        if own is None or own.judged or run.confirmed:
            await self.guard.async_check_tool(item, run.speaker, run.draft, confirmed=run.confirmed)
        return leaving

    async def _async_run_tool(
        self, item: FrozenTool, call: llm.ToolInput, run: ToolRun, leaving: Leaving | None
    ) -> ToolOutput | llm.ToolResult:
        """Run a tool that was let through; what leaves the home, or acts outside it, is in the audit log."""
        tool, args, speaker = item.tool, call.tool_args, run.speaker
        if leaving is not None:
            self._outgoing.note_sent(leaving, run)
        if not isinstance(tool, HomeAgentTool):
            calls = self.guard.calls_of(tool, args, speaker)
            with self.guard.journal.acting(calls, speaker, args):
                result = await tool.async_call(self.hass, call, item.llm_context)
                return result if isinstance(result, llm.ToolResult) else llm.ToolResult(data=result)
        if not tool.judged or tool.only_reads(args):
            return await tool.async_run(args, run)
        error: str | None = "interrupted"
        try:
            output = await tool.async_run(args, run)
            error = None
        except HomeAgentError as err:
            error = without_secrets(str(err), args, tool.name)
            raise
        finally:
            self.guard.journal.note(
                AuditKind.ACTION, speaker, service=f"tool:{tool.name}", success=error is None, reason=error
            )
        return output

    async def async_run_of(self, origin: CallOrigin) -> ToolRun:
        """Return the run of a confirmed call, with the words and the mark of the turn that made it."""
        return await self._async_tool_run(TurnCalls.of_origin(origin, self.tools), confirmed=True)

    async def _async_tool_run(self, turn: TurnCalls, **more: Any) -> ToolRun:
        return ToolRun(
            hass=self.hass,
            guard=self.guard,
            house=await self._house.async_snapshot(),
            speaker=turn.speaker,
            reader=await self.guard.async_reader(turn.speaker),
            calls=turn,
            read_once=async_read_once,
            **more,
        )

    async def async_run_approved(self, action: PendingAction) -> None:
        """Run exactly the confirmed calls; everything except the confirmation is checked again.

        Raises HomeAgentError for calls that are not allowed any more and for failed ones.
        """
        user = await self.guard.async_user(action.speaker)
        asked_as_free = action.own is not None and not action.own.verdict.asks
        try:
            async with asyncio.timeout(self.timeout):
                for item in action.frozen:
                    check_unchanged(self.hass, item)
                    # A free call is asked about without a PIN.
                    if asked_as_free and isinstance(item, FrozenCall):
                        verdict = self.guard.check(item, user, action.speaker)
                        if verdict.asks:
                            raise ChangedSinceAsked
                spoken = [
                    item
                    for item in action.frozen
                    if isinstance(item, FrozenCall) and is_spoken(item.domain, item.service)
                ]
                for item in action.frozen:
                    if item not in spoken:
                        await self._async_run_frozen(item, user, action)
                # Announcements in several rooms begin together, and each is spoken to its end.
                running = (self._async_run_frozen(item, user, action) for item in spoken)
                for error in await asyncio.gather(*running, return_exceptions=True):
                    if error is not None:
                        raise error
        except TimeoutError as err:
            raise ToolExecutionError(f"It did not finish within {self.timeout:g} s") from err
        except (HomeAssistantError, probatio.Invalid, ValueError) as err:
            if isinstance(err, PermissionDenied | ToolExecutionError | AutomationRefusedError):
                raise
            raise ToolExecutionError(f"It failed: {err}") from err

    async def _async_run_frozen(self, item: Frozen, user: User | None, action: PendingAction) -> None:
        guard, origin = self.guard, item.origin or CallOrigin(speaker=action.speaker)
        speaker = origin.speaker
        match item:
            case FrozenLook():
                guard.judge_look(item, user, speaker)
                await async_look(self.hass, guard.journal, item, speaker)
            case FrozenCall():
                guard.check_again(item, user, speaker)
                await async_make(self.hass, guard.journal, item, speaker)
            case FrozenPlan():
                for call in item.calls:
                    guard.check_again(call, user, replace(speaker, due=None if item.event else item.due))
                await item.begin()
            case FrozenAutomation():
                check_administrator(user)
                for call in item.calls:
                    if not guard.is_free(call, user, unattended(speaker)):
                        raise ChangedSinceAsked
                await item.begin()
            case FrozenIntent():
                await guard.async_run_intent(item, user, speaker)
            case FrozenTool():
                run = await self.async_run_of(origin)
                leaving = await self._async_check(item, run)
                made = llm.ToolInput(item.tool.name, dict(item.args))
                result = await self._async_run_tool(item, made, run, leaving)
                if isinstance(result, llm.ToolResult):
                    envelope(result, strict=True)

    async def _async_clean_result(
        self, call: llm.ToolInput, turn: TurnCalls, result: llm.ToolResult, record: CallRecord
    ) -> None:
        """Clean what outsiders may have written, and mark the turn."""
        tool, content = turn.tools[call.tool_name], envelope_of(result)
        texts: list[str] | None = None
        if not isinstance(tool, HomeAgentTool):
            outside = comes_from_outside(tool) and has_text(content)
            texts = None if outside else list(texts_of_intent(content["result"]))
        elif not (outside := tool.untrusted or (record.draft is not None and record.draft.quotes)):
            texts = list(tool.outside_texts(self.hass, content["result"]))
        if outside or texts:
            told = {"result": content["result"], "error": content["error"]}
            clean = partial(firewall.clean, told, texts, others=turn.tools)
            cleaned = await self.hass.async_add_executor_job(clean)
            result.data.update(cleaned.value)
            if cleaned.found:
                self.report_injection(cleaned.found, turn, call.tool_name)
            said = " ".join((turn.sentence, *turn.origins.said))
            if not (outside or cleaned.found or is_news(texts or (), said)):
                return
            turn.taint()
            self._outside_read[turn.speaker.context.id] = turn.origins
            while len(self._outside_read) > MAX_CONTEXTS:
                self._outside_read.popitem(last=False)
        elif isinstance(tool, HomeAgentTool):
            return
        if source := source_of(tool):  # its words may go back to it
            turn.origins.note_read(source, texts_of(content["result"]))

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


def _told(tool: llm.Tool, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
    """Return what a call did, for a sentence without the model; nothing if that cannot be told."""
    try:
        return tuple(tool.tell(args, result, run)) if isinstance(tool, HomeAgentTool) else ()
    except Exception:  # noqa: BLE001 - the call has worked, and the model can tell it
        LOGGER.exception("What %s did cannot be told", tool.name)
        return ()
