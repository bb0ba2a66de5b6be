"""HomeAgent: a turn from top to bottom.

`_async_handle_message` and `_async_respond` are the whole story, in twelve steps: begin, check the limits,
take an answer to an open question, answer what needs no model, gather the context, ask the model in rounds
while the guard judges its calls, ask the person where that is needed, ensure that something is said, offer to
learn a name, close the turn, record it, learn.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, override

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
    EVENT_CONVERSATION_STARTED,
    LOGGER,
    MAX_SENTENCE_CHARS,
)
from ..entity import HomeAgentBaseEntity
from ..errors import HomeAgentError, LLMError, PermissionDenied, SentenceTooLong
from ..inference.models import Caller, Priority
from ..knowledge.speaker import async_speaker, sent_pictures, stayed_open
from ..languages.sentence import Mood, read
from ..safety.firewall.own_values import texts_repeated
from ..safety.frozen import FrozenIntent
from ..safety.journal import RecordedAction
from ..texts import words
from ..tools.pending import freeze
from ..tools.turn_calls import TurnCalls
from .closing import close_turn, drop_turn, is_echo, learn, record_turn
from .confirming import async_ask, async_stop_alarms, async_take_reply
from .describe import async_error_sentence, async_phrase
from .examples import async_tell_examples
from .naming import async_offer_name
from .request import async_gather
from .rounds import async_answer
from .turn import Turn, async_say, async_say_error, end_with_lead, last_words, replace_sentence

if TYPE_CHECKING:
    from hassil.recognize import RecognizeResult


LISTENS, SPEAKS = 60, 0.1
"""Seconds for which a satellite listens and understands what it hears, and speaks a character before that."""


class HomeAgent(HomeAgentBaseEntity, conversation.ConversationEntity):
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
        """Answer a sentence; a person is always answered."""
        turn = await self._async_begin(user_input, chat_log)
        if turn.silent:
            return drop_turn(turn)
        try:
            await self._async_respond(turn)
        except Exception as err:  # noqa: BLE001 - see above
            if not isinstance(err, HomeAgentError):
                LOGGER.exception("The turn failed unexpectedly")
                err = HomeAgentError(type(err).__name__)
            problem = str(err)
            if err.said:
                LOGGER.debug("The server said: %s", err.said)
            LOGGER.warning("The turn failed: %s: %s", type(err).__name__, problem)
            ids = (turn.calls.conversation_id, turn.calls.speaker.context)
            self.emitter.fire_error("agent", err, problem, *ids, rounds=turn.record.rounds)
            await async_say_error(turn, await async_error_sentence(self.hass, turn.language, err))
            end_with_lead(turn)
            response = intent.IntentResponse(language=turn.language)
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, last_words(turn))
            record_turn(turn, err=err, problem=problem)
            return conversation.ConversationResult(
                response=response,
                conversation_id=turn.chat_log.conversation_id,
                continue_conversation=False,
            )
        # The model finds that what was heard without a wake word was said to somebody else.
        if turn.calls.speaker.unprompted and not (turn.calls.records or words(last_words(turn))):
            return drop_turn(turn)
        result = close_turn(turn, user_input)
        record_turn(turn, listens=result.continue_conversation)
        learn(turn)
        return result

    async def _async_respond(self, turn: Turn) -> None:
        """Bring the answer into the chat log: our own words, the built-in sentences', or the model's."""
        if turn.calls.speaker.is_automation:
            self.data.throttle.check()  # one may ask without end
        assert turn.user_input is not None
        if (length := len(turn.user_input.text)) > MAX_SENTENCE_CHARS:
            replace_sentence(turn, turn.calls.sentence)
            raise SentenceTooLong(
                f"{length} characters, at most {MAX_SENTENCE_CHARS}", limit=MAX_SENTENCE_CHARS
            )
        if await async_take_reply(turn):
            return
        if stopped := await async_stop_alarms(turn):
            await async_say(turn, stopped)
            return
        if await async_tell_examples(turn):
            return
        # A server that is switched off lets a request wait for many seconds.
        is_down = self.router.fallback is None and self.router.primary_rests
        may_fall_back = self.settings[CONF_LOCAL_FALLBACK] and not turn.pictures
        is_first = self.settings[CONF_LOCAL_FIRST] and not turn.pictures
        if (is_first or (is_down and may_fall_back)) and await self._async_answer_locally(turn):
            return
        await async_gather(turn)
        try:
            await async_answer(turn)
        except LLMError as err:
            if turn.calls.started or not may_fall_back:
                raise
            LOGGER.info("The model cannot be asked (%s); trying the built-in sentences", type(err).__name__)
            if not await self._async_answer_locally(turn):
                raise
            return
        if turn.calls.draft:
            await async_ask(turn)
            return
        if not last_words(turn).strip():
            if turn.calls.attempts_exhausted:
                key = "ask_which" if turn.calls.likely else "ask_again"
            elif turn.calls.acted:
                key = "done"
            else:
                is_order = read(turn.calls.sentence, turn.language).kind is Mood.ORDER
                key = "not_done" if is_order and not turn.calls.done else "no_answer"
            names = ", ".join(turn.calls.likely)
            await async_say(turn, await async_phrase(self.hass, turn.language, key, names=names))
        await async_offer_name(turn)

    async def _async_begin(
        self, user_input: conversation.ConversationInput, chat_log: conversation.ChatLog
    ) -> Turn:
        """Determine the speaker, their location, and which conversation this continues."""
        conversation_id, now = chat_log.conversation_id, dt_util.utcnow()
        recent, history = self.data.recent.of(conversation_id), self.data.shared.history
        speaker = await async_speaker(self.hass, user_input, self.settings[CONF_DEVICE_PERSONS])
        # The id of a conversation of somebody else may have been read or guessed.
        owners = history.find(self.entry.entry_id, recent.history_id or conversation_id).persons
        is_intruder = not owners | {recent.owner} <= {speaker.person_id, None}
        own_id = f"{conversation_id} {speaker.person_id}" if is_intruder else conversation_id
        (answer, since), recent.listening = recent.listening or ("", None), None
        limit = timedelta(seconds=LISTENS + len(answer) * SPEAKS)
        is_unprompted = (
            since is not None and now - since < limit and stayed_open(self.hass, conversation_id, since)
        )
        speaker = replace(speaker, conversation_id=own_id, unprompted=is_unprompted)
        history_id = self.data.shared.sessions.resolve(
            self.entry.entry_id,
            conversation_id=own_id,
            device_id=user_input.device_id,
            user_id=user_input.context.user_id,
            timeout_minutes=self.settings[CONF_SESSION_TIMEOUT],
            now=now,
        )
        # Another agent of ours that has spoken here has a policy and lists of its own.
        registry = er.async_get(self.hass)
        speakers = {str(getattr(content, "agent_id", "")) for content in chat_log.content}
        entries = (registry.async_get(spoken) for spoken in speakers - {self.entity_id})
        has_other_agent = any(entry is not None and entry.platform == DOMAIN for entry in entries)
        who = speaker.device_id or speaker.context.user_id or own_id
        turn = Turn(
            hass=self.hass,
            data=self.data,
            agent_id=self.entity_id,
            chat_log=chat_log,
            user_input=user_input,
            language=user_input.language,
            max_tokens=self.settings[CONF_MAX_TOKENS],
            recent=recent,
            history_id=history_id,
            silent=is_unprompted and is_echo(user_input.text, answer),
            shared_chat_log=is_intruder or recent.is_shared or has_other_agent,
            first=len(chat_log.content) - 1,
            calls=TurnCalls(
                speaker=speaker,
                sentence=user_input.text[:MAX_SENTENCE_CHARS],
                conversation_id=conversation_id,
                tools=self.data.handler.tools,
                llm_context=user_input.as_llm_context(DOMAIN),
                max_calls=self.settings[CONF_TOOLS_MAX_CALLS],
                caller=Caller(who, Priority.TASK if speaker.is_automation else Priority.PERSON),
                unattended=False,
            ),
        )
        if sent := sent_pictures.get():
            turn.pictures = list(sent)
            turn.calls.taint()  # a picture may show text from an untrusted source
            sent.clear()  # what runs because of this sentence gets none
        chat_log.llm_input_provided_index = turn.first + 1
        if is_intruder:
            recent.is_shared = True
        else:
            recent.history_id, recent.owner = history_id, speaker.person_id or recent.owner
        self.emitter.fire(
            EVENT_CONVERSATION_STARTED,
            {
                "conversation_id": conversation_id,
                "user_id": user_input.context.user_id,
                "device_id": user_input.device_id,
                "context_mode": self.data.context.mode,
            },
            user_input.context,
        )
        return turn

    async def _async_answer_locally(self, turn: Turn) -> bool:
        """Answer with Home Assistant's own sentences, checked by the same guard as the model's calls.

        What needs a confirmation is asked about. False if they do not know this one or may not act.
        """
        assert turn.user_input is not None
        guard, speaker = turn.data.handler.guard, turn.calls.speaker
        user = await guard.async_user(speaker)
        waiting: list[FrozenIntent] = []
        actions: list[RecordedAction] = []

        def refused(result: RecognizeResult) -> bool:
            slots = {entity.name: entity.value for entity in result.entities_list}
            try:
                judged = guard.check_intent(result.intent.name, slots, user, speaker)
            except PermissionDenied:
                return True
            if judged is None:
                return True
            verdict, frozen = judged
            if verdict.asks:
                waiting.append(frozen)
                return True
            turn.calls.touched.extend(entity_id for call in frozen.calls for entity_id in call.entity_ids)
            actions[:] = [guard.journal.begin(call, speaker) for call in frozen.calls]
            return False

        before = len(turn.chat_log.content)
        response = await conversation.async_handle_intents(
            turn.hass, turn.user_input, turn.chat_log, intent_filter=refused
        )
        failed = response is None or response.response_type is intent.IntentResponseType.ERROR
        for action in actions:
            guard.journal.end(action, "failed" if failed else None)
        if response is None or failed:
            # The notes of the sentences about a failed attempt would look like the model's own calls.
            del turn.chat_log.content[before:]
            turn.calls.touched.clear()
            if waiting:
                # Calls that one question cannot describe are left to the model, which can reduce them.
                with suppress(PermissionDenied):
                    freeze(turn.hass, turn.calls.draft_of_call(), waiting[0])
            return await async_ask(turn)
        turn.local_response = response
        speech = response.speech.get("plain", {}).get("speech")
        if speech and any(True for _ in texts_repeated(turn.hass, speech)):
            turn.calls.taint()  # in the next turn the model reads it
        await async_say(turn, speech or await async_phrase(turn.hass, turn.language, "done"))
        return True
