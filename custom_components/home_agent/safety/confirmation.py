"""Confirmations: calls that wait until a person confirms them.

What was asked is frozen. It runs at most once, in time, and only on the word of the one who asked for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypedDict, override

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later
from homeassistant.util import dt as dt_util

from ..const import (
    CONF_POLICY_PIN,
    CONF_POLICY_PIN_ALWAYS,
    CONF_POLICY_PINS,
    CONF_POLICY_TIMEOUT,
    DOMAIN,
    EVENT_CONFIRMATION_REQUESTED,
    EVENT_CONFIRMATION_RESOLVED,
    LOGGER,
)
from ..errors import HomeAgentError
from ..events import EventEmitter
from ..knowledge.speaker import PERSON, Speaker, entity_of_person
from ..store import KeptStore, dump, load, read_list, read_moment
from ..texts import without_embeds
from .frozen import (
    CallOrigin,
    Frozen,
    FrozenCall,
    FrozenIntent,
    FrozenLook,
    FrozenPlan,
    FrozenTool,
    WaitingCalls,
)
from .journal import AuditKind, Journal
from .rules import PIN, Verdict
from .spoken_numbers import matches

MAX_PENDING: Final = 20
"""Actions of one speaker that wait; nobody can push out what belongs to another one."""
MAX_TRIES: Final = 3
"""Wrong PINs for one question."""
MAX_WRONG: Final = 10
WRONG_WINDOW: Final = timedelta(hours=1)
"""So many wrong PINs within this time, of all agents together, and no PIN is looked at any more."""
REMEMBERED: Final = timedelta(minutes=5)
"""How long after its time a late answer is still recognized."""
REMEMBERED_LOST: Final = timedelta(minutes=10)
"""The same where a restart has denied the action."""
STORE_KEY: Final = f"{DOMAIN}.confirmations"
WRONG_PINS: Final = "wrong_pins"
"""Key of the file beside the ids of entries."""


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
class Addressee:
    """Whose answer counts, and where."""

    conversation_id: str
    user_id: str | None
    device_id: str | None

    @property
    def speaker(self) -> str:
        """Return an identity of the speaker that is the same in all conversations."""
        return self.user_id or self.device_id or ""

    def audited(self, action_id: str, outcome: str) -> dict[str, Any]:
        """Return what the audit log keeps of a step, without the question and the answer."""
        return {
            "user_id": self.user_id,
            "device_id": self.device_id,
            "conversation_id": self.conversation_id or None,
            "action_id": action_id,
            "outcome": outcome,
        }

    @property
    def after_restart(self) -> Addressee:
        """Return a person's or a device's owner in any conversation: a restart ends conversations."""
        return replace(self, conversation_id="") if self.speaker else self

    @classmethod
    def of(cls, speaker: Speaker, conversation_id: str) -> Addressee:
        """Return the owner of the speaker's requests in a conversation."""
        return cls(
            conversation_id=conversation_id, user_id=speaker.context.user_id, device_id=speaker.device_id
        )


class Question(NamedTuple):
    """The texts of a question."""

    spoken: str
    full: str
    """The question with details that are too long for speech, for people who read it."""
    details: str = ""
    """The YAML of an automation, which a screen shows below the question."""


class OwnQuestion(NamedTuple):
    """How a question is asked that no person's request has led to."""

    users: frozenset[str]
    """The users who are asked; nobody else may answer on a phone, in a chat or in the panel."""
    lead: str
    """What is said before the question."""
    seconds: float
    """How long an answer counts."""
    verdict: Verdict
    """The strictest for one of those who are asked: whether the action needs a confirmation in any case."""


class ConfirmationRequest(TypedDict):
    """What the caller of a service or a tool needs to get an answer. `expires_at` is ISO 8601."""

    action_id: str
    question: str
    expires_at: str


@dataclass(slots=True, kw_only=True)
class PendingAction:
    """One action that waits."""

    id: str
    owner: Addressee
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
    wants_pin: bool = False
    """Whether a rule asks for the PIN."""
    rest: str = ""
    """What else was said beside an answer that did not settle it."""
    stop_timer: Callable[[], None] = lambda: None
    ended: asyncio.Future[ActionOutcome]
    """How it ended, at last."""

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
            "question": without_embeds(self.question),
            "expires_at": self.expires_at.isoformat(),
        }

    def audited(self, outcome: str) -> dict[str, Any]:
        """Return what the audit log keeps of a step: no service if the calls differ or are none."""
        services = {
            f"{call.domain}.{call.service}"
            for item in self.frozen
            for call in ((item,) if isinstance(item, FrozenCall) else getattr(item, "calls", ()))
        }
        fields = self.owner.audited(self.id, outcome)
        fields["service"] = services.pop() if len(services) == 1 else None
        fields["targets"] = sorted(self.entity_ids)
        return fields

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """An action that waited when Home Assistant stopped. What it would have done is not kept."""

    action_id: str
    owner: Addressee
    expires_at: datetime


class ConfirmationStore(KeptStore):
    """The file of all entries: what waits, and when wrong PINs were tried."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._waiting: dict[str, list[dict[str, Any]]] = {}
        """By entry; until an entry is loaded, what it left behind."""
        self._wrong_pins: list[datetime] = []
        super().__init__(hass, STORE_KEY, self._content)

    @override
    async def async_load(self) -> None:
        """Read the actions that were pending when Home Assistant stopped."""
        content = await self.async_read()
        self._waiting = {key: items for key, items in content.items() if isinstance(items, list)}
        self._wrong_pins, _unread = read_list(self._waiting.pop(WRONG_PINS, []), read_moment)

    @callback
    def take_lost(self, entry_id: str) -> list[Lost]:
        """Return the lost actions of an entry, once."""
        stored = self._waiting.pop(entry_id, [])
        return read_list(stored, lambda item: load(Lost, {**item, "owner": item}))[0]

    @callback
    def note(self, entry_id: str, waiting: Iterable[PendingAction]) -> None:
        """Store the pending actions, without their content."""
        self._waiting[entry_id] = [
            {"action_id": action.id, **dump(action.owner), "expires_at": dump(action.expires_at)}
            for action in waiting
        ]
        self._save()

    @callback
    def count_pin(self) -> datetime | None:
        """Count the try of a PIN as a wrong one; return None if there were too many in the whole home."""
        now = dt_util.utcnow()
        # A clock that was wrong may have left times to come; they must not lock PINs for good.
        self._wrong_pins = [at for at in self._wrong_pins if abs(now - at) < WRONG_WINDOW]
        if len(self._wrong_pins) >= MAX_WRONG:
            return None
        self._wrong_pins.append(now)
        self._save()
        return now

    @callback
    def note_right_pin(self, tried: datetime) -> None:
        """Take back a try that was counted: the PIN was right."""
        self._wrong_pins.remove(tried)
        self._save()

    def _save(self) -> None:
        """Write at once: what waits expires within a minute, and a restart must not help to guess a PIN."""
        self.hass.async_create_task(self.async_save(self._content()), "home_agent confirmations")

    def _content(self) -> dict[str, Any]:
        waiting = {entry_id: list(items) for entry_id, items in self._waiting.items() if items}
        return {**waiting, WRONG_PINS: dump(self._wrong_pins)}


type Describe = Callable[[HomeAssistant, str, tuple[Frozen, ...], bool], Awaitable[Question]]
"""Words a question; the last argument says whether something was left out."""


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
        self.key = reason.value
        self.reason = reason
        self.asks_again = reason in (Refusal.PIN_NEEDED, Refusal.PIN_WRONG)
        super().__init__()


class ConfirmationChannel:
    """A way to ask people beside the conversation: a notification, a messenger, a panel.

    An answer goes to `Confirmations.async_approve` or `async_reject`, with the user who gave it.
    """

    async def async_ask(self, action: PendingAction) -> None:
        """Ask about an action."""

    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Take the question back: it has its answer."""


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
        journal: Journal,
        describe: Describe,
        run: Callable[[PendingAction], Awaitable[None]],
        wants_pin: Callable[[Iterable[Frozen], Speaker], Awaitable[bool]],
    ) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._seconds = float(settings[CONF_POLICY_TIMEOUT])
        self._pin: str = settings[CONF_POLICY_PIN]
        """The hash of the household's PIN; empty if there is none."""
        self._own_pins: dict[str, str] = {item[PERSON]: item[PIN] for item in settings[CONF_POLICY_PINS]}
        self._asks_pin_always: bool = settings[CONF_POLICY_PIN_ALWAYS]
        self._emitter = emitter
        self._store = store
        self._journal = journal
        self._describe = describe
        self._run = run
        self._wants_pin = wants_pin
        self._pending: dict[str, PendingAction] = {}
        self._late: dict[Addressee, tuple[datetime, ActionOutcome | None]] = {}
        """Who was asked, until when a late answer is recognized, and how it ended without one."""
        self.channels: list[ConfirmationChannel] = []

    @property
    def pending(self) -> list[PendingAction]:
        """Return the pending actions, the oldest first."""
        return list(self._pending.values())

    def has(self, action_id: str) -> bool:
        """Return whether an action waits here."""
        return action_id in self._pending

    @property
    def has_pin(self) -> bool:
        """Return whether the household has set any PIN, so that one may be said."""
        return bool(self._pin or self._own_pins)

    @callback
    def async_start(self) -> None:
        """Deny actions that were pending when Home Assistant stopped."""
        for lost in self._store.take_lost(self._entry_id):
            self._remember(
                lost.owner.after_restart, lost.expires_at + REMEMBERED_LOST, ActionOutcome.RESTARTED
            )
            audited = lost.owner.audited(lost.action_id, ActionOutcome.RESTARTED.value)
            self._note_resolved(audited, Context())

    async def async_stop(self) -> None:
        """Withdraw everything: the policy may have changed when the entry comes back."""
        for action in self.pending:
            await self._async_end(action, ActionOutcome.WITHDRAWN)

    def needs_pin(self, action: PendingAction, answerer: Speaker | None = None) -> bool:
        """Return whether a yes to this action needs the PIN: by a rule, or as every confirmation does.

        What is free and only Home Agent asked about needs none. Where it has asked several people, one of
        whom needs the PIN, `answerer` says who answers.
        """
        own = action.own
        if action.wants_pin or (own is not None and not own.verdict.asks):
            return action.wants_pin
        asked = [action.speaker]
        if answerer is not None:
            asked = [answerer]
        elif own is not None:
            asked += [replace(action.speaker, context=Context(user_id=user_id)) for user_id in own.users]
        return self._asks_pin_always and any(map(self._pin_of, asked))

    @callback
    def _pin_of(self, speaker: Speaker) -> str:
        """Return the hash of the PIN that a speaker needs; with an empty one none is right.

        Only an account tells who speaks: at a satellite it is the household's.
        """
        user_id = speaker.context.user_id
        person = user_id and entity_of_person(self._hass, person_id=None, user_id=user_id)
        return self._own_pins.get(person or "", self._pin)

    async def async_open(
        self, draft: WaitingCalls, *, unattended: bool = False, own: OwnQuestion | None = None
    ) -> PendingAction:
        """Ask about the calls of a turn, or of Home Agent's own accord, and schedule their expiry."""
        action_id, frozen, left_out = draft.take()
        question = await self._describe(self._hass, draft.speaker.language, frozen, left_out)
        seconds, lead = (own.seconds, f"{own.lead} ".lstrip()) if own else (self._seconds, "")
        by_rule = own.verdict is Verdict.PIN if own else await self._wants_pin(frozen, draft.speaker)
        action = PendingAction(
            id=action_id,
            owner=Addressee.of(draft.speaker, draft.conversation_id),
            speaker=draft.speaker,
            frozen=frozen,
            question=lead + question.spoken,
            full=lead + question.full,
            details=question.details,
            expires_at=dt_util.utcnow() + timedelta(seconds=seconds),
            deadline=self._hass.loop.time() + seconds,
            unattended=unattended,
            own=own,
            wants_pin=by_rule,
            ended=self._hass.loop.create_future(),
        )
        for older in self.pending:
            if older.owner == action.owner and not unattended:
                await self._async_end(older, ActionOutcome.SUPERSEDED)
        self._pending[action.id] = action
        self._remember(action.owner, action.expires_at + REMEMBERED, None)
        own_actions = [one for one in self.pending if one.owner.speaker == action.owner.speaker]
        for oldest in own_actions[:-MAX_PENDING]:
            await self._async_end(oldest, ActionOutcome.WITHDRAWN)

        async def expire(_now: datetime) -> None:
            if action.id in self._pending:
                await self._async_end(action, ActionOutcome.EXPIRED)

        action.stop_timer = async_call_later(self._hass, seconds, expire)
        self._store.note(self._entry_id, self.pending)
        self._journal.note(AuditKind.CONFIRMATION, **action.audited("requested"))
        self._emitter.fire(
            EVENT_CONFIRMATION_REQUESTED,
            {
                "action_id": action.id,
                "summary": without_embeds(action.question),
                "expires_at": action.expires_at.isoformat(),
                "conversation_id": action.owner.conversation_id,
                "user_id": action.owner.user_id,
                "person": action.speaker.person_id,
            },
            action.speaker.context,
        )
        await self._async_tell(lambda channel: channel.async_ask(action))
        return action

    @callback
    def waiting_for(self, owner: Addressee, *, include_unattended: bool = False) -> PendingAction | None:
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
    def expects_pin(self, owner: Addressee) -> bool:
        """Return whether this speaker was asked for the PIN a short while ago, answered by now or not."""
        return self.has_pin and any(
            dt_util.utcnow() < self._late[key][0] for key in (owner, owner.after_restart) if key in self._late
        )

    @callback
    def take_ended(self, owner: Addressee) -> ActionOutcome | None:
        """Return how an action ended that this speaker may still want to answer, and forget it."""
        for key in (owner, owner.after_restart):
            until, outcome = self._late.get(key, (dt_util.utcnow(), None))
            if outcome is not None and dt_util.utcnow() < until:
                self._late[key] = until, None
                return outcome
        return None

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
        if self.needs_pin(action, answerer):
            if not pin:
                raise ConfirmationRefused(Refusal.PIN_NEEDED)
            # Counted before it is compared, so that tries at the same time count too.
            action.tries += 1
            tried = self._store.count_pin() if action.tries <= MAX_TRIES else None
            kept = self._pin_of(answerer or action.speaker)
            if tried is None or not await self._hass.async_add_executor_job(matches, pin, kept):
                if tried is not None and action.tries < MAX_TRIES:
                    raise ConfirmationRefused(Refusal.PIN_WRONG)
                await self.async_drop(action, ActionOutcome.WRONG_PIN)
                raise ConfirmationRefused(Refusal.PIN_LOCKED)
            self._store.note_right_pin(tried)
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
        action = self._pending.get(action_id)
        if action is None or self._is_late(action):
            raise ConfirmationRefused(Refusal.UNKNOWN)
        return action

    def _is_late(self, action: PendingAction) -> bool:
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

    async def async_asked_of(self, action: PendingAction, user_id: str | None) -> bool:
        """Return whether a user is asked elsewhere; an unknown voice is asked where it speaks alone."""
        if user_id is None or (action.owner.user_id is None and not action.unattended):
            return False
        return self.may_answer(action, await self._hass.auth.async_get_user(user_id))

    async def _async_end(self, action: PendingAction, outcome: ActionOutcome) -> None:
        self._pending.pop(action.id, None)
        action.stop_timer()
        if not action.ended.done():
            action.ended.set_result(outcome)
        if (
            outcome in (ActionOutcome.EXPIRED, ActionOutcome.WITHDRAWN, ActionOutcome.WRONG_PIN)
            and not action.unattended
        ):
            self._remember(action.owner, dt_util.utcnow() + REMEMBERED, outcome)
        self._store.note(self._entry_id, self.pending)
        self._note_resolved(action.audited(outcome.value), action.speaker.context)
        await self._async_tell(lambda channel: channel.async_settled(action, outcome))

    @callback
    def _note_resolved(self, audited: Mapping[str, Any], context: Context) -> None:
        self._journal.note(AuditKind.CONFIRMATION, **audited)
        resolved = {key: audited[key] for key in ("action_id", "outcome")}
        self._emitter.fire(EVENT_CONFIRMATION_RESOLVED, resolved, context)

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
    def _remember(self, owner: Addressee, until: datetime, outcome: ActionOutcome | None) -> None:
        """Remember that somebody was asked, so that a late answer is recognized and a PIN is masked."""
        now = dt_util.utcnow()
        self._late = {one: late for one, late in self._late.items() if now < late[0]}
        self._late[owner] = until, outcome
