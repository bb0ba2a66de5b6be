"""Synthetic homes of any size on a real `hass`, in several languages."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
import random
from typing import Any

from pytest_homeassistant_custom_component.common import MockConfigEntry

from homeassistant.components.homeassistant import exposed_entities
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)
from homeassistant.util import slugify
from tests.helpers.tables import tables


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity: what its state looks like and what people call it."""

    domain: str
    words: dict[str, str]
    state: str
    attributes: dict[str, Any]


TABLES = tables(__file__)
LANGUAGES: tuple[str, ...] = tuple(TABLES["languages"])


def _words(texts: str) -> dict[str, str]:
    return dict(zip(LANGUAGES, texts.split("|"), strict=True))


ROOMS = [_words(texts) for texts in TABLES["rooms"]]
FLOORS = [_words(texts) for texts in TABLES["floors"]]
KINDS = [Kind(**{**kind, "words": _words(kind["words"])}) for kind in TABLES["kinds"]]
DIAGNOSTICS: list[str] = TABLES["diagnostics"]


@dataclass(frozen=True, slots=True)
class BuiltHome:
    """Ids of what was built, in the order of building."""

    entities: list[str]
    areas: list[str]
    floors: list[str]


def build_home(
    hass: HomeAssistant,
    count: int,
    *,
    language: str = "en",
    rooms: int | None = None,
    floors: int = 2,
    devices: bool = False,
    diagnostics: int = 0,
    aliases: bool = False,
    exposed: bool = True,
    seed: int = 0,
) -> BuiltHome:
    """Build a home of `count` entities over rooms and floors.

    With `devices` each entity sits on a device that has the area; `diagnostics` adds that many
    diagnostic entities to each; with `aliases` every third has one in another language.
    """
    rng = random.Random(seed)  # noqa: S311
    rooms = rooms or max(3, min(60, count // 8 + 1))
    floor_ids = _build_floors(hass, floors, language)
    area_ids, names = _build_areas(hass, rooms, floor_ids, language)
    registry = er.async_get(hass)
    entry = MockConfigEntry(domain="synthetic", title="Synthetic")
    entry.add_to_hass(hass)
    built: list[str] = []
    for index in range(count):
        room = index % rooms
        kind = KINDS[(index // rooms) % len(KINDS)]
        repeat = index // rooms // len(KINDS)
        name = f"{names[room]} {kind.words[language]}" + (f" {repeat + 1}" if repeat else "")
        device_id = _build_device(hass, entry, index, name, area_ids[room]) if devices else None
        registered = registry.async_get_or_create(
            kind.domain,
            "synthetic",
            f"{seed}-{index}",
            config_entry=entry,
            device_id=device_id,
            suggested_object_id=slugify(name),
            original_name=None if devices else name,
            has_entity_name=devices,
            original_device_class=kind.attributes.get("device_class"),
            supported_features=kind.attributes.get("supported_features", 0),
            capabilities={k: v for k, v in kind.attributes.items() if k.endswith("_modes")} or None,
        )
        changes: dict[str, Any] = {} if devices else {"area_id": area_ids[room]}
        if aliases and index % 3 == 0:
            other = rng.choice([key for key in LANGUAGES if key != language])
            changes["aliases"] = [er.COMPUTED_NAME, f"{ROOMS[room % len(ROOMS)][other]} {kind.words[other]}"]
        if changes:
            registry.async_update_entity(registered.entity_id, **changes)
        expose(hass, registered.entity_id, exposed=exposed)
        hass.states.async_set(registered.entity_id, kind.state, {**kind.attributes, "friendly_name": name})
        built.append(registered.entity_id)
        built.extend(
            _build_diagnostic(
                hass, entry, owner=registered.entity_id, name=name, device_id=device_id, text=text
            )
            for text in DIAGNOSTICS[:diagnostics]
        )
    return BuiltHome(built, area_ids, floor_ids)


def expose(hass: HomeAssistant, entity_id: str, *, exposed: bool = True) -> None:
    exposed_entities.async_expose_entity(hass, "conversation", entity_id, exposed)


def _build_floors(hass: HomeAssistant, count: int, language: str) -> list[str]:
    registry = fr.async_get(hass)
    return [
        registry.async_create(_numbered(FLOORS, index, language), level=index).floor_id
        for index in range(count)
    ]


def _build_areas(
    hass: HomeAssistant, count: int, floor_ids: Sequence[str], language: str
) -> tuple[list[str], list[str]]:
    registry = ar.async_get(hass)
    names = [_numbered(ROOMS, index, language) for index in range(count)]
    floor_of = cycle(floor_ids or [None])
    return [registry.async_create(name, floor_id=next(floor_of)).id for name in names], names


def _numbered(table: Sequence[dict[str, str]], index: int, language: str) -> str:
    name = table[index % len(table)][language]
    return name if index < len(table) else f"{name} {index // len(table) + 1}"


def _build_device(hass: HomeAssistant, entry: MockConfigEntry, index: int, name: str, area_id: str) -> str:
    devices = dr.async_get(hass)
    device = devices.async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("synthetic", str(index))}, name=name
    )
    devices.async_update_device(device.id, area_id=area_id)
    return device.id


def _build_diagnostic(
    hass: HomeAssistant, entry: MockConfigEntry, *, owner: str, name: str, device_id: str | None, text: str
) -> str:
    object_id = f"{owner.partition('.')[2]}_{slugify(text)}"
    registered = er.async_get(hass).async_get_or_create(
        "sensor",
        "synthetic",
        f"{owner}-{text}",
        config_entry=entry,
        device_id=device_id,
        suggested_object_id=object_id,
        original_name=text,
        has_entity_name=True,
        entity_category=er.EntityCategory.DIAGNOSTIC,
    )
    expose(hass, registered.entity_id)
    hass.states.async_set(registered.entity_id, "1", {"friendly_name": f"{name} {text}"})
    return registered.entity_id
