"""What is known beside states: automations, scenes, scripts, rooms, the last 24 hours, texts."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import JsonValueType

from ..context.named import async_surely_meant
from ..context.retrieval import async_retrieve
from ..knowledge.house import HouseSnapshot
from ..knowledge.library import USE, HouseholdTexts, Passage
from ..knowledge.search import KnowledgeQuery, KnowledgeSearch
from ..knowledge.semantic import KnowledgeDocument, TextSource
from ..safety.disclosure import DataCategory
from ..texts import clean, one_line
from ..timespans import format_local
from .base import HomeAgentTool, ToolRun
from .ha_query import KNOWLEDGE, find_all
from .resolving.resolver import Target

MAX_CHARS: Final = 4000
SOURCES: Final = (
    TextSource.AUTOMATION,
    TextSource.SCENE,
    TextSource.SCRIPT,
    TextSource.AREA,
    TextSource.SUMMARY,
)

type Told = dict[str, JsonValueType]


class RetrieveKnowledgeTool(HomeAgentTool):
    """Searches the documents; what they say is data, whoever wrote it.

    Where there are additional collections, an outsider may have written what it finds.
    """

    name = KNOWLEDGE
    discloses = DataCategory.PEOPLE | DataCategory.STATES
    max_text = 1_000
    title = "Search what is known of the house"
    description = "What automations, scripts and scenes do, and why something may have happened."
    unoffered = ("source",)
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("query"): str,
            probatio.Optional("source"): probatio.In([source.value for source in SOURCES]),
        }
    )

    def __init__(self, search: KnowledgeSearch, texts: HouseholdTexts) -> None:
        self._search = search
        self._texts = texts
        if texts.configured:
            self.untrusted = True
            own = "Without a source the household's own texts too (manuals, notes)."
            self.description = f"{self.description} {own}"

    @override
    async def async_prepare(self, hass: HomeAssistant, house: HouseSnapshot) -> None:
        await self._search.async_prepare()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        found = await async_retrieve(
            run.hass,
            run.house,
            args["query"],
            12,
            area_id=run.speaker.area_id,
            language=run.speaker.language,
            cut=0.7,
        )
        question = KnowledgeQuery(
            text=args["query"],
            source=TextSource(args["source"]) if args.get("source") else None,
            mentioned=[record.entity_id for record in found],
            named=await async_surely_meant(run.hass, run.house, args["query"], run.speaker.language),
            person_id=run.speaker.person_id,
            model=run.disclosure,
        )

        async def passages() -> Sequence[Passage]:
            return () if question.source else await self._texts.async_search(question.text)

        documents, quoted = await asyncio.gather(
            self._search.async_search(question, run.reader.sees), passages()
        )
        return _answer(run.hass if run.disclosure.states else None, documents, quoted)


class GetEntitiesTool(HomeAgentTool):
    """Lists entity ids by name, for those who have no catalogue."""

    name = "get_ha_entities"
    discloses = DataCategory.NAMES
    for_large_houses = True
    title = "List entities"
    description = "List names and entity ids."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema({probatio.Optional("domain"): str, probatio.Optional("area"): str})

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Return the ids of what the speaker may see by name; names that are alike have the id too."""
        house = run.house
        target = Target.from_args(args)
        if target.is_empty:
            records = [record for record in house.entities.values() if record.category is None]
        else:
            records = [*find_all(house, target, speaker=run.speaker, sentence=run.sentence)]
        records = [record for record in records if run.reader.sees(record.entity_id)]
        entities: Told = {}
        room = MAX_CHARS
        for record in records[:100]:
            name = one_line(record.name, 80)
            if name in entities:
                name = f"{name} ({record.entity_id})"
            room -= len(json_dumps({name: record.entity_id}))
            if room < 0:
                break
            entities[name] = record.entity_id
        answer: Told = {"entities": entities}
        if left := len(records) - len(entities):
            answer["left_out"] = left
            answer["hint"] = "narrow it by domain or area"
        return answer


def _answer(
    hass: HomeAssistant | None, documents: Sequence[KnowledgeDocument], passages: Sequence[Passage]
) -> Told:
    """Return documents within the bounds; without `hass`, without their current states."""
    told: list[JsonValueType] = []
    titles: list[JsonValueType] = []
    room = MAX_CHARS
    for document in documents:
        entry: Told = {
            "source": document.source.value,
            "title": document.title,
            "text": document.text.removeprefix(f"{document.title}.").strip(),
            **_now(hass, document),
        }
        room -= len(json_dumps(entry)) + 1
        if not told or (room >= 0 and len(told) < 8):
            told.append(entry)
        elif len(titles) < 20:
            titles.append(f"{document.source.value}: {document.title}")
    answer: Told = {"found": told}
    if titles:
        answer["also"] = titles
    if left := len(documents) - len(told) - len(titles):
        answer["left_out"] = left
    quotes: list[JsonValueType] = []
    room = 2400
    for passage in passages:
        quote: Told = {"from": clean(passage.title), "text": clean(passage.text, 800)}
        room -= len(json_dumps(quote)) + 1
        if room < 0:
            break
        quotes.append(quote)
    if quotes:
        answer["texts"] = {"use": USE, "quotes": quotes}
    elif not told:
        answer["hint"] = "nothing is known of this; ha_query reads states and history"
    return answer


def _now(hass: HomeAssistant | None, document: KnowledgeDocument) -> Told:
    """Return the state of an automation or a script: switched off, when it last ran."""
    if hass is None or document.source not in (TextSource.AUTOMATION, TextSource.SCRIPT):
        return {}
    state = hass.states.get(document.id.replace(":", ".", 1))
    if state is None:
        return {}
    now: Told = {}
    if document.source is TextSource.AUTOMATION and state.state != "on":
        now["state"] = state.state
    if isinstance(last := state.attributes.get("last_triggered"), datetime):
        now["last_run"] = format_local(last)
    return now
