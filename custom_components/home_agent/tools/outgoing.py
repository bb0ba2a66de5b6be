"""What of a question may leave the house: without what the data policy keeps from models outside it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
import re
from typing import Any, Final

from homeassistant.helpers.json import json_dumps

from ..memory.memories import Memories
from ..memory.profile import Profile
from ..memory.visibility import is_entry_visible, is_visible
from ..memory.words import STEM
from ..safety.disclosure import Disclosure
from ..safety.sanitizer import Sanitizer
from ..vector.text import fold, words
from .base import ToolRun

LEFT_OUT: Final = "(left out)"
ALIKE: Final = 0.6
"""Share of the words of something remembered from which a sentence tells it."""
SHORTEST: Final = 3
MAX_DEPTH: Final = 10

MEMORIES: Final = "what is remembered"
STATES: Final = "states of the house"
PRIVATE: Final = "private words"

_SENTENCE: Final = re.compile(r".+?(?:[.!?;]+(?=\s|$)|[\u3002\uff01\uff1f]+|\n|$)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Remaining:
    """A question as it may leave, and what was taken out of it."""

    prompt: str
    context: Any
    left_out: tuple[str, ...]


class Outgoing:
    """Takes out of a question what a model outside the house is not told."""

    def __init__(self, memories: Memories, profile: Profile, sanitizer: Sanitizer) -> None:
        """Take what is remembered, what is known of persons, and what finds private words."""
        self._sanitizer = sanitizer
        self._memories = memories
        self._profile = profile

    async def async_cut(self, prompt: str, context: Any, run: ToolRun, model: Disclosure) -> Remaining:
        """Return what of a question a model outside may read.

        Sentences that tell what is remembered go, but for words that the person has just said. Where states
        stay at home the context goes, and with it each sentence that names an entity.
        """
        kept = self._kept(run.speaker.person_id, model)
        names: list[str] = []
        if not model.states:
            names = [
                fold(name)
                for record in run.house.entities.values()
                for name in (record.entity_id, record.name, *record.aliases)
                if len(name) > SHORTEST
            ]
        said = f"{run.sentence} {run.speaker.person or ''}"

        def cut() -> Remaining:
            filter_ = _Filter(said, kept, names)
            shorter = filter_.text(prompt)
            inside = filter_.value(context) if model.states else None
            if context and not model.states:
                filter_.found.add(STATES)
            return Remaining(shorter, inside, tuple(sorted(filter_.found)))

        remaining = await run.hass.async_add_executor_job(cut)
        if model.states and not run.tainted:
            return remaining
        return await self._async_sanitized(remaining, run)

    async def _async_sanitized(self, remaining: Remaining, run: ToolRun) -> Remaining:
        """Return a question without names of the house and other private words."""
        texts = [remaining.prompt, *([json_dumps(remaining.context)] if remaining.context else [])]
        cleaned = [
            await self._sanitizer.async_clean(
                text, language=run.speaker.language, strict=run.tainted, said=run.sentence
            )
            for text in texts
        ]
        if not any(found.found or found.blocked for found in cleaned):
            return remaining
        left_out = tuple(sorted({*remaining.left_out, PRIVATE}))
        prompt = "" if cleaned[0].blocked else cleaned[0].text
        context = None
        if len(cleaned) > 1 and not cleaned[1].blocked:
            context = remaining.context if not cleaned[1].found else cleaned[1].text
        return Remaining(prompt, context, left_out)

    def _kept(self, person_id: str | None, model: Disclosure) -> list[str]:
        """Return the texts that a model outside is not told."""
        memories = (memory for memory in self._memories.all() if not is_visible(memory, person_id, model))
        entries = self._profile.entries(lambda entry: not is_entry_visible(entry, person_id, model))
        return [
            *(memory.content for memory in memories),
            *(f"{entry.key} {entry.value}" for entry in entries),
        ]


@dataclass(slots=True)
class _Filter:
    """Leaves out sentences that tell too much."""

    said: str
    remembered: Iterable[str]
    names: Iterable[str]
    found: set[str] = field(default_factory=set)
    _telling: list[set[str]] = field(init=False)

    def __post_init__(self) -> None:
        """Take what is remembered as words, less those that the person has just said."""
        said = _stems(self.said)
        told = (_stems(text) - said for text in self.remembered)
        self._telling = [stems for stems in told if stems]

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return JSON with each of its texts as it may be read."""
        if isinstance(value, str):
            return self.text(value)
        if depth >= MAX_DEPTH:
            return LEFT_OUT
        if isinstance(value, dict):
            # A key and its value tell something together: "diet": "vegetarian".
            return {
                self.text(key): LEFT_OUT
                if isinstance(item, str) and self._reason(f"{key} {item}")
                else self.value(item, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        return value

    def text(self, text: str) -> str:
        """Return a text without the sentences that tell too much."""
        return "".join(
            f"{LEFT_OUT} " if self._reason(sentence) else sentence for sentence in _SENTENCE.findall(text)
        ).strip()

    def _reason(self, sentence: str) -> str:
        """Return what a sentence tells that is not told outside; empty if nothing."""
        stems, folded = _stems(sentence), fold(sentence)
        if any(len(stems & told) >= ALIKE * len(told) for told in self._telling):
            self.found.add(MEMORIES)
            return MEMORIES
        if any(name in folded for name in self.names):
            self.found.add(STATES)
            return STATES
        return ""


def _stems(text: str) -> set[str]:
    """Return the beginnings of the words of a text that say something."""
    return {
        word[:STEM]
        for word in words(text)
        if len(word) >= SHORTEST or not word.isascii() or any(char.isdigit() for char in word)
    }
