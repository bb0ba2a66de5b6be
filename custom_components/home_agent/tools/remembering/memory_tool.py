"""memory: the one tool for what people want remembered, in memories and in profiles."""

from collections.abc import Collection, Iterable, Mapping
from functools import cache
import re
from typing import Any, Final, NotRequired, TypedDict, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from ...domains import DOMAINS
from ...errors import PermissionDenied, ValidationError
from ...knowledge.names import without_article
from ...knowledge.persons import persons
from ...languages.phrases import all_words
from ...memory.memories import MAX_CONTENT, Memories
from ...memory.profile import CALLED, HOUSEHOLD, MAX_NAME, SINGLE, Profile
from ...memory.records import Memory, Origin, ProfileEntry
from ...memory.secrets import holds_secret
from ...memory.sentences import is_households, name_told
from ...regex import lazy_regex
from ...safety.disclosure import DataCategory
from ...safety.sanitizer.private_names import ordinary_words
from ...texts import fold_letters, words
from ..base import HomeAgentTool, ToolOutput, ToolRun
from ..telling import Told
from .memory_tools import (
    DEFAULT_LIMIT,
    EVERYTHING,
    MAX_LISTED,
    OUTSIDE,
    ForgetMemoryTool,
    RecallMemoryTool,
    StoreMemoryTool,
    async_check_erased,
    check_forgetting,
    check_said,
    memory_tools,
)
from .profile_tools import GetProfileTool, UpdateProfileTool, profile_tools

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
