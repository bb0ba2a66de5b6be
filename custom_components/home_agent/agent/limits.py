"""Limits that are checked before anything reads the sentence of a turn."""

from homeassistant.components import conversation

from ..const import MAX_SENTENCE_CHARS
from ..errors import SentenceTooLong
from ..safety.throttle import Throttle
from .turn import Turn


def check_limits(turn: Turn, throttle: Throttle) -> None:
    """Stop an automation that asks without end, and a sentence that is too long.

    Raises TooManyRequests and SentenceTooLong.
    """
    if turn.calls.speaker.is_automation:
        throttle.check()
    assert turn.user_input is not None
    length = len(turn.user_input.text)
    if length <= MAX_SENTENCE_CHARS:
        return
    turn.chat_log.content[turn.first] = conversation.UserContent(content=turn.calls.sentence)
    raise SentenceTooLong(f"{length} characters, at most {MAX_SENTENCE_CHARS}", limit=MAX_SENTENCE_CHARS)
