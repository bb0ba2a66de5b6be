"""Where electricity came from and went to, divided as the Energy dashboard divides it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "grid": ("from_grid", "to_grid"),
    "battery": ("from_battery", "to_battery"),
    "solar": ("solar",),
}
"""What a source of each kind takes and gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """How electricity was used, in kWh."""

    used: float = 0.0
    used_solar: float = 0.0
    used_grid: float = 0.0
    solar_to_battery: float = 0.0

    def __add__(self, other: Self) -> Flows:
        """Return both together."""
        return Flows(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


def flows_of(counted: Mapping[str, float]) -> Flows:
    """Return the flows of what was counted in one period, by the names of `ROLES`.

    The order is the dashboard's: solar goes to the battery, to the grid, and then to the home; the battery
    goes to the grid, then to the home; the grid to the battery, then to the home.
    """
    left = {name: max(0.0, counted.get(name, 0.0)) for names in ROLES.values() for name in names}
    used = left["from_grid"] + left["solar"] + left["from_battery"] - left["to_grid"] - left["to_battery"]
    needed = max(0.0, used)
    _move(left, "from_grid", "to_battery", limit=max(0.0, left["from_grid"] - needed))
    solar_to_battery = _move(left, "solar", "to_battery")
    _move(left, "solar", "to_grid")
    _move(left, "from_battery", "to_grid")
    _move(left, "from_grid", "to_battery")
    left["home"] = needed
    used_solar = _move(left, "solar", "home")
    _move(left, "from_battery", "home")
    return Flows(
        used=used,
        used_solar=used_solar,
        used_grid=_move(left, "from_grid", "home"),
        solar_to_battery=solar_to_battery,
    )


def _move(left: dict[str, float], source: str, target: str, *, limit: float = float("inf")) -> float:
    """Move as much as both have, and return it."""
    amount = min(left[source], left[target], limit)
    left[source] -= amount
    left[target] -= amount
    return amount
