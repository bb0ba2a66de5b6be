"""What one agent may see of the home, and what it may control there: exposure, narrowed by two lists.

The lists name entities, devices, areas, floors and labels, and what is excluded. An empty list narrows
nothing. Everything that an agent is told of the home comes from the snapshots here, and the guard and the
policy ask here again at each call.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er

from ..agent_options import CONF_CONTROLLABLE, CONF_VISIBLE
from ..idle import in_slices
from .house import Area, EntityRecord, Floor, House, HouseSnapshot, is_exposed

ENTITIES: Final = "entities"
DEVICES: Final = "devices"
AREAS: Final = "areas"
FLOORS: Final = "floors"
LABELS: Final = "labels"
LISTED: Final = (ENTITIES, DEVICES, AREAS, FLOORS, LABELS)
"""What a list names, each by its ids."""
EXCLUDED: Final = "excluded"
"""What is taken out of a list, by the same keys. Home Assistant's forms offer that since 2026.11."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowList:
    """The entities that a list names; one that names only what no longer exists contains nothing."""

    entities: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    areas: frozenset[str] = frozenset()
    floors: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    names_any: bool = False
    """Whether the list names anything; one that only excludes contains everything else."""
    excluded: AllowList | None = None
    narrows: bool = False
    """Whether there is a list; without one everything is contained."""

    @classmethod
    def of(cls, stored: object) -> Self:
        """Read an option; what is not a list of texts contains nothing."""
        if not stored:
            return cls()
        if not isinstance(stored, Mapping):
            return cls(names_any=True, narrows=True)
        named = {key: frozenset(_texts(stored.get(key))) for key in LISTED}
        excluded = cls.of(stored.get(EXCLUDED))
        names_any = any(value for key, value in stored.items() if key != EXCLUDED)
        return cls(
            **named,
            names_any=names_any,
            excluded=excluded if excluded.narrows else None,
            narrows=names_any or excluded.narrows,
        )

    @callback
    def has(self, hass: HomeAssistant, entity_id: str) -> bool:
        """Return whether the list contains an entity, asked now."""
        if self.names_any and not self._names(hass, entity_id):
            return False
        return self.excluded is None or not self.excluded.has(hass, entity_id)

    @callback
    def _names(self, hass: HomeAssistant, entity_id: str) -> bool:
        if entity_id in self.entities:
            return True
        if not (self.devices or self.areas or self.floors or self.labels):
            return False
        entry = er.async_get(hass).async_get(entity_id)
        if entry is None:
            return False
        device = dr.async_get(hass).async_get(entry.device_id) if entry.device_id else None
        area_id = er.async_get_effective_area_id(hass, entry)
        area = ar.async_get(hass).async_get_area(area_id) if area_id else None
        labels = entry.labels | (device.labels if device else set()) | (area.labels if area else set())
        return (
            (device is not None and device.id in self.devices)
            or (area is not None and (area.id in self.areas or area.floor_id in self.floors))
            or not self.labels.isdisjoint(labels)
        )


class AgentView:
    """The lists of one agent."""

    def __init__(self, hass: HomeAssistant, settings: Mapping[str, Any] | None = None) -> None:
        self._hass = hass
        options = settings or {}
        self.seen = AllowList.of(options.get(CONF_VISIBLE))
        self.controlled = AllowList.of(options.get(CONF_CONTROLLABLE))

    @property
    def narrows(self) -> bool:
        """Return whether there is anything exposed that the agent may not see or not control."""
        return self.seen.narrows or self.controlled.narrows

    @callback
    def lists(self, entity_id: str) -> bool:
        """Return whether the list for seeing has an entity, exposed or not."""
        return self.seen.has(self._hass, entity_id)

    @callback
    def is_exposed(self, entity_id: str) -> bool:
        """Return whether the agent may see an entity, asked now."""
        return is_exposed(self._hass, entity_id) and self.lists(entity_id)

    @callback
    def may_control(self, entity_id: str) -> bool:
        """Return whether the lists let the agent control an entity, exposed or not."""
        return self.lists(entity_id) and self.controlled.has(self._hass, entity_id)


class ViewedHouse:
    """The home as one agent sees it; without a list it is the home as it is exposed."""

    def __init__(self, hass: HomeAssistant, house: House, view: AgentView) -> None:
        self._hass = hass
        self._house = house
        self.view = view
        self._known: tuple[HouseSnapshot, int, HouseSnapshot] | None = None
        """The complete home, the count of its changes, and what the agent sees of it."""
        self._carried: dict[Hashable, object] = {}

    async def async_snapshot(self) -> HouseSnapshot:
        """Return the home as it is now, as far as the agent sees it."""
        changes = self._house.changes
        whole = await self._house.async_snapshot()
        if not self.view.seen.narrows:
            return whole
        known = self._known
        if known is not None and known[0] is whole and known[1] == changes:
            return known[2]
        entities: dict[str, EntityRecord] = {}
        async for entity_id in in_slices(list(whole.entities)):
            if self.view.lists(entity_id):
                entities[entity_id] = whole.entities[entity_id]
        areas = _areas(whole, {one.area_id for one in entities.values()})
        found = HouseSnapshot(
            version=whole.version,
            entities=entities,
            areas=areas,
            floors=_floors(whole, {area.floor_id for area in areas.values()}),
            carried=self._carried,
        )
        seen = known[2] if known is not None and known[2].same_content(found) else found
        self._known = (whole, changes, seen)
        return seen

    @callback
    def async_listen(self, listener: CALLBACK_TYPE) -> CALLBACK_TYPE:
        """Call a listener whenever a snapshot may have become old; return how to stop that."""
        return self._house.async_listen(listener)


def _areas(house: HouseSnapshot, wanted: set[str | None]) -> dict[str, Area]:
    return {key: area for key, area in house.areas.items() if key in wanted}


def _floors(house: HouseSnapshot, wanted: set[str | None]) -> dict[str, Floor]:
    return {key: floor for key, floor in house.floors.items() if key in wanted}


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]
