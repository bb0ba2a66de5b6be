"""energy: what was used, produced, bought and sold, with its cost, as the Energy dashboard shows it."""

from collections.abc import Mapping
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import PermissionDenied, ValidationError
from ...knowledge.house import HouseSnapshot
from ..base import HomeAgentTool, ToolRun
from ..resolving.targets import texts
from .comparing import NOW, read_periods
from .counted import async_counted, average
from .preferences import async_load, preferences
from .report import figures, report

SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("duration", "date", "day", "time", "timeframe", "range", "month", "when"), "period"),
    "history": "period",
    **dict.fromkeys(("compare_to", "compare_with", "comparison", "versus"), "compare"),
}
DEFAULT: Final = "today"


def _text(value: object) -> object:
    """Return what a model gives for a period; yes means the one before."""
    return "previous" if value is True else "" if value is False else value


class EnergyTool(HomeAgentTool):
    """Reads long-term statistics of what the Energy dashboard counts."""

    name = "energy"
    title = "Energy dashboard"
    description = "Electricity, gas and water used, its cost, solar, devices."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema({probatio.Optional("period"): str, probatio.Optional("compare"): str})
    slot_words = SLOT_WORDS

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the period and what it is compared with; what models add beside it is not needed."""
        given = {slot: texts(_text(args.get(slot))) for slot in ("period", "compare")}
        return {slot: said[0] for slot, said in given.items() if said}

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
        now = dt_util.utcnow()
        periods = read_periods(
            args.get("period") or DEFAULT, args.get("compare", ""), now, run.speaker.language
        )
        counted, *earlier = await async_counted(run.hass, wanted, periods)
        answer = report(run, wanted, counted, is_open=now - counted.period.end < NOW)
        if len(earlier) == 1:
            answer["compared"] = figures(run, wanted, earlier[0])
        elif earlier:
            usual, known = average(wanted, counted, earlier)
            answer["compared"] = {"average_of": f"{known} earlier periods", **figures(run, wanted, usual)}
        return answer
