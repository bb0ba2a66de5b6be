"""Confirmations in the audit log."""

from typing import override

from .confirmation import ConfirmationChannel
from .confirmation_store import Lost
from .frozen import FrozenCall
from .journal import AuditKind, Journal
from .pending import ActionOutcome, PendingAction


class AuditChannel(ConfirmationChannel):
    """Receives every question and its outcome, and asks no one."""

    def __init__(self, journal: Journal) -> None:
        """Take where it is kept."""
        self._journal = journal

    @override
    async def async_ask(self, action: PendingAction) -> None:
        """Record that a call waits for a confirmation."""
        self._note(action, "requested")

    @override
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Note how it ended."""
        self._note(action, outcome.value)

    @override
    def note_lost(self, lost: Lost) -> None:
        """Record that a restart has denied an action, whose content was not stored."""
        self._journal.note(
            AuditKind.CONFIRMATION,
            action_id=lost.action_id,
            outcome=ActionOutcome.RESTARTED.value,
            user_id=lost.user_id,
            device_id=lost.device_id,
            conversation_id=lost.conversation_id,
        )

    def _note(self, action: PendingAction, outcome: str) -> None:
        """Record one step, without the question and the answer."""
        self._journal.note(
            AuditKind.CONFIRMATION,
            action_id=action.id,
            outcome=outcome,
            service=_service(action),
            targets=sorted(action.entity_ids),
            user_id=action.owner.user_id,
            device_id=action.owner.device_id,
            conversation_id=action.owner.conversation_id,
        )


def _service(action: PendingAction) -> str | None:
    """Return the service of the calls that wait; None if they differ or are no services."""
    services = {
        f"{call.domain}.{call.service}"
        for frozen in action.frozen
        for call in ((frozen,) if isinstance(frozen, FrozenCall) else getattr(frozen, "calls", ()))
    }
    return services.pop() if len(services) == 1 else None
