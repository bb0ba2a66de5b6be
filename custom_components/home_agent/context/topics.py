"""What a sentence asks about, by the words of its language: kinds of things, a state, all of them or one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

from ..knowledge.names import Phrases
from ..languages import DEFAULT, find, languages_with, table, words, words_to_99
from ..languages.lexicon import Lexicon, Word, clauses
from ..texts import fold, is_unspaced, words as words_of


class Synonyms:
    """Kinds of rooms or things, each with the names people give it."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self.names = names
        self._phrases = Phrases((words_of(text), kind) for kind, texts in names.items() for text in texts)

    def find(self, text: str) -> dict[str, int]:
        """Return the kinds whose name a text contains, with the number of words of that name."""
        found: dict[str, int] = {}
        for mention in self._phrases.find([(word,) for word in words_of(text)]):
            found[mention.value] = max(len(set(mention.phrase)), found.get(mention.value, 0))
        return found


NO_SYNONYMS: Final = Synonyms({})


@dataclass(frozen=True, slots=True)
class EverydayWords:
    """Everyday words of one language."""

    classes: Mapping[str, str] = field(default_factory=dict)
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
    kinds = [vocabulary(language).places for language in languages]
    return _synonyms(kinds, _found(kinds, name)[:1])


def place_kinds(name: str, languages: Iterable[str]) -> list[str]:
    """Return the kinds of room or floor that a name says it is."""
    return _found([vocabulary(language).places for language in languages], name)


def thing_synonyms(name: str, languages: Iterable[str]) -> list[str]:
    """Return other names for the things that a name mentions."""
    kinds = [vocabulary(language).things for language in languages]
    return _synonyms(kinds, _found(kinds, name))


def _found(languages: Iterable[Synonyms], name: str) -> list[str]:
    """Return the kinds that a name mentions, the longest mention first."""
    found: dict[str, int] = {}
    for kinds in languages:
        for kind, length in kinds.find(name).items():
            found[kind] = max(length, found.get(kind, 0))
    return sorted(found, key=lambda kind: (-found[kind], kind))


def _synonyms(languages: Iterable[Synonyms], found: Iterable[str]) -> list[str]:
    kinds = list(found)
    return [name for language in languages for kind in kinds for name in language.names.get(kind, ())]


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


@dataclass(frozen=True, slots=True)
class Topic:
    """What the words of a sentence ask about."""

    language: str
    words: tuple[Word, ...] = ()
    kinds: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Per word: the kinds it names, such as `light` or `binary_sensor.window`."""
    clauses: tuple[int, ...] = ()
    """Per word: the number of its clause."""
    implied: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Per word: the kinds it implies without naming them."""
    measures: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Per word: what a question with it measures: how humid, how loud."""
    parts: tuple[int, ...] = ()
    """Per word: the number of its part of a clause, up to a comma or an "and"."""
    asking: frozenset[int] = frozenset()
    """The parts that ask something, such as "tell me how warm it is there"."""
    states: Mapping[str, frozenset[int]] = field(default_factory=dict)
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
            name: words(language, f"topics.{name}")
            for name in ("which", "follow", "other", "there", "compares", *STATES)
        }
        everything = words(language, "quantities.everything")
        weak = [entry for name in WEAK_TABLES for entry in words(language, name)]
        commands = words(language, "questions.commands")
        self.unspaced = is_unspaced("".join(tables["which"]))
        self.kinds = frozenset(nouns)
        self._nouns = Lexicon({**nouns, NOTHING: words(language, "topics.none")})
        in_words = [*table(language, "numbers.digits"), words_to_99(language)]
        self._numbers = frozenset(fold(number) for row in in_words for number in row)
        self._words = Lexicon(
            {
                **tables,
                "weak": weak,
                "openers": [*words(language, "questions.openers"), *words(language, "questions.past")],
                "commands": commands,
                "joins": words(language, "questions.joins"),
                "asking": [*words(language, "questions.asking"), *words(language, "questions.whether")],
                "everything": everything,
                "elsewhere": words(language, "topics.elsewhere"),
                "excepting": words(language, "quantities.excepting"),
                "all": words(language, "quantities.all"),
            }
        )
        self._known: dict[str, frozenset[str]] = {}
        """The kinds that single words name, as they were found before."""
        self._weak: dict[str, bool] = {}
        self._implied = Lexicon(dict(_implied(language)))
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
        verbs = {index for index in tables["commands"] if _begins(index, said, tables["weak"])}
        nouns = {index: keys for index, keys in nouns.items() if index not in verbs}
        unsaid = {*nouns, *nothing, *(index for index, part in enumerate(parts) if part in away)}
        implied = {
            index: keys for index, keys in _by_word(self._implied, said).items() if index not in unsaid
        }
        weak = frozenset().union(*(tables[name] for name in WEAK))
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
            is_asked=is_asked or _opens(tables["openers"], tables["weak"] - tables["openers"], len(said)),
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
            excepted=_excepted(tables["excepting"], parts),
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


def _implied(language: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the words that imply a kind: the everyday words of the kinds that people control."""
    classes = table(language, "concepts.classes") or {}
    verbs = table(language, "topics.implies") or {}
    for key in IMPLYING:
        yield key, [*str(classes.get(key, "")).split(), *verbs.get(key, ())]


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


def _excepted(excepting: Iterable[int], parts: Sequence[int]) -> frozenset[int]:
    return frozenset(
        index for start in excepting for index in range(start + 1, len(parts)) if parts[index] == parts[start]
    )


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


def _opens(openers: frozenset[int], before: frozenset[int], count: int) -> bool:
    first = next((index for index in range(count) if index not in before), count)
    return first in openers


def _begins(index: int, said: tuple[Word, ...], weak: frozenset[int]) -> bool:
    """Return whether a word stands where the verb of a command stands: first, or behind weak words only."""
    return said[index].starts or all(before in weak for before in range(index))


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
