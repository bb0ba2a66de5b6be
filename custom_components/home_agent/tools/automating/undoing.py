"""Undoing what was done with automations: what was created is deleted, what was changed returns."""

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import PermissionDenied, ToolExecutionError
from ...safety.journal import AuditKind
from ..base import ToolRun
from ..own_calls import async_switch_automation
from .files import AUTOMATION, async_add, async_read, async_remove, entity_of
from .own import async_check_allowed, check_administrator, judge_switch
from .records import Change, OwnAutomation, OwnAutomations

MAX_ROWS = 5
TAINTED = (
    "Text from outside was read, so nothing is undone about automations now. Tell the person to ask again, "
    "in a sentence of its own"
)


def last_change(own: OwnAutomations | None, run: ToolRun) -> Change | None:
    """Return the last change by the speaker that was not undone; None if there is none."""
    user_id = run.speaker.context.user_id
    for change in own.changes if own is not None else ():
        is_own = user_id is not None and change.user_id == user_id
        if is_own and not change.undone and change.turn_id != run.speaker.turn_id:
            return change
    return None


async def async_undo_change(change: Change, own: OwnAutomations, run: ToolRun) -> JsonValueType:
    """Undo a change, and return what became of the automation.

    Raises PermissionDenied for what is not allowed any more, and ToolExecutionError if it was edited since.
    """
    if run.tainted:
        raise PermissionDenied(TAINTED)
    automation, context = change.automation, run.speaker.context
    user = await run.hass.auth.async_get_user(context.user_id) if context.user_id else None
    check_administrator(user)
    entity_id = entity_of(run.hass, automation.id)
    if change.switched is not None:
        if entity_id is None:
            raise ToolExecutionError(f"The automation {automation.alias} does not exist any more")
        judge_switch(run, entity_id, user, on=not change.switched)
        await async_switch_automation(run.hass, entity_id, context, on=not change.switched)
    else:
        if change.after is not None:
            await _async_check_as_written(change.after, run)
        if change.before is None:
            await async_remove(run.hass, automation.id)
        else:
            await async_check_allowed(change.before, run)
            await async_add(run.hass, change.before.id, change.before.config, context)
    own.note_undone(change)
    run.guard.journal.note(
        AuditKind.ACTION,
        run.speaker,
        service=f"{AUTOMATION}.undo",
        targets=(automation.alias,),
        success=True,
        undo=True,
    )
    return {"automation": automation.alias, "undone": told(change), "at": f"{dt_util.now():%H:%M}"}


async def _async_check_as_written(automation: OwnAutomation, run: ToolRun) -> None:
    """Raise ToolExecutionError for an automation that was edited or deleted since it was written."""
    written = await async_read(run.hass, automation.id)
    if written is None:
        raise ToolExecutionError(f"The automation {automation.alias} does not exist any more")
    if written != dict(automation.config):
        raise ToolExecutionError(
            f"The automation {automation.alias} has been edited since, so it stays as it is; say so"
        )


def told(change: Change) -> str:
    """Return what the undo of a change did."""
    if change.switched is not None:
        return "switched off again" if change.switched else "switched on again"
    if change.before is None:
        return "deleted, as it was created before"
    return "restored" if change.after is None else "as it was before the change"


def change_rows(own: OwnAutomations | None, run: ToolRun) -> list[JsonValueType]:
    """Return what the speaker did with automations lately, the newest first."""
    user_id = run.speaker.context.user_id
    if own is None or user_id is None:
        return []
    rows: list[JsonValueType] = [
        {
            "at": dt_util.as_local(change.at).strftime("%Y-%m-%d %H:%M"),
            "did": change.did,
            "automation": change.automation.alias,
            **({"undone": True} if change.undone else {}),
        }
        for change in own.changes
        if change.user_id == user_id
    ]
    return rows[:MAX_ROWS]
