"""The kind of thing a target asks for: domains and device classes, wherever the model put them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import override

from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.name_index import NameIndex
from ...knowledge.names import squash
from ...knowledge.spoken_words import domain_words, words_of
from ...texts import fold
from .targets import Target

ANY_DOMAIN = frozenset(("homeassistant", "all", "entity", "entities", "device", "devices", "home"))
OPENING_CLASSES = words_of("awning blind curtain damper door garage gate shade shutter window")
OPENING_DOMAINS = words_of("cover binary_sensor")
"""Classes of what opens and closes, and the domains that have them: a light called so is another thing."""
DOMAINS = words_of(
    "alarm_control_panel automation binary_sensor button calendar camera climate counter cover date "
    "datetime "
    "device_tracker event fan group humidifier image input_boolean input_button input_datetime "
    "input_number "
    "input_select input_text lawn_mower light lock media_player notify number person remote scene script "
    "select "
    "sensor siren sun switch text time timer todo update vacuum valve water_heater weather zone"
)
"""Domains of entities, whether this house has some or not."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Domains and device classes that entities must have; empty means any."""

    domains: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    repaired: bool = False
    name: str | None = None
    """The name of an entity that stood in a slot for kinds."""

    def fits(self, record: EntityRecord) -> bool:
        """Return whether an entity is of this kind."""
        return (not self.domains or record.domain in self.domains) and (
            not self.classes or record.device_class in self.classes
        )

    @override
    def __str__(self) -> str:
        """Return the kind for an error."""
        return " or ".join(sorted(self.classes or self.domains)) or "such entity"


def read_kinds(house: HouseSnapshot, names: NameIndex, target: Target) -> Kinds:
    """Return the kind of thing a target asks for.

    A domain among the device classes counts as a domain. A device class says nothing where no entity of
    those domains has one, and is dropped. Raises ValidationError for what is no kind at all.
    """
    domains, classes, name, repaired = _read_domains(house, names, target)
    moved: set[str] = set()
    in_use = set().union(
        *(found for domain, found in names.classes.items() if not domains or domain in domains)
    )
    for text in target.device_class:
        word = fold(text).replace(" ", "_")
        if word in in_use and (domains or word not in DOMAINS):
            classes.add(word)
        elif (domain := _as_domain(text)) is not None:
            moved.add(domain)
        elif squash(text) in names.exact:
            name = name or text
            repaired = True
        elif word in OPENING_CLASSES and domains and not domains & OPENING_DOMAINS:
            raise ValidationError(
                f"device_class: a {' or '.join(sorted(domains))} is no {word}. Which is meant?"
            )
        elif not in_use or target.name or target.entity_id:
            repaired = True
        else:
            known = ", ".join(sorted(in_use))
            raise ValidationError(f"device_class: there is no {text[:40]!r}. Known: {known}"[:300])
    if domains and moved - domains:
        repaired = True
    return Kinds(frozenset(domains or moved), frozenset(classes), repaired, name)


def _read_domains(
    house: HouseSnapshot, names: NameIndex, target: Target
) -> tuple[set[str], set[str], str | None, bool]:
    """Return the domains, classes and a name found among them, and whether something was mended."""
    domains: set[str] = set()
    classes: set[str] = set()
    known_classes = set().union(*names.classes.values())
    name = None
    repaired = False
    for text in target.domain:
        if (domain := _as_domain(text)) is not None:
            domains.add(domain)
        elif fold(text) in ANY_DOMAIN:
            continue
        elif fold(text).replace(" ", "_") in known_classes:
            classes.add(fold(text).replace(" ", "_"))
            repaired = True
        elif any(squash(text) in table for table in (names.exact, names.qualified, names.object_ids)):
            name, repaired = text, True
        elif target.name or target.entity_id:
            repaired = True
        else:
            known = ", ".join(sorted(names.domains))
            raise ValidationError(f"domain: there is no {text[:40]!r}. Known: {known}"[:300])
        if "." in text and not (target.name or target.entity_id) and text.casefold() in house.entities:
            name = text
    return domains, classes, name, repaired


def _as_domain(text: str) -> str | None:
    """Return the domain that a text means."""
    plain = text.strip().casefold()
    if "." in plain:
        plain = plain.partition(".")[0]
    word = fold(plain).replace(" ", "_")
    return next((form for form in _forms(word) if form in DOMAINS), None) or domain_words().get(fold(plain))


def _forms(word: str) -> Iterable[str]:
    """Yield a word as it is and without the plural."""
    yield word
    yield word.removesuffix("es")
    yield word.removesuffix("s")
