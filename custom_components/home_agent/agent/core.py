"""HomeAgent: a turn from top to bottom.

`_async_handle_message` is the whole story: begin, try Home Assistant's own sentences, gather the context,
ask the model in rounds while the guard judges its calls, answer, remember.
"""

from dataclasses import replace
from typing import Any, Literal, override

from homeassistant.components import conversation
from homeassistant.const import MATCH_ALL
from homeassistant.helpers import entity_registry as er, intent
from homeassistant.util import dt as dt_util

from ..const import (
    CONF_DEVICE_PERSONS,
    CONF_LOCAL_FALLBACK,
    CONF_LOCAL_FIRST,
    CONF_MAX_TOKENS,
    CONF_SESSION_TIMEOUT,
    CONF_STREAMING,
    CONF_TOOLS_MAX_CALLS,
    DOMAIN,
    EVENT_CONVERSATION_FINISHED,
    EVENT_CONVERSATION_STARTED,
    LOGGER,
    MAX_SENTENCE_CHARS,
)
from ..errors import HomeAgentError, LLMError, SentenceTooLong
from ..event_data import ConversationStarted
from ..languages.sentence import Kind, read
from ..tools.turn_calls import TurnCalls, caller_of
from .closing import close_turn, finished_event
from .confirming import async_ask, async_settle
from .gathering import async_gather
from .llm import LLMMixin
from .local import async_answer_locally
from .log import async_say, async_say_error, end_with_lead, last_words, note_given, replace_sentence
from .memory_extraction import MemoryExtractionMixin
from .phrases import async_error_sentence, async_phrase
from .pictures import take_sent_pictures
from .recording import record
from .speaker import async_speaker
from .turn import Turn


class HomeAgent(LLMMixin, MemoryExtractionMixin, conversation.ConversationEntity):
    """The agent that a household talks to."""

    _attr_name = None
    _attr_supported_features = conversation.ConversationEntityFeature.CONTROL

    def __init__(self, entry: Any) -> None:
        super().__init__(entry)
        self._attr_unique_id = entry.entry_id
        self._attr_supports_streaming = bool(self.settings[CONF_STREAMING])

    @property
    @override
    def supported_languages(self) -> list[str] | Literal["*"]:
        """Return that any language is understood."""
        return MATCH_ALL

    @override
    async def async_prepare(self, language: str | None = None) -> None:
        """Warm the model while the person is still speaking."""
        await self.data.warmer.async_warm()

    @override
    async def _async_handle_message(
        self, user_input: conversation.ConversationInput, chat_log: conversation.ChatLog
    ) -> conversation.ConversationResult:
        turn = await self._async_begin(user_input, chat_log)
        try:
            await self._async_respond(turn)
        except HomeAgentError as err:
            return await self._async_fail(turn, err)
        except Exception as err:  # noqa: BLE001 - a person is always answered
            LOGGER.exception("The turn failed unexpectedly")
            return await self._async_fail(turn, HomeAgentError(type(err).__name__))
        return self._finish(turn)

    async def _async_begin(
        self, user_input: conversation.ConversationInput, chat_log: conversation.ChatLog
    ) -> Turn:
        """Determine the speaker, their location, and which conversation this continues."""
        speaker = await async_speaker(self.hass, user_input, self.settings[CONF_DEVICE_PERSONS])
        conversation_id = chat_log.conversation_id
        if others := self._belongs_to_other_person(conversation_id, speaker.person_id):
            conversation_id = f"{conversation_id} {speaker.person_id}"
        speaker = replace(speaker, conversation_id=conversation_id)
        session = self.data.shared.sessions.resolve(
            self.entry.entry_id,
            conversation_id=conversation_id,
            device_id=user_input.device_id,
            user_id=user_input.context.user_id,
            timeout_minutes=self.settings[CONF_SESSION_TIMEOUT],
            now=dt_util.utcnow(),
        )
        turn = Turn(
            hass=self.hass,
            data=self.data,
            agent_id=self.entity_id,
            chat_log=chat_log,
            user_input=user_input,
            language=user_input.language,
            max_tokens=self.settings[CONF_MAX_TOKENS],
            history_id=session.history_id,
            shared_chat_log=others
            or chat_log.conversation_id in self.data.memory.shared
            or self._has_other_agent(chat_log),
            first=len(chat_log.content) - 1,
            calls=TurnCalls(
                speaker=speaker,
                sentence=user_input.text[:MAX_SENTENCE_CHARS],
                conversation_id=chat_log.conversation_id,
                tools=self.data.handler.tools,
                llm_context=user_input.as_llm_context(DOMAIN),
                max_calls=self.settings[CONF_TOOLS_MAX_CALLS],
                caller=caller_of(speaker),
                unattended=False,
            ),
        )
        if pictures := take_sent_pictures():
            turn.pictures = pictures
            turn.calls.taint()  # a picture may show text from an untrusted source
        note_given(turn)
        self._note_conversation(turn, session.history_id, of_other_person=others)
        self.emitter.fire(
            EVENT_CONVERSATION_STARTED,
            ConversationStarted(
                conversation_id=chat_log.conversation_id,
                user_id=user_input.context.user_id,
                device_id=user_input.device_id,
                context_mode=self.data.context.mode,
            ),
            user_input.context,
        )
        return turn

    def _belongs_to_other_person(self, conversation_id: str, person_id: str | None) -> bool:
        """Return whether a conversation is someone else's: its id may have been read or guessed."""
        recent, history = self.data.memory, self.data.shared.history
        known = history.persons(self.entry.entry_id, recent.history_id(conversation_id))
        return not known | {recent.speakers.get(conversation_id)} <= {person_id, None}

    def _has_other_agent(self, chat_log: conversation.ChatLog) -> bool:
        """Return whether another agent of ours has spoken here: each has a policy and lists of its own."""
        registry = er.async_get(self.hass)
        speakers = {str(getattr(content, "agent_id", "")) for content in chat_log.content}
        entries = (registry.async_get(speaker) for speaker in speakers - {self.entity_id})
        return any(entry is not None and entry.platform == DOMAIN for entry in entries)

    def _note_conversation(self, turn: Turn, history_id: str, *, of_other_person: bool) -> None:
        """Remember the owner of a conversation, and what it continues."""
        recent, conversation_id = self.data.memory, turn.calls.conversation_id
        if of_other_person:
            recent.shared[conversation_id] = True
            return
        recent.history_ids[conversation_id] = history_id
        if turn.calls.speaker.person_id is not None:
            recent.speakers[conversation_id] = turn.calls.speaker.person_id

    async def _async_respond(self, turn: Turn) -> None:
        self._check_limits(turn)
        if await async_settle(turn):
            return
        if self._tries_locally_first and not turn.pictures and await self._async_try_locally(turn):
            return
        await async_gather(turn)
        try:
            await self._async_answer(turn)
        except LLMError as err:
            if not await self._async_recover(turn, err):
                raise
            return
        if not await async_ask(turn):
            await self._async_ensure_words(turn)

    def _check_limits(self, turn: Turn) -> None:
        """Stop an automation that asks without end, and a sentence that is too long.

        Raises TooManyRequests and SentenceTooLong.
        """
        if turn.calls.speaker.is_automation:
            self.data.throttle.check()
        assert turn.user_input is not None
        if (length := len(turn.user_input.text)) > MAX_SENTENCE_CHARS:
            replace_sentence(turn, turn.calls.sentence)
            raise SentenceTooLong(
                f"{length} characters, at most {MAX_SENTENCE_CHARS}", limit=MAX_SENTENCE_CHARS
            )

    @property
    def _tries_locally_first(self) -> bool:
        """Return whether the built-in sentences come before the model: by option, or while it is down.

        A server that is switched off lets a request wait for many seconds.
        """
        alone = self.router.fallback is None and self.router.primary_rests
        return self.settings[CONF_LOCAL_FIRST] or (alone and self.settings[CONF_LOCAL_FALLBACK])

    async def _async_try_locally(self, turn: Turn) -> bool:
        return await async_answer_locally(turn) or await async_ask(turn)

    async def _async_recover(self, turn: Turn, err: LLMError) -> bool:
        """Let Home Assistant's own sentences answer where the model cannot; False if they cannot either."""
        if turn.calls.started or turn.pictures or not self.settings[CONF_LOCAL_FALLBACK]:
            return False
        LOGGER.info(
            "The model cannot be asked (%s); trying Home Assistant's own sentences", type(err).__name__
        )
        return await self._async_try_locally(turn)

    async def _async_ensure_words(self, turn: Turn) -> None:
        if last_words(turn).strip():
            return
        if turn.calls.attempts_exhausted:
            key = "ask_which" if turn.calls.likely else "ask_again"
        else:
            is_order = read(turn.calls.sentence, turn.language).kind is Kind.ORDER
            undone = "not_done" if is_order and not turn.calls.done else "no_answer"
            key = "done" if turn.calls.acted else undone
        names = ", ".join(turn.calls.likely)
        await async_say(turn, await async_phrase(self.hass, turn.language, key, names=names))

    async def _async_fail(self, turn: Turn, err: HomeAgentError) -> conversation.ConversationResult:
        problem = str(err)
        if err.said:
            LOGGER.debug("The server said: %s", err.said)
        LOGGER.warning("The turn failed: %s: %s", type(err).__name__, problem)
        ids = (turn.calls.conversation_id, turn.calls.speaker.context)
        self.emitter.fire_error("agent", err, problem, *ids, rounds=turn.figures.rounds)
        sentence = await async_error_sentence(self.hass, turn.language, err)
        await async_say_error(turn, sentence)
        end_with_lead(turn)
        response = intent.IntentResponse(language=turn.language)
        response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, last_words(turn))
        record(turn, err=err)
        self._report_finished(turn, err, problem)
        return conversation.ConversationResult(
            response=response, conversation_id=turn.chat_log.conversation_id, continue_conversation=False
        )

    def _finish(self, turn: Turn) -> conversation.ConversationResult:
        assert turn.user_input is not None
        result = close_turn(turn, turn.user_input)
        record(turn, listens=result.continue_conversation)
        self.data.warmer.note_used()
        self._learn_from(turn)
        self._sum_up(turn)
        self._report_finished(turn)
        return result

    def _report_finished(
        self, turn: Turn, err: HomeAgentError | None = None, problem: str | None = None
    ) -> None:
        """Fire the event that reports the cost of a turn, and its error."""
        context = turn.calls.speaker.context
        self.emitter.fire(EVENT_CONVERSATION_FINISHED, finished_event(turn, err, problem), context)
