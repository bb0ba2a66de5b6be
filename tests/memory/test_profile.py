"""What is so of each person: one value for each key, surer with every repetition."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest

from custom_components.home_agent.errors import PermissionDenied
from custom_components.home_agent.memory.profile import (
    CONFIDENCE,
    Profile,
    default_sensitivity,
)
from custom_components.home_agent.memory.records import Origin, ProfileEntry, Sensitivity

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def entry(value: str = "vegetarian", **more: Any) -> ProfileEntry:
    """Return an entry of Anna's."""
    origin = more.get("origin", Origin.TOLD)
    return ProfileEntry(
        **{
            "category": "food",
            "key": "diet",
            "value": value,
            "person": "anna",
            "sensitivity": Sensitivity.PRIVATE,
            "confidence": CONFIDENCE[origin],
            "origin": origin,
            "first_seen": NOW,
            "last_seen": NOW,
            **more,
        }
    )


def everybody(_entry: ProfileEntry) -> bool:
    """Let everything through."""
    return True


@pytest.fixture
def profile() -> Profile:
    """An empty profile whose store nobody writes."""
    return Profile(lambda: None, AsyncMock(return_value=True))


async def test_repetition_makes_surer(profile: Profile) -> None:
    """And is counted; the first time stays known."""
    first = await profile.async_note(entry(origin=Origin.EXTRACTED))
    later = NOW + timedelta(days=3)
    second = await profile.async_note(entry("Vegetarian", origin=Origin.EXTRACTED, last_seen=later))
    assert second.confidence > first.confidence
    assert (second.count, second.first_seen, second.last_seen) == (2, NOW, later)
    assert len(profile.records()) == 1


async def test_contradiction_makes_less_sure(profile: Profile) -> None:
    """What was told stays until somebody tells otherwise; what was guessed gives way."""
    await profile.async_note(entry())
    doubted = await profile.async_note(entry("omnivore", origin=Origin.OBSERVED))
    assert doubted.value == "vegetarian"
    assert doubted.confidence < CONFIDENCE[Origin.TOLD]
    told = await profile.async_note(entry("vegan"))
    assert (told.value, told.previous) == ("vegan", "vegetarian")
    assert told.confidence == CONFIDENCE[Origin.TOLD]
    await profile.async_note(entry("tea", key="drink", origin=Origin.EXTRACTED))
    guessed = await profile.async_note(entry("coffee", key="drink", origin=Origin.EXTRACTED))
    assert (guessed.value, guessed.previous) == ("coffee", "tea")


async def test_codes_are_refused(profile: Profile) -> None:
    """Whoever says them."""
    for key, value in (
        ("pin", "4711"),
        ("wifi password", "hunter22"),
        ("card", "4111 1111 1111 1111"),
        ("note", "PIN: 4711"),
    ):
        with pytest.raises(PermissionDenied):
            await profile.async_note(entry(value, key=key))
    assert not profile.records()


def test_what_is_delicate_is_sensitive_from_the_start() -> None:
    """And how somebody is called is public."""
    assert default_sensitivity("Health", "allergy", "anna") is Sensitivity.SENSITIVE
    assert default_sensitivity("person", "name", "anna") is Sensitivity.PUBLIC
    assert default_sensitivity("food", "diet", "anna") is Sensitivity.PRIVATE
    assert default_sensitivity("household", "bins", None) is Sensitivity.PUBLIC


def test_what_is_sensitive_is_no_knowledge() -> None:
    """It is neither embedded nor found by retrieve_knowledge."""
    assert entry(key="illness", sensitivity=Sensitivity.SENSITIVE).document is None
    document = entry().document
    assert document is not None
    assert document.text == "food, diet: vegetarian"
    assert document.person == "anna"


async def test_finding(profile: Profile) -> None:
    """By words; what always fits stands by itself, but not what is sensitive."""
    await profile.async_note(entry())
    await profile.async_note(entry("jazz", category="music", key="likes"))
    await profile.async_note(
        entry("diabetes", category="health", key="diet", sensitivity=Sensitivity.SENSITIVE)
    )
    (found,) = await profile.async_search("Play some music", 5, may_see=everybody)
    assert found.value == "jazz"
    assert [item.value for item in profile.about_diet(everybody)] == ["vegetarian"]
    assert not await profile.async_search("Play some music", 5, may_see=lambda _entry: False)
