"""get_user_profile and update_user_profile: what is known about the speaker and the household.

Models are offered `memory` instead, which calls these; their names are still accepted.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NotRequired, TypedDict, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from ...errors import PermissionDenied
from ...memory.profile import CONFIDENCE, HOUSEHOLD, Profile, default_sensitivity
from ...memory.records import Origin, ProfileEntry, Sensitivity, is_entry_visible
from ...memory.sentences import asks_to_remember
from ...safety.disclosure import DataCategory
from ...texts import fold_letters, words
from ..base import HomeAgentTool, ToolRun
from .memory_tools import OUTSIDE, async_check_erased, check_said, withheld

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
        told = [_told(entry) for entry in found[:MOST]]
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


def _told(entry: ProfileEntry) -> ProfileResultRow:
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
