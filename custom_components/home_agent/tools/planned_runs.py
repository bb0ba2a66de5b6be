"""Runs planned commands when they are due: each call passes the guard again, as the person who gave it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from homeassistant.core import Context, State
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..const import EVENT_PLANNED_RUN, LOGGER
from ..domains.showing import GONE
from ..errors import NotExposed, PermissionDenied, ToolExecutionError
from ..event_data import PlannedRun
from ..events import EventEmitter
from ..planned.commands import PlannedCommands, is_missed
from ..planned.records import Held, PlannedCommand
from ..safety.frozen import CallOrigin
from ..safety.journal import EarlierState
from .base import PartlyFailed, ToolRun
from .control.planning import NOT_EXPOSED, ControlOutcome, Plan, async_carry_out
from .control.restoring import CannotRestoreError, ChangedSinceError, moving, restoring
from .everyday.notify_tool import NotifyTool
from .ha_control import ControlTool, entity_locks
from .handler import ToolHandler
from .results import envelope_of, failed, succeeded
from .turn_calls import CallRecord
from .waiting import registry_ids

AGAIN: Final = timedelta(minutes=1)
"""After this time it is tried again to restore a device that is offline."""
GIVE_UP: Final = timedelta(hours=1)
"""So long after its end a device is waited for."""


class RunOutcome(StrEnum):
    """How the run of a planned command ended. The names are part of the keys of the sentences about it."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    MISSED = "missed"


REFUSED: Final = "was refused"
"""How the reason for a target begins that the guard refused."""

type Tell = Callable[
    [PlannedCommand, datetime, str, Sequence[str], Sequence[PermissionDenied]], Awaitable[None]
]
"""Tells a person of a problem; gets the key of the sentence, the entities, and why they were refused."""


class PlannedRuns:
    """Runs the planned commands of one agent."""

    def __init__(
        self, handler: ToolHandler, planned: PlannedCommands, emitter: EventEmitter, tell: Tell
    ) -> None:
        self._handler = handler
        self._planned = planned
        self._emitter = emitter
        self._tell = tell

    async def async_run(self, command: PlannedCommand, due: datetime) -> None:
        """Run a command that was due then. Raises nothing: what fails is told to the person."""
        if is_missed(command, due, dt_util.utcnow()):
            self._report(command, due, RunOutcome.MISSED, command.entity_ids)
            await self._tell(command, due, f"planned_{RunOutcome.MISSED}", command.entity_ids, ())
            return
        origin = CallOrigin(speaker=command.owner.speaker(due))
        run = replace(await self._handler.async_run_of(origin), approved=command.approved)
        turn, outcome = run.calls, ControlOutcome(run.house)
        if (message := command.message) is not None:
            call = llm.ToolInput(NotifyTool.name, {"person": message.receiver, "message": message.text})
        else:
            given = {"parameters": dict(command.given)} if command.given else {}
            called = {"action": command.verb, "entity_id": list(command.entity_ids), **given}
            call = llm.ToolInput(ControlTool.name, called)
        record = self._handler.begin(turn, call)
        result = await self._async_run(command, run, outcome, record)
        self._handler.settle(turn, call, result, record)
        self._handler.report(turn, record)
        ended = RunOutcome.DONE
        if envelope_of(result)["error"]:
            is_refused = record.error_type == PermissionDenied.__name__
            ended = RunOutcome.REFUSED if is_refused else RunOutcome.FAILED
        self._report(command, due, ended, list(outcome.failed), turn.speaker.context)
        if ended is not RunOutcome.DONE:
            why = [*turn.denied.values()]
            if NOT_EXPOSED in outcome.failed.values():
                why.append(NotExposed(NOT_EXPOSED))
            await self._tell(command, due, f"planned_{ended}", list(outcome.failed), why)

    def _report(
        self,
        command: PlannedCommand,
        due: datetime,
        outcome: RunOutcome,
        failed_ids: Sequence[str],
        context: Context | None = None,
    ) -> None:
        """Fire the event of a run."""
        data = PlannedRun(
            command_id=command.id,
            action=command.verb,
            entity_ids=list(command.entity_ids),
            due=due.isoformat(),
            outcome=outcome.value,
            failed=list(failed_ids),
            user_id=command.owner.user_id,
            person=command.owner.person_id,
        )
        self._emitter.fire(EVENT_PLANNED_RUN, data, context)

    async def _async_run(
        self, command: PlannedCommand, run: ToolRun, outcome: ControlOutcome, record: CallRecord
    ) -> llm.ToolResult:
        try:
            async with asyncio.timeout(self._handler.timeout):
                return succeeded(await self._async_act(command, run, outcome))
        except PartlyFailed as err:
            record.error_type = _kind_of(outcome, err)
            return succeeded(err.result, str(err))
        except (HomeAssistantError, TimeoutError) as err:
            record.error_type = _kind_of(outcome, err)
            if isinstance(err, PermissionDenied):
                run.calls.denied[""] = err
            if not outcome.failed:
                outcome.failed |= dict.fromkeys(command.entity_ids, str(err))
            return failed(str(err) or "It did not finish in time")
        except Exception:  # noqa: BLE001 - a planned command must never end silently
            LOGGER.exception("A planned command failed")
            record.error_type = ToolExecutionError.__name__
            outcome.failed |= dict.fromkeys(command.entity_ids, "failed unexpectedly")
            return failed("It failed unexpectedly")

    async def _async_act(
        self, command: PlannedCommand, run: ToolRun, outcome: ControlOutcome
    ) -> JsonValueType:
        """Do what a command says. Raises HomeAgentError, PermissionDenied if the tool for it is off."""
        if command.message is not None:
            messages = self._handler.tools.get(NotifyTool.name)
            if not isinstance(messages, NotifyTool):
                raise PermissionDenied("notify_person is off")
            return await messages.async_run_planned(command, run)
        control = self._handler.tools.get(ControlTool.name)
        if not isinstance(control, ControlTool):
            raise PermissionDenied("ha_control is off")
        if registry_ids(self._handler.hass, command.registered) != dict(command.registered):
            raise PermissionDenied("An entity ID refers to another entity now")
        if command.restores:
            return await self._async_restore(command, run, outcome)
        return await control.async_run_planned(command, run, outcome)

    async def _async_restore(
        self, command: PlannedCommand, run: ToolRun, outcome: ControlOutcome
    ) -> JsonValueType:
        """Restore what was before a command for a while. Raises HomeAgentError for what failed."""
        run = replace(run, speaker=replace(run.speaker, undoes=True))
        waiting: dict[str, Held] = {}
        async with entity_locks(run.hass, list(command.held)):
            plans: dict[str, Plan] = {}
            before: dict[str, State] = {}
            for entity_id, held in command.held.items():
                state = run.hass.states.get(entity_id)
                if state is not None and state.state in GONE:
                    waiting[entity_id] = held
                elif state is None or not run.reader.sees(entity_id):
                    outcome.fail(entity_id, NOT_EXPOSED)
                elif (made := _restoring(held, state, outcome)) is not None:
                    plans[entity_id], before[entity_id] = made, state
            if plans:
                await async_carry_out(plans, before, command.verb, run, outcome)
        now = dt_util.utcnow()
        if waiting and now - (command.ends or command.due) > GIVE_UP:
            for entity_id in waiting:
                outcome.fail(entity_id, "is unavailable (offline)")
        elif waiting:
            later = replace(command, held=waiting, entity_ids=tuple(waiting)).at(now + AGAIN)
            await self._planned.async_add(later)
        return outcome.result()


def _restoring(held: Held, state: State, outcome: ControlOutcome) -> Plan | None:
    """Return the plan that restores an entity; None if a person has changed it meanwhile, or it fails."""
    # What a device reported only after the call was recorded was an effect of the call.
    after = EarlierState.of(state) if held.after == held.before else held.after
    switched = held.before.state != after.state
    late = (switched and state.state == after.state) or after.state in moving(state.domain)
    try:
        return restoring(held.before, after, state, late=late)
    except ChangedSinceError:
        return None
    except (CannotRestoreError, ValueError) as err:
        outcome.fail(state.entity_id, str(err))
        return None


def _kind_of(outcome: ControlOutcome, err: Exception) -> str:
    """Return what kind of error ended a run: whether it was refused, or failed."""
    refused = outcome.failed and all(reason.startswith(REFUSED) for reason in outcome.failed.values())
    is_refused = refused or isinstance(err, PermissionDenied)
    return PermissionDenied.__name__ if is_refused else type(err).__name__
