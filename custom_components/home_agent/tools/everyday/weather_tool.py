"""weather: the forecast, limited to what was asked for."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, override

import probatio

from homeassistant.core import State
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...domains.features import supports
from ...errors import ValidationError
from ...languages.times import in_english
from ...texts import one_line
from ..base import HomeAgentTool, ServiceCall, ToolRun
from .choosing import choose_one, records_of
from .moments import read_moment, readable

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
AROUND: Final = timedelta(hours=1, minutes=30)
"""How far the hours that are told are from the one that is asked about."""
PERCENT: Final = frozenset({"precipitation_probability", "humidity"})
PARTS: Final[Mapping[str, tuple[int, int]]] = {
    "night": (0, 6),
    "morning": (6, 12),
    "afternoon": (12, 18),
    "evening": (18, 24),
}
"""The hours of the parts of a day."""
LATE_PARTS: Final[Mapping[str, str]] = {"night": "evening", "tonight": "evening"}
"""Words that people use in the day for its end."""
BESIDE_PART: Final = frozenset({"this", "in", "the", "at", "on", "of", "today"})
FEW_HOURS: Final = 4
"""So many hours are told one by one; of more, the parts of the day are told."""
HIGHEST: Final = ("temperature", "precipitation_probability", "wind_speed")
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
        chosen = choose_one(run, records_of(run, DOMAIN, _forecasts), args.get("name"), "name")
        state = run.hass.states.get(chosen.entity_id)
        assert state is not None
        said, part = _split_part(args.get("day") or "", run.speaker.language)
        moment = read_moment(said, "day") if said else None
        day = moment.date() if isinstance(moment, datetime) else moment
        is_hour = isinstance(moment, datetime) or part is not None
        kind = _kind(state, "hourly" if part else args.get("type") or ("hourly" if is_hour else None))
        answer = await run.read(
            ServiceCall(
                domain=DOMAIN, service="get_forecasts", entity_ids=(chosen.entity_id,), data={"type": kind}
            )
        )
        entries = (answer.get(chosen.entity_id) or {}).get("forecast") or []
        shown = _of_day(entries, day, kind)
        if not shown:
            raise ValidationError(f"day: the forecast does not reach it; {_reach(entries)}")
        if isinstance(moment, datetime) and kind == "hourly":
            shown = _around(shown, moment)
        entries = shown[: LIMITS[kind]]
        listed: list[JsonValueType]
        if kind == "hourly" and not isinstance(moment, datetime) and len(shown) > FEW_HOURS:
            listed = _by_part(shown if day else entries, part)
        else:
            keys = [key for key in UNITS if len(entries) == 1 or key in BRIEF]
            listed = [_as_entry(entry, kind, keys) for entry in entries]
        return {
            "place": one_line(chosen.name, 80),
            "type": kind,
            "units": _units(state, listed),
            "forecast": listed,
        }


def _forecasts(state: State) -> bool:
    return supports(state, " ".join(KINDS.values()))


def _kind(state: State, wanted: str | None) -> str:
    there = [kind for kind, needed in KINDS.items() if supports(state, needed)]
    return wanted if wanted in there else there[0]


def _split_part(text: str, language: str) -> tuple[str, str | None]:
    """Return a day without the part of it that is named ("this evening", "morgen früh"), and the part."""
    for form in (text.strip(), *in_english(text.strip(), language, past=True)):
        said = form.casefold().split()
        parts = [word for word in said if word in PARTS or word in LATE_PARTS]
        if parts:
            rest = [word for word in said if word not in {*parts, *BESIDE_PART}]
            return " ".join(rest) or "today", LATE_PARTS.get(parts[0], parts[0])
    return readable(text, language), None


def _by_part(entries: Iterable[Mapping[str, Any]], wanted: str | None) -> list[JsonValueType]:
    """Return one entry for each part of a day, or only for one part if there is any of it."""
    found: dict[tuple[date, str], list[Mapping[str, Any]]] = {}
    for entry in entries:
        if (moment := _moment(entry)) is not None:
            part = next(name for name, (first, end) in PARTS.items() if first <= moment.hour < end)
            found.setdefault((moment.date(), part), []).append(entry)
    named = {key: hours for key, hours in found.items() if key[1] == wanted}
    return [_part_entry(*key, hours) for key, hours in (named or found).items()]


def _part_entry(day: date, part: str, hours: Sequence[Mapping[str, Any]]) -> dict[str, JsonValueType]:
    """Return a part of a day: its conditions in order, and the most or the sum of its numbers."""
    result: dict[str, JsonValueType] = {"at": f"{day:%a %Y-%m-%d} {part}"}
    said = dict.fromkeys(str(hour["condition"]) for hour in hours if hour.get("condition") in CONDITIONS)
    if said:
        result["condition"] = ", ".join(said)
    for key in BRIEF & UNITS.keys():
        values = [
            value
            for hour in hours
            if isinstance(value := hour.get(key), int | float) and not isinstance(value, bool)
        ]
        if values and key in HIGHEST:
            result[key] = max(values)
        elif values and key == "precipitation":
            result[key] = round(sum(values), 1)
        if values and key == "temperature" and min(values) != max(values):
            result["templow"] = min(values)
    return result


def _around(entries: Sequence[Mapping[str, Any]], moment: datetime) -> list[Mapping[str, Any]]:
    """Return the entries of the hours around a moment; all of the day if there are none."""
    near = [entry for entry in entries if (at := _moment(entry)) is not None and abs(at - moment) <= AROUND]
    return near or list(entries)


def _of_day(entries: Sequence[Mapping[str, Any]], day: date | None, kind: str) -> list[Mapping[str, Any]]:
    """Return the entries of a day, all without one; what is over is left out where anything else is left."""
    timed = [(moment, entry) for entry in entries if (moment := _moment(entry)) is not None]
    if day is not None:
        return [entry for moment, entry in timed if moment.date() == day]
    now = dt_util.now()
    begin = now - timedelta(hours=1) if kind == "hourly" else dt_util.start_of_local_day(now)
    return [entry for moment, entry in timed if moment >= begin] or [entry for _, entry in timed]


def _moment(entry: Mapping[str, Any]) -> datetime | None:
    """Return the local time that an entry is about."""
    moment = dt_util.parse_datetime(str(entry.get("datetime") or ""))
    return dt_util.as_local(moment) if moment else None


def _reach(entries: Sequence[Mapping[str, Any]]) -> str:
    days = sorted({moment.date() for entry in entries if (moment := _moment(entry)) is not None})
    return f"it is about {days[0]} to {days[-1]}" if days else "there is none now"


def _as_entry(entry: Mapping[str, Any], kind: str, keys: Sequence[str]) -> dict[str, JsonValueType]:
    """Return one entry: time, condition and numbers."""
    moment = _moment(entry)
    form = "%a %Y-%m-%d" if kind == "daily" else "%a %Y-%m-%d %H:%M"
    result: dict[str, JsonValueType] = {"at": moment.strftime(form) if moment else ""}
    if kind == "twice_daily" and "is_daytime" in entry:
        result["part"] = "day" if entry["is_daytime"] else "night"
    if (condition := entry.get("condition")) in CONDITIONS:
        result["condition"] = str(condition)
    for key in keys:
        value = entry.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            result[key] = value
    return result


def _units(state: State, listed: Sequence[JsonValueType]) -> dict[str, JsonValueType]:
    """Return the units of the values in a forecast."""
    keys = {key for entry in listed if isinstance(entry, dict) for key in entry}
    units: dict[str, JsonValueType] = {}
    for key, attribute in UNITS.items():
        if key not in keys:
            continue
        if key in PERCENT:
            units[key] = "%"
        elif attribute and (unit := state.attributes.get(attribute)):
            units[key] = one_line(str(unit), 12)
    return units
