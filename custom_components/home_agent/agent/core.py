"""HomeAgent: a turn from top to bottom.

`_async_handle_message` is the whole story: begin, try Home Assistant's own sentences, gather the context,
build the request, ask the model in rounds while the guard runs its tools, answer, remember.
"""

from dataclasses import replace
from time import monotonic
from typing import Any, Literal, override

from homeassistant.components import conversation
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import MATCH_ALL
from homeassistant.helpers import intent
from homeassistant.util import dt as dt_util

from ..const import (
    CONF_DEVICE_PERSONS,
    CONF_HISTORY,
    CONF_HISTORY_MAX_MESSAGES,
    CONF_HISTORY_PERSIST,
    CONF_LLM_APIS,
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
from ..context.fitting import RequestDraft
from ..context.manager import AssembledContext
from ..errors import HomeAgentError, LLMError
from ..history_turns import kept_at_home
from ..safety.disclosure import AT_HOME
from ..tools.guarded_api import own_instance
from ..tools.turn_calls import TurnCalls
from . import local
from .asked import describe_asked
from .closing import async_say, close_turn, finished_event
from .confirming import ConfirmingMixin
from .disclosing import history_for
from .failing import async_say_error, problem_of
from .limits import check_limits
from .llm import LLMMixin
from .masking import without_codes
from .memory_extraction import MemoryExtractionMixin
from .messages import from_contents
from .outside import OutsideMixin
from .phrases import async_error_sentence, async_phrase
from .speaker import async_speaker
from .tool_schemas import async_other_tools
from .turn import Turn


class HomeAgent(
    ConfirmingMixin,
    LLMMixin,
    MemoryExtractionMixin,
    OutsideMixin,
    conversation.ConversationEntity,
):
    """The agent that a household talks to."""

    _attr_name = None
    _attr_supported_features = conversation.ConversationEntityFeature.CONTROL

    def __init__(self, entry: ConfigEntry[Any]) -> None:
        """Take what the entry was set up with."""
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
        """Answer one sentence."""
        turn = await self._async_begin(user_input, chat_log)
        try:
            await self._async_respond(turn)
        except HomeAgentError as err:
            return await self._async_fail(turn, err)
        except Exception as err:  # noqa: BLE001 - a person is always answered
            LOGGER.exception("The turn failed unexpectedly")
            return await self._async_fail(turn, HomeAgentError(type(err).__name__))
        return self._finish(turn)

    async def _async_respond(self, turn: Turn) -> None:
        """Bring an answer into the chat log."""
        check_limits(turn, self.data.throttle)
        if await self._async_settle(turn):
            return
        if self._tries_locally_first and await self._async_try_locally(turn):
            return
        await self._async_gather(turn)
        try:
            await self._async_answer(turn)
        except LLMError as err:
            if not await self._async_recover(turn, err):
                raise
            return
        if not await self._async_ask(turn):
            await self._async_ensure_words(turn)

    @property
    def _tries_locally_first(self) -> bool:
        """Return whether the built-in sentences come before the model: by option, or while it is down.

        A server that is switched off lets a request wait for many seconds.
        """
        alone = self.router.fallback is None and self.router.primary_rests
        return self.settings[CONF_LOCAL_FIRST] or (alone and self.settings[CONF_LOCAL_FALLBACK])

    async def _async_begin(
        self, user_input: conversation.ConversationInput, chat_log: conversation.ChatLog
    ) -> Turn:
        """Find out who speaks, where, and which conversation this continues."""
        owners = self.settings[CONF_DEVICE_PERSONS]
        speaker = await async_speaker(self.hass, user_input, owners)
        conversation_id = chat_log.conversation_id
        if apart := self._is_anothers(conversation_id, speaker.person_id):
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
            chat_log=chat_log,
            user_input=user_input,
            language=user_input.language,
            voice=speaker.voice,
            max_tokens=self.settings[CONF_MAX_TOKENS],
            history_id=session.history_id,
            apart=apart or chat_log.conversation_id in self.data.memory.shared,
            first=len(chat_log.content) - 1,
            calls=TurnCalls(
                speaker=speaker,
                sentence=user_input.text[:MAX_SENTENCE_CHARS],
                conversation_id=chat_log.conversation_id,
                tools=self.data.handler.tools,
                llm_context=user_input.as_llm_context(DOMAIN),
                max_calls=self.settings[CONF_TOOLS_MAX_CALLS],
                unattended=False,
            ),
        )
        chat_log.llm_input_provided_index = turn.first + 1
        self._note_conversation(turn, session.history_id, anothers=apart)
        self.emitter.fire(
            EVENT_CONVERSATION_STARTED,
            user_input.context,
            conversation_id=chat_log.conversation_id,
            user_id=user_input.context.user_id,
            device_id=user_input.device_id,
            context_mode=self.data.context.mode,
        )
        return turn

    def _is_anothers(self, conversation_id: str, person_id: str | None) -> bool:
        """Return whether somebody else speaks in a conversation: its id may have been read or guessed."""
        recent, history = self.data.memory, self.data.shared.history
        known = history.persons(self.entry.entry_id, recent.history_id(conversation_id))
        return not known | {recent.speakers.get(conversation_id)} <= {person_id, None}

    def _note_conversation(self, turn: Turn, history_id: str, *, anothers: bool) -> None:
        """Remember whose a conversation is, and what it continues."""
        recent, conversation_id = self.data.memory, turn.calls.conversation_id
        if anothers:
            recent.shared[conversation_id] = True
            return
        recent.history_ids[conversation_id] = history_id
        if turn.calls.speaker.person_id is not None:
            recent.speakers[conversation_id] = turn.calls.speaker.person_id

    async def _async_try_locally(self, turn: Turn) -> bool:
        """Let Home Assistant's own sentences answer, through the same guard."""
        answered = await local.async_answer(self.hass, turn, self.data.handler, self.entity_id)
        return answered or await self._async_ask(turn)

    async def _async_gather(self, turn: Turn) -> None:
        """Assemble what the model is told: rules and catalogue, history, and what is true now."""
        started = turn.trace.gathered = monotonic()
        context = await self.data.context.async_assemble(
            sentence=turn.calls.sentence, speaker=turn.calls.speaker, model=self.router.expected
        )
        context = self._let_in(turn, context)
        tools, others = await self._async_tools(turn, context)
        self._compose(turn, context, tools, others)
        turn.figures.context_ms = (monotonic() - started) * 1000

    def _compose(
        self, turn: Turn, context: AssembledContext, tools: list[dict[str, Any]], others: str
    ) -> None:
        """Put the request of a turn together, and show it in the chat log."""
        assert turn.user_input is not None
        told = turn.user_input.extra_system_prompt or turn.chat_log.extra_system_prompt
        extra = "\n".join(part for part in (others, told) if part) or None
        history = self._history(turn, context.budget.history)
        systems, outside = (
            self.data.prompt.systems(
                context,
                turn.calls.sentence,
                turn.calls.speaker,
                history_for(history, disclosure),
                extra,
                states=disclosure.states,
            )
            for disclosure in (AT_HOME, self.data.data_policy.away)
        )
        self._note_origins(turn, history)
        turn.context = context
        turn.draft = RequestDraft(
            systems=systems,
            systems_outside=outside,
            tools=tools,
            tools_budget=context.budget.chosen.get("tools"),
            history=history,
            slots=(*context.slots, describe_asked(self.hass, context.house, self.data.data_policy.away)),
        )
        # Not async_provide_llm_data: since 2026.11 it keeps tools and prompt of the first turn, and these
        # tools belong to this turn. The prompt is set too, so that traces and subscribers show it.
        turn.chat_log.llm_api = own_instance(self.hass, self.data.handler, turn.calls)
        turn.chat_log.extra_system_prompt = told
        turn.chat_log.content[0] = conversation.SystemContent(content=systems[0]().text)
        turn.chat_log.async_trace(
            {"messages": list(turn.chat_log.content), "tools": turn.chat_log.llm_api.tools}
        )

    async def _async_tools(self, turn: Turn, context: AssembledContext) -> tuple[list[dict[str, Any]], str]:
        """Return the tools of a turn, those of other integrations too, and what these say about theirs."""
        api_ids, known = self.settings[CONF_LLM_APIS], turn.calls.tools
        others = await async_other_tools(self.hass, api_ids, turn.calls.llm_context, known)
        turn.calls.tools = {**known, **others.tools}
        own = self.data.tool_schemas.beside(context.house, context.catalogue)
        return [*own, *others.schemas], others.prompt

    def _history(self, turn: Turn, max_tokens: int) -> list[dict[str, Any]]:
        """Return what was said before, also what other agents said in this conversation."""
        cleared = self.data.memory.cleared_at(turn.calls.conversation_id)
        earlier = [
            content
            for content in turn.chat_log.content[1 : turn.first]
            if not turn.apart and (cleared is None or content.created > cleared)
        ]
        marked = kept_at_home if turn.calls.conversation_id in self.data.memory.at_home else list
        if not self.settings[CONF_HISTORY] or turn.history_id is None:
            self._inherit(turn, earlier)
            return marked(from_contents(earlier))
        history = self.data.shared.history
        last = history.last_at(self.entry.entry_id, turn.history_id)
        unknown = [content for content in earlier if last is None or content.created > last]
        window = history.get_window(
            self.entry.entry_id,
            turn.history_id,
            max_messages=self.settings[CONF_HISTORY_MAX_MESSAGES],
            max_tokens=max_tokens,
        )
        self._inherit(turn, unknown)
        return [*window, *marked(from_contents(unknown))]

    async def _async_ensure_words(self, turn: Turn) -> None:
        """Say something even where the model said nothing."""
        last = turn.chat_log.content[-1]
        if isinstance(last, conversation.AssistantContent) and (last.content or "").strip():
            return
        if turn.calls.gave_up:
            key = "ask_which" if turn.calls.likely else "ask_again"
        else:
            key = "done" if turn.calls.acted else "no_answer"
        names = ", ".join(turn.calls.likely)
        await async_say(turn, self.entity_id, await async_phrase(self.hass, turn.language, key, names=names))

    async def _async_recover(self, turn: Turn, err: LLMError) -> bool:
        """Let Home Assistant's own sentences answer where the model cannot; False if they cannot either."""
        if turn.calls.started or not self.settings[CONF_LOCAL_FALLBACK]:
            return False
        LOGGER.info(
            "The model cannot be asked (%s); trying Home Assistant's own sentences", type(err).__name__
        )
        return await self._async_try_locally(turn)

    async def _async_fail(self, turn: Turn, err: HomeAgentError) -> conversation.ConversationResult:
        """Say in one sentence what went wrong."""
        problem = problem_of(turn, err)
        LOGGER.warning("The turn failed: %s: %s", type(err).__name__, problem)
        ids = (turn.calls.conversation_id, turn.calls.speaker.context)
        self.emitter.fire_error("agent", err, problem, *ids, rounds=turn.figures.rounds)
        sentence = await async_error_sentence(self.hass, turn.language, err)
        await async_say_error(turn, self.entity_id, sentence)
        response = intent.IntentResponse(language=turn.language)
        response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, sentence)
        self._keep(turn, err=err)
        self._tell_finished(turn, err)
        return conversation.ConversationResult(
            response=response, conversation_id=turn.chat_log.conversation_id, continue_conversation=False
        )

    def _finish(self, turn: Turn) -> conversation.ConversationResult:
        """Return the answer and leave the rest for later."""
        assert turn.user_input is not None
        result = close_turn(turn, turn.user_input)
        self._keep(turn, listens=result.continue_conversation)
        self.data.warmer.note_used()
        self._learn_from(turn)
        self._sum_up(turn)
        self._tell_finished(turn)
        return result

    def _tell_finished(self, turn: Turn, err: HomeAgentError | None = None) -> None:
        """Fire the event that reports the cost of a turn, and its error."""
        context = turn.calls.speaker.context
        self.emitter.fire(EVENT_CONVERSATION_FINISHED, context, **finished_event(turn, err))

    def _keep(self, turn: Turn, *, err: HomeAgentError | None = None, listens: bool = False) -> None:
        """Keep what was said and what it cost, without codes."""
        messages = without_codes(from_contents(turn.chat_log.content[turn.first :]), turn.language)
        self._remember(turn, messages)
        self._write_down(turn, messages, err, listens=listens)
        self.data.memory.calls[turn.calls.conversation_id] = turn.calls.summary()
        self.data.note_turn(self.hass, turn.figures, turn.calls.verdicts, failed=err is not None)

    def _remember(self, turn: Turn, messages: list[dict[str, Any]]) -> None:
        """Keep what was said, without the volatile block; nothing once the agent is gone."""
        at_home = self._drew_on_home(turn)
        if at_home:
            self.data.memory.at_home[turn.calls.conversation_id] = True
        if turn.calls.tainted:
            self.data.memory.tainted[turn.calls.conversation_id] = True
        if not self.settings[CONF_HISTORY] or turn.history_id is None or self.data.turns.stopped:
            return
        history = self.data.shared.history
        if turn.calls.forgotten:
            history.forget_texts(self.entry.entry_id, turn.calls.forgotten)
            return
        history.append_turn(
            self.entry.entry_id,
            turn.history_id,
            kept_at_home(messages) if at_home else messages,
            at=dt_util.utcnow(),
            persist=self.settings[CONF_HISTORY_PERSIST],
            person=turn.calls.speaker.person_id,
            tainted=turn.calls.tainted,
        )

    def _write_down(
        self, turn: Turn, messages: list[dict[str, Any]], err: HomeAgentError | None, *, listens: bool
    ) -> None:
        """Note the turn for those who look at it later; nothing of what the person wants forgotten."""
        error, at = type(err).__name__ if err else None, dt_util.utcnow()
        if turn.calls.forgotten:
            self.data.turn_log.clear()
            self.entry.async_create_background_task(
                self.hass, self.data.log.async_forget(turn.calls.forgotten), "home_agent forget"
            )
            return
        if not messages:
            return
        said, answer = messages[0]["content"], messages[-1]["content"]
        cause = (err.said or str(err)) if err else ""
        self.data.turn_log.add(turn, said, answer, at=at, error=error, cause=cause, listens=listens)
        self.data.log.note(
            said,
            answer,
            at,
            conversation=turn.history_id or turn.calls.conversation_id,
            person=turn.calls.speaker.person_id,
            surface=turn.calls.speaker.surface.name.lower(),
            tools=[record.tool_name for record in turn.calls.records],
            error=error,
            seconds=round(turn.figures.elapsed_ms / 1000, 2),
        )
