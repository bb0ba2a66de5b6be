"""What a self-test measures, and the last report of each agent, kept over restarts."""

import asyncio
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from homeassistant.core import callback

VERDICTS: Final = frozenset({"good", "usable", "poor", "slow"})

type Report = dict[str, Any]
"""What a self-test found out about a model.

`verdict` is good, usable, poor or slow, `advice` is in the language of Home Assistant, `at` is an ISO time in
UTC. `planned` are all cases; `total` are those that were asked, fewer if the test was ended because the model
is too slow, and `passed` of them were right. `capabilities` are `passed` and `total` by name, in the order of
`Capability`, and `weak` are some of the names. `median_seconds` and `median_first_token_seconds` are of an
answer. Of each of the `cases` there are name, capability, said, passed, problem (None if it was right),
answer, calls as texts, and seconds to the end of its last answer.
"""
type Progress = Callable[[int, int], None]
"""Takes how many cases are done, and how many there are."""


class Capability(StrEnum):
    """What is measured, in the order in which it is shown."""

    COMMANDS = "commands"
    VALUES = "values"
    SEVERAL = "several"
    QUESTIONS = "questions"
    FOLLOW_UPS = "follow_ups"
    LANGUAGES = "languages"
    ABSTAINING = "abstaining"
    HONESTY = "honesty"


class SelfTestResult:
    """The last report of one agent. The store of all agents is notified of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.report: Report | None = None
        self.task: asyncio.Task[Report] | None = None
        """The test that runs now."""
        self.watchers: list[Progress] = []
        """Who waits for it."""

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
        self.report = {**report}
