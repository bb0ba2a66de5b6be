"""Stores that cannot be read or written: nothing is lost, and the household is told."""

from collections.abc import Callable
import errno
import json
import os
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from hypothesis import HealthCheck, given, settings, strategies as st
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.conversations.history import STORE_KEY
from custom_components.home_agent.store import KeptStore
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from tests.helpers.conversations import LIMITS, NOW, add, file_text, issues, kept_aside, loaded, path_of, turn
from tests.helpers.examples import many
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture

GOOD = {"turns": [{"at": NOW.isoformat(), "messages": turn(1)}], "start": 0}
UNREADABLE = (
    *("[]", '"text"', "5", "null", '{"no": "version"}', '{"version": "one", "data": {}}'),
    *('{"version": 1, "minor_version": 2}', file_text([1]), file_text("text"), file_text({"entries": []})),
    file_text({"conversations": []}, minor_version=1),
    file_text({"entries": {}}, version=2, minor_version=1),
    file_text({"entries": {}}, minor_version=3),
    file_text({"entries": {}}, version=0),
)
TRUNCATED = ("", file_text({"entries": {"entry": {"talk": GOOD}}})[:-20], "\x00\x00", "{")


@pytest.mark.parametrize("text", [*UNREADABLE, *TRUNCATED])
async def test_an_unreadable_store_is_kept_aside_and_reported(hass: HomeAssistant, text: str) -> None:
    """Home Assistant itself does that for a file that is no JSON."""
    path_of(hass).parent.mkdir(exist_ok=True)
    path_of(hass).write_text(text)
    history = await loaded(hass)
    add(history, turn(7))
    await history.async_flush()
    assert [path.read_text() for path in kept_aside(hass)] == [text]
    assert issues(hass) == ([] if text in TRUNCATED else ["store_unreadable"])
    keys = {issue.translation_key for issue in ir.async_get(hass).issues.values()}
    assert ("storage_corruption" in keys) is (text in TRUNCATED)
    assert (await loaded(hass)).get_window("entry", "talk", **LIMITS) == turn(7)


@pytest.mark.parametrize(
    "bad",
    [
        5,
        {},
        {"turns": []},
        {"turns": [{"messages": turn(1)}]},
        {"turns": [{"at": "yesterday", "messages": turn(1)}]},
        {"turns": [{"at": NOW.isoformat(), "messages": [5]}]},
        {"turns": [{"at": NOW.isoformat(), "messages": [{"role": "assistant", "tool_calls": 5}]}]},
        {"turns": GOOD["turns"], "start": "x"},
    ],
)
async def test_one_bad_conversation_does_not_cost_the_others(hass: HomeAssistant, bad: Any) -> None:
    text = file_text({"entries": {"entry": {"talk": GOOD, "bad": bad}, "broken": 5}})
    path_of(hass).parent.mkdir(exist_ok=True)
    path_of(hass).write_text(text)
    history = await loaded(hass)
    assert history.get_window("entry", "talk", **LIMITS) == turn(1)
    assert [path.read_text() for path in kept_aside(hass)] == [text]
    assert issues(hass) == ["store_unreadable"]


async def test_a_store_that_can_neither_be_read_nor_moved_is_never_written(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    path_of(hass).parent.mkdir(exist_ok=True)
    path_of(hass).write_text("[]")

    def refuse(*_args: Any) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "replace", refuse)
    history = await loaded(hass)
    monkeypatch.undo()
    add(history, turn(1))
    await history.async_flush()
    assert path_of(hass).read_text() == "[]"
    assert issues(hass) == ["store_unreadable"]
    assert history.get_window("entry", "talk", **LIMITS) == turn(1)


def _full_disk(*_args: Any, **_options: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def _read_only(*_args: Any, **_options: Any) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize(("call", "fault"), [("tempfile.mkstemp", _full_disk), ("os.makedirs", _read_only)])
async def test_a_failed_write_is_reported_and_tried_again(
    hass: HomeAssistant,
    freezer: FrozenDateTimeFactory,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    fault: Callable[..., None],
) -> None:
    history = await loaded(hass)
    add(history, turn(1))
    await history.async_flush()
    intact = path_of(hass).read_text()
    monkeypatch.setattr(call, fault)
    add(history, turn(2))
    await history.async_flush()
    assert path_of(hass).read_text() == intact
    assert issues(hass) == ["store_unwritable"]
    assert len(history.get_window("entry", "talk", **LIMITS)) == 4
    monkeypatch.undo()
    freezer.tick(61)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert "question 2" in path_of(hass).read_text()
    assert issues(hass) == []


BAD = {
    "half a character": "\ud83d",
    "a key that is half a character": {"\udc00": 1},
    "a number of a thousand digits": 10**1000,
    "a type of its own": {"sets": {1}, "bytes": b"x", "object": object()},
    "depth": json.loads("[" * 500 + "]" * 500),
}


@pytest.mark.parametrize("case", BAD)
async def test_one_bad_record_does_not_end_a_store(
    hass: HomeAssistant, caplog: pytest.LogCaptureFixture, case: str
) -> None:
    """Everything else is written, now and later."""
    kept: dict[str, Any] = {"good": [1, "two"], "bad": BAD[case]}
    store = KeptStore(hass, STORE_KEY, lambda: dict(kept))
    for number in range(3):
        kept["number"] = number
        store.schedule()
        await store.async_flush()
        assert (await KeptStore(hass, STORE_KEY, dict).async_read())["number"] == number
    read = await KeptStore(hass, STORE_KEY, dict).async_read()
    assert read["good"] == [1, "two"]
    assert "Traceback" not in caplog.text
    assert issues(hass) == []


@settings(deadline=None, max_examples=many(40), suppress_health_check=list(HealthCheck))
@given(name=st.text(), call_id=st.text(), said=st.text(min_size=1), half=st.sampled_from("\ud83d\udc00x"))
async def test_whatever_is_said_can_be_written(
    hass: HomeAssistant, name: str, call_id: str, said: str, half: str
) -> None:
    """Text with half characters anywhere in a turn: the turns before and after it survive."""
    history = await loaded(hass)
    history.clear()
    add(history, turn(1))
    function = {"name": name + half, "arguments": json.dumps({half: half + said})}
    add(
        history,
        [
            {"role": "user", "content": said + half},
            {
                "role": "assistant",
                "content": half,
                "tool_calls": [{"id": call_id + half, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call_id + half, "content": half + said},
            {"role": "assistant", "content": half + said},
        ],
        history_id=f"talk {half}",
    )
    add(history, turn(2))
    await history.async_flush()
    again = await loaded(hass)
    assert len(again.find("entry", "talk").turns) == 2
    assert sum(kept.message_count for kept in again._entries["entry"].values()) == 8
