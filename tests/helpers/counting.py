"""Counts what a turn does: calls of functions, and walks over everything in the home.

Counts are the same on a busy machine, unlike times.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import sys
from types import FrameType
from typing import Any, override

OURS = "/custom_components/home_agent/"


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Count the calls of functions: ours as `agent/llm.py:_gate`, others by their qualified name alone."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            _, ours, path = code.co_filename.partition(OURS)
            calls[f"{path}:{code.co_qualname}" if ours else code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def own_calls(calls: Counter[str]) -> int:
    """Return how many calls of Home Agent's own functions there were."""
    return sum(count for name, count in calls.items() if ".py:" in name)


class Walked(dict[str, Any]):
    """A mapping that notes who reads all of it."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.walks: list[str] = []

    def _note(self) -> None:
        self.walks.append(sys._getframe(2).f_code.co_qualname)

    @override
    def __iter__(self) -> Iterator[str]:
        self._note()
        return super().__iter__()

    @override
    def keys(self) -> Any:
        """Note a walk over the keys."""
        self._note()
        return super().keys()

    @override
    def values(self) -> Any:
        """Note a walk over the values."""
        self._note()
        return super().values()

    @override
    def items(self) -> Any:
        """Note a walk over both."""
        self._note()
        return super().items()
