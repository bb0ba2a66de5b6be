"""What people call rooms, appliances and kinds of devices, where Home Assistant's own words do not say it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Self

from ..languages import find, table
from ..texts import words


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds of rooms or things, each with the names people give it."""

    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    by_word: Mapping[str, Sequence[tuple[str, frozenset[str]]]] = field(default_factory=dict)
    """First word of a name: the kind and all words of that name."""

    @classmethod
    def of(cls, names: Mapping[str, Sequence[str]]) -> Self:
        """Prepare names for lookup."""
        by_word: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for kind, texts in names.items():
            for text in texts:
                parts = words(text)
                by_word.setdefault(parts[0], []).append((kind, frozenset(parts)))
        return cls(names, by_word)

    def find(self, named: frozenset[str]) -> dict[str, int]:
        """Return the kinds whose name is among the words, with the length of that name."""
        found: dict[str, int] = {}
        for word in named:
            for kind, parts in self.by_word.get(word, ()):
                if parts <= named:
                    found[kind] = max(len(parts), found.get(kind, 0))
        return found


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everyday words of one language."""

    classes: Mapping[str, str] = field(default_factory=dict)
    """Words for a domain or, as `domain.device_class`, for a class of it."""
    wishes: Kinds = field(default_factory=Kinds)
    """What people say who want something of a class without naming it, by the first word for that class."""
    places: Kinds = field(default_factory=Kinds)
    things: Kinds = field(default_factory=Kinds)


@cache
def vocabulary(language: str) -> Vocabulary:
    """Return the words of a language, or an empty result if there are none."""
    data = table(find(language) or "", "concepts")
    if data is None:
        return Vocabulary()
    classes = data["classes"]
    wishes = {classes[key].split()[0]: texts for key, texts in data["wishes"].items()}
    return Vocabulary(classes, Kinds.of(wishes), Kinds.of(data["places"]), Kinds.of(data["things"]))


def class_concepts(domain: str, device_class: str | None, languages: Iterable[str]) -> str:
    """Return everyday words for a class of entities, or for its domain where the class has none."""
    found = []
    for language in languages:
        classes = vocabulary(language).classes
        found.append(classes.get(f"{domain}.{device_class}") or classes.get(domain, ""))
    return " ".join(filter(None, found))


def wished(query: str, languages: Iterable[str]) -> list[str]:
    """Return the names of what a sentence asks for without naming it: "I can't see" is about a light."""
    said = frozenset(words(query))
    return [name for language in languages for name in sorted(vocabulary(language).wishes.find(said))]


def place_synonyms(name: str, languages: Iterable[str]) -> list[str]:
    """Return other names for the kind of room or floor that a name says it is."""
    kinds = [vocabulary(language).places for language in languages]
    return _synonyms(kinds, _found(kinds, name)[:1])


def thing_synonyms(name: str, languages: Iterable[str]) -> list[str]:
    """Return other names for the things that a name mentions."""
    kinds = [vocabulary(language).things for language in languages]
    return _synonyms(kinds, _found(kinds, name))


def _found(languages: Iterable[Kinds], name: str) -> list[str]:
    """Return the kinds that a name mentions, the longest mention first."""
    named = frozenset(words(name))
    found: dict[str, int] = {}
    for kinds in languages:
        for kind, length in kinds.find(named).items():
            found[kind] = max(length, found.get(kind, 0))
    return sorted(found, key=lambda kind: (-found[kind], kind))


def _synonyms(languages: Iterable[Kinds], found: Iterable[str]) -> list[str]:
    """Return all names of these kinds."""
    kinds = list(found)
    return [name for language in languages for kind in kinds for name in language.names.get(kind, ())]
