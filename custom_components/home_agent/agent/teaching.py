"""Whether a sentence may hold something to remember, beyond questions about the home and orders."""

from functools import cache
import re
from typing import Final

from ..languages import find, languages_with, words as word_list
from ..languages.lexicon import COMMAS, ENDS, QUESTION_MARKS
from ..languages.phrases import any_of
from ..languages.sentence import Kind, read
from ..memory.sentences import asks_to_remember
from ..regex import lazy_regex
from ..texts import fold_letters, words

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
    told = [part for part in parts if _tells(part, language)]
    return bool(told) and (len(parts) > len(told) or not (acted or looked_up))


def _tells(part: str, language: str) -> bool:
    """Return whether a part of a sentence is neither an order nor a question, and long enough."""
    if part.endswith(tuple(QUESTION_MARKS)) or len(words(part)) < LEAST_WORDS:
        return False
    return read(part, language).kind is Kind.REMARK


@cache
def _facts(language: str) -> re.Pattern[str]:
    return re.compile(any_of(word_list(language, "memory.facts"), fold_letters))
