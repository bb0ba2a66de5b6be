"""Who hears a message: the devices of a room, of a person or of the whole home, and the phones of persons."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final, Protocol

from homeassistant.const import STATE_HOME, STATE_NOT_HOME, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, callback

from ...errors import ValidationError
from ...knowledge.names import squash, without_article
from ...knowledge.owned_rooms import PERSONAL, rooms_of_owner
from ...knowledge.spoken_words import kinds_of_room, stop_words
from ...languages.phrases import all_words
from ...texts import first_name, fold
from ..base import ServiceCall, ToolRun
from ..messages import Messages, Speaking, rooms_of
from ..resolving.resolver import NamedPlace, find_place, listed, plain
from .choosing import user_of

PERSON: Final = "person"
MAX_ERROR: Final = 300
EVERYBODY: Final = ("quantities.people", "quantities.all", "quantities.whole_home", "quantities.home")
"""Tables of words for all people and for the whole home."""
NOWHERE: Final = frozenset({STATE_UNKNOWN, STATE_UNAVAILABLE})


class Receiver(Protocol):
    """A target of messages to a person."""

    @property
    def service(self) -> str:
        """Return the service of `notify`."""
        ...

    @property
    def entity_id(self) -> str | None:
        """Return the entity that the service is called on, if it has one."""
        ...


class Receivers(Protocol):
    """Who can be reached on phones and in chats."""

    def __bool__(self) -> bool:
        """Return whether anyone can be reached."""
        ...

    def names(self) -> Mapping[str, str]:
        """Return the entity id of each person by name."""
        ...

    def person_of(self, user_id: str | None) -> str | None:
        """Return the person of a user."""
        ...

    def owned_devices(self, person: str | None) -> frozenset[str]:
        """Return the ids of the devices that belong to a person, or to anybody."""
        ...

    def calls_to_phones(self, person: str, message: str) -> list[ServiceCall]:
        """Return the calls that send a message to the phones of a person."""
        ...

    def calls_to_chats(self, person: str, message: str) -> list[ServiceCall]:
        """Return the calls that write a message to the chats of a person."""
        ...

    def phones(self, user_id: str | None) -> list[Any]:
        """Return the phones of a user."""
        ...

    def is_phone(self, route: Any, device_id: str | None) -> bool:
        """Return whether a device is that phone."""
        ...


@dataclass(slots=True)
class Audience:
    """Where a message goes."""

    devices: dict[str, Speaking] = field(default_factory=dict)
    """By entity id."""
    phones: dict[str, str] = field(default_factory=dict)
    """The persons who get it on the phone, by name."""
    instead: dict[str, str] = field(default_factory=dict)
    """The persons who have a phone and hear the message, by name."""
    near: dict[str, set[str]] = field(default_factory=dict)
    """The devices that announce it only because a person is near, by name."""
    unreached: list[str] = field(default_factory=list)
    """Why somebody is not reached."""
    concealed: set[str] = field(default_factory=set)
    """Persons of whom the speaker may not learn where they are."""
    unnamed: set[str] = field(default_factory=set)
    """Persons of whom the speaker has not said the name and may not learn it."""

    def add(self, devices: Iterable[Speaking]) -> None:
        """Let devices announce the message."""
        found = {one.entity_id: one for one in devices}
        self.devices |= found
        for near in self.near.values():
            near.difference_update(found)

    def add_near(self, name: str, devices: Iterable[Speaking]) -> None:
        """Let devices near a person announce the message."""
        found = {one.entity_id: one for one in devices}
        self.near[name] = found.keys() - self.devices.keys()
        self.devices |= found


class Finder:
    """Finds the audience of one call."""

    def __init__(
        self,
        people: Receivers,
        messages: Messages,
        run: ToolRun,
        *,
        is_member: bool = True,
        later: datetime | None = None,
    ) -> None:
        """Look at who and what is there now.

        A speaker who is no member of the household learns neither names nor where people are. For a message
        that is told `later`, all ways to reach a person count, wherever they are now.
        """
        self._people, self._messages, self._run = people, messages, run
        self._knows = is_member and not run.guard.policy.view.narrows
        self._later = later
        self._all = messages.devices()
        is_spoken_to = later is None and run.speaker.planned is None
        here = run.speaker.device_id if is_spoken_to else None
        self._here = frozenset(one.entity_id for one in self._all if here and one.device_id == here)
        self._persons = _persons(run.hass, people)
        self._reachable = frozenset(people.names().values())

    def find(self, said: str, *, to_phone: bool) -> Audience:
        """Return who is meant. Raises ValidationError for somebody who is not clear or not known."""
        found = Audience()
        for part in [one.strip() for one in said.split(",") if one.strip()] or [said]:
            self._add(found, part, to_phone=to_phone)
        return found

    def _add(self, found: Audience, said: str, *, to_phone: bool) -> None:
        """Add those whom one name means: the speaker, a person, a room, a device, or all."""
        name = squash(said.removeprefix(f"{PERSON}."))
        if named := self._named(name):
            for one, person in named.items():
                known = self._knows or self._run.reader.sees(person)
                called = one if known else said
                if not known:
                    found.concealed.add(called)
                self._add_person(found, called, person, to_phone=to_phone)
            return
        if name in self_words():
            self._add_self(found, said)
            return
        place = _sure_place(self._run, said)
        if place is None and _means_everybody(said):
            self._add_everybody(found, to_phone=to_phone)
            return
        devices = [one for one in self._all if one.entity_id == said or (name and name in squash(one.name))]
        if len(devices) == 1:
            found.add(self._elsewhere(devices, plain(devices[0].name)))
            return
        if place := place or find_place(self._run.house, said, "area"):
            found.add(self._in_place(place))
            return
        raise self._unclear(said)

    def _named(self, name: str) -> dict[str, str]:
        found = {
            one: person
            for one, person in self._persons.items()
            if name in (squash(one), squash(person.partition(".")[2]), squash(first_name(one)))
        }
        return found if len(found) == 1 else {}

    def _add_self(self, found: Audience, said: str) -> None:
        """Add the speaker, who hears the answer anyway: on the phone."""
        own = self._people.person_of(user_of(self._run))
        name = next((one for one, person in self._persons.items() if person == own), self._run.speaker.person)
        if name is None or (person := self._persons.get(name)) not in self._reachable:
            raise self._unclear(said)
        assert person is not None
        found.phones[name] = person

    def _add_person(self, found: Audience, name: str, person: str, *, to_phone: bool) -> None:
        """Add a person: at home by voice, else on the phone; where that is not known, both ways.

        In quiet hours the phone goes before the voice.
        """
        state = self._run.hass.states.get(person)
        where = state.state if state and self._later is None else STATE_UNKNOWN
        devices = [] if to_phone or where not in {STATE_HOME, *NOWHERE} else self._near(person)
        has_phone = person in self._reachable
        if devices and not (has_phone and self._messages.are_quiet_hours(self._later)):
            found.add_near(name, devices)
            if where == STATE_HOME or not has_phone:
                found.instead |= {name: person} if has_phone else {}
                return
        if has_phone:
            found.phones[name] = person
        elif name in found.concealed and not devices:
            found.unreached.append(f"{plain(name)} is not reached")
        elif where == STATE_NOT_HOME or not self._all:
            found.unreached.append(f"{plain(name)} is not reached: no phone is set up for {plain(name)}")
        else:
            found.unreached.append(f"{plain(name)} is not reached: no device is near and no phone is set up")

    def _add_everybody(self, found: Audience, *, to_phone: bool) -> None:
        """Add every room, and the phones of those who are not known to be at home."""
        devices = [] if to_phone else self._one_way_per_room(self._all)
        found.add(one for one in devices if one.entity_id not in self._here)
        for name, person in self._persons.items():
            state = self._run.hass.states.get(person)
            is_near = bool(devices) and state is not None and state.state == STATE_HOME
            if person in self._reachable and (self._later is not None or not is_near):
                found.phones[name] = person
                if not self._knows and not self._run.reader.sees(person):
                    found.unnamed.add(name)
        if devices and not found.devices and not found.phones:
            raise ValidationError(
                "person: only the device that the person speaks to could announce it; say so"
            )

    def _near(self, person: str) -> list[Speaking]:
        """Return the devices near a person at home: the own ones, else those of shared rooms."""
        name = next(one for one, known in self._persons.items() if known == person)
        rooms = rooms_of_owner(self._run.house, name)
        own_devices = self._people.owned_devices(person)
        own = [one for one in self._all if one.area_id in rooms or one.device_id in own_devices]
        others = self._people.owned_devices(None) - own_devices
        taken = frozenset(
            area
            for other in self._persons
            if other != name
            for area in rooms_of_owner(self._run.house, other)
        )
        shared = [
            one
            for one in self._all
            if one.device_id not in others
            and one.area_id not in taken
            and not (PERSONAL & self._kinds(one.area_id))
        ]
        online = [one for one in own if self._messages.is_online(one)]
        chosen = self._one_way_per_room(online or shared)
        return [one for one in chosen if one.entity_id not in self._here]

    def _kinds(self, area_id: str | None) -> frozenset[str]:
        area = self._run.house.areas.get(area_id) if area_id else None
        return frozenset().union(*(kinds_of_room(name) for name in area.names)) if area else frozenset()

    def _in_place(self, place: NamedPlace) -> list[Speaking]:
        """Return the devices of a room or a floor. Raises ValidationError if there is none."""
        there = [one for one in self._all if one.area_id in place.area_ids or one.floor_id in place.floor_ids]
        if not there:
            rooms = listed(rooms_of(self._all, self._run.hass), MAX_ERROR) or "none"
            raise ValidationError(
                f"person: no device in {plain(place.name)} can announce anything. Rooms with one: {rooms}"
            )
        return self._elsewhere(self._one_way_per_room(there), plain(place.name))

    def _elsewhere(self, devices: Sequence[Speaking], name: str) -> list[Speaking]:
        """Return devices without the one that is spoken to, which an announcement would interrupt."""
        found = [one for one in devices if one.entity_id not in self._here]
        if not found:
            raise ValidationError(
                f"person: the person speaks in {name}; say it in your answer, without a call"
            )
        return found

    def _one_way_per_room(self, devices: Iterable[Speaking]) -> list[Speaking]:
        """Return the satellites of each room, else the speakers; offline ones if there is nothing else."""
        rooms: dict[str, list[Speaking]] = {}
        for one in devices:
            rooms.setdefault(one.area_id or one.entity_id, []).append(one)
        found: list[Speaking] = []
        for there in rooms.values():
            online = [one for one in there if self._messages.is_online(one)] or there
            found += [one for one in online if one.is_satellite] or online
        return found

    def _unclear(self, said: str) -> ValidationError:
        if not self._all and not self._reachable:
            return ValidationError("person: nobody can be reached, no phone is set up for anybody")
        names = [
            plain(name)
            for name, person in self._persons.items()
            if (self._all or person in self._reachable) and (self._knows or self._run.reader.sees(person))
        ]
        known = listed([*names, *rooms_of(self._all, self._run.hass)] or ["everybody"], MAX_ERROR)
        return ValidationError(
            f"person: {said[:40]!r} is not clear. Those who can be reached: {known}"[:MAX_ERROR]
        )


@callback
def _persons(hass: HomeAssistant, people: Receivers) -> dict[str, str]:
    return {**{state.name: state.entity_id for state in hass.states.async_all(PERSON)}, **people.names()}


def _sure_place(run: ToolRun, said: str) -> NamedPlace | None:
    """Return the place of a name, unless it is only near to it."""
    place = find_place(run.house, said, "area")
    return place if place is not None and not place.repaired else None


def _means_everybody(said: str) -> bool:
    told = fold(without_article(said)).split()
    known = [word for word in told if word in _everybody_words()]
    return bool(known) and all(word in known or word in stop_words() or len(word) == 1 for word in told)


@cache
def _everybody_words() -> frozenset[str]:
    entries = (entry for name in EVERYBODY for entry in all_words(name))
    return frozenset(word for entry in entries for word in fold(entry).split())


@cache
def self_words() -> frozenset[str]:
    """Return the words by which people, and models, mean the speaker."""
    return frozenset((*(squash(entry) for entry in all_words("memory.self")), "speaker"))


def names_of(devices: Iterable[Speaking], hass: HomeAssistant) -> Iterator[str]:
    """Yield where devices are heard: the room, or the name of a device that is in none."""
    for one in devices:
        rooms = rooms_of([one], hass)
        yield plain(rooms[0] if rooms else one.name)
