"""Conversations: kept whole, cut in large steps, brought back after a restart, gone when asked."""

from datetime import timedelta

from freezegun.api import FrozenDateTimeFactory
from hypothesis import given, strategies as st
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.conversations.history import (
    MAX_CONVERSATIONS,
    MAX_MESSAGES,
    Conversation,
    make_turn,
)
from homeassistant.core import HomeAssistant
from tests.helpers.conversations import (
    LIMITS,
    NOW,
    add,
    assert_paired,
    file_text,
    kept_aside,
    loaded,
    path_of,
    turn,
)
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture


async def test_what_was_said_comes_back_after_a_restart(hass: HomeAssistant) -> None:
    history = await loaded(hass)
    add(history, turn(1, calls=2))
    add(history, turn(2), entry_id="other")
    await history.async_flush()

    again = await loaded(hass)
    assert again.get_window("entry", "talk", **LIMITS) == turn(1, calls=2)
    assert again.get_window("other", "talk", **LIMITS) == turn(2)
    assert again.get_window("entry", "unknown", **LIMITS) == []
    assert again.find("entry", "talk").turns[-1].at == NOW
    assert not again.find("entry", "unknown").turns
    assert not kept_aside(hass)


async def test_the_window_moves_in_large_steps(hass: HomeAssistant) -> None:
    history = await loaded(hass)
    beginnings: list[str] = []
    for index in range(40):
        add(history, turn(index))
        window = history.get_window("entry", "talk", max_messages=20, max_tokens=50_000)
        assert len(window) <= 20
        assert window[-1]["content"] == f"answer {index}"
        assert_paired(window)
        beginnings.append(window[0]["content"])
    assert len(set(beginnings)) == 6
    assert beginnings == sorted(beginnings, key=beginnings.index)


async def test_tokens_limit_the_window_too(hass: HomeAssistant) -> None:
    history = await loaded(hass)
    for index in range(20):
        add(history, turn(index, words=200))
    window = history.get_window("entry", "talk", max_messages=100, max_tokens=1_500)
    assert 2 <= len(window) <= 14
    assert window[-1]["content"] == "answer 19"


async def test_calls_without_results_and_results_without_calls_are_left_out(hass: HomeAssistant) -> None:
    history = await loaded(hass)
    broken = turn(1, calls=2)
    del broken[2]
    broken.insert(1, {"role": "tool", "tool_call_id": "stray", "content": "{}"})
    broken.insert(0, {"role": "system", "content": "never stored"})
    add(history, broken)
    window = history.get_window("entry", "talk", **LIMITS)
    assert_paired(window)
    assert [message["role"] for message in window] == ["user", "assistant", "tool", "assistant"]
    add(history, [{"role": "user", "content": "nobody answered"}], history_id="silent")
    assert not history.find("entry", "silent").turns


async def test_conversations_and_messages_are_bounded(hass: HomeAssistant) -> None:
    history = await loaded(hass)
    for index in range(MAX_CONVERSATIONS + 20):
        add(history, turn(index), history_id=f"talk {index}", at=NOW + timedelta(minutes=index))
    known = [index for index in range(MAX_CONVERSATIONS + 20) if history.find("entry", f"talk {index}").turns]
    assert known == [*range(20, MAX_CONVERSATIONS + 20)]
    for index in range(MAX_MESSAGES):
        add(history, turn(index), history_id="long", at=NOW + timedelta(days=1))
    assert sum(len(kept.messages) for kept in history.find("entry", "long").turns) == MAX_MESSAGES
    for index in range(300):
        add(history, turn(index, words=1_000), history_id="wide", at=NOW + timedelta(days=2))
    assert sum(kept.tokens for kept in history.find("entry", "wide").turns) <= 60_000


async def test_cleared_text_is_gone_from_memory_and_disk(hass: HomeAssistant) -> None:
    history = await loaded(hass)
    for entry_id in ("entry", "other"):
        for history_id in ("talk", "chat"):
            add(history, turn(len(history_id)), entry_id=entry_id, history_id=history_id)
    add(history, [{"role": "user", "content": "my secret"}, {"role": "assistant", "content": "ok"}])
    await history.async_flush()
    assert "my secret" in path_of(hass).read_text()

    assert history.clear("entry", "talk") == 1
    await hass.async_block_till_done(wait_background_tasks=True)
    assert "my secret" not in path_of(hass).read_text()
    assert not history.find("entry", "talk").turns
    assert history.find("other", "talk").turns
    assert history.clear("other") == 2
    assert history.clear() == 1
    await history.async_flush()
    assert "question" not in path_of(hass).read_text()
    assert not (await loaded(hass)).find("entry", "chat").turns


async def test_old_conversations_are_pruned(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    freezer.move_to(NOW)
    history = await loaded(hass)
    add(history, turn(1), history_id="old", at=NOW - timedelta(days=8))
    add(history, turn(2), history_id="young", at=NOW - timedelta(days=6))
    add(history, turn(3), history_id="old", entry_id="other", at=NOW - timedelta(days=8))
    assert history.prune(0) == 0
    assert history.prune(7, "entry") == 1
    assert [name for name in ("old", "young") if history.find("entry", name).turns] == ["young"]
    assert history.find("other", "old").turns
    assert history.prune(7) == 1


async def test_conversations_of_earlier_releases_are_taken_over(hass: HomeAssistant) -> None:
    entry = MockConfigEntry(domain=DOMAIN)
    entry.add_to_hass(hass)
    messages = [
        {"role": "user", "content": "hello", "timestamp": 1_700_000_000},
        {"role": "assistant", "content": "hi", "timestamp": 1_700_000_001.5},
        {"role": "user", "content": "bye"},
        {"role": "assistant", "content": "see you", "timestamp": "2026-01-14T12:00:00+00:00"},
    ]
    path_of(hass).parent.mkdir(exist_ok=True)
    path_of(hass).write_text(file_text({"conversations": {"talk": messages, "none": []}}, minor_version=1))
    history = await loaded(hass)
    assert [message["content"] for message in history.get_window(entry.entry_id, "talk", **LIMITS)] == [
        "hello",
        "hi",
        "bye",
        "see you",
    ]
    assert history.find(entry.entry_id, "talk").turns[-1].at == NOW
    assert not history.find(entry.entry_id, "none").turns
    assert not kept_aside(hass)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60)), min_size=1, max_size=40),
    st.integers(1, 30),
    st.integers(1, 2_000),
)
def test_any_window_fits_ends_with_the_newest_and_is_paired(
    shapes: list[tuple[int, int]], max_messages: int, max_tokens: int
) -> None:
    conversation = Conversation()
    for index, (calls, words) in enumerate(shapes):
        made = make_turn(turn(index, calls=calls, words=words), at=NOW, persist=True)
        assert made is not None
        conversation = conversation.with_turn(made)
        turns, conversation = conversation.window(max_messages, max_tokens)
        window = [message for part in turns for message in part.messages]
        assert len(window) <= max_messages
        assert sum(part.tokens for part in turns) <= max_tokens
        assert_paired(window)
