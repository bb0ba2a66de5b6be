"""What the self-test asks: sentences by capability, and the home that they are about, from `cases.json`."""

from collections.abc import Iterator, Mapping, Sequence
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from homeassistant.core import State

from ..context.kind_lines import describe_state
from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from ..languages import nearest
from .kept import Capability

type Effects = Mapping[str, tuple[str, Mapping[str, Any]]]
"""For each entity the service that has to be called, and the part of its data that counts."""

_ENGLISH: Final = "en"
_FILE: Final = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
"""Read with the module, which the import executor loads."""


class Case(NamedTuple):
    """One sentence."""

    name: str
    capability: Capability
    said: str
    language: str = _ENGLISH
    before: Sequence[tuple[str, str]] = ()
    """The conversation before the sentence: what was said, and what was answered."""
    effects: Effects = MappingProxyType({})
    """What has to be done, and nothing else; without any, nothing may be done."""
    tries: bool = False
    """Whether a call is allowed that names nothing in the home."""
    reads: str = ""
    """The entity that has to be read with ha_query, with its history."""
    answers: Sequence[str] = ()
    """Words of which at least one must be in the answer."""
    wrong: Sequence[str] = ()
    """Words that must not be in the answer."""
    refused: str = ""
    """An error that the tool answers the expected call with; the answer must not claim success then."""

    @classmethod
    def read(cls, stored: Mapping[str, Any], **more: Any) -> Self:
        """Return a case of the file."""
        given = {**stored, **more}
        given["capability"] = Capability(given["capability"])
        given["before"] = tuple(map(tuple, given.get("before", ())))
        given["effects"] = {
            entity_id: (service, data) for entity_id, (service, data) in given.get("effects", {}).items()
        }
        return cls(**given)


COMMON: Final = tuple(map(Case.read, _FILE["cases"]))
"""The cases of every household, in English."""


def cases(language: str, country: str | None = None) -> tuple[Case, ...]:
    """Return the cases for a household that speaks a language.

    Its own language is asked too; a household that speaks English, or a language without sentences, gets the
    two that most models know.
    """
    spoken = nearest(language, frozenset((_ENGLISH, *_FILE["languages"])), country) or _ENGLISH
    asked = _FILE["beside_english"] if spoken == _ENGLISH else [spoken]
    own = [
        Case.read(stored, capability=Capability.LANGUAGES, language=code)
        for code in asked
        for stored in _FILE["languages"][code]
    ]
    return (*COMMON, *own)


FLOORS: Final = {stored["floor_id"]: Floor(**stored) for stored in _FILE["floors"]}
AREAS: Final = {stored["area_id"]: Area(**stored) for stored in _FILE["areas"]}
ENTITIES: Final[Mapping[str, tuple[str, str, str, Mapping[str, Any]]]] = _FILE["entities"]
"""Name, room, state and attributes of each entity."""


def states() -> dict[str, State]:
    """Return the states of the entities."""
    return {
        entity_id: State(entity_id, state, {"friendly_name": name, **attributes})
        for entity_id, (name, _area, state, attributes) in ENTITIES.items()
    }


def house() -> HouseSnapshot:
    """Return the snapshot of the home."""
    return HouseSnapshot(
        entities={
            entity_id: EntityRecord(
                entity_id=entity_id,
                domain=entity_id.partition(".")[0],
                name=name,
                area_id=area,
                floor_id=AREAS[area].floor_id,
                device_class=attributes.get("device_class"),
            )
            for entity_id, (name, area, _state, attributes) in ENTITIES.items()
        },
        areas=AREAS,
        floors=FLOORS,
    )


def lines(of: HouseSnapshot) -> Iterator[str]:
    """Yield the context of each sentence: every entity with its state."""
    for entity_id, state in states().items():
        yield f"{entity_id}: {describe_state(state, of.entities[entity_id])}"
