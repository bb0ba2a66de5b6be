"""How a turn ends: its result, whether the microphone opens again, and what is kept of it, without codes."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
import json
import re
from time import monotonic
from typing import Any, Final

from homeassistant.components import conversation
from homeassistant.helpers import floor_registry as fr, intent
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util

from ..const import (
    CONF_HISTORY,
    CONF_HISTORY_MAX_MESSAGES,
    CONF_HISTORY_PERSIST,
    CONF_HISTORY_SUMMARIZE,
    CONF_KEEP_LISTENING,
    CONF_MEMORY,
    CONF_MEMORY_EXTRACTION,
    CONF_PANEL,
    EVENT_CONVERSATION_FINISHED,
    LOGGER,
)
from ..conversations.history import kept_at_home, make_turn
from ..domains.features import supports
from ..errors import HomeAgentError
from ..inference.models import Message
from ..languages import find, languages_with, words as word_list
from ..languages.lexicon import COMMAS, ENDS, QUESTION_MARKS, any_of
from ..languages.sentence import Mood, read
from ..memory.extractor import Exchange
from ..memory.sentences import asks_to_remember
from ..regex import lazy_regex
from ..safety.answers import mask_numbers
from ..safety.redaction import redacted, secrets_of, wants_code
from ..texts import fold_letters, is_unspaced, without_embeds, words
from ..tools.pending import UNPROMPTED
from .describe import area_of
from .record import MAX_TEXT
from .request import drew_on_home
from .speech import as_spoken, is_question
from .turn import MASKED, Turn, end_with_lead, from_contents, last_words, messages_of

ALIKE: Final = 0.8
"""From which likeness two words may be one that was misheard."""


def close_turn(turn: Turn, user_input: conversation.ConversationInput) -> conversation.ConversationResult:
    """Return the result of a turn whose last words are in the chat log.

    The Assist dialog replaces what it streamed with this speech, so a typed sentence keeps its markdown. An
    action or an API may hand the speech to a text-to-speech engine, so it gets the words that a voice reads.

    A question opens the microphone again. What models like to ask behind a command that worked ("Anything
    else?") does not.
    """
    end_with_lead(turn)
    result = conversation.async_get_result_from_chat_log(user_input, turn.chat_log)
    _set_results(turn, result.response)
    asks = is_question(last_words(turn).strip(), turn.language) and not turn.calls.acted
    result.continue_conversation = turn.asks or asks
    if turn.silent:
        result.response.async_set_speech(turn.lead)
        return result
    may_listen = supports(turn.hass.states.get(user_input.satellite_id or ""), "START_CONVERSATION")
    keeps_listening = may_listen and turn.data.settings[CONF_KEEP_LISTENING]
    # After a refusal the microphone closes, so that a wake word begins the next turn.
    refused = any(UNPROMPTED in (record.error or "") for record in turn.calls.records)
    if keeps_listening and not (refused or turn.calls.speaker.is_automation):
        if turn.calls.speaker.unprompted or not result.continue_conversation:
            # What a model asks somebody who said no wake word does not make up for it.
            answer = result.response.speech["plain"]["speech"], dt_util.utcnow()
            turn.recent.listening = answer
        result.continue_conversation = True
    text = result.response.speech["plain"]["speech"]
    if not (turn.calls.speaker.voice or turn.calls.speaker.shown):
        # Who asks for the text of a question may render markdown, too.
        own = without_embeds(f"{turn.lead} {turn.question}".strip()) if turn.question else ""
        if (spoken := own or as_spoken(text) or text) != text:
            result.response.async_set_speech(spoken, extra_data={"markdown": text})
    return result


def is_echo(heard: str, answer: str) -> bool:
    """Return whether a sentence is nothing, or the end of an answer, as the microphone hears the loudspeaker.

    The end of a word may be misheard, but "turn off the light" is no echo of "I turned on the light".
    """
    said, end = words(heard), words(answer)
    if not said or is_unspaced(heard):
        return "".join(end).endswith("".join(said))

    def is_same(word: str, other: str) -> bool:
        return word[:2] == other[:2] and SequenceMatcher(None, word, other).ratio() >= ALIKE

    pairs = zip(said, end[-len(said) :], strict=False)
    return len(said) <= len(end) and all(is_same(word, other) for word, other in pairs)


def drop_turn(turn: Turn) -> conversation.ConversationResult:
    """End a turn that nobody has addressed to the agent: nothing is spoken, and nothing kept of it."""
    del turn.chat_log.content[turn.first :]
    response = intent.IntentResponse(language=turn.language)
    response.async_set_speech("")
    record_turn(turn)
    return conversation.ConversationResult(
        response=response, conversation_id=turn.chat_log.conversation_id, continue_conversation=False
    )


def _set_results(turn: Turn, response: intent.IntentResponse) -> None:
    """Set the type, the targets and the states of the response, as Home Assistant's own agent does.

    A turn that changed something is a done action, any other one is an answer. Core reports every answer of
    another agent as a done action without targets. The Assist pipeline of 2026.10 and 2026.11 plays its short
    acknowledgement sound for core's own agent only; other listeners, such as dashboards and custom
    pipelines, read the targets of every agent.
    """
    hass, calls = turn.hass, turn.calls
    if (local := turn.local_response) is not None:
        response.response_type = local.response_type
        response.async_set_results(local.success_results, local.failed_results)
        response.async_set_states(local.matched_states, local.unmatched_states)
        return
    done = list(dict.fromkeys(calls.touched))
    if not done and not calls.done:
        response.response_type = intent.IntentResponseType.QUERY_ANSWER
        return
    response.response_type = intent.IntentResponseType.ACTION_DONE
    kinds, target = intent.IntentResponseTargetType, intent.IntentResponseTarget
    states = {entity_id: hass.states.get(entity_id) for entity_id in done}
    places: list[intent.IntentResponseTarget] = []
    if asked := {slot for record in calls.records for slot in ("area", "floor") if record.args.get(slot)}:
        areas = {area.id: area for entity_id in done if (area := area_of(hass, entity_id))}
        if "floor" in asked:
            registry = fr.async_get(hass)
            floor_ids = dict.fromkeys(area.floor_id for area in areas.values() if area.floor_id)
            floors = [floor for floor_id in floor_ids if (floor := registry.async_get_floor(floor_id))]
            places = [target(name=floor.name, type=kinds.FLOOR, id=floor.floor_id) for floor in floors]
        else:
            places = [target(name=area.name, type=kinds.AREA, id=area.id) for area in areas.values()]
    entities = [
        target(name=state.name if state else entity_id, type=kinds.ENTITY, id=entity_id)
        for entity_id, state in states.items()
    ]
    response.async_set_results([*places, *entities])
    response.async_set_states([state for state in states.values() if state])


def record_turn(
    turn: Turn, *, err: HomeAgentError | None = None, problem: str | None = None, listens: bool = False
) -> None:
    """Complete the record of a turn and hand it to all that keep something of it: history, logs, figures.

    `listens` says that the microphone opens again, and `problem` what the error was, for its event.
    """
    data, speaker, record = turn.data, turn.calls.speaker, turn.record
    spoken = messages_of(turn)
    messages = without_codes(spoken, turn.language)
    # Without a history, the calls of earlier turns come from the chat log, with their codes.
    calls = [*spoken, *(message for request in record.requests for message in request.fitted.messages)]
    for request in record.requests:
        masked = without_codes(request.fitted.messages, turn.language, calls)
        request.fitted = replace(request.fitted, messages=masked)
    record.end_request()
    record.id, record.at = speaker.turn_id, dt_util.utcnow()
    record.conversation = turn.history_id
    record.person, record.surface = speaker.person or "", speaker.surface.name.lower()
    record.language, record.ms = turn.language, (monotonic() - record.begun) * 1000
    record.asks, record.listens, record.tainted = turn.asks, listens, turn.calls.tainted
    record.withheld = turn.calls.disclosure.withheld
    LOGGER.debug(
        "Turn of %d ms: %d requests, %d calls, %s",
        *(record.ms, len(record.requests), len(record.calls), record.tokens),
    )
    if messages:
        record.sentence, record.answer = messages[0]["content"], messages[-1]["content"]
    if err is not None:
        record.error, record.cause = type(err).__name__, err.said or str(err)
    _remember(turn, messages)
    if turn.calls.forgotten:
        for agent in data.remembering:
            agent.turn_log.clear()
            forgetting = agent.log.async_forget(turn.calls.forgotten)
            turn.hass.async_create_background_task(forgetting, "home_agent forget")
    elif messages:
        data.log.note(
            record.sentence,
            record.answer,
            record.at,
            conversation=record.conversation,
            person=speaker.person_id,
            surface=record.surface,
            tools=[call.tool_name for call in record.calls],
            error=record.error,
            seconds=round(record.ms / 1000, 2),
        )
        if data.settings[CONF_PANEL]:
            record.sentence, record.answer = record.sentence[:MAX_TEXT], record.answer[:MAX_TEXT]
            data.turn_log.add(record)
    turn.recent.calls = [call.summary() for call in record.calls]
    data.note_turn(turn.hass, record)
    user_id = turn.user_input.context.user_id if turn.user_input else None
    event = record.event(turn.calls.conversation_id, user_id, speaker.person_id, problem)
    data.emitter.fire(EVENT_CONVERSATION_FINISHED, event, speaker.context)


def _remember(turn: Turn, messages: list[Message]) -> None:
    """Keep what was said, without the volatile block; nothing once the agent no longer exists."""
    data, at_home = turn.data, drew_on_home(turn)
    if not messages:
        return
    recent = turn.recent
    recent.at_home, recent.tainted = recent.at_home or at_home, recent.tainted or turn.calls.tainted
    about = turn.calls.touched or [
        key for slot in (turn.context.slots if turn.context else ()) for key in slot.about
    ]
    if about and not turn.calls.forgotten:
        recent.about = tuple(dict.fromkeys(about))
    if not data.settings[CONF_HISTORY] or data.turns.stopped:
        return
    if turn.calls.forgotten:
        for agent in data.remembering:
            data.shared.history.forget_texts(agent.entry_id, turn.calls.forgotten)
        return
    kept = make_turn(
        kept_at_home(messages) if at_home else messages,
        at=turn.record.at,
        persist=data.settings[CONF_HISTORY_PERSIST],
        person=turn.calls.speaker.person_id,
        tainted=turn.calls.tainted,
        about=dict.fromkeys(about),
    )
    if kept is not None:
        data.shared.history.append_turn(data.entry_id, turn.history_id, kept)


def without_codes(
    messages: Sequence[Message], language: str = "", made_in: Sequence[Message] = ()
) -> list[Message]:
    """Return messages without the codes and keys that their calls, or those of `made_in`, were made with.

    They go from the sentence and the results too, also where the digits were written apart. Where a call is
    about a lock or an alarm, every number of the sentence that may be its code goes.
    """
    made = dict.fromkeys(
        (call["function"]["name"], call["function"]["arguments"])
        for message in made_in or messages
        for call in message.get("tool_calls", ())
    )
    calls = [(name, _parsed(arguments)) for name, arguments in made]
    wants_codes = any(wants_code(args, name) for name, args in calls)
    secrets = {secret for name, args in calls for secret in secrets_of(args, name)}
    pattern = "|".join(
        r"(?<!\w)" + (r"[\s.-]*".join(secret) if secret.isdecimal() else re.escape(secret)) + r"(?!\w)"
        for secret in sorted(secrets, key=len, reverse=True)
    )
    masked: list[Message] = []
    for message in messages:
        content = message["content"]
        if wants_codes and message["role"] == "user":
            content = mask_numbers(content, language, MASKED)
        shown: Message = {**message, "content": re.sub(pattern, MASKED, content) if pattern else content}
        if pattern and (made_calls := message.get("tool_calls")):
            shown["tool_calls"] = [
                {
                    **call,
                    "function": {
                        **(function := call["function"]),
                        "arguments": json_dumps(redacted(_parsed(function["arguments"]), function["name"])),
                    },
                }
                for call in made_calls
            ]
        masked.append(shown)
    return masked


def _parsed(arguments: str) -> dict[str, Any]:
    parsed = json.loads(arguments)
    return parsed if isinstance(parsed, dict) else {}


def learn(turn: Turn) -> None:
    """Hand a turn to what works on it later: the extractor of memories, and the queue of summaries."""
    data, calls = turn.data, turn.calls
    data.warmer.note_used()
    if not turn.record.requests:
        return
    settings, speaker = data.settings, calls.speaker
    # An automation's words have no owner, and those with text from outside may belong to someone else.
    is_owned = not (calls.tainted or speaker.unprompted) and bool(speaker.context.user_id or speaker.voice)
    acted = bool(calls.touched) or calls.done
    is_learned = (
        is_owned
        and settings[CONF_MEMORY]
        and settings[CONF_MEMORY_EXTRACTION]
        and not any(record.stored_memory for record in calls.records)
        and teaches(calls.sentence, turn.language, acted=acted, looked_up=bool(calls.records) and not acted)
    )
    is_long = False
    if settings[CONF_HISTORY] and settings[CONF_HISTORY_SUMMARIZE]:
        max_tokens = data.context.window.budget(data.router.expected).history
        conversation = data.shared.history.find(data.entry_id, turn.history_id)
        is_long = conversation.wants_summary(settings[CONF_HISTORY_MAX_MESSAGES], max_tokens)
    if not is_learned and not is_long:
        return
    fitted = turn.record.requests[-1].fitted
    exchange = Exchange(
        messages=[*fitted.messages, *from_contents(turn.chat_log.content[-1:])],
        tools=fitted.tools,
        speaker=speaker,
        said=calls.sentence,
        at_home=calls.disclosure.withheld and calls.disclosure.model.home,
        at=turn.record.at,
    )
    if is_learned:
        data.extractor.note(exchange)
    if is_long:
        data.summaries.put(turn.history_id, exchange)


MAX_CHARS: Final = 4000
"""Longer texts are always looked at."""
LEAST_WORDS: Final = 4
"""Shorter parts without words for facts are greetings, answers and thanks."""
PARTS: Final = lazy_regex(rf"[^{re.escape(''.join(COMMAS | ENDS))}]+[{re.escape(''.join(QUESTION_MARKS))}]?")


def teaches(sentence: str, language: str, *, acted: bool, looked_up: bool) -> bool:
    """Return whether a person may have told something worth remembering.

    `acted` says that something was done, `looked_up` that the home was only read. An order that was carried
    out, a question and a short sentence teach something only if a part of them does, such as "turn on the
    light, I'm Ruth's new nurse".
    """
    own = find(language)
    if own is None or own not in languages_with("memory.facts") or len(sentence) > MAX_CHARS:
        return not (acted and read(sentence, language).kind is Mood.ORDER)
    if asks_to_remember(sentence) or _facts(own).search(fold_letters(sentence)):
        return True
    parts = [part.strip() for part in PARTS.findall(sentence) if part.strip()]
    # Neither an order nor a question, and long enough.
    told = [
        part
        for part in parts
        if not part.endswith(tuple(QUESTION_MARKS))
        and len(words(part)) >= LEAST_WORDS
        and read(part, language).kind is Mood.REMARK
    ]
    return bool(told) and (len(parts) > len(told) or not (acted or looked_up))


@cache
def _facts(language: str) -> re.Pattern[str]:
    return re.compile(any_of(word_list(language, "memory.facts"), fold_letters))
