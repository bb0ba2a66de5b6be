"""States of now as a query answers them: short lines, many entities counted by kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from homeassistant.const import ATTR_FRIENDLY_NAME
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.catalogue import tells_name
from ...context.kind_lines import is_active, kind_counts, without_groups
from ...context.states import LASTING_SECONDS, describe_state
from ...domains import DOMAINS
from ...domains.showing import GONE
from ...knowledge.house import Area, EntityRecord
from ...knowledge.spoken_words import domain_words
from ...safety.firewall.own_values import NAMING, is_own_state, outside_of, without_outside
from ...texts import clean, fold, one_line
from ...timespans import format_age
from .entity_report import attribute_names, chosen_attributes, shown_attribute, unknown_attributes
from .filters import StateFilter

MAX_CHARS: Final = 4000
MAX_ENTITIES: Final = 50
COUNT_FROM: Final = 6
"""From this many entities on, they are counted by kind: models do not count well."""
MAX_CHOICES: Final = 20
MAX_GONE: Final = 40
"""Unavailable entities that are named."""
ATTRIBUTES: Final = "attributes"
_PLAIN: Final = (str, int, float)
_OUR_NAMES: Final = NAMING | {"state", "unit"}
"""Names under which no attribute is told: the firewall does not read their values."""
NAME_CHARS: Final = 60
NARROW: Final = "+{} more; narrow by area, kind or name"

type Member = tuple[EntityRecord, State]
type Report = dict[str, JsonValueType]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateQuestion:
    """What is asked about some entities."""

    hass: HomeAssistant
    areas: Mapping[str, Area]
    attributes: Sequence[str] = ()
    """Names or patterns of attributes."""
    state: StateFilter | None = None
    named: frozenset[str] = field(default=frozenset())
    """Entities that were given by their ids, so that groups among them count."""


def present(question: StateQuestion, found: Sequence[Member]) -> Report:
    """Return the states of now: `matching` or `kinds`, `states`, `rest` (at rest, unavailable), `attributes`.

    Text from outside is in `attributes` only, and what is left out is counted in `more`.
    """
    members = _without_groups(question, found)
    wanted, gone, resting = _sorted(question, members)
    answer: Report = {}
    if question.state is not None:
        answer["matching"] = f"{len(wanted) or 'none'} of {len(members)}"
    elif len(members) >= COUNT_FROM:
        if counts := kind_counts(members):
            answer["kinds"] = list(counts)
        answer["total"] = len(members)
    if question.attributes:
        _add_unknown(answer, question, members)
    rest: Report = {}
    if gone:
        rest["unavailable"] = _ids(gone, MAX_GONE, question.areas)
    room = MAX_CHARS - _size([answer, rest])
    told = _Told(question, alone=len(members) == 1, room=room, in_rooms=_in_rooms(members))
    listed = sum(told.add(*member) for member in wanted[:MAX_ENTITIES])
    left_out = len(wanted) - listed
    for shown, same in resting.items():
        ids = _ids(same, len(same), question.areas)
        if _size([shown, ids]) > told.room:
            left_out += len(same)
            continue
        told.room -= _size([shown, ids])
        rest[shown] = ids
    answer["states"] = told.states
    if rest:
        answer["rest"] = rest
    if told.attributes:
        answer[ATTRIBUTES] = told.attributes
    if told.is_cut:
        answer["cut"] = True
    if left_out:
        answer["more"] = NARROW.format(left_out)
    return answer


def _without_groups(question: StateQuestion, found: Sequence[Member]) -> list[Member]:
    """Return the entities without groups whose members are among them, unless a group was asked for."""
    kept = {record.entity_id for record, _state in without_groups(found)} | question.named
    return [member for member in found if member[0].entity_id in kept]


def _sorted(
    question: StateQuestion, members: Sequence[Member]
) -> tuple[Sequence[Member], Sequence[Member], Mapping[str, Sequence[Member]]]:
    """Return the entities to tell one by one, the unavailable ones, and those at rest by their state."""
    wanted: Sequence[Member] = members
    resting: dict[str, list[Member]] = {}
    if question.state is not None:
        wanted = [member for member in members if question.state.matches(*member)]
    elif len(members) >= COUNT_FROM and not question.attributes:
        for record, state in members:
            if not is_active(state) and state.state not in GONE:
                own = without_outside(question.hass, state)
                resting.setdefault(describe_state(own, record, aged=False), []).append((record, state))
        resting = {shown: same for shown, same in resting.items() if len(same) > 1}
    alone = {record.entity_id for same in resting.values() for record, _state in same}
    shown_ids = {record.entity_id for record, _state in wanted}
    gone: list[Member] = []
    if question.state is not None or len(members) >= COUNT_FROM:
        gone = [(record, state) for record, state in members if state.state == "unavailable"]
        if question.state is not None:
            gone = [member for member in gone if member[0].entity_id not in shown_ids]
        else:
            alone |= {record.entity_id for record, _state in gone}
    return [member for member in wanted if member[0].entity_id not in alone], gone, resting


def _in_rooms(members: Sequence[Member]) -> bool:
    """Return whether entities are in several rooms, so that each has to say in which."""
    return len(members) == 1 or len({record.area_id for record, _state in members}) > 1


def _ids(members: Iterable[Member], limit: int, areas: Mapping[str, Area]) -> list[JsonValueType]:
    """Return the ids of entities, with the name where the id does not tell it."""
    listed = list(members)
    ids: list[JsonValueType] = []
    for record, _state in listed[:limit]:
        told = _is_named(record, areas.get(record.area_id or ""))
        ids.append(record.entity_id if told else f"{record.entity_id} ({clean(record.name, NAME_CHARS)})")
    return [*ids, f"+{len(listed) - limit} more"] if len(listed) > limit else ids


class _Told:
    """What is told of entities one by one, as long as there is room."""

    def __init__(self, question: StateQuestion, *, alone: bool, room: int, in_rooms: bool) -> None:
        self.states: Report = {}
        self.attributes: Report = {}
        self.room = room
        self.is_cut = False
        self._question, self._alone, self._in_rooms = question, alone, in_rooms

    def add(self, record: EntityRecord, state: State) -> bool:
        """Tell the state of an entity and return whether it fitted."""
        line = self._line(record, state)
        attributes = self._attributes(record, state, line)
        size = _size([record.entity_id, line]) + (_size([record.entity_id, attributes]) if attributes else 0)
        while size > self.room and self._alone and attributes:
            attributes.popitem()
            self.is_cut = True
            size = _size([record.entity_id, line, attributes])
        if size > self.room and self.states:
            self.room = 0
            return False
        self.room -= size
        self.states[record.entity_id] = line
        if attributes:
            self.attributes[record.entity_id] = attributes
        return True

    def _line(self, record: EntityRecord, state: State) -> str:
        area = self._question.areas.get(record.area_id or "")
        hass, moves = self._question.hass, DOMAINS[record.domain].moves
        own = is_own_state(hass, state)
        text = describe_state(without_outside(hass, state), record) if own else f"see {ATTRIBUTES}"
        if not _is_named(record, area):
            text = f"{clean(record.name, NAME_CHARS)}: {text}"
        if area is not None and self._in_rooms and not moves and not _names(record, area):
            text = f"{text}, in {clean(area.name, NAME_CHARS)}"
        if self._alone and (rooms := self._rooms(record)):
            text = f"{text}, can be sent to: {rooms}"
        if self._alone:
            now = dt_util.utcnow()
            lasted = (now - state.last_changed).total_seconds()
            if not DOMAINS[record.domain].says_age or lasted < LASTING_SECONDS:
                text = f"{text}, changed {format_age(state.last_changed, now)}"
        return text

    def _rooms(self, record: EntityRecord) -> str:
        registry, work = er.async_get(self._question.hass), DOMAINS[record.domain].rooms
        entry = registry.async_get(record.entity_id)
        if work is None or entry is None:
            return ""
        areas = (self._question.areas.get(area) for area in work.areas(entry.options.get(record.domain, {})))
        return ", ".join(sorted(clean(area.name, NAME_CHARS) for area in areas if area is not None))

    def _attributes(self, record: EntityRecord, state: State, line: str) -> Report:
        """Return what was asked for, else text from outside and what the line does not tell."""
        asked = self._question.attributes
        hass = self._question.hass
        usual = partial(_usual, hass, state, alone=self._alone)
        chosen = chosen_attributes(state, asked) if asked else usual()
        found: Report = {}
        for name in DOMAINS[record.domain].choices if self._alone and not asked else ():
            if isinstance(offered := state.attributes.get(name), list | tuple):
                found[name] = [one_line(str(each), NAME_CHARS) for each in offered[:MAX_CHOICES]]
        if not is_own_state(hass, state):
            found["state"] = one_line(state.state)
        for name, value in chosen.items():
            shown = shown_attribute(name, value)
            if name == ATTR_FRIENDLY_NAME:
                shown = one_line(record.name, 80)
            if name in _OUR_NAMES or shown is None or (not asked and str(shown).rstrip("%") in line):
                continue
            found[name] = shown
        return found


def _is_named(record: EntityRecord, area: Area | None) -> bool:
    kinds = domain_words()
    words = [word for word in record.name.split() if kinds.get(fold(word)) != record.domain]
    return tells_name(replace(record, name=" ".join(words) or record.name), area)


def _names(record: EntityRecord, area: Area) -> bool:
    name = area.name.casefold()
    return name in record.name.casefold() or name.replace(" ", "_") in record.object_id


def _usual(hass: HomeAssistant, state: State, *, alone: bool) -> Mapping[str, Any]:
    """Return the attributes that people ask about; of several entities only those from outside."""
    names = DOMAINS[state.domain].reported
    if names is None:
        names = tuple(attribute_names(state)[:10]) if alone else ()
    outside = outside_of(hass, state)
    known = state.attributes
    told = [name for name in names if name in outside or (alone and isinstance(known.get(name), _PLAIN))]
    return {name: known[name] for name in told if known.get(name) is not None}


def _add_unknown(answer: Report, question: StateQuestion, members: Sequence[Member]) -> None:
    """Say which of the attributes that were asked for no entity has, and which there are."""
    states = [state for _record, state in members[:MAX_ENTITIES]]
    if unknown := unknown_attributes(states, question.attributes):
        answer["unknown_attributes"] = list(unknown[:10])
        answer["known_attributes"] = list(attribute_names(states[0])[:30])


def _size(value: Any) -> int:
    return len(json_dumps(value))
