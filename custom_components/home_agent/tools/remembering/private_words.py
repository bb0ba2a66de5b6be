"""Whether a text that everybody in a room would hear tells what is remembered of a person."""

from collections.abc import Iterable, Sequence
from functools import cache

from homeassistant.core import HomeAssistant

from ...knowledge.speaker import persons
from ...languages import languages
from ...languages.phrases import all_words
from ...memory.memories import Memories
from ...memory.profile import Profile
from ...memory.records import Sensitivity
from ...safety.disclosure import DataCategory
from ...safety.sanitizer.origins import neutral_words
from ...safety.sanitizer.private_names import ordinary_words
from ...safety.spoken_numbers import number_words
from ...texts import is_unspaced, words
from ..base import ToolRun

TELLING = 2
"""Everyday words of one memory that tell it together."""
STEM = 6
"""Letters by which forms of a word are the same word."""
MIN_LETTERS = 4


class PrivateWords:
    """Finds what is remembered in a message, where the person has not just said it."""

    def __init__(self, memories: Memories, profile: Profile) -> None:
        self._memories = memories
        self._profile = profile

    async def async_are_in(self, message: str, run: ToolRun) -> bool:
        """Return whether a message tells something of a person that the speaker has not said.

        What belongs to the whole household counts only if it is private. After a call that has looked up
        what is known of people, each new word may come from there.
        """
        known = [
            *(one.content for one in self._memories.all() if one.person is not None or one.private),
            *(
                entry.value
                for entry in self._profile.entries(
                    lambda entry: entry.person is not None or entry.sensitivity is not Sensitivity.PUBLIC
                )
            ),
        ]
        recalled = any(DataCategory.PEOPLE in one for one in run.calls.disclosure.categories.values())
        names = [*_names(run.hass), *(area.name for area in run.house.areas.values())]
        said = [*run.calls.origins.said, *names]
        if not known and not recalled:
            return False
        return await run.hass.async_add_executor_job(_tells, message, known, said, names, recalled)


def _names(hass: HomeAssistant) -> Iterable[str]:
    """Yield the names of the household's persons, which tell nothing."""
    return (person.name for person in persons(hass))


def _tells(
    message: str, known: Sequence[str], said: Iterable[str], names: Iterable[str], recalled: bool
) -> bool:
    """Return whether a message has words of a known text beyond those that were said.

    One word is enough, as it may be the secret; only of everyday words it takes two.
    """
    written = _stems(message)
    new = written - frozenset(stem for text in said for stem in _stems(text))
    if recalled or not new:
        return bool(new)
    silent = frozenset(stem for name in names for stem in _stems(name))
    everyday = _everyday()
    return any(
        new & own and (new & own - everyday or len(written & own) >= min(TELLING, len(own)))
        for own in (_stems(text) - silent for text in known)
    )


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words that say something, and the numbers."""
    return frozenset(
        word[:STEM]
        for word in words(text)
        if word not in neutral_words() and (len(word) >= MIN_LETTERS or word.isdigit() or is_unspaced(word))
    )


@cache
def _everyday() -> frozenset[str]:
    """Return the beginnings of the words that are in many announcements: everyday words, numbers and days."""
    numbers = (word for language in languages() for word in number_words(language).parts)
    days = (word for phrase in all_words("privacy.times") for word in words(phrase))
    return frozenset(word[:STEM] for word in (*ordinary_words(names=False), *numbers, *days))
