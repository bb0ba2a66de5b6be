"""How a turn ends: the result, whether the microphone opens again, figures, errors as events tell them."""

from collections import Counter

from homeassistant.components import conversation

from ..embeds import without_embeds
from ..errors import HomeAgentError
from ..event_data import ConversationFinished
from ..languages import find, words
from ..tools.turn_calls import turn_quality
from .intent_results import set_results
from .log import end_with_lead, last_words
from .speech import SpeechFilter
from .turn import Turn

QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u1367", "\u2047")
STOPS = " .!~\u2026\u3002\uff01\uff5e\"'\u201d\u2019\u300d"
"""Characters that may follow the last word of a question without a question mark."""
MAX_READ_OUT = 10_000
"""Characters that are read aloud, some ten minutes."""


def close_turn(turn: Turn, user_input: conversation.ConversationInput) -> conversation.ConversationResult:
    """Return the result of a turn whose last words are in the chat log.

    The Assist dialog replaces what it streamed with this speech, so a typed sentence keeps its markdown. An
    action or an API may hand the speech to a text-to-speech engine, so it gets the words that a voice reads.
    """
    end_with_lead(turn)
    result = conversation.async_get_result_from_chat_log(user_input, turn.chat_log)
    set_results(turn.hass, result.response, turn.calls, turn.local_response)
    result.continue_conversation = listens_on(turn)
    if turn.silent:
        result.response.async_set_speech(turn.lead)
        return result
    text = result.response.speech["plain"]["speech"]
    # Who asks for the text of a question may render markdown, too.
    own = without_embeds(f"{turn.lead} {turn.question}".strip()) if turn.question else ""
    spoken = own or as_spoken(text)
    if not (turn.calls.speaker.voice or turn.calls.speaker.shown) and spoken != text:
        result.response.async_set_speech(spoken, extra_data={"markdown": text})
    return result


def as_spoken(text: str) -> str:
    """Return text as a voice reads it. Text of code or data alone has no such words and stays as it is."""
    text = text[:MAX_READ_OUT]
    words = SpeechFilter(voice=True)
    return f"{words.feed(text).text}{words.flush().text}".strip() or text


def listens_on(turn: Turn) -> bool:
    """Return whether the microphone opens again.

    A question opens it. What models like to ask behind a command that worked ("Anything else?") does not.
    """
    if turn.asks:
        return True
    return is_question(last_words(turn).strip(), turn.language) and not turn.calls.acted


def is_question(text: str, language: str) -> bool:
    """Return whether a text ends with a question, also where its language asks without a question mark."""
    if text.endswith(QUESTION_MARKS) or (language.startswith("el") and text.endswith(";")):
        return True
    said = text.rstrip(STOPS).casefold()
    return said.endswith(words(find(language) or language, "replies.question_ends"))


def finished_event(turn: Turn, err: HomeAgentError | None, problem: str | None) -> ConversationFinished:
    """Return the data of the event that reports the cost of a turn, and its error and what it was."""
    figures = turn.figures
    records = turn.calls.records
    return {
        "conversation_id": turn.calls.conversation_id,
        "user_id": turn.user_input.context.user_id if turn.user_input else None,
        "person": turn.calls.speaker.person_id,
        "error_type": type(err).__name__ if err else None,
        "error_message": problem,
        "duration_ms": round(figures.elapsed_ms, 1),
        "tool_calls": len(records),
        "tool_breakdown": dict(Counter(record.tool_name for record in records)),
        "tokens": {
            "prompt": figures.prompt_tokens,
            "completion": figures.completion_tokens,
            "total": figures.prompt_tokens + figures.completion_tokens,
            "cached": figures.cached_tokens,
        },
        "tokens_used": figures.prompt_tokens + figures.completion_tokens,
        "external_tokens": {
            "prompt": sum(usage.prompt for usage in figures.external),
            "completion": sum(usage.completion for usage in figures.external),
            "total": figures.external_tokens,
            "cached": sum(usage.cached for usage in figures.external),
        },
        "performance": {
            "llm_latency_ms": round(figures.llm_ms, 1),
            "tool_latency_ms": round(sum(record.duration_ms for record in records), 1),
            "context_latency_ms": round(figures.context_ms, 1),
            "ttft_ms": None if figures.ttft_ms is None else round(figures.ttft_ms, 1),
            "queue_ms": round(turn.calls.caller.waited * 1000, 1),
        },
        "used_external_llm": bool(figures.external),
        "tool_quality": turn_quality(turn.calls.verdicts),
    }
