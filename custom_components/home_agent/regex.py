"""Patterns that are compiled at their first use, or before it beside the set-up: never while modules load."""

from collections.abc import Callable
from functools import cache
import re
from typing import Any, Final, cast

_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
_OTHER: Final = ("flags", "groups", "groupindex")

_written: Final[list[_Lazy]] = []
"""All patterns, compiled or not."""

_composers: Final[list[Callable[[], object]]] = []
"""Functions that compose patterns of the words in the language files."""


class _Lazy:
    """Has what a pattern has; the first use of any of it compiles."""

    __slots__ = (*_METHODS, *_OTHER, "pattern", "_wanted")

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._wanted = flags

    def __getattr__(self, name: str) -> Any:
        """Compile, and be as fast as the compiled pattern from now on."""
        if name not in _METHODS and name not in _OTHER:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._wanted)
        for each in (*_OTHER, *_METHODS):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def lazy_regex[Text: (str, bytes)](pattern: Text, flags: int = 0) -> re.Pattern[Text]:
    """Return a pattern for the top of a module; nothing is compiled yet."""
    written = _Lazy(pattern, flags)
    _written.append(written)
    return cast(re.Pattern[Text], written)


def composed[Result](compose: Callable[[], Result]) -> Callable[[], Result]:
    """Mark a function that composes patterns: its result is kept, and made together with the others."""
    cached = cache(compose)
    _composers.append(cached)
    return cached


def compile_all() -> None:
    """Compile what no one has used so far; belongs into an executor."""
    for compose in _composers:
        compose()
    for pattern in _written:
        pattern.search  # noqa: B018 - the first use compiles
