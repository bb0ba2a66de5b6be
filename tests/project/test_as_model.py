"""scripts/as-model shows what a model sees and sends what is typed."""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
import json
import sys
from typing import Any

import aiohttp
import pytest

from scripts.lib.as_model import AnswerError, read_answer
from tests.helpers.documents import ROOT

CALL = 'ha_control {"action": "turn_on", "entity_id": "light.hall"}'
TOOL = {"type": "function", "function": {"name": "ha_control", "parameters": {}}}
STREAM = {"stream": True, "tools": [TOOL]}


@pytest.fixture
async def server(socket_enabled: None) -> AsyncIterator[tuple[Process, str]]:
    """Yield the process and its address."""
    command = [sys.executable, "-m", "scripts.lib.as_model", "--port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=ROOT)
    assert process.stdout
    line = (await process.stdout.readline()).decode()
    yield process, line.removeprefix("Server: ").strip()
    process.kill()
    await process.wait()


async def ask(url: str, **body: Any) -> str:
    request = {"messages": [{"role": "user", "content": "Light, please"}], **body}
    async with aiohttp.ClientSession() as session, session.post(f"{url}/chat/completions", json=request) as r:
        return await r.text()


async def test_an_answer_is_typed(server: tuple[Process, str]) -> None:
    process, url = server
    assert process.stdin
    assert process.stdout
    asked = asyncio.create_task(ask(url, **STREAM))
    await process.stdout.readuntil(b"Light, please")
    await process.stdout.readuntil(b"> ")
    process.stdin.write(f"ha_control not json\n\n{CALL}\nDone.\n\n".encode())
    lines = [line.removeprefix("data: ") for line in (await asked).split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    choices = [json.loads(line)["choices"][0] for line in lines]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == "Done."
    calls = [call["function"] for choice in choices for call in choice["delta"].get("tool_calls", ())]
    assert calls == [{"name": "ha_control", "arguments": CALL.partition(" ")[2]}]
    assert choices[-1]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"max_tokens": 1}, "OK"),
        ({"tools": [{"type": "function", "function": {"name": "get_temperature"}}]}, "kitchen"),
    ],
)
async def test_what_nobody_asked_is_answered_at_once(
    server: tuple[Process, str], body: dict[str, Any], part: str
) -> None:
    assert part in await ask(server[1], **body)


@pytest.mark.parametrize("lines", [[], ["look {where"], ["look []"]])
def test_a_broken_answer(lines: list[str]) -> None:
    with pytest.raises(AnswerError):
        read_answer(lines, ["look"])
