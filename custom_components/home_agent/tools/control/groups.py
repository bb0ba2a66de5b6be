"""Groups of players: who leads, who plays along, and what concerns all of a group."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...domains import DOMAINS
from ...domains.base import DomainFacts
from ...domains.features import supports
from ...domains.together import Grouping
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ..base import ToolRun
from ..resolving.resolver import Target, choose, listed, resolve, texts
from .arguments import STEP, STEP_ALIASES, TIME_SLOTS
from .mentions import mention

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
        """Return whether a value holds players."""
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
        """Return the entities that a target means."""
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
        """Return whether an entity can play in a group."""
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
        """Return those who play along with a leader already."""
        return [one for one in self._members(leader) if one != leader]

    def _leads(self, record: EntityRecord) -> str:
        """Return who leads the group of a player."""
        return self._members(record.entity_id)[0]

    def _plays(self, record: EntityRecord) -> bool:
        """Return whether a player plays."""
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
    """Yield a target room by room."""
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
    """Return whether a call names a target."""
    return not Target.from_args(args).is_empty


def _times(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return when a call is to be carried out."""
    return {slot: args[slot] for slot in TIME_SLOTS if slot in args}
