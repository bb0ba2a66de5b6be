"""Messages for later: refused where the call does not say when, else judged and kept until they are due."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.topics import language_of
from ...errors import ConfirmationNeeded, PermissionDenied, ValidationError
from ...languages.lexicon import QUESTION_MARKS
from ...languages.sentence import Wait, times_in
from ...memory.secrets import holds_secret
from ...planned.commands import MAX_COMMANDS, PlannedCommands
from ...planned.records import TELL, Message, Owner, PlannedCommand
from ...planned.schedule import Schedule
from ...safety.frozen import FrozenCall, FrozenPlan
from ..base import ServiceCall, ToolRun
from ..control.asked import NEEDS_REPEAT, WHEN_FORMS, needs_automation
from ..control.later import MAX_ALIKE, NO_CODES
from ..control.timing import Timing
from ..messages import NOTIFY_TOOL, heard_on
from ..vetted import is_spoken
from .choosing import user_of

NEEDS_WHEN: Final = (
    f"The sentence says a time, and nothing was sent. Call again with when, such as {WHEN_FORMS}, "
    "or with the time in message if it is part of what is told"
)


def check_time(message: Message, timing: Timing | None, run: ToolRun) -> None:
    """Raise ValidationError if the sentence says a time that is neither in the call nor in its message.

    Whether a time belongs to the message is not always clear, so a second call counts as written.
    """
    if any(record.tool_name == NOTIFY_TOOL for record in run.calls.records):
        return
    own = run.speaker.language
    waits = list(times_in(run.sentence, own))
    for wait in times_in(message.text, language_of(message.text, own) or own):
        if wait in waits:
            waits.remove(wait)
    left = set(waits) - (timing.answers if timing is not None and timing.schedule is not None else set())
    if Wait.CONDITION in left and not message.text.rstrip().endswith(tuple(QUESTION_MARKS)):
        raise ValidationError(needs_automation(run))
    if Wait.REPEATED in left:
        raise ValidationError(NEEDS_REPEAT)
    if Wait.TIME in left:
        raise ValidationError(NEEDS_WHEN)


class MessagePlanner:
    """Plans the messages of one agent."""

    def __init__(self, planned: PlannedCommands) -> None:
        self._planned = planned

    async def async_plan(
        self,
        message: Message,
        schedule: Schedule,
        calls: Sequence[ServiceCall],
        spare: Collection[str],
        run: ToolRun,
    ) -> JsonValueType:
        """Keep a message, and return what happens when.

        `calls` would deliver it. Those on `spare` devices need no confirmation: where they are not allowed
        then, the person gets the message on the phone. Raises ConfirmationNeeded for what a person has to
        confirm before, PermissionDenied for what is not allowed, and ValidationError.
        """
        if holds_secret(message.text):
            raise ValidationError(NO_CODES)
        if self._planned.full:
            raise ValidationError(f"{MAX_COMMANDS} commands are planned already; cancel some first")
        waiting = await self._async_judge(calls, schedule, spare, run)
        command = PlannedCommand(
            verb=TELL,
            entity_ids=(),
            message=message,
            told=f"tell {message.receiver}",
            schedule=schedule,
            approved=tuple(waiting) or None,
            owner=Owner.of(run.speaker, user_of(run)),
        )
        if waiting:
            if run.draft is None:
                raise PermissionDenied("A message needs a person's confirmation")

            async def begin() -> None:
                await self._async_keep(command)

            item = FrozenPlan(
                calls=tuple(waiting), due=schedule.due, repeats=bool(schedule.days), begin=begin
            )
            raise ConfirmationNeeded(run.guard.let_wait(item, run.draft))
        alike = self._alike(command)
        await self._async_keep(command)
        now = dt_util.utcnow()
        told: dict[str, JsonValueType] = {
            "planned": f"{command.told_at(now)}: {message.text}",
            "id": command.id,
        }
        notes: list[JsonValueType] = [
            f"also planned: {other.told_at(now)}, id {other.id}; cancel it if this one replaces it"
            for other in alike
        ]
        return told | ({"notes": notes} if notes else {})

    def _alike(self, command: PlannedCommand) -> list[PlannedCommand]:
        return [
            other
            for other in self._planned.all()
            if other.message is not None
            and command.message is not None
            and other.message.receiver == command.message.receiver
            and other.owner.conversation_id == command.owner.conversation_id
            and not other.is_same(command)
        ][:MAX_ALIKE]

    async def _async_keep(self, command: PlannedCommand) -> None:
        if same := [one.id for one in self._planned.all() if one.is_same(command)]:
            await self._planned.async_cancel(same)
        await self._planned.async_add(command)

    async def _async_judge(
        self, calls: Sequence[ServiceCall], schedule: Schedule, spare: Collection[str], run: ToolRun
    ) -> list[FrozenCall]:
        """Return the calls that a person has to confirm. Raises PermissionDenied if none is allowed.

        What is planned is judged for the time at which it is due, and again at that time.
        """
        speaker = replace(run.speaker, due=schedule.due)
        waiting: list[FrozenCall] = []
        denied: list[PermissionDenied] = []
        free = 0
        for call in calls:
            is_spare = is_spoken(call.domain, call.service) and heard_on(call)[0] in spare
            try:
                frozen = await run.guard.async_foresee([call], speaker)
            except PermissionDenied as err:
                denied.append(err)
                continue
            if frozen is None:
                free += 1
            elif not is_spare:
                waiting += frozen
        if denied and not free and not waiting:
            raise denied[0]
        return waiting
