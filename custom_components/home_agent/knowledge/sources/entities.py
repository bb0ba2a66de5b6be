"""Entities as texts to be found by meaning."""

from ..house import EntityRecord, HouseSnapshot
from ..spoken_words import ClassWords


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
