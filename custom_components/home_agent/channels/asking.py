"""Questions that Home Agent asks on its own: by voice, on phones and in chats, answered once and by one."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from homeassistant.auth.models import User
from homeassistant.components.binary_sensor.const import BinarySensorDeviceClass
from homeassistant.const import ATTR_DEVICE_CLASS, STATE_ON
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.util.ulid import ulid_now

from ..agent.describe import async_carry_out, async_phrase, async_question, ordered
from ..const import CONF_ALLOW_SCRIPTS, CONF_DEVICE_PERSONS, CONF_NOTIFY_TARGETS, LOGGER
from ..domains.features import supports
from ..errors import HomeAgentError, ToolExecutionError
from ..events import EventEmitter
from ..knowledge.speaker import Speaker, Surface, async_speaker_at, pipeline_of
from ..safety.answers import Answer, read_reply
from ..safety.confirmation import (
    ActionOutcome,
    ConfirmationRefused,
    Confirmations,
    OwnQuestion,
    PendingAction,
)
from ..safety.frozen import ServiceCall
from ..safety.rules import Verdict
from ..texts import fold, one_line
from ..tools.control.planning import propose
from ..tools.everyday.notify_tool import Inquiry
from ..tools.guard import Guard
from ..tools.messages import heard_on
from ..tools.own_calls import async_announce, async_ask_question
from ..tools.recipients import (
    ChatQuestion,
    PersonalChats,
    Route,
    chats_of,
    is_spoken,
    read_targets,
    route_to,
    user_id_of,
)
from .announcing import Announcer
from .phones import CLEAR, async_on_press, async_send_to, tagged

SATELLITE: Final = "assist_satellite"
IDLE: Final = "idle"
PRESENCE: Final = frozenset(
    {
        BinarySensorDeviceClass.MOTION,
        BinarySensorDeviceClass.OCCUPANCY,
        BinarySensorDeviceClass.PRESENCE,
    }
)
YES: Final = "yes"
NO: Final = "no"
ANSWER: Final = "HOME_AGENT_ANSWER_"
MAX_ROUNDS: Final = 3
"""How often a satellite asks: once, and again for what was not understood or is missing."""
MAX_SATELLITES: Final = 3
"""How many satellites ask, one after the other, until somebody answers."""

type Lead = Callable[[str], Awaitable[str]]
"""Returns what is said before a question, in a language."""


class Receivers(NamedTuple):
    """Who is asked: persons by phone and chat, satellites by voice."""

    persons: tuple[str, ...] = ()
    satellites: tuple[str, ...] = ()


class Chosen(NamedTuple):
    """An answer, and the person or the satellite that gave it."""

    answer: str
    by: str


class Questions:
    """Asks whether to do something, and has it done after a yes; or asks for one of several answers."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        settings: Mapping[str, Any],
        *,
        guard: Guard,
        confirmations: Confirmations,
        emitter: EventEmitter,
    ) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._gated = bool(settings[CONF_ALLOW_SCRIPTS])
        self._owners = settings[CONF_DEVICE_PERSONS]
        self._targets = read_targets(settings[CONF_NOTIFY_TARGETS])
        self._guard = guard
        self._confirmations = confirmations
        self._emitter = emitter
        self._tasks: set[asyncio.Task[None]] = set()

    @callback
    def async_stop(self) -> None:
        """Ask nothing more."""
        for task in self._tasks:
            task.cancel()

    @callback
    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Ask in the background, until the agent is unloaded."""
        task = self._hass.async_create_background_task(work, "home_agent question")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @callback
    def propose(self, verb: str, entity_ids: Iterable[str]) -> tuple[ServiceCall, ...]:
        """Return the calls of an action. Raises ValidationError if an entity cannot do it now."""
        return propose(self._hass, verb, entity_ids, gated=self._gated)

    @callback
    def near_somebody(self) -> tuple[str, ...]:
        """Return a free satellite of each room where an exposed sensor shows that somebody is there.

        The room whose sensor changed last comes first.
        """
        free: dict[str | None, str] = {}
        for state in self._hass.states.async_all(SATELLITE):
            if can_ask(self._hass, state.entity_id):
                free.setdefault(_area_of(self._hass, state.entity_id), state.entity_id)
        found = []
        sensors = self._hass.states.async_all("binary_sensor")
        for state in sorted(sensors, key=lambda state: state.last_changed, reverse=True):
            shows = state.state == STATE_ON and state.attributes.get(ATTR_DEVICE_CLASS) in PRESENCE
            if shows and self._guard.is_exposed(state.entity_id):
                area = _area_of(self._hass, state.entity_id)
                if area and area in free:
                    found.append(free.pop(area))
        return tuple(found)

    async def async_propose(
        self, proposal: Sequence[ServiceCall], lead: Lead, receivers: Receivers, seconds: float
    ) -> ActionOutcome | None:
        """Ask whether to do something, and return how that ended; None if nobody may say yes to it.

        Each receiver is judged before they are asked, and again with their answer. The first answer counts.
        """
        language = self._hass.config.language
        asked: dict[str, Speaker] = {}
        for user_id in filter(None, (user_id_of(self._hass, person) for person in receivers.persons)):
            asked[user_id] = Speaker(context=Context(user_id=user_id), language=language)
        for entity_id in receivers.satellites[:MAX_SATELLITES]:
            entry = er.async_get(self._hass).async_get(entity_id)
            device_id = entry.device_id if entry else None
            spoken = language_of(self._hass, entity_id)
            speaker = await async_speaker_at(self._hass, Context(), spoken, device_id, self._owners)
            asked[entity_id] = replace(speaker, voice=True, surface=Surface.VOICE)
        verdicts = {key: await self._guard.async_verdict(proposal, asked[key]) for key in asked}
        verdicts = {key: verdict for key, verdict in verdicts.items() if verdict is not Verdict.BLOCK}
        if not verdicts:
            return None
        strictest = max(verdicts.values())
        speakers = {key: asked[key] for key in verdicts if asked[key].voice}
        draft = self._guard.draft_of(
            proposal,
            Speaker(
                context=Context(),
                language=language,
                surface=Surface.AUTOMATION,
                conversation_id=f"asked {ulid_now()}",
            ),
            pin=strictest is Verdict.PIN,
        )
        users = frozenset(verdicts.keys() - speakers)
        own = OwnQuestion(users=users, lead=await lead(language), seconds=seconds, verdict=strictest)
        action_id = draft.action_id
        try:
            action = await self._confirmations.async_open(draft, unattended=True, own=own)
            if speakers:
                self.begin(self._async_propose_aloud(action, speakers, lead))
            return await action.ended
        finally:
            for left in self._confirmations.pending:
                if left.id == action_id:  # the one who asked has gone
                    await self._confirmations.async_drop(left, ActionOutcome.WITHDRAWN)

    @callback
    def reaches(self, receivers: Receivers) -> bool:
        """Return whether anybody can be asked now."""
        persons = receivers.persons
        return bool(self._routes(persons) or self._chats_of(persons)) or any(
            can_ask(self._hass, entity_id) for entity_id in receivers.satellites
        )

    async def async_choose(
        self,
        question: str,
        answers: Sequence[str] | None,
        receivers: Receivers,
        seconds: float,
        *,
        asked_id: str = "",
        chosen: asyncio.Future[Chosen] | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> Chosen | None:
        """Ask, and return the first answer, None if there is none in time. Nothing is done about it here.

        Empty `answers` mean yes or no, and None means that people answer in their own words. Whoever passes
        `chosen` may answer as well. A second question with the id of an earlier one takes its place on
        phones, which get `data` beside it.
        """
        asked_id, is_free, language = asked_id or ulid_now(), answers is None, self._hass.config.language
        titles = {answer: answer for answer in answers or ()}
        for key in () if titles or is_free else (YES, NO):
            titles[key] = await async_phrase(self._hass, language, f"confirmation_{key}")
        by_button = {f"{ANSWER}{asked_id}_{number}": answer for number, answer in enumerate(titles)}
        buttons = [{"action": button, "title": titles[answer]} for button, answer in by_button.items()]
        if is_free:
            by_button = {f"{ANSWER}{asked_id}": ""}
            title = await async_phrase(self._hass, language, "intercom_reply")
            buttons = [{"action": button, "title": title, "behavior": "textInput"} for button in by_button]
        chosen = chosen or self._hass.loop.create_future()
        routes = self._routes(receivers.persons)
        users = {user_id_of(self._hass, person): person for person in receivers.persons}
        chats = self._chats_of(receivers.persons)

        @callback
        def take(user_id: str, answer: str) -> None:
            if not chosen.done():
                chosen.set_result(Chosen(answer, users[user_id]))

        async def async_pressed(user: User, button: str, reply: str) -> None:
            if button in by_button and user.id in users and (answer := by_button[button] or reply):
                take(user.id, answer)

        stop = async_on_press(self._hass, async_pressed)

        async def async_choose_aloud() -> None:
            for entity_id in receivers.satellites:

                async def async_take(heard: str, entity_id: str = entity_id) -> str:
                    answer = heard if is_free else meant(heard, titles, language_of(self._hass, entity_id))
                    if answer is not None and not chosen.done():
                        chosen.set_result(Chosen(answer, entity_id))
                    return question if answer is None else ""

                if await self._async_ask_on(entity_id, question, async_take):
                    return

        aloud = self._hass.async_create_background_task(async_choose_aloud(), "home_agent question")
        try:
            shown = {**(data or {}), "actions": buttons, "timeout": int(seconds)}
            await self._async_send(routes, question, asked_id, **shown)
            if chats is not None:
                whom = frozenset(filter(None, users))
                await chats.async_ask(
                    ChatQuestion(id=asked_id, text=question, titles=titles, users=whom, take=take)
                )
            async with asyncio.timeout(seconds):
                if not routes and chats is None:
                    await aloud
                    return chosen.result() if chosen.done() else None
                return await chosen
        except TimeoutError:
            return None
        finally:
            stop()
            aloud.cancel()
            await self._async_send([route for route in routes if route.can_clear], CLEAR, asked_id)
            if chats is not None:
                answer = chosen.result().answer if chosen.done() and not chosen.cancelled() else None
                await chats.async_end(asked_id, answer)

    async def _async_propose_aloud(
        self, action: PendingAction, speakers: Mapping[str, Speaker], lead: Lead
    ) -> None:
        for entity_id, speaker in speakers.items():
            if not self._confirmations.has(action.id):
                return
            language = speaker.language
            question = (await async_question(self._hass, language, action.frozen)).spoken
            needs_pin = self._confirmations.needs_pin(action)
            hint = await async_phrase(self._hass, language, "confirmation_pin_needed") if needs_pin else ""

            async def async_take(
                heard: str, entity_id: str = entity_id, speaker: Speaker = speaker, question: str = question
            ) -> str:
                if not self._confirmations.has(action.id):
                    return ""
                said, is_done = await self._async_settle(action, speaker, heard)
                if not is_done:
                    return said or await async_phrase(
                        self._hass, speaker.language, "ask_yes_or_no", question=question
                    )
                try:
                    await async_announce(self._hass, entity_id, said)
                except ToolExecutionError as err:
                    LOGGER.debug("The end of a question was not said: %s", err)
                return ""

            text = " ".join(part for part in (await lead(language), question, hint) if part)
            if await self._async_ask_on(entity_id, text, async_take):
                return
        if action.own is None or not action.own.users:
            await self._confirmations.async_drop(action, ActionOutcome.EXPIRED)

    async def _async_ask_on(self, entity_id: str, text: str, take: Callable[[str], Awaitable[str]]) -> bool:
        """Ask on a satellite; `take` returns what is asked next. Return whether an answer was the last."""
        if not can_ask(self._hass, entity_id):
            return False
        for _ in range(MAX_ROUNDS):
            try:
                heard = await async_ask_question(self._hass, entity_id, text)
            except ToolExecutionError as err:
                LOGGER.debug("Nobody answered a question on %s: %s", entity_id, err)
                return False
            if not (text := await take(heard)):
                return True
        return False

    async def _async_settle(self, action: PendingAction, speaker: Speaker, heard: str) -> tuple[str, bool]:
        """Carry an answer out; return what is said, nothing if it was unclear, and whether that is all."""
        language, confirmations = speaker.language, self._confirmations
        read = read_reply(heard, language, ordered(self._hass, action.frozen))
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

    @callback
    def _chats_of(self, persons: Iterable[str]) -> PersonalChats | None:
        chats = chats_of(self._hass, self._entry_id)
        return chats if chats is not None and any(map(chats.of_person, persons)) else None

    @callback
    def _routes(self, persons: Iterable[str]) -> list[Route]:
        targets = [target for person in persons for target in self._targets.get(person, ())]
        found = (route_to(self._hass, target) for target in targets)
        return list(dict.fromkeys(route for route in found if route is not None and route.has_buttons))

    async def _async_send(self, routes: Sequence[Route], message: str, asked_id: str, **details: Any) -> None:
        data = tagged(f"home_agent_{asked_id}", **details)
        messages = {route: {"message": message, **data} for route in routes}
        await async_send_to(self._hass, messages, Context(), "a question was not sent", self._emitter)


ALOUD_SECONDS: Final = 120
WRITTEN_SECONDS: Final = 15 * 60
MAX_ANSWER: Final = 300


class Intercom:
    """Puts questions of people to others: aloud, else in writing. No model reads the reply."""

    def __init__(self, hass: HomeAssistant, guard: Guard, asker: Questions, announcer: Announcer) -> None:
        self._hass = hass
        self._guard = guard
        self._asker = asker
        self._announcer = announcer

    async def async_ask(self, asked: Inquiry) -> None:
        """Put a question in the background."""
        self._asker.begin(self._async_carry(asked))

    async def _async_carry(self, asked: Inquiry) -> None:
        area, question = ar.async_get(self._hass).async_get_area(asked.speaker.area_id or ""), asked.text
        if name := asked.speaker.person or (area.name if area else ""):
            names = {"name": name, "question": question}
            question = await async_phrase(self._hass, asked.owner.language, "intercom_question", **names)
        answer = ""
        try:
            answer = await self._async_ask(asked, question, ALOUD_SECONDS, aloud=True)
            answer = answer or await self._async_ask(asked, question, WRITTEN_SECONDS, aloud=False)
        finally:  # whoever asked was promised to hear of it, also where the agent is unloaded
            await self._announcer.async_tell_reply(asked.owner, asked.name, asked.text, answer)

    async def _async_ask(self, asked: Inquiry, question: str, seconds: float, *, aloud: bool) -> str:
        """Return what was replied, nothing if nobody has or the household no longer allows the question."""
        calls = [call for call in asked.calls if is_spoken(call.domain, call.service) is aloud]
        satellites = tuple(entity_id for call in calls if aloud for entity_id in heard_on(call))
        receivers = Receivers(persons=() if aloud else asked.persons, satellites=satellites[:MAX_SATELLITES])
        if not calls or not self._asker.reaches(receivers):
            return ""
        try:
            user = await self._guard.async_user(asked.speaker)
            for call in calls:
                self._guard.check(call, user, asked.speaker)
            with self._guard.journal.acting(calls, asked.speaker, {}):
                chosen = await self._asker.async_choose(question, None, receivers, seconds)
        except HomeAgentError as err:
            LOGGER.info("A question was not put: %s", err)
            return ""
        return one_line(chosen.answer, MAX_ANSWER) if chosen else ""


def meant(heard: str, titles: Mapping[str, str], language: str) -> str | None:
    """Return the one answer that a sentence names; None if it names none or several."""
    if set(titles) == {YES, NO}:
        read = read_reply(heard, language).answer
        return {Answer.YES: YES, Answer.NO: NO}.get(read)

    def padded(text: str) -> str:
        letters = "".join(letter if letter.isalnum() else " " for letter in fold(text))
        return f" {' '.join(letters.split())} "

    named = [answer for answer, title in titles.items() if padded(title) in padded(heard)]
    return named[0] if len(named) == 1 else None


@callback
def can_ask(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether a satellite can ask something now, without interrupting a conversation."""
    state = hass.states.get(entity_id)
    return state is not None and state.state == IDLE and supports(state, "START_CONVERSATION")


@callback
def language_of(hass: HomeAssistant, entity_id: str) -> str:
    """Return the language that people speak to a satellite: that of its Assist pipeline."""
    pipeline = pipeline_of(hass, entity_id)
    return (pipeline.stt_language or pipeline.language) if pipeline else hass.config.language


def _area_of(hass: HomeAssistant, entity_id: str) -> str | None:
    entry = er.async_get(hass).async_get(entity_id)
    return er.async_get_effective_area_id(hass, entry) if entry else None
