"""The time of day in the tests: each begins at the same moment, and its clock runs on from there.

HOME_AGENT_TEST_TIME is another moment, as the house's clock shows it: `03:00` or `2027-03-14 01:30`.
A test that is about time takes `freezer` or the mark `freeze_time`, which begin at this moment, too.
Loaded before Home Assistant, which keeps `time.time` under names of its own: see `addopts`.
"""

import ctypes
from datetime import datetime, tzinfo
import gc
import os
import time
from typing import Final
from zoneinfo import ZoneInfo

import pytest

DAY: Final = "2026-07-15"
"""A Wednesday in the middle of a month, and months away from a change of the clocks."""
_GIVEN: Final = os.environ.get("HOME_AGENT_TEST_TIME", "12:00")
BEGIN: Final = datetime.fromisoformat(_GIVEN if "-" in _GIVEN else f"{DAY} {_GIVEN}").replace(
    tzinfo=ZoneInfo("US/Pacific")  # the time zone of the test plugin
)

_real_ns = time.time_ns


class _Clock:
    ahead_ns = 0
    real_ns = staticmethod(_real_ns)


def _time_ns() -> int:
    return _Clock.real_ns() + _Clock.ahead_ns


def _time() -> float:
    return _time_ns() / 1e9


def _now(cls: type[datetime], tz: tzinfo | None = None) -> datetime:
    return cls.fromtimestamp((_Clock.real_ns() + _Clock.ahead_ns) / 1e9, tz)  # freezegun replaces _time here


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    _Clock.ahead_ns = int(BEGIN.timestamp() * 1e9) - _real_ns()


time.time, time.time_ns = _time, _time_ns
gc.get_referents(datetime.__dict__)[0]["now"] = classmethod(_now)  # a type written in C has no other way
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime))
