"""Rooms and floors: what is in them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, override

from homeassistant.core import CALLBACK_TYPE

from ...idle import in_slices
from ...texts import clean
from ..house import Area, EntityRecord, Floor, House, HouseSnapshot
from ..semantic import KnowledgeDocument, KnowledgeSource, Source
from ..spoken_words import ClassWords
from .words import NAME_CHARS, kind, together

MAX_LISTED: Final = 30
"""Entities named of one room; of the others the number is said."""


class AreaSource(KnowledgeSource):
    """Rooms with what is exposed in them, and the floors they are on."""

    source = Source.AREA

    def __init__(self, house: House) -> None:
        self._house = house

    @override
    async def async_documents(self) -> list[KnowledgeDocument]:
        """Return a document for each room and each floor with something in it."""
        house = await self._house.async_snapshot()
        rooms = [_room(house, area) async for area in in_slices(house.areas.values())]
        floors = [_floor(house, floor) async for floor in in_slices(house.floors.values())]
        return [document for document in (*rooms, *floors) if document is not None]

    @override
    def async_listen(self, changed: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `changed` when rooms, names or exposure change."""
        return self._house.async_listen(changed)


def _room(house: HouseSnapshot, area: Area) -> KnowledgeDocument | None:
    records = [record for record in house.in_area(area.area_id) if record.category is None]
    if not records:
        return None
    name = clean(area.name, NAME_CHARS)
    floor = house.floors.get(area.floor_id or "")
    said = [f"{name}.", f"A room on {clean(floor.name, NAME_CHARS)}." if floor else "A room."]
    if area.aliases:
        said.append(f"Also called {_names(area.aliases)}.")
    said.append(f"In it: {_counts(records)}. {together(_shown(records), limit=MAX_LISTED)}.")
    return _document(f"area:{area.area_id}", name, said, records)


def _floor(house: HouseSnapshot, floor: Floor) -> KnowledgeDocument | None:
    rooms = [area for area in house.areas.values() if area.floor_id == floor.floor_id]
    records = [record for area in rooms for record in house.in_area(area.area_id) if record.category is None]
    if not records:
        return None
    name = clean(floor.name, NAME_CHARS)
    level = f" (level {floor.level})" if floor.level is not None else ""
    said = [f"{name}.", f"A floor{level} with {_names(area.name for area in rooms)}."]
    if floor.aliases:
        said.append(f"Also called {_names(floor.aliases)}.")
    said.append(f"On it: {_counts(records)}.")
    return _document(f"floor:{floor.floor_id}", name, said, records)


def _document(key: str, name: str, said: list[str], records: list[EntityRecord]) -> KnowledgeDocument:
    return KnowledgeDocument(
        id=key,
        source=Source.AREA,
        title=name,
        text=" ".join(said),
        entity_ids=tuple(record.entity_id for record in records),
    )


def _counts(records: list[EntityRecord]) -> str:
    counts = Counter(record.domain for record in records)
    return together(
        (
            f"{count} {kind(domain) if count > 1 else domain.replace('_', ' ')}"
            for domain, count in counts.items()
        ),
        limit=MAX_LISTED,
    )


def _shown(records: list[EntityRecord]) -> Iterator[str]:
    measures = {"binary_sensor", "sensor"}
    for record in sorted(records, key=lambda record: (record.domain in measures, record.entity_id)):
        yield clean(record.name, NAME_CHARS)


def _names(names: Iterable[str]) -> str:
    return together((clean(name, NAME_CHARS) for name in names), limit=MAX_LISTED)


def entity_text(record: EntityRecord, house: HouseSnapshot, class_words: ClassWords) -> str:
    """Return the text of an entity: names, kind, place and device, in the language of the class words.

    No state is in it, so that a change of state changes no text.
    """
    area = house.areas.get(record.area_id or "")
    floor = house.floors.get(record.floor_id or "")
    parts = (
        record.name,
        *record.aliases,
        class_words.names(record) or record.domain.replace("_", " "),
        *(area.names if area else ()),
        *(floor.names if floor else ()),
        record.device or "",
    )
    return ", ".join(dict.fromkeys(part for part in parts if part))
