"""store_memory, recall_memory and forget_memory: what the household wants remembered.

Models are offered `memory` instead, which calls these; their names are still accepted.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
import re
from typing import Any, Final, NotRequired, TypedDict, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import PermissionDenied, ValidationError
from ...knowledge.persons import persons
from ...memory.corrections import ALIKE, corrects, takes_back, touched
from ...memory.memories import MAX_CONTENT, FoundMemory, Memories, SaveOutcome, make_memory
from ...memory.profile import Profile
from ...memory.records import Memory, MemoryType, Origin, Provenance, is_visible
from ...memory.secrets import holds_secret
from ...memory.sentences import asks_to_change, asks_to_remember, is_households, is_own_words
from ...safety.disclosure import DataCategory, Disclosure
from ...safety.firewall import firewall
from ..base import HomeAgentTool, PartlyFailed, ToolRun

DEFAULT_LIMIT: Final = 5
MAX_LISTED: Final = 20
EVERYTHING: Final = frozenset({"", "*", "all", "everything"})
SURE: Final = 0.6
"""Relevance from which words mean a memory, if no other one comes near."""
APART: Final = 0.25
DEFAULT_IMPORTANCE: Final = 0.6
MAX_TOUCHED: Final = 2
OUTSIDE: Final = "What is known of people stays in the house; the option cloud_send_profile is off"
WITHHELD: Final = (
    "It is stored in the house and kept from models outside: you will not be told it again and cannot use it "
    "later. Tell the person so"
)
ON_DISK: Final = (
    "It is forgotten, but the disk cannot be written, so the old words are still in a file. It is written "
    "again later. Tell the person so, and that the disk needs room"
)
SWITCH: Final = "The option cloud_send_profile (page Web and other models) changes this"


class MemoryNoted(TypedDict):
    """What is remembered, and what a model outside the home must know about it."""

    remembered: str
    memory_id: str
    known_before: bool
    replaced: NotRequired[str]
    """The earlier memory that was corrected."""
    also_remembered: NotRequired[list[str]]
    """What is still remembered of what the sentence takes back."""
    note: NotRequired[str]


class StoreMemoryTool(HomeAgentTool):
    """Remembers what a person says."""

    name = "store_memory"
    offered = False
    discloses = DataCategory.PEOPLE
    stores_memory = True
    max_text = MAX_CONTENT
    title = "Remember"
    description = "Remember a lasting fact or wish, as one sentence."
    private = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("content"): str,
            probatio.Optional("memory_type"): probatio.In([kind.value for kind in MemoryType]),
            probatio.Optional("importance", description="0 to 1"): probatio.Coerce(float),
            probatio.Optional("household", description="for everybody"): bool,
        }
    )

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> MemoryNoted:
        """Remember one thing. Raises PermissionDenied and ValidationError for what must not be kept."""
        content = args["content"]
        asked = asks_to_remember(run.sentence)
        own = is_own_words(content, run.sentence, run.speaker.person or "")
        secret = holds_secret(content)
        earlier = [] if secret else self._taken_back(content, run)
        wrong = earlier[0] if len(earlier) == 1 else None
        if wrong is None:  # a correction consists of the person's words only
            check_said(run, content)
        if secret:
            _check_secret(content, run, asked=asked)
        speaker = run.speaker
        wanted = args.get("household", False) and not secret
        shared = wanted and is_households(content, run.sentence, speaker.person or "")
        if speaker.person_id is None and not (asked or shared):
            raise PermissionDenied(
                "It is not known who speaks: kept is only what is for everybody, or asked for with a word"
            )
        if speaker.person_id is None and firewall.clean(content, addressed=True).found:
            raise PermissionDenied(
                "It reads like an order to the assistant. Of that only what a known person says is kept"
            )
        heard = Provenance(
            at=dt_util.utcnow(),
            person=speaker.person_id,
            conversation_id=speaker.conversation_id,
            said=run.sentence[:200],
        )
        if wrong is not None:
            corrected = await self._memories.async_rewrite(
                replace(wrong, content=content), heard, speaker.context
            )
            outcome, memory = SaveOutcome.ADDED, corrected
        else:
            outcome, memory = await self._memories.async_remember(
                make_memory(
                    content,
                    type=MemoryType(args.get("memory_type", MemoryType.FACT)),
                    importance=min(max(args.get("importance", DEFAULT_IMPORTANCE), 0.0), 1.0),
                    person=None if shared else speaker.person_id,
                    origin=Origin.TOLD if asked or own else Origin.EXTRACTED,
                    private=secret,
                    heard=heard,
                ),
                speaker.context,
            )
        if outcome is SaveOutcome.FULL:
            raise ValidationError("There is no room for it; everything that is remembered counts more")
        told: MemoryNoted = {
            "remembered": memory.content,
            "memory_id": memory.id,
            "known_before": outcome is SaveOutcome.MERGED,
        }
        if wrong is not None:
            told["replaced"] = wrong.content
        if not secret and (others := await self._async_touched(memory, run)):
            told["also_remembered"] = others
        if not run.disclosure.home and not is_visible(memory, speaker.person_id, run.disclosure):
            told["note"] = withheld(run.disclosure)
        return told

    def _taken_back(self, content: str, run: ToolRun) -> list[Memory]:
        """Return the memories in whose place a correction goes; they keep whose they are.

        Who corrects must be known and may do no more than one who forgets: see `check_forgetting`. What the
        home has observed is not the word of a person, so nobody's sentence replaces it.
        """
        speaker = run.speaker
        if speaker.person_id is None or not corrects(run.sentence):
            return []
        may_see = partial(is_visible, person_id=speaker.person_id, model=run.disclosure)
        return [
            memory
            for memory in self._memories.alike(content, ALIKE, may_see=may_see)
            if not memory.private
            and memory.origin is not Origin.OBSERVED
            and takes_back(memory.content, content, run.sentence, speaker.person or "")
        ]

    async def _async_touched(self, stored: Memory, run: ToolRun) -> list[str]:
        if not run.disclosure.people or not corrects(run.sentence):
            return []
        may_see = partial(is_visible, person_id=run.speaker.person_id, model=run.disclosure)
        found = await self._memories.async_search(run.sentence, DEFAULT_LIMIT, may_see=may_see)
        others = (item.memory for item in found if item.memory.id != stored.id and not item.memory.private)
        named = [one.content for one in others if touched(one.content, stored.content, run.sentence)]
        return named[:MAX_TOUCHED]


class RecallMemoryTool(HomeAgentTool):
    """Finds what is remembered."""

    name = "recall_memory"
    offered = False
    discloses = DataCategory.PEOPLE
    max_text = MAX_CONTENT
    title = "Recall"
    description = "Search memories; '*' lists all."
    private = True
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("query"): str,
            probatio.Optional("limit"): probatio.Coerce(int),
        }
    )

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Answer one search."""
        if not run.disclosure.people:
            raise PermissionDenied(OUTSIDE)
        limit = min(max(args.get("limit", DEFAULT_LIMIT), 1), MAX_LISTED)
        found = await self.async_find(args["query"], run, limit)
        listed, more = found[:limit], max(0, len(found) - limit)
        self.touch(listed)
        names = {person.id: person.name for person in persons(run.hass)}
        told: list[JsonValueType] = [_told(memory, names) for memory in listed]
        if not told:
            others = len(await self.async_find("*", run))
            hint = f" '*' lists the {others} that there are." if others else ""
            return f"Nothing is remembered about that.{hint}"
        return {"memories": told, "more": more} if more else {"memories": told}

    async def async_find(self, query: str, run: ToolRun, limit: int = DEFAULT_LIMIT) -> list[Memory]:
        """Return the memories that fit a query, the best first; all for a query that means everything."""
        may_see = partial(is_visible, person_id=run.speaker.person_id, model=run.disclosure)
        if query.strip().casefold() in EVERYTHING:
            return [memory for memory in self._memories.all() if may_see(memory)]
        found = await self._memories.async_search(query, limit, may_see=may_see)
        return [item.memory for item in found]

    def touch(self, memories: Sequence[Memory]) -> None:
        """Note that memories were used."""
        self._memories.touch([memory.id for memory in memories], dt_util.utcnow())


class ForgetMemoryTool(HomeAgentTool):
    """Forgets what a person wants to forget."""

    name = "forget_memory"
    offered = False
    discloses = DataCategory.PEOPLE
    max_text = MAX_CONTENT
    title = "Forget"
    description = "Forget a memory: its id, or words."
    private = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=True, open_world=False)
    parameters = probatio.Schema({probatio.Required("memory"): str})

    def __init__(self, memories: Memories) -> None:
        self.memories = memories

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Forget. Raises ValidationError if it is not clear what is meant."""
        check_forgetting(run)
        gone = await self.async_forget(args["memory"], run)
        await async_check_erased(gone, self.memories)
        return {"forgotten": list[JsonValueType](gone)}

    async def async_forget(self, said: str, run: ToolRun) -> list[str]:
        """Forget the one memory that an id or words mean; return its words. Raises ValidationError."""
        meant = await self._async_meant(said, run)
        gone = await self.memories.async_forget([meant.id])
        run.calls.forgotten.extend(text for memory in gone for text in memory.texts)
        return [memory.content for memory in gone]

    async def _async_meant(self, said: str, run: ToolRun) -> Memory:
        may_see = partial(is_visible, person_id=run.speaker.person_id, model=run.disclosure)
        if (memory := self.memories.get(said.strip())) is not None and may_see(memory):
            check_said(run, memory.content)
            return memory
        check_said(run, said)
        found = await self.memories.async_search(said, DEFAULT_LIMIT, may_see=may_see)
        if not found:
            raise ValidationError(f"nothing is remembered about {said[:80]!r}")
        best = max(found, key=lambda item: item.relevance)
        near = [item for item in found if item is not best and best.relevance - item.relevance < APART]
        if best.relevance < SURE or near:
            raise ValidationError(f"which is meant? Give the id of one of {_ids(found)}")
        return best.memory


def check_said(run: ToolRun, *texts: str) -> None:
    """Raise PermissionDenied where a marked turn would remember or forget what the person did not say.

    One of `texts` has to be in the person's own words.
    """
    name = run.speaker.person or ""
    if run.tainted and not any(asks_to_change(run.sentence, text, name) for text in texts):
        raise PermissionDenied(
            "After text from outside was read, only what the person's sentence asks for is remembered or "
            "forgotten, in the person's own words"
        )


async def async_check_erased(gone: Sequence[str], *kept: Memories | Profile) -> None:
    """Write at once what was forgotten. Raises PartlyFailed where a file cannot be written."""
    if not all([await each.async_flush() for each in kept]):
        raise PartlyFailed(ON_DISK, {"forgotten": list[JsonValueType](gone)})


def check_forgetting(run: ToolRun) -> None:
    """Raise PermissionDenied where nothing may be forgotten."""
    if not run.disclosure.people:
        raise PermissionDenied(OUTSIDE)


def withheld(disclosure: Disclosure) -> str:
    """Return the result for an external model that has noted something it may not read again."""
    return WITHHELD if disclosure.people else f"{WITHHELD}. {SWITCH}"


def _check_secret(content: str, run: ToolRun, *, asked: bool) -> None:
    """Raise unless a known person has just said this very secret and asked to remember it."""
    if run.speaker.person_id is None:
        raise PermissionDenied("A code or password is remembered only for a known person")
    digits = re.findall(r"\d+", content)
    if not asked or any(number not in run.sentence for number in digits):
        raise PermissionDenied("It looks like a code or password. It is kept only if the person asks for it")


def _told(memory: Memory, names: dict[str, str]) -> dict[str, JsonValueType]:
    told: dict[str, JsonValueType] = {
        "memory_id": memory.id,
        "memory": memory.content,
        "type": memory.type.value,
        "how": memory.origin.value,
        "since": dt_util.as_local(memory.created_at).strftime("%Y-%m-%d"),
    }
    sayers = dict.fromkeys(heard.person for heard in memory.provenance if heard.person)
    if by := [names[person] for person in sayers if person in names]:
        told["from"] = ", ".join(by)
    return told


def _ids(found: Sequence[FoundMemory]) -> str:
    return "; ".join(f"{item.memory.id} {item.memory.content[:60]!r}" for item in found[:3])


def memory_tools(memories: Memories) -> list[HomeAgentTool]:
    """Return the tools of memory."""
    return [StoreMemoryTool(memories), RecallMemoryTool(memories), ForgetMemoryTool(memories)]
