"""Rooms of machines that clean, and players that play together: what a call means by places and groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from homeassistant.helpers import entity_registry as er

from ...domains import DOMAINS
from ...domains.base import DomainFacts
from ...domains.features import supports
from ...domains.together import Grouping, WorkInRooms
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import content_words, name_index, squash
from ...knowledge.spoken_words import domain_words, means_home
from ...texts import fold
from ..base import ToolRun
from ..resolving.resolver import (
    Target,
    choose,
    describe,
    find_place,
    listed,
    mention,
    places_in_sentence,
    read_kinds,
    resolve,
    texts,
    unknown_place,
)
from .arguments import STEP, STEP_ALIASES, TIME_SLOTS

MAX_HINTS: Final = 3
MAX_ROOMS: Final = 200
"""Characters of the rooms that an error lists."""
HELPERS: Final = ("button", "input_button", "scene", "script")
"""Kinds of entities with which households clean a room by its name."""
_SEPARATORS: Final = str.maketrans(dict.fromkeys(";/|&\n", ","))


def with_rooms(run: ToolRun, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call with the rooms to work in as IDs, and the machines that do it.

    Other arguments are returned as they are. Raises ValidationError for rooms that are not there or that no
    machine can be sent to, so that nothing works elsewhere instead.
    """
    verb = str(args.get("action"))
    for name in sorted(run.house.domains):
        facts = DOMAINS[name]
        if facts.rooms is not None and verb in (facts.rooms.action, *facts.rooms.everywhere):
            found = _RoomOrder(run, facts, facts.rooms, verb).read(args)
            if found is not None:
                return found
    return args


@dataclass(frozen=True, slots=True)
class _RoomOrder:
    """One call of an action for one kind of machine."""

    run: ToolRun
    facts: DomainFacts
    work: WorkInRooms
    verb: str

    def read(self, args: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the call with its rooms; None if it names none."""
        target, given, named = self._split(args)
        records = self._machines(target)
        if not records:
            return None
        names = [frozenset(content_words(record.name)) for record in records]
        said = {text: frozenset(content_words(text)) for text in named}
        asked = self._places(
            text for text in named if not (said[text] and any(said[text] <= name for name in names))
        )
        reach = {record.entity_id: self._rooms_of(record) for record in records}
        mapped = frozenset[str]().union(*reach.values())
        wanted: dict[str, None] = {}
        for place in asked:
            there = [area.area_id for area in self.run.house.areas.values() if area.floor_id == place]
            rooms = [area for area in there if area in mapped] or there
            wanted |= dict.fromkeys([place] if place in self.run.house.areas else rooms)
        if self.verb == self.work.action:
            if not wanted:
                raise ValidationError(f"area: name the rooms. Rooms: {self._names(sorted(mapped))}")
        elif not {place for record in records for place in (record.area_id, record.floor_id)}.isdisjoint(
            asked
        ):
            return None  # "the vacuum in the living room" may be where its dock is
        if not wanted:
            return None
        if not (able := [record for record in records if reach[record.entity_id]]):
            self._check_unable(records, list(wanted))
            return None
        is_named = bool(target.entity_id or target.name)
        chosen = self._chosen(able, reach, list(wanted), is_named=is_named)
        return {
            "action": self.work.action,
            "entity_id": [record.entity_id for record in chosen],
            "parameters": {**given, str(self.facts.actions[self.work.action].value): [*wanted]},
            **{slot: args[slot] for slot in TIME_SLOTS if slot in args},
        }

    def _split(self, args: Mapping[str, Any]) -> tuple[Target, dict[str, Any], list[str]]:
        """Return the target without rooms, the values without rooms, and what is named as a room."""
        target, house = Target.from_args(args), self.run.house
        named = [text for text in (target.area, target.floor) if text]
        given, is_work = {}, self.verb == self.work.action
        rooms = self.facts.actions[self.work.action].value
        for key, value in (args.get("parameters") or {}).items():
            word = str(key).strip().casefold().replace(" ", "_")
            if (is_work and key == "value") or self.facts.parameter_of(word) == rooms:
                named += texts(value)
            else:
                given[key] = value
        name = target.name
        if name and is_work and find_place(house, name, "area") is not None:
            ids = name_index(house).exact.get(squash(name), ())
            if not any(house.entities[entity_id].domain == self.facts.name for entity_id in ids):
                named, name = [*named, name], None
        return Target(entity_id=target.entity_id, name=name, domain=target.domain), given, named

    def _machines(self, target: Target) -> list[EntityRecord]:
        """Return the machines that a call may mean; none if it is about something else."""
        house, run, is_work = self.run.house, self.run, self.verb == self.work.action
        words = fold(target.name or "").split()
        is_kind = bool(words) and all(domain_words().get(word) == self.facts.name for word in words)
        if target.entity_id or (target.name and not is_kind):
            try:
                records = resolve(
                    house,
                    Target(entity_id=target.entity_id, name=target.name),
                    speaker=run.speaker,
                    sentence="",
                    allowed_domains={self.facts.name},
                    exists=lambda entity_id: run.hass.states.get(entity_id) is not None,
                )
            except ValidationError:
                if is_work:
                    raise
                return []
            return records if all(record.domain == self.facts.name for record in records) else []
        kinds = read_kinds(house, target).domains
        return [*house.of_domain(self.facts.name)] if is_kind or is_work or self.facts.name in kinds else []

    def _rooms_of(self, record: EntityRecord) -> frozenset[str]:
        state = self.run.hass.states.get(record.entity_id)
        entry = er.async_get(self.run.hass).async_get(record.entity_id)
        if entry is None or not supports(state, self.facts.actions[self.work.action].features):
            return frozenset()
        return frozenset(self.work.areas(entry.options.get(self.facts.name, {})))

    def _places(self, named: Iterable[str]) -> list[str]:
        """Return the areas and floors that some texts name. Raises ValidationError for unknown ones."""
        house, ids = self.run.house, list[str]()
        for text in named:
            for part in (text, *text.translate(_SEPARATORS).split(",")):
                place = find_place(house, part, "area")
                if place is not None and not (place.repaired and part is text and "," in text):
                    ids += sorted(place.area_ids | place.floor_ids)
                    if part is text:
                        break
                elif part is text:
                    continue
                elif several := places_in_sentence(house, part, self.run.speaker.language):
                    ids += sorted(place_id for each in several for place_id in each.area_ids | each.floor_ids)
                elif not means_home(part):
                    raise unknown_place(house, part.strip(), "area")
        return list(dict.fromkeys(ids))

    def _check_unable(self, records: Sequence[EntityRecord], wanted: Sequence[str]) -> None:
        """Raise ValidationError unless the place only tells which of several machines is meant."""
        pool, record = self.run.house.of_domain(self.facts.name), records[0]
        if len(pool) > 1 and any(each.area_id in wanted for each in records):
            return
        problem = "cannot be sent to single rooms"
        if supports(
            self.run.hass.states.get(record.entity_id), self.facts.actions[self.work.action].features
        ):
            problem = "has no rooms assigned to its map; that is done in its settings in Home Assistant"
        raise ValidationError(
            f"{record.name} {problem}. Nothing was started.{self._hints(wanted)} "
            "Ask whether it should work everywhere"
        )

    def _hints(self, wanted: Iterable[str]) -> str:
        """Return what the household may use to clean these rooms."""
        house = self.run.house
        names = [name for area in wanted if area in house.areas for name in house.areas[area].names]
        keys = [words for name in names if (words := frozenset(content_words(name)))]
        records = [
            record
            for record in house.entities.values()
            if record.domain in HELPERS and any(key <= frozenset(content_words(record.name)) for key in keys)
        ]
        shown = ", ".join(describe(house, record) for record in records[:MAX_HINTS])
        return f" Perhaps: {shown}." if shown else ""

    def _chosen(
        self,
        able: Sequence[EntityRecord],
        reach: Mapping[str, frozenset[str]],
        wanted: Sequence[str],
        *,
        is_named: bool,
    ) -> list[EntityRecord]:
        """Return the machines that reach all rooms. Raises ValidationError."""
        mapped = frozenset[str]().union(*reach.values())
        if missing := [area for area in wanted if area not in mapped]:
            who = f"{able[0].name} cannot" if len(able) == 1 else "No machine here can"
            raise ValidationError(
                f"{who} be sent to {self._names(missing)}. Nothing was started. "
                f"Rooms: {self._names(sorted(mapped))}.{self._hints(missing)}"
            )
        useful = [record for record in able if reach[record.entity_id].intersection(wanted)]
        whole = [record for record in useful if reach[record.entity_id].issuperset(wanted)]
        if is_named or not whole:
            return useful
        if len(whole) > 1:
            raise choose(self.run.house, whole, "Several can be sent there. Give the entity_id")
        return whole

    def _names(self, areas: Iterable[str]) -> str:
        house = self.run.house
        return listed([house.areas[area].name for area in areas if area in house.areas], MAX_ROOMS)


SIZES: Final = frozenset((*STEP_ALIASES, STEP, "value"))
"""Words for a value of the action itself."""
MAX_LISTED: Final = 200
"""Characters of the players that an error lists."""
PLAYING: Final = frozenset(("playing", "buffering"))


def with_group(run: ToolRun, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call with all players that it concerns, those of a group leader first.

    Other arguments are returned as they are. Raises ValidationError if it is not clear what plays together.
    """
    verb = str(args.get("action"))
    for name in sorted(run.house.domains):
        facts = DOMAINS[name]
        if (groups := facts.groups) is None:
            continue
        order = _GroupOrder(run, facts, groups)
        if verb == groups.join:
            return order.joined(args)
        if verb == groups.leave:
            return order.left(args)
        if verb in groups.shared:
            return order.shared(args)
    return args


@dataclass(frozen=True, slots=True)
class _GroupOrder:
    """One call about players of one kind."""

    run: ToolRun
    facts: DomainFacts
    groups: Grouping

    def joined(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the call that lets players play along with the one that leads."""
        given, target, named = dict(args.get("parameters") or {}), Target.from_args(args), list[str]()
        for key in [*given]:
            if key == "value" or self.facts.parameter_of(key.strip().casefold()) == self.groups.members:
                named += texts(given.pop(key))
        players = [] if target.is_empty and named else self._players(target)
        players += [one for text in named for one in self._players(Target(name=text)) if one not in players]
        leader = self._leader(players)
        ids = [leader, *(player.entity_id for player in players)]
        return {
            "action": self.groups.join,
            "entity_id": [*dict.fromkeys(ids)],
            "parameters": {
                **given,
                self.groups.members: [*dict.fromkeys([leader, *self._members(leader), *ids])],
            },
            **{slot: args[slot] for slot in TIME_SLOTS if slot in args},
        }

    def left(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the call that takes players out of their groups."""
        players = self._players(Target.from_args(args))
        grouped = [one.entity_id for one in players if len(self._members(one.entity_id)) > 1]
        if not grouped:
            raise ValidationError(f"{', '.join(one.name for one in players)[:100]} plays in no group")
        times = {slot: args[slot] for slot in TIME_SLOTS if slot in args}
        return {"action": self.groups.leave, "entity_id": grouped, **times}

    def shared(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a call about one player of a group for all of it, unless the person named a place or one."""
        run, target = self.run, Target.from_args(args)
        values = {self.facts.parameter_of(key) for key in (args.get("parameters") or {}) if key not in SIZES}
        if not values <= self.groups.values or not (target.name or len(target.entity_id) == 1):
            return args
        try:
            found = self._resolved(target)
        except ValidationError:
            return args
        members = self._members(found[0].entity_id) if len(found) == 1 else []
        is_near = run.speaker.area_id is not None and run.speaker.area_id == found[0].area_id
        if len(members) < 2 or is_near or not run.sentence:  # noqa: PLR2004 - a group has two
            return args
        said = mention(run.hass, run.house, run.sentence, run.speaker.language)
        if said.entity_ids or said.places:
            return args
        return {key: args[key] for key in ("action", "parameters", *TIME_SLOTS) if key in args} | {
            "entity_id": members
        }

    def _players(self, target: Target) -> list[EntityRecord]:
        """Return the players that are meant and can play in a group. Raises ValidationError."""
        found: dict[str, EntityRecord] = {}
        is_named = bool(target.entity_id or target.name)
        areas = target.area.split(",") if target.area and "," in target.area else [target.area]
        for area in areas:
            floor = target.floor if len(areas) == 1 else None
            there = self._there(replace(target, area=area and area.strip(), floor=floor))
            able = [one for one in there if self._can(one)]
            unable = [one.name for one in there if one not in able]
            if not able or (is_named and unable):
                raise ValidationError(f"{', '.join(unable)[:100]} cannot play in a group. Nothing was done")
            found |= {one.entity_id: one for one in able}
        return list(found.values())

    def _there(self, target: Target) -> list[EntityRecord]:
        """Return the entities that a target means. Raises ValidationError with the players that there are."""
        try:
            return self._resolved(target)
        except ValidationError as err:
            if target.entity_id or target.name or not (target.area or target.floor):
                raise
            others = [one for one in self.run.house.entities.values() if self._can(one)]
            known = listed([one.name for one in others], MAX_LISTED)
            raise ValidationError(f"No player there can play in a group. Players that can: {known}") from err

    def _resolved(self, target: Target) -> list[EntityRecord]:
        run = self.run
        return resolve(
            run.house,
            target,
            speaker=run.speaker,
            sentence=run.sentence,
            allowed_domains={self.facts.name},
            exists=lambda entity_id: run.hass.states.get(entity_id) is not None,
        )

    def _can(self, record: EntityRecord) -> bool:
        state = self.run.hass.states.get(record.entity_id)
        return record.domain == self.facts.name and supports(
            state, self.facts.actions[self.groups.join].features
        )

    def _members(self, entity_id: str) -> list[str]:
        """Return the exposed members of the group of a player, its leader first; itself if it plays alone."""
        state = self.run.hass.states.get(entity_id)
        members = state.attributes.get(self.groups.members) if state else None
        found = [one for one in members if one in self.run.house.entities] if members else []
        return found if entity_id in found else [entity_id]

    def _plays(self, record: EntityRecord) -> bool:
        state = self.run.hass.states.get(record.entity_id)
        return state is not None and state.state in PLAYING

    def _leader(self, players: Sequence[EntityRecord]) -> str:
        """Return who leads: who plays already, so that the music goes on. Raises ValidationError."""
        if len(players) > 1:
            return self._members(next(filter(self._plays, players), players[0]).entity_id)[0]
        others = [one for one in self.run.house.entities.values() if self._can(one) and one != players[0]]
        leaders = {self._members(one.entity_id)[0]: one for one in others if self._plays(one)}
        if len(leaders) > 1:
            raise choose(self.run.house, leaders.values(), "Several play. Give all that are to play together")
        if not leaders:
            raise ValidationError("Nothing else plays. Give all players that are to play together")
        return next(iter(leaders))
