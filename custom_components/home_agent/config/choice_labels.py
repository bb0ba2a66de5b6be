"""The words in the form of a rule in place of what is stored: actions, kinds, places, times and people."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, floor_registry as fr, label_registry as lr
from homeassistant.helpers.translation import async_get_translations

from ..const import DOMAIN
from ..domains import DOMAINS
from ..knowledge.view import FLOORS
from ..safety.choices import (
    ACTIONS,
    DECISION,
    DECISIONS,
    HOURS,
    KINDS,
    LABELS,
    PICKED_ACTIONS,
    PRESENCE,
    WHOM,
)
from ..safety.occasions import (
    ADMINISTRATORS,
    AT_HOME,
    AWAY,
    DAYS,
    EXCEPT,
    GUESTS,
    NOBODY,
    PROFILE,
    SOMEBODY,
)
from ..safety.profiles import AREAS
from .labels import Labels
from .language import async_language

SHOWN_CLASSES: Final = ("cover",)
"""Domains whose device classes are kinds of their own."""
PLACES: Final = "places"
"""The field of the form that has areas, floors and labels."""
OF_PLACES: Final = (AREAS, FLOORS, LABELS)
"""The keys in which these are stored."""
FIELDS: Final = (DECISION, ACTIONS, KINDS, PLACES, HOURS, PRESENCE, WHOM)
"""The fields whose values have words."""

NO_LABELS: Final = Labels(
    {field: {key: key for key in DECISIONS} if field == DECISION else {} for field in FIELDS}
)


async def async_labels(hass: HomeAssistant, profiles: Iterable[str] = ()) -> Labels:
    """Return the words for all that there is to choose from; `profiles` are the names of those.

    They are in the language in which the form is read.
    """
    language = await async_language(hass)
    own = await async_get_translations(hass, language, "selector", {DOMAIN})
    words = _Words(own)
    persons = {state.entity_id: state.name for state in hass.states.async_all("person")}
    return Labels(
        {
            DECISION: {key: words.of("decision", key) for key in DECISIONS},
            ACTIONS: {key: words.of("action", key) for key in PICKED_ACTIONS},
            KINDS: unique(await _async_kinds(hass, language)),
            PLACES: unique(dict(_places(hass, words))),
            HOURS: {day: words.of("day", day) for day in DAYS},
            PRESENCE: unique(dict(_presences(persons, words))),
            WHOM: unique(dict(_people(persons, profiles, words))),
        }
    )


class _Words:
    """The words of one language."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take the texts by their full names."""
        self._texts = texts

    def of(self, group: str, key: str, **values: str) -> str:
        """Return the words for a key of a group."""
        text = self._texts.get(f"component.{DOMAIN}.selector.policy_{group}.options.{key}", key)
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text


async def _async_kinds(hass: HomeAssistant, language: str) -> dict[str, str]:
    """Return the kinds of devices that there are, by domain and class."""
    kinds = sorted(_kinds(hass))
    domains = {kind.partition(":")[0] for kind in kinds}
    titles = await async_get_translations(hass, language, "title", domains)
    classes = await async_get_translations(hass, language, "entity_component", domains)

    def label(kind: str) -> str:
        domain, _, device_class = kind.partition(":")
        if device_class:
            return classes.get(f"component.{domain}.entity_component.{device_class}.name", kind)
        return titles.get(f"component.{domain}.title", kind)

    return {kind: label(kind) for kind in kinds}


@callback
def _kinds(hass: HomeAssistant) -> set[str]:
    """Return the kinds of entities that there are and that can do something."""
    found: set[str] = set()
    for state in hass.states.async_all():
        if not DOMAINS[state.domain].actions:
            continue
        found.add(state.domain)
        if state.domain in SHOWN_CLASSES and (device_class := state.attributes.get("device_class")):
            found.add(f"{state.domain}:{device_class}")
    return found


@callback
def _places(hass: HomeAssistant, words: _Words) -> Iterator[tuple[str, str]]:
    """Yield the areas, floors and labels of the home with their names."""
    for area in ar.async_get(hass).async_list_areas():
        yield f"{AREAS}:{area.id}", area.name
    for floor in fr.async_get(hass).async_list_floors():
        yield f"{FLOORS}:{floor.floor_id}", words.of("place", "floor", name=floor.name)
    for label in lr.async_get(hass).async_list_labels():
        yield f"{LABELS}:{label.label_id}", words.of("place", "label", name=label.name)


def _presences(persons: Mapping[str, str], words: _Words) -> Iterator[tuple[str, str]]:
    """Yield who may be at home or away."""
    for key in (SOMEBODY, NOBODY):
        yield key, words.of("presence", key)
    for entity_id, person in persons.items():
        yield f"{AT_HOME}{entity_id}", words.of("presence", "home", person=person)
        yield f"{AWAY}{entity_id}", words.of("presence", "away", person=person)


def _people(persons: Mapping[str, str], profiles: Iterable[str], words: _Words) -> Iterator[tuple[str, str]]:
    """Yield for whom a rule may be, and for whom not."""
    named = dict(persons)
    named |= {f"{PROFILE}{name}": words.of("whom", "profile", name=name) for name in profiles if name}
    yield GUESTS, words.of("whom", GUESTS)
    yield from named.items()
    excepted = {ADMINISTRATORS: words.of("whom", ADMINISTRATORS), **named}
    for key, name in excepted.items():
        yield f"{EXCEPT}{key}", words.of("whom", "except", name=name)


def unique(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels of which each means one key."""
    counts = Counter(labels.values())
    return {key: label if counts[label] == 1 else f"{label} ({key})" for key, label in labels.items()}


def in_form(value: object) -> list[dict[str, Any]]:
    """Return stored rules with their areas, floors and labels in the one field of the form."""
    found = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, Mapping):
            places = [f"{key}:{name}" for key in OF_PLACES for name in item.get(key, ())]
            rest = {key: kept for key, kept in item.items() if key not in OF_PLACES}
            found.append({**rest, PLACES: places} if places else rest)
    return found
