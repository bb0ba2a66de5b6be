"""memory: the one tool for what people want remembered, in memories and in profiles."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
import re
from typing import Any, Final, NotRequired, TypedDict, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...domains import DOMAINS
from ...errors import PermissionDenied, ValidationError
from ...knowledge.names import without_article
from ...knowledge.speaker import persons
from ...languages.phrases import all_words
from ...memory.memories import MAX_CONTENT, FoundMemory, Memories, SaveOutcome, make_memory
from ...memory.profile import CALLED, CONFIDENCE, HOUSEHOLD, MAX_NAME, SINGLE, Profile, default_sensitivity
from ...memory.records import (
    Memory,
    MemoryType,
    Origin,
    ProfileEntry,
    Provenance,
    Sensitivity,
    is_entry_visible,
    is_visible,
)
from ...memory.sentences import (
    ALIKE,
    asks_to_change,
    asks_to_remember,
    corrects,
    holds_secret,
    is_households,
    is_own_words,
    name_told,
    takes_back,
    touched,
)
from ...regex import lazy_regex
from ...safety.disclosure import DataCategory, Disclosure
from ...safety.firewall import firewall
from ...safety.sanitizer.private_names import ordinary_words
from ...texts import fold_letters, words
from ..base import HomeAgentTool, PartlyFailed, ToolOutput, ToolRun
from ..telling import Told

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


MOST: Final = 50
"""Entries in one answer."""
LEAST_LETTERS: Final = 3
"""Letters from which a word is enough to recognize a value."""


class ProfileResultRow(TypedDict):
    """A profile entry as the model reads it; `since` is a local date."""

    category: str
    key: str
    value: str
    whose: str
    confidence: float
    how: str
    since: str


class ProfileResult(TypedDict):
    """The entries that were asked for; `more` counts those that are not shown."""

    entries: list[ProfileResultRow]
    more: NotRequired[int]


class ProfileNoted(TypedDict):
    """What was noted, and what a model outside the home must know about it."""

    noted: str
    sensitivity: str
    note: NotRequired[str]


class ProfileDeleted(TypedDict):
    """Whether there was an entry to delete."""

    deleted: bool


class GetProfileTool(HomeAgentTool):
    """Tells what is known of the speaker and the household."""

    name = "get_user_profile"
    offered = False
    discloses = DataCategory.PEOPLE
    title = "Read the profile"
    description = "Profile of speaker and household."
    private = True
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema({probatio.Optional("category"): str})

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ProfileResult | str:
        """Answer one question. Raises PermissionDenied if the model may not know it."""
        if not run.disclosure.people:
            raise PermissionDenied(OUTSIDE)
        may_see = partial(is_entry_visible, person_id=run.speaker.person_id, model=run.disclosure)
        found = self._profile.entries(may_see, args.get("category") or "")
        if not found:
            return "Nothing is known of that."
        told = [_told_entry(entry) for entry in found[:MOST]]
        return {"entries": told, "more": len(found) - MOST} if len(found) > MOST else {"entries": told}

    async def async_find(self, query: str, limit: int, run: ToolRun) -> list[ProfileEntry]:
        """Return the entries that fit a query, the best first; all for `*`."""
        may_see = partial(is_entry_visible, person_id=run.speaker.person_id, model=run.disclosure)
        if query == "*":
            return self._profile.entries(may_see)
        wanted = fold_letters(query)
        named = [
            entry
            for entry in self._profile.entries(may_see)
            if wanted in (fold_letters(entry.key), fold_letters(entry.category))
        ]
        found = await self._profile.async_search(query, limit, may_see=may_see)
        return list({entry.id: entry for entry in (*named, *found)}.values())[:limit]


class UpdateProfileTool(HomeAgentTool):
    """Notes what is known about the speaker or the household."""

    name = "update_user_profile"
    offered = False
    discloses = DataCategory.PEOPLE
    title = "Note in the profile"
    description = (
        f"Note name, language, diet, habits of the speaker; category {HOUSEHOLD}: of all. '' deletes."
    )
    private = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("category"): str,
            probatio.Required("key"): str,
            probatio.Required("value"): str,
            probatio.Optional("sensitivity"): probatio.In([level.value for level in Sensitivity]),
        }
    )

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ProfileNoted | ProfileDeleted:
        """Note one thing. Raises PermissionDenied and ValidationError for what must not be kept."""
        check_said(run, args["value"].strip() or args["key"])
        new = _entry(args, run)
        old = self.profile.get(new.id)
        if old is not None and not is_entry_visible(old, run.speaker.person_id):
            raise PermissionDenied("This entry is not for somebody whom nobody knows")
        if not new.value.strip():
            gone = await self.async_forget([new], run)
            await async_check_erased(gone, self.profile)
            return {"deleted": bool(gone)}
        if old is not None and args.get("sensitivity") is None:
            new = _entry({**args, "sensitivity": old.sensitivity.value}, run)
        known = await self.profile.async_note(new)
        noted: ProfileNoted = {
            "noted": f"{known.category}, {known.key}",
            "sensitivity": known.sensitivity.value,
        }
        if not run.disclosure.home and not is_entry_visible(known, run.speaker.person_id, run.disclosure):
            noted["note"] = withheld(run.disclosure)
        return noted

    def entry_of(self, key: str, run: ToolRun, *, shared: bool) -> ProfileEntry | None:
        """Return the speaker's entry, or the household's if `shared`, that has a key."""
        owner = None if shared else run.speaker.person_id
        return next(
            (entry for entry in self._seen(run) if entry.person == owner and _has_key(entry, key)), None
        )

    def meant(self, text: str, run: ToolRun) -> list[ProfileEntry]:
        """Return the entries that an id, a key or a sentence with their value means."""
        seen, said = self._seen(run), set(words(text))
        key = text.partition(":")[0].rpartition(",")[2].strip()
        if named := [entry for entry in seen if entry.id == text or _has_key(entry, key)]:
            return named
        return [
            entry
            for entry in seen
            if said.issuperset(value := words(entry.value)) and any(map(_tells, value))
        ]

    async def async_forget(self, entries: Sequence[ProfileEntry], run: ToolRun) -> list[str]:
        """Forget entries; return what they were."""
        gone = await self.profile.async_forget([entry.id for entry in entries])
        run.calls.forgotten.extend(entry.value for entry in gone)
        return [f"{entry.key}: {entry.value}" for entry in gone]

    def _seen(self, run: ToolRun) -> list[ProfileEntry]:
        """Return the entries that the speaker may see with this model."""
        return self.profile.entries(
            partial(is_entry_visible, person_id=run.speaker.person_id, model=run.disclosure)
        )


def _has_key(entry: ProfileEntry, key: str) -> bool:
    return fold_letters(entry.key) == fold_letters(key)


def _tells(word: str) -> bool:
    return len(word) >= LEAST_LETTERS or not word.isascii() or word.isdigit()


def _entry(args: dict[str, Any], run: ToolRun) -> ProfileEntry:
    """Return what the arguments say. Raises PermissionDenied for an unknown speaker."""
    person = None if fold_letters(args["category"]).strip() == HOUSEHOLD else run.speaker.person_id
    if person is None and fold_letters(args["category"]).strip() != HOUSEHOLD:
        raise PermissionDenied("Who speaks is not known; only the household's profile can be changed")
    said = set(words(run.sentence))
    told = asks_to_remember(run.sentence) or said.issuperset(words(args["value"]))
    origin = Origin.TOLD if told else Origin.INFERRED
    now = dt_util.utcnow()
    chosen = args.get("sensitivity")
    return ProfileEntry(
        category=args["category"],
        key=args["key"],
        value=args["value"],
        person=person,
        sensitivity=Sensitivity(chosen)
        if chosen
        else default_sensitivity(args["category"], args["key"], person),
        confidence=CONFIDENCE[origin],
        origin=origin,
        first_seen=now,
        last_seen=now,
    )


def _told_entry(entry: ProfileEntry) -> ProfileResultRow:
    return {
        "category": entry.category,
        "key": entry.key,
        "value": entry.value,
        "whose": HOUSEHOLD if entry.person is None else "speaker",
        "confidence": round(entry.confidence, 2),
        "how": entry.origin.value,
        "since": dt_util.as_local(entry.first_seen).strftime("%Y-%m-%d"),
    }


def profile_tools(profile: Profile) -> list[HomeAgentTool]:
    """Return the tools of the profile."""
    return [GetProfileTool(profile), UpdateProfileTool(profile)]


REMEMBER: Final = "remember"
RECALL: Final = "recall"
FORGET: Final = "forget"
PERSON: Final = "person"
"""The category of a person's profile entries that have no other one."""
NAME: Final = "name"
ONLY_VALUES: Final = "text: only values of the profile are kept here. Write key: value, such as diet: vegan"
_PAIR: Final = lazy_regex(rf"(?:[^\d:]{{1,{MAX_NAME}}}, )?([^\d:,]{{1,{MAX_NAME}}}):\s*(\S.*)", re.DOTALL)

_ENTITY_ID: Final = lazy_regex(r"\b[a-z_]+\.[a-z0-9_]+\b")


class Remembered(TypedDict):
    """What was kept, and what a model outside the home must know about it."""

    remembered: str
    known_before: NotRequired[bool]
    replaced: NotRequired[str]
    """The earlier memory that was corrected."""
    also_remembered: NotRequired[list[str]]
    """What is still remembered of what the sentence takes back."""
    note: NotRequired[str]


class Recalled(TypedDict):
    """What is known, one line each; `more` counts what is not shown."""

    remembered: list[str]
    more: NotRequired[int]


class Forgotten(TypedDict):
    """What is no longer known."""

    forgotten: list[str]


class MemoryTool(HomeAgentTool):
    """Does what the five earlier tools do, and keeps their rules: it is made of those that are allowed."""

    name = "memory"
    discloses = DataCategory.PEOPLE
    stores_memory = True
    max_text = MAX_CONTENT
    title = "Memory"
    description = "What people want remembered about themselves or the household."
    private = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=True, open_world=False)

    def __init__(self, parts: Iterable[HomeAgentTool]) -> None:
        self._store: StoreMemoryTool | None = None
        self._recall: RecallMemoryTool | None = None
        self._forget: ForgetMemoryTool | None = None
        self._profile: GetProfileTool | None = None
        self._noting: UpdateProfileTool | None = None
        for part in parts:
            match part:
                case StoreMemoryTool():
                    self._store = part
                case RecallMemoryTool():
                    self._recall = part
                case ForgetMemoryTool():
                    self._forget = part
                case GetProfileTool():
                    self._profile = part
                case UpdateProfileTool():
                    self._noting = part
        able = {
            REMEMBER: self._store or self._noting,
            RECALL: self._recall or self._profile,
            FORGET: self._forget or self._noting,
        }
        self.actions: list[str] = [action for action, part in able.items() if part is not None]
        self.parameters = probatio.Schema(
            {
                probatio.Required("action"): probatio.In(self.actions),
                probatio.Required("text", description="one sentence, or nickname: Ann; * recalls all"): str,
                probatio.Optional("household"): bool,
            }
        )

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments; a call that recalls without words means everything."""
        recalls_all = args.get("action") == RECALL and not args.get("text")
        return {**args, "text": "*"} if recalls_all else args

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether nothing is remembered or forgotten."""
        return args.get("action") == RECALL

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> Remembered | Recalled | Forgotten | str:
        """Remember, recall or forget. Raises PermissionDenied and ValidationError as the earlier tools do."""
        text = args["text"].strip()
        if not text:
            raise ValidationError("text: say what is meant")
        match args["action"]:
            case "remember":
                return await self._async_remember(text, household=args.get("household", False), run=run)
            case "recall":
                return await self._async_recall(text, run)
            case _:
                return await self._async_forget(text, run)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[Told, ...]:
        """Return that something is remembered or forgotten."""
        if not isinstance(result, Mapping) or not result.keys().isdisjoint(("note", "also_remembered")):
            return ()
        key = {REMEMBER: "remembered", FORGET: "forgotten"}.get(args["action"])
        return () if key is None else (Told(key=key),)

    async def _async_remember(self, text: str, *, household: bool, run: ToolRun) -> Remembered:
        text = _about_device(text)
        ordinary = await run.hass.async_add_executor_job(ordinary_words)
        entry = self._as_entry(text, ordinary, household=household, run=run)
        if self._noting is not None and entry is not None:
            noted = await self._noting.async_run(entry, run)
            kept: Remembered = {"remembered": f"{entry['key']}: {entry['value']}"}
            if note := noted.get("note"):
                kept["note"] = str(note)
            return kept
        if self._store is None:
            raise ValidationError(ONLY_VALUES)
        stored = await self._store.async_run({"content": text, "household": household}, run)
        kept = {"remembered": stored["remembered"]}
        if stored["known_before"]:
            kept["known_before"] = True
        if "replaced" in stored:
            kept["replaced"] = stored["replaced"]
        if "also_remembered" in stored:
            kept["also_remembered"] = stored["also_remembered"]
        if "note" in stored:
            kept["note"] = stored["note"]
        return kept

    def _as_entry(
        self, text: str, ordinary: frozenset[str], *, household: bool, run: ToolRun
    ) -> dict[str, Any] | None:
        """Return a text as a profile entry; None for a memory.

        A profile has one value for each key, so it takes what a person can have only one of: "key: value" for
        a known key, and the name by which the person wants to be called. Text that is judged more strictly,
        with a code or of an unknown speaker, is a memory's.
        """
        if self._noting is None:
            return None
        name = run.speaker.person or ""
        shared = household and is_households(text, run.sentence, name)
        if holds_secret(text) or (run.speaker.person_id is None and not shared):
            return None
        if pair := _PAIR.fullmatch(text):
            key, value = pair[1].strip(), pair[2].strip()
            if (old := self._noting.entry_of(key, run, shared=shared)) is not None:
                return {"category": old.category, "key": old.key, "value": value}
            known = fold_letters(key) in SINGLE or self._store is None
            return (
                {"category": HOUSEHOLD if shared else PERSON, "key": key, "value": value} if known else None
            )
        if not shared and (called := name_told(text, run.sentence, name, ordinary)):
            old = self._noting.entry_of(NAME, run, shared=False)
            return {"category": old.category if old else PERSON, "key": NAME, "value": called}
        return None

    async def _async_recall(self, text: str, run: ToolRun) -> Recalled | str:
        if not run.disclosure.people:
            raise PermissionDenied(OUTSIDE)
        query = "*" if text.casefold() in EVERYTHING or _is_speaker(text, run) else text
        limit = MAX_LISTED if query == "*" else DEFAULT_LIMIT
        entries = await self._profile.async_find(query, limit, run) if self._profile else []
        memories = await self._recall.async_find(query, run) if self._recall else []
        names = {person.id: person.name for person in persons(run.hass)}
        if run.speaker.person_id and run.speaker.person:
            names.setdefault(run.speaker.person_id, run.speaker.person)
        lines = [*map(_entry_line, entries), *(_memory_line(memory, names) for memory in memories)]
        if not lines:
            return "Nothing is remembered about that." + (" Recall * for everything." if query != "*" else "")
        if self._recall:
            self._recall.touch(memories[: max(0, limit - len(entries))])
        told: Recalled = {"remembered": lines[:limit]}
        if query == "*" and len(lines) > limit:
            told["more"] = len(lines) - limit
        return told

    async def _async_forget(self, text: str, run: ToolRun) -> Forgotten:
        check_forgetting(run)
        entries = self._noting.meant(text, run) if self._noting else []
        if len(entries) > 1:
            listed = "; ".join(f"{entry.key}: {entry.value[:60]}" for entry in entries[:3])
            raise ValidationError(f"text: which is meant? {listed}")
        for entry in entries:
            check_said(run, text, entry.key, entry.value)
        gone: list[str] = []
        if self._forget is not None:
            try:
                gone += await self._forget.async_forget(text, run)
            except ValidationError, PermissionDenied:
                if not entries:
                    raise
        elif not entries:
            raise ValidationError(f"text: nothing is remembered about {text[:80]!r}")
        if self._noting is not None and entries:
            gone += await self._noting.async_forget(entries, run)
            await async_check_erased(gone, self._noting.profile)
        if self._forget is not None:
            await async_check_erased(gone, self._forget.memories)
        return {"forgotten": gone}


def _about_device(text: str) -> str:
    """Return a name for a device as a memory: no profile of a person takes "nickname: Sparky = light.desk".

    Raises ValidationError for an entity ID without a name.
    """
    pair = _PAIR.fullmatch(text)
    if pair is None or fold_letters(pair[1].strip()) not in CALLED:
        return text
    if (found := _ENTITY_ID.search(pair[2])) is None or found[0].partition(".")[0] not in DOMAINS:
        return text
    name = (pair[2][: found.start()] + pair[2][found.end() :]).strip(" =:>-→()\"'")
    if not name:
        raise ValidationError("text: this is a device. Write what it is called: NAME means its entity_id")
    return f"{name} means {found[0]}"


def _entry_line(entry: ProfileEntry) -> str:
    return f"{entry.key}: {entry.value}" + (f" ({HOUSEHOLD})" if entry.person is None else "")


def _memory_line(memory: Memory, names: Mapping[str, str]) -> str:
    """Return a memory with who said it and when, and how it was learned unless it was told."""
    sayers = dict.fromkeys(names[by] for heard in memory.provenance if (by := heard.person) and by in names)
    how = [] if memory.origin is Origin.TOLD else [memory.origin.value]
    since = dt_util.as_local(memory.created_at).strftime("%Y-%m-%d")
    return f"{memory.content} ({', '.join((*how, *sayers, since))})"


@cache
def _speaker_words() -> frozenset[str]:
    """Return the words by which speakers, and models that speak of them, mean the speaker, folded."""
    entries = (*all_words("memory.self"), *all_words("memory.speakers"))
    return frozenset(word for entry in entries for word in words(entry))


def _is_speaker(text: str, run: ToolRun) -> bool:
    said = set(words(without_article(text)))
    return bool(said) and said <= {*_speaker_words(), *words(run.speaker.person or "")}


def remembering_tools(
    memories: Memories | None, profile: Profile | None, disabled: Collection[str]
) -> list[HomeAgentTool]:
    """Return the tool for memories and profiles with its parts; none if the options allow no part of it."""
    parts = (
        *(memory_tools(memories) if memories is not None else ()),
        *(profile_tools(profile) if profile is not None else ()),
    )
    allowed = [tool for tool in parts if not {MemoryTool.name, tool.name} & set(disabled)]
    return [MemoryTool(allowed), *allowed] if allowed else []
