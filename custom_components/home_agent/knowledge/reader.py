"""Reads records of entities, areas and floors from Home Assistant's registries."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.util import slugify

from ..domains import DOMAINS
from ..domains.features import feature_bits
from ..regex import lazy_regex
from .records import Area, EntityRecord, Floor

NAMED_OUTSIDE: Final = frozenset({"router", "bluetooth", "bluetooth_le"})
"""Sources of presence that take names from the devices that they see."""

MAX_CHOICES: Final = 8
_CHOICE: Final = lazy_regex(r"[\w .+-]{1,20}")


@callback
def read_areas(hass: HomeAssistant) -> dict[str, Area]:
    """Return all areas by id."""
    return {
        area.id: Area(
            area_id=area.id,
            name=area.name.strip(),
            aliases=_other_names(area.name, sorted(area.aliases)),
            floor_id=area.floor_id,
        )
        for area in ar.async_get(hass).async_list_areas()
    }


@callback
def read_floors(hass: HomeAssistant) -> dict[str, Floor]:
    """Return all floors by id."""
    return {
        floor.floor_id: Floor(
            floor_id=floor.floor_id,
            name=floor.name.strip(),
            aliases=_other_names(floor.name, sorted(floor.aliases)),
            level=floor.level,
        )
        for floor in fr.async_get(hass).async_list_floors()
    }


def _is_named_outside(state: State, entry: er.RegistryEntry | None) -> bool:
    """Return whether the name of an entity is what the owner of a phone has named it.

    A router or a Bluetooth receiver repeats that name. It is trusted as long as it is the one by which the
    entity was registered: the household has exposed the entity with it.
    """
    if state.domain != "device_tracker" or (entry and entry.name) or slugify(state.name) == state.object_id:
        return False
    source = state.attributes.get("source_type")
    return source in NAMED_OUTSIDE or (entry is not None and source is None)


@callback
def read_record(hass: HomeAssistant, state: State, previous: EntityRecord | None = None) -> EntityRecord:
    """Return the record of an entity, which need not be in the registry.

    `previous` keeps abilities that this kind of entity shows only in some states.
    """
    entry = er.async_get(hass).async_get(state.entity_id)
    attributes = state.attributes
    strange = _is_named_outside(state, entry)
    name = state.object_id.replace("_", " ").title() if strange else str(state.name).strip()
    abilities = abilities_of(
        state.domain,
        attributes,
        entry.capabilities if entry else None,
        entry.supported_features if entry else 0,
    )
    if previous is not None and DOMAINS[state.domain].features_vary:
        abilities = tuple(sorted({*abilities, *previous.abilities}))
    choices = choices_of(state.domain, attributes, entry.capabilities if entry else None)
    device_class = attributes.get("device_class")
    if entry is None:
        return EntityRecord(
            entity_id=state.entity_id,
            domain=state.domain,
            name=name,
            device_class=str(device_class) if device_class else None,
            abilities=abilities,
            choices=choices,
        )
    device_class = entry.device_class or device_class or entry.original_device_class
    device = dr.async_get(hass).async_get(entry.device_id) if entry.device_id else None
    aliases = er.async_get_entity_aliases(hass, entry)
    if strange:
        aliases = [alias for alias in aliases if alias.strip() != str(state.name).strip()]
    area_id = er.async_get_effective_area_id(hass, entry)
    area = ar.async_get(hass).async_get_area(area_id) if area_id else None
    return EntityRecord(
        entity_id=state.entity_id,
        domain=state.domain,
        name=name,
        aliases=_other_names(name, aliases),
        area_id=area.id if area else None,
        floor_id=area.floor_id if area else None,
        device=(device.name_by_user or (None if strange else device.name)) if device else None,
        device_class=str(device_class) if device_class else None,
        labels=_label_names(hass, entry.labels.union(*(one.labels for one in (device, area) if one))),
        category=entry.entity_category.value if entry.entity_category else None,
        abilities=abilities,
        choices=choices,
    )


def abilities_of(
    domain: str,
    attributes: Mapping[str, Any],
    capabilities: Mapping[str, Any] | None = None,
    features: int = 0,
) -> tuple[str, ...]:
    """Return the parameters that can be set, sorted by name.

    `capabilities` and `features` are what the registry remembers; the state's own attributes count more.
    """
    facts = DOMAINS[domain]
    bits = attributes.get(ATTR_SUPPORTED_FEATURES, features)
    found = {
        ability
        for ability, needed in facts.feature_abilities.items()
        if not needed or (isinstance(bits, int) and bits and bits & feature_bits(domain, needed))
    }
    if facts.find_abilities is not None:
        found.update(facts.find_abilities({**(capabilities or {}), **attributes}))
    return tuple(sorted(found))


def choices_of(
    domain: str, attributes: Mapping[str, Any], capabilities: Mapping[str, Any] | None = None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the parameters whose choices are few and plain words, with these."""
    known = {**(capabilities or {}), **attributes}
    found = []
    for name, parameter in DOMAINS[domain].parameters.items():
        given = known.get(parameter.choices or "")
        if not parameter.has_few_choices or not isinstance(given, list | tuple) or len(given) > MAX_CHOICES:
            continue
        words = tuple(str(choice) for choice in given)
        if words and all(_CHOICE.fullmatch(word) for word in words):
            found.append((name, words))
    return tuple(found)


def _other_names(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the names that differ from the first and from each other, in order."""
    seen = {name.strip().casefold(), ""}
    found = []
    for candidate in candidates:
        text = candidate.strip()
        if (key := text.casefold()) not in seen:
            seen.add(key)
            found.append(text)
    return tuple(found)


@callback
def _label_names(hass: HomeAssistant, label_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the names of labels, sorted."""
    labels = lr.async_get(hass)
    return tuple(sorted(label.name for key in label_ids if (label := labels.async_get_label(key))))
