"""The report of a self-test: scores, a verdict, and what to change."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..agent.describe import async_phrase
from .cases import Capability, Case
from .kept import Report

GOOD, USABLE, WEAK = 0.9, 0.7, 0.6
"""Shares of cases: for the verdicts, and of one capability, below which it is named as weak."""
SLOW_SECONDS: Final = 5.0
"""A time to the end of an answer from which people assume that nothing happens."""
TOO_SLOW_SECONDS: Final = 15.0
MAX_CHARS: Final = 300


@dataclass(slots=True, kw_only=True)
class Result:
    """What became of one case."""

    case: Case
    problem: str | None
    words: str
    calls: list[str]
    seconds: float
    first_seconds: float | None
    late: bool
    """Whether it was broken off because it took too long."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as the report shows it."""
        return {
            "name": self.case.name,
            "capability": self.case.capability.value,
            "said": self.case.said,
            "passed": self.problem is None,
            "problem": self.problem,
            "answer": self.words[:MAX_CHARS],
            "calls": [call[:MAX_CHARS] for call in self.calls],
            "seconds": round(self.seconds, 2),
        }


async def async_report(
    hass: HomeAssistant, model: str, results: Sequence[Result], planned: int, language: str
) -> Report:
    """Return the report about the results, of which there is at least one; its advice is in a language."""
    seconds = median(result.seconds for result in results)
    firsts = [result.first_seconds for result in results if result.first_seconds is not None]
    scores: dict[str, dict[str, int]] = {}
    for capability in Capability:
        if of_it := [result for result in results if result.case.capability is capability]:
            right = sum(result.problem is None for result in of_it)
            scores[capability.value] = {"passed": right, "total": len(of_it)}
    weak = [name for name, score in scores.items() if score["passed"] < WEAK * score["total"]]
    passed = sum(result.problem is None for result in results)
    share = passed / len(results)
    if len(results) < planned or seconds > TOO_SLOW_SECONDS:
        verdict, keys = "slow", ["self_test_too_slow"]
    else:
        verdict = "usable" if share >= USABLE else "poor"
        # A model that acts without being asked is never a good one.
        if share >= GOOD and Capability.ABSTAINING not in weak:
            verdict = "good"
        keys = [f"self_test_{verdict}", *(["self_test_slow"] if seconds > SLOW_SECONDS else [])]
        keys += [f"self_test_weak_{name}" for name in weak] if verdict != "poor" else []
    rounded = f"{seconds:.0f}"
    return {
        "verdict": verdict,
        "advice": " ".join([await async_phrase(hass, language, key, seconds=rounded) for key in keys]),
        "model": model,
        "at": dt_util.utcnow().isoformat(),
        "passed": passed,
        "total": len(results),
        "planned": planned,
        "capabilities": scores,
        "weak": weak,
        "median_seconds": round(seconds, 2),
        "median_first_token_seconds": round(median(firsts), 2) if firsts else None,
        "cases": [result.as_dict() for result in results],
    }
