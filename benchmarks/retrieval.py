"""R1 and P6: whether the entities that a sentence is about are found, and how fast.

Homes made here in seven languages, and the recorded homes and queries of the `*.jsonl` files (lines of type
`home` and `query`) of a folder: `benchmarks/data/retrieval`, or what HOME_AGENT_RETRIEVAL_DATA names. Each by
words alone, with the built-in embedder, and with an embedding server.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
import json
import os
from pathlib import Path
import tempfile
from time import perf_counter, process_time
from typing import Any

from pytest_homeassistant_custom_component.common import async_test_home_assistant

import custom_components.home_agent  # noqa: F401 - before the test plugin's own package of that name
from custom_components.home_agent.knowledge.house import House
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.helpers.aiohttp_client import DATA_RESOLVER
from homeassistant.setup import async_setup_component
from tests.homes import DIAGNOSTICS, KINDS, LANGUAGES, ROOMS, build_home, expose

from .finders import Finder, all_finders
from .harness import LoopbackResolver
from .report import Table, middle, p95
from .spoken import INDIRECT, PLACES, SENTENCES

LIMIT = 20
LARGE = 5000
MAX_SERVED = 1000
"""Entities up to which the server is asked as well; it is slow on a small machine."""
DEPTHS = (5, 10, 20)
COLUMNS = ("what", "queries", "@5 %", "@10 %", "@20 %", "median ms", "p95 ms", "p95 CPU ms")
DATA_VARIABLE = "HOME_AGENT_RETRIEVAL_DATA"
DATA = Path(__file__).parent / "data" / "retrieval"


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
        self._loads: list[float] = []

    def add(self, query: Query, found: Sequence[str], seconds: float, busy: float) -> None:
        """Count one answer; `busy` are the seconds of this process's processor time."""
        self._recalls.append([query.recall(found[:depth]) for depth in DEPTHS])
        self._times.append(seconds * 1000)
        self._loads.append(busy * 1000)

    def row(self, name: str) -> Sequence[object]:
        """Return the row of a table."""
        count = len(self._recalls)
        shares = (100 * sum(recalls) / count for recalls in zip(*self._recalls, strict=True))
        return (name, count, *shares, middle(self._times), p95(self._times), p95(self._loads))


@asynccontextmanager
async def empty_home(language: str) -> AsyncGenerator[HomeAssistant]:
    """Return a Home Assistant without entities, in a language."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with async_test_home_assistant(config_dir=folder) as hass:
            hass.config.language = language
            hass.data[DATA_RESOLVER] = LoopbackResolver()  # Home Assistant's own would start zeroconf
            assert await async_setup_component(hass, "homeassistant", {})
            try:
                yield hass
            finally:
                await hass.async_stop(force=True)


type Scores = dict[str, dict[str, Score]]
"""Per finder and group."""


async def ask(
    hass: HomeAssistant, queries: Sequence[Query], finders: Iterable[Finder], scores: Scores
) -> None:
    """Ask everything and count."""
    house = House(hass)
    await house.async_start()
    snapshot = await house.async_snapshot()
    for finder in finders:
        async with finder.opened(hass, snapshot):
            for language in {query.language for query in queries}:
                await finder.async_find(hass, snapshot, "-", LIMIT, language)
            for query in queries:
                start, busy = perf_counter(), process_time()
                found = await finder.async_find(hass, snapshot, query.text, LIMIT, query.language)
                seconds, busy = perf_counter() - start, process_time() - busy
                for group in query.groups:
                    scores[finder.name][group].add(query, found, seconds, busy)
    await house.async_stop()


def _tables(title: str, scores: Scores) -> list[Table]:
    """Return a table for each finder."""
    tables = []
    for name, groups in scores.items():
        table = Table("R1/P6", f"{name}: {title}", COLUMNS)
        for group in groups:
            table.add(*groups[group].row(group))
        tables.append(table)
    return tables


def _no_scores() -> Scores:
    """Return where scores are counted."""
    return defaultdict(lambda: defaultdict(Score))


async def run() -> list[Table]:
    """Return the figures of the homes made here, then of the recorded ones."""
    async with all_finders() as finders:
        return [*await run_made(finders), *await run_data(_recorded(), finders)]


async def run_made(finders: Sequence[Finder]) -> list[Table]:
    """Return the figures of the homes made here."""
    tables = []
    for name, entities, diagnostics in (
        ("84 entities", 84, 0),
        ("84 devices with 10 diagnostic entities each", 84, len(DIAGNOSTICS)),
        ("504 entities", 504, 0),
        ("1,000 entities", 1000, 0),
        ("5,000 entities", 5000, 0),
    ):
        scores = _no_scores()
        for language in LANGUAGES if entities < LARGE else ("en", "de"):
            async with empty_home(language) as hass:
                built = build_home(
                    hass,
                    entities,
                    language=language,
                    rooms=12 if entities < 500 else None,
                    devices=diagnostics > 0,
                    diagnostics=diagnostics,
                )
                queries = _spoken(hass, built.areas, language)
                served = finders if entities * (1 + diagnostics) <= MAX_SERVED else finders[:2]
                await ask(hass, queries, served, scores)
        tables += _tables(name, scores)
    return tables


def _recorded() -> list[Path]:
    """Return the files of recorded homes."""
    return sorted(Path(os.environ.get(DATA_VARIABLE) or DATA).glob("*.jsonl"))


def _spoken(hass: HomeAssistant, areas: Sequence[str], language: str) -> list[Query]:
    """Return a request for each room and kind, in words as they are spoken."""
    registry = er.async_get(hass)
    by_area: dict[str | None, list[str]] = defaultdict(list)
    for entry in registry.entities.values():
        if entry.entity_category is None:
            by_area[er.async_get_effective_area_id(hass, entry)].append(entry.entity_id)
    queries = []
    for index, place in enumerate(PLACES[language].split("|")[: min(len(areas), len(ROOMS))]):
        sentences = zip(SENTENCES[language].split("|"), INDIRECT[language].split("|"), strict=True)
        for kind, (sentence, indirect) in zip(KINDS, sentences, strict=False):
            gold = frozenset(
                entity_id
                for entity_id in by_area[areas[index]]
                if entity_id.startswith(f"{kind.domain}.") and _is_class(registry, entity_id, kind.attributes)
            )
            if gold:
                queries.append(Query(sentence.format(place), gold, language, groups=(language,)))
                queries.append(
                    Query(indirect.format(place), gold, language, groups=(f"{language} indirect",))
                )
    return queries


def _is_class(registry: er.EntityRegistry, entity_id: str, attributes: dict[str, Any]) -> bool:
    """Return whether an entity has the device class of a kind."""
    entry = registry.async_get(entity_id)
    return entry is not None and entry.original_device_class == attributes.get("device_class")


async def run_data(paths: Iterable[Path], finders: Sequence[Finder]) -> list[Table]:
    """Return the figures of recorded homes and queries, plain and with diagnostic entities added."""
    tables = []
    for path in paths:
        lines = await asyncio.to_thread(_read, path)
        homes = [line for line in lines if line["type"] == "home"]
        queries = [line for line in lines if line["type"] == "query"]
        for diagnostics in (0, len(DIAGNOSTICS)):
            scores = _no_scores()
            for home in homes:
                asked = [_query(line) for line in queries if line["home"] == home["home"]]
                async with empty_home(home["name_lang"]) as hass:
                    _build(hass, home["entities"], diagnostics)
                    await ask(hass, asked, finders if not diagnostics else finders[:2], scores)
            title = f"{path.name}, {diagnostics} diagnostic entities added to each device"
            tables += _tables(title, scores)
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
