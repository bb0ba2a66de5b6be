"""Taint: which texts come from outside the household, so that a turn that reads them loses rights.

A turn that has read such a text, or goes on from one that has, asks a person before anything serious
(`policy.py`), remembers and forgets nothing that the person did not say, and lets no private word out.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from homeassistant.helpers import llm

from ...regex import lazy
from ...texts import leaves, words

_WORD: Final = lazy(r"\w+")


def is_news(texts: Iterable[str], said: str) -> bool:
    """Return whether any of these texts contains a word that the person has not just said."""
    spoken = set(words(said))
    return any(not spoken.issuperset(words(text)) for text in texts)


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value that are more than a number or a date."""
    return (
        text for text in leaves(value, keys=True) if isinstance(text, str) and not _NO_TEXT.fullmatch(text)
    )


_NO_TEXT: Final = lazy(r"[\d\s:.,+%°TZ/-]*")


def comes_from_outside(tool: llm.Tool) -> bool:
    """Return whether what a tool of another API answers may have been written outside.

    Intents answer with names of the house, and Home Assistant's own clock with the time; of others nobody
    knows. A name says nothing of where a tool comes from, its class does.
    """
    while isinstance(inner := getattr(tool, "tool", None), llm.Tool):
        tool = inner
    return not isinstance(tool, llm.IntentTool) and type(tool).__module__ != CLOCK


CLOCK: Final = "homeassistant.components.llm.llm"
"""Where Home Assistant defines the tools that every API has: the clock, and nothing else."""


def has_text(result: Any) -> bool:
    """Return whether a result holds any text at all."""
    return any(_WORD.search(text) for text in _texts(result))
