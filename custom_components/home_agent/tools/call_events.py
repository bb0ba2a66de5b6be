"""The record of a call, and the events that it fires."""

from time import monotonic

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.redact import REDACTED

from ..const import EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS
from ..errors import RefusedByRule
from ..event_data import ToolExecuted, ToolProgress
from ..events import EventEmitter
from ..safety.redaction import redacted, without_secrets
from .base import HomeAgentTool
from .results import ControlResult, envelope_of, outcome_of
from .turn_calls import Attempt, CallRecord, Reach, TurnCalls, entities_of, runs_others

MAX_EVENT_CHARS = 500


class CallEvents:
    """Fires the events of calls. They hold what a call was made with, and nothing that was said."""

    def __init__(self, emitter: EventEmitter) -> None:
        self._emitter = emitter

    def started(self, turn: TurnCalls, call: llm.ToolInput) -> None:
        """Tell that a call begins."""
        self._progress(turn, call, "started", success=None)

    def ended(
        self,
        turn: TurnCalls,
        call: llm.ToolInput,
        result: llm.ToolResult,
        attempt: Attempt,
        record: CallRecord,
    ) -> None:
        """Tell how a call ended, and what it was."""
        hidden = _is_private(turn, call)
        error, kind = None, None
        if said := envelope_of(result)["error"]:
            error = REDACTED if hidden else without_secrets(said, call.tool_args, call.tool_name)
            kind = attempt.error_type
        if record.waits:
            self._progress(turn, call, "waiting", success=None)
        elif result.error:
            self._progress(turn, call, "failed", success=False, error=error, error_type=kind)
        else:
            self._progress(turn, call, "completed", success=True, error=error, error_type=kind)
        self._emitter.fire(
            EVENT_TOOL_EXECUTED,
            ToolExecuted(
                tool_name=record.tool_name,
                parameters=dict.fromkeys(record.args, REDACTED) if hidden else record.args,
                result=REDACTED if hidden else record.said,
                success=record.success,
                waiting=record.waits,
                duration_ms=round(record.duration_ms, 1),
                conversation_id=turn.conversation_id,
            ),
            turn.speaker.context,
        )

    def failed(self, turn: TurnCalls, call: llm.ToolInput, err: Exception) -> None:
        """Tell that a tool of the household's failed."""
        tool = turn.tools.get(call.tool_name)
        if component := getattr(tool, "component", None):
            message = f"the tool {call.tool_name} failed"
            self._emitter.fire_error(component, err, message, turn.conversation_id, tool=call.tool_name)

    def _progress(
        self,
        turn: TurnCalls,
        call: llm.ToolInput,
        status: str,
        *,
        success: bool | None,
        error: str | None = None,
        error_type: str | None = None,
    ) -> None:
        """Fire the progress event."""
        self._emitter.fire(
            EVENT_TOOL_PROGRESS,
            ToolProgress(
                tool_name=call.tool_name,
                tool_call_id=call.id,
                status=status,
                success=success,
                error=error,
                error_type=error_type,
            ),
            turn.speaker.context,
        )


def record_of(
    turn: TurnCalls, call: llm.ToolInput, result: llm.ToolResult, attempt: Attempt, started: float
) -> CallRecord:
    """Return the record of a call that has just ended."""
    tool = turn.tools.get(call.tool_name)
    read_only = tool is not None and tool.annotations.read_only
    if isinstance(tool, HomeAgentTool):
        read_only = tool.only_reads(call.tool_args)
    content = envelope_of(result)
    done = not read_only and not result.error
    reports = isinstance(tool, HomeAgentTool) and tool.reports_targets
    targets = outcome_of(content["result"]) if reports else ControlResult()
    waits = attempt.draft is not None and attempt.draft.waits
    said = str(content["error"] or content["result"])
    said = without_secrets(said, call.tool_args, call.tool_name)
    return CallRecord(
        tool_name=call.tool_name,
        success=not result.error,
        waits=waits,
        read_only=read_only,
        stored_memory=done and isinstance(tool, HomeAgentTool) and tool.stores_memory,
        done=done,
        in_part=not result.error and bool(content["error"]),
        targets=targets,
        refusals=_refusals(turn, targets),
        told=attempt.told if waits or not (result.error or content["error"]) else (),
        duration_ms=(monotonic() - started) * 1000,
        args=redacted(call.tool_args, call.tool_name),
        round=turn.round,
        started=started,
        said=said[:MAX_EVENT_CHARS],
    )


def _refusals(turn: TurnCalls, targets: ControlResult) -> tuple[RefusedByRule, ...]:
    """Return which rules refused a call of which nothing else became; each only once."""
    failed = targets.get("failed", {})
    if not failed or targets.keys() - {"failed", "notes"} or not failed.keys() <= turn.refused.keys():
        return ()
    return tuple({str(turn.refused[entity_id]): turn.refused[entity_id] for entity_id in failed}.values())


def reach_of(
    hass: HomeAssistant, call: llm.ToolInput, turn: TurnCalls, result: llm.ToolResult, record: CallRecord
) -> Reach:
    """Return what a call was about that has just ended."""
    tool = turn.tools.get(call.tool_name)
    entity_ids = entities_of(hass, call.tool_args, envelope_of(result)["result"])
    own = tool if isinstance(tool, HomeAgentTool) else None
    return Reach(
        tool=call.tool_name,
        action=str(call.tool_args.get("action") or ""),
        entity_ids=entity_ids,
        changes=record.done,
        reads_home=record.read_only and own is not None and not own.annotations.open_world,
        is_open=own is None or runs_others(entity_ids) or (own.names_targets and not entity_ids),
        reverses=own is not None and own.reverses,
        waits=record.waits,
    )


def _is_private(turn: TurnCalls, call: llm.ToolInput) -> bool:
    """Return whether events hold nothing of a call's arguments and results.

    The arguments of an unknown tool are withheld: the model may have meant a private one.
    """
    tool = turn.tools.get(call.tool_name)
    return tool is None or bool(getattr(tool, "private", False))
