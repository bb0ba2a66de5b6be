"""Commands about what was done and what waits: the audit log, undo, confirmations, suggestions."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import probatio

from homeassistant.const import ATTR_FRIENDLY_NAME
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..agent.describe import async_deeds
from ..proactive.state import SuggestionAnswer
from ..safety.confirmation import ActionOutcome
from ..safety.frozen import FrozenCall
from ..safety.journal import MAX_ENTRIES, AuditEntry, AuditKind, Journal, RecordedAction
from ..services.base import Response, row_of
from ..services.tools import async_undo
from ..settings import is_learning_enabled
from ..tools.activity import last_changing_turn
from .commands import EMPTY, CommandRow, PanelCommand, int_in_range

TOGETHER: Final = timedelta(minutes=1)
"""The longest time between a yes and what it lets happen."""
MAX_SUGGESTIONS: Final = 50
"""Suggestions in one answer."""


async def _async_audit(command: PanelCommand) -> Response:
    journal = command.data.handler.guard.journal
    found = journal.entries(command.fields["limit"], command.fields.get("kind"))
    return {"entries": await async_audit_rows(command, found, await command.async_names())}


async def async_audit_rows(
    command: PanelCommand, entries: Sequence[AuditEntry], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return entries as the page shows them, the newest first, with names instead of ids.

    `told` is a sentence about what was done, where the language has one. Of a confirmation only how it
    stands, not each of its steps; what was done after a yes is one row, which is `confirmed`. `kept` says
    whether the turn can be opened, `undoable` whether it can be undone.
    """
    language = command.fields.get("language") or command.hass.config.language
    calls = [(_call(entry), bool(entry.get("undo"))) for entry in entries]
    deeds = await async_deeds(command.hass, language, calls)
    done = [entry for entry in entries if _call(entry) is not None]
    approved = [entry for entry in entries if entry.get("outcome") == ActionOutcome.APPROVED]
    journal = command.data.handler.guard.journal
    kept = {turn["id"] for turn in command.data.turn_log.short()} if command.user.is_admin else set()
    changes: dict[str, list[RecordedAction]] = {}
    for action in journal.of_speaker(None):
        changes.setdefault(action.turn_id, []).append(action)
    undoable = {turn_id for turn_id, actions in changes.items() if last_changing_turn(actions, command.hass)}
    rows: list[dict[str, Any]] = []
    settled: set[str] = set()
    for entry, told in zip(entries, deeds, strict=True):
        if any(_is_confirmed(entry, action) for action in done):
            settled.add(entry["action_id"])
        if action_id := entry.get("action_id"):
            if action_id in settled:
                continue
            settled.add(action_id)
        turn_id = entry.get("turn_id")
        rows.append(
            {
                **entry,
                "told": told,
                "confirmed": any(_is_confirmed(yes, entry) for yes in approved),
                "person": names.get(entry.get("user_id") or "", ""),
                "names": [entity_name(command.hass, target) for target in entry.get("targets", ())],
                "kept": turn_id in kept,
                "undoable": entry["kind"] == AuditKind.ACTION and turn_id in undoable,
            }
        )
    return rows


def _call(entry: AuditEntry) -> FrozenCall | None:
    """Return the call that an entry says was made, None if it says something else."""
    domain, _, service = str(entry.get("service") or "").partition(".")
    if entry["kind"] != AuditKind.ACTION or not (entry.get("success") and service):
        return None
    return FrozenCall(domain=domain, service=service, entity_ids=tuple(entry.get("targets", ())))


def _is_confirmed(yes: AuditEntry, action: AuditEntry) -> bool:
    """Return whether an action is what was confirmed: the same call, made at that time."""
    return (
        yes.get("outcome") == ActionOutcome.APPROVED
        and _call(action) is not None
        and (yes.get("service"), yes.get("user_id")) == (action.get("service"), action.get("user_id"))
        and set(action.get("targets", ())) <= set(yes.get("targets", ()))
        and abs(datetime.fromisoformat(yes["at"]) - datetime.fromisoformat(action["at"])) < TOGETHER
    )


def entity_name(hass: HomeAssistant, entity_id: str) -> str:
    """Return what an entity is called, also one that is not there any more; anything else as it is."""
    if (state := hass.states.get(entity_id)) is not None:
        return str(state.attributes.get(ATTR_FRIENDLY_NAME) or state.name)
    entry = er.async_get(hass).async_get(entity_id)
    return (entry and (entry.name or entry.original_name)) or entity_id


async def _async_undo(command: PanelCommand) -> Response:
    """Put back what a turn changed; users who are not administrators reach only their own actions.

    Raises HomeAssistantError if there is nothing to put back, or with what stays as it is.
    """
    own = None if command.user.is_admin else command.user.id
    turn_id = command.fields["turn_id"]

    def actions(journal: Journal) -> list[RecordedAction]:
        made = journal.of_speaker(None)
        return [action for action in made if action.turn_id == turn_id and own in (None, action.user_id)]

    await async_undo(command.hass, command.data.handler, command.context, actions, strict=True)
    return EMPTY


async def _async_pending(command: PanelCommand) -> Response:
    """Return the actions that wait for a confirmation; users get those that they may answer."""
    confirmations, names = command.data.confirmations, await command.async_names()
    return {
        "actions": [
            {
                **row_of(action, "id", "details", "expires_at"),
                "question": action.full,
                "wants_pin": confirmations.needs_pin(action),
                "person": names.get(action.owner.user_id or "", ""),
                "may_approve": confirmations.may_answer(action, command.user),
            }
            for action in confirmations.pending
            if command.user.is_admin or confirmations.may_answer(action, command.user)
        ],
    }


async def _async_confirm(command: PanelCommand) -> Response:
    fields = command.fields
    await command.data.confirmations.async_approve(
        fields["action_id"], user=command.user, pin=fields.get("pin")
    )
    return EMPTY


async def _async_reject(command: PanelCommand) -> Response:
    await command.data.confirmations.async_reject(command.fields["action_id"], user=command.user)
    return EMPTY


async def _async_suggestions(command: PanelCommand) -> Response:
    suggestions = (await command.data.async_proactive()).suggestions.all()
    return {
        "learning": is_learning_enabled(command.data.settings),
        "suggestions": [
            {
                "summary": item.text,
                **row_of(item, "id", "state", "words", "yaml", "created_at", "expires_at"),
            }
            for item in suggestions[:MAX_SUGGESTIONS]
        ],
    }


async def _async_answer(command: PanelCommand) -> Response:
    suggestions = (await command.data.async_proactive()).suggestions
    fields = command.fields
    item = await suggestions.async_answer(
        fields["suggestion_id"], SuggestionAnswer(fields["answer"]), command.user
    )
    return {"state": item.state.value}


_ACTION: Final = {probatio.Required("action_id"): str}

COMMANDS: Final[Mapping[str, CommandRow]] = {
    "audit": CommandRow(
        _async_audit,
        {
            probatio.Optional("limit", default=100): int_in_range(1, MAX_ENTRIES),
            probatio.Optional("kind"): probatio.In([kind.value for kind in AuditKind]),
        },
    ),
    "undo": CommandRow(_async_undo, {probatio.Required("turn_id"): str}, everybody=True),
    "confirmations": CommandRow(_async_pending, everybody=True),
    "confirm": CommandRow(_async_confirm, {**_ACTION, probatio.Optional("pin"): str}, everybody=True),
    "reject": CommandRow(_async_reject, _ACTION, everybody=True),
    "suggestions": CommandRow(_async_suggestions),
    "suggestion/answer": CommandRow(
        _async_answer,
        {
            probatio.Required("suggestion_id"): str,
            probatio.Required("answer"): probatio.In([answer.value for answer in SuggestionAnswer]),
        },
    ),
}
