"""Where electricity came from and went to, divided as the Energy dashboard divides it."""

from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What was counted in one period, in kWh."""

    from_grid: float = 0.0
    to_grid: float = 0.0
    solar: float = 0.0
    from_battery: float = 0.0
    to_battery: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """How it was used, in kWh."""

    used: float = 0.0
    used_solar: float = 0.0
    used_grid: float = 0.0
    used_battery: float = 0.0
    solar_to_battery: float = 0.0
    solar_to_grid: float = 0.0

    def __add__(self, other: Self) -> Flows:
        """Return both together."""
        return Flows(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


def flows_of(counted: Amounts) -> Flows:
    """Return the flows of one period.

    The order is the dashboard's: solar goes to the battery, to the grid, and then to the home; the battery
    goes to the grid, then to the home; the grid to the battery, then to the home.
    """
    left = {one.name: max(0.0, getattr(counted, one.name)) for one in fields(counted)}
    used = left["from_grid"] + left["solar"] + left["from_battery"] - left["to_grid"] - left["to_battery"]
    needed = max(0.0, used)
    _move(left, "from_grid", "to_battery", limit=max(0.0, left["from_grid"] - needed))
    solar_to_battery = _move(left, "solar", "to_battery")
    solar_to_grid = _move(left, "solar", "to_grid")
    _move(left, "from_battery", "to_grid")
    _move(left, "from_grid", "to_battery")
    left["home"] = needed
    return Flows(
        used=used,
        used_solar=_move(left, "solar", "home"),
        used_battery=_move(left, "from_battery", "home"),
        used_grid=_move(left, "from_grid", "home"),
        solar_to_battery=solar_to_battery,
        solar_to_grid=solar_to_grid,
    )


def _move(left: dict[str, float], source: str, target: str, *, limit: float | None = None) -> float:
    """Move as much as both have, and return it."""
    amount = min(left[source], left[target])
    if limit is not None:
        amount = min(amount, limit)
    left[source] -= amount
    left[target] -= amount
    return amount
