"""What people call rooms, appliances and kinds of devices, where Home Assistant's own words do not say it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from ..knowledge.names import Phrases
from ..languages import find, table
from ..texts import words


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
