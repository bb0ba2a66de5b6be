"""The last report of each agent's self-test, kept over restarts, and the test that is running."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, TypedDict, cast

from homeassistant.core import HomeAssistant, callback

from .const import DOMAIN
from .store import EntryStore

STORE_KEY: Final = f"{DOMAIN}.self_test"
VERDICTS: Final = frozenset({"good", "usable", "poor", "slow"})


class Score(TypedDict):
    """How many cases of a capability were right."""

    passed: int
    total: int


class CaseReport(TypedDict):
    """One case; `problem` is None if it was right. `seconds` is the time to the end of its last answer."""

    name: str
    capability: str
    said: str
    passed: bool
    problem: str | None
    answer: str
    calls: list[str]
    seconds: float


class Report(TypedDict):
    """What a self-test found out about a model.

    `verdict` is good, usable, poor or slow. `planned` are all cases; `total` are those that were asked, fewer
    if the test was ended because the model is too slow. `at` is an ISO time in UTC. `advice` is in the
    language of Home Assistant, or of who added the agent.
    """

    verdict: str
    advice: str
    model: str
    at: str
    passed: int
    total: int
    planned: int
    capabilities: dict[str, Score]
    weak: list[str]
    median_seconds: float
    median_first_token_seconds: float | None
    cases: list[CaseReport]


type Progress = Callable[[int, int], None]


class SelfTestResult:
    """The last report of one agent. The store of all agents is notified of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.report: Report | None = None
        self.task: asyncio.Task[Report] | None = None
        """The test that runs now."""
        self.watchers: list[Progress] = []
        """Who waits for it, and is told how many cases are done and how many there are."""

    @callback
    def keep(self, report: Report) -> None:
        """Keep a report instead of the last one."""
        self.report = report
        self._changed()

    def stored(self) -> Mapping[str, Any]:
        """Return what is to be written; called in a worker thread."""
        return {"report": self.report}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Take what is stored. Raises KeyError, TypeError or ValueError for invalid data."""
        report = stored["report"]
        if report is None:
            return
        if report["verdict"] not in VERDICTS or not isinstance(report["cases"], list):
            raise ValueError("not a report")
        self.report = cast("Report", {**report})


class SelfTestStore(EntryStore[SelfTestResult]):
    """Keeps the reports by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, SelfTestResult)
