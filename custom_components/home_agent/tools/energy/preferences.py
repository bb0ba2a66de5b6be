"""What the Energy dashboard is configured to count."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback

from .flows import ROLES

ENERGY: Final = "energy"
MANAGER: Final = "energy_manager"
"""Where Home Assistant keeps the manager of the preferences."""
KINDS: Final = ("grid", "solar", "battery", "gas", "water")
MAX_SOURCES: Final = 40
MAX_DEVICES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source with the ids of its statistics; empty where it has none."""

    kind: str
    name: str = ""
    taken: str = ""
    """From the grid, the sun, the battery, the gas or the water meter."""
    given: str = ""
    """To the grid or the battery."""
    cost: str = ""
    earned: str = ""
    rate: str = ""
    """The power now; positive if it is taken."""
    level: str = ""
    """The charge of a battery in percent."""

    @property
    def statistics(self) -> Iterator[str]:
        """Yield the ids of its statistics of amounts and money."""
        yield from filter(None, (self.taken, self.given, self.cost, self.earned))


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that the dashboard counts alone."""

    statistic: str
    name: str = ""
    within: str = ""
    """The device whose consumption contains that of this one."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """All that the dashboard counts."""

    sources: Sequence[Source] = ()
    devices: Sequence[Device] = ()

    def of(self, kind: str) -> list[Source]:
        """Return the sources of a kind."""
        return [source for source in self.sources if source.kind == kind]

    @property
    def meters(self) -> set[str]:
        """Return the ids of the statistics of what the whole home takes and gives."""
        return {one for source in self.sources for one in (source.taken, source.given) if one}

    @property
    def electricity(self) -> set[str]:
        """Return the ids of the statistics of the meters of electricity."""
        sources = [source for source in self.sources if source.kind in ROLES]
        return {one for source in sources for one in (source.taken, source.given) if one}

    @property
    def statistics(self) -> set[str]:
        """Return the ids of all statistics that are needed."""
        needed = {one for source in self.sources for one in source.statistics}
        return needed | {device.statistic for device in self.devices}


async def async_load(hass: HomeAssistant) -> None:
    """Have Home Assistant load the preferences, if the energy integration is there."""
    if ENERGY in hass.config.components:
        from homeassistant.components.energy.data import async_get_manager  # noqa: PLC0415

        await async_get_manager(hass)


@callback
def preferences(hass: HomeAssistant) -> Preferences:
    """Return what the dashboard counts, empty where it is not configured or not loaded."""
    data = getattr(hass.data.get(MANAGER), "data", None)
    if not isinstance(data, Mapping) or ENERGY not in hass.config.components:
        return Preferences()
    costs: Mapping[str, str] = (hass.data.get(ENERGY) or {}).get("cost_sensors", {})
    sources = [
        _source(each, costs)
        for each in (data.get("energy_sources") or ())[:MAX_SOURCES]
        if each.get("type") in KINDS
    ]
    devices = [
        Device(
            statistic=each["stat_consumption"],
            name=each.get("name") or "",
            within=each.get("included_in_stat") or "",
        )
        for each in (data.get("device_consumption") or ())[:MAX_DEVICES]
    ]
    return Preferences(sources, devices)


def _source(told: Mapping[str, Any], costs: Mapping[str, str]) -> Source:
    """Return a source; Home Assistant calculates a cost itself where there is a price and no statistic."""
    taken, given = told.get("stat_energy_from") or "", told.get("stat_energy_to") or ""
    return Source(
        kind=told["type"],
        name=told.get("name") or "",
        taken=taken,
        given=given,
        cost=told.get("stat_cost") or costs.get(taken, ""),
        earned=told.get("stat_compensation") or (costs.get(given, "") if given else ""),
        rate=told.get("stat_rate") or "",
        level=told.get("stat_soc") or "",
    )
