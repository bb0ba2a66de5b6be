"""R1 and P6: whether the entities that a sentence is about are found, and how fast.

The recorded homes and queries of the `*.jsonl` files (lines of type `home` and `query`) of a folder,
`benchmarks/data/retrieval` or what HOME_AGENT_RETRIEVAL_DATA names, and homes made here in seven languages.
Each by words alone, and with the built-in embedder.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
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
from tests.helpers.homes import DIAGNOSTICS, LANGUAGES, build_home, expose

from .finders import Finder, HybridFinder
from .harness import LoopbackResolver
from .queries import Query, spoken
from .reached import reached
from .report import Table, middle, p95

LIMIT = 20
DEPTHS = (5, 10, 20)
COLUMNS = (
    *("what", "queries", "@5 %", "@10 %", "@20 %", "goal %"),
    *("median ms", "p95 ms", "p95 CPU ms", "goal ms"),
)
MANY_ROOMS = 500
"""Entities from which a made home has more than a dozen rooms."""
DATA_VARIABLE = "HOME_AGENT_RETRIEVAL_DATA"
DATA = Path(__file__).parent / "data" / "retrieval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A home that is made here, and what is to be reached in it."""

    name: str
    entities: int
    diagnostics: int = 0
    languages: Sequence[str] = LANGUAGES
    goal: str = ""
    elsewhere: str = ""
    """The goal in other languages than English."""
    unnamed: str = ""
    """The goal for sentences that share no word with what they mean."""
    words_ms: str = ""
    hybrid_ms: str = ""


HOMES = (
    Made(
        name="84 entities",
        entities=84,
        goal="@10 99",
        elsewhere="@10 97",
        unnamed="@10 95",
    ),
    Made(
        name="84 devices with 10 diagnostic entities each",
        entities=84,
        diagnostics=len(DIAGNOSTICS),
        goal="@10 92, @20 96",
        elsewhere="@10 92, @20 96",
    ),
    Made(name="504 entities", entities=504, goal="@20 94", elsewhere="@20 94"),
    Made(name="1,000 entities", entities=1000, words_ms="2", hybrid_ms="8"),
    Made(
        name="5,000 entities",
        entities=5000,
        languages=("en", "de"),
        words_ms="8",
        hybrid_ms="20",
    ),
)
RECORDED_GOALS = {"all": "@10 99", "shares no word": "@10 95"}
RECORDED_ELSEWHERE = "@10 97"
CROWDED_GOAL = "@10 92, @20 96"


class Score:
    """Recall and times of one group of queries."""

    def __init__(self) -> None:
        self._recalls: list[list[float]] = []
        self._times: list[float] = []
        self._loads: list[float] = []

    def add(self, query: Query, found: Sequence[str], seconds: float, busy: float) -> None:
        """Count one answer; `busy` are the seconds of this process's processor time."""
        self._recalls.append([query.recall(found[:depth]) for depth in DEPTHS])
        self._times.append(seconds * 1000)
        self._loads.append(busy * 1000)

    def row(self, name: str, goal: str, goal_ms: str) -> Sequence[object]:
        """Return the row of a table."""
        count = len(self._recalls)
        shares = (100 * sum(recalls) / count for recalls in zip(*self._recalls, strict=True))
        times = (middle(self._times), p95(self._times), p95(self._loads))
        return (name, count, *shares, goal, *times, goal_ms)


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


def _tables(
    title: str, scores: Scores, goal: Callable[[str], str], goals_ms: tuple[str, str] = ("", "")
) -> list[Table]:
    """Return a table for each finder; `goals_ms` are those by words alone and with an embedder."""
    tables = []
    for name, groups in scores.items():
        table = Table("R1/P6", f"{name}: {title}", COLUMNS)
        for group in groups:
            table.add(*groups[group].row(group, goal(group), goals_ms[name != Finder.name]))
        tables.append(table)
    return tables


def _no_scores() -> Scores:
    return defaultdict(lambda: defaultdict(Score))


async def run() -> list[Table]:
    """Return the figures of the recorded homes, of those made here, and of whole requests."""
    finders = (Finder(), HybridFinder())
    return [*await run_data(_recorded(), finders), *await run_made(finders), await reached()]


async def run_made(finders: Sequence[Finder]) -> list[Table]:
    """Return the figures of the homes made here."""
    tables = []
    for home in HOMES:
        scores = _no_scores()
        for language in home.languages:
            async with empty_home(language) as hass:
                built = build_home(
                    hass,
                    home.entities,
                    language=language,
                    rooms=12 if home.entities < MANY_ROOMS else None,
                    devices=home.diagnostics > 0,
                    diagnostics=home.diagnostics,
                )
                queries = spoken(hass, built.areas, language)
                await ask(hass, queries, finders, scores)
        tables += _tables(home.name, scores, partial(_made_goal, home), (home.words_ms, home.hybrid_ms))
    return tables


def _made_goal(home: Made, group: str) -> str:
    language, _, kind = group.partition(" ")
    if kind:
        return home.unnamed if kind == "indirect" else ""
    return home.goal if language == "en" else home.elsewhere


def _recorded() -> list[Path]:
    return sorted(Path(os.environ.get(DATA_VARIABLE) or DATA).glob("*.jsonl"))


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
                    await ask(hass, asked, finders, scores)
            title = f"{path.name}, {diagnostics} diagnostic entities added to each device"
            tables += _tables(title, scores, _crowded_goal if diagnostics else _recorded_goal)
    return tables


def _recorded_goal(group: str) -> str:
    elsewhere = RECORDED_ELSEWHERE if group.startswith("in ") and group != "in en" else ""
    return RECORDED_GOALS.get(group, elsewhere)


def _crowded_goal(group: str) -> str:
    return CROWDED_GOAL if group == "all" else ""


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _query(line: dict[str, Any]) -> Query:
    groups = ["all", f"in {line['lang']}"]
    if line["lexical_overlap"] is not None:
        groups.append("shares a word" if line["lexical_overlap"] else "shares no word")
    return Query(line["text"], frozenset(line["gold"]), line["lang"], line["any_of"], tuple(groups))


def _build(hass: HomeAssistant, entities: Sequence[dict[str, Any]], diagnostics: int) -> None:
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
