"""What the home consists of, as plain immutable records."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

MAX_DERIVED = 64
"""Values cached on one snapshot; callers use a handful of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRecord:
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
class Area:
    """A room or another place."""

    area_id: str
    name: str
    aliases: tuple[str, ...] = ()
    floor_id: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name and the aliases."""
        return tuple(filter(None, (self.name, *self.aliases)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A floor of the home."""

    floor_id: str
    name: str
    aliases: tuple[str, ...] = ()
    level: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name and the aliases."""
        return tuple(filter(None, (self.name, *self.aliases)))


class HouseSnapshot:
    """The home at one moment; it never changes once made.

    Entities are the exposed ones, sorted by entity id; areas and floors by their id.
    """

    __slots__ = ("_by_area", "_by_domain", "_derived", "areas", "carried", "entities", "floors", "version")

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
        self._by_area: dict[str, tuple[EntityRecord, ...]] | None = None
        self._by_domain: dict[str, tuple[EntityRecord, ...]] | None = None
        self._derived: dict[Hashable, object] = {}

    @property
    def domains(self) -> frozenset[str]:
        """Return the domains of the entities."""
        return frozenset(self._domains())

    def of_domain(self, domain: str) -> tuple[EntityRecord, ...]:
        """Return the entities of a domain, sorted by entity id."""
        return self._domains().get(domain, ())

    def _domains(self) -> Mapping[str, tuple[EntityRecord, ...]]:
        """Return the entities by domain, sorted once for each snapshot."""
        if self._by_domain is None:
            found: dict[str, list[EntityRecord]] = {}
            for record in self.entities.values():
                found.setdefault(record.domain, []).append(record)
            self._by_domain = {key: tuple(records) for key, records in found.items()}
        return self._by_domain

    def in_area(self, area_id: str) -> tuple[EntityRecord, ...]:
        """Return the entities of an area, sorted by entity id."""
        if self._by_area is None:
            members: dict[str, list[EntityRecord]] = {}
            for record in self.entities.values():
                if record.area_id is not None:
                    members.setdefault(record.area_id, []).append(record)
            self._by_area = {key: tuple(records) for key, records in members.items()}
        return self._by_area.get(area_id, ())

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


def differing[T](new: Mapping[str, T], old: Mapping[str, T]) -> list[str]:
    """Return the keys whose value is new or different."""
    return [key for key, value in new.items() if (before := old.get(key)) is not value and before != value]


def _frozen[T](parts: Mapping[str, T]) -> Mapping[str, T]:
    """Return a read-only copy sorted by key."""
    return MappingProxyType({key: parts[key] for key in sorted(parts)})
