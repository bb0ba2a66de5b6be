"""Rooms of machines that clean, and players that play together: what a call means by places and groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.helpers import entity_registry as er

from ...domains import DOMAINS
from ...domains.base import DomainFacts
from ...domains.features import supports
from ...domains.together import Grouping, WorkInRooms
from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
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
    places_in_sentence,
    read_kinds,
    resolve,
    texts,
    unknown_place,
)
from .arguments import STEP, STEP_ALIASES, TIME_SLOTS
from .mentions import mention

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
        asked = self._areas([text for text in named if not _is_in_name(text, records)], [])
        wanted = self._wanted(records, asked)
        if not wanted:
            return None
        if not (able := [record for record in records if self._rooms_of(record)]):
            self._check_unable(records, wanted)
            return None
        chosen = self._chosen(able, wanted, is_named=bool(target.entity_id or target.name))
        value = str(self.facts.actions[self.work.action].value)
        times = {slot: args[slot] for slot in ("when", "for", "repeat") if slot in args}
        return {
            "action": self.work.action,
            "entity_id": [record.entity_id for record in chosen],
            "parameters": {**given, value: wanted},
            **times,
        }

    def _split(self, args: Mapping[str, Any]) -> tuple[Target, dict[str, Any], list[str]]:
        """Return the target without rooms, the values without rooms, and what is named as a room."""
        target = Target.from_args(args)
        named = [text for text in (target.area, target.floor) if text]
        given = {}
        for key, value in (args.get("parameters") or {}).items():
            if self._is_rooms(str(key)):
                named += texts(value)
            else:
                given[key] = value
        name = target.name
        if name and self.verb == self.work.action and self._is_place_only(name):
            named, name = [*named, name], None
        return Target(entity_id=target.entity_id, name=name, domain=target.domain), given, named

    def _is_rooms(self, word: str) -> bool:
        value = self.facts.actions[self.work.action].value
        if self.verb == self.work.action and word == "value":
            return True
        return self.facts.parameter_of(word.strip().casefold().replace(" ", "_")) == value

    def _is_place_only(self, name: str) -> bool:
        names = name_index(self.run.house)
        ids = names.exact.get(squash(name), ())
        return find_place(self.run.house, name, "area") is not None and not any(
            self.run.house.entities[entity_id].domain == self.facts.name for entity_id in ids
        )

    def _machines(self, target: Target) -> list[EntityRecord]:
        """Return the machines that a call may mean; none if it is about something else."""
        house, run = self.run.house, self.run
        pool = house.of_domain(self.facts.name)
        if self.verb != self.work.action and self._are_others(target.entity_id):
            return []
        words = fold(target.name or "").split()
        is_kind = bool(words) and all(domain_words().get(word) == self.facts.name for word in words)
        if target.entity_id or (target.name and not is_kind):
            try:
                found = resolve(
                    house,
                    Target(entity_id=target.entity_id, name=target.name),
                    speaker=run.speaker,
                    sentence="",
                    allowed_domains={self.facts.name},
                    exists=lambda entity_id: run.hass.states.get(entity_id) is not None,
                )
            except ValidationError:
                if self.verb == self.work.action:
                    raise
                return []
            return found if all(record.domain == self.facts.name for record in found) else []
        kinds = read_kinds(house, name_index(house), target).domains
        return [*pool] if is_kind or self.facts.name in kinds or self.verb == self.work.action else []

    def _are_others(self, entity_ids: Sequence[str]) -> bool:
        entities = self.run.house.entities
        return bool(entity_ids) and all(
            one in entities and entities[one].domain != self.facts.name for one in entity_ids
        )

    def _rooms_of(self, record: EntityRecord) -> frozenset[str]:
        state = self.run.hass.states.get(record.entity_id)
        entry = er.async_get(self.run.hass).async_get(record.entity_id)
        if entry is None or not supports(state, self.facts.actions[self.work.action].features):
            return frozenset()
        return frozenset(self.work.areas(entry.options.get(self.facts.name, {})))

    def _areas(self, named: Iterable[str], found: list[str]) -> list[str]:
        """Return the areas and floors that some texts name. Raises ValidationError for unknown ones."""
        house = self.run.house
        for text in named:
            for part in (text, *text.translate(_SEPARATORS).split(",")):
                place = find_place(house, part, "area")
                if place is not None and not (place.repaired and part is text and "," in text):
                    found += sorted(place.area_ids | place.floor_ids)
                    if part is text:
                        break
                elif part is text:
                    continue
                elif several := places_in_sentence(house, part, self.run.speaker.language):
                    found += sorted(one for each in several for one in each.area_ids | each.floor_ids)
                elif not means_home(part):
                    raise unknown_place(house, part.strip(), "area")
        return list(dict.fromkeys(found))

    def _wanted(self, records: Sequence[EntityRecord], asked: list[str]) -> list[str]:
        """Return the areas to work in; none for all of them. Raises ValidationError."""
        mapped = frozenset[str]().union(*map(self._rooms_of, records))
        wanted = self._expanded(asked, mapped)
        if self.verb == self.work.action:
            if not wanted:
                raise ValidationError(f"area: name the rooms. {self._known(mapped)}")
            return wanted
        # "the vacuum in the living room" may be where its dock is
        own = {record.area_id for record in records} | {record.floor_id for record in records}
        return [] if own.intersection(asked) else wanted

    def _expanded(self, places: Iterable[str], mapped: frozenset[str]) -> list[str]:
        house = self.run.house
        found: list[str] = []
        for place in places:
            if place in house.areas:
                found.append(place)
            else:
                there = [one.area_id for one in house.areas.values() if one.floor_id == place]
                found += [area for area in there if area in mapped] or there
        return list(dict.fromkeys(found))

    def _check_unable(self, records: Sequence[EntityRecord], wanted: Sequence[str]) -> None:
        """Raise ValidationError unless the place only tells which of several machines is meant."""
        if len(self.run.house.of_domain(self.facts.name)) > 1 and any(
            record.area_id in wanted for record in records
        ):
            return
        record = records[0]
        state = self.run.hass.states.get(record.entity_id)
        if supports(state, self.facts.actions[self.work.action].features):
            problem = "has no rooms assigned to its map; that is done in its settings in Home Assistant"
        else:
            problem = "cannot be sent to single rooms"
        hints = self._hints(wanted)
        advice = f" Perhaps: {hints}." if hints else ""
        raise ValidationError(
            f"{record.name} {problem}. Nothing was started.{advice} Ask whether it should work everywhere"
        )

    def _hints(self, wanted: Iterable[str]) -> str:
        """Return what the household may use to clean these rooms."""
        house = self.run.house
        rooms = [house.areas[area].names for area in wanted if area in house.areas]
        keys = [frozenset(content_words(name)) for names in rooms for name in names]
        found = [
            record
            for record in house.entities.values()
            if record.domain in HELPERS
            and any(key and key <= frozenset(content_words(record.name)) for key in keys)
        ]
        return ", ".join(describe(house, record) for record in found[:MAX_HINTS])

    def _chosen(
        self, able: Sequence[EntityRecord], wanted: Sequence[str], *, is_named: bool
    ) -> list[EntityRecord]:
        """Return the machines that reach all rooms. Raises ValidationError."""
        reach = {record.entity_id: self._rooms_of(record) for record in able}
        mapped = frozenset[str]().union(*reach.values())
        if missing := [area for area in wanted if area not in mapped]:
            what = able[0].name if len(able) == 1 else "No machine here"
            not_to = "cannot be sent to" if len(able) == 1 else "can be sent to"
            problem = f"{what} {not_to} {self._names(missing)}. Nothing was started. {self._known(mapped)}"
            hints = self._hints(missing)
            raise ValidationError(f"{problem}. Perhaps: {hints}" if hints else problem)
        useful = [record for record in able if reach[record.entity_id].intersection(wanted)]
        if is_named:
            return useful
        for record in useful:
            rivals = [other for other in useful if reach[other.entity_id].issuperset(wanted)]
            if len(rivals) > 1:
                raise choose(self.run.house, rivals, "Several can be sent there. Give the entity_id")
            if reach[record.entity_id].issuperset(wanted):
                return [record]
        return useful

    def _known(self, mapped: Iterable[str]) -> str:
        return f"Rooms: {self._names(sorted(mapped))}"

    def _names(self, areas: Iterable[str]) -> str:
        return room_names(self.run.house, areas)


def room_names(house: HouseSnapshot, areas: Iterable[str]) -> str:
    """Return the names of areas, as many as fit in an error."""
    return listed([house.areas[area].name for area in areas if area in house.areas], MAX_ROOMS)


def _is_in_name(text: str, records: Iterable[EntityRecord]) -> bool:
    said = frozenset(content_words(text))
    return bool(said) and any(said <= frozenset(content_words(record.name)) for record in records)


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
        given = dict(args.get("parameters") or {})
        named = [text for key in [*given] if self._is_members(key) for text in texts(given.pop(key))]
        players = self._players(Target.from_args(args)) if _has_target(args) or not named else []
        added = [one for text in named for one in self._players(Target(name=text)) if one not in players]
        if not players:
            players, added = added, []
        leader = self._leader(players, added)
        members = self._group_of(leader)
        new = [one.entity_id for one in (*players, *added) if one.entity_id not in (leader, *members)]
        group = [leader, *members, *new]
        concerned = dict.fromkeys((leader, *(one.entity_id for one in (*players, *added))))
        return {
            "action": self.groups.join,
            "entity_id": [*concerned],
            "parameters": {**given, self.groups.members: group},
            **_times(args),
        }

    def left(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the call that takes players out of their groups."""
        players = self._players(Target.from_args(args))
        grouped = [one.entity_id for one in players if len(self._members(one.entity_id)) > 1]
        if not grouped:
            raise ValidationError(f"{', '.join(one.name for one in players)[:100]} plays in no group")
        return {"action": self.groups.leave, "entity_id": grouped, **_times(args)}

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
        if len(members) < 2 or is_near or self._names_one():  # noqa: PLR2004 - a group has two
            return args
        return {key: args[key] for key in ("action", "parameters", *TIME_SLOTS) if key in args} | {
            "entity_id": members
        }

    def _names_one(self) -> bool:
        """Return whether the sentence names a place or an entity, or is not known."""
        run = self.run
        said = mention(run.hass, run.house, run.sentence, run.sentence, run.speaker.language)
        return not run.sentence or bool(said.entity_ids or said.places)

    def _is_members(self, word: str) -> bool:
        return word == "value" or self.facts.parameter_of(word.strip().casefold()) == self.groups.members

    def _players(self, target: Target) -> list[EntityRecord]:
        """Return the players that are meant and can play in a group. Raises ValidationError."""
        found: dict[str, EntityRecord] = {}
        is_named = bool(target.entity_id or target.name)
        for each in _one_by_one(target):
            there = self._there(each)
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

    def _group_of(self, leader: str) -> list[str]:
        return [one for one in self._members(leader) if one != leader]

    def _leads(self, record: EntityRecord) -> str:
        return self._members(record.entity_id)[0]

    def _plays(self, record: EntityRecord) -> bool:
        state = self.run.hass.states.get(record.entity_id)
        return state is not None and state.state in PLAYING

    def _leader(self, players: list[EntityRecord], added: list[EntityRecord]) -> str:
        """Return who leads: who plays already, so that the music goes on. Raises ValidationError."""
        together = [*players, *added]
        if len(together) > 1:
            return self._leads(next(filter(self._plays, together), together[0]))
        others = [one for one in self.run.house.entities.values() if self._can(one) and one != together[0]]
        leaders = {self._leads(one): one for one in others if self._plays(one)}
        if len(leaders) > 1:
            raise choose(self.run.house, leaders.values(), "Several play. Give all that are to play together")
        if not leaders:
            raise ValidationError("Nothing else plays. Give all players that are to play together")
        return next(iter(leaders))


def _one_by_one(target: Target) -> Iterable[Target]:
    if not target.area or "," not in target.area:
        yield target
        return
    for area in target.area.split(","):
        yield Target(
            entity_id=target.entity_id,
            name=target.name,
            area=area.strip(),
            domain=target.domain,
            device_class=target.device_class,
        )


def _has_target(args: Mapping[str, Any]) -> bool:
    return not Target.from_args(args).is_empty


def _times(args: Mapping[str, Any]) -> dict[str, Any]:
    return {slot: args[slot] for slot in TIME_SLOTS if slot in args}
