"""The home as the agent may see it, kept up to date at next to no cost."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from homeassistant.components.homeassistant import exposed_entities
from homeassistant.components.homeassistant.const import DATA_EXPOSED_ENTITIES
from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)

from ..const import ASSISTANT
from ..domains import DOMAINS
from ..idle import in_slices
from .reader import read_areas, read_floors, read_record
from .records import Area, EntityRecord, Floor, HouseSnapshot

__all__ = ["Area", "EntityRecord", "Floor", "House", "HouseSnapshot", "is_exposed"]

DESCRIBING = ("friendly_name", "device_class", "supported_features")
"""State attributes that describe any entity."""
MAX_PASSES = 3
"""Rebuilds one caller waits for while changes keep coming in."""
MAX_DIRTY = 10_000
"""Changed entities noted one by one; beyond, everything is read again."""
DEVICE_DESCRIBING = frozenset({"area_id", "labels", "name", "name_by_user", "parent_device_id"})
"""Changes of a device that its entities inherit."""


@callback
def is_exposed(hass: HomeAssistant, entity_id: str, assistant: str = ASSISTANT) -> bool:
    """Return whether the assistant may see an entity, asked now."""
    return _exposure_check(hass)(assistant, entity_id)


def _exposure_check(hass: HomeAssistant) -> Callable[[str, str], bool]:
    """Return Home Assistant's check, the one that writes nothing if there is one."""
    settings = hass.data[DATA_EXPOSED_ENTITIES]
    check: Callable[[str, str], bool] = getattr(
        settings, "async_get_should_expose", settings.async_should_expose
    )
    return check


class House:
    """Knows the exposed entities, areas and floors, and hands out snapshots of them."""

    def __init__(self, hass: HomeAssistant, assistant: str = ASSISTANT) -> None:
        """Start out with everything to be read."""
        self._hass = hass
        self._assistant = assistant
        self._snapshot = HouseSnapshot()
        self._dirty: set[str] = set()
        self._dirty_all = True
        self._dirty_places = True
        self._expose_new: bool | None = None
        self._rebuild: asyncio.Task[None] | None = None
        self._unsubscribe: list[CALLBACK_TYPE] = []
        self._listeners: list[CALLBACK_TYPE] = []
        self.changes = 0
        """How often something has changed that a snapshot may depend on."""

    async def async_start(self) -> None:
        """Listen for changes; nothing is read before a person asks for a snapshot."""
        if self._unsubscribe:
            return
        listen = self._hass.bus.async_listen
        self._unsubscribe = [
            listen(EVENT_STATE_CHANGED, self._on_state, event_filter=_describes),
            listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._on_entity),
            listen(dr.EVENT_DEVICE_REGISTRY_UPDATED, self._on_device),
            listen(ar.EVENT_AREA_REGISTRY_UPDATED, self._on_area),
            listen(fr.EVENT_FLOOR_REGISTRY_UPDATED, self._on_place),
            listen(lr.EVENT_LABEL_REGISTRY_UPDATED, self._on_label),
            exposed_entities.async_listen_entity_updates(self._hass, self._assistant, self._on_exposure),
        ]
        self._dirty_all = self._dirty_places = True

    async def async_stop(self) -> None:
        """Stop listening and drop a rebuild that is under way."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe = []
        if self._rebuild is not None:
            self._rebuild.cancel()
            await asyncio.wait([self._rebuild])
            self._rebuild = None

    async def async_snapshot(self) -> HouseSnapshot:
        """Return the home as it is now.

        Costs nothing while nothing changed. Callers at the same time share one rebuild, and what
        changes during it is read in the next one.
        """
        for _ in range(MAX_PASSES):
            running = self._rebuild if self._rebuild is not None and not self._rebuild.done() else None
            if running is None and not self._is_dirty():
                break
            if running is None:
                running = self._rebuild = self._hass.async_create_background_task(
                    self._async_rebuild(), "home_agent house", eager_start=True
                )
            await asyncio.shield(running)
        return self._snapshot

    @callback
    def async_invalidate(self) -> None:
        """Have everything read again when a person asks for a snapshot."""
        self._dirty_all = self._dirty_places = True
        self._tell()

    @callback
    def async_listen(self, listener: CALLBACK_TYPE) -> CALLBACK_TYPE:
        """Call a listener whenever a snapshot may have become old; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @callback
    def _tell(self) -> None:
        """Count a change, and call the listeners."""
        self.changes += 1
        for listener in self._listeners:
            listener()

    @callback
    def _is_dirty(self) -> bool:
        """Return whether anything may differ from the snapshot."""
        expose_new = self._hass.data[DATA_EXPOSED_ENTITIES].async_get_expose_new_entities(self._assistant)
        if expose_new is not self._expose_new:
            self._expose_new = expose_new
            self._dirty_all = True
        return self._dirty_all or self._dirty_places or bool(self._dirty)

    async def _async_rebuild(self) -> None:
        """Read what changed and make a new snapshot if that differs."""
        old = self._snapshot
        everything, places, dirty = self._dirty_all, self._dirty_places, self._dirty
        self._dirty_all, self._dirty_places, self._dirty = False, False, set()
        try:
            areas, floors = old.areas, old.floors
            if places or everything:
                areas, floors = read_areas(self._hass), read_floors(self._hass)
            if everything:
                dirty = {*old.entities, *self._hass.states.async_entity_ids()}
            entities = dict(old.entities)
            if areas != old.areas:
                _move_floors(entities, areas)
            await self._async_read(dirty, entities)
        except BaseException:
            self._dirty_all |= everything
            self._dirty_places |= places
            self._dirty |= dirty
            raise
        new = HouseSnapshot(
            version=old.version + 1, entities=entities, areas=areas, floors=floors, carried=old.carried
        )
        if not new.same_content(old) or old.version == 0:
            self._snapshot = new

    async def _async_read(self, entity_ids: Iterable[str], entities: dict[str, EntityRecord]) -> None:
        """Read records into `entities`, a slice of the loop at a time."""
        exposed = _exposure_check(self._hass)
        async for entity_id in in_slices(sorted(entity_ids)):
            record = None
            if (state := self._hass.states.get(entity_id)) and exposed(self._assistant, entity_id):
                record = read_record(self._hass, state, entities.get(entity_id))
            if record is None:
                entities.pop(entity_id, None)
            else:
                entities[entity_id] = record

    @callback
    def _mark(self, entity_ids: Iterable[str]) -> None:
        """Note entities to be read again."""
        self._dirty.update(entity_ids)
        if len(self._dirty) > MAX_DIRTY:
            self._dirty.clear()
            self._dirty_all = True
        self._tell()

    @callback
    def _on_state(self, event: Event[EventStateChangedData]) -> None:
        """An entity came, went or describes itself differently."""
        self._mark((event.data["entity_id"],))

    @callback
    def _on_entity(self, event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        """An entity's registry entry changed."""
        data = event.data
        self._mark((data["entity_id"],))
        if data["action"] == "update" and (old_entity_id := data.get("old_entity_id")):
            self._mark((old_entity_id,))

    @callback
    def _on_device(self, event: Event[dr.EventDeviceRegistryUpdatedData]) -> None:
        """A device changed; its entities, and those of its parts, take name, area and labels from it."""
        data = event.data
        if data["action"] != "update" or not DEVICE_DESCRIBING.intersection(data["changes"]):
            return
        device_id = data["device_id"]
        children = dr.async_get(self._hass).child_devices
        parts = (child.id for child in children if child.parent_device_id == device_id)
        entities = er.async_get(self._hass)
        for part in (device_id, *parts):
            self._mark(entry.entity_id for entry in er.async_entries_for_device(entities, part))

    @callback
    def _on_area(self, event: Event[ar.EventAreaRegistryUpdatedData]) -> None:
        """An area changed; its entities take labels from it."""
        if area_id := event.data["area_id"]:
            self._mark(record.entity_id for record in self._snapshot.in_area(area_id))
        self._on_place(event)

    @callback
    def _on_place(self, _event: Event[Any]) -> None:
        """An area or a floor changed."""
        self._dirty_places = True
        self._tell()

    @callback
    def _on_label(self, event: Event[lr.EventLabelRegistryUpdatedData]) -> None:
        """A label changed its name or went; those that wear labels are read again."""
        if event.data["action"] != "create":
            self._mark(key for key, record in self._snapshot.entities.items() if record.labels)

    @callback
    def _on_exposure(self) -> None:
        """Handle a changed exposure; registered entities have their own registry event."""
        registered = er.async_get(self._hass).entities
        self._mark(key for key in self._hass.states.async_entity_ids() if key not in registered)


@callback
def _describes(data: EventStateChangedData) -> bool:
    """Return whether a state change may change what is known of the entity beyond its state."""
    old, new = data["old_state"], data["new_state"]
    if old is None or new is None:
        return True
    before, after = old.attributes, new.attributes
    if before is after:
        return False
    describing = (*DESCRIBING, *DOMAINS[new.domain].describing)
    return any(before.get(key) != after.get(key) for key in describing)


def _move_floors(entities: dict[str, EntityRecord], areas: Mapping[str, Area]) -> None:
    """Give entities the floor that their area is on now."""
    for entity_id, record in entities.items():
        area = areas.get(record.area_id) if record.area_id else None
        floor_id = area.floor_id if area else None
        if floor_id != record.floor_id:
            entities[entity_id] = replace(record, floor_id=floor_id)
