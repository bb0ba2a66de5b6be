"""Names that people use for a device and the home does not know: each is a memory of the household.

A memory "reading lamp = Sofa Lamp" is shown, searched and forgotten like any other one; while nobody
rewrites it, the name is an alias in the home as the agents see it, and none of Home Assistant's own.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType
from homeassistant.util.ulid import ulid_now

from ..const import DOMAIN
from ..domains import DOMAINS
from ..knowledge.house import HouseSnapshot
from ..knowledge.names import name_index, squash
from ..knowledge.spoken_words import domain_words, kinds_of_room, stop_words
from ..memory.memories import Memories, make_memory
from ..memory.records import LearnedName, Provenance
from ..safety.frozen import ServiceCall
from ..texts import fold
from .base import HomeAgentTool, ToolRun
from .resolving.resolver import find_place

LEARN_NAME: Final = "learn_name"


def may_be_named(entity_id: str) -> bool:
    """Return whether an entity may have a learned name: nothing that opens, asks first or runs others."""
    facts = DOMAINS[entity_id.partition(".")[0]]
    return not (facts.is_protected or facts.restricted or facts.runs)


def learned_names(memories: Memories) -> dict[str, tuple[str, ...]]:
    """Return the names that the household has taught, by entity."""
    names: dict[str, tuple[str, ...]] = {}
    for memory in memories.records():
        if (learned := memory.learned) and may_be_named(learned.entity_id):
            names[learned.entity_id] = (*names.get(learned.entity_id, ()), learned.name)
    return names


def is_new_name(house: HouseSnapshot, name: str) -> bool:
    """Return whether nothing in the home has a name, and a word of it is neither a kind nor a place."""
    names, key = name_index(house), squash(name)
    known = (names.exact, names.qualified, names.short, names.devices, names.object_ids)
    place = find_place(house, name, "area")
    if any(key in table for table in known) or (place is not None and not place.repaired):
        return False
    said, known_words = fold(name).split(), (names.by_word, domain_words(), stop_words())
    if len(said) > 4 or len(name) > 40:
        return False
    new = [word for word in said if not word.isdecimal() and not any(word in each for each in known_words)]
    return not all(map(kinds_of_room, new))


class LearnNameTool(HomeAgentTool):
    """Keeps a name after a person's yes. No model is offered it: what is asked about is found by code."""

    name = LEARN_NAME
    title = "Learn a name"
    description = ""
    offered = False
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema({probatio.Required("name"): str, probatio.Required("entity_id"): str})

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    @override
    async def async_run(self, args: Mapping[str, Any], run: ToolRun) -> JsonValueType:
        """Keep the name for everybody, in a turn of its own, so that it is undone alone."""
        speaker = run.speaker
        heard = Provenance(
            at=dt_util.utcnow(), person=speaker.person_id, conversation_id=speaker.conversation_id
        )
        learned = LearnedName(**args)
        record = run.house.entities.get(learned.entity_id)
        content = f"{learned.name} = {(record and record.name) or learned.entity_id}"
        memory = replace(make_memory(content, importance=0.8, heard=heard), learned=learned)
        _, memory = await self._memories.async_remember(memory, speaker.context)
        call = ServiceCall(domain=DOMAIN, service=LEARN_NAME, entity_ids=(), data={"memory": memory.id})
        with run.guard.journal.acting((call,), replace(speaker, turn_id=ulid_now()), {}):
            return {"remembered": memory.content}
