"""get_user_profile and update_user_profile: what is so of the speaker and of the household."""

from functools import partial
from typing import Any, Final, NotRequired, TypedDict, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from ..errors import PermissionDenied
from ..memory.profile import CONFIDENCE, HOUSEHOLD, Profile, default_sensitivity
from ..memory.records import Origin, ProfileEntry, Sensitivity, is_entry_visible
from ..memory.sentences import asks_to_remember
from ..safety.disclosure import DataCategory
from ..texts import fold_letters, words
from .base import HomeAgentTool, ToolRun
from .memory_tools import OUTSIDE, withheld

MOST: Final = 50
"""Entries in one answer."""


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


class GetProfileTool(HomeAgentTool):
    """Tells what is known of the speaker and the household."""

    name = "get_user_profile"
    discloses = DataCategory.PEOPLE
    title = "Read the profile"
    description = "Profile of speaker and household."
    private = True
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema({probatio.Optional("category"): str})

    def __init__(self, profile: Profile) -> None:
        """Take what is known."""
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


class UpdateProfileTool(HomeAgentTool):
    """Notes what is so of the speaker or of the household."""

    name = "update_user_profile"
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
        """Take what is known."""
        self._profile = profile

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ProfileNoted | dict[str, bool]:
        """Note one thing. Raises PermissionDenied and ValidationError for what must not be kept."""
        if run.tainted:
            raise PermissionDenied("Nothing is noted in a turn that has read text from outside")
        new = _entry(args, run)
        old = self._profile.get(new.id)
        if old is not None and not is_entry_visible(old, run.speaker.person_id):
            raise PermissionDenied("This entry is not for somebody whom nobody knows")
        if not new.value.strip():
            gone = await self._profile.async_forget([new.id])
            run.calls.forgotten.extend(entry.value for entry in gone)
            return {"deleted": bool(gone)}
        if old is not None and args.get("sensitivity") is None:
            new = _entry({**args, "sensitivity": old.sensitivity.value}, run)
        known = await self._profile.async_note(new)
        noted: ProfileNoted = {
            "noted": f"{known.category}, {known.key}",
            "sensitivity": known.sensitivity.value,
        }
        if not run.disclosure.home and not is_entry_visible(known, run.speaker.person_id, run.disclosure):
            noted["note"] = withheld(run.disclosure)
        return noted


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
    """Return an entry as the model reads it."""
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
