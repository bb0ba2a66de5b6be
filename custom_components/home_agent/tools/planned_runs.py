"""Runs what is planned when it is due: each call passes the guard again, as the person who gave it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from homeassistant.core import Context, State
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..const import EVENT_PLANNED_RUN, LOGGER
from ..domains.showing import GONE
from ..errors import NotExposed, PermissionDenied, ToolExecutionError
from ..events import EventEmitter
from ..planned.records import Held, PlannedItem
from ..planned.scheduler import Run, Scheduler, is_missed
from ..safety.frozen import CallOrigin
from ..safety.journal import EarlierState
from .base import PartlyFailed, ToolRun
from .control.planning import NOT_EXPOSED, ControlOutcome, Plan, async_carry_out
from .control.restoring import CannotRestoreError, ChangedSinceError, moving, restoring
from .event_conditions import async_unmet
from .everyday.notify_tool import NotifyTool
from .ha_control import ControlTool, entity_locks
from .handler import ToolHandler
from .pending import registry_ids
from .results import failed, succeeded

AGAIN: Final = timedelta(minutes=1)
"""After this time it is tried again to restore a device that is offline."""
GIVE_UP: Final = timedelta(hours=1)
"""So long after its end a device is waited for."""
REFUSED: Final = "was refused"
"""How the reason for a target begins that the guard refused."""


type Tell = Callable[[PlannedItem, datetime, str, Sequence[str], Sequence[PermissionDenied]], Awaitable[None]]
"""Tells a person what became of an item; gets the key of the sentence, the entities, why it was refused."""


class RunOutcome(StrEnum):
    """How the run of a planned command ended. The names are part of the keys of the sentences about it."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    MISSED = "missed"
    EXPIRED = "expired"
    """What it waited for has not come about in time."""
    SKIPPED = "skipped"
    """What must hold at its time did not."""
    UNKNOWN = "unknown"
    """Whether it held could not be seen."""


class PlannedRuns(NamedTuple):
    """Runs what is planned of one agent."""

    handler: ToolHandler
    planned: Scheduler
    emitter: EventEmitter
    announce: Run
    ring: Run
    tell: Tell

    async def async_run(self, item: PlannedItem, due: datetime, rings: bool = False) -> None:
        """Run an item that was due then; `rings` if a device announces the timer on its own.

        Raises nothing: what fails is told to the person.
        """
        event = item.schedule.event
        if event is not None and event.happened is None:
            await self._async_end(item, due, RunOutcome.EXPIRED, item.entity_ids)
            return
        if is_missed(item, due, dt_util.utcnow()):
            await self._async_end(item, due, RunOutcome.MISSED, item.entity_ids)
            return
        if item.schedule.clauses and not await self._async_may_begin(item, due):
            return
        if item.is_timer:
            await (self.ring if item.is_alarm else self.announce)(item, due, rings)
            return
        origin = CallOrigin(speaker=item.owner.speaker(due))
        run = (await self.handler.async_run_of(origin))._replace(approved=item.approved)
        turn, outcome = run.calls, ControlOutcome(run.house)
        if (message := item.message) is not None:
            call = llm.ToolInput(NotifyTool.name, {"person": message.receiver, "message": message.text})
        else:
            given = {"parameters": dict(item.given)} if item.given else {}
            called = {"action": item.verb, "entity_id": list(item.entity_ids), **given}
            call = llm.ToolInput(ControlTool.name, called)
        record = self.handler.begin(turn, call)
        ended = RunOutcome.DONE
        try:
            async with asyncio.timeout(self.handler.timeout):
                result = succeeded(await self._async_act(item, run, outcome))
        except (HomeAssistantError, TimeoutError) as err:
            reasons = [*outcome.failed.values()]
            is_refused = isinstance(err, PermissionDenied) or (
                bool(reasons) and all(reason.startswith(REFUSED) for reason in reasons)
            )
            ended = RunOutcome.REFUSED if is_refused else RunOutcome.FAILED
            record.error_type = PermissionDenied.__name__ if is_refused else type(err).__name__
            if isinstance(err, PartlyFailed):
                result = succeeded(err.result, str(err))
            else:
                if isinstance(err, PermissionDenied):
                    turn.denied[""] = err
                if not outcome.failed:
                    outcome.failed |= dict.fromkeys(item.entity_ids, str(err))
                result = failed(str(err) or "It did not finish in time")
        except Exception:  # noqa: BLE001 - a planned command must never end silently
            LOGGER.exception("A planned command failed")
            ended, record.error_type = RunOutcome.FAILED, ToolExecutionError.__name__
            outcome.failed |= dict.fromkeys(item.entity_ids, "failed unexpectedly")
            result = failed("It failed unexpectedly")
        self.handler.settle(turn, call, result, record)
        self.handler.report(turn, record)
        why = [*turn.denied.values()]
        if NOT_EXPOSED in outcome.failed.values():
            why.append(NotExposed(NOT_EXPOSED))
        await self._async_end(item, due, ended, list(outcome.failed), why, turn.speaker.context)

    async def _async_may_begin(self, item: PlannedItem, due: datetime) -> bool:
        """Return whether what must hold does, and whether the person may still know it.

        What an event started waits for the next one where a condition does not hold.
        """
        ended, why = RunOutcome.REFUSED, list[PermissionDenied]()
        try:
            self._check_same(item)
            run = await self.handler.async_run_of(CallOrigin(speaker=item.owner.speaker(due)))
            await self.handler.guard.async_user(run.speaker)
            if (unmet := await async_unmet(item, run)) is False:
                return True
            ended = RunOutcome.SKIPPED if unmet else RunOutcome.UNKNOWN
        except PermissionDenied as err:
            why.append(err)
        except Exception:  # noqa: BLE001 - as below: a condition of a later release, for example
            LOGGER.exception("What a planned command waits for cannot be read")
            await self._async_end(item, due, RunOutcome.UNKNOWN, item.entity_ids)
            return False
        if item.schedule.event is not None and not why:
            await self.planned.async_add(item)
        else:
            await self._async_end(item, due, ended, item.entity_ids, why)
        return False

    async def _async_end(
        self,
        item: PlannedItem,
        due: datetime,
        outcome: RunOutcome,
        failed_ids: Sequence[str],
        why: Sequence[PermissionDenied] = (),
        context: Context | None = None,
    ) -> None:
        """Fire the event of a run, and tell a person of a problem, or of what was confirmed for an event."""
        data = {
            "command_id": item.id,
            "action": item.verb,
            "entity_ids": list(item.entity_ids),
            "due": due.isoformat(),
            "outcome": outcome.value,
            "failed": list(failed_ids),
            "user_id": item.owner.user_id,
            "person": item.owner.person_id,
        }
        self.emitter.fire(EVENT_PLANNED_RUN, data, context)
        is_confirmed = item.schedule.event is not None and item.approved is not None
        if outcome is not RunOutcome.SKIPPED and (outcome is not RunOutcome.DONE or is_confirmed):
            key = f"{'once' if item.schedule.clauses else 'planned'}_{outcome}"
            await self.tell(item, due, key, failed_ids or item.entity_ids, why)

    async def _async_act(self, item: PlannedItem, run: ToolRun, outcome: ControlOutcome) -> JsonValueType:
        """Do what an item says. Raises HomeAgentError, PermissionDenied if the tool for it is off."""
        if item.message is not None:
            messages = self.handler.tools.get(NotifyTool.name)
            if not isinstance(messages, NotifyTool):
                raise PermissionDenied("notify_person is off")
            return await messages.async_run_planned(item, run)
        control = self.handler.tools.get(ControlTool.name)
        if not isinstance(control, ControlTool):
            raise PermissionDenied("ha_control is off")
        self._check_same(item)
        if item.restores:
            return await self._async_restore(item, run, outcome)
        return await control.async_run_planned(item, run, outcome)

    def _check_same(self, item: PlannedItem) -> None:
        if registry_ids(self.handler.hass, item.registered) != dict(item.registered):
            raise PermissionDenied("An entity ID refers to another entity now")

    async def _async_restore(self, item: PlannedItem, run: ToolRun, outcome: ControlOutcome) -> JsonValueType:
        """Restore what was before a command for a while. Raises HomeAgentError for what failed."""
        run = run._replace(speaker=replace(run.speaker, undoes=True))
        waiting: dict[str, Held] = {}
        async with entity_locks(run.hass, list(item.held)):
            plans: dict[str, Plan] = {}
            before: dict[str, State] = {}
            for entity_id, held in item.held.items():
                state = run.hass.states.get(entity_id)
                if state is not None and state.state in GONE:
                    waiting[entity_id] = held
                elif state is None or not run.reader.sees(entity_id):
                    outcome.fail(entity_id, NOT_EXPOSED)
                else:
                    # What a device reported only after the call was recorded was an effect of the call.
                    after = EarlierState.of(state) if held.after == held.before else held.after
                    switched = held.before.state != after.state
                    late = (switched and state.state == after.state) or after.state in moving(state.domain)
                    try:
                        if made := restoring(held.before, after, state, late=late):
                            plans[entity_id], before[entity_id] = made, state
                    except ChangedSinceError:
                        continue  # a person has changed it meanwhile
                    except (CannotRestoreError, ValueError) as err:
                        outcome.fail(entity_id, str(err))
            if plans:
                await async_carry_out(plans, before, item.verb, run, outcome)
        now = dt_util.utcnow()
        if waiting and now - (item.ends or item.due) > GIVE_UP:
            for entity_id in waiting:
                outcome.fail(entity_id, "is unavailable (offline)")
        elif waiting:
            later = replace(item, held=waiting, entity_ids=tuple(waiting)).at(now + AGAIN)
            await self.planned.async_add(later)
        return outcome.result()
