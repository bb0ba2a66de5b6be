"""Confirmations: calls that wait until a person confirms them.

What was asked is frozen. It runs at most once, in time, and only on the word of the one who asked for it.
"""

from abc import ABC, abstractmethod
import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import Context, HomeAssistant, callback
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
from ..event_data import ConfirmationRequested, ConfirmationResolved
from ..events import EventEmitter
from ..knowledge.speaker import Speaker
from .confirmation_store import ConfirmationStore, LateAnswers, Lost, most_crowding
from .frozen import Draft, Frozen
from .pending import ActionOutcome, Owner, OwnQuestion, PendingAction, Question
from .pin import Look, PinGate

type Describe = Callable[[HomeAssistant, str, tuple[Frozen, ...], bool], Awaitable[Question]]
"""Words a question; the last argument says whether something was left out."""

MAX_PENDING = 20
MAX_TRIES = 3


class Refusal(StrEnum):
    """Why an approval does not count."""

    AUTOMATION = "confirmation_automation"
    UNKNOWN = "confirmation_unknown"
    NOT_YOURS = "confirmation_not_yours"
    PIN_NEEDED = "confirmation_pin_needed"
    PIN_WRONG = "confirmation_pin_wrong"
    PIN_LOCKED = "confirmation_pin_locked"


class ConfirmationRefused(HomeAgentError):
    """An approval does not count; `reason` says why, and `asks_again` whether another answer may."""

    def __init__(self, reason: Refusal) -> None:
        """Take the sentence from the reason."""
        self.key = reason.value
        self.reason = reason
        self.asks_again = reason in (Refusal.PIN_NEEDED, Refusal.PIN_WRONG)
        super().__init__()


class ConfirmationChannel(ABC):
    """A way to ask people beside the conversation: a notification, a messenger, a panel.

    An answer goes to `Confirmations.async_approve` or `async_reject`, with the user who gave it.
    """

    @abstractmethod
    async def async_ask(self, action: PendingAction) -> None:
        """Ask about an action."""

    @abstractmethod
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
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
        describe: Describe,
        run: Callable[[PendingAction], Awaitable[None]],
    ) -> None:
        """Take the options; `describe` returns the question, `run` runs approved calls."""
        self._hass = hass
        self._entry_id = entry_id
        self._seconds = float(settings[CONF_POLICY_TIMEOUT])
        self._pins = PinGate(hass, settings[CONF_POLICY_PIN])
        self._emitter = emitter
        self._store = store
        self._describe = describe
        self._run = run
        self._pending: dict[str, PendingAction] = {}
        self._late = LateAnswers(hass.loop.time)
        self.channels: list[ConfirmationChannel] = []

    @property
    def pending(self) -> list[PendingAction]:
        """Return the pending actions, the oldest first."""
        return list(self._pending.values())

    def has(self, action_id: str) -> bool:
        """Return whether an action waits here."""
        return action_id in self._pending

    @property
    def wants_pin(self) -> bool:
        """Return whether a spoken or typed approval needs the PIN."""
        return self._pins.wanted

    @callback
    def async_start(self) -> None:
        """Deny actions that were pending when Home Assistant stopped."""
        denied = self._store.take_lost(self._entry_id)
        self._late.take_lost(denied)
        for lost in denied:
            self._emitter.fire(
                EVENT_CONFIRMATION_RESOLVED,
                ConfirmationResolved(action_id=lost.action_id, outcome=ActionOutcome.RESTARTED.value),
            )
            for channel in self.channels:
                channel.note_lost(lost)

    async def async_stop(self) -> None:
        """Withdraw everything: the policy may have changed when the entry comes back."""
        for action in self.pending:
            await self._async_end(action, ActionOutcome.WITHDRAWN)

    def needs_pin(self, action: PendingAction) -> bool:
        """Return whether a yes to this action needs the PIN: not if it is free and only Home Agent asked."""
        return self.wants_pin and (action.own is None or action.own.restricted)

    async def async_open(
        self, draft: Draft, *, unattended: bool = False, own: OwnQuestion | None = None
    ) -> PendingAction:
        """Ask about the calls of a turn, or of Home Agent's own accord, and schedule their expiry."""
        action_id, frozen, left_out = draft.take()
        question = await self._describe(self._hass, draft.speaker.language, frozen, left_out)
        seconds, lead = (own.seconds, f"{own.lead} ".lstrip()) if own else (self._seconds, "")
        action = PendingAction(
            id=action_id,
            owner=Owner.of(draft.speaker, draft.conversation_id),
            speaker=draft.speaker,
            frozen=frozen,
            question=without_embeds(lead + question.spoken),
            full=without_embeds(lead + question.full),
            details=without_embeds(question.details),
            expires_at=dt_util.utcnow() + timedelta(seconds=seconds),
            deadline=self._hass.loop.time() + seconds,
            unattended=unattended,
            own=own,
        )
        for older in self.pending:
            if older.owner == action.owner and not unattended:
                await self._async_end(older, ActionOutcome.SUPERSEDED)
        self._pending[action.id] = action
        self._late.note_asked(action.owner, action.deadline)
        while len(self._pending) > MAX_PENDING:
            crowding = most_crowding(one.owner for one in self.pending)
            oldest = next(one for one in self.pending if one.owner.speaker == crowding.speaker)
            await self._async_end(oldest, ActionOutcome.WITHDRAWN)

        async def expire(_now: datetime) -> None:
            if action.id in self._pending:
                await self._async_end(action, ActionOutcome.EXPIRED)

        action.stop_timer = async_call_later(self._hass, seconds, expire)
        self._remember()
        self._emitter.fire(
            EVENT_CONFIRMATION_REQUESTED,
            ConfirmationRequested(
                action_id=action.id,
                summary=action.question,
                expires_at=action.expires_at.isoformat(),
                conversation_id=action.owner.conversation_id,
                user_id=action.owner.user_id,
                person=action.speaker.person_id,
            ),
            action.speaker.context,
        )
        await self._async_tell(lambda channel: channel.async_ask(action))
        return action

    @callback
    def waiting_for(self, owner: Owner, *, include_unattended: bool = False) -> PendingAction | None:
        """Return the action that waits for this very speaker in this very conversation.

        `include_unattended` also returns an action whose question was not put in the conversation.
        """
        return next(
            (
                action
                for action in reversed(self.pending)
                if action.owner == owner
                and (include_unattended or not action.unattended)
                and not self._is_late(action)
            ),
            None,
        )

    @callback
    def expects_pin(self, owner: Owner) -> bool:
        """Return whether this speaker was asked for the PIN a short while ago, answered by now or not."""
        return self.wants_pin and self._late.was_asked(owner)

    @callback
    def take_ended(self, owner: Owner) -> ActionOutcome | None:
        """Return how an action ended that this speaker may still want to answer, and forget it."""
        return self._late.take_ended(owner)

    async def async_approve(self, action_id: str, *, user: User | None, pin: str | None = None) -> None:
        """Run an action that was confirmed outside the conversation.

        Raises ConfirmationRefused if the word does not count, and HomeAgentError if the action fails.
        """
        action = self._find(action_id)
        if not self.may_answer(action, user) and not (user is None and pin and self.needs_pin(action)):
            raise ConfirmationRefused(Refusal.NOT_YOURS)
        answerer = None
        if action.own is not None and user is not None:
            context = Context(user_id=user.id)
            answerer = Speaker(context=context, language=action.speaker.language)
        await self.async_approve_owned(action, pin=pin, answerer=answerer)

    async def async_approve_owned(
        self,
        action: PendingAction,
        *,
        pin: str | None = None,
        by_automation: bool = False,
        answerer: Speaker | None = None,
    ) -> None:
        """Run an action that its owner has confirmed in the conversation.

        An automation needs the PIN, since no person has confirmed it. What Home Agent has asked about on its
        own runs with the rights of the one who answers.

        Raises ConfirmationRefused if a PIN is missing or wrong, and HomeAgentError if the action fails.
        """
        if self.needs_pin(action):
            await self._async_check_pin(action, pin)
        elif by_automation:
            raise ConfirmationRefused(Refusal.AUTOMATION)
        if self._is_late(action) or self._pending.pop(action.id, None) is None:
            raise ConfirmationRefused(Refusal.UNKNOWN)
        if answerer is not None:
            action.answered_by(answerer)
        try:
            await self._run(action)
        except BaseException:
            await self._async_end(action, ActionOutcome.FAILED)
            raise
        await self._async_end(action, ActionOutcome.APPROVED)

    async def async_reject(self, action_id: str, *, user: User | None) -> None:
        """Drop an action. Raises ConfirmationRefused for one that is not pending or not the user's."""
        action = self._find(action_id)
        if user is not None and not self.may_answer(action, user) and not user.is_admin:
            raise ConfirmationRefused(Refusal.NOT_YOURS)
        await self._async_end(action, ActionOutcome.REJECTED)

    async def async_drop(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Drop an action on its owner's word."""
        if action.id in self._pending:
            await self._async_end(action, outcome)

    def _find(self, action_id: str) -> PendingAction:
        """Return a pending action. Raises ConfirmationRefused if there is none."""
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
        if user is None or not user.is_active or (action.own and user.id not in action.own.users):
            return False
        if action.owner.user_id is not None:
            return user.id == action.owner.user_id
        return all(
            user.permissions.check_entity(entity_id, POLICY_CONTROL) for entity_id in action.entity_ids
        ) and (user.is_admin or bool(action.entity_ids))

    async def _async_check_pin(self, action: PendingAction, pin: str | None) -> None:
        """Compare a PIN. Raises ConfirmationRefused; after some wrong ones the action is discarded."""
        if not pin:
            raise ConfirmationRefused(Refusal.PIN_NEEDED)
        # Counted before it is compared, so that tries at the same time count too.
        action.tries += 1
        look = Look.LOCKED if action.tries > MAX_TRIES else await self._pins.async_look(pin)
        if look is Look.RIGHT:
            return
        if look is Look.LOCKED or action.tries >= MAX_TRIES:
            await self.async_drop(action, ActionOutcome.WRONG_PIN)
            raise ConfirmationRefused(Refusal.PIN_LOCKED)
        raise ConfirmationRefused(Refusal.PIN_WRONG)

    async def _async_end(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Take an action out and say how it ended."""
        self._pending.pop(action.id, None)
        action.stop_timer()
        if (
            outcome in (ActionOutcome.EXPIRED, ActionOutcome.WITHDRAWN, ActionOutcome.WRONG_PIN)
            and not action.unattended
        ):
            self._late.note_ended(action.owner, outcome)
        self._remember()
        self._emitter.fire(
            EVENT_CONFIRMATION_RESOLVED,
            ConfirmationResolved(action_id=action.id, outcome=outcome.value),
            action.speaker.context,
        )
        await self._async_tell(lambda channel: channel.async_settled(action, outcome))

    async def _async_tell(self, tell: Callable[[ConfirmationChannel], Awaitable[None]]) -> None:
        """Tell all channels; one that fails does not stop the others."""
        found = await asyncio.gather(*(tell(channel) for channel in self.channels), return_exceptions=True)
        for channel, problem in zip(self.channels, found, strict=True):
            if isinstance(problem, Exception):
                name = type(channel).__name__
                LOGGER.warning("%s could not be told of a confirmation: %s", name, problem)
                self._emitter.fire_error(
                    "channels", problem, "a confirmation could not be announced", channel=name
                )

    @callback
    def _remember(self) -> None:
        """Store the pending actions, without their content."""
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
