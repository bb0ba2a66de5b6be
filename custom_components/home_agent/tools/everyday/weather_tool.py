"""weather: the forecast, limited to what was asked for."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...domains.features import supports
from ...errors import ValidationError
from ...safety.frozen import ServiceCall
from ...texts import one_line
from ...when import forms, read_moment
from ..base import HomeAgentTool, ToolRun
from .choosing import choose_one, records_of

DOMAIN: Final = "weather"
KINDS: Final = {
    "daily": "FORECAST_DAILY",
    "hourly": "FORECAST_HOURLY",
    "twice_daily": "FORECAST_TWICE_DAILY",
}
"""Kind of forecast: the feature that it needs. The first available one is the default."""
LIMITS: Final = {"daily": 7, "hourly": 24, "twice_daily": 14}
CONDITIONS: Final = frozenset(
    {
        *("clear-night", "cloudy", "exceptional", "fog", "hail", "lightning", "lightning-rainy"),
        *("partlycloudy", "pouring", "rainy", "snowy", "snowy-rainy", "sunny", "windy", "windy-variant"),
    }
)
"""The allowed conditions, so that a forecast contains no free text."""
UNITS: Final = {
    "temperature": "temperature_unit",
    "templow": "temperature_unit",
    "precipitation": "precipitation_unit",
    "precipitation_probability": None,
    "wind_speed": "wind_speed_unit",
    "wind_gust_speed": "wind_speed_unit",
    "humidity": None,
    "uv_index": None,
}
"""Value of a forecast: the attribute of the entity with its unit."""
PARTS: Final[Mapping[str, tuple[int, int]]] = {
    "night": (0, 6),
    "morning": (6, 12),
    "afternoon": (12, 18),
    "evening": (18, 24),
}
"""The hours of the parts of a day."""
LATE_PARTS: Final[Mapping[str, str]] = {"night": "evening", "tonight": "evening"}
"""Words that people use in the day for its end."""
BRIEF: Final = frozenset(UNITS) - {"wind_gust_speed", "humidity", "uv_index"}
"""The values that are shown if there are several entries."""


class WeatherTool(HomeAgentTool):
    """Reads the forecast; the state of the entity already says the current weather."""

    name = "weather"
    title = "Weather forecast"
    description = "Weather forecast."
    unoffered = ("name",)
    domain = DOMAIN
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Optional("type"): probatio.In(list(KINDS)),
            probatio.Optional("day"): str,
            probatio.Optional("name"): str,
        }
    )

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Return the forecast. Raises ValidationError for a day or a place that is not clear."""
        able = records_of(run, DOMAIN, lambda state: supports(state, " ".join(KINDS.values())))
        chosen = choose_one(run, able, args.get("name"), "name")
        state = run.hass.states.get(chosen.entity_id)
        assert state is not None
        said, part = (args.get("day") or "").strip(), None
        for form in forms(said, run.speaker.language, past=True):  # "this evening", "morgen früh"
            if parts := [word for word in form.split() if word in PARTS or word in LATE_PARTS]:
                beside = {*parts, "this", "in", "the", "at", "on", "of", "today"}
                rest = [word for word in form.split() if word not in beside]
                said, part = " ".join(rest) or "today", LATE_PARTS.get(parts[0], parts[0])
                break
        moment = read_moment(said, run.speaker.language, "day") if said else None
        day = moment.date() if isinstance(moment, datetime) else moment
        is_hour = isinstance(moment, datetime) or part is not None
        wanted = "hourly" if part else args.get("type") or ("hourly" if is_hour else None)
        kinds = [kind for kind, needed in KINDS.items() if supports(state, needed)]
        kind = wanted if wanted in kinds else kinds[0]
        call = ServiceCall(
            domain=DOMAIN, service="get_forecasts", entity_ids=(chosen.entity_id,), data={"type": kind}
        )
        answer = await run.read(call)
        rows = (answer.get(chosen.entity_id) or {}).get("forecast") or ()
        timed = ((dt_util.parse_datetime(str(row.get("datetime") or "")), row) for row in rows)
        entries = [(dt_util.as_local(at), row) for at, row in timed if at is not None]
        now = dt_util.now()
        begin = now - timedelta(hours=1) if kind == "hourly" else dt_util.start_of_local_day(now)
        if day is not None:
            shown = [entry for entry in entries if entry[0].date() == day]
        else:
            shown = [entry for entry in entries if entry[0] >= begin] or entries
        if not shown:
            days = sorted({at.date() for at, _entry in entries})
            reach = f"it is about {days[0]} to {days[-1]}" if days else "there is none now"
            raise ValidationError(f"day: the forecast does not reach it; {reach}")
        if isinstance(moment, datetime) and kind == "hourly":
            around = timedelta(hours=1, minutes=30)
            shown = [entry for entry in shown if abs(entry[0] - moment) <= around] or shown
        if part and kind == "hourly":
            first, end = PARTS[part]
            shown = [entry for entry in shown if first <= entry[0].hour < end] or shown
        most = shown[: LIMITS[kind]]
        if kind == "hourly" and len(most) > 8:
            most = most[::3]
        keys = [key for key in UNITS if len(most) == 1 or key in BRIEF]
        listed: list[dict[str, JsonValueType]] = []
        for at, entry in most:
            told: dict[str, JsonValueType] = {
                "at": at.strftime("%a %Y-%m-%d" if kind == "daily" else "%a %Y-%m-%d %H:%M")
            }
            if kind == "twice_daily" and "is_daytime" in entry:
                told["part"] = "day" if entry["is_daytime"] else "night"
            if (condition := entry.get("condition")) in CONDITIONS:
                told["condition"] = str(condition)
            told |= {key: value for key in keys if (value := _number(entry.get(key))) is not None}
            listed.append(told)
        units: dict[str, JsonValueType] = {}
        for key, attribute in UNITS.items():
            unit = "%" if key in ("precipitation_probability", "humidity") else None
            unit = state.attributes.get(attribute) if attribute else unit
            if unit and any(key in entry for entry in listed):
                units[key] = one_line(str(unit), 12)
        return {
            "place": one_line(chosen.name, 80),
            "type": kind,
            "units": units,
            "forecast": list[JsonValueType](listed),
        }


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
