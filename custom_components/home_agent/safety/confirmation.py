"""Confirmations: calls that wait for a person's word.

What was asked is frozen. It runs at most once, in time, and only on the word of the one who asked for it.
"""

from abc import ABC, abstractmethod
import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_call_later
from homeassistant.util import dt as dt_util

from ..const import (
    CONF_POLICY_PIN,
    CONF_POLICY_TIMEOUT,
    EVENT_CONFIRMATION_REQUESTED,
    EVENT_CONFIRMATION_RESOLVED,
    LOGGER,
)
from ..embeds import without_embeds
from ..errors import HomeAgentError
from ..events import EventEmitter
from ..knowledge.speaker import Speaker
from .confirmation_store import ConfirmationStore, Lost
from .frozen import Draft, Frozen, FrozenCall, FrozenIntent, FrozenLook
from .pin import WrongPins, matches

MAX_PENDING = 20
MAX_TRIES = 3
REMEMBER_SECONDS = 300.0
"""How long an action that ended by itself is remembered, so that a late yes gets an answer."""


class Outcome(StrEnum):
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
    """Whose word counts, and where."""

    conversation_id: str
    user_id: str | None
    device_id: str | None

    @classmethod
    def of(cls, speaker: Speaker, conversation_id: str) -> Owner:
        """Return the owner of what a speaker asks for in a conversation."""
        return cls(
            conversation_id=conversation_id, user_id=speaker.context.user_id, device_id=speaker.device_id
        )


@dataclass(slots=True, kw_only=True)
class PendingAction:
    """One action that waits."""

    id: str
    owner: Owner
    speaker: Speaker
    frozen: tuple[Frozen, ...]
    question: str
    expires_at: datetime
    deadline: float
    """When it expires on the loop's own clock, which does not jump."""
    unattended: bool
    """Nobody hears the question: only a channel or a service can answer it."""
    tries: int = 0
    stop_timer: Callable[[], None] = lambda: None

    @property
    def entity_ids(self) -> set[str]:
        """Return all targets."""
        calls = [
            call
            for item in self.frozen
            for call in (item.calls if isinstance(item, FrozenIntent) else (item,))
            if isinstance(call, FrozenCall)
        ]
        looks = {item.entity_id for item in self.frozen if isinstance(item, FrozenLook)}
        return looks | {entity_id for call in calls for entity_id in call.entity_ids}


class Refusal(StrEnum):
    """Why an approval does not count."""

    UNKNOWN = "confirmation_unknown"
    NOT_YOURS = "confirmation_not_yours"
    PIN_NEEDED = "confirmation_pin_needed"
    PIN_WRONG = "confirmation_pin_wrong"
    PIN_LOCKED = "confirmation_pin_locked"


class ConfirmationRefused(HomeAgentError):
    """An approval does not count; `reason` says why."""

    def __init__(self, reason: Refusal) -> None:
        """Take the sentence from the reason."""
        self.key = reason.value
        self.reason = reason
        super().__init__()


class ConfirmationChannel(ABC):
    """A way to ask people beside the conversation: a notification, a messenger, a panel.

    An answer goes to `Confirmations.async_approve` or `async_reject`, with the user who gave it.
    """

    @abstractmethod
    async def async_ask(self, action: PendingAction) -> None:
        """Ask about an action."""

    @abstractmethod
    async def async_settled(self, action: PendingAction, outcome: Outcome) -> None:
        """Take the question back: it has its answer."""

    def note_lost(self, lost: Lost) -> None:  # noqa: B027 - most have nothing to take back after a restart
        """Hear of an action that a restart has denied."""


class Confirmations:
    """The pending actions of one entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        settings: Mapping[str, Any],
        *,
        emitter: EventEmitter,
        store: ConfirmationStore,
        describe: Callable[[HomeAssistant, str, tuple[Frozen, ...]], Awaitable[str]],
        run: Callable[[PendingAction], Awaitable[None]],
    ) -> None:
        """Take the options; `describe` words the question, `run` runs what was approved."""
        self._hass = hass
        self._entry_id = entry_id
        self._seconds = float(settings[CONF_POLICY_TIMEOUT])
        self._pin: str = settings[CONF_POLICY_PIN]
        self._emitter = emitter
        self._store = store
        self._describe = describe
        self._run = run
        self._pending: dict[str, PendingAction] = {}
        self._ended: dict[Owner, tuple[Outcome, float]] = {}
        self._asked: dict[Owner, float] = {}
        self._lost: list[Lost] = []
        self._wrong = WrongPins()
        self.channels: list[ConfirmationChannel] = []

    @property
    def pending(self) -> list[PendingAction]:
        """Return what waits, the oldest first."""
        return list(self._pending.values())

    def has(self, action_id: str) -> bool:
        """Return whether an action waits here."""
        return action_id in self._pending

    @property
    def wants_pin(self) -> bool:
        """Return whether a spoken or typed approval needs the PIN."""
        return bool(self._pin)

    @callback
    def async_start(self) -> None:
        """Deny what was pending when Home Assistant stopped."""
        self._lost = self._store.take_lost(self._entry_id)
        for lost in self._lost:
            self._emitter.fire(
                EVENT_CONFIRMATION_RESOLVED, action_id=lost.action_id, outcome=Outcome.RESTARTED.value
            )
            for channel in self.channels:
                channel.note_lost(lost)

    async def async_stop(self) -> None:
        """Withdraw everything: the policy may have changed when the entry comes back."""
        for action in self.pending:
            await self._async_end(action, Outcome.WITHDRAWN)

    async def async_open(self, draft: Draft, *, unattended: bool = False) -> PendingAction:
        """Ask about what a turn wants to do, and let it expire."""
        action_id, frozen = draft.take()
        question = without_embeds(await self._describe(self._hass, draft.speaker.language, frozen))
        action = PendingAction(
            id=action_id,
            owner=Owner.of(draft.speaker, draft.conversation_id),
            speaker=draft.speaker,
            frozen=frozen,
            question=question,
            expires_at=dt_util.utcnow() + timedelta(seconds=self._seconds),
            deadline=self._hass.loop.time() + self._seconds,
            unattended=unattended,
        )
        for older in self.pending:
            if older.owner == action.owner and not unattended:
                await self._async_end(older, Outcome.SUPERSEDED)
        while len(self._pending) >= MAX_PENDING:
            await self._async_end(self.pending[0], Outcome.WITHDRAWN)
        self._pending[action.id] = action
        self._ended.pop(action.owner, None)
        if not unattended:
            self._asked.pop(action.owner, None)
            self._asked[action.owner] = action.deadline + REMEMBER_SECONDS
            _bound(self._asked)

        async def expire(_now: datetime) -> None:
            if action.id in self._pending:
                await self._async_end(action, Outcome.EXPIRED)

        action.stop_timer = async_call_later(self._hass, self._seconds, expire)
        self._remember()
        self._emitter.fire(
            EVENT_CONFIRMATION_REQUESTED,
            action_id=action.id,
            summary=action.question,
            expires_at=action.expires_at.isoformat(),
        )
        await self._async_tell(lambda channel: channel.async_ask(action))
        return action

    @callback
    def waiting_for(self, owner: Owner) -> PendingAction | None:
        """Return the action that waits for this very person in this very conversation."""
        return next(
            (
                action
                for action in reversed(self.pending)
                if action.owner == owner and not action.unattended and not self._is_late(action)
            ),
            None,
        )

    @callback
    def expects_pin(self, owner: Owner) -> bool:
        """Return whether this person was asked for the PIN a short while ago, answered by now or not."""
        return self.wants_pin and (
            self._hass.loop.time() < self._asked.get(owner, 0.0)
            or any(
                lost.is_recent() and lost.is_owned_by(owner.conversation_id, owner.user_id, owner.device_id)
                for lost in self._lost
            )
        )

    @callback
    def take_ended(self, owner: Owner) -> Outcome | None:
        """Return how an action ended that this person may still want to answer, and forget it."""
        outcome, until = self._ended.pop(owner, (None, 0.0))
        if outcome is not None and self._hass.loop.time() < until:
            return outcome
        for lost in self._lost:
            if lost.is_owned_by(owner.conversation_id, owner.user_id, owner.device_id):
                self._lost.remove(lost)
                return Outcome.RESTARTED if lost.is_recent() else None
        return None

    async def async_approve(self, action_id: str, *, user: User | None, pin: str | None = None) -> None:
        """Run an action on a person's word given outside the conversation.

        Raises ConfirmationRefused if the word does not count, and HomeAgentError if the action fails.
        """
        action = self._find(action_id)
        if not self.may_answer(action, user) and not (user is None and pin and self.wants_pin):
            raise ConfirmationRefused(Refusal.NOT_YOURS)
        await self.async_approve_owned(action, pin=pin)

    async def async_approve_owned(self, action: PendingAction, *, pin: str | None = None) -> None:
        """Run an action whose owner gave the word.

        Raises ConfirmationRefused if a PIN is missing or wrong, and HomeAgentError if the action fails.
        """
        if self.wants_pin:
            await self._async_check_pin(action, pin)
        if self._is_late(action) or self._pending.pop(action.id, None) is None:
            raise ConfirmationRefused(Refusal.UNKNOWN)
        try:
            await self._run(action)
        except BaseException:
            await self._async_end(action, Outcome.FAILED)
            raise
        await self._async_end(action, Outcome.APPROVED)

    async def async_reject(
        self, action_id: str, *, user: User | None, outcome: Outcome = Outcome.REJECTED
    ) -> None:
        """Drop an action. Raises ConfirmationRefused for one that is not pending or not the user's."""
        action = self._find(action_id)
        if user is not None and not self.may_answer(action, user) and not user.is_admin:
            raise ConfirmationRefused(Refusal.NOT_YOURS)
        await self._async_end(action, outcome)

    async def async_drop(self, action: PendingAction, outcome: Outcome) -> None:
        """Drop an action on its owner's word."""
        if action.id in self._pending:
            await self._async_end(action, outcome)

    def _find(self, action_id: str) -> PendingAction:
        """Return a pending action. Raises ConfirmationRefused where there is none."""
        action = self._pending.get(action_id)
        if action is None or self._is_late(action):
            raise ConfirmationRefused(Refusal.UNKNOWN)
        return action

    def _is_late(self, action: PendingAction) -> bool:
        """Return whether an action has expired, by either clock."""
        return self._hass.loop.time() >= action.deadline or dt_util.utcnow() >= action.expires_at

    @staticmethod
    def may_answer(action: PendingAction, user: User | None) -> bool:
        """Return whether a user's word counts.

        What a person asked for, only that person may approve. What an unknown voice or an automation
        asked for, any user may who could do it with own hands.
        """
        if user is None or not user.is_active:
            return False
        if action.owner.user_id is not None:
            return user.id == action.owner.user_id
        return all(
            user.permissions.check_entity(entity_id, POLICY_CONTROL) for entity_id in action.entity_ids
        ) and (user.is_admin or bool(action.entity_ids))

    async def _async_check_pin(self, action: PendingAction, pin: str | None) -> None:
        """Compare a PIN. Raises ConfirmationRefused; after some wrong ones the action is gone."""
        if not pin:
            raise ConfirmationRefused(Refusal.PIN_NEEDED)
        if self._wrong.locked:
            await self.async_drop(action, Outcome.WRONG_PIN)
            raise ConfirmationRefused(Refusal.PIN_LOCKED)
        # Counted before it is compared, so that tries at the same time count too.
        action.tries += 1
        if action.tries > MAX_TRIES:
            await self.async_drop(action, Outcome.WRONG_PIN)
            raise ConfirmationRefused(Refusal.PIN_LOCKED)
        if await self._hass.async_add_executor_job(matches, pin, self._pin):
            return
        self._wrong.note()
        if action.tries >= MAX_TRIES:
            await self.async_drop(action, Outcome.WRONG_PIN)
            raise ConfirmationRefused(Refusal.PIN_LOCKED)
        raise ConfirmationRefused(Refusal.PIN_WRONG)

    async def _async_end(self, action: PendingAction, outcome: Outcome) -> None:
        """Take an action out and say how it ended."""
        self._pending.pop(action.id, None)
        action.stop_timer()
        if outcome in (Outcome.EXPIRED, Outcome.WITHDRAWN, Outcome.WRONG_PIN) and not action.unattended:
            self._ended[action.owner] = (outcome, self._hass.loop.time() + REMEMBER_SECONDS)
            _bound(self._ended)
        self._remember()
        self._emitter.fire(EVENT_CONFIRMATION_RESOLVED, action_id=action.id, outcome=outcome.value)
        await self._async_tell(lambda channel: channel.async_settled(action, outcome))

    async def _async_tell(self, tell: Callable[[ConfirmationChannel], Awaitable[None]]) -> None:
        """Tell all channels; one that fails does not stop the others."""
        found = await asyncio.gather(*(tell(channel) for channel in self.channels), return_exceptions=True)
        for channel, problem in zip(self.channels, found, strict=True):
            if isinstance(problem, Exception):
                LOGGER.warning("%s could not be told of a confirmation: %s", type(channel).__name__, problem)

    @callback
    def _remember(self) -> None:
        """Write down what waits, without what it would do."""
        self._store.note(
            self._entry_id,
            [
                Lost(
                    action_id=action.id,
                    conversation_id=action.owner.conversation_id,
                    user_id=action.owner.user_id,
                    device_id=action.owner.device_id,
                    expires_at=action.expires_at,
                )
                for action in self.pending
            ],
        )


def _bound(known: dict[Owner, Any]) -> None:
    """Drop the oldest of too many."""
    while len(known) > MAX_PENDING:
        del known[next(iter(known))]
