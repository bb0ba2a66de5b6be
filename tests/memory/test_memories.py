"""What is remembered: found again, merged with what was known, forgotten when asked."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest

from custom_components.home_agent.context.providers.texts import RELEVANT
from custom_components.home_agent.memory.memories import Memories, MemorySettings, SaveOutcome, make_memory
from custom_components.home_agent.memory.records import (
    Memory,
    MemoryType,
    Origin,
    Provenance,
    is_visible,
    strength,
)
from homeassistant.util import dt as dt_util
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture

NOW = dt_util.parse_datetime("2026-03-01T12:00:00+00:00", raise_on_error=True)


def made(content: str, origin: Origin = Origin.EXTRACTED, **options: Any) -> Memory:
    """Return something to remember."""
    options.setdefault("heard", Provenance(at=dt_util.utcnow()))
    return make_memory(content, origin=origin, **options)


def seen_by(person: str | None) -> Callable[[Memory], bool]:
    """Return what lets through what this person may see."""
    return lambda memory: is_visible(memory, person)


@pytest.fixture
def memories() -> Memories:
    """An empty memory."""
    return Memories(lambda: None, AsyncMock(return_value=True))


async def contents(memories: Memories, query: str, person: str | None = None) -> list[str]:
    """Return what a person finds."""
    found = await memories.async_search(query, 5, may_see=seen_by(person))
    return [item.memory.content for item in found]


async def test_what_fits_is_found_first(memories: Memories) -> None:
    """Rare words count more than common ones, and an inflected word is the word."""
    for content in (
        "Anna is allergic to peanuts",
        "The family likes to eat at seven",
        "The dog is called Bello and likes walks",
        "Opa trinkt gerne vegetarische Suppe",
    ):
        await memories.async_remember(made(content))
    assert (await contents(memories, "what is the dog called?"))[
        0
    ] == "The dog is called Bello and likes walks"
    assert (await contents(memories, "peanut soup for Anna"))[0] == "Anna is allergic to peanuts"
    assert (await contents(memories, "Ist Opa Vegetarier?"))[0] == "Opa trinkt gerne vegetarische Suppe"
    assert await contents(memories, "zebra") == []


async def test_a_few_memories_are_found(memories: Memories) -> None:
    """Words that no memory has say little where there are few of them, and an inflection is found."""
    await memories.async_remember(made("The boiler was serviced in May"))
    for content, sentence in (
        ("Ada's favourite colour is ultramarine", "which colour does Ada like?"),
        ("Ada drinks oat milk", "what does Ada drink?"),
        ("Grandma's trains arrive at platform two", "where does grandma's train arrive"),
    ):
        _, kept = await memories.async_remember(made(content))
        (item,) = await memories.async_search(sentence, 5, may_see=seen_by(None))
        assert item.memory.content == content
        assert item.relevance >= RELEVANT
        await memories.async_drop([kept.id])


async def test_the_same_twice_is_one_memory(memories: Memories) -> None:
    """It counts as used, keeps the higher importance and remembers who said it when."""
    first = await memories.async_remember(made("The dog is called Bello", importance=0.4))
    heard = Provenance(at=dt_util.utcnow(), person="anna", conversation_id="c2")
    outcome, memory = await memories.async_remember(
        made("the dog is called Bello!", importance=0.7, heard=heard)
    )
    assert outcome is SaveOutcome.MERGED
    assert memory.id == first[1].id
    assert len(memories) == 1
    assert (memory.importance, memory.access_count) == (0.7, 1)
    assert [item.person for item in memory.provenance] == [None, "anna"]


async def test_what_differs_in_what_matters_is_kept_apart(memories: Memories) -> None:
    """Another number, a denial or another person makes another memory, however alike the words are."""
    for number, (one, other) in enumerate(
        [
            ("My birthday is on March 15", "My birthday is on March 16"),
            ("Ben likes coriander in his soup at lunch", "Ben does not like coriander in his soup at lunch"),
            ("The boiler was serviced in 2024", "The boiler was serviced in 2025"),
            ("Anna mag keinen Kaffee am Morgen", "Anna mag Kaffee am Morgen"),
        ]
    ):
        await memories.async_remember(made(one))
        assert (await memories.async_remember(made(other)))[0] is SaveOutcome.ADDED
        assert len(memories) == 2 * number + 2
    for person in ("anna", "ben"):
        memory = made("I like tea in the evening", person=person)
        assert (await memories.async_remember(memory))[0] is SaveOutcome.ADDED


async def test_what_was_told_keeps_its_words(memories: Memories) -> None:
    """Extraction that hears it again does not rewrite it, and telling makes it last."""
    _, told = await memories.async_remember(made("The dog is called Bello", Origin.TOLD))
    _, again = await memories.async_remember(made("The dog is called Bello today", importance=0.9))
    assert again.content == told.content
    assert again.origin is Origin.TOLD
    memories.configure(MemorySettings(lifetimes={MemoryType.EVENT: timedelta(days=1)}), None)
    _, event = await memories.async_remember(made("Grandma visits on Sunday", type=MemoryType.EVENT))
    assert event.expires_at is not None
    _, event = await memories.async_remember(made("Grandma visits on Sunday", Origin.TOLD))
    assert event.expires_at is None


async def test_what_is_over_is_gone(memories: Memories) -> None:
    """By type, never what was told, and not found even before it is tidied away."""
    memories.configure(MemorySettings(lifetimes={MemoryType.CONTEXT: timedelta(days=2)}), None)
    long_ago = Provenance(at=dt_util.utcnow() - timedelta(days=3))
    await memories.async_remember(made("Guests are in the house", type=MemoryType.CONTEXT, heard=long_ago))
    told = made("The painter is in the house", Origin.TOLD, type=MemoryType.CONTEXT, heard=long_ago)
    await memories.async_remember(told)
    assert await contents(memories, "who is in the house") == ["The painter is in the house"]
    gone = await memories.async_tidy(dt_util.utcnow())
    assert [memory.content for memory in gone] == ["Guests are in the house"]
    assert [memory.content for memory in memories.all()] == ["The painter is in the house"]


async def test_the_weakest_makes_room(memories: Memories) -> None:
    """What counts less than everything there is not kept; what was told neither goes nor takes room."""
    memories.configure(MemorySettings(most=2), None)
    await memories.async_remember(made("The cellar is damp", importance=0.3))
    await memories.async_remember(made("Ben plays chess", importance=0.6))
    assert (await memories.async_remember(made("It rained", importance=0.2)))[0] is SaveOutcome.FULL
    assert (await memories.async_remember(made("Anna sings", importance=0.8)))[0] is SaveOutcome.ADDED
    await memories.async_tidy(dt_util.utcnow())
    assert {memory.content for memory in memories.all()} == {"Ben plays chess", "Anna sings"}
    for number in range(3):
        memory = made(f"Told number {number}", Origin.TOLD, importance=0.0)
        assert (await memories.async_remember(memory))[0] is SaveOutcome.ADDED
    await memories.async_tidy(dt_util.utcnow())
    told = {f"Told number {number}" for number in range(3)}
    assert {memory.content for memory in memories.all()} == {"Ben plays chess", "Anna sings", *told}
    assert (await memories.async_remember(made("Ben sleeps late", importance=0.9)))[0] is SaveOutcome.ADDED
    await memories.async_tidy(dt_util.utcnow())
    assert {memory.content for memory in memories.all()} == {"Ben sleeps late", "Anna sings", *told}


def test_use_strengthens_and_time_weakens() -> None:
    """A day without use costs the share that the option says; what was told loses nothing."""
    memory = made("The dog is called Bello", importance=0.5, heard=Provenance(at=NOW))
    assert strength(memory, NOW, 0.1) == pytest.approx(0.5)
    assert strength(memory, NOW + timedelta(days=2), 0.1) == pytest.approx(0.405)
    told = made("The dog is called Bello", Origin.TOLD, importance=0.5, heard=Provenance(at=NOW))
    assert strength(told, NOW + timedelta(days=200), 0.1) == pytest.approx(0.5)
