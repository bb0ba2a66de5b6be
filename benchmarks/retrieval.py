"""R1 and P6: whether the entities that a sentence is about are found, how fast, and what reaches the request.

The recorded homes and queries of the `*.jsonl` files (lines of type `home` and `query`) of a folder,
`benchmarks/data/retrieval` or what HOME_AGENT_RETRIEVAL_DATA names, and homes made here in seven languages.
Each by words alone, and with the built-in embedder and a vector store beside.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import re
import tempfile
from time import perf_counter, process_time
from typing import Any

from pytest_homeassistant_custom_component.common import async_test_home_assistant
import yaml

from custom_components.home_agent import const
from custom_components.home_agent.context.retrieval import async_retrieve
from custom_components.home_agent.knowledge.documents import entity_text
from custom_components.home_agent.knowledge.house import House, HouseSnapshot
from custom_components.home_agent.knowledge.semantic import KnowledgeDocument, TextSource
from custom_components.home_agent.knowledge.spoken_words import async_class_words, known_language
from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.helpers.aiohttp_client import DATA_RESOLVER
from homeassistant.setup import async_setup_component
from tests.helpers.homes import DIAGNOSTICS, KINDS, LANGUAGES, ROOMS, build_home, expose
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .harness import LoopbackResolver, add_ours, running_home
from .memory import semantic_index
from .report import Table, middle, p95
from .requests import GOAL_TOKENS, as_text, count_tokens

LIMIT = 20
DEPTHS = (5, 10, 20)
COLUMNS = (
    *("what", "queries", "@5 %", "@10 %", "@20 %", "goal %"),
    *("median ms", "p95 ms", "p95 CPU ms", "goal ms"),
)
WAYS = ("words alone", "words and built-in embedder")
DATA_VARIABLE = "HOME_AGENT_RETRIEVAL_DATA"
DATA = Path(__file__).parent / "data"
SPOKEN: dict[str, dict[str, list[str]]] = yaml.safe_load((DATA / "spoken.yaml").read_text(encoding="utf-8"))
GROUPS = {"sentences": "", "indirect": " indirect", "farther": " farther"}
"""Kinds of sentences, and what their group is called beside the language."""


@dataclass(frozen=True, slots=True)
class Query:
    """A sentence and the entities it is about."""

    text: str
    gold: frozenset[str]
    language: str
    groups: Sequence[str]
    any_of: bool = False

    def recall(self, found: Sequence[str]) -> float:
        """Return which share of what is needed was found."""
        hits = len(self.gold.intersection(found))
        return float(hits > 0) if self.any_of else hits / len(self.gold)


@dataclass(frozen=True, slots=True)
class Made:
    """A home that is made here, and its goals."""

    name: str
    entities: int
    goal: str = ""
    elsewhere: str = ""
    """In other languages than English."""
    unnamed: str = ""
    """For sentences that share no word with what they mean."""
    diagnostics: int = 0
    rooms: int | None = 12
    languages: Sequence[str] = LANGUAGES
    goals_ms: Sequence[str] = ("", "")
    """By words alone, and with the embedder."""

    def goal_of(self, group: str) -> str:
        """Return the goal for a group of queries."""
        language, _, kind = group.partition(" ")
        if kind:
            return self.unnamed if kind == "indirect" else ""
        return self.goal if language == "en" else self.elsewhere


CROWDED = "@10 92, @20 96"
HOMES = (
    Made("84 entities", 84, "@10 99", "@10 97", "@10 95"),
    Made("84 devices with 10 diagnostic entities each", 84, CROWDED, CROWDED, diagnostics=len(DIAGNOSTICS)),
    Made("504 entities", 504, "@20 94", "@20 94", rooms=None),
    Made("1,000 entities", 1000, rooms=None, goals_ms=("2", "8")),
    Made("5,000 entities", 5000, rooms=None, languages=("en", "de"), goals_ms=("8", "20")),
)


@dataclass(slots=True)
class Score:
    """Recall, seconds, and seconds of this process's processor time of one group of queries."""

    recalls: list[list[float]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)

    def row(self, name: str, goal: str, goal_ms: str) -> Sequence[object]:
        """Return the row of a table."""
        shares = (100 * sum(depth) / len(self.recalls) for depth in zip(*self.recalls, strict=True))
        milliseconds = (1000 * each for each in (middle(self.times), p95(self.times), p95(self.loads)))
        return (name, len(self.recalls), *shares, goal, *milliseconds, goal_ms)


type Scores = dict[str, dict[str, Score]]
"""By way and group."""
type Find = Callable[[str, str], Coroutine[Any, Any, list[str]]]
"""From a sentence and its language to the entities that are found."""


async def run() -> list[Table]:
    """Return the figures of the recorded homes, of those made here, and of whole requests."""
    tables: list[Table] = []
    folder = Path(os.environ.get(DATA_VARIABLE) or DATA / "retrieval")
    for path in sorted(await asyncio.to_thread(lambda: [*folder.glob("*.jsonl")])):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for diagnostics in (0, len(DIAGNOSTICS)):
            scores = _no_scores()
            for home in (line for line in lines if line["type"] == "home"):
                queries = [
                    _query(line) for line in lines if line["type"] == "query" and line["home"] == home["home"]
                ]
                async with _empty_home(home["name_lang"]) as hass:
                    _build(hass, home["entities"], diagnostics)
                    await _ask(hass, queries, scores)
            title = f"{path.name}, {diagnostics} diagnostic entities added to each device"
            tables += _tables(title, scores, _crowded_goal if diagnostics else _recorded_goal)
    for made in HOMES:
        scores = _no_scores()
        for language in made.languages:
            async with _empty_home(language) as hass:
                built = build_home(
                    hass,
                    made.entities,
                    language=language,
                    rooms=made.rooms,
                    devices=made.diagnostics > 0,
                    diagnostics=made.diagnostics,
                )
                await _ask(hass, _spoken(hass, built.areas, language), scores)
        tables += _tables(made.name, scores, made.goal_of, made.goals_ms)
    return [*tables, await _reached()]


def _no_scores() -> Scores:
    return defaultdict(lambda: defaultdict(Score))


def _tables(
    title: str, scores: Scores, goal: Callable[[str], str], goals_ms: Sequence[str] = ("", "")
) -> list[Table]:
    tables = []
    for (way, groups), goal_ms in zip(scores.items(), goals_ms, strict=True):
        table = Table("R1/P6", f"{way}: {title}", COLUMNS)
        for group, score in groups.items():
            table.add(*score.row(group, goal(group), goal_ms))
        tables.append(table)
    return tables


async def _ask(hass: HomeAssistant, queries: Sequence[Query], scores: Scores) -> None:
    home = House(hass)
    await home.async_start()
    house = await home.async_snapshot()
    for way in WAYS:
        async with _finder(hass, house, by_meaning=way != WAYS[0]) as find:
            for language in {query.language for query in queries}:
                await find("-", language)
            for query in queries:
                start, busy = perf_counter(), process_time()
                found = await find(query.text, query.language)
                seconds, busy = perf_counter() - start, process_time() - busy
                for group in query.groups:
                    score = scores[way][group]
                    score.recalls.append([query.recall(found[:depth]) for depth in DEPTHS])
                    score.times.append(seconds)
                    score.loads.append(busy)
    await home.async_stop()


@asynccontextmanager
async def _finder(hass: HomeAssistant, house: HouseSnapshot, *, by_meaning: bool) -> AsyncGenerator[Find]:
    """Return what finds entities in a house; making it ready does not count."""
    await async_retrieve(hass, house, "", 1)

    async def by_words(text: str, language: str, **more: Any) -> list[str]:
        return [
            record.entity_id
            for record in await async_retrieve(hass, house, text, LIMIT, language=language, **more)
        ]

    if not by_meaning:
        yield by_words
        return
    collection = const.DEFAULTS[const.CONF_VECTOR_COLLECTION]
    async with semantic_index(hass) as index:
        words = await async_class_words(hass, house, (known_language(hass.config.language),))
        documents = [
            KnowledgeDocument(
                record.entity_id, TextSource.ENTITY, record.name, entity_text(record, house, words)
            )
            for record in house.entities.values()
        ]
        report = await index.async_sync(collection, documents)
        assert report.failed == 0

        async def find(text: str, language: str) -> list[str]:
            top = const.DEFAULTS[const.CONF_VECTOR_TOP_K]
            hits = await index.async_search(collection, text, top)
            return await by_words(text, language, semantic=[(hit.id, hit.similarity) for hit in hits])

        yield find


@asynccontextmanager
async def _empty_home(language: str) -> AsyncGenerator[HomeAssistant]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with async_test_home_assistant(config_dir=folder) as hass:
            hass.config.language = language
            hass.data[DATA_RESOLVER] = LoopbackResolver()  # Home Assistant's own would start zeroconf
            assert await async_setup_component(hass, "homeassistant", {})
            try:
                yield hass
            finally:
                await hass.async_stop(force=True)


# --- homes made here


def _spoken(hass: HomeAssistant, areas: Sequence[str], language: str) -> list[Query]:
    """Return a request for each room and kind, in words as they are spoken."""
    registry = er.async_get(hass)
    by_area: dict[str | None, list[er.RegistryEntry]] = defaultdict(list)
    for entry in registry.entities.values():
        if entry.entity_category is None:
            by_area[er.async_get_effective_area_id(hass, entry)].append(entry)
    queries = []
    for area, place in zip(areas[: len(ROOMS)], SPOKEN["places"][language], strict=False):
        sentences = zip(*(SPOKEN[group][language] for group in GROUPS), strict=True)
        for kind, texts in zip(KINDS, sentences, strict=False):
            gold = frozenset(
                entry.entity_id
                for entry in by_area[area]
                if entry.domain == kind.domain
                and entry.original_device_class == kind.attributes.get("device_class")
            )
            queries += [
                Query(said.format(place), gold, language, (f"{language}{group}",))
                for said, group in zip(texts, GROUPS.values(), strict=True)
                if gold
            ]
    return queries


async def _reached() -> Table:
    """Return what percentage of the meant entities the first request has; smaller homes are listed whole."""
    columns = ("entities", "sentences", "queries", "in the request %", "goal")
    columns += ("median tokens", "most tokens", "goal")
    table = Table("R1/P5", "the captured first request, English, defaults", columns)
    for size in (500, 1000):
        with ModelServer() as server:
            server.default = text("Here is a short answer to that.")
            async with running_home(size) as (hass, home):
                ours = await add_ours(hass, server.url, {})
                for kind, goal in (("en", ">= 94"), ("en indirect", "")):
                    shares, tokens = [], []
                    for query in _spoken(hass, home.areas, "en"):
                        if kind not in query.groups:
                            continue
                        server.clear()
                        await conversation.async_converse(hass, query.text, None, Context(), "en", ours)
                        sent = as_text(server.chats[0].json)
                        names = [state.name for each in query.gold if (state := hass.states.get(each))]
                        # "Light 2" is another one than "Light".
                        there = [bool(re.search(rf"{re.escape(name)}(?! \d)", sent)) for name in names]
                        shares.append(sum(there) / len(there))
                        tokens.append(count_tokens(sent))
                    share = 100 * sum(shares) / len(shares)
                    cost = (middle(tokens), max(tokens), f"<= {GOAL_TOKENS}")
                    table.add(size, kind, len(shares), share, goal, *cost)
    return table


# --- recorded homes


def _recorded_goal(group: str) -> str:
    elsewhere = "@10 97" if group.startswith("in ") and group != "in en" else ""
    return {"all": "@10 99", "shares no word": "@10 95"}.get(group, elsewhere)


def _crowded_goal(group: str) -> str:
    return CROWDED if group == "all" else ""


def _query(line: dict[str, Any]) -> Query:
    groups = ["all", f"in {line['lang']}"]
    if line["lexical_overlap"] is not None:
        groups.append("shares a word" if line["lexical_overlap"] else "shares no word")
    return Query(line["text"], frozenset(line["gold"]), line["lang"], groups, line["any_of"])


def _build(hass: HomeAssistant, entities: Sequence[dict[str, Any]], diagnostics: int) -> None:
    areas, floors = ar.async_get(hass), fr.async_get(hass)
    for item in entities:
        if (area := item.get("area")) and areas.async_get_area_by_name(area) is None:
            floor = item.get("floor")
            level = floor and (floors.async_get_floor_by_name(floor) or floors.async_create(floor))
            areas.async_create(area, floor_id=level.floor_id if level else None)
    devices: set[str] = set()
    for item in entities:
        _add(hass, item)
        device = item.get("device") or item["entity_id"]
        if device not in devices:
            devices.add(device)
            object_id = item["entity_id"].partition(".")[2]
            for what in DIAGNOSTICS[:diagnostics]:
                entity_id = f"sensor.{object_id}_{what.lower().replace(' ', '_')}"
                name = f"{item['name']} {what}"
                _add(hass, {"entity_id": entity_id, "name": name, "area": item.get("area")})


def _add(hass: HomeAssistant, item: dict[str, Any]) -> None:
    registry, (domain, _, object_id) = er.async_get(hass), item["entity_id"].partition(".")
    entry = registry.async_get_or_create(
        domain,
        "recorded",
        item["entity_id"],
        suggested_object_id=object_id,
        original_name=item["name"],
        original_device_class=item.get("device_class"),
    )
    if area := item.get("area") and ar.async_get(hass).async_get_area_by_name(item["area"]):
        registry.async_update_entity(entry.entity_id, area_id=area.id)
    expose(hass, entry.entity_id)
    hass.states.async_set(entry.entity_id, "on", {"friendly_name": item["name"]})
