"""R1 and P6: whether the entities that a sentence is about are found, and how fast.

`python -m benchmarks.retrieval [--data DIR]`: homes made here in seven languages, and, with `--data`, the
homes and queries of the `*.jsonl` files of that folder (lines of type `home` and `query`).
"""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
import json
import logging
from pathlib import Path
import tempfile
from time import perf_counter
from typing import Any

from pytest_homeassistant_custom_component.common import async_test_home_assistant

import custom_components.home_agent  # noqa: F401 - before the test plugin's own package of that name
from custom_components.home_agent.context.retrieval import async_retrieve
from custom_components.home_agent.knowledge.house import House
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.setup import async_setup_component
from tests.homes import DIAGNOSTICS, KINDS, LANGUAGES, ROOMS, build_home, expose

from .report import Table, middle, p95

LIMIT = 20
DEPTHS = (5, 10, 20)
COLUMNS = ("what", "queries", "@5 %", "@10 %", "@20 %", "median ms", "p95 ms")

PLACES = {
    "en": (
        "living room|kitchen|bedroom|bathroom|hallway|kids room|office|guest room"
        "|basement|garden|garage|attic"
    ),
    "de": (
        "im Wohnzimmer|in der Küche|im Schlafzimmer|im Bad|im Flur|im Kinderzimmer|im Büro|im Gästezimmer"
        "|im Keller|im Garten|in der Garage|auf dem Dachboden"
    ),
    "fr": (
        "du salon|de la cuisine|de la chambre|de la salle de bain|du couloir|de la chambre d'enfant|du bureau"
        "|de la chambre d'amis|de la cave|du jardin|du garage|du grenier"
    ),
    "es": (
        "del salón|de la cocina|del dormitorio|del baño|del pasillo|del cuarto de los niños|del despacho"
        "|del cuarto de invitados|del sótano|del jardín|del garaje|del desván"
    ),
    "pl": (
        "w salonie|w kuchni|w sypialni|w łazience|w korytarzu|w pokoju dziecięcym|w biurze|w pokoju gościnnym"
        "|w piwnicy|w ogrodzie|w garażu|na strychu"
    ),
    "ru": (
        "в гостиной|на кухне|в спальне|в ванной|в коридоре|в детской|в кабинете|в гостевой"
        "|в подвале|в саду|в гараже|на чердаке"
    ),
    "sv": (
        "i vardagsrummet|i köket|i sovrummet|i badrummet|i hallen|i barnrummet|på kontoret|i gästrummet"
        "|i källaren|i trädgården|i garaget|på vinden"
    ),
}
"""Per language: the rooms of `tests.homes.ROOMS` as one speaks of them."""

SENTENCES = {
    "en": (
        "turn off the lights in the {}|lower the blinds in the {}|set the heating in the {} to 21"
        "|mute the telly in the {}|how warm is it in the {}|are the windows in the {} open"
    ),
    "de": (
        "mach das Licht {} aus|fahr die Rollos {} runter|stell die Heizung {} auf 21"
        "|mach den Fernseher {} leiser|wie warm ist es {}|sind die Fenster {} offen"
    ),
    "fr": (
        "éteins les lumières {}|ferme les volets {}|mets le chauffage {} à 21"
        "|baisse le son de la télé {}|quelle est la température {}|les fenêtres {} sont ouvertes"
    ),
    "es": (
        "apaga las luces {}|baja las persianas {}|pon la calefacción {} a 21"
        "|quita el sonido de la tele {}|qué temperatura hace {}|están abiertas las ventanas {}"
    ),
    "pl": (
        "zgaś światła {}|opuść rolety {}|ustaw ogrzewanie {} na 21"
        "|ścisz telewizor {}|jaka jest temperatura {}|czy okna {} są otwarte"
    ),
    "ru": (
        "выключи свет {}|опусти жалюзи {}|поставь отопление {} на 21"
        "|сделай телевизор {} тише|какая температура {}|открыты ли окна {}"
    ),
    "sv": (
        "släck lamporna {}|dra ner rullgardinerna {}|ställ värmen {} på 21"
        "|sänk ljudet på teven {}|hur varmt är det {}|är fönstren {} öppna"
    ),
}
"""Per language: a request for each of the first six of `tests.homes.KINDS`."""


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


class Score:
    """Recall and times of one group of queries."""

    def __init__(self) -> None:
        """Start empty."""
        self._recalls: list[list[float]] = []
        self._times: list[float] = []

    def add(self, query: Query, found: Sequence[str], seconds: float) -> None:
        """Count one answer."""
        self._recalls.append([query.recall(found[:depth]) for depth in DEPTHS])
        self._times.append(seconds * 1000)

    def row(self, name: str) -> Sequence[object]:
        """Return the row of a table."""
        count = len(self._recalls)
        shares = (100 * sum(recalls) / count for recalls in zip(*self._recalls, strict=True))
        return (name, count, *shares, middle(self._times), p95(self._times))


@asynccontextmanager
async def empty_home(language: str) -> AsyncGenerator[HomeAssistant]:
    """Return a Home Assistant without entities, in a language."""
    with tempfile.TemporaryDirectory() as folder:
        async with async_test_home_assistant(config_dir=folder) as hass:
            hass.config.language = language
            assert await async_setup_component(hass, "homeassistant", {})
            try:
                yield hass
            finally:
                await hass.async_stop(force=True)


async def ask(hass: HomeAssistant, queries: Iterable[Query], scores: dict[str, Score]) -> None:
    """Ask everything and count."""
    house = House(hass)
    await house.async_start()
    snapshot = await house.async_snapshot()
    for query in queries:
        await async_retrieve(hass, snapshot, "", LIMIT, language=query.language)
        start = perf_counter()
        found = await async_retrieve(hass, snapshot, query.text, LIMIT, language=query.language)
        seconds = perf_counter() - start
        for group in query.groups:
            scores[group].add(query, [record.entity_id for record in found], seconds)
    await house.async_stop()


async def run() -> list[Table]:
    """Return the figures of the homes made here."""
    tables = []
    for name, entities, diagnostics in (
        ("84 entities", 84, 0),
        ("84 devices with 10 diagnostic entities each", 84, len(DIAGNOSTICS)),
        ("504 entities", 504, 0),
        ("1,000 entities", 1000, 0),
        ("5,000 entities", 5000, 0),
    ):
        table = Table("R1/P6", f"words alone, {name}", COLUMNS)
        for language in LANGUAGES if entities < 5000 else ("en", "de"):
            scores: dict[str, Score] = defaultdict(Score)
            async with empty_home(language) as hass:
                built = build_home(
                    hass,
                    entities,
                    language=language,
                    rooms=12 if entities < 500 else None,
                    devices=diagnostics > 0,
                    diagnostics=diagnostics,
                )
                await ask(hass, _spoken(hass, built.areas, language), scores)
            for score in scores.values():
                table.add(*score.row(language))
        tables.append(table)
    return tables


def _spoken(hass: HomeAssistant, areas: Sequence[str], language: str) -> list[Query]:
    """Return a request for each room and kind, in words as they are spoken."""
    registry = er.async_get(hass)
    by_area: dict[str | None, list[str]] = defaultdict(list)
    for entry in registry.entities.values():
        if entry.entity_category is None:
            by_area[er.async_get_effective_area_id(hass, entry)].append(entry.entity_id)
    queries = []
    for index, place in enumerate(PLACES[language].split("|")[: min(len(areas), len(ROOMS))]):
        for kind, sentence in zip(KINDS, SENTENCES[language].split("|"), strict=False):
            gold = frozenset(
                entity_id
                for entity_id in by_area[areas[index]]
                if entity_id.startswith(f"{kind.domain}.") and _is_class(registry, entity_id, kind.attributes)
            )
            if gold:
                queries.append(Query(sentence.format(place), gold, language, groups=("all",)))
    return queries


def _is_class(registry: er.EntityRegistry, entity_id: str, attributes: dict[str, Any]) -> bool:
    """Return whether an entity has the device class of a kind."""
    entry = registry.async_get(entity_id)
    return entry is not None and entry.original_device_class == attributes.get("device_class")


async def run_data(paths: Iterable[Path]) -> list[Table]:
    """Return the figures of recorded homes and queries, plain and with diagnostic entities added."""
    tables = []
    for path in paths:
        lines = await asyncio.to_thread(_read, path)
        homes = [line for line in lines if line["type"] == "home"]
        queries = [line for line in lines if line["type"] == "query"]
        for diagnostics in (0, len(DIAGNOSTICS)):
            scores: dict[str, Score] = defaultdict(Score)
            for home in homes:
                asked = [_query(line) for line in queries if line["home"] == home["home"]]
                async with empty_home(home["name_lang"]) as hass:
                    _build(hass, home["entities"], diagnostics)
                    await ask(hass, asked, scores)
            title = f"{path.name}, {diagnostics} diagnostic entities added to each device"
            table = Table("R1", f"words alone, {title}", COLUMNS)
            for group in sorted(scores):
                table.add(*scores[group].row(group))
            tables.append(table)
    return tables


def _read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _query(line: dict[str, Any]) -> Query:
    """Return a query from its line."""
    groups = ["all", f"in {line['lang']}"]
    if line["lexical_overlap"] is not None:
        groups.append("shares a word" if line["lexical_overlap"] else "shares no word")
    return Query(line["text"], frozenset(line["gold"]), line["lang"], line["any_of"], tuple(groups))


def _build(hass: HomeAssistant, entities: Sequence[dict[str, Any]], diagnostics: int) -> None:
    """Build a recorded home."""
    registry = er.async_get(hass)
    areas: dict[str, str] = {}
    for item in entities:
        if (area := item.get("area")) and area not in areas:
            floor = item.get("floor")
            level = floor and (
                fr.async_get(hass).async_get_floor_by_name(floor) or fr.async_get(hass).async_create(floor)
            )
            areas[area] = ar.async_get(hass).async_create(area, floor_id=level.floor_id if level else None).id
    devices: set[str] = set()
    for item in entities:
        _add(hass, registry, item, areas)
        device = item.get("device") or item["entity_id"]
        if device not in devices:
            devices.add(device)
            object_id = item["entity_id"].partition(".")[2]
            for text in DIAGNOSTICS[:diagnostics]:
                reading = {
                    "entity_id": f"sensor.{object_id}_{text.lower().replace(' ', '_')}",
                    "name": f"{item['name']} {text}",
                    "area": item.get("area"),
                }
                _add(hass, registry, reading, areas)


def _add(
    hass: HomeAssistant, registry: er.EntityRegistry, item: dict[str, Any], areas: dict[str, str]
) -> None:
    """Add one exposed entity of a recorded home."""
    domain, _, object_id = item["entity_id"].partition(".")
    entry = registry.async_get_or_create(
        domain,
        "recorded",
        item["entity_id"],
        suggested_object_id=object_id,
        original_name=item["name"],
        original_device_class=item.get("device_class"),
    )
    if item.get("area"):
        registry.async_update_entity(entry.entity_id, area_id=areas[item["area"]])
    expose(hass, entry.entity_id)
    hass.states.async_set(entry.entity_id, "on", {"friendly_name": item["name"]})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with *.jsonl files of homes and queries")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    for table in asyncio.run(run()):
        table.show()
    if options.data:
        for table in asyncio.run(run_data(sorted(options.data.glob("*.jsonl")))):
            table.show()


if __name__ == "__main__":
    main()
