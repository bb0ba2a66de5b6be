"""Stores that cannot be read or written: nothing is lost, and the household is told."""

from collections.abc import Callable
import errno
import os
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir

from .conversations import (
    LIMITS,
    NOW,
    add,
    file_text,
    issues,
    kept_aside,
    loaded,
    path_of,
    turn,
)


@pytest.fixture
def hass_storage() -> dict[str, Any]:
    """Let stores be real files."""
    return {}


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Give every test files of its own."""
    return str(tmp_path)


GOOD = {"turns": [{"at": NOW.isoformat(), "messages": turn(1)}], "start": 0}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '"text"',
        "5",
        "null",
        '{"no": "version"}',
        '{"version": "one", "data": {}}',
        '{"version": 1, "minor_version": 2}',
        file_text([1]),
        file_text("text"),
        file_text({"entries": []}),
        file_text({"conversations": []}, minor_version=1),
        file_text({"entries": {}}, version=2, minor_version=1),
        file_text({"entries": {}}, minor_version=3),
        file_text({"entries": {}}, version=0),
    ],
)
async def test_an_unreadable_store_is_kept_aside_and_reported(hass: HomeAssistant, text: str) -> None:
    path_of(hass).parent.mkdir(exist_ok=True)
    path_of(hass).write_text(text)
    history = await loaded(hass)
    add(history, turn(7))
    await history.async_flush()
    assert [path.read_text() for path in kept_aside(hass)] == [text]
    assert issues(hass) == ["store_unreadable"]
    assert (await loaded(hass)).get_window("entry", "talk", **LIMITS) == turn(7)


@pytest.mark.parametrize(
    "text", ["", file_text({"entries": {"entry": {"talk": GOOD}}})[:-20], "\x00\x00", "{"]
)
async def test_a_truncated_store_is_kept_aside(hass: HomeAssistant, text: str) -> None:
    path_of(hass).parent.mkdir(exist_ok=True)
    path_of(hass).write_text(text)
    history = await loaded(hass)
    add(history, turn(7))
    await history.async_flush()
    assert [path.read_text() for path in kept_aside(hass)] == [text]
    assert any(issue.translation_key == "storage_corruption" for issue in ir.async_get(hass).issues.values())


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
