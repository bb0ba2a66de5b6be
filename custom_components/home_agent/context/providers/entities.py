"""The states that matter for a sentence, found by words, or by words and by meaning.

Entities that the sentence names come first, then what is on in the speaker's area, then all entities that
the options choose. If the catalogue could not list every entity, the found ones carry their names and
abilities as well.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
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
from ...knowledge.semantic import TextSource
from ...knowledge.spoken_words import known_language
from ...languages import DEFAULT, languages_with
from ...safety.firewall.firewall import Removal
from ...safety.firewall.own_values import cleaned, without_outside
from ...safety.policy import Reader
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
    kind_of,
    measure_draft,
    offline_draft,
    state_words,
    without_groups,
)
from ..named import (
    MAX_BEFORE,
    MEASURED,
    Earlier,
    MeantKinds,
    NamedEntity,
    NamesInSentence,
    Topic,
    by_kind,
    class_concepts,
    fits,
    known_names,
    language_of,
    names_key,
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
    finder = NamesInSentence(house, topic, languages, places_only=places_only)
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
        finder: NamesInSentence,
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
        taken = {index for one in named for index in one.at}
        for index, keys in self._topic.kinds.items():
            beside = [one for one in named if any(abs(index - at) <= BESIDE for at in one.at)]
            if any(fits(one.record, key, self._meant.keys) for one in beside for key in keys):
                taken.add(index)
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
                if record.category is None or DOMAINS[record.domain].has_category or key == "sensor.battery"
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
        keys = {text.split()[0]: key for key, text in words.classes.items() if text}
        return {keys[name] for name in found if name in keys}


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
    told: Telling | None = None,
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
            told=None if told is None else told(group),
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
    kinds: dict[str, list[Member]] = {}
    for member in without_groups(members):
        kinds.setdefault(kind_of(member[0]), []).append(member)
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
        measuring, house, replace(options, details=False)
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


class WrittenLines(NamedTuple):
    """The lines about some groups."""

    lines: Sequence[KindLine] = ()
    texts: bool = False
    """Whether they show texts from outside."""
    removed: Sequence[Removal] = ()
    """What was taken out of these texts."""


async def async_write_lines(
    reader: Reader, groups: Sequence[Group], house: HouseSnapshot, *, rooms: bool, fits: int
) -> WrittenLines:
    """Return the lines about some groups as `reader` may know them, in `fits` characters if possible.

    `rooms` is for a reader who does not know where the entities are. Many entities are read in a worker.
    """
    hass = reader.hass
    states: dict[str, State] = {}
    for group in groups:
        for record in group.records:
            state = hass.states.get(record.entity_id)
            # The snapshot has exposed entities only.
            if state is not None and reader.permits(record.entity_id):
                states[record.entity_id] = state
    if not states:
        return WrittenLines()
    write = partial(_write, hass, groups, states, house, rooms=rooms, fits=fits)
    return await hass.async_add_executor_job(write) if len(states) > WRITTEN_INLINE else write()


def _write(
    hass: HomeAssistant,
    groups: Sequence[Group],
    states: Mapping[str, State],
    house: HouseSnapshot,
    *,
    rooms: bool,
    fits: int,
) -> WrittenLines:
    bare: dict[str, State] = {}
    shown: dict[str, State] = {}
    removed: list[Removal] = []

    def without(state: State) -> State:
        """Return a state without texts from outside."""
        if state.entity_id not in bare:
            bare[state.entity_id] = without_outside(hass, state)
        return bare[state.entity_id]

    def clean(state: State) -> State:
        """Return a state with its texts from outside cleaned."""
        if state.entity_id not in shown:
            shown[state.entity_id], found = cleaned(hass, state)
            removed.extend(found)
        return shown[state.entity_id]

    drafts = partial(group_drafts, groups, states, house, rooms=rooms)
    lines = within(drafts(told=lambda group: clean if group.about else without), fits=fits, most=MAX_NAMES)
    texts = False
    if any(state is not without(states[key]) for key, state in shown.items()):
        plain = within(drafts(told=lambda _group: without), fits=fits, most=MAX_NAMES)
        texts = [line.text for line in lines] != [line.text for line in plain]
    return WrittenLines(lines, texts, removed)


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


class Meant(NamedTuple):
    """Semantic results: entity ids with their similarity, best first, and the query."""

    hits: tuple[tuple[str, float], ...] = ()
    query: str | None = None
    """None if a vector store was not asked, or did not answer."""


class ToldState(NamedTuple):
    """An entity with its state as the model sees it."""

    record: EntityRecord
    state: State
    bare: State
    """Without texts from outside."""
    removed: Sequence[Removal] = ()
    """Text that was removed from these texts."""


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
        await async_prepare_selection(self._hass, house)

    @override
    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the states that matter, within the budget."""
        selection = None
        if request.catalogue.complete or request.before or self._counts(request):
            selection = await async_select(
                self._hass,
                request.house,
                request.sentence,
                language=request.speaker.language,
                area_id=request.speaker.area_id,
                before=request.before,
                places_only=not request.catalogue.complete,
            )
        if selection is not None and request.catalogue.complete:
            return await self._async_selected(selection, request)
        limit = STATES_BESIDE_FULL_CATALOGUE if request.catalogue.complete else FOUND_IN_LARGE_HOUSE
        meant = await self._async_meant(request)
        limit = max(limit, len(meant.hits))
        by_words: dict[str, float] = {}
        found = await async_retrieve(
            self._hass,
            request.house,
            request.sentence,
            limit,
            area_id=request.speaker.area_id,
            language=request.speaker.language,
            cut=CUT_BESIDE_FULL_CATALOGUE if request.catalogue.complete else 0.0,
            semantic=meant.hits,
            scores=by_words,
        )
        kinds = selection.groups if selection is not None and self._counts(request) else ()
        before = selection.records if selection is not None and selection.goes_on else ()
        if kinds and not meant.hits:
            found = [record for record in found if self._is_named(record, request)]
            limit = len(found)
        records = {record.entity_id: record for record in (*before, *found)}
        for record in self._lively(request):
            if len(records) >= limit:
                break
            records.setdefault(record.entity_id, record)
        if self._chosen:
            records |= {
                entity_id: record
                for entity_id, record in sorted(request.house.entities.items())
                if entity_id not in records and request.reader.sees(entity_id)
            }
        told = self._told(records.values(), request, [record.entity_id for record in found[:1]])
        counted, texts, removed = await self._async_counted(kinds, request, LARGE_KINDS_TOKENS)
        lines = self._lines(told, request, sum(estimate_tokens(line.text) for line in counted))
        told = told[: len(lines)]
        entity_ids = [one.record.entity_id for one in told]
        by_meaning = dict(meant.hits)
        outside = None
        if not self._away.states:
            shown = () if request.catalogue.complete else entity_ids
            outside = tuple(introduction(records[entity_id], request.house) for entity_id in shown)
        return Slot(
            heading=self._writer.heading_for(request.sentence, request.speaker.language),
            lines=(*lines, *(line.text for line in counted)),
            entity_ids=tuple(entity_ids),
            outside=outside,
            query=meant.query,
            texts=texts or any(self._shows_text(one, request.house) for one in told),
            removed=(*removed, *(found for one in told for found in one.removed)),
            about=self._clearly(entity_ids, by_words, before, counted),
            scores=tuple(_scores(entity_id, by_words, by_meaning) for entity_id in entity_ids),
        )

    async def _async_selected(self, selection: Selection, request: ContextRequest) -> Slot:
        records = {record.entity_id: record for record in selection.records}
        about = frozenset(records)
        if self._chosen:
            for entity_id, record in sorted(request.house.entities.items()):
                if request.reader.sees(entity_id):
                    records.setdefault(entity_id, record)
        told = self._told(records.values(), request, about)
        lines = self._lines(told, request)
        told = told[: len(lines)]
        left = min(request.budget.retrieved, KINDS_TOKENS + self._tokens(request))
        left -= sum(map(estimate_tokens, lines))
        counted, texts, removed = await self._async_counted(selection.groups, request, left)
        lines += [line.text for line in counted]
        ids = [one.record.entity_id for one in told]
        ids += [entity_id for line in counted for entity_id in line.entity_ids[: line.named]]
        return Slot(
            heading=self._writer.heading_for(request.sentence, request.speaker.language),
            lines=tuple(lines),
            entity_ids=tuple(dict.fromkeys(ids)),
            about=tuple(dict.fromkeys(ids)),
            scores=tuple(
                {"words": round(selection.scores[one.record.entity_id], 3)}
                if one.record.entity_id in selection.scores
                else {}
                for one in told
            )
            + ({},) * len(counted),
            outside=None if self._away.states else (),
            texts=texts or any(self._shows_text(one, request.house) for one in told),
            removed=(*removed, *(found for one in told for found in one.removed)),
        )

    async def _async_counted(
        self, groups: Sequence[Group], request: ContextRequest, tokens: int
    ) -> WrittenLines:
        return await async_write_lines(
            request.reader,
            groups,
            request.house,
            rooms=not request.catalogue.complete,
            fits=max(tokens, 0) * CHARS_PER_TOKEN,
        )

    @staticmethod
    def _counts(request: ContextRequest) -> bool:
        """Return whether a sentence asks which or how many, so that a line about the kind is needed."""
        topic = read_topic(request.sentence, request.speaker.language)
        if topic.commands:
            return False
        return topic.asks_which or (topic.is_asked and bool(topic.states) and not topic.kinds)

    @staticmethod
    def _clearly(
        found: Sequence[str],
        scores: Mapping[str, float],
        before: Iterable[EntityRecord],
        counted: Iterable[KindLine],
    ) -> tuple[str, ...]:
        best = max((scores.get(key, 0.0) for key in found), default=0.0) * CLEARLY
        ids = [record.entity_id for record in before]
        ids += [key for line in counted for key in line.entity_ids[: line.named]]
        ids += [key for key in found if best and scores.get(key, 0.0) >= best]
        return tuple(dict.fromkeys(ids))

    @staticmethod
    def _is_named(record: EntityRecord, request: ContextRequest) -> bool:
        spoken = set(words(request.sentence))
        area = request.house.areas.get(record.area_id or "")
        room = words(area.name) if area else ()
        return any(
            spoken.issuperset(name) and (len(name) > 1 or (room and spoken.issuperset(room)))
            for name in map(words, record.names)
        )

    async def _async_meant(self, request: ContextRequest) -> Meant:
        """Return the entities closest to a sentence in meaning; retrieval checks whether they are exposed."""
        if self._semantic is None:
            return Meant()
        hits = await self._semantic.async_search(
            self._collection,
            request.sentence,
            NARROWED_HITS if self._narrowed else self._top_k,
            self._threshold,
            where={"source": TextSource.ENTITY.value},
        )
        answered = self._semantic.available  # a search that fails finds that out
        # The index is of everything that is exposed; an agent with a list sees some of it.
        seen = [hit for hit in hits if hit.id in request.house.entities]
        return Meant(
            tuple((hit.id, hit.similarity) for hit in seen[: self._top_k]),
            query=request.sentence if answered else None,
        )

    def _lively(self, request: ContextRequest) -> Iterable[EntityRecord]:
        if request.speaker.area_id is None:
            return
        for record in request.house.in_area(request.speaker.area_id):
            state = self._hass.states.get(record.entity_id)
            if DOMAINS[record.domain].is_lively and state is not None and is_active(state):
                yield record

    def _told(
        self, records: Iterable[EntityRecord], request: ContextRequest, best: Collection[str]
    ) -> list[ToldState]:
        """Return the states of entities, with texts from outside only where the sentence is about them.

        `best` are the ids of those. A song's title beside "turn on the light" would mark the turn without
        need. Where a person has chosen which entities are always included, they are included in full.
        """
        spoken = frozenset(words(request.sentence))
        languages = dict.fromkeys((request.speaker.language, "en"))
        told = []
        for record in records:
            state = self._hass.states.get(record.entity_id)
            if state is None or not request.reader.sees(record.entity_id):
                continue
            bare = without_outside(self._hass, state)
            removed: Sequence[Removal] = ()
            if bare is not state:
                about = self._chosen or record.entity_id in best or _is_about(record, spoken, languages)
                state, removed = cleaned(self._hass, state) if about else (bare, removed)
            told.append(ToldState(record, state, bare, removed))
        return told

    def _lines(self, told: Sequence[ToldState], request: ContextRequest, taken: int = 0) -> list[str]:
        """Return one line for each entity until the budget is used.

        If many are meant, the last ones get no introduction, so that more of them fit.
        """
        introduced = not request.catalogue.complete
        left = self._tokens(request) - taken
        shown = [(one.record, one.state) for one in told]
        write = partial(self._writer.line, house=request.house)
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

    def _shows_text(self, one: ToldState, house: HouseSnapshot) -> bool:
        if one.state is one.bare:
            return False
        lines = {
            self._writer.line(one.record, state, house, introduced=False) for state in (one.state, one.bare)
        }
        return len(lines) > 1


def _is_about(record: EntityRecord, spoken: frozenset[str], languages: Iterable[str]) -> bool:
    if any(spoken.issuperset(words(name)) for name in record.names if words(name)):
        return True
    return not spoken.isdisjoint(words(class_concepts(record.domain, record.device_class, languages)))


def _scores(
    entity_id: str, by_words: Mapping[str, float], by_meaning: Mapping[str, float]
) -> Mapping[str, float]:
    """Return how well an entity fits; None for one that is shown without a search."""
    found = (("words", by_words.get(entity_id)), ("meaning", by_meaning.get(entity_id)))
    return {name: score for name, score in found if score is not None}
