"""memory: the one tool for what people want remembered, in memories and in profiles.

Five earlier tools keep their names and their arguments; they do the same work for one of both stores.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
import re
from typing import Any, Final, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from ..domains import DOMAINS
from ..errors import PermissionDenied, ValidationError
from ..knowledge.names import without_article
from ..knowledge.speaker import persons
from ..languages.lexicon import all_words
from ..memory.memories import MAX_CONTENT, Memories, SaveOutcome, make_memory
from ..memory.profile import CONFIDENCE, HOUSEHOLD, MAX_NAME, SINGLE, Profile, default_sensitivity
from ..memory.records import (
    Memory,
    MemoryType,
    Origin,
    ProfileEntry,
    Provenance,
    Sensitivity,
    is_entry_visible,
    is_visible,
)
from ..memory.sentences import (
    ALIKE,
    asks_to_change,
    asks_to_remember,
    corrects,
    holds_secret,
    is_households,
    is_own_words,
    name_told,
    takes_back,
)
from ..regex import lazy_regex
from ..safety.disclosure import DataCategory
from ..safety.firewall import firewall
from ..safety.sanitizer.private_names import ordinary_words
from ..texts import fold_letters, words
from .base import HomeAgentTool, PartlyFailed, ToolOutput, ToolRun
from .results import ToldAct

REMEMBER: Final = "remember"
RECALL: Final = "recall"
FORGET: Final = "forget"
STORE_MEMORY: Final = "store_memory"
RECALL_MEMORY: Final = "recall_memory"
FORGET_MEMORY: Final = "forget_memory"
GET_USER_PROFILE: Final = "get_user_profile"
UPDATE_USER_PROFILE: Final = "update_user_profile"
DEFAULT_LIMIT: Final = 5
MAX_LISTED: Final = 20
SURE: Final = 0.6
"""Relevance from which words mean a memory, if no other one comes near."""
DEFAULT_IMPORTANCE: Final = 0.6
LEAST_LETTERS: Final = 3
"""Letters from which a word is enough to recognize a value."""
OUTSIDE: Final = "What is known of people stays in the house; the option cloud_send_profile is off"
WITHHELD: Final = (
    "It is stored in the house and kept from models outside: you will not be told it again and cannot use it "
    "later. Tell the person so"
)
ON_DISK: Final = (
    "It is forgotten, but the disk cannot be written, so the old words are still in a file. It is written "
    "again later. Tell the person so, and that the disk needs room"
)
_PAIR: Final = lazy_regex(rf"(?:[^\d:]{{1,{MAX_NAME}}}, )?([^\d:,]{{1,{MAX_NAME}}}):\s*(\S.*)", re.DOTALL)
_ENTITY_ID: Final = lazy_regex(r"\b[a-z_]+\.[a-z0-9_]+\b")


type Result = dict[str, object]
"""What is `remembered` (`known_before`, `replaced`, with a `note`), or `forgotten`."""


class MemoryTool(HomeAgentTool):
    """Remembers, recalls and forgets, in whichever store is meant."""

    name = "memory"
    stores_memory = True
    title = "Memory"
    description = "What people want remembered about themselves or the household."
    discloses = DataCategory.PEOPLE
    max_text = MAX_CONTENT
    private = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=True, open_world=False)

    def __init__(
        self, memories: Memories | None, profile: Profile | None, disabled: Collection[str] = ()
    ) -> None:
        """Take the stores; the names of earlier tools in `disabled` mean the part that those were."""
        self._store = None if STORE_MEMORY in disabled else memories
        self._recall = None if RECALL_MEMORY in disabled else memories
        self._forget = None if FORGET_MEMORY in disabled else memories
        self._profile = None if GET_USER_PROFILE in disabled else profile
        self._noting = None if UPDATE_USER_PROFILE in disabled else profile
        stores = {
            REMEMBER: (self._store, self._noting),
            RECALL: (self._recall, self._profile),
            FORGET: (self._forget, self._noting),
        }
        self.actions = [action for action, either in stores.items() if either != (None, None)]
        self.parameters = probatio.Schema(
            {
                probatio.Required("action"): probatio.In(self.actions),
                probatio.Required("text", description="one sentence, or nickname: Ann; * recalls all"): str,
                probatio.Optional("household"): bool,
            }
        )

    async def async_store(
        self,
        content: str,
        run: ToolRun,
        *,
        household: bool,
        kind: MemoryType = MemoryType.FACT,
        importance: float = DEFAULT_IMPORTANCE,
    ) -> Result:
        """Store a memory. Raises PermissionDenied and ValidationError for what must not be kept."""
        assert self._store is not None
        speaker = run.speaker
        asked = asks_to_remember(run.sentence)
        own = is_own_words(content, run.sentence, speaker.person or "")
        secret = holds_secret(content)
        is_correction = not secret and speaker.person_id is not None and corrects(run.sentence)
        # Who corrects must be known and may do no more than one who forgets. What the home has observed is
        # not the word of a person, so nobody's sentence replaces it.
        corrected = [
            memory
            for memory in (self._store.alike(content, ALIKE, may_see=_may_see(run)) if is_correction else ())
            if not memory.private
            and memory.origin is not Origin.OBSERVED
            and takes_back(memory.content, content, run.sentence, speaker.person or "")
        ]
        wrong = corrected[0] if len(corrected) == 1 else None
        if wrong is None:  # a correction consists of the person's words only
            check_said(run, content)
        shared = household and not secret and is_households(content, run.sentence, speaker.person or "")
        if secret and speaker.person_id is None:
            raise PermissionDenied("A code or password is remembered only for a known person")
        if secret and not (asked and all(digits in run.sentence for digits in re.findall(r"\d+", content))):
            raise PermissionDenied(
                "It looks like a code or password. It is kept only if the person asks for it"
            )
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
            outcome = SaveOutcome.ADDED
            memory = await self._store.async_rewrite(replace(wrong, content=content), heard, speaker.context)
        else:
            new = make_memory(
                content,
                type=kind,
                importance=min(max(importance, 0.0), 1.0),
                person=None if shared else speaker.person_id,
                origin=Origin.TOLD if asked or own else Origin.EXTRACTED,
                private=secret,
                heard=heard,
            )
            outcome, memory = await self._store.async_remember(new, speaker.context)
        if outcome is SaveOutcome.FULL:
            raise ValidationError("There is no room for it; everything that is remembered counts more")
        result: Result = {"remembered": memory.content}
        if outcome is SaveOutcome.MERGED:
            result["known_before"] = True
        if wrong is not None:
            result["replaced"] = wrong.content
        if not run.disclosure.home and not _may_see(run)(memory):
            result["note"] = _withheld(run)
        return result

    async def async_note(
        self, category: str, key: str, value: str, run: ToolRun, sensitivity: str | None = None
    ) -> Result:
        """Note a value in the profile of the speaker or the household; an empty one deletes the entry.

        Raises PermissionDenied and ValidationError for what must not be kept.
        """
        assert self._noting is not None
        check_said(run, value.strip() or key)
        person = None if fold_letters(category).strip() == HOUSEHOLD else run.speaker.person_id
        if person is None and fold_letters(category).strip() != HOUSEHOLD:
            raise PermissionDenied("Who speaks is not known; only the household's profile can be changed")
        is_said = asks_to_remember(run.sentence) or set(words(run.sentence)).issuperset(words(value))
        origin = Origin.TOLD if is_said else Origin.INFERRED
        now = dt_util.utcnow()
        new = ProfileEntry(
            category=category,
            key=key,
            value=value,
            person=person,
            sensitivity=default_sensitivity(category, key, person),
            confidence=CONFIDENCE[origin],
            origin=origin,
            first_seen=now,
            last_seen=now,
        )
        old = self._noting.get(new.id)
        if old is not None and not is_entry_visible(old, run.speaker.person_id):
            raise PermissionDenied("This entry is not for somebody whom nobody knows")
        if not value.strip():
            return await self._async_erase([], [new], run)
        if sensitivity is not None:
            new = replace(new, sensitivity=Sensitivity(sensitivity))
        elif old is not None:
            new = replace(new, sensitivity=old.sensitivity)
        kept = await self._noting.async_note(new)
        result: Result = {"remembered": f"{kept.key}: {kept.value}"}
        if not run.disclosure.home and not _may_see_entry(run)(kept):
            result["note"] = _withheld(run)
        return result

    async def async_recall(self, text: str, run: ToolRun, limit: int | None = None) -> Result | str:
        """Return what is known of something, the best first, or all. Raises PermissionDenied."""
        if not run.disclosure.people:
            raise PermissionDenied(OUTSIDE)
        said = set(words(without_article(text)))
        speakers = (*all_words("memory.self"), *all_words("memory.speakers"), run.speaker.person or "")
        is_speaker = bool(said) and said <= {word for entry in speakers for word in words(entry)}
        is_all = is_speaker or text.strip().casefold() in ("", "*", "all", "everything")
        limit = limit or (MAX_LISTED if is_all else DEFAULT_LIMIT)
        entries = self._entries(run) if self._profile is not None else []
        if self._profile is not None and not is_all:
            wanted = fold_letters(text)
            named = [e for e in entries if wanted in (fold_letters(e.key), fold_letters(e.category))]
            near = await self._profile.async_search(text, limit, may_see=_may_see_entry(run))
            entries = list({entry.id: entry for entry in (*named, *near)}.values())[:limit]
        memories: list[Memory] = []
        if self._recall is not None:
            may_see = _may_see(run)
            if is_all:
                memories = [memory for memory in self._recall.all() if may_see(memory)]
            else:
                rows = await self._recall.async_search(text, limit, may_see=may_see)
                memories = [row.memory for row in rows]
            shown = memories[: max(0, limit - len(entries))]
            self._recall.touch([memory.id for memory in shown], dt_util.utcnow())
        names = {person.id: person.name for person in persons(run.hass)}
        if run.speaker.person_id and run.speaker.person:
            names.setdefault(run.speaker.person_id, run.speaker.person)
        lines = [
            f"{entry.key}: {entry.value}" + (f" ({HOUSEHOLD})" if entry.person is None else "")
            for entry in entries
        ]
        lines += [_memory_line(memory, names) for memory in memories]
        if not lines:
            return "Nothing is remembered about that." + ("" if is_all else " Recall * for everything.")
        result: Result = {"remembered": lines[:limit]}
        if is_all and len(lines) > limit:
            result["more"] = len(lines) - limit
        return result

    async def async_forget(self, text: str, run: ToolRun) -> Result:
        """Forget the one entry and the one memory that a text means.

        The text is an id, a key of the profile, or words. Raises ValidationError if it is not clear what is
        meant, PermissionDenied where nothing may be forgotten.
        """
        if not run.disclosure.people:
            raise PermissionDenied(OUTSIDE)
        entries: list[ProfileEntry] = []
        if self._noting is not None:  # an id, a key, or a sentence with the value
            seen, said = self._entries(run), set(words(text))
            key = text.partition(":")[0].rpartition(",")[2].strip()
            entries = [entry for entry in seen if entry.id == text or _has_key(entry, key)] or [
                entry
                for entry in seen
                if said.issuperset(value := words(entry.value))
                and any(len(word) >= LEAST_LETTERS or not word.isascii() or word.isdigit() for word in value)
            ]
        if len(entries) > 1:
            listed = "; ".join(f"{entry.key}: {entry.value[:60]}" for entry in entries[:3])
            raise ValidationError(f"text: which is meant? {listed}")
        for entry in entries:
            check_said(run, text, entry.key, entry.value)
        memories: list[Memory] = []
        if self._forget is not None:
            try:
                memories = [await self._async_memory_meant(text, self._forget, run)]
            except ValidationError, PermissionDenied:
                if not entries:
                    raise
        elif not entries:
            raise ValidationError(f"text: nothing is remembered about {text[:80]!r}")
        return await self._async_erase(memories, entries, run)

    async def _async_memory_meant(self, text: str, memories: Memories, run: ToolRun) -> Memory:
        if (memory := memories.get(text.strip())) is not None and _may_see(run)(memory):
            check_said(run, memory.content)
            return memory
        check_said(run, text)
        rows = await memories.async_search(text, DEFAULT_LIMIT, may_see=_may_see(run))
        if not rows:
            raise ValidationError(f"nothing is remembered about {text[:80]!r}")
        best = max(rows, key=lambda row: row.relevance)
        near = [row for row in rows if row is not best and best.relevance - row.relevance < 0.25]
        if best.relevance < SURE or near:
            listed = "; ".join(f"{row.memory.id} {row.memory.content[:60]!r}" for row in rows[:3])
            raise ValidationError(f"which is meant? Give the id of one of {listed}")
        return best.memory

    async def _async_erase(
        self, memories: Sequence[Memory], entries: Sequence[ProfileEntry], run: ToolRun
    ) -> Result:
        """Forget, and write it at once. Raises PartlyFailed where a file cannot be written."""
        forgotten: list[str] = []
        is_written = True
        if memories and self._forget is not None:
            for memory in await self._forget.async_forget([memory.id for memory in memories]):
                run.calls.forgotten.extend(memory.texts)
                forgotten.append(memory.content)
            is_written = await self._forget.async_flush()
        if entries and self._noting is not None:
            for entry in await self._noting.async_forget([entry.id for entry in entries]):
                run.calls.forgotten.append(entry.value)
                forgotten.append(f"{entry.key}: {entry.value}")
            is_written = await self._noting.async_flush() and is_written
        if not is_written:
            raise PartlyFailed(ON_DISK, {"forgotten": [*forgotten]})
        return {"forgotten": forgotten}

    def _entries(self, run: ToolRun) -> list[ProfileEntry]:
        """Return the entries that the speaker may see with this model."""
        profile = self._noting if self._noting is not None else self._profile
        assert profile is not None
        return profile.entries(_may_see_entry(run))

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        recalls_all = args.get("action") == RECALL and not args.get("text")
        return {**args, "text": "*"} if recalls_all else args

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        return args.get("action") == RECALL

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ToolOutput:
        text = args["text"].strip()
        if not text:
            raise ValidationError("text: say what is meant")
        match args["action"]:
            case "remember":
                return await self._async_remember(text, household=args.get("household", False), run=run)
            case "recall":
                return await self.async_recall(text, run)
            case _:
                return await self.async_forget(text, run)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        key = {REMEMBER: "remembered", FORGET: "forgotten"}.get(args["action"])
        is_plain = isinstance(result, Mapping) and "note" not in result
        return (ToldAct(key=key),) if key and is_plain else ()

    async def _async_remember(self, text: str, *, household: bool, run: ToolRun) -> ToolOutput:
        """Note an entry of the profile where the text is one; else store a memory.

        An entry is "key: value" for a key of which there is one value, and the name by which the person wants
        to be called. Text that is judged more strictly, with a code or of an unknown speaker, is a memory's.
        """
        pair = _PAIR.fullmatch(text)
        device = _ENTITY_ID.search(pair[2]) if pair else None
        if device and device[0].partition(".")[0] in DOMAINS:  # what a device is called is in no profile
            pair = None
        name = run.speaker.person or ""
        shared = household and is_households(text, run.sentence, name)
        is_strict = holds_secret(text) or (run.speaker.person_id is None and not shared)
        if self._noting is not None and not is_strict:
            category = HOUSEHOLD if shared else "person"
            key, value, is_single = "", "", False
            if pair:
                key, value = pair[1].strip(), pair[2].strip()
                is_single = fold_letters(key) in SINGLE or self._store is None
            elif not shared:
                ordinary = await run.hass.async_add_executor_job(ordinary_words)
                key, value = "name", name_told(text, run.sentence, name, ordinary) or ""
                is_single = bool(value)
            owner = None if shared else run.speaker.person_id
            old = next(
                (entry for entry in self._entries(run) if entry.person == owner and _has_key(entry, key)),
                None,
            )
            if value and (old or is_single):
                category, key = (old.category, old.key) if old else (category, key)
                return await self.async_note(category, key, value, run)
        if self._store is None:
            raise ValidationError(
                "text: only values of the profile are kept here. Write key: value, such as diet: vegan"
            )
        return await self.async_store(text, run, household=household)


def _may_see(run: ToolRun) -> Callable[[Memory], bool]:
    return partial(is_visible, person_id=run.speaker.person_id, model=run.disclosure)


def _may_see_entry(run: ToolRun) -> Callable[[ProfileEntry], bool]:
    return partial(is_entry_visible, person_id=run.speaker.person_id, model=run.disclosure)


_READS: Final = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
EARLIER: Final[Mapping[str, Mapping[Any, Any]]] = {
    STORE_MEMORY: {
        probatio.Required("content"): str,
        probatio.Optional("memory_type"): probatio.In([kind.value for kind in MemoryType]),
        probatio.Optional("importance", description="0 to 1"): probatio.Coerce(float),
        probatio.Optional("household", description="for everybody"): bool,
    },
    RECALL_MEMORY: {probatio.Required("query"): str, probatio.Optional("limit"): probatio.Coerce(int)},
    FORGET_MEMORY: {probatio.Required("memory"): str},
    GET_USER_PROFILE: {probatio.Optional("category"): str},
    UPDATE_USER_PROFILE: {
        probatio.Required("category"): str,
        probatio.Required("key"): str,
        probatio.Required("value"): str,
        probatio.Optional("sensitivity"): probatio.In([level.value for level in Sensitivity]),
    },
}
"""Parameters of the earlier tools by name, each for one of both stores."""


class EarlierMemoryTool(HomeAgentTool):
    """A tool that `memory` replaces."""

    offered = False
    discloses = DataCategory.PEOPLE
    max_text = MAX_CONTENT
    private = True
    description = ""

    def __init__(self, name: str, tool: MemoryTool) -> None:
        self.name = name
        self.title = name.replace("_", " ").capitalize()
        self.annotations = _READS if name in (RECALL_MEMORY, GET_USER_PROFILE) else MemoryTool.annotations
        self.parameters = probatio.Schema(EARLIER[name])
        self.stores_memory = name == STORE_MEMORY
        self._tool = tool

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ToolOutput:
        match self.name:
            case "store_memory":
                given = {"household": False, **args}
                kind = MemoryType(given.pop("memory_type", MemoryType.FACT))
                return await self._tool.async_store(**given, run=run, kind=kind)
            case "recall_memory":
                limit = min(max(args.get("limit", DEFAULT_LIMIT), 1), MAX_LISTED)
                return await self._tool.async_recall(args["query"], run, limit)
            case "forget_memory":
                return await self._tool.async_forget(args["memory"], run)
            case "get_user_profile":
                return await self._tool.async_recall(args.get("category") or "*", run, 50)
            case _:
                return await self._tool.async_note(**args, run=run)


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


def _withheld(run: ToolRun) -> str:
    way_out = ". The option cloud_send_profile (page Web and other models) changes this"
    return WITHHELD if run.disclosure.people else f"{WITHHELD}{way_out}"


def _has_key(entry: ProfileEntry, key: str) -> bool:
    return fold_letters(entry.key) == fold_letters(key)


def _memory_line(memory: Memory, names: Mapping[str, str]) -> str:
    """Return a memory with who said it and when, and how it was learned unless it was told."""
    sayers = dict.fromkeys(names[by] for heard in memory.provenance if (by := heard.person) and by in names)
    how = [] if memory.origin is Origin.TOLD else [memory.origin.value]
    since = dt_util.as_local(memory.created_at).strftime("%Y-%m-%d")
    return f"{memory.content} ({', '.join((*how, *sayers, since))})"


def remembering_tools(
    memories: Memories | None, profile: Profile | None, disabled: Collection[str]
) -> list[HomeAgentTool]:
    """Return the tool for memories and profiles with its earlier names; none if the options allow no part."""
    tool = MemoryTool(memories, profile, disabled)
    if tool.name in disabled or not tool.actions:
        return []
    tools: list[HomeAgentTool] = [tool]
    for name in EARLIER:
        store = (None, profile) if name.endswith("profile") else (memories, None)
        tools += [] if store == (None, None) else [EarlierMemoryTool(name, MemoryTool(*store))]
    return tools
