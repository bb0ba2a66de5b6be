"""Questions that Home Agent asks on its own: by voice, on phones and in chats, answered once and by one."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, override

from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, callback
from homeassistant.util.ulid import ulid_now

from ..agent.describe import async_carry_out, async_phrase, async_question, ordered
from ..const import CONF_ALLOW_SCRIPTS, CONF_DEVICE_PERSONS, LOGGER
from ..errors import ToolExecutionError
from ..knowledge.speaker import Speaker, Surface, async_speaker_at
from ..safety.answers import Answer, Read, read_reply
from ..safety.confirmation import (
    ActionOutcome,
    ConfirmationChannel,
    ConfirmationRefused,
    Confirmations,
    OwnQuestion,
    PendingAction,
)
from ..safety.frozen import ServiceCall
from ..safety.rules import Verdict
from ..tools.control.planning import propose
from ..tools.guard import Guard
from ..tools.own_calls import async_announce, async_ask_question
from ..tools.people import user_id_of
from .satellites import can_ask, device_of, language_of, near_somebody

MAX_ROUNDS: Final = 3
"""How often a satellite asks: once, and again for what was not understood or is missing."""
MAX_SATELLITES: Final = 3
"""How many satellites ask, one after the other, until somebody answers."""

type Lead = Callable[[str], Awaitable[str]]
"""Returns what is said before a question, in a language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receivers:
    """Who is asked: persons by phone and chat, satellites by voice."""

    persons: tuple[str, ...] = ()
    satellites: tuple[str, ...] = ()


class Asker(ConfirmationChannel):
    """Asks whether to do something, and has it done after a yes."""

    def __init__(
        self, hass: HomeAssistant, settings: Mapping[str, Any], guard: Guard, confirmations: Confirmations
    ) -> None:
        self._hass = hass
        self._gated = bool(settings[CONF_ALLOW_SCRIPTS])
        self._owners = settings[CONF_DEVICE_PERSONS]
        self._guard = guard
        self._confirmations = confirmations
        self._asked: dict[str, asyncio.Future[ActionOutcome]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Begin to hear how questions end; return how to stop."""
        self._confirmations.channels.append(self)

        @callback
        def stop() -> None:
            for task in self._tasks:
                task.cancel()

        return stop

    @callback
    def propose(self, verb: str, entity_ids: Iterable[str]) -> tuple[ServiceCall, ...]:
        """Return the calls of an action. Raises ValidationError if an entity cannot do it now."""
        return propose(self._hass, verb, entity_ids, gated=self._gated)

    @callback
    def near_somebody(self) -> tuple[str, ...]:
        """Return the satellites in rooms where somebody is, as far as the agent may see that."""
        return tuple(near_somebody(self._hass, self._guard.is_exposed))

    async def async_propose(
        self, proposal: Sequence[ServiceCall], lead: Lead, receivers: Receivers, seconds: float
    ) -> ActionOutcome | None:
        """Ask whether to do something, and return how that ended; None if nobody may say yes to it.

        Each receiver is judged before they are asked, and again with their answer. The first answer counts.
        """
        users, speakers, restricted = await self._async_judged(proposal, receivers)
        if not users and not speakers:
            return None
        language = self._hass.config.language
        draft = self._guard.draft_of(
            proposal,
            Speaker(
                context=Context(),
                language=language,
                surface=Surface.AUTOMATION,
                conversation_id=f"asked {ulid_now()}",
            ),
        )
        own = OwnQuestion(users=users, lead=await lead(language), seconds=seconds, restricted=restricted)
        done: asyncio.Future[ActionOutcome] = self._hass.loop.create_future()
        self._asked[draft.action_id] = done
        action_id = draft.action_id
        try:
            action = await self._confirmations.async_open(draft, unattended=True, own=own)
            if speakers:
                self._start(self._async_ask_aloud(action, speakers, lead))
            return await done
        finally:
            del self._asked[action_id]
            for left in self._confirmations.pending:
                if left.id == action_id:  # the one who asked has gone
                    await self._confirmations.async_drop(left, ActionOutcome.WITHDRAWN)

    @override
    async def async_ask(self, action: PendingAction) -> None:
        """Do nothing: what is asked aloud is asked by `async_propose`."""

    @override
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Tell the one who asked how a question ended."""
        if (done := self._asked.get(action.id)) is not None and not done.done():
            done.set_result(outcome)

    @callback
    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._hass.async_create_background_task(work, "home_agent question")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _async_judged(
        self, proposal: Sequence[ServiceCall], receivers: Receivers
    ) -> tuple[frozenset[str], dict[str, Speaker], bool]:
        """Return the users and satellites that may say yes, and whether the action is restricted for any."""
        verdicts: list[Verdict] = []
        users: set[str] = set()
        speakers: dict[str, Speaker] = {}
        language = self._hass.config.language
        for user_id in filter(None, (user_id_of(self._hass, person) for person in receivers.persons)):
            speaker = Speaker(context=Context(user_id=user_id), language=language)
            if (verdict := await self._guard.async_verdict(proposal, speaker)) is not Verdict.BLOCK:
                users.add(user_id)
                verdicts.append(verdict)
        for entity_id in receivers.satellites[:MAX_SATELLITES]:
            speaker = await self._async_speaker_at(entity_id)
            if (verdict := await self._guard.async_verdict(proposal, speaker)) is not Verdict.BLOCK:
                speakers[entity_id] = speaker
                verdicts.append(verdict)
        return frozenset(users), speakers, Verdict.CONFIRM in verdicts

    async def _async_speaker_at(self, entity_id: str) -> Speaker:
        device_id, language = device_of(self._hass, entity_id), language_of(self._hass, entity_id)
        speaker = await async_speaker_at(self._hass, Context(), language, device_id, self._owners)
        return replace(speaker, voice=True, surface=Surface.VOICE)

    async def _async_ask_aloud(
        self, action: PendingAction, speakers: Mapping[str, Speaker], lead: Lead
    ) -> None:
        for entity_id, speaker in speakers.items():
            if not self._confirmations.has(action.id):
                return
            if can_ask(self._hass, entity_id) and await self._async_ask_on(entity_id, speaker, action, lead):
                return
        if action.own is None or not action.own.users:
            await self._confirmations.async_drop(action, ActionOutcome.EXPIRED)

    async def _async_ask_on(
        self, entity_id: str, speaker: Speaker, action: PendingAction, lead: Lead
    ) -> bool:
        """Ask on a satellite; return whether somebody answered."""
        language = speaker.language
        question = (await async_question(self._hass, language, action.frozen)).spoken
        needs_pin = self._confirmations.needs_pin(action)
        hint = await async_phrase(self._hass, language, "confirmation_pin_needed") if needs_pin else ""
        text = " ".join(part for part in (await lead(language), question, hint) if part)
        for _ in range(MAX_ROUNDS):
            try:
                heard = await async_ask_question(self._hass, entity_id, text)
            except ToolExecutionError as err:
                LOGGER.debug("Nobody answered a question on %s: %s", entity_id, err)
                return False
            if not self._confirmations.has(action.id):
                return True
            read = read_reply(heard, language, ordered(self._hass, action.frozen))
            said, is_done = await self._async_settle(action, speaker, read)
            if is_done:
                await self._async_say(entity_id, said)
                return True
            text = said or await async_phrase(self._hass, language, "ask_yes_or_no", question=question)
        return False

    async def _async_settle(self, action: PendingAction, speaker: Speaker, read: Read) -> tuple[str, bool]:
        """Carry an answer out; return what is said, nothing if it was unclear, and whether that is all."""
        language, confirmations = speaker.language, self._confirmations
        if read.answer is Answer.NO:
            await confirmations.async_drop(action, ActionOutcome.REJECTED)
            return await async_phrase(self._hass, language, "confirmation_rejected"), True
        if read.answer is Answer.OTHER or (read.has_digits and not confirmations.needs_pin(action)):
            return "", False
        if read.answer is Answer.NUMBERS:
            return await async_phrase(self._hass, language, "confirmation_pin_unclear"), False
        approving = confirmations.async_approve_owned(action, pin=read.pin or None, answerer=speaker)
        said, err = await async_carry_out(self._hass, action, language, approving)
        return said, not (isinstance(err, ConfirmationRefused) and err.asks_again)

    async def _async_say(self, entity_id: str, sentence: str) -> None:
        try:
            await async_announce(self._hass, entity_id, sentence)
        except ToolExecutionError as err:
            LOGGER.debug("The end of a question was not said: %s", err)
