"""The states that matter for a sentence, found by words, or by words and by meaning.

Entities that the sentence names come first, then what is on in the speaker's area, then all entities that
the options choose. If the catalogue could not list every entity, the found ones carry their names and
abilities as well.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, override

from homeassistant.core import HomeAssistant, State

from ...const import (
    CONF_CONTEXT_FORMAT,
    CONF_CONTEXT_MODE,
    CONF_DIRECT_ATTRIBUTES,
    CONF_DIRECT_ENTITIES,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_THRESHOLD,
    CONF_VECTOR_TOP_K,
    CONF_VISIBLE,
    MODE_VECTOR,
)
from ...domains import DOMAINS
from ...domains.showing import number_of, with_unit
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...languages import languages_with
from ...safety.firewall.firewall import Removal
from ...safety.firewall.own_values import cleaned, without_outside
from ...texts import words
from ..kind_lines import (
    MAX_NAMES,
    KindLine,
    LineDraft,
    LineOptions,
    Member,
    StateWriter,
    introduction,
    is_active,
    kind_drafts,
    measure_draft,
    members_by_kind,
    offline_draft,
    state_words,
)
from ..named import (
    MEASURED,
    NamedEntity,
    NamesInSentence,
    Topic,
    async_names,
    by_kind,
    class_concepts,
    fits,
    home_languages,
    known_names,
    language_of,
    read_topic,
    topic_reader,
    vocabulary,
)
from ..retrieval import async_retrieve
from ..window import Slot, estimate_tokens
from .base import ContextProvider, ContextRequest, ProviderSetup

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


class Group(NamedTuple):
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


class Selection(NamedTuple):
    """The states and lines that are sent with a sentence."""

    records: Sequence[EntityRecord] = ()
    groups: Sequence[Group] = ()
    scores: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    """How well entities fit, by their id: by words, by meaning."""
    goes_on: bool = False
    """Whether it is what the turn before was about."""
    clear: Collection[str] | None = None
    """The ids of those that the sentence is surely about, so that their titles are shown; None for all."""
    clearly: Callable[[Sequence[str]], Sequence[str]] = tuple
    """Returns those of some ids that the next sentence may go on about."""
    query: str | None = None
    """What a vector store was asked."""


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
    names = await async_names(hass, house, topic, places_only=places_only)
    return _Selector(hass, house, sentence, topic, names, area_id, before).select()


PERSON: Final = "person"
PRESENCE: Final = ("binary_sensor.occupancy", "binary_sensor.presence", "binary_sensor.motion")
MAX_NAMED: Final = 2
"""Words that may name another entity like those of the turn before."""
MAX_BEFORE: Final = 4
"""Entities of the turn before that a sentence may go on about."""


class _Selector:
    """Finds what one sentence is about."""

    def __init__(
        self,
        hass: HomeAssistant,
        house: HouseSnapshot,
        sentence: str,
        topic: Topic,
        names: NamesInSentence,
        area_id: str | None,
        before: Sequence[str],
    ) -> None:
        self._hass, self._house, self._sentence = hass, house, sentence
        self._topic, self._names = topic, names
        self._area_id = area_id
        self._keys = topic_reader(topic.language).kinds
        self._implied: set[str] = set()
        """The kinds that are implied, not named."""
        places = names.places
        # The word for a place may tell how far open something is: "unten" of blinds.
        tells_position = topic.states.get("closed", frozenset()) | topic.states.get("open", frozenset())
        kinds = {key.partition(".")[0] for keys in topic.kinds.values() for key in keys}
        if names.place_words <= tells_position and any(DOMAINS[kind].active == "open" for kind in kinds):
            places.clear()
        self._place = next(iter(places.values())).name if len(places) == 1 else ""
        self._before = [record for key in before if (record := house.entities.get(key)) is not None]
        rooms = {one.area_id or "" for one in self._before}
        if topic.there and not places and len(rooms) == 1:
            places.update({key: house.areas[key] for key in rooms if key in house.areas})
        self._states = {name for name, at in topic.states.items() if not at or at - names.place_words}
        self._few = 1 if topic.asks_which else FEW_ASKED if topic.is_asked else ALONE
        """A question about any of them needs a line that says it is complete."""

    def select(self) -> Selection:
        """Return what the sentence is about."""
        topic = self._topic
        named = self._names.entities()
        records = [one.record for one in named]
        taken = {index for one in named for index in one.at}
        for index, keys in topic.kinds.items():
            beside = [one.record for one in named if any(abs(index - at) <= BESIDE for at in one.at)]
            if any(fits(record, key, self._keys) for record in beside for key in keys):
                taken.add(index)
        kinds = self._kinds(taken)
        if kinds & SILENT:
            return _arranged(records, [])
        if ordered := self._ordered_before(named):
            return _arranged([*ordered, *records], [])._replace(goes_on=True)
        # Others of the kinds of the turn before that the sentence names in part: "Tom's too".
        names, unknown = self._names, topic.rest - self._names.place_words
        rest = [index for index in unknown if len(topic.words[index].folded) > 1]
        if not (named or kinds or names.places) and 0 < len(rest) <= MAX_NAMED:
            said = [names.meant.get(index, frozenset()) for index in rest]
            others = self._others(self._before)
            alike = [one for one in others if all(map(names.words(one).intersection, said))]
            if alike:
                return _arranged(alike[:MAX_BEFORE], [])._replace(goes_on=True)
        if self._goes_on(named, kinds):
            return self._follow_up(kinds)._replace(goes_on=True)
        groups = self._groups(kinds, named)
        if topic.everything or (not groups and not named):
            groups = [*groups, *self._without_kind()]
        scores = {one.record.entity_id: {"words": round(one.score, 3)} for one in named}
        return _arranged(records, groups, few=self._few)._replace(scores=scores)

    # The kinds

    def _kinds(self, taken: Collection[int]) -> set[str]:
        """Return the kinds that are named beside the entities, and those that are implied."""
        topic, places = self._topic, self._names.place_words
        spoken: Mapping[int, frozenset[str]] = {**topic.kinds, **self._names.compounds}
        others = {key for index, keys in spoken.items() if index not in places for key in keys}
        if any(index not in places for index in taken) or any(map(self._has_there, others)):
            # A kind that only tells a room is none: the light in the garage.
            opening = self._opening(spoken, taken)
            spoken = {
                index: keys for index, keys in spoken.items() if index not in places or index in opening
            }
        named = {key for index, keys in spoken.items() if index not in taken for key in keys}
        # Curtains are covers too: the domain goes where a class of it is meant.
        specific = {key.partition(".")[0] for key in named if "." in key and any(self._all_of(key))}
        named -= specific
        if PERSON in named and self._names.places:  # sensors know whether anybody is in a room
            named = (named - {PERSON}) | (set(filter(self._has_there, PRESENCE)) or {PERSON})
        elif PERSON in named and topic.rest - set(taken):
            named.discard(PERSON)
        if topic.everything:
            return named
        self._implied = self._implied_kinds({*spoken, *taken}, named)
        return named | self._implied

    def _opening(self, spoken: Mapping[int, frozenset[str]], taken: Collection[int]) -> set[int]:
        """Return the words for a room that mean what opens there: "the hall light, and is the garage shut".

        They do where nothing else in their part opens: "open the window in the garage".
        """
        topic, places = self._topic, self._names.place_words
        at = topic.states.get("open", frozenset()) | topic.states.get("closed", frozenset())
        parts = {topic.parts[index] for index in at if index < len(topic.parts)}
        opens = {
            index
            for index, keys in spoken.items()
            if any(DOMAINS[key.partition(".")[0]].active == "open" for key in keys)
        }
        others = {topic.parts[index] for index in opens - places}
        return {index for index in opens & places if topic.parts[index] in parts - others} - {*taken}

    def _implied_kinds(self, told: AbstractSet[int], named: AbstractSet[str]) -> set[str]:
        """Return the kinds that words imply; a question about warmth is about temperatures.

        `told` are the words that name something, `named` the kinds. Beside them only a part of its own
        implies something: "turn on the light and tell me how warm it is there".
        """
        topic = self._topic
        clauses = {topic.clauses[index] for index in told if index < len(topic.clauses)}
        parts = {topic.parts[index] for index in told if index < len(topic.parts)}
        ordering = {topic.parts[index] for index in topic.commands}
        asked = (topic.is_asked or topic.asks_which) and not topic.commands
        keys = frozenset(named).union(*(topic.kinds.get(index, ()) for index in told))
        domains = {key.partition(".")[0] for key in keys}
        found: set[str] = set()
        for index in sorted({*topic.implied, *topic.measures} - self._names.place_words):
            part = topic.parts[index]
            asks = asked or part in topic.asking
            if topic.clauses[index] in clauses and (
                part in parts or not (part in topic.asking or part in ordering)
            ):
                continue
            implied = topic.implied.get(index, frozenset())
            if asks and (measured := set(filter(self._has_there, topic.measures.get(index, ())))):
                found |= measured
            elif asks and "climate" in implied:
                found.add(MEASURED)
            else:
                found |= {key for key in implied if key.partition(".")[0] not in domains}
        return found

    def _all_of(self, key: str) -> Iterator[EntityRecord]:
        """Yield the entities of a kind; thermostats measure temperatures too."""
        for (domain, _device_class), records in by_kind(self._house).items():
            if fits(records[0], key, self._keys) or (
                key == MEASURED and "temperature" in DOMAINS[domain].measures
            ):
                yield from records

    def _is_there(self, record: EntityRecord) -> bool:
        return record.area_id in self._names.places or record.floor_id in self._names.places

    def _has_there(self, key: str) -> bool:
        return any(not self._names.places or self._is_there(record) for record in self._all_of(key))

    # The turn before

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
            *self._names.place_words,
        }
        naming_parts = {topic.parts[index] for index in naming if index < len(topic.parts)}
        if {topic.parts[index] for index in topic.commands} & naming_parts:
            return ()
        controlled = [one for one in self._before if DOMAINS[one.domain].actions]
        return controlled[:MAX_BEFORE]

    def _goes_on(self, named: Sequence[NamedEntity], kinds: AbstractSet[str]) -> bool:
        if not self._before or named or self._names.compounds:
            return False
        topic, places = self._topic, self._names.places
        unknown = topic.rest - self._names.place_words - topic.numbers
        if len(unknown) > (0 if topic.is_asked or topic.asks_which or not topic.follows else 1):
            return False
        fitting = any(self._is_one_of(record, kinds) for record in self._before)
        if kinds & {key for keys in topic.kinds.values() for key in keys}:
            return fitting and (topic.follows or not (topic.commands or topic.is_asked))
        if kinds and not fitting:  # "it's too dark" is about the lights of the room, if it has any
            here = self._area_id is not None and any(
                record.area_id == self._area_id for key in kinds for record in self._all_of(key)
            )
            controlled = any(DOMAINS[record.domain].actions for record in self._before)
            return controlled and not places and (bool(topic.commands) or not here)
        return bool(topic.follows or topic.commands or places or self._states or topic.asks_which or kinds)

    def _is_one_of(self, record: EntityRecord, kinds: Iterable[str]) -> bool:
        """Return whether an entity is of one of some kinds; a domain means all its classes."""
        return any(key == record.domain or fits(record, key, self._keys) for key in kinds)

    def _follow_up(self, kinds: Collection[str]) -> Selection:
        """Return the entities of the turn before; in another room, what is like them there."""
        before = [record for record in self._before if self._is_one_of(record, kinds)] or self._before
        if self._names.places:  # of the same kinds there, else of the same domains
            asks = self._topic.is_asked or self._topic.asks_which
            known = {(one.domain, one.device_class) for one in before}
            domains = {one.domain for one in before if DOMAINS[one.domain].actions}
            listed = by_kind(self._house).items()
            candidates = [
                [record for kind, records in listed if kind in known for record in records],
                [record for kind, records in listed if kind[0] in domains for record in records],
            ]
            if asks and any(fits(one, MEASURED, self._keys) or one.domain == "climate" for one in before):
                candidates = [list(self._all_of(MEASURED))]
            there = next(filter(None, (list(filter(self._is_there, one)) for one in candidates)), [])
            there.sort(key=lambda record: record.entity_id)
            return _arranged((), [Group(there, self._place)] if there else [])
        if self._topic.others:
            rooms = {record.area_id for record in before}
            others = self._others(before)
            others = [record for record in others if record.area_id in rooms] or others
            return _arranged(before[:MAX_BEFORE], [Group(others)])
        return _arranged((), [Group(before)]) if len(before) > MAX_BEFORE else _arranged(before, [])

    def _others(self, before: Sequence[EntityRecord]) -> list[EntityRecord]:
        """Return the other entities of the same kinds."""
        kinds = sorted({(one.domain, one.device_class) for one in before}, key=str)
        ids = {one.entity_id for one in before}
        known = by_kind(self._house)
        return [record for kind in kinds for record in known.get(kind, ()) if record.entity_id not in ids]

    # What is shown of them

    def _groups(self, kinds: Collection[str], named: Sequence[NamedEntity]) -> list[Group]:
        shown = {one.record.entity_id for one in named}
        if self._states & {"locked", "secure"}:
            kinds = {*kinds, "lock"} if kinds else kinds
        groups, topic = [], self._topic
        for key in sorted(kinds):
            members = [
                record
                for record in self._all_of(key)
                if record.category is None or key in ("sensor.battery", "update")
            ]
            if key == MEASURED and not topic.compares and any(one.entity_id in shown for one in members):
                continue  # what is named tells its own
            members = self._where(members, measured=key == MEASURED)
            members = [record for record in members if record.entity_id not in shown]
            if DOMAINS[key.partition(".")[0]].active == "playing":
                # Players that play or are paused come first; "louder" is about no others.
                lively = {record.entity_id for record in members if self._is_lively(record)}
                implied = (one for other in self._implied for one in self._where(self._all_of(other)))
                if key in self._implied and any(map(self._is_lively, implied)):
                    members = [record for record in members if record.entity_id in lively]
                members.sort(key=lambda record: record.entity_id not in lively)
            if members:
                if topic.commands:
                    # What a command can do something with of the devices of readings: the lock of a door.
                    devices = {
                        one.device for one in members if one.device and not DOMAINS[one.domain].actions
                    }
                    known = {one.entity_id for one in members}
                    controls = [
                        record
                        for record in (self._house.entities.values() if devices else ())
                        if record.device in devices and record.category is None
                        if record.entity_id not in known and DOMAINS[record.domain].actions
                    ]
                    members = [*controls, *members]
                place = self._here(members)
                asks = topic.asks_which and not topic.commands and not topic.asks_all
                resting = asks and bool(self._states) and self._states <= {"off", "closed", "locked"}
                groups.append(Group(members, place, about=True, resting=resting, measured=key == MEASURED))
        return groups

    def _is_lively(self, record: EntityRecord) -> bool:
        state = self._hass.states.get(record.entity_id)
        return DOMAINS[record.domain].active == "playing" and state is not None and is_active(state)

    def _where(self, records: Iterable[EntityRecord], *, measured: bool = False) -> list[EntityRecord]:
        """Return the entities in the place that is meant: named, else the room of the speaker.

        Where none of them is there, all of them.
        """
        listed = list(records)
        places = self._names.places
        if places and not (measured and self._topic.compares):
            return [one for one in listed if one.area_id in places or one.floor_id in places] or listed
        if self._area_id and not self._topic.asks_which:
            return [one for one in listed if one.area_id == self._area_id] or listed
        return listed

    def _here(self, members: Sequence[EntityRecord]) -> str:
        house, places = self._house, self._names.places
        if len(places) == 1 and all({one.area_id, one.floor_id} & places.keys() for one in members):
            return self._place
        area = house.areas.get(self._area_id or "")
        return (
            area.name if area and not places and {one.area_id for one in members} == {self._area_id} else ""
        )

    def _without_kind(self) -> list[Group]:
        topic, places = self._topic, self._names.places
        unexplained = topic.rest - self._names.place_words
        # What is asked for without naming it: "I can't see" is about a light.
        words = vocabulary(topic.language)
        keys = {text.split()[0]: key for key, text in words.classes.items() if text}
        if wished := {keys[name] for name in words.wishes.find(self._sentence) if name in keys}:
            return self._groups(wished, ())
        if unexplained and not (places and topic.commands):
            return []
        if "offline" in self._states:
            return [Group(self._where(self._house.entities.values()), self._place, offline=True)]
        if not (self._states or places) or not (topic.asks_which or topic.is_asked or places):
            return []
        asks = topic.is_asked or topic.asks_which or not topic.commands
        wanted = (self._states if asks else set()) or {"on"}

        def can_be(record: EntityRecord) -> bool:
            facts, opens = DOMAINS[record.domain], state_words(record)[0] in OPENINGS
            if wanted & {"open", "closed", "locked", "secure"}:
                if "locked" in wanted and not wanted & {"secure", "open", "closed"}:
                    return state_words(record)[0] == "unlocked"
                return opens and (record.domain != "lock" or bool(wanted & {"secure", "locked"}))
            if "playing" in wanted and "on" not in wanted:
                return facts.active == "playing"
            return "low" not in wanted and facts.in_everything and not opens

        kinds = [records for records in by_kind(self._house).values() if can_be(records[0])]
        members = self._where(one for records in kinds for one in records if one.category is None)
        if not members:
            return []
        first = "playing" if "playing" in wanted else "on"
        members.sort(key=lambda record: (DOMAINS[record.domain].active != first, record.domain != "light"))
        return [Group(members, self._here(members), about="playing" in self._states, merged=True)]


def _arranged(records: Sequence[EntityRecord], groups: Iterable[Group], few: int = ALONE) -> Selection:
    alone, together = list(records), []
    for group in groups:
        if len(group.records) <= few and not group.offline:
            alone += group.records
        else:
            together.append(group)
    told = {one.entity_id: one for one in alone if one.domain not in UNTOLD}
    return Selection(tuple(told.values()), tuple(together))


TEMPERATURE: Final = MEASURED.partition(".")[2]
TEMPERATURES: Final = "temperatures"
NAME_LENGTH: Final = 12
"""Characters of a short name; not even those of more names could fit."""
FEWEST_NAMES: Final = 3

type Telling = Callable[[Group], Callable[[State], State]]
"""Returns, for a group, the function that takes out of a state the texts that its line may not show."""


def group_drafts(
    groups: Iterable[Group],
    states: Mapping[str, State],
    house: HouseSnapshot,
    *,
    rooms: bool,
    told: Telling,
) -> list[LineDraft]:
    """Return the lines about some groups before it is decided how many names they have.

    `rooms` is for a reader who does not know where the entities are.
    """
    drafts: list[LineDraft] = []
    for group in groups:
        members = [
            (record, states[record.entity_id]) for record in group.records if record.entity_id in states
        ]
        options = LineOptions(
            place=group.place,
            resting=group.resting,
            rooms=rooms,
            told=told(group),
        )
        if group.offline:
            drafts.append(offline_draft(members, house, options))
        elif group.measured:
            drafts += _temperatures(members, house, options)
        elif group.merged:
            drafts += _merged(members, house, options)
        else:
            drafts += kind_drafts(members, house, options)
    return drafts


def _temperatures(members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> list[LineDraft]:
    """Return the line about temperatures, if any is known.

    A thermostat counts where its device has no sensor.
    """
    devices = {record.device for record, _state in members if record.domain == "sensor" and record.device}
    found = []
    for record, state in members:
        if record.domain == "sensor":
            value = number_of(state.state)
        elif record.device in devices:
            continue
        else:
            value = _measured(record, state)
        if value:
            found.append(((record, state), float(value)))

    def shown(member: Member) -> str:
        """Return a temperature with its unit."""
        if member[0].domain == "sensor":
            return options.describe(member)
        return with_unit(_measured(*member), "°")

    return [measure_draft(TEMPERATURES, found, house, options, shown)] if found else []


def _measured(record: EntityRecord, state: State) -> str:
    """Return the temperature that a thermostat measures; empty if it measures none."""
    return number_of(state.attributes.get(DOMAINS[record.domain].measures[TEMPERATURE]))


def _merged(members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> list[LineDraft]:
    kinds = members_by_kind(members)
    quiet = {
        kind: found
        for kind, found in kinds.items()
        if not any(is_active(state) or state.state == "unavailable" for _record, state in found)
    }
    lively = [member for kind, found in kinds.items() if kind not in quiet for member in found]
    # Temperatures are not what the sentence asks about.
    measuring = [member for member in lively if DOMAINS[member[0].domain].measures]
    others = [member for member in lively if not DOMAINS[member[0].domain].measures]
    drafts = kind_drafts(others, house, options) + kind_drafts(
        measuring, house, options._replace(details=False)
    )
    if not quiet:
        return drafts
    rest: dict[str, list[str]] = {}
    for kind, found in quiet.items():
        _word, resting = state_words(found[0][0])
        rest.setdefault(resting, []).append(f"{len(found)} of {len(found)} {kind}")
    place = f" in {options.place}" if options.place else ""
    text = "; ".join(f"{word}{place}: {', '.join(counts)}" for word, counts in rest.items())
    return [*drafts, LineDraft(text, house, options, (), [one for found in quiet.values() for one in found])]


def within(drafts: Sequence[LineDraft], *, fits: int, most: int) -> list[KindLine]:
    """Return the lines with as many names, at most `most`, as fit into some characters."""
    names, details = min(most, max(FEWEST_NAMES, fits // NAME_LENGTH)), True
    while True:
        lines = [draft.line(names, details=details) for draft in drafts]
        if names <= 1 or sum(len(line.text) for line in lines) <= fits:
            return lines
        if not details:
            names = max(1, names * 2 // 3)
        details = False


WRITTEN_INLINE: Final = 500
"""Entities up to which lines are written on the event loop, a millisecond or two."""

NARROWED_HITS = 50
"""Searched by meaning where the agent sees only some of them."""
STATES_BESIDE_FULL_CATALOGUE = 8
CUT_BESIDE_FULL_CATALOGUE = 0.7
"""Where the model sees every entity anyway, only the states that the sentence is clearly about are shown."""
STATES_TOKENS, STATES_SHARE = 40, 0.1
"""Tokens for those states: some, and a share of the catalogue. What changes from turn to turn stays small
beside what a server keeps in its cache."""
KINDS_TOKENS = 60
"""Tokens in addition for lines about kinds: few sentences need them, and these need all of them."""
FOUND_IN_LARGE_HOUSE = 20
LARGE_KINDS_TOKENS = 300
"""Tokens for lines about kinds in such a house, in place of what is found."""
CHARS_PER_TOKEN = 4
CLEARLY = 0.9
"""Share of the best score from which on a sentence is clearly about an entity."""


class OutsideTexts:
    """States without their texts from outside, or with these cleaned."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass
        self._bare: dict[str, State] = {}
        self._cleaned: dict[str, State] = {}
        self.removed: list[Removal] = []
        """What was taken out of the texts that were cleaned."""

    @property
    def any_kept(self) -> bool:
        """Return whether a state was given with such a text."""
        return any(state is not self._bare[key] for key, state in self._cleaned.items())

    def bare(self, state: State) -> State:
        """Return a state without texts from outside."""
        if state.entity_id not in self._bare:
            self._bare[state.entity_id] = without_outside(self._hass, state)
        return self._bare[state.entity_id]

    def cleaned(self, state: State) -> State:
        """Return a state with its texts from outside cleaned."""
        if (bare := self.bare(state)) is state:
            return bare
        if state.entity_id not in self._cleaned:
            self._cleaned[state.entity_id], removed = cleaned(self._hass, state)
            self.removed.extend(removed)
        return self._cleaned[state.entity_id]


class EntitiesContextProvider(ContextProvider):
    """Looks the sentence up by words and, where the options say so, by meaning."""

    def __init__(self, setup: ProviderSetup) -> None:
        settings = setup.settings
        self._hass = setup.hass
        self._away = setup.data_policy.away
        self._writer = StateWriter(settings[CONF_CONTEXT_FORMAT], settings[CONF_DIRECT_ATTRIBUTES])
        self._semantic = setup.semantic if settings[CONF_CONTEXT_MODE] == MODE_VECTOR else None
        self.name = "direct" if self._semantic is None else "vector_db"
        self._chosen = bool(settings[CONF_DIRECT_ENTITIES]) and self._semantic is None
        """Whether entities that the options choose are shown whatever the sentence is about."""
        self._collection: str = settings[CONF_VECTOR_COLLECTION]
        self._top_k = int(settings[CONF_VECTOR_TOP_K])
        self._narrowed = bool(settings[CONF_VISIBLE])
        self._threshold = float(settings[CONF_VECTOR_THRESHOLD])

    @override
    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Build the index of words, and what the first sentence would have to read."""
        await async_retrieve(self._hass, house, "", 1)

        def read() -> None:
            """Build the tables; 0.2 s on a small computer."""
            for language in languages_with("topics.kinds"):
                topic_reader(language)
            for places_only in (False, True):
                known_names(house, home_languages(self._hass), places_only=places_only)
            by_kind(house)

        await self._hass.async_add_executor_job(read)

    @override
    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the states that matter, within the budget."""
        house, complete = request.house, request.catalogue.complete
        topic = read_topic(request.sentence, request.speaker.language)
        # Which, how many, any: a line about the kind is needed.
        counts = not topic.commands and (
            topic.asks_which or (topic.is_asked and bool(topic.states) and not topic.kinds)
        )
        selection = None
        if complete or request.before or counts:
            selection = await async_select(
                self._hass,
                house,
                request.sentence,
                language=request.speaker.language,
                area_id=request.speaker.area_id,
                before=request.before,
                places_only=not complete,
            )
        if selection is not None and complete:
            group_tokens = KINDS_TOKENS + self._tokens(request)
        else:
            group_tokens = LARGE_KINDS_TOKENS
            selection = await self._async_search(request, selection, counts=counts)
        records = {record.entity_id: record for record in selection.records}
        clear = records.keys() if selection.clear is None else selection.clear
        if self._chosen:
            records = records | {
                key: record
                for key, record in sorted(house.entities.items())
                if key not in records and request.reader.sees(key)
            }
        texts = OutsideTexts(self._hass)
        shown = self._shown(records.values(), request, clear, texts)
        reserved = group_tokens if selection.groups and not complete else 0
        lines = self._lines(shown, house, self._tokens(request) - reserved, introduced=not complete)
        shown = shown[: len(lines)]
        with_texts = texts.any_kept and any(
            self._writer.line(record, state, house, introduced=False)
            != self._writer.line(record, texts.bare(state), house, introduced=False)
            for record, state in shown
        )
        left = min(request.budget.retrieved, group_tokens) - sum(map(estimate_tokens, lines))
        counted, with_more_texts = await self._async_counted(selection.groups, request, left, texts)
        ids = [record.entity_id for record, _state in shown]
        named = [key for line in counted for key in line.entity_ids[: line.named]]
        outside: tuple[str, ...] | None = None
        if not self._away.states:
            outside = () if complete else tuple(introduction(records[key], house) for key in ids)
        return Slot(
            heading=self._writer.heading_for(request.sentence, request.speaker.language),
            lines=(*lines, *(line.text for line in counted)),
            entity_ids=tuple(dict.fromkeys((*ids, *named))),
            outside=outside,
            query=selection.query,
            texts=with_texts or with_more_texts,
            removed=tuple(texts.removed),
            about=tuple(dict.fromkeys((*selection.clearly(ids), *named))),
            scores=(*(selection.scores.get(key, {}) for key in ids), *({} for _line in counted)),
        )

    async def _async_search(
        self, request: ContextRequest, selection: Selection | None, *, counts: bool
    ) -> Selection:
        """Return what is found where the model has no list of all entities, or the language is not known."""
        complete, area_id = request.catalogue.complete, request.speaker.area_id
        by_meaning, query = await self._async_by_meaning(request)
        limit = STATES_BESIDE_FULL_CATALOGUE if complete else FOUND_IN_LARGE_HOUSE
        limit = max(limit, len(by_meaning))
        by_words: dict[str, float] = {}
        found = await async_retrieve(
            self._hass,
            request.house,
            request.sentence,
            limit,
            area_id=area_id,
            language=request.speaker.language,
            cut=CUT_BESIDE_FULL_CATALOGUE if complete else 0.0,
            semantic=list(by_meaning.items()),
            scores=by_words,
        )
        groups = selection.groups if selection is not None and counts else ()
        before = selection.records if selection is not None and selection.goes_on else ()
        if groups and not by_meaning:
            found = [record for record in found if self._is_named(record, request)]
            limit = len(found)
        records = {record.entity_id: record for record in (*before, *found)}
        for record in request.house.in_area(area_id) if area_id is not None else ():
            state = self._hass.states.get(record.entity_id)
            if len(records) < limit and DOMAINS[record.domain].is_lively and state and is_active(state):
                records.setdefault(record.entity_id, record)

        def clearly(ids: Sequence[str]) -> Sequence[str]:
            best = max((by_words.get(key, 0.0) for key in ids), default=0.0) * CLEARLY
            close = [key for key in ids if best and by_words.get(key, 0.0) >= best]
            return [*(record.entity_id for record in before), *close]

        ranked = {"words": by_words, "meaning": by_meaning}
        return Selection(
            records=list(records.values()),
            groups=groups,
            clear={record.entity_id for record in found[:1]},
            clearly=clearly,
            scores={
                key: {name: scores[key] for name, scores in ranked.items() if key in scores}
                for key in records
            },
            query=query,
        )

    async def _async_by_meaning(self, request: ContextRequest) -> tuple[dict[str, float], str | None]:
        """Return the entities closest in meaning, best first, and the query that a store answered, if any.

        Retrieval checks whether they are exposed.
        """
        if self._semantic is None:
            return {}, None
        hits = await self._semantic.async_search(
            self._collection,
            request.sentence,
            NARROWED_HITS if self._narrowed else self._top_k,
            self._threshold,
        )
        answered = self._semantic.available  # a search that fails finds that out
        # The index is of everything that is exposed; an agent with a list sees some of it.
        seen = [hit for hit in hits if hit.id in request.house.entities][: self._top_k]
        return {hit.id: hit.similarity for hit in seen}, request.sentence if answered else None

    async def _async_counted(
        self, groups: Sequence[Group], request: ContextRequest, tokens: int, texts: OutsideTexts
    ) -> tuple[Sequence[KindLine], bool]:
        """Return the lines about groups, if possible in so many tokens, and whether they show such texts.

        Many entities are read in a worker.
        """
        states = {
            record.entity_id: state
            for group in groups
            for record in group.records
            # The snapshot has exposed entities only.
            if (state := self._hass.states.get(record.entity_id)) and request.reader.permits(record.entity_id)
        }
        if not states:
            return (), False

        def lines(told: Telling) -> Sequence[KindLine]:
            # Without a list of the home the model does not know where the entities are.
            rooms = not request.catalogue.complete
            drafts = group_drafts(groups, states, request.house, rooms=rooms, told=told)
            return within(drafts, fits=max(tokens, 0) * CHARS_PER_TOKEN, most=MAX_NAMES)

        def write() -> tuple[Sequence[KindLine], bool]:
            found = lines(lambda group: texts.cleaned if group.about else texts.bare)
            return found, texts.any_kept and found != lines(lambda _group: texts.bare)

        return await self._hass.async_add_executor_job(write) if len(states) > WRITTEN_INLINE else write()

    @staticmethod
    def _is_named(record: EntityRecord, request: ContextRequest) -> bool:
        spoken = set(words(request.sentence))
        area = request.house.areas.get(record.area_id or "")
        room = words(area.name) if area else ()
        return any(
            spoken.issuperset(name) and (len(name) > 1 or (room and spoken.issuperset(room)))
            for name in map(words, record.names)
        )

    def _shown(
        self,
        records: Iterable[EntityRecord],
        request: ContextRequest,
        clear: Collection[str],
        texts: OutsideTexts,
    ) -> list[Member]:
        """Return entities with their states, with texts from outside only where the sentence is about them.

        A song's title beside "turn on the light" would mark the turn without need. Where a person has chosen
        which entities are always included, they are included in full.
        """
        spoken = frozenset(words(request.sentence))
        languages = dict.fromkeys((request.speaker.language, "en"))
        shown = []
        for record in records:
            state = self._hass.states.get(record.entity_id)
            if state is None or not request.reader.sees(record.entity_id):
                continue
            if texts.bare(state) is not state:
                concepts = class_concepts(record.domain, record.device_class, languages)
                about = (
                    self._chosen
                    or record.entity_id in clear
                    or any(spoken.issuperset(name) for name in map(words, record.names) if name)
                    or not spoken.isdisjoint(words(concepts))
                )
                state = texts.cleaned(state) if about else texts.bare(state)
            shown.append((record, state))
        return shown

    def _lines(
        self, shown: Sequence[Member], house: HouseSnapshot, left: int, *, introduced: bool
    ) -> list[str]:
        """Return one line for each entity until `left` tokens are used.

        If many are meant, the last ones get no introduction, so that more of them fit.
        """
        write = partial(self._writer.line, house=house)
        lines = [write(record, state, introduced=introduced) for record, state in shown]
        spent = sum(map(estimate_tokens, lines))
        for index in reversed(range(len(lines) if introduced else 0)):
            if spent <= left:
                break
            spent -= estimate_tokens(lines[index])
            lines[index] = write(*shown[index], introduced=False)
            spent += estimate_tokens(lines[index])
        while lines and spent > left:
            spent -= estimate_tokens(lines.pop())
        return lines

    def _tokens(self, request: ContextRequest) -> int:
        """Return how many tokens the states may take."""
        left = request.budget.retrieved
        if request.catalogue.complete and self._writer.brief and not self._chosen:
            left = min(left, STATES_TOKENS + int(STATES_SHARE * request.catalogue.tokens))
        return left
