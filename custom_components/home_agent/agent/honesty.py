"""Honest answers, judged by what was called: words are looked at only for a no.

An order that no call stands behind is asked once more. A failed call that the answer hides gets one sentence.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from ..languages import DEFAULT, find, table, words
from ..languages.lexicon import Lexicon, clauses
from ..languages.sentence import Kind, read
from ..texts import plain
from ..tools.turn_calls import CallRecord
from .closing import is_question
from .phrases import async_phrase
from .turn import Turn

MAX_NAMES: Final = 5
MAX_CHARS: Final = 2000
"""How much of an answer is read."""


class AnswerGate:
    """Holds back the answer to an order until it ends: words beside a call are early, and left out."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._text = ""
        self._has_calls = False
        self.withheld = ""
        """The answer, if it may not stand without a call."""

    def take(self, text: str, *, has_calls: bool) -> None:
        """Take the next piece of the answer."""
        self._text += text
        self._has_calls = self._has_calls or has_calls

    def release(self) -> str:
        """Return what of the answer may be said."""
        if self._has_calls:
            return ""
        if not self._text.strip() or may_answer_order(self._text, self._language):
            return self._text
        self.withheld = self._text
        return ""


def gate_of(turn: Turn) -> AnswerGate | None:
    """Return the gate for the answer to an order of a person for which nothing was called yet."""
    calls = turn.calls
    if turn.user_input is None or turn.response_schema is not None or calls.records or turn.said:
        return None
    return AnswerGate(turn.language) if read(calls.sentence, turn.language).kind is Kind.ORDER else None


def may_answer_order(text: str, language: str) -> bool:
    """Return whether an answer to an order may stand without a call: it asks, or has a word of a no."""
    return is_question(text.strip(), language) or _has_word(text, language, ("denies", "fails"))


async def async_unsaid_failure(turn: Turn, text: str) -> str | None:
    """Return the sentence about what failed for good, if an answer has no word of it and asks nothing."""
    failed = _failed_for_good(turn.calls.records)
    if not failed or turn.user_input is None or is_question(text.strip(), turn.language):
        return None
    if _has_word(text, turn.language, ("fails",)):
        return None
    house = await turn.data.house.async_snapshot()
    keys = dict.fromkeys(key for record in failed for key in record.targets.get("failed", ()))
    names = [house.entities[key].name for key in keys if key in house.entities][:MAX_NAMES]
    key = "not_all_done_names" if names else "not_all_done" if turn.calls.done else "not_done"
    return await async_phrase(turn.hass, turn.language, key, names=", ".join(names))


def _failed_for_good(records: Sequence[CallRecord]) -> list[CallRecord]:
    """Return the calls that failed, without those that a later call of the model made up for."""

    def has_failed(record: CallRecord) -> bool:
        return not record.read_only and not record.waits and (not record.success or record.in_part)

    return [
        record
        for record in records
        if has_failed(record)
        and not any(
            later.round > record.round
            and later.success
            and (later.waits or not has_failed(later))
            and (later.tool_name == record.tool_name or f"call {later.tool_name} " in record.said)
            for later in records
        )
    ]


def _has_word(text: str, language: str, names: tuple[str, ...]) -> bool:
    """Return whether a text has a word of some tables, in its language or in English.

    Models change to English now and then. Of a language without such words nothing is known.
    """
    own, text = find(language), text[:MAX_CHARS]
    if own is None or table(own, "replies.denies") is None:
        return True
    if table(own, "unspaced") or table(own, "questions.inside_words"):
        entries = [entry for name in ("denies", "fails") for entry in words(own, f"replies.{name}")]
        return any(plain(entry) in plain(text) for entry in entries)
    return any(
        _lexicon(each, names).matches("words", clause.words)
        for each in {own, DEFAULT}
        for clause in clauses(text)
    )


@cache
def _lexicon(language: str, names: tuple[str, ...]) -> Lexicon:
    return Lexicon({"words": [entry for name in names for entry in words(language, f"replies.{name}")]})
