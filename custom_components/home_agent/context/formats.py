"""How an entity with its state is written beside a sentence: as a table of formats."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from homeassistant.core import State
from homeassistant.helpers.json import json_dumps

from ..knowledge.house import EntityRecord, HouseSnapshot
from ..languages import DEFAULT, find, words as phrases
from ..texts import clean, quoted, words
from .plain_values import plain
from .states import describe_state

NAME_CHARS: Final = 60
VALUE_CHARS: Final = 100
MAX_ABILITIES: Final = 6
MAX_ATTRIBUTES: Final = 12
HIDDEN: Final = frozenset({"access_token", "code", "entity_picture", "entity_picture_local", "token"})
"""Attributes that are keys, or addresses with a key in them."""


class ShownEntity(NamedTuple):
    """One entity as it is to be shown."""

    record: EntityRecord
    state: State
    house: HouseSnapshot
    introduced: bool
    """Whether to include name, place and abilities, which the catalogue of a large home omits."""
    attributes: Mapping[str, Any]
    """Those that a person chose."""

    @property
    def area(self) -> str:
        """Return the name of the area, or an empty text."""
        area = self.house.areas.get(self.record.area_id or "")
        return area.name if area else ""


type Writer = Callable[[ShownEntity], str]


def compact(shown: ShownEntity) -> str:
    """Return the id with its introduction, and the state in a few words."""
    record = shown.record
    subject = introduced(record, shown.house) if shown.introduced else record.entity_id
    extra = (f"{name} {_value(value)}" for name, value in shown.attributes.items())
    return f"{subject}: {', '.join((describe_state(shown.state, record), *extra))}"


def as_json(shown: ShownEntity) -> str:
    """Return one JSON object."""
    record = shown.record
    content: dict[str, Any] = {
        "entity_id": record.entity_id,
        "name": clean(record.name, NAME_CHARS),
        "area": clean(shown.area, NAME_CHARS),
        "state": clean(shown.state.state, NAME_CHARS),
        "means": describe_state(shown.state, record),
        "abilities": list(record.abilities[:MAX_ABILITIES]) if shown.introduced else [],
        "attributes": dict(shown.attributes),
    }
    if content["means"] == content["state"]:
        del content["means"]
    return json_dumps({key: value for key, value in content.items() if value not in ("", [], {})})


def sentence(shown: ShownEntity) -> str:
    """Return one sentence."""
    record = shown.record
    place = f" in {quoted(shown.area, NAME_CHARS)}" if shown.area else ""
    subject = f"{quoted(record.name, NAME_CHARS)} ({record.entity_id}){place}"
    words = f"{subject} is {describe_state(shown.state, record)}"
    if shown.attributes:
        told = (
            f"its {name.replace('_', ' ')} is {_value(value)}" for name, value in shown.attributes.items()
        )
        words = f"{words}; {', '.join(told)}"
    if shown.introduced and record.abilities:
        words = f"{words}; it can do {', '.join(record.abilities[:MAX_ABILITIES])}"
    return f"{words}."


def hybrid(shown: ShownEntity) -> str:
    """Return the state in words, behind it the exact values as JSON."""
    content = {"state": clean(shown.state.state, NAME_CHARS), **shown.attributes}
    record = shown.record
    subject = introduced(record, shown.house) if shown.introduced else record.entity_id
    return f"{subject}: {describe_state(shown.state, record)} {json_dumps(content)}"


FORMATS: Final[Mapping[str, tuple[str, Writer]]] = {
    "compact": ("States, others by ha_query:", compact),
    "json": ("States as JSON, others by ha_query:", as_json),
    "natural_language": ("What is so now, other states by ha_query:", sentence),
    "hybrid": ("States with exact values as JSON, others by ha_query:", hybrid),
}
"""Per format: the heading, and how one entity is written."""
REASONS: Final = "reasons only by ha_query with why"


class StateWriter:
    """Writes entities in the format and with the attributes that the options choose."""

    def __init__(self, name: str, attributes: Sequence[str]) -> None:
        self.heading, self._write = FORMATS.get(name, FORMATS["compact"])
        self._attributes = [read_chosen(attribute) for attribute in attributes]
        self.brief = self._write is compact and not attributes
        """Whether a line is as short as it can be."""

    def heading_for(self, sentence: str, language: str) -> str:
        """Return the heading; for a question about reasons it says where they are, as no state tells them."""
        said = f" {' '.join(words(sentence))} "
        reasons = phrases(find(language) or DEFAULT, "questions.reasons")
        asks_why = any(f" {' '.join(words(reason))} " in said for reason in reasons)
        return self.heading.replace(":", f"; {REASONS}:") if asks_why else self.heading

    def line(self, record: EntityRecord, state: State, house: HouseSnapshot, *, introduced: bool) -> str:
        """Return the line of one entity."""
        chosen = self._chosen(state)
        return self._write(
            ShownEntity(record=record, state=state, house=house, introduced=introduced, attributes=chosen)
        )

    def _chosen(self, state: State) -> dict[str, Any]:
        """Return the chosen attributes that an entity has, as plain JSON."""
        found: dict[str, Any] = {}
        patterns = [name for entity, name in self._attributes if fnmatchcase(state.entity_id, entity)]
        for name in state.attributes if patterns else ():
            if len(found) >= MAX_ATTRIBUTES:
                break
            if name in HIDDEN or not any(fnmatchcase(name, pattern) for pattern in patterns):
                continue
            value = plain(state.attributes[name])
            if isinstance(value, str):
                found[name] = clean(value, VALUE_CHARS)
            elif value is not None and len(json_dumps(value)) <= 2 * VALUE_CHARS:
                found[name] = value
        return found


def read_chosen(attribute: str) -> tuple[str, str]:
    """Return the pattern of the entities and that of the attribute: `climate.*: temperature`, or for all."""
    entity, colon, name = attribute.rpartition(":")
    return (entity.strip() if colon else "*", name.strip())


def introduced(record: EntityRecord, house: HouseSnapshot) -> str:
    """Return an entity with the name, place and abilities that the catalogue of a large home omits."""
    area = house.areas.get(record.area_id) if record.area_id else None
    place = f" in {quoted(area.name, NAME_CHARS)}" if area else ""
    abilities = f" [{','.join(record.abilities[:MAX_ABILITIES])}]" if record.abilities else ""
    return f"{record.entity_id} {quoted(record.name, NAME_CHARS)}{place}{abilities}"


def _value(value: Any) -> str:
    """Return a value as text; texts are in quotes."""
    return quoted(value, VALUE_CHARS) if isinstance(value, str) else json_dumps(value)
