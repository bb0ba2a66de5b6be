"""What people call everything, kinds of things and colours, by language or in all languages; folded."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.generated.languages import LANGUAGES
from homeassistant.helpers.translation import async_get_translations

from ..languages import DEFAULT, find, languages, languages_with, nearest, table, words
from ..languages.lexicon import all_words as all_entries
from ..texts import fold, is_unspaced
from .house import EntityRecord, HouseSnapshot

MIN_INFLECTED: Final = 5
MIN_STEM: Final = 4
MAX_ENDING: Final = 2


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


@cache
def _own_words(language: str) -> frozenset[str]:
    return frozenset(map(fold, words(language, "quantities.all")))


@cache
def all_words(language: str) -> frozenset[str]:
    """Return the words for "all" that count in a language, or in any if it is not known."""
    own = find(language)
    if own is not None and own in languages_with("quantities.all"):
        return _own_words(own) | _own_words(DEFAULT)
    return frozenset().union(*map(_own_words, languages()))


@cache
def _in_all_languages(name: str) -> frozenset[str]:
    return frozenset(map(fold, all_entries(name)))


@cache
def _meanings(name: str) -> Mapping[str, str]:
    return {
        fold(word): meant
        for each in languages()
        for meant, said in (table(each, name) or {}).items()
        for word in said
    }


def everything_words() -> frozenset[str]:
    """Return the words for things of any kind, in all languages."""
    return _in_all_languages("quantities.everything")


@cache
def excepting_words() -> frozenset[str]:
    """Return the folded words that except something, in all languages: never a misspelt name."""
    return frozenset(word for word in _in_all_languages("quantities.excepting") if " " not in word)


def stop_words() -> frozenset[str]:
    """Return articles and similar words in all languages, which name nothing."""
    return _in_all_languages("names.articles")


@cache
def domain_words() -> Mapping[str, str]:
    """Return the words for kinds of things in all languages, each with its domain.

    A word that is an article in some language means nothing: "las" are Spanish articles before Swedish locks.
    """
    return {word: kind for word, kind in _meanings("names.domains").items() if word not in stop_words()}


def colors() -> Mapping[str, str]:
    """Return the names of colours in other languages, each with the English one."""
    return _meanings("names.colors")


@cache
def state_meanings() -> Mapping[str, str]:
    """Return the words for states in all languages, each with the English one."""
    return _meanings("names.states")


@cache
def whites() -> Mapping[str, int]:
    """Return the words for a white, each with its temperature in kelvin."""
    return {word: int(kelvin) for word, kelvin in _meanings("names.whites").items()}


@cache
def _longest_first(name: str) -> Sequence[str]:
    """Return the phrases of all languages, the longest first, with one space before and after each."""
    return [f" {phrase} " for phrase in sorted(_in_all_languages(name), key=lambda one: (-len(one), one))]


def asks_for_all(folded: str, language: str) -> bool:
    """Return whether a sentence, folded to words with one space between, asks for everything of a kind."""
    text = f" {folded} "
    for idiom in _longest_first("quantities.idioms"):
        text = text.replace(idiom, " ") if idiom in text else text
    if any(phrase in text for phrase in _longest_first("quantities.whole_home")):
        return True
    known = all_words(language)
    if not known.isdisjoint(text.split()):
        return True
    return not text.isascii() and any(word in text for word in known if is_unspaced(word))


def says_goodbye(folded: str) -> bool:
    """Return whether somebody goes to bed or leaves, in a folded sentence that names no kind of thing.

    "Good night, turn off the light" is an order for a light.
    """
    if any(word in domain_words() for word in folded.split()):
        return False
    return any(
        phrase in folded if is_unspaced(phrase) else f" {phrase} " in f" {folded} "
        for phrase in _in_all_languages("quantities.goodbye")
    )


def said_words(sentence: str) -> str:
    """Return the folded words of a sentence, with one space before and after each."""
    return f" {' '.join(fold(sentence).split())} "


def means_home(text: str) -> bool:
    """Return whether the name of a place means the home itself, and so no place in it."""
    folded = " ".join(fold(text).split())
    known = _in_all_languages("quantities.home") | _in_all_languages("quantities.all")
    return without_articles(folded) in known or any(
        phrase in f" {folded} " for phrase in _longest_first("quantities.whole_home")
    )


def without_articles(folded: str) -> str:
    """Return folded text without the articles at its head."""
    rest = folded.split()
    begin = next((at for at, word in enumerate(rest[:-1]) if word not in stop_words()), len(rest) - 1)
    return " ".join(rest[max(begin, 0) :])


def without_idioms(sentence: str) -> str:
    """Return a folded sentence without phrases in which a word for a room names none: "tres menos cuarto"."""
    said = said_words(sentence)
    for idiom in _longest_first("topics.none"):
        if " " in idiom.strip() and idiom in said:
            said = said.replace(idiom, "  ")
    return said


def _room_kinds(known: Iterable[str], key: Callable[[str], str]) -> Mapping[str, frozenset[str]]:
    """Return the words for rooms and floors in some languages, each with the kinds that it may mean."""
    found: dict[str, set[str]] = {}
    for language in known:
        for kind, names in (table(language, "concepts.places") or {}).items():
            for name in names:
                found.setdefault(key(name), set()).add(kind)
    return {name: frozenset(kinds) for name, kinds in found.items()}


@cache
def _kinds_of_rooms() -> Mapping[str, frozenset[str]]:
    """Return the words for rooms and floors in all languages, each with the kinds that it may mean."""
    return _room_kinds(languages(), _key)


def kinds_of_room(name: str) -> frozenset[str]:
    """Return the kinds of rooms or floors that a name means in any language; none for other names."""
    return _kinds_of_rooms().get(_key(name), frozenset())


@cache
def inflected_kinds_of_room(name: str) -> frozenset[str]:
    """Return the kinds of rooms whose names a word may be a form of: "kuchni" is one of "kuchnia"."""
    word = _key(name)
    if len(word) < MIN_INFLECTED:
        return frozenset()
    found: set[str] = set()
    for known, kinds in _kinds_of_rooms().items():
        stem = max(MIN_STEM, max(len(word), len(known)) - MAX_ENDING)
        if word[:stem] == known[:stem]:
            found |= kinds
    return frozenset(found)


@cache
def room_words(language: str) -> Mapping[str, frozenset[str]]:
    """Return the words for rooms and floors of one language, folded, each with its kinds."""
    return _room_kinds((find(language) or "",), lambda name: " ".join(fold(name).split()))


def _key(name: str) -> str:
    """Return a name of a room without articles and spaces."""
    return without_articles(" ".join(fold(name).split())).replace(" ", "")


CATEGORIES = ("title", "entity_component")


class ClassWords:
    """What Home Assistant itself calls domains, classes, their states and attributes."""

    def __init__(self, translations: Iterable[Mapping[str, str]]) -> None:
        self._names: dict[tuple[str, str], list[str]] = {}
        self._details: dict[tuple[str, str], list[str]] = {}
        for key, text in ((key, text) for strings in translations for key, text in strings.items()):
            _, domain, *path = key.split(".")
            if path == ["title"]:
                self._names.setdefault((domain, "_"), []).append(text)
            elif path[0] == "entity_component" and path[2:] == ["name"]:
                self._names.setdefault((domain, path[1]), []).append(text)
            elif path[0] == "entity_component" and (path[2] == "state" or path[-1] == "name"):
                self._details.setdefault((domain, path[1]), []).append(text)

    def names(self, record: EntityRecord) -> str:
        """Return the names of an entity's class, else of its domain."""
        return self._look_up(self._names, record)

    def details(self, record: EntityRecord) -> str:
        """Return the names of the states and attributes of an entity's class, else of its domain."""
        return self._look_up(self._details, record)

    @staticmethod
    def _look_up(table: Mapping[tuple[str, str], Sequence[str]], record: EntityRecord) -> str:
        found = table.get((record.domain, record.device_class or "_")) or table.get((record.domain, "_"), ())
        return " ".join(dict.fromkeys(found))


@lru_cache(maxsize=256)
def known_language(language: str) -> str:
    """Return the language that Home Assistant has words for and that comes closest."""
    return nearest(language, frozenset(LANGUAGES)) or "en"


async def async_class_words(
    hass: HomeAssistant, house: HouseSnapshot, languages: Iterable[str]
) -> ClassWords:
    """Return the words for all classes of a home; languages are those of `known_language`."""
    domains = sorted({record.domain for record in house.entities.values()})
    return ClassWords(
        [
            await async_get_translations(hass, language, category, domains)
            for language in languages
            for category in CATEGORIES
        ]
    )
