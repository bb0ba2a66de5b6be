"""Commands about what was done: the audit log with names instead of ids, and undo."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypedDict

import probatio

from homeassistant.const import ATTR_FRIENDLY_NAME
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, llm

from ..agents.llm_api import async_one_call
from ..const import ASSISTANT, DOMAIN
from ..knowledge.speaker import Speaker
from ..safety.journal import MAX_ENTRIES, AuditEntry, AuditKind, Ledger, RecordedAction
from ..tools.activity import ActivityTool, last_changing_turn
from .commands import CommandRow, EmptyAnswer, PanelCommand, int_in_range


class AuditRow(AuditEntry):
    """An entry of the audit log with the names of the person and the targets."""

    person: str
    names: list[str]
    kept: bool
    """Whether the turn of it can be opened."""
    undoable: bool
    """Whether the turn of it can be undone."""


class AuditAnswer(TypedDict):
    """Entries of the audit log, the newest first."""

    entries: list[AuditRow]


async def _async_audit(command: PanelCommand) -> AuditAnswer:
    """Return the entries of the audit log, the newest first."""
    audit = command.data.handler.guard.journal.audit
    found = audit.entries(command.fields["limit"], command.fields.get("kind"))
    return {"entries": audit_rows(command, found, await command.async_names())}


def audit_rows(
    command: PanelCommand, entries: Iterable[AuditEntry], names: Mapping[str, str]
) -> list[AuditRow]:
    """Return entries as the page shows them: of a confirmation only how it stands, not each of its steps."""
    ledger = command.data.handler.guard.journal.ledger
    kept = {turn["id"] for turn in command.data.turn_log.short()} if command.user.is_admin else set()
    changes: dict[str, list[RecordedAction]] = {}
    for action in ledger.of_speaker(None):
        changes.setdefault(action.turn_id, []).append(action)
    undoable = {turn_id for turn_id, actions in changes.items() if last_changing_turn(actions, command.hass)}
    return [
        {
            **entry,
            "person": names.get(entry.get("user_id") or "", ""),
            "names": [entity_name(command.hass, target) for target in entry.get("targets", ())],
            "kept": entry.get("turn_id") in kept,
            "undoable": entry["kind"] == AuditKind.ACTION and entry.get("turn_id") in undoable,
        }
        for entry in _last_steps(entries)
    ]


def _last_steps(entries: Iterable[AuditEntry]) -> Iterator[AuditEntry]:
    """Yield entries, the newest first, without earlier steps of the same confirmation."""
    settled: set[str] = set()
    for entry in entries:
        if action_id := entry.get("action_id"):
            if action_id in settled:
                continue
            settled.add(action_id)
        yield entry


def entity_name(hass: HomeAssistant, entity_id: str) -> str:
    """Return what an entity is called, also one that is not there any more; anything else as it is."""
    if (state := hass.states.get(entity_id)) is not None:
        return str(state.attributes.get(ATTR_FRIENDLY_NAME) or state.name)
    entry = er.async_get(hass).async_get(entity_id)
    return (entry and (entry.name or entry.original_name)) or entity_id


async def _async_undo(command: PanelCommand) -> EmptyAnswer:
    """Put back what a turn changed; users who are not administrators reach only their own actions.

    Raises HomeAssistantError if there is nothing to put back, or with what stays as it is.
    """

    def actions(ledger: Ledger, _speaker: Speaker) -> list[RecordedAction]:
        own = None if command.user.is_admin else command.user.id
        wanted = command.fields["turn_id"]
        return [
            action
            for action in ledger.of_speaker(None)
            if action.turn_id == wanted and own in (None, action.user_id)
        ]

    hass, handler = command.hass, command.data.handler
    context = llm.LLMContext(DOMAIN, command.context, hass.config.language, ASSISTANT, None)
    turn = await async_one_call(hass, handler, context)
    if not last_changing_turn(actions(handler.guard.journal.ledger, turn.speaker), hass):
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="nothing_to_undo")
    tool = ActivityTool(actions)
    turn.tools = {tool.name: tool}
    result = (await handler.async_execute(llm.ToolInput(tool.name, {"action": "undo"}), turn)).data
    if result["error"]:
        raise HomeAssistantError(str(result["error"]))
    return {}


COMMANDS: Final[Mapping[str, CommandRow]] = {
    "audit": CommandRow(
        _async_audit,
        {
            probatio.Optional("limit", default=100): int_in_range(1, MAX_ENTRIES),
            probatio.Optional("kind"): probatio.In([kind.value for kind in AuditKind]),
        },
    ),
    "undo": CommandRow(_async_undo, {probatio.Required("turn_id"): str}, everybody=True),
}
