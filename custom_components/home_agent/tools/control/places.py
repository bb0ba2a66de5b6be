"""Rooms of machines that clean, and players that play together: what a call means by places and groups."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, NamedTuple

from homeassistant.helpers import entity_registry as er

from ...domains import DOMAINS, arranging, domains_of
from ...domains.base import DomainFacts, Grouping, WorkInRooms
from ...domains.features import supports
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import content_words, name_index, squash
from ...knowledge.spoken_words import domain_words, means_home
from ...texts import fold
from ..base import ToolRun
from ..resolving.resolver import (
    Target,
    choose,
    find_place,
    listed,
    places_in_sentence,
    read_kinds,
    texts,
    unknown_place,
)
from .arguments import TIME_SLOTS

MAX_LISTED: Final = 200
"""Characters of the rooms, or of the players, that an error lists."""
PLAYING: Final = frozenset(("playing", "buffering"))
_SEPARATORS: Final = str.maketrans(dict.fromkeys(";/|&\n", ","))


def arranged(run: ToolRun, args: dict[str, Any], *, with_groups: bool = True) -> dict[str, Any]:
    """Return the arguments of a call with the rooms to work in as IDs, or with the whole group that plays.

    Only kinds of devices that have rooms or groups are asked; other arguments are returned as they are.

    Raises ValidationError for rooms that are not there or that no machine can be sent to, so that nothing
    works elsewhere instead, and if it is not clear what plays together.
    """
    verb, ids = str(args.get("action")), args.get("entity_id") or ()
    kinds = arranging(verb) & run.house.domains
    named = [run.house.entities[entity_id].domain for entity_id in ids if entity_id in run.house.entities]
    if named and len(named) == len(ids) and kinds.isdisjoint(named) and domains_of(verb) > kinds:
        return args
    for facts in map(DOMAINS.__getitem__, sorted(kinds)):
        if facts.rooms is not None:
            args = _RoomOrder(run, facts, facts.rooms, is_work=verb == facts.rooms.action).read(args) or args
        if facts.groups is not None and with_groups:
            args = _GroupOrder(run, facts, facts.groups).read(verb, args)
    return args


def _call(
    args: Mapping[str, Any], action: str, entity_ids: Iterable[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a call of an action for some entities, at the time of another."""
    times = {slot: args[slot] for slot in TIME_SLOTS if slot in args}
    parameters = {"parameters": given} if given else {}
    return {"action": action, "entity_id": list(dict.fromkeys(entity_ids)), **parameters, **times}


@dataclass(frozen=True, slots=True)
class _RoomOrder:
    run: ToolRun
    facts: DomainFacts
    work: WorkInRooms
    _: KW_ONLY
    is_work: bool
    """Whether the action works in single rooms, so that rooms have to be named."""

    def read(self, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the call with its rooms; None if it names none."""
        house, (target, given, named) = self.run.house, self._split(args)
        records = self._machines(target)
        if not records:
            return None
        names = [frozenset(content_words(record.name)) for record in records]
        said = {text: frozenset(content_words(text)) for text in named}
        # A word of its name is no room.
        asked = self._places(
            text for text in named if not any(said[text] <= name for name in names if said[text])
        )
        registry, reach = er.async_get(self.run.hass), dict[str, frozenset[str]]()
        for record in records:
            entry = registry.async_get(record.entity_id) if self._can(record) else None
            rooms_of_map = self.work.areas(entry.options.get(self.facts.name, {})) if entry else ()
            reach[record.entity_id] = frozenset(rooms_of_map)
        mapped = frozenset[str]().union(*reach.values())
        wanted: dict[str, None] = {}
        for place in asked:
            there = [area.area_id for area in house.areas.values() if area.floor_id == place]
            rooms = [area for area in there if area in mapped] or there
            wanted |= dict.fromkeys([place] if place in house.areas else rooms)
        if self.is_work and not wanted:
            raise ValidationError(f"area: name the rooms. Rooms: {self._names(sorted(mapped))}")
        docks = {place for record in records for place in (record.area_id, record.floor_id)}
        # "The vacuum in the living room" may be where its dock is.
        if not wanted or (not self.is_work and not docks.isdisjoint(asked)):
            return None
        able = [record for record in records if reach[record.entity_id]]
        if not able and len(house.of_domain(self.facts.name)) > 1 and not docks.isdisjoint(wanted):
            return None  # the place only tells which of several is meant
        if not able:
            problem = "cannot be sent to single rooms"
            if self._can(records[0]):
                problem = "has no rooms assigned to its map; that is done in its settings in Home Assistant"
            raise ValidationError(
                f"{records[0].name} {problem}. Nothing was started. Ask whether it should work everywhere"
            )
        if missing := [area for area in wanted if area not in mapped]:
            who = f"{able[0].name} cannot" if len(able) == 1 else "No machine here can"
            raise ValidationError(
                f"{who} be sent to {self._names(missing)}. Nothing was started. "
                f"Rooms: {self._names(sorted(mapped))}"
            )
        chosen = [record for record in able if reach[record.entity_id].intersection(wanted)]
        whole = [record for record in chosen if reach[record.entity_id].issuperset(wanted)]
        if whole and not target.entity_id and not target.name:
            chosen = whole
            if len(whole) > 1:
                raise choose(house, whole, "Several can be sent there. Give the entity_id")
        rooms_of = {str(self.facts.actions[self.work.action].value): [*wanted]}
        ids = (record.entity_id for record in chosen)
        return _call(args, self.work.action, ids, {**given, **rooms_of})

    def _split(self, args: Mapping[str, Any]) -> tuple[Target, dict[str, Any], list[str]]:
        """Return the target without rooms, the values without rooms, and what is named as a room."""
        target, house = Target.from_args(args), self.run.house
        named = [text for text in (target.area, target.floor) if text]
        given = {}
        rooms = self.facts.actions[self.work.action].value
        for key, value in (args.get("parameters") or {}).items():
            word = str(key).strip().casefold().replace(" ", "_")
            if (self.is_work and key == "value") or self.facts.parameter_of(word) == rooms:
                named += texts(value)
            else:
                given[key] = value
        name = target.name
        if name and self.is_work and find_place(house, name, "area") is not None:
            ids = name_index(house).exact.get(squash(name), ())
            if not any(house.entities[entity_id].domain == self.facts.name for entity_id in ids):
                named, name = [*named, name], None
        return Target(entity_id=target.entity_id, name=name, domain=target.domain), given, named

    def _machines(self, target: Target) -> list[EntityRecord]:
        house, own = self.run.house, self.facts.name
        words = fold(target.name or "").split()
        is_kind = bool(words) and all(domain_words().get(word) == own for word in words)
        if not target.entity_id and (is_kind or not target.name):
            kinds = read_kinds(house, target).domains
            return [*house.of_domain(own)] if is_kind or self.is_work or own in kinds else []
        try:
            records = self.run.resolve(
                Target(entity_id=target.entity_id, name=target.name), "", {self.facts.name}
            )
        except ValidationError:
            if self.is_work:
                raise
            return []
        return records if all(record.domain == own for record in records) else []

    def _can(self, record: EntityRecord) -> bool:
        state = self.run.hass.states.get(record.entity_id)
        return supports(state, self.facts.actions[self.work.action].features)

    def _places(self, named: Iterable[str]) -> list[str]:
        """Return the areas and floors that some texts name. Raises ValidationError for unknown ones."""
        house, ids = self.run.house, list[str]()
        for text in named:
            whole = find_place(house, text, "area")
            is_one = whole is not None and not (whole.repaired and "," in text)
            for part in [text] if is_one else text.translate(_SEPARATORS).split(","):
                if (place := find_place(house, part, "area")) is not None:
                    ids += sorted(place.area_ids | place.floor_ids)
                elif several := places_in_sentence(house, part, self.run.speaker.language):
                    ids += sorted(place_id for each in several for place_id in each.area_ids | each.floor_ids)
                elif not means_home(part):
                    raise unknown_place(house, part.strip(), "area")
        return list(dict.fromkeys(ids))

    def _names(self, areas: Iterable[str]) -> str:
        house = self.run.house
        return listed([house.areas[area].name for area in areas if area in house.areas], MAX_LISTED)


class _GroupOrder(NamedTuple):
    run: ToolRun
    facts: DomainFacts
    groups: Grouping

    def read(self, verb: str, args: dict[str, Any]) -> dict[str, Any]:
        """Return the call for all players that it concerns, the leader of a group first."""
        if verb == self.groups.join:
            return self._joined(args)
        players = self._players(Target.from_args(args))
        grouped = [player.entity_id for player in players if len(self._members(player.entity_id)) > 1]
        if not grouped:
            raise ValidationError(f"{', '.join(player.name for player in players)[:100]} plays in no group")
        return _call(args, self.groups.leave, grouped, {})

    def _joined(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the call that lets players play along with the one that leads."""
        given, target, named = dict(args.get("parameters") or {}), Target.from_args(args), list[str]()
        for key in [*given]:
            if key == "value" or self.facts.parameter_of(key.strip().casefold()) == self.groups.members:
                named += texts(given.pop(key))
        players = [] if target.is_empty and named else self._players(target)
        players += [player for text in named for player in self._players(Target(name=text))]
        leader = self._members(next(filter(self._plays, players), players[0]).entity_id)[0]
        if len({player.entity_id for player in players}) == 1:
            playing = [player for player in self._able() if player != players[0] and self._plays(player)]
            leaders = {self._members(player.entity_id)[0]: player for player in playing}
            if len(leaders) > 1:
                problem = "Several play. Give all that are to play together"
                raise choose(self.run.house, leaders.values(), problem)
            if not leaders:
                raise ValidationError("Nothing else plays. Give all players that are to play together")
            leader = next(iter(leaders))
        ids = [leader, *(player.entity_id for player in players)]
        members = list(dict.fromkeys([leader, *self._members(leader), *ids]))
        return _call(args, self.groups.join, ids, {**given, self.groups.members: members})

    def _players(self, target: Target) -> list[EntityRecord]:
        players: list[EntityRecord] = []
        is_named = bool(target.entity_id or target.name)
        areas = target.area.split(",") if target.area and "," in target.area else [target.area]
        for area in areas:
            there = target._replace(
                area=area and area.strip(), floor=target.floor if len(areas) == 1 else None
            )
            try:
                records = self.run.resolve(there, self.run.sentence, {self.facts.name})
            except ValidationError as err:
                if is_named or not (there.area or there.floor):
                    raise
                known = listed([player.name for player in self._able()], MAX_LISTED)
                raise ValidationError(
                    f"No player there can play in a group. Players that can: {known}"
                ) from err
            able = [record for record in records if self._can(record)]
            unable = [record.name for record in records if record not in able]
            if not able or (is_named and unable):
                raise ValidationError(f"{', '.join(unable)[:100]} cannot play in a group. Nothing was done")
            players += able
        return list(dict.fromkeys(players))

    def _can(self, record: EntityRecord) -> bool:
        state = self.run.hass.states.get(record.entity_id)
        return supports(state, self.facts.actions[self.groups.join].features)

    def _plays(self, record: EntityRecord) -> bool:
        """Return whether a player plays: such a one leads, so that the music goes on."""
        state = self.run.hass.states.get(record.entity_id)
        return state is not None and state.state in PLAYING

    def _able(self) -> list[EntityRecord]:
        return [record for record in self.run.house.of_domain(self.facts.name) if self._can(record)]

    def _members(self, entity_id: str) -> list[str]:
        """Return the exposed members of the group of a player, its leader first; itself if it plays alone."""
        state = self.run.hass.states.get(entity_id)
        ids = state.attributes.get(self.groups.members) if state else None
        members = [member for member in ids or () if member in self.run.house.entities]
        return members if entity_id in members else [entity_id]
