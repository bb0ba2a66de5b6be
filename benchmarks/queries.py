"""Sentences with the entities that they are about."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from tests.helpers.homes import KINDS, ROOMS

FILE = Path(__file__).parent / "data" / "spoken.yaml"
SPOKEN: dict[str, dict[str, list[str]]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
GROUPS = {"sentences": "", "indirect": " indirect", "farther": " farther"}
"""Kinds of sentences, and what their group is called beside the language."""


@dataclass(frozen=True, slots=True)
class Query:
    """A sentence and the entities it is about."""

    text: str
    gold: frozenset[str]
    language: str
    any_of: bool = False
    groups: tuple[str, ...] = ()

    def recall(self, found: Sequence[str]) -> float:
        """Return which share of what is needed was found."""
        hits = len(self.gold.intersection(found))
        return float(hits > 0) if self.any_of else hits / len(self.gold)


def spoken(hass: HomeAssistant, areas: Sequence[str], language: str) -> list[Query]:
    """Return a request for each room and kind, in words as they are spoken."""
    registry = er.async_get(hass)
    by_area: dict[str | None, list[str]] = defaultdict(list)
    for entry in registry.entities.values():
        if entry.entity_category is None:
            by_area[er.async_get_effective_area_id(hass, entry)].append(entry.entity_id)
    queries = []
    for index, place in enumerate(SPOKEN["places"][language][: min(len(areas), len(ROOMS))]):
        sentences = zip(*(SPOKEN[group][language] for group in GROUPS), strict=True)
        for kind, texts in zip(KINDS, sentences, strict=False):
            gold = frozenset(
                entity_id
                for entity_id in by_area[areas[index]]
                if entity_id.startswith(f"{kind.domain}.") and _is_class(registry, entity_id, kind.attributes)
            )
            queries += [
                Query(text.format(place), gold, language, groups=(f"{language}{group}",))
                for text, group in zip(texts, GROUPS.values(), strict=True)
                if gold
            ]
    return queries


def _is_class(registry: er.EntityRegistry, entity_id: str, attributes: dict[str, Any]) -> bool:
    entry = registry.async_get(entity_id)
    return entry is not None and entry.original_device_class == attributes.get("device_class")
