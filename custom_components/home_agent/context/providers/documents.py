"""DocumentsContextProvider: passages of the household's own texts that a sentence may be answered from.

They follow the entities. Their authors are not trusted: each is one quoted line.
"""

from collections.abc import Iterable, Iterator
from typing import Final, override

from ...knowledge.house import HouseSnapshot
from ...knowledge.library import USE, HouseholdTexts, Passage
from ...texts import clean, quoted
from ..window import estimate_tokens
from .base import ContextProvider, ContextRequest, ProviderSetup, Slot

HEADING: Final = f"From the household's texts, {USE}:"
TITLE_CHARS: Final = 80
TEXT_CHARS: Final = 1_000
LEAST_CHARS: Final = 200
"""A passage that does not fit is shortened, but not below this."""


class DocumentsContextProvider(ContextProvider):
    """Provides the passages of the additional collections about a sentence."""

    name = "documents"

    def __init__(self, texts: HouseholdTexts) -> None:
        self._texts = texts

    @override
    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Look whether the collections are there, and index their words."""
        await self._texts.async_prepare()

    @override
    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the passages that answer the sentence, within the budget."""
        found = await self._texts.async_search(request.sentence)
        lines = tuple(_lines(found, request.budget.documents))
        return Slot(
            heading=HEADING,
            lines=lines,
            query=request.sentence if self._texts.asks_store else None,
            reference=True,
            scores=tuple({"score": passage.score} for passage in found[: len(lines)]),
        )


def _lines(passages: Iterable[Passage], budget: int) -> Iterator[str]:
    """Yield one line for each passage until the budget is used; the last one may be shortened."""
    left = budget
    for passage in passages:
        title = f"{clean(passage.title, TITLE_CHARS)}: " if passage.title else ""
        line = f"- {title}{quoted(passage.text, TEXT_CHARS)}"
        tokens = estimate_tokens(line)
        if tokens > left:
            chars = len(passage.text) * left // tokens - len(title)
            if chars >= LEAST_CHARS:
                yield f"- {title}{quoted(passage.text, min(chars, TEXT_CHARS))}"
            return
        left -= tokens
        yield line


def documents_provider(setup: ProviderSetup) -> ContextProvider | None:
    """Return the provider of passages from the additional collections, if there are any."""
    return DocumentsContextProvider(setup.texts) if setup.texts.configured else None
