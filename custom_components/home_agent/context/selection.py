"""Selects the states that are sent with a sentence: those that it asks about, and nothing else."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from homeassistant.core import HomeAssistant

from ..domains import DOMAINS
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..knowledge.spoken_words import known_language
from ..languages import DEFAULT, languages_with
from .concepts import vocabulary
from .earlier import MAX_BEFORE, Earlier
from .kind_lines import is_active, state_words
from .meant_kinds import MeantKinds, by_kind
from .named import MEASURED, Finder, NamedEntity, fits, known_names, names_key
from .topics import Topic, language_of, read_topic, topic_reader

OPENINGS: Final = frozenset({"open", "unlocked"})
SILENT: Final = frozenset({"automation", "calendar", "scene", "timer", "todo"})
"""Kinds whose states answer nothing: other tools know about them."""
UNTOLD: Final = frozenset({"calendar", "todo"})
"""Domains whose states answer nothing by themselves."""
BESIDE: Final = 2
ALONE: Final = 4
"""Entities up to which each gets a line of its own."""
FEW_ASKED: Final = 2
"""The same in the answer to a question."""
READ_INLINE: Final = 50
"""Entities up to which names are read on the event loop."""


@dataclass(frozen=True, slots=True)
class Group:
    """Entities that get one line for each kind."""

    records: Sequence[EntityRecord]
    place: str = ""
    about: bool = False
    """Whether the sentence is about this kind, so that titles are shown."""
    resting: bool = False
    merged: bool = False
    """Whether kinds of which none is on are told in one line."""
    offline: bool = False
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The states and lines that are sent with a sentence."""

    records: Sequence[EntityRecord] = ()
    groups: Sequence[Group] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    """How well the sentence names entities, by their id."""
    goes_on: bool = False
    """Whether it is what the turn before was about."""


async def async_select(
    hass: HomeAssistant,
    house: HouseSnapshot,
    sentence: str,
    *,
    language: str,
    area_id: str | None,
    before: Sequence[str] = (),
    places_only: bool = False,
) -> Selection | None:
    """Return the entities and the kinds that a sentence is about; None in a language that is not known here.

    `area_id` is where the speaker is. `before` are the entities that the turn before was about. With
    `places_only` no entities are looked for by their names.
    """
    if language_of(sentence, language) is None:
        return None
    topic = read_topic(sentence, language)
    own = known_language(hass.config.language).partition("-")[0]
    languages = tuple(dict.fromkeys((own, DEFAULT, topic.language)))
    key = names_key(languages, places_only=places_only)
    if len(house.entities) > READ_INLINE and not places_only and not house.has_derived(key):
        await hass.async_add_executor_job(known_names, house, languages)
    finder = Finder(house, topic, languages, places_only=places_only)
    return _Selector(hass, house, sentence, topic, finder, area_id, before).select()


async def async_prepare_selection(hass: HomeAssistant, house: HouseSnapshot) -> None:
    """Read the words of the languages and the names of a home before the first sentence needs them."""
    own = known_language(hass.config.language).partition("-")[0]
    languages = tuple(dict.fromkeys((own, DEFAULT)))
    await hass.async_add_executor_job(_prepare, house, languages)


def _prepare(house: HouseSnapshot, languages: tuple[str, ...]) -> None:
    """Build the tables; 0.2 s on a small computer."""
    for language in languages_with("topics.kinds"):
        topic_reader(language)
    for places_only in (False, True):
        known_names(house, languages, places_only=places_only)
    by_kind(house)


class _Selector:
    """Finds what one sentence is about."""

    def __init__(
        self,
        hass: HomeAssistant,
        house: HouseSnapshot,
        sentence: str,
        topic: Topic,
        finder: Finder,
        area_id: str | None,
        before: Sequence[str],
    ) -> None:
        self._hass, self._house, self._sentence = hass, house, sentence
        self._topic, self._finder = topic, finder
        self._area_id = area_id
        self._meant = MeantKinds(house, topic, finder)
        places = self._finder.places
        if places and self._tells_position():
            places.clear()
        self._place = next(iter(places.values())).name if len(places) == 1 else ""
        self._before = [
            record for entity_id in before if (record := house.entities.get(entity_id)) is not None
        ]
        self._earlier = Earlier(house, topic, finder, self._meant, self._before)
        if topic.there and not places:
            finder.places.update(self._earlier.room())
        spoken = self._finder.place_words
        self._states = {name for name, at in self._topic.states.items() if not at or at - spoken}
        self._few = 1 if topic.asks_which else FEW_ASKED if topic.is_asked else ALONE
        """A question about any of them needs a line that says it is complete."""

    def select(self) -> Selection:
        """Return what the sentence is about."""
        named = self._finder.entities()
        taken = self._taken(named)
        kinds = self._meant.kinds(taken)
        if kinds & SILENT:
            return _arranged(_records(named), [])
        if ordered := self._ordered_before(named):
            return replace(_arranged([*ordered, *_records(named)], []), goes_on=True)
        if not named and not kinds and (alike := self._earlier.alike()):
            return replace(_arranged(alike, []), goes_on=True)
        if self._goes_on(named, kinds):
            return replace(self._follow_up(kinds), goes_on=True)
        groups = self._groups(kinds, named)
        if self._topic.everything or (not groups and not named):
            groups = [*groups, *self._without_kind()]
        scores = {one.record.entity_id: one.score for one in named}
        return replace(_arranged(_records(named), groups, few=self._few), scores=scores)

    def _ordered_before(self, named: Sequence[NamedEntity]) -> Sequence[EntityRecord]:
        """Return the entities of the turn before that a command means which names nothing itself.

        What is named is in another part of the sentence: "then open it, I am taking the car".
        """
        topic = self._topic
        if not named or not topic.commands:
            return ()
        naming = {
            *(at for one in named for at in one.at),
            *topic.kinds,
            *topic.rest,
            *self._finder.place_words,
        }
        naming_parts = {topic.parts[index] for index in naming if index < len(topic.parts)}
        if {topic.parts[index] for index in topic.commands} & naming_parts:
            return ()
        controlled = [one for one in self._before if DOMAINS[one.domain].actions]
        return controlled[:MAX_BEFORE]

    def _tells_position(self) -> bool:
        """Return whether the word for a place tells how far open something is: "unten" of blinds."""
        at = self._topic.states.get("closed", frozenset()) | self._topic.states.get("open", frozenset())
        opening = (key for keys in self._topic.kinds.values() for key in keys)
        return self._finder.place_words <= at and any(
            DOMAINS[key.partition(".")[0]].active == "open" for key in opening
        )

    def _taken(self, named: Sequence[NamedEntity]) -> set[int]:
        taken = {index for one in named for index in one.at}
        for index, keys in self._topic.kinds.items():
            beside = [one for one in named if any(abs(index - at) <= BESIDE for at in one.at)]
            if any(fits(one.record, key, self._meant.keys) for one in beside for key in keys):
                taken.add(index)
        return taken

    def _goes_on(self, named: Sequence[NamedEntity], kinds: AbstractSet[str]) -> bool:
        if not self._before or named or self._finder.compounds:
            return False
        topic = self._topic
        unknown = topic.rest - self._finder.place_words - topic.numbers
        if len(unknown) > (0 if topic.is_asked or topic.asks_which or not topic.follows else 1):
            return False
        fitting = any(self._earlier.fits_before(one, kinds) for one in self._before)
        if kinds & {key for keys in topic.kinds.values() for key in keys}:
            return fitting and (topic.follows or not (topic.commands or topic.is_asked))
        if kinds and not fitting:
            controlled = any(DOMAINS[one.domain].actions for one in self._before)
            return (
                controlled and not self._finder.places and (bool(topic.commands) or not self._has_here(kinds))
            )
        return bool(
            topic.follows
            or topic.commands
            or self._finder.places
            or self._states
            or topic.asks_which
            or kinds
        )

    def _has_here(self, kinds: Collection[str]) -> bool:
        """Return whether there is anything of these kinds in the room of the speaker: "it's too dark"."""
        return self._area_id is not None and any(
            record.area_id == self._area_id for key in kinds for record in self._meant.all_of(key)
        )

    def _follow_up(self, kinds: Collection[str]) -> Selection:
        """Return the entities of the turn before; in another room, those of the same kinds there."""
        before = [one for one in self._before if self._earlier.fits_before(one, kinds)] or self._before
        if self._topic.others and not self._finder.places:
            return _arranged(before[:MAX_BEFORE], [Group(self._earlier.others(before))])
        if not self._finder.places:
            if len(before) > MAX_BEFORE:
                return _arranged((), [Group(before)])
            return _arranged(before, [])
        there = self._earlier.same_kinds(before)
        return _arranged((), [Group(there, self._place)] if there else [])

    def _groups(self, kinds: Collection[str], named: Sequence[NamedEntity]) -> list[Group]:
        shown = {one.record.entity_id for one in named}
        if self._states & {"locked", "secure"}:
            kinds = {*kinds, "lock"} if kinds else kinds
        groups, topic = [], self._topic
        for key in sorted(kinds):
            members = [
                record
                for record in self._meant.all_of(key)
                if record.category is None or DOMAINS[record.domain].has_category or self._asks_only_low(key)
            ]
            if key == MEASURED and not topic.compares and any(one.entity_id in shown for one in members):
                continue  # what is named tells its own
            members = self._where(members, measured=key == MEASURED)
            members = [record for record in members if record.entity_id not in shown]
            if members := self._lively_first(key, members):
                members = [*self._controls(members), *members] if topic.commands else members
                place = self._here(members)
                asks = topic.asks_which and not topic.commands and not topic.asks_all
                resting = asks and bool(self._states) and self._states <= {"off", "closed", "locked"}
                groups.append(Group(members, place, about=True, resting=resting, measured=key == MEASURED))
        return groups

    def _controls(self, members: Sequence[EntityRecord]) -> Iterable[EntityRecord]:
        """Return what a command can do something with of the devices of readings: the lock of a door."""
        devices = {one.device for one in members if one.device and not DOMAINS[one.domain].actions}
        known = {one.entity_id for one in members}
        for record in self._house.entities.values() if devices else ():
            fits_in = record.device in devices and record.category is None and record.entity_id not in known
            if fits_in and DOMAINS[record.domain].actions:
                yield record

    def _lively_first(self, key: str, members: list[EntityRecord]) -> list[EntityRecord]:
        """Return players with those first that play or are paused; "louder" is about no others."""
        if DOMAINS[key.partition(".")[0]].active != "playing":
            return members
        lively = {record.entity_id for record in members if self._is_lively(record)}
        if key in self._meant.implied and any(
            self._is_lively(record)
            for other in self._meant.implied
            for record in self._where(self._meant.all_of(other))
        ):
            return [record for record in members if record.entity_id in lively]
        return sorted(members, key=lambda record: record.entity_id not in lively)

    def _is_lively(self, record: EntityRecord) -> bool:
        state = self._hass.states.get(record.entity_id)
        return DOMAINS[record.domain].active == "playing" and state is not None and is_active(state)

    def _asks_only_low(self, key: str) -> bool:
        """Return whether diagnostic entities are meant: batteries nearly always are."""
        return key == "sensor.battery"

    def _where(self, records: Iterable[EntityRecord], *, measured: bool = False) -> list[EntityRecord]:
        """Return the entities in the place that is meant: named, else the room of the speaker.

        Where none of them is there, all of them.
        """
        listed = list(records)
        places = self._finder.places
        if places and not (measured and self._topic.compares):
            return [one for one in listed if one.area_id in places or one.floor_id in places] or listed
        if self._area_id and not self._topic.asks_which:
            return [one for one in listed if one.area_id == self._area_id] or listed
        return listed

    def _here(self, members: Sequence[EntityRecord]) -> str:
        house, places = self._house, self._finder.places
        if len(places) == 1 and all({one.area_id, one.floor_id} & places.keys() for one in members):
            return self._place
        area = house.areas.get(self._area_id or "")
        return (
            area.name if area and not places and {one.area_id for one in members} == {self._area_id} else ""
        )

    def _without_kind(self) -> list[Group]:
        topic, places = self._topic, self._finder.places
        unexplained = topic.rest - self._finder.place_words
        if wished := self._wished():
            return self._groups(wished, ())
        if unexplained and not (places and topic.commands):
            return []
        if "offline" in self._states:
            return [Group(self._where(self._house.entities.values()), self._place, offline=True)]
        if not (self._states or places) or not (topic.asks_which or topic.is_asked or places):
            return []
        members = self._where(self._of_states())
        if not members:
            return []
        place = self._here(members)
        return [Group(members, place, about="playing" in self._states, merged=True)]

    def _of_states(self) -> list[EntityRecord]:
        topic = self._topic
        asks = topic.is_asked or topic.asks_which or not topic.commands
        wanted = (self._states if asks else set()) or {"on"}
        found = [
            record
            for records in by_kind(self._house).values()
            if self._can_be(records[0], wanted)
            for record in records
            if record.category is None
        ]
        first = "playing" if "playing" in wanted else "on"
        found.sort(key=lambda record: (DOMAINS[record.domain].active != first, record.domain != "light"))
        return found

    @staticmethod
    def _can_be(record: EntityRecord, wanted: AbstractSet[str]) -> bool:
        facts = DOMAINS[record.domain]
        word, _rest = state_words(record)
        if wanted & {"open", "closed", "locked", "secure"}:
            opens = word in OPENINGS
            if "locked" in wanted and not wanted & {"secure", "open", "closed"}:
                return word == "unlocked"
            return opens and (record.domain != "lock" or bool(wanted & {"secure", "locked"}))
        if "playing" in wanted and "on" not in wanted:
            return facts.active == "playing"
        if "low" in wanted:
            return False
        return facts.in_everything and word not in OPENINGS

    def _wished(self) -> set[str]:
        """Return the kinds that a sentence asks for without naming them: "I can't see" is about a light."""
        words = vocabulary(self._topic.language)
        found = words.wishes.find(self._sentence)
        keys = {name: key for key, name in _first_words(words.classes).items()}
        return {keys[name] for name in found if name in keys}


def _first_words(classes: Mapping[str, str]) -> dict[str, str]:
    """Return the first word of each class."""
    return {key: text.split()[0] for key, text in classes.items() if text}


def _records(named: Iterable[NamedEntity]) -> list[EntityRecord]:
    """Return the entities without the words that name them."""
    return [one.record for one in named]


def _arranged(records: Sequence[EntityRecord], groups: Iterable[Group], few: int = ALONE) -> Selection:
    alone, together = list(records), []
    for group in groups:
        if len(group.records) <= few and not group.offline:
            alone += group.records
        else:
            together.append(group)
    told = {one.entity_id: one for one in alone if one.domain not in UNTOLD}
    return Selection(tuple(told.values()), tuple(together))
