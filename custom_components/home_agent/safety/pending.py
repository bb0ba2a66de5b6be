"""An action that waits for a confirmation: its call, and the people who may answer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from ..knowledge.speaker import Speaker
from .frozen import CallOrigin, Frozen, FrozenCall, FrozenIntent, FrozenLook, FrozenPlan, FrozenTool


class ActionOutcome(StrEnum):
    """How an action ended."""

    APPROVED = "approved"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    WRONG_PIN = "wrong_pin"
    RESTARTED = "restarted"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose answer counts, and where."""

    conversation_id: str
    user_id: str | None
    device_id: str | None

    @property
    def speaker(self) -> str:
        """Return an identity of the speaker that is the same in all conversations."""
        return self.user_id or self.device_id or ""

    @classmethod
    def of(cls, speaker: Speaker, conversation_id: str) -> Owner:
        """Return the owner of the speaker's requests in a conversation."""
        return cls(
            conversation_id=conversation_id, user_id=speaker.context.user_id, device_id=speaker.device_id
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The texts of a question."""

    spoken: str
    full: str
    """The question with details that are too long for speech, for people who read it."""
    details: str = ""
    """The YAML of an automation, which a screen shows below the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuestion:
    """How a question is asked that no person's request has led to."""

    users: frozenset[str]
    """The users who are asked; nobody else may answer on a phone, in a chat or in the panel."""
    lead: str
    """What is said before the question."""
    seconds: float
    """How long an answer counts."""
    restricted: bool
    """Whether the action needs a confirmation in any case, and with it the PIN."""


class ConfirmationRequest(TypedDict):
    """What the caller of a service or a tool needs to get an answer. `expires_at` is ISO 8601."""

    action_id: str
    question: str
    expires_at: str


@dataclass(slots=True, kw_only=True)
class PendingAction:
    """One action that waits."""

    id: str
    owner: Owner
    speaker: Speaker
    frozen: tuple[Frozen, ...]
    question: str
    """As it is spoken."""
    full: str
    """The written form, not shortened."""
    details: str = ""
    """YAML to show below it."""
    expires_at: datetime
    deadline: float
    """When it expires on the loop's own clock, which does not jump."""
    unattended: bool
    """The question is not heard: only a channel or a service can answer it."""
    own: OwnQuestion | None = None
    """Where Home Agent asks on its own."""
    tries: int = 0
    asked_again: bool = False
    """Whether the question was put once more, after an unclear answer."""
    rest: str = ""
    """What else was said beside an answer that did not settle it."""
    stop_timer: Callable[[], None] = lambda: None

    def answered_by(self, speaker: Speaker) -> None:
        """Have the calls made with the rights of the one who has said yes."""
        self.speaker = speaker
        self.frozen = tuple(
            replace(
                item,
                origin=replace(item.origin, speaker=speaker) if item.origin else CallOrigin(speaker=speaker),
            )
            for item in self.frozen
        )

    def as_response(self) -> ConfirmationRequest:
        """Return the action as responses and tool results show it."""
        return {
            "action_id": self.id,
            "question": self.question,
            "expires_at": self.expires_at.isoformat(),
        }

    @property
    def entity_ids(self) -> set[str]:
        """Return all targets of now, also those inside scripts and scenes that are not free."""
        calls = [
            call
            for item in self.frozen
            if not isinstance(item, FrozenPlan) or item.due is None
            for call in (item.calls if isinstance(item, FrozenIntent | FrozenPlan) else (item,))
            if isinstance(call, FrozenCall)
        ]
        looks = {item.entity_id for item in self.frozen if isinstance(item, FrozenLook)}
        contents = [call.contents for call in calls]
        contents += [item.contents for item in self.frozen if isinstance(item, FrozenTool)]
        inside = {effect.entity_id for effects in contents for effect in effects}
        named = {entity_id for call in calls for entity_id in call.entity_ids}
        return looks | named | {entity_id for entity_id in inside if entity_id is not None}
