"""What a sentence is about: the things, places and kinds that it names, and the states it asks for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from homeassistant.core import HomeAssistant

from ..domains import DOMAINS
from ..domains.base import ANY_CLASS
from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from ..knowledge.names import (
    Phrases,
    longest,
    owned_rooms,
    place_id,
    self_words,
    sole_owners,
    squash,
    word_similarity,
)
from ..knowledge.spoken_words import excepting_words, kinds_of_room, known_language
from ..languages import DEFAULT, find, languages_with, table, words as table_words, words_to_99
from ..languages.lexicon import Lexicon, Word, clauses
from ..texts import fold, is_unspaced, words

type EntityKind = tuple[str, str | None]
"""Domain and device class."""


class Synonyms:
    """Kinds of rooms or things, each with the names people give it."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self.names = names
        self._phrases = Phrases((words(text), kind) for kind, texts in names.items() for text in texts)

    def find(self, text: str) -> dict[str, int]:
        """Return the kinds whose name a text contains, with the number of words of that name."""
        found: dict[str, int] = {}
        for mention in self._phrases.find([(word,) for word in words(text)]):
            found[mention.value] = max(len(set(mention.phrase)), found.get(mention.value, 0))
        return found


NO_SYNONYMS: Final = Synonyms({})


class EverydayWords(NamedTuple):
    """Everyday words of one language."""

    classes: Mapping[str, str] = MappingProxyType({})
    """Words for a domain or, as `domain.device_class`, for a class of it."""
    wishes: Synonyms = NO_SYNONYMS
    """Phrases that request a class without naming it, by the first word for that class."""
    places: Synonyms = NO_SYNONYMS
    things: Synonyms = NO_SYNONYMS


@cache
def vocabulary(language: str) -> EverydayWords:
    """Return the words of a language, or an empty result if there are none."""
    data = table(find(language) or "", "concepts")
    if data is None:
        return EverydayWords()
    classes = data["classes"]
    wishes = {classes[key].split()[0]: texts for key, texts in data["wishes"].items()}
    return EverydayWords(classes, Synonyms(wishes), Synonyms(data["places"]), Synonyms(data["things"]))


def class_concepts(domain: str, device_class: str | None, languages: Iterable[str]) -> str:
    """Return everyday words for a class of entities, or for its domain where the class has none."""
    found = []
    for language in languages:
        classes = vocabulary(language).classes
        found.append(classes.get(f"{domain}.{device_class}") or classes.get(domain, ""))
    return " ".join(filter(None, found))


def wished(query: str, languages: Iterable[str]) -> list[str]:
    """Return the names of things that a sentence implies: "I can't see" is about a light."""
    return [name for language in languages for name in sorted(vocabulary(language).wishes.find(query))]


def place_synonyms(name: str, languages: Iterable[str]) -> list[str]:
    """Return other names for the kind of room or floor that a name says it is."""
    places = [vocabulary(language).places for language in languages]
    kinds = _kinds_of(places, name)[:1]
    return [other for synonyms in places for kind in kinds for other in synonyms.names.get(kind, ())]


def thing_synonyms(name: str, languages: Iterable[str]) -> list[str]:
    """Return other names for the things that a name mentions."""
    things = [vocabulary(language).things for language in languages]
    kinds = _kinds_of(things, name)
    return [other for synonyms in things for kind in kinds for other in synonyms.names.get(kind, ())]


def _kinds_of(listed: Sequence[Synonyms], name: str) -> list[str]:
    """Return the kinds that a name mentions, the longest mention first."""
    lengths: dict[str, int] = {}
    for synonyms in listed:
        for kind, length in synonyms.find(name).items():
            lengths[kind] = max(length, lengths.get(kind, 0))
    return sorted(lengths, key=lambda kind: (-lengths[kind], kind))


STATES: Final = ("on", "off", "open", "closed", "locked", "secure", "playing", "offline", "low")
"""The states that a sentence can ask about; tables of their own."""
WEAK_TABLES: Final = (
    "topics.weak",
    "names.articles",
    "questions.requests",
    "questions.asking",
    "questions.whether",
    "questions.lead",
    "questions.joins",
    "questions.copulas",
    "questions.openers",
    "questions.past",
    "questions.greetings",
    "answers.yes",
    "answers.no",
    "answers.fillers",
)
"""Tables of words that name nothing."""
WEAK: Final = ("weak", "which", "follow", "there", "compares", "commands", "everything", "all")
IMPLYING: Final = (
    "light",
    "cover",
    "climate",
    "media_player",
    "media_player.tv",
    "fan",
    "vacuum",
    "lawn_mower",
)
"""Kinds of which some words say what is to be done with them: brighter, louder, warmer."""
NOTHING: Final = "none"
"""The key of phrases that name no kind although a word in them does."""
MAX_KNOWN: Final = 16384
EVIDENCE: Final = 1.5
"""How many more words a sentence must have of another language than of the speaker's."""


class Topic(NamedTuple):
    """What the words of a sentence ask about."""

    language: str
    words: tuple[Word, ...] = ()
    kinds: Mapping[int, frozenset[str]] = MappingProxyType({})
    """Per word: the kinds it names, such as `light` or `binary_sensor.window`."""
    clauses: tuple[int, ...] = ()
    """Per word: the number of its clause."""
    implied: Mapping[int, frozenset[str]] = MappingProxyType({})
    """Per word: the kinds it implies without naming them."""
    measures: Mapping[int, frozenset[str]] = MappingProxyType({})
    """Per word: what a question with it measures: how humid, how loud."""
    parts: tuple[int, ...] = ()
    """Per word: the number of its part of a clause, up to a comma or an "and"."""
    asking: frozenset[int] = frozenset()
    """The parts that ask something, such as "tell me how warm it is there"."""
    states: Mapping[str, frozenset[int]] = MappingProxyType({})
    """The states asked about, and the words that say so."""
    weak: frozenset[int] = frozenset()
    """The words that name no device by themselves."""
    commands: frozenset[int] = frozenset()
    asks_which: bool = False
    """Whether the sentence asks which, how many or any."""
    is_asked: bool = False
    """Whether a question mark ends it."""
    follows: bool = False
    """Whether a word points back at what was said before."""
    others: bool = False
    """Whether it points at another one of the same kind."""
    there: bool = False
    """Whether it points back at a place."""
    compares: bool = False
    """Whether places are compared, so that none of them alone is meant."""
    everything: bool = False
    """Whether things of any kind are meant."""
    asks_all: bool = False
    """Whether all of a kind are meant, not which of them."""
    numbers: frozenset[int] = frozenset()
    elsewhere: bool = False
    """Whether it is about something that is in no home: jokes, prices, meanings."""
    excepted: frozenset[int] = frozenset()
    """The words behind one that excepts something: "all but the study"."""
    nothing: frozenset[int] = frozenset()
    """The words of phrases that only look like a kind or a room: "window cleaner", "a quarter of an hour"."""
    text: str = ""
    """The sentence without spaces, if its language has none between words."""

    @property
    def rest(self) -> frozenset[int]:
        """Return the words that may name a device."""
        told = {
            *self.weak,
            *self.kinds,
            *self.implied,
            *self.measures,
            *(at for found in self.states.values() for at in found),
        }
        return frozenset(range(len(self.words))) - told


class TopicReader:
    """Reads sentences of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        nouns: dict[str, list[str]] = {
            key: list(entries) for key, entries in (table(language, "topics.kinds") or {}).items()
        }
        for domain, entries in (table(language, "names.domains") or {}).items():
            nouns.setdefault(domain, []).extend(entries)
        tables = {
            name: table_words(language, f"topics.{name}")
            for name in ("which", "follow", "other", "there", "compares", *STATES)
        }
        everything = table_words(language, "quantities.everything")
        weak = [entry for name in WEAK_TABLES for entry in table_words(language, name)]
        commands = table_words(language, "questions.commands")
        self.unspaced = is_unspaced("".join(tables["which"]))
        self.kinds = frozenset(nouns)
        self._nouns = Lexicon({**nouns, NOTHING: table_words(language, "topics.none")})
        in_words = [*table(language, "numbers.digits"), words_to_99(language)]
        self._numbers = frozenset(fold(number) for row in in_words for number in row)
        self._words = Lexicon(
            {
                **tables,
                "weak": weak,
                "openers": [
                    *table_words(language, "questions.openers"),
                    *table_words(language, "questions.past"),
                ],
                "commands": commands,
                "joins": table_words(language, "questions.joins"),
                "asking": [
                    *table_words(language, "questions.asking"),
                    *table_words(language, "questions.whether"),
                ],
                "everything": everything,
                "elsewhere": table_words(language, "topics.elsewhere"),
                "excepting": table_words(language, "quantities.excepting"),
                "all": table_words(language, "quantities.all"),
            }
        )
        self._known: dict[str, frozenset[str]] = {}
        """The kinds that single words name, as they were found before."""
        self._weak: dict[str, bool] = {}
        # What people control, by its everyday words and by what is done with it.
        classes = table(language, "concepts.classes") or {}
        verbs = table(language, "topics.implies") or {}
        self._implied = Lexicon(
            {key: [*str(classes.get(key, "")).split(), *verbs.get(key, ())] for key in IMPLYING}
        )
        self._measures = Lexicon(table(language, "topics.measures") or {})
        self._inside = {**{f"kind {key}": entries for key, entries in nouns.items()}, **tables}

    def read(self, sentence: str) -> Topic:
        """Return what a sentence asks about."""
        found = clauses(sentence)
        said = tuple(word for clause in found for word in clause.words)
        numbers = tuple(number for number, clause in enumerate(found) for _word in clause.words)
        is_asked = any(clause.is_asked for clause in found)
        if self.unspaced:
            text = "".join(clause.joined for clause in found)
            inside = {
                name for name, entries in self._inside.items() if any(entry in text for entry in entries)
            }
            keys = frozenset(name.removeprefix("kind ") for name in inside if name.startswith("kind "))
            return Topic(
                language=self.language,
                words=said,
                kinds={0: keys} if keys else {},
                states={name: frozenset() for name in STATES if name in inside},
                weak=frozenset(range(len(said))),
                asks_which="which" in inside,
                is_asked=is_asked or bool({"which"} & inside),
                follows="follow" in inside,
                text=text,
            )
        tables = {name: _covered(matches) for name, matches in self._words.all_matches(said).items()}
        nouns = _by_word(self._nouns, said)
        nothing = frozenset(index for index, keys in nouns.items() if NOTHING in keys)
        parts = _parts(said, numbers, tables["joins"])
        away = {parts[index] for index in tables["elsewhere"]}
        nouns = {
            index: keys for index, keys in nouns.items() if index not in nothing and parts[index] not in away
        }
        # Where the verb of a command stands: first, or behind weak words only.
        verbs = {
            index
            for index in tables["commands"]
            if said[index].starts or all(before in tables["weak"] for before in range(index))
        }
        nouns = {index: keys for index, keys in nouns.items() if index not in verbs}
        unsaid = {*nouns, *nothing, *(index for index, part in enumerate(parts) if part in away)}
        implied = {
            index: keys for index, keys in _by_word(self._implied, said).items() if index not in unsaid
        }
        weak = frozenset().union(*(tables[name] for name in WEAK))
        first = next((at for at in range(len(said)) if at not in tables["weak"] - tables["openers"]), -1)
        opening = tables["openers"] | {index + 1 for index in tables["openers"]}
        return Topic(
            language=self.language,
            words=said,
            clauses=numbers,
            kinds=nouns,
            implied=implied,
            measures={
                index: keys for index, keys in _by_word(self._measures, said).items() if index not in unsaid
            },
            parts=parts,
            asking=_asking(parts, tables),
            states={name: at for name in STATES if (at := tables[name] - nouns.keys())},
            weak=weak - nouns.keys(),
            commands=tables["commands"] - nouns.keys(),
            asks_which=bool(tables["which"]),
            is_asked=is_asked or first in tables["openers"],
            follows=bool(tables["follow"]),
            others=bool(tables["other"]),
            there=bool(tables["there"] - opening),  # not of "is there", "are there"
            compares=bool(tables["compares"]),
            everything=bool(tables["everything"]),
            asks_all=bool(tables["all"]),
            numbers=frozenset(
                index
                for index, word in enumerate(said)
                if word.folded.isdigit() or word.folded in self._numbers
            ),
            elsewhere=bool(tables["elsewhere"]),
            excepted=frozenset(
                index
                for start in tables["excepting"]
                for index in range(start + 1, len(parts))
                if parts[index] == parts[start]
            ),
            nothing=nothing,
        )

    def kinds_of(self, folded: str) -> frozenset[str]:
        """Return the kinds that one word names."""
        if (known := self._known.get(folded)) is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            found = _by_word(self._nouns, (Word(folded, folded),))
            known = self._known[folded] = found.get(0, frozenset()) - {NOTHING}
        return known

    def is_weak(self, word: Word) -> bool:
        """Return whether a word names nothing in this language."""
        if (known := self._weak.get(word.folded)) is None:
            if len(self._weak) >= MAX_KNOWN:
                self._weak.clear()
            known = self._weak[word.folded] = bool(self._words.matches("weak", (word,)))
        return known

    def share(self, said: Iterable[Word]) -> int:
        """Return how many words of a sentence are words of this language."""
        listed = tuple(said)
        if self.unspaced:
            text = "".join(word.plain for word in listed)
            return sum(entry in text for entries in self._inside.values() for entry in entries)
        found = self._words.all_matches(listed)
        known = frozenset().union(*map(_covered, found.values()), _by_word(self._nouns, listed))
        return len(known)


def _by_word(lexicon: Lexicon, said: tuple[Word, ...]) -> dict[int, frozenset[str]]:
    """Return the tables of a lexicon by the words of a sentence in them; the longest entry counts."""
    longest: dict[int, int] = {}
    found: dict[int, set[str]] = {}
    for key, matches in lexicon.all_matches(said).items():
        for start, match in matches.items():
            for index in range(start, start + match.words):
                if match.words > longest.get(index, 0):
                    longest[index], found[index] = match.words, {key}
                elif match.words == longest[index]:
                    found[index].add(key)
    return {index: frozenset(keys) for index, keys in found.items()}


def _covered(matches: Mapping[int, object]) -> frozenset[int]:
    return frozenset(
        index
        for start, match in matches.items()
        for index in range(start, start + match.words)  # type: ignore[attr-defined]
    )


def _parts(said: Sequence[Word], numbers: Sequence[int], joins: frozenset[int]) -> tuple[int, ...]:
    """Return the number of each word's part: parts are divided by full stops, commas and words like "and"."""
    found, part = [], 0
    for index, word in enumerate(said):
        if index and (word.starts or index in joins or numbers[index] != numbers[index - 1]):
            part += 1
        found.append(part)
    return tuple(found)


def _asking(parts: Sequence[int], tables: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """Return the parts that ask something: they say so, or begin with a word that opens a question."""
    ordering = {parts[index] for index in tables["commands"]}
    found = {parts[index] for index in tables["asking"]}
    before = (tables["weak"] | tables["joins"]) - tables["openers"]
    for part in set(parts):
        first = next((at for at, other in enumerate(parts) if other == part and at not in before), None)
        if first in tables["openers"]:
            found.add(part)
    return frozenset(found - ordering)


@cache
def topic_reader(language: str) -> TopicReader:
    """Return the reader of a language that has tables."""
    return TopicReader(language)


@lru_cache(maxsize=64)
def read_topic(sentence: str, spoken: str) -> Topic:
    """Return what a sentence asks about; `spoken` is the language that the assistant is set to."""
    return topic_reader(language_of(sentence, spoken) or DEFAULT).read(sentence)


@lru_cache(maxsize=64)
def language_of(sentence: str, spoken: str) -> str | None:
    """Return the language of a sentence: that of the assistant unless its words are of another one.

    None if the language of the assistant has no tables, so that nothing can be said of the sentence.
    """
    own = find(spoken)
    known = languages_with("topics.kinds")
    if own not in known:
        return None
    said = tuple(word for clause in clauses(sentence) for word in clause.words)
    if not said:
        return own
    written = is_unspaced(sentence)
    owns = topic_reader(own)
    share = owns.share(said) if owns.unspaced == written else 0
    if not written and len(said) < share * EVIDENCE + 1:
        return own  # no sentence has more words of another language than it has words
    shares = {
        each: share if reader is owns else reader.share(said)
        for each in known
        if (reader := topic_reader(each)).unspaced == written
    }
    best = max(shares, key=lambda each: (shares[each], each == own))
    return best if shares[best] >= shares.get(own, 0) * EVIDENCE + 1 else own


NOT_IN_ROOMS: Final = frozenset({"person", "calendar", "todo", "timer"})
"""Kinds that belong to a person without being in the person's room."""


def nearest_floors(found: Mapping[str, Area | Floor]) -> dict[str, Area | Floor]:
    """Return places without the floors that are farther from the ground than another one of the same name.

    A first floor is the ground floor in one country and the floor above in the other.
    """
    levels = [
        abs(place.level) for place in found.values() if isinstance(place, Floor) and place.level is not None
    ]
    return {
        key: place
        for key, place in found.items()
        if not isinstance(place, Floor)
        or place.level is None
        or len(levels) < len(found)
        or abs(place.level) == min(levels)
    }


def places_inside(house: HouseSnapshot, topic: Topic, languages: Iterable[str]) -> dict[str, Area | Floor]:
    """Return the places in a sentence of a language without spaces between words, by their ids."""
    text, vocabularies = topic.text, [vocabulary(language).places for language in languages]
    called = table(topic.language, "topics.places") or {}
    everywhere: list[Area | Floor] = [*house.areas.values(), *house.floors.values()]
    found = {
        place_id(place): place for place in everywhere if any(squash(name) in text for name in place.names)
    }
    if not found:
        for place in everywhere:
            kinds = _kinds_of(vocabularies, place.name)
            if any(name in text for kind in kinds for name in called.get(kind, ())):
                found[place_id(place)] = place
    return nearest_floors(found)


MIN_STEM: Final = 4
MAX_ENDING: Final = 2
LONG_STEM: Final = 6
"""Letters of a word from which on its ending may be longer by one: sovrum, sovrummet."""
ALIKE: Final = 0.8
"""How like a word of a name a word of a sentence must be."""
LONG_WORD: Final = 8
NEARLY_ALIKE: Final = 0.75
"""The same from so many letters on, which may have two slips."""
MIN_COVERED: Final = 0.5
"""Share of what sets a name apart that a sentence must contain."""
MORE_WORDS: Final = 0.3
"""What each further word of a name is worth."""
NEARLY_BEST: Final = 0.8
"""Share of the best score that others need which are named by the same words."""
MAX_BETWEEN: Final = 3
"""Words that may stand between those of a name: the light in the garage."""
READINGS: Final = frozenset({"sensor", "binary_sensor"})
MEASURED: Final = "sensor.temperature"
MIN_PREFIX: Final = 3
MIN_COMPOUND: Final = 7
JOINING: Final = ("", "s", "n", "en", "es")
"""Letters between the parts of a compound word."""


class NameForm(NamedTuple):
    """A name of an entity by its words."""

    own: tuple[str, ...]
    """The words that set it apart."""
    kind: tuple[str, ...]
    """The words for kinds of things."""
    place: tuple[str, ...]
    says_kind: bool = False
    """Whether one of them is the kind of the entity."""
    whole: bool = False
    """Whether the sentence must contain all of it."""


class KnownNames(NamedTuple):
    """The names of a home, to be found in the sentences of some languages."""

    forms: Mapping[str, tuple[NameForm, ...]]
    by_word: Mapping[str, Sequence[str]]
    """The entities by the words of their names."""
    places: Phrases[Area | Floor]
    other_places: Phrases[Area | Floor]
    """What else places of their kind are called."""
    owners: Phrases[Area | Floor]
    """The people whose rooms are called after them."""
    vocabulary: frozenset[str]


class NamedEntity(NamedTuple):
    """An entity that a sentence names."""

    record: EntityRecord
    score: float
    at: frozenset[int]
    """Which words of the sentence name it."""


def fits(record: EntityRecord, key: str, keys: frozenset[str]) -> bool:
    """Return whether an entity is of a kind; a domain means the classes without a key of their own."""
    domain, _, device_class = key.partition(".")
    if not device_class:
        return record.domain == domain and f"{domain}.{record.device_class}" not in keys
    if record.domain == domain and record.device_class == device_class:
        return True
    called = DOMAINS[domain].several.get(device_class)
    return called is not None and called == DOMAINS[record.domain].several.get(
        record.device_class or ANY_CLASS
    )


def names_key(languages: tuple[str, ...], *, places_only: bool) -> tuple[object, ...]:
    """Return under which key a snapshot keeps these names."""
    return ("names in sentences", languages, places_only)


def known_names(house: HouseSnapshot, languages: tuple[str, ...], *, places_only: bool = False) -> KnownNames:
    """Return the names of a home for sentences in these languages, read once.

    Some 0.1 ms for each entity, unless only rooms and floors are asked for.
    """
    key = names_key(languages, places_only=places_only)
    return house.derived(key, lambda found: _read(found, languages, places_only=places_only))


def _read(house: HouseSnapshot, languages: tuple[str, ...], *, places_only: bool) -> KnownNames:
    readers = [topic_reader(language) for language in languages]
    everywhere: list[Area | Floor] = [*house.areas.values(), *house.floors.values()]
    place_words = {
        place_id(place): frozenset(word for name in place.names for word in words(name))
        for place in everywhere
    }
    forms = {
        key: tuple(_forms(record, place_words, readers, languages))
        for key, record in house.entities.items()
        if not places_only
    }
    own = Phrases((_telling(words(name)), place) for place in everywhere for name in place.names)
    other = Phrases(
        (_telling(words(name)), place)
        for place in everywhere
        for called in place.names
        if called == place.name or kinds_of_room(called)
        for name in place_synonyms(called, languages)
    )
    by_word: dict[str, dict[str, None]] = {}
    for key, listed in forms.items():
        for form in listed:
            for word in (*form.own, *form.kind, *form.place):
                by_word.setdefault(word, {})[key] = None
    return KnownNames(
        forms,
        {word: tuple(keys) for word, keys in by_word.items()},
        own,
        other,
        Phrases(((word,), area) for word, area in sole_owners(house)),
        frozenset(by_word.keys() | own.words | other.words),
    )


def _telling(found: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a name without single letters."""
    listed = tuple(found)
    return tuple(word for word in listed if len(word) > 1 or not word.isascii() or word.isdigit()) or listed


def _forms(
    record: EntityRecord,
    place_words: Mapping[str, frozenset[str]],
    readers: Sequence[TopicReader],
    languages: tuple[str, ...],
) -> Iterator[NameForm]:
    around = place_words.get(record.area_id or "", frozenset()) | place_words.get(
        record.floor_id or "", frozenset()
    )
    synonyms = thing_synonyms(record.name, languages)
    for name in (*record.names, *synonyms):
        found = _telling(words(name))
        kinds = {
            word: [(key, reader.kinds) for reader in readers for key in reader.kinds_of(word)]
            for word in found
        }
        kind = tuple(word for word in found if kinds[word])
        place = tuple(word for word in found if word in around and word not in kind)
        own = tuple(word for word in found if word not in kind and word not in place)
        says = any(fits(record, key, keys) for found in kinds.values() for key, keys in found)
        yield NameForm(own, kind, place, says, name in synonyms)


class NamesInSentence:
    """Finds the names of a home in one sentence."""

    def __init__(
        self,
        house: HouseSnapshot,
        topic: Topic,
        languages: tuple[str, ...],
        *,
        places_only: bool = False,
    ) -> None:
        self._places_only = places_only
        self._house, self._topic, self._languages = house, topic, languages
        self._names = known_names(house, languages, places_only=places_only)
        self.meant: dict[int, frozenset[str]] = {}
        """Per word of the sentence: the words of names that it may mean."""
        self.compounds: dict[int, frozenset[str]] = {}
        """Per word that is a compound of a name and a kind: the kinds."""
        reader = topic_reader(topic.language)
        readers = [topic_reader(language) for language in languages]
        self._weak = topic.weak | {
            index for index, word in enumerate(topic.words) if any(one.is_weak(word) for one in readers)
        }
        """The words that name no device by themselves, in the language of the names either."""
        told = {*topic.weak, *topic.kinds, *topic.implied, *topic.measures}
        selfs = self_words(topic.words, topic.language)
        for index, word in enumerate(topic.words):
            if index in selfs and word.plain != word.folded:  # "la mía" is not Mia
                self.meant[index] = frozenset()
                continue
            if index in told:
                self.meant[index] = frozenset({word.folded} & self._names.vocabulary)
                continue
            self.meant[index] = self._like(word.folded)
            if not self.meant[index] and len(word.folded) >= MIN_COMPOUND:
                self._take_apart(index, word, reader)
        self._where: dict[str, list[int]] = {}
        for index, meant in self.meant.items():
            for known in meant:
                self._where.setdefault(known, []).append(index)
        self.places, self.place_words = self._find_places()
        self._keys = reader.kinds
        self._said_kinds = {
            key
            for found in (topic.kinds, self.compounds, topic.implied, topic.measures)
            for keys in found.values()
            for key in keys
        }
        if "climate" in self._said_kinds:
            self._said_kinds.add(MEASURED)

    def _like(self, folded: str) -> frozenset[str]:
        """Return the words of names that a word may be, misspelt or inflected."""
        if folded in self._names.vocabulary:
            return frozenset({folded})
        if folded in excepting_words():
            return frozenset()
        if len(folded) >= MIN_STEM and folded.endswith("s") and folded[:-1] in self._names.vocabulary:
            return frozenset({folded[:-1]})

        def is_form(known: str) -> bool:
            shorter = min(len(known), len(folded))
            if known[0] != folded[0] or abs(len(known) - len(folded)) > MAX_ENDING + (shorter >= LONG_STEM):
                return False
            return word_similarity(folded, known) >= (ALIKE if shorter < LONG_WORD else NEARLY_ALIKE)

        return frozenset(filter(is_form, self._names.vocabulary))

    def _take_apart(self, index: int, word: Word, reader: TopicReader) -> None:
        """Read a compound such as "Küchenfenster": a word of a name or a place, and a kind."""
        for known in sorted(self._names.vocabulary, key=len, reverse=True):
            if len(known) < MIN_PREFIX or not word.folded.startswith(known):
                continue
            tail = word.folded[len(known) :]
            # One of three equal letters is left out: "hallampa".
            doubled = [known[-1] + tail] if known.endswith(2 * known[-1]) else []
            for part in (*(tail.removeprefix(joining) for joining in JOINING), *doubled):
                if keys := reader.kinds_of(part):
                    self.meant[index], self.compounds[index] = frozenset({known}), keys
                    return

    def words(self, record: EntityRecord) -> frozenset[str]:
        """Return the words of the names of an entity."""
        forms = self._names.forms.get(record.entity_id, ())
        return frozenset(word for form in forms for word in (*form.own, *form.place))

    def _find_places(self) -> tuple[dict[str, Area | Floor], frozenset[int]]:
        """Return the rooms and floors that are named, and the words that name them."""
        if self._topic.text:
            return places_inside(self._house, self._topic, self._languages), frozenset()
        meant = [self.meant.get(index, frozenset()) for index in range(len(self._topic.words))]
        topic = self._topic
        kinds = {key for keys in (*topic.kinds.values(), *self.compounds.values()) for key in keys}
        owners = (self._names.owners,) if kinds and kinds.isdisjoint(NOT_IN_ROOMS) else ()
        owned = owned_rooms(self._house, topic.words, topic.language)
        found: dict[str, Area | Floor] = {one.value.area_id: one.value for one in owned}
        at = by_owner = frozenset(index for one in owned for index in one.at)
        for phrases in (self._names.places, self._names.other_places, *owners):
            if phrases is self._names.owners and at != by_owner:
                break
            mentions = [
                one
                for one in longest(phrases.find(meant))
                if not one.at <= topic.weak | topic.nothing | at and at.isdisjoint(one.at)
            ]
            kept = (one for one in mentions if not one.at <= topic.excepted)
            found |= {place_id(one.value): one.value for one in kept}
            at = at.union(*(one.at for one in mentions))
        return nearest_floors(found), at

    def entities(self) -> list[NamedEntity]:
        """Return the entities that are named, best first."""
        if self._places_only:
            return []
        if self._topic.text:  # without spaces: the longest names that it contains as a whole
            inside = [
                NamedEntity(record, float(max(map(len, names))), frozenset({0}))
                for record in self._house.entities.values()
                if (
                    names := [name for name in map(squash, record.names) if name and name in self._topic.text]
                )
            ]
            longest_name = max((one.score for one in inside), default=0.0)
            return [one for one in inside if one.score == longest_name]
        entities = self._house.entities
        said = sorted({key for word in self._where for key in self._names.by_word.get(word, ())})
        found = [one for key in said if (one := self._named(entities[key])) is not None]
        if self.places:
            here = [one for one in found if self._is_there(one.record)]
            found = here or [one for one in found if one.score >= 1.0 and not one.at <= self.place_words]
        # What the same words name much worse goes. "The front door" is the lock of that name, and its contact
        # too: a door is what it tells about.
        kept = [
            one
            for one in found
            if not any(
                other.at & one.at
                and one.score < NEARLY_BEST * other.score
                and not any(
                    fits(one.record, key, self._keys) and not fits(other.record, key, self._keys)
                    for key in self._said_kinds
                )
                for other in found
            )
        ]
        return sorted(kept, key=lambda one: (-one.score, one.record.entity_id))

    def _is_there(self, record: EntityRecord) -> bool:
        return record.area_id in self.places or record.floor_id in self.places

    def _named(self, record: EntityRecord) -> NamedEntity | None:
        """Return how well a sentence names an entity; None if it does not."""
        best: NamedEntity | None = None
        for form in self._names.forms[record.entity_id]:
            # A door's name is not that of its battery: a sentence says what a reading measures.
            if form.says_kind and record.domain in READINGS:
                is_measured = any(fits(record, key, self._keys) for key in self._said_kinds)
                if not is_measured and any(word not in self._where for word in (*form.own, *form.kind)):
                    continue
            scored = self._score(form)
            if scored is not None and (best is None or scored[0] > best.score):
                best = NamedEntity(record, *scored)
        return best

    def _score(self, form: NameForm) -> tuple[float, frozenset[int]] | None:
        """Return how much of a name a sentence contains, and where."""
        weak = self._weak
        own = {word: self._where[word] for word in form.own if word in self._where}
        beside = {word: self._where[word] for word in (*form.kind, *form.place) if word in self._where}
        at = frozenset(index for found in (*own.values(), *beside.values()) for index in found)
        if not form.own:
            parts = len({*form.kind, *form.place})
            together = at and max(at) - min(at) < parts + MAX_BETWEEN
            return (1.0 + len(beside) / 10, at) if together and len(beside) == parts > 1 else None
        strong = {word for word, found in own.items() if any(index not in weak for index in found)}
        for word in own.keys() - strong:  # "night" in "night light", not in "last night"
            if any(abs(index - other) == 1 for index in own[word] for other in at - set(own[word])):
                strong.add(word)
        covered = len(strong) / len(form.own)
        if covered < (1.0 if form.whole else MIN_COVERED) or not strong:
            return None
        letters = sum(map(len, strong)) / sum(map(len, form.own))
        if not beside and letters < MIN_COVERED:  # "Tom" alone is no lamp of his
            return None
        named = frozenset(index for word in strong for index in own[word])
        score = covered + MORE_WORDS * (len(strong) - 1) + len(beside) / 10
        return score, named | frozenset(i for found in beside.values() for i in found)


def by_kind(house: HouseSnapshot) -> Mapping[EntityKind, Sequence[EntityRecord]]:
    """Return the entities of a home by domain and device class."""

    def read(_house: HouseSnapshot) -> Mapping[EntityKind, Sequence[EntityRecord]]:
        kinds: dict[EntityKind, list[EntityRecord]] = {}
        for record in house.entities.values():
            kinds.setdefault((record.domain, record.device_class), []).append(record)
        return kinds

    return house.derived("entities by kind", read)


READ_INLINE: Final = 50
"""Entities up to which names are read on the event loop."""
SURE_WORDS: Final = 2
"""Words of a sentence that surely name a thing; a single one may describe many."""


def home_languages(hass: HomeAssistant, *spoken: str) -> tuple[str, ...]:
    """Return the languages that the names of a home may be in."""
    own = known_language(hass.config.language).partition("-")[0]
    return tuple(dict.fromkeys((own, DEFAULT, *spoken)))


async def async_names(
    hass: HomeAssistant, house: HouseSnapshot, topic: Topic, *, places_only: bool = False
) -> NamesInSentence:
    """Return the names of a home in a sentence; those of a large home are read in a worker, once."""
    languages = home_languages(hass, topic.language)
    key = names_key(languages, places_only=places_only)
    if len(house.entities) > READ_INLINE and not places_only and not house.has_derived(key):
        await hass.async_add_executor_job(known_names, house, languages)
    return NamesInSentence(house, topic, languages, places_only=places_only)


async def async_surely_meant(
    hass: HomeAssistant, house: HouseSnapshot, sentence: str, language: str
) -> frozenset[str]:
    """Return the ids of what a sentence names, and of what it is about in the places that it names."""
    topic = read_topic(sentence, language)
    names = await async_names(hass, house, topic)
    named = (one.record for one in names.entities() if len(one.at) >= SURE_WORDS)
    there = [
        record
        for record in house.entities.values()
        if record.area_id in names.places or record.floor_id in names.places
    ]
    keys = topic_reader(topic.language).kinds
    spoken = (*topic.kinds.values(), *names.compounds.values(), *topic.implied.values())
    kinds = {key for found in spoken for key in found}
    of_kinds = [record for record in there if any(fits(record, key, keys) for key in kinds)]
    return frozenset(record.entity_id for record in (*named, *(of_kinds or there)))
