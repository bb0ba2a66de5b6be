"""The home as the agent may see it, kept up to date at next to no cost."""

import asyncio
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, Self

from homeassistant.components.homeassistant import exposed_entities
from homeassistant.components.homeassistant.const import DATA_EXPOSED_ENTITIES
from homeassistant.const import ATTR_SUPPORTED_FEATURES, EVENT_STATE_CHANGED
from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.util import slugify

from ..const import ASSISTANT, CONF_CONTROLLABLE, CONF_VISIBLE
from ..domains import DOMAINS
from ..domains.features import feature_bits
from ..idle import in_slices
from ..regex import lazy_regex
from ..safety.firewall.own_values import READ_FROM, as_label, known_class, label_of

MAX_DERIVED = 64
"""Values cached on one snapshot; callers use a handful of keys."""


class EntityRecord(NamedTuple):
    """An exposed entity: everything about it that a change of state leaves alone."""

    entity_id: str
    domain: str
    name: str
    aliases: tuple[str, ...] = ()
    area_id: str | None = None
    floor_id: str | None = None
    device: str | None = None
    device_class: str | None = None
    labels: tuple[str, ...] = ()
    category: str | None = None
    abilities: tuple[str, ...] = ()
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Parameters with few choices, and these."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name and the aliases."""
        return tuple(filter(None, (self.name, *self.aliases)))

    @property
    def object_id(self) -> str:
        """Return the entity id without its domain."""
        return self.entity_id.partition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPlace:
    """What areas and floors have in common."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name and the aliases."""
        return tuple(filter(None, (self.name, *self.aliases)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Area(NamedPlace):
    """A room or another place."""

    area_id: str
    floor_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor(NamedPlace):
    """A floor of the home."""

    floor_id: str
    level: int | None = None


class HouseSnapshot:
    """The home at one moment; it never changes once made.

    Entities are the exposed ones, sorted by entity id; areas and floors by their id.
    """

    __slots__ = ("_derived", "areas", "carried", "domains", "entities", "floors", "version")

    def __init__(
        self,
        *,
        version: int = 0,
        entities: Mapping[str, EntityRecord] | None = None,
        areas: Mapping[str, Area] | None = None,
        floors: Mapping[str, Floor] | None = None,
        carried: dict[Hashable, object] | None = None,
    ) -> None:
        """Take sorted copies of the parts.

        `carried` is data that outlives this snapshot; the snapshots of one home share it.
        """
        self.carried: dict[Hashable, object] = {} if carried is None else carried
        self.version = version
        self.entities: Mapping[str, EntityRecord] = _frozen(entities or {})
        self.areas: Mapping[str, Area] = _frozen(areas or {})
        self.floors: Mapping[str, Floor] = _frozen(floors or {})
        self.domains = frozenset(record.domain for record in self.entities.values())
        self._derived: dict[Hashable, object] = {}

    def of_domain(self, domain: str) -> tuple[EntityRecord, ...]:
        """Return the entities of a domain, sorted by entity id."""
        return self._grouped("domain").get(domain, ())

    def in_area(self, area_id: str) -> tuple[EntityRecord, ...]:
        """Return the entities of an area, sorted by entity id."""
        return self._grouped("area_id").get(area_id, ())

    def _grouped(self, attribute: str) -> Mapping[str, tuple[EntityRecord, ...]]:
        """Return the entities by domain or area, sorted once for each snapshot."""

        def group(_house: HouseSnapshot) -> Mapping[str, tuple[EntityRecord, ...]]:
            groups: dict[str, list[EntityRecord]] = {}
            for record in self.entities.values():
                if (key := getattr(record, attribute)) is not None:
                    groups.setdefault(key, []).append(record)
            return {key: tuple(records) for key, records in groups.items()}

        return self.derived(("grouped", attribute), group)

    def in_places(self, place_ids: Collection[str]) -> Iterator[EntityRecord]:
        """Yield the entities of areas and floors, area by area."""
        for area in self.areas.values():
            if area.area_id in place_ids or area.floor_id in place_ids:
                yield from self.in_area(area.area_id)

    def derived[T](self, key: Hashable, factory: Callable[[HouseSnapshot], T]) -> T:
        """Return `factory(snapshot)`, computed once for each key.

        The oldest values are dropped when there are more than MAX_DERIVED.
        """
        if key in self._derived:
            return self._derived[key]  # type: ignore[return-value]
        value = factory(self)
        while len(self._derived) >= MAX_DERIVED:
            del self._derived[next(iter(self._derived))]
        self._derived[key] = value
        return value

    def has_derived(self, key: Hashable) -> bool:
        """Return whether a derived value is there already."""
        return key in self._derived

    def same_content(self, other: HouseSnapshot) -> bool:
        """Return whether the other snapshot differs in its version at most."""
        return self.entities == other.entities and self.areas == other.areas and self.floors == other.floors


class Snapshots(Protocol):
    """The home, complete or as one agent sees it."""

    async def async_snapshot(self) -> HouseSnapshot:
        """Return the home as it is now."""


def _frozen[T](parts: Mapping[str, T]) -> Mapping[str, T]:
    """Return a read-only copy sorted by key."""
    return MappingProxyType({key: parts[key] for key in sorted(parts)})


NAMED_OUTSIDE: Final = frozenset({"router", "bluetooth", "bluetooth_le"})
"""Sources of presence that take names from the devices that they see."""

MAX_CHOICES: Final = 8
_CHOICE: Final = lazy_regex(r"[\w .+-]{1,20}")


@callback
def read_record(hass: HomeAssistant, state: State, previous: EntityRecord | None = None) -> EntityRecord:
    """Return the record of an entity, which need not be in the registry.

    `previous` keeps abilities that an entity shows only in some states, such as a player that is on.
    """
    entry = er.async_get(hass).async_get(state.entity_id)
    attributes = state.attributes
    # A router or a Bluetooth receiver repeats the name that the owner of a phone gave it. That is trusted as
    # long as the entity was registered by it: the household has exposed the entity with it.
    source = attributes.get("source_type")
    renamed = (
        state.domain == "device_tracker"
        and not (entry and entry.name)
        and slugify(state.name) != state.object_id
        and (source in NAMED_OUTSIDE or (entry is not None and source is None))
    )
    name = state.object_id.replace("_", " ").title() if renamed else label_of(hass, state)
    strange = name != str(state.name).strip()
    abilities = abilities_of(
        state.domain,
        attributes,
        entry.capabilities if entry else None,
        entry.supported_features if entry else 0,
    )
    if previous is not None:
        abilities = tuple(sorted({*abilities, *previous.abilities}))
    choices = choices_of(state.domain, attributes, entry.capabilities if entry else None)
    device_class = known_class(attributes.get("device_class"))
    record = EntityRecord(
        entity_id=state.entity_id,
        domain=state.domain,
        name=name,
        device_class=str(device_class) if device_class else None,
        abilities=abilities,
        choices=choices,
    )
    if entry is None:
        return record
    device_class = entry.device_class or device_class or known_class(entry.original_device_class)
    device, area, label_ids = _surroundings(hass, entry)
    aliases = er.async_get_entity_aliases(hass, entry)
    if strange:
        aliases = [alias for alias in aliases if alias.strip() != str(state.name).strip()]
    aliases = [alias if alias in entry.aliases else as_label(alias) for alias in aliases]
    labels = lr.async_get(hass)
    return record._replace(
        aliases=_other_names(name, aliases),
        area_id=area.id if area else None,
        floor_id=area.floor_id if area else None,
        device=(device.name_by_user or (None if strange else as_label(device.name or "")))
        if device
        else None,
        device_class=str(device_class) if device_class else None,
        labels=tuple(sorted(label.name for key in label_ids if (label := labels.async_get_label(key)))),
        category=entry.entity_category.value if entry.entity_category else None,
    )


@callback
def _surroundings(
    hass: HomeAssistant, entry: er.RegistryEntry
) -> tuple[dr.DeviceEntry | dr.ChildDeviceEntry | None, ar.AreaEntry | None, set[str]]:
    """Return the device and the area of an entity, and the ids of its labels and of theirs."""
    device = dr.async_get(hass).async_get(entry.device_id) if entry.device_id else None
    area_id = er.async_get_effective_area_id(hass, entry)
    area = ar.async_get(hass).async_get_area(area_id) if area_id else None
    return device, area, entry.labels.union(*(one.labels for one in (device, area) if one))


def abilities_of(
    domain: str,
    attributes: Mapping[str, Any],
    capabilities: Mapping[str, Any] | None = None,
    features: int = 0,
) -> tuple[str, ...]:
    """Return the parameters that can be set, sorted by name.

    `capabilities` and `features` are what the registry remembers; the state's own attributes count more.
    """
    facts = DOMAINS[domain]
    bits = attributes.get(ATTR_SUPPORTED_FEATURES, features)
    found = {
        ability
        for ability, needed in facts.feature_abilities.items()
        if not needed or (isinstance(bits, int) and bits and bits & feature_bits(domain, needed))
    }
    if facts.find_abilities is not None:
        found.update(facts.find_abilities({**(capabilities or {}), **attributes}))
    return tuple(sorted(found))


def choices_of(
    domain: str, attributes: Mapping[str, Any], capabilities: Mapping[str, Any] | None = None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the parameters whose choices are few and plain words, with these."""
    known = {**(capabilities or {}), **attributes}
    found = []
    for name, parameter in DOMAINS[domain].parameters.items():
        given = known.get(parameter.choices or "")
        if not parameter.has_few_choices or not isinstance(given, list | tuple) or len(given) > MAX_CHOICES:
            continue
        words = tuple(str(choice) for choice in given)
        if words and all(_CHOICE.fullmatch(word) for word in words):
            found.append((name, words))
    return tuple(found)


def _other_names(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the names that differ from the first and from each other, in order."""
    seen = {name.strip().casefold(), ""}
    found = []
    for candidate in candidates:
        text = candidate.strip()
        if (key := text.casefold()) not in seen:
            seen.add(key)
            found.append(text)
    return tuple(found)


DESCRIBING = ("friendly_name", "device_class", "supported_features")
"""State attributes that describe any entity."""
MAX_PASSES = 3
"""Rebuilds one caller waits for while changes keep coming in."""
REGISTRIES: Final = (
    ar.EVENT_AREA_REGISTRY_UPDATED,
    fr.EVENT_FLOOR_REGISTRY_UPDATED,
    lr.EVENT_LABEL_REGISTRY_UPDATED,
)
DEVICE_DESCRIBING = frozenset({"area_id", "labels", "name", "name_by_user", "parent_device_id"})
"""Changes of a device that its entities inherit."""


@callback
def is_exposed(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether the assistant may see an entity, asked now."""
    return _exposure_check(hass)(ASSISTANT, entity_id)


def _exposure_check(hass: HomeAssistant) -> Callable[[str, str], bool]:
    settings = hass.data[DATA_EXPOSED_ENTITIES]
    check: Callable[[str, str], bool] = getattr(
        settings, "async_get_should_expose", settings.async_should_expose
    )
    return check


class House:
    """Knows the exposed entities, areas and floors, and hands out snapshots of them."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass
        self._snapshot = HouseSnapshot()
        self._dirty: set[str] = set()
        self._dirty_all = True
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

        @callback
        def invalidate(_event: Event[Any]) -> None:
            self.async_invalidate()

        @callback
        def inherited(data: dr.EventDeviceRegistryUpdatedData) -> bool:
            """Return whether a device changed what its entities, and those of its parts, take from it."""
            return data["action"] == "update" and not DEVICE_DESCRIBING.isdisjoint(data["changes"])

        @callback
        def describes(data: EventStateChangedData) -> bool:
            """Return whether a state change may change what is known of the entity beyond its state."""
            old, new = data["old_state"], data["new_state"]
            if old is None or new is None:
                return True
            before, after = old.attributes, new.attributes
            describing = (*DESCRIBING, *DOMAINS[new.domain].describing) if before is not after else ()
            return any(before.get(key) != after.get(key) for key in describing)

        @callback
        def mark_unregistered() -> None:
            """Handle a changed exposure; registered entities have their own registry event."""
            registered = er.async_get(self._hass).entities
            self._mark(key for key in self._hass.states.async_entity_ids() if key not in registered)

        mark_changed = callback(lambda event: self._mark((event.data["entity_id"],)))
        self._unsubscribe = [
            listen(EVENT_STATE_CHANGED, mark_changed, event_filter=describes),
            listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._on_entity),
            listen(dr.EVENT_DEVICE_REGISTRY_UPDATED, invalidate, event_filter=inherited),
            # Areas, floors and labels; entities take them from their devices and areas.
            *(listen(event, invalidate) for event in REGISTRIES),
            exposed_entities.async_listen_entity_updates(self._hass, ASSISTANT, mark_unregistered),
        ]
        self._dirty_all = True

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
            exposure = self._hass.data[DATA_EXPOSED_ENTITIES]
            expose_new = exposure.async_get_expose_new_entities(ASSISTANT)
            self._dirty_all |= expose_new is not self._expose_new
            self._expose_new = expose_new
            running = self._rebuild if self._rebuild is not None and not self._rebuild.done() else None
            if running is None and not (self._dirty_all or self._dirty):
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
        self._dirty_all = True
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

    async def _async_rebuild(self) -> None:
        old = self._snapshot
        everything, dirty = self._dirty_all, self._dirty
        self._dirty_all, self._dirty = False, set()
        try:
            areas, floors = old.areas, old.floors
            if everything:
                dirty = {*old.entities, *self._hass.states.async_entity_ids()}
                areas = {
                    area.id: Area(
                        area_id=area.id,
                        name=area.name.strip(),
                        aliases=_other_names(area.name, sorted(area.aliases)),
                        floor_id=area.floor_id,
                    )
                    for area in ar.async_get(self._hass).async_list_areas()
                }
                floors = {
                    floor.floor_id: Floor(
                        floor_id=floor.floor_id,
                        name=floor.name.strip(),
                        aliases=_other_names(floor.name, sorted(floor.aliases)),
                        level=floor.level,
                    )
                    for floor in fr.async_get(self._hass).async_list_floors()
                }
            entities = dict(old.entities)
            await self._async_read(dirty, entities)
        except BaseException:
            self._dirty_all |= everything
            self._dirty |= dirty
            raise
        new = HouseSnapshot(
            version=old.version + 1, entities=entities, areas=areas, floors=floors, carried=old.carried
        )
        if not new.same_content(old) or old.version == 0:
            self._snapshot = new

    async def _async_read(self, entity_ids: Collection[str], entities: dict[str, EntityRecord]) -> None:
        exposed = _exposure_check(self._hass)
        states = map(self._hass.states.get, entity_ids)
        names = {name for state in states if state and (name := str(state.name)).count(" ") >= READ_FROM}
        if names:  # the firewall's patterns take long to compose
            await self._hass.async_add_executor_job(lambda: [*map(as_label, names)])
        async for entity_id in in_slices(sorted(entity_ids)):
            record = None
            if (state := self._hass.states.get(entity_id)) and exposed(ASSISTANT, entity_id):
                record = read_record(self._hass, state, entities.get(entity_id))
            if record is None:
                entities.pop(entity_id, None)
            else:
                entities[entity_id] = record

    @callback
    def _mark(self, entity_ids: Iterable[str]) -> None:
        self._dirty.update(entity_ids)
        self._tell()

    @callback
    def _on_entity(self, event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        data = event.data
        self._mark((data["entity_id"],))
        if data["action"] == "update" and (old_entity_id := data.get("old_entity_id")):
            self._mark((old_entity_id,))


ENTITIES: Final = "entities"
DEVICES: Final = "devices"
AREAS: Final = "areas"
FLOORS: Final = "floors"
LABELS: Final = "labels"
LISTED: Final = (ENTITIES, DEVICES, AREAS, FLOORS, LABELS)
"""What a list names, each by its ids."""
EXCLUDED: Final = "excluded"
"""What is taken out of a list, by the same keys. Home Assistant's forms offer that since 2026.11."""


class AllowList(NamedTuple):
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
        device, area, labels = _surroundings(hass, entry)
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
    """The home as one agent sees it: as exposed, or what its list has, with further `names` by entity id."""

    def __init__(
        self, house: House, view: AgentView, names: Callable[[], Mapping[str, tuple[str, ...]]] = dict
    ) -> None:
        self._house = house
        self.view = view
        self._names = names
        self._known: tuple[tuple[object, ...], HouseSnapshot] | None = None
        """The complete home, the count of its changes and the further names; what the agent sees of it."""
        self._carried: dict[Hashable, object] = {}

    async def async_snapshot(self) -> HouseSnapshot:
        """Return the home as it is now, as far as the agent sees it."""
        changes = self._house.changes
        whole = await self._house.async_snapshot()
        names, narrows = self._names(), self.view.seen.narrows
        if not narrows and not names:
            return whole
        known, key = self._known, (whole, changes if narrows else 0, names)
        if known is not None and known[0] == key:
            return known[1]
        entities: dict[str, EntityRecord] = {}
        async for entity_id in in_slices(list(whole.entities)):
            if self.view.lists(entity_id):
                record = entities[entity_id] = whole.entities[entity_id]
                if own := names.get(entity_id):
                    aliases = _other_names(record.name, (*record.aliases, *own))
                    entities[entity_id] = record._replace(aliases=aliases)
        used = {one.area_id for one in entities.values()}
        areas = {key: area for key, area in whole.areas.items() if key in used or not narrows}
        used = {area.floor_id for area in areas.values()}
        found = HouseSnapshot(
            version=whole.version,
            entities=entities,
            areas=areas,
            floors={key: floor for key, floor in whole.floors.items() if key in used or not narrows},
            carried=self._carried,
        )
        seen = known[1] if known is not None and known[1].same_content(found) else found
        self._known = (key, seen)
        return seen

    @callback
    def async_listen(self, listener: CALLBACK_TYPE) -> CALLBACK_TYPE:
        """Call a listener whenever a snapshot may have become old; return how to stop that."""
        return self._house.async_listen(listener)


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]
