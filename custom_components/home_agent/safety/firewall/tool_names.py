"""Calls of the offered tools in texts from outside; the names come from the tools themselves."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
import re
from typing import Final

from .text import as_read

MAX_NAMES: Final = 2_000

_own: Final[OrderedDict[str, None]] = OrderedDict()
"""Names of the agents' own and custom tools, for texts that are read outside of a turn."""

_RUNNING: Final = (
    r"(?:run|call|use|invoke|execute|trigger|tool|function)\s{1,4}"
    r"(?:the\s{1,4})?(?:tool\s{1,4}|function\s{1,4})?"
)


def note_tools(names: Iterable[str]) -> None:
    """Remember the names of tools that an agent has from now on."""
    for name in names:
        _own[name] = None
        _own.move_to_end(name)
    while len(_own) > MAX_NAMES:
        _own.popitem(last=False)


def named_calls(readable: str, names: Collection[str] = ()) -> Iterator[re.Match[str]]:
    """Yield where a readable text names a tool: one of the agents' own, or one of `names`."""
    yield from _pattern(frozenset({*_own, *names})).finditer(readable)


@lru_cache(maxsize=8)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of these names; everyday words count only if they are used as a call."""
    written = sorted({as_read(name.lower()) for name in names if name}, key=lambda name: (-len(name), name))
    technical = "|".join(re.escape(name) for name in written if not name.isalpha())
    everyday = "|".join(re.escape(name) for name in written if name.isalpha())
    parts = [rf"(?<!\w)(?:{technical})(?!\w)"] if technical else []
    if everyday:
        parts += [
            rf"(?<!\w){_RUNNING}[\"'`]?(?:{everyday})(?!\w)",
            rf"(?<!\w)(?:{everyday})\s{{0,2}}[({{]\s{{0,4}}[\"'{{\w]",
        ]
    return re.compile("|".join(parts) if parts else r"(?!)")
