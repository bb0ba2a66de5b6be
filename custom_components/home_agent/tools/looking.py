"""Looks through cameras: judged like calls, done only after them."""

from abc import ABC, abstractmethod

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant

from ..errors import ConfirmationNeeded, PermissionDenied, ToolExecutionError
from ..knowledge.speaker import Speaker
from ..safety.audit import AuditKind
from ..safety.frozen import CallDraft, FrozenCall, FrozenLook
from ..safety.journal import Journal
from ..safety.policy import Policy
from ..safety.verdict import Verdict
from .asked_about import freeze
from .base import ServiceCall


class Looking(ABC):
    """The guard's part for cameras."""

    journal: Journal
    _hass: HomeAssistant
    _policy: Policy

    @abstractmethod
    async def async_user(self, speaker: Speaker) -> User | None:
        """Return the Home Assistant user who speaks."""

    @abstractmethod
    def check(self, call: ServiceCall, user: User | None, speaker: Speaker) -> Verdict:
        """Return whether a call is free now or needs a word. Raises PermissionDenied if neither."""

    @abstractmethod
    async def _async_make(self, call: ServiceCall, speaker: Speaker) -> None:
        """Make a call that was let through. Raises PermissionDenied or ToolExecutionError."""

    @abstractmethod
    def _check_targets(
        self, call: ServiceCall, user: User | None, right: str, *, written: bool = False
    ) -> None:
        """Raise PermissionDenied for targets that are not exposed, or that the user has no such right to."""

    async def async_look(self, look: FrozenLook, speaker: Speaker, draft: CallDraft | None) -> str:
        """Look through a camera and return what is seen.

        Raises PermissionDenied for what is not allowed, ConfirmationNeeded for what waits in `draft` for a
        person's word, and ToolExecutionError for what failed.
        """
        user = await self.async_user(speaker)
        if self._judge_look(look, user, speaker) is Verdict.CONFIRM:
            if draft is None:
                raise PermissionDenied("A look through a camera needs a person's confirmation")
            raise ConfirmationNeeded(freeze(self._hass, draft, look))
        return await self._async_look(look, speaker)

    def _judge_look(self, look: FrozenLook, user: User | None, speaker: Speaker) -> Verdict:
        """Return what is said of a look; raises PermissionDenied."""
        call = ServiceCall(domain="camera", service="snapshot", entity_ids=(look.entity_id,))
        with self.journal.judging(call, speaker):
            self._check_targets(call, user, POLICY_READ)
            verdict = self._policy.judge(call.domain, call.service, call.entity_ids, speaker)
            if verdict is Verdict.BLOCK:
                raise PermissionDenied("The household does not allow to look through this camera")
        return max(
            verdict, *(self.check(_service_call(one), user, speaker) for one in look.sends), Verdict.ALLOW
        )

    async def _async_look(self, look: FrozenLook, speaker: Speaker) -> str:
        """Look, keep in the audit log that it was done, and send the picture where that is wanted."""
        seen = await look.look()
        look.seen.append(seen)
        self.journal.note(
            AuditKind.ACTION,
            user_id=speaker.context.user_id,
            device_id=speaker.device_id,
            conversation_id=speaker.conversation_id,
            service="camera.snapshot",
            targets=(look.entity_id,),
            success=True,
        )
        for message in look.sends:
            try:
                await self._async_make(_service_call(message), speaker)
            except (ToolExecutionError, PermissionDenied) as err:
                look.unsent.append(str(err))
        return seen


def _service_call(frozen: FrozenCall) -> ServiceCall:
    """Return a call as the guard takes it."""
    return ServiceCall(
        domain=frozen.domain, service=frozen.service, entity_ids=frozen.entity_ids, data=frozen.data
    )
