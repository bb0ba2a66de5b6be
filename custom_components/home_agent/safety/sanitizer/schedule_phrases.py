"""Sentences that tell when a home is empty, in many languages; the patterns stand in `private_words.json`."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
import re

from ...regex import lazy
from .private_names import private_words


@dataclass(frozen=True, slots=True)
class _Schedule:
    """What is looked for in folded text."""

    times: re.Pattern[str]
    when: re.Pattern[str]
    """Before a condition of an automation, which is no fact."""
    away: re.Pattern[str]
    """Somebody is away; it tells something together with a time."""
    facts: re.Pattern[str]
    empty: re.Pattern[str]
    """Nobody is at home."""


def schedule_phrases(folded: str, *, strict: bool = False) -> Iterator[str]:
    """Yield the parts of a folded text that tell when nobody is there.

    In strict mode conditions count as facts. Reads the disk the first time.
    """
    tables = _schedule()
    when = tables.times.search(folded)
    for found in tables.facts.finditer(folded):
        if when or strict:
            yield found[0]
    for found in tables.away.finditer(folded):
        if strict or (when and not tables.when.search(folded[: found.end()])):
            yield found[0]
    for found in tables.empty.finditer(folded):
        if strict or not tables.when.search(folded[: found.start()]):
            yield found[0]


@cache
def _schedule() -> _Schedule:
    """Return the patterns."""
    tables = private_words()["schedule"]
    joined = {key: "|".join(f"(?:{pattern})" for pattern in patterns) for key, patterns in tables.items()}
    joined["times"] = rf"(?<!\w)(?:{joined['times']})"
    return _Schedule(**{key: lazy(pattern) for key, pattern in joined.items()})
