"""Whether a sentence says when or on which condition something is to be done: "tell me when it is done"."""

from functools import lru_cache

from .later_parts import Part, is_asked, parts_of
from .lexicon import Match


@lru_cache(maxsize=64)
def depends(text: str, language: str, *, asks: bool = False) -> bool:
    """Return whether a text waits for something to happen.

    A condition that belongs to a command of its own, behind the first part, is about that command only:
    "tell Tom that dinner is ready, and turn off the light when I leave". With `asks`, a word that may mean
    whether is none: "ask Mia if she wants pizza".
    """
    parts = parts_of(text, language, is_evening=False)
    return any(
        _waits(part, asks=asks) and not (number and part.commands) for number, part in enumerate(parts)
    )


def _waits(part: Part, *, asks: bool) -> bool:
    """Return whether a part contains a word for when or if that is not only polite."""
    found = part.found
    polite = {
        at
        for index, match in found["polite"].items()
        if match >= max(found["when"].get(index, Match()), found["if"].get(index, Match()))
        for at in range(index, index + match.words)
    }
    words = [index for name in ("when", "if") for index in found[name] if index not in polite]
    return any(not is_asked(found, index) and not (asks and index in found["whether"]) for index in words)
