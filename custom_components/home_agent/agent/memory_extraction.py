"""MemoryExtractionMixin: processing of a turn after the answer, while no turn is running."""

from functools import cache
import re
from typing import Final

from homeassistant.util import dt as dt_util

from ..const import (
    CONF_HISTORY,
    CONF_HISTORY_MAX_MESSAGES,
    CONF_HISTORY_SUMMARIZE,
    CONF_MEMORY,
    CONF_MEMORY_EXTRACTION,
)
from ..entity import HomeAgentBaseEntity
from ..languages import find, languages_with, words as word_list
from ..languages.lexicon import COMMAS, ENDS, QUESTION_MARKS
from ..languages.phrases import any_of
from ..languages.sentence import Kind, read
from ..memory.extractor import Exchange
from ..memory.sentences import asks_to_remember
from ..regex import lazy_regex
from ..texts import fold_letters, words
from .afterthought import FinishedConversation
from .log import from_contents
from .request import stays_home
from .turn import Turn


class MemoryExtractionMixin(HomeAgentBaseEntity):
    """Hands turns to the extractor, and long conversations to the summarizer."""

    def _learn_from(self, turn: Turn) -> None:
        """Record a turn that may contain something worth remembering."""
        settings = self.settings
        if not (settings[CONF_MEMORY] and settings[CONF_MEMORY_EXTRACTION]) or not _may_tell(turn):
            return
        assert turn.fitted is not None
        answer = from_contents(turn.chat_log.content[-1:])
        self.data.extractor.note(
            Exchange(
                messages=[*turn.fitted.messages, *answer],
                tools=turn.fitted.tools,
                speaker=turn.calls.speaker,
                said=turn.calls.sentence,
                at_home=stays_home(turn),
                at=dt_util.utcnow(),
            )
        )

    def _sum_up(self, turn: Turn) -> None:
        if not (self.settings[CONF_HISTORY] and self.settings[CONF_HISTORY_SUMMARIZE]):
            return
        if turn.fitted is None or turn.history_id is None:
            return
        wanted = self.data.shared.history.wants_summary(
            self.entry.entry_id,
            turn.history_id,
            max_messages=self.settings[CONF_HISTORY_MAX_MESSAGES],
            max_tokens=self.data.context.window.budget(self.router.expected).history,
        )
        if wanted:
            messages = [*turn.fitted.messages, *from_contents(turn.chat_log.content[-1:])]
            finished = FinishedConversation(
                messages=messages, tools=turn.fitted.tools, at_home=stays_home(turn)
            )
            self.data.summarizer.queue.put(turn.history_id, finished)


def _may_tell(turn: Turn) -> bool:
    """Return whether a person may have told the model something worth remembering.

    An automation's words have no owner, and those with text from outside may belong to someone else.
    """
    speaker, calls = turn.calls.speaker, turn.calls
    if turn.fitted is None or calls.tainted or not (speaker.context.user_id or speaker.voice):
        return False
    if any(record.stored_memory for record in calls.records):
        return False
    acted = bool(calls.touched) or calls.done
    return teaches(calls.sentence, turn.language, acted=acted, looked_up=bool(calls.records) and not acted)


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
        return not (acted and read(sentence, language).kind is Kind.ORDER)
    if asks_to_remember(sentence) or _facts(own).search(fold_letters(sentence)):
        return True
    parts = [part.strip() for part in PARTS.findall(sentence) if part.strip()]
    # Neither an order nor a question, and long enough.
    told = [
        part
        for part in parts
        if not part.endswith(tuple(QUESTION_MARKS))
        and len(words(part)) >= LEAST_WORDS
        and read(part, language).kind is Kind.REMARK
    ]
    return bool(told) and (len(parts) > len(told) or not (acted or looked_up))


@cache
def _facts(language: str) -> re.Pattern[str]:
    return re.compile(any_of(word_list(language, "memory.facts"), fold_letters))
