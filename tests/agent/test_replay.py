"""The replay of recorded calls: its own small recordings, and what its table says of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.replay import OWN_DATA, Outcome, async_replay, tables

pytestmark = pytest.mark.usefixtures("socket_enabled")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one object on each line."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def recording(task: dict[str, Any], *calls: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a recorded sequence."""
    listed = [{"name": name, "args": args} for name, args in calls]
    return {"task_id": task["task_id"], "model": "test", "n": 1, "tool_calls": listed, **more}


async def replay(folder: Path, home: str, text: str, *sequences: Any) -> list[Outcome]:
    """Replay sequences for one request of the project's own recordings."""

    def rows(name: str) -> list[dict[str, Any]]:
        with (OWN_DATA / name).open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    write(folder / "homes.jsonl", [row for row in rows("homes.jsonl") if row["home"] == home])
    (task,) = [row for row in rows("tasks.jsonl") if row["home"] == home and row["text"] == text]
    write(folder / "tasks.jsonl", [task])
    write(folder / "calls.jsonl", [recording(task, *calls, **more) for calls, more in sequences])
    return await async_replay(folder)


async def test_replay_of_a_light(tmp_path: Path) -> None:
    """What is right, what stock Home Assistant cannot do, what was written, and what is wrong."""
    name = {"name": "Kitchen Light"}
    right, mended, written, wrong = await replay(
        tmp_path,
        "dom1-pl-lights",
        "Kitchen light off",
        ([("HassTurnOff", name)], {}),
        ([("HassTurnOff", {**name, "device_class": ["light"]})], {}),
        ([], {"leak": True, "final_text": 'HassTurnOff(name="Kitchen Light")'}),
        ([("HassTurnOn", name)], {}),
    )
    assert (right.ours, right.stock) == (True, True)
    assert (mended.ours, mended.stock) == (True, False)
    assert (written.ours, written.stock) == (True, False)
    assert (wrong.ours, wrong.stock) == (False, False)
    figures = {row[0]: row for row in tables([right, mended, written, wrong])[0].rows}
    assert figures["failing ones that reach the right state"][1:4] == (2, "50.0 % (1)", "0.0 % (0)")
    assert figures["passing ones that still pass"][1:4] == (1, "100.0 % (1)", "100.0 % (1)")
    assert tables([right, mended, wrong])[1].rows == [("test", 3, "66.7 % (2)", "33.3 % (1)")]


@pytest.mark.slow
async def test_replay_of_a_lock(tmp_path: Path) -> None:
    """A guess moves no lock; a call that is only written badly does."""
    guessed, mended, opposite = await replay(
        tmp_path,
        "home1-us-lock",
        "Unlock smart lock",
        ([("HassTurnOff", {"name": "Smrt Lok", "domain": ["lock"]})], {}),
        ([("HassTurnOff", {"name": ["Smart Lock"], "domain": '["lock"]'})], {}),
        ([("HassTurnOn", {"name": ["Smart Lock"], "domain": ["lock"]})], {}),
    )
    assert not guessed.ours_moved
    assert "lock.smart_lock" in guessed.errors[0]
    assert mended.ours
    assert mended.moved_by_repair == {"lock.smart_lock"}
    assert not opposite.ours_moved
    assert not [item for item in (guessed, mended, opposite) if item.moved_wrongly]
