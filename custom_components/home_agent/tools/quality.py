"""How well calls fit: counters per tool and model, for events, sensors and diagnostics."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from ..event_data import FitCounts, TurnQuality

MAX_PAIRS: Final = 200
OTHER: Final = "other"


class Fit(StrEnum):
    """How a call came to run, or did not."""

    FIRST_TRY = "first_try"
    REPAIRED = "repaired"
    RETRIED = "retried"
    REFUSED = "refused"
    """It did not fit; the model may try again."""
    EXHAUSTED = "exhausted"
    """It did not fit, and the attempts of the turn are used up."""


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What is counted of one call."""

    tool: str
    fit: Fit
    rules: tuple[str, ...] = ()


@dataclass(slots=True)
class Quality:
    """Counters of many calls, bounded in the names that they keep."""

    counts: dict[tuple[str, str], Counter[Fit]] = field(default_factory=dict)
    """By model and tool."""
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, model: str, verdicts: Iterable[CallVerdict]) -> None:
        """Count the calls of a turn."""
        for verdict in verdicts:
            pair = (model, verdict.tool)
            if pair not in self.counts and len(self.counts) >= MAX_PAIRS:
                pair = (OTHER, OTHER)
            self.counts.setdefault(pair, Counter())[verdict.fit] += 1
            self.rules.update(verdict.rules)

    def total(self, fit: Fit) -> int:
        """Return how many calls went so."""
        return sum(counts[fit] for counts in self.counts.values())

    @property
    def first_try_rate(self) -> float | None:
        """Return the percentage of calls that fitted at once; None before the first call."""
        total = sum(sum(counts.values()) for counts in self.counts.values())
        return round(100 * self.total(Fit.FIRST_TRY) / total, 1) if total else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything that was counted."""
        return {
            "models": [
                {"model": model, "tool": tool, **_named(counts)}
                for (model, tool), counts in self.counts.items()
            ],
            "rules": dict(self.rules),
        }


def turn_quality(verdicts: Iterable[CallVerdict]) -> TurnQuality:
    """Return the counters of one turn, in all and by tool."""
    own = list(verdicts)
    tools = dict.fromkeys(verdict.tool for verdict in own)
    return {
        **_named(Counter(verdict.fit for verdict in own)),
        "rules": dict(Counter(rule for verdict in own for rule in verdict.rules)),
        "tools": {
            tool: _named(Counter(verdict.fit for verdict in own if verdict.tool == tool)) for tool in tools
        },
    }


def _named(counts: Counter[Fit]) -> FitCounts:
    return {
        "first_try": counts[Fit.FIRST_TRY],
        "repaired": counts[Fit.REPAIRED],
        "retried": counts[Fit.RETRIED],
        "refused": counts[Fit.REFUSED],
        "exhausted": counts[Fit.EXHAUSTED],
    }
