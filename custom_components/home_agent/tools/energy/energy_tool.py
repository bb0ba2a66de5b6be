"""energy: what was used, produced, bought and sold, with its cost, as the Energy dashboard shows it."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import PermissionDenied, ValidationError
from ...knowledge.house import HouseSnapshot
from ..base import HomeAgentTool, ToolRun
from ..query.periods import Period, parse_period
from ..resolving.targets import texts
from .counted import Step, async_counted, step_of
from .preferences import async_load, preferences
from .report import compared, report

PERIOD_NAMES: Final = ("period", "duration", "date", "day", "time", "timeframe", "range", "month", "when")
"""Names under which models say which time they mean."""
COMPARE_NAMES: Final = ("compare", "compare_to", "compare_with", "comparison", "versus")
PREVIOUS: Final = frozenset(
    {"previous", "before", "previous period", "true", "yes", "last", "the one before"}
)
DEFAULT: Final = "today"
NOW: Final = timedelta(seconds=5)
"""A period that ends so shortly before now is not over."""


class EnergySchema(probatio.Schema):
    """The schema of the tool. What models add beside it, such as a kind of energy, is not needed."""

    def __init__(self) -> None:
        """Declare the slots."""
        super().__init__(
            {
                probatio.Optional("period"): str,
                probatio.Optional("compare"): str,
            }
        )

    @override
    def __call__(self, data: Any, **options: Any) -> Any:
        """Return the period and what it is compared with."""
        if not isinstance(data, Mapping):
            raise probatio.Invalid("an object is needed")
        given = {**data, **(inner if isinstance(inner := data.get("history"), Mapping) else {})}
        if isinstance(data.get("history"), str):
            given.setdefault("period", data["history"])
        tidy = {
            slot: said
            for slot, names in (("period", PERIOD_NAMES), ("compare", COMPARE_NAMES))
            if (said := next((text for name in names for text in texts(_text(given.get(name)))), ""))
        }
        return super().__call__(tidy, **options)


def _text(value: object) -> object:
    """Return what a model gives for a period; yes means the one before."""
    return "previous" if value is True else "" if value is False else value


class EnergyTool(HomeAgentTool):
    """Reads long-term statistics of what the Energy dashboard counts."""

    name = "energy"
    title = "Energy dashboard"
    description = "Electricity, gas and water used, its cost, solar, devices."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = EnergySchema()

    @override
    async def async_prepare(self, hass: HomeAssistant, house: HouseSnapshot) -> None:
        """Have the preferences loaded."""
        await async_load(hass)

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether the Energy dashboard counts anything."""
        wanted = preferences(hass)
        return bool(wanted.sources or wanted.devices)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Return the amounts of a period. Raises ValidationError and ToolExecutionError."""
        await async_load(run.hass)
        wanted = preferences(run.hass)
        if not all(run.guard.policy.view.lists(meter) for meter in wanted.meters):
            raise PermissionDenied("The lists of this agent leave out meters of the home, so say that")
        if not wanted.statistics:
            raise ValidationError("The Energy dashboard is not configured, so nothing is counted")
        now, language = dt_util.utcnow(), run.speaker.language
        period, whole = _read(args.get("period") or DEFAULT, now, language)
        asked = [(period, step_of(period, whole))]
        if said := args.get("compare"):
            asked.append(_earlier(said, period, whole, now, language))
        counted = await async_counted(run.hass, wanted, asked)
        answer = report(run, wanted, counted[0], is_open=now - period.end < NOW)
        if len(counted) > 1:
            answer["compared"] = compared(run, wanted, counted[0], counted[1])
        return answer


def _read(text: str, now: datetime, language: str) -> tuple[Period, datetime]:
    """Return a period of whole hours or days, and its end, or that of the day, week or month that it is.

    The dashboard shows all of a month that has begun.
    """
    period = parse_period(text, now, language)
    start = dt_util.as_local(period.start)
    if period.length >= timedelta(days=2):
        start = dt_util.start_of_local_day(start)
    else:
        start = start.replace(minute=0, second=0, microsecond=0)
    return Period(start, period.end), period.closes or period.end


def _earlier(text: str, period: Period, whole: datetime, now: datetime, language: str) -> tuple[Period, Step]:
    """Return the period to compare with, as much of it as has passed of the first one."""
    start = dt_util.as_local(period.start)
    if text.strip().casefold() in PREVIOUS:
        earlier = _before(start, dt_util.as_local(whole))
        ending = earlier.end
    else:
        earlier, ending = _read(text, now, language)
    if now - period.end < NOW:
        # On the clock, not in hours that have passed: noon is noon, also when clocks are changed.
        passed = dt_util.as_local(period.end).replace(tzinfo=None) - start.replace(tzinfo=None)
        until = (dt_util.as_local(earlier.start) + passed).replace(minute=0, second=0, microsecond=0)
        earlier = Period(earlier.start, min(earlier.end, until))
    if earlier.end <= earlier.start:
        raise ValidationError(f"compare: {text[:40]!r} has no time to compare with; give an earlier period")
    ends_within_day = dt_util.as_local(earlier.end) != dt_util.start_of_local_day(earlier.end)
    return earlier, "hour" if ends_within_day else step_of(earlier, ending)


def _before(start: datetime, end: datetime) -> Period:
    """Return the period before one: the month before a month, the same hours of an earlier day."""
    days = max(end.date() - start.date(), timedelta(days=1))
    if start != dt_util.start_of_local_day(start):
        return Period(start - days, end - days)
    day = start.date()
    if day.day == end.day == 1 and end.date() > day:
        months = (end.year - day.year) * 12 + end.month - day.month
        first = day.year * 12 + day.month - 1 - months
        before = date(first // 12, first % 12 + 1, 1)
    else:
        before = day - days
    return Period(dt_util.start_of_local_day(before), start)
