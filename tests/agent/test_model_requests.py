"""The scripted model server itself: a wrong stand-in proves nothing."""

import asyncio
import json
from pathlib import Path
import sys

import aiohttp
import pytest

from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from scripts.lib.processes import BOUND
from tests.servers.model_server import ModelServer, embedding, has_parameter, on_path
from tests.servers.replies import cut, hang, reset, status, text, tool_calls, unknown_parameter

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


async def test_streams_words_calls_and_usage(hass: HomeAssistant, model_server: ModelServer) -> None:
    session = async_get_clientsession(hass)
    model_server.script(
        [tool_calls([("ha_control", {"action": "turn_on"})], text="One moment", usage=(9, 3, 7))]
    )
    body = {**ASK, "stream": True, "stream_options": {"include_usage": True}}
    async with session.post(f"{model_server.url}/chat/completions", json=body) as response:
        lines = (await response.text()).split("\n\n")
    assert lines[-2] == "data: [DONE]"
    chunks = [json.loads(line[6:]) for line in lines[:-2]]
    calls = [c["choices"][0]["delta"].get("tool_calls") for c in chunks[:-1]]
    written = "".join(call[0]["function"]["arguments"] for call in calls if call)
    assert json.loads(written) == {"action": "turn_on"}
    assert chunks[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 7
    assert model_server.requests[0].json == body


async def test_rules_come_before_the_queue(hass: HomeAssistant, model_server: ModelServer) -> None:
    session = async_get_clientsession(hass)
    model_server.on(has_parameter("top_p"), unknown_parameter("top_p"))
    model_server.on(on_path("/models"), status(401, "no"))
    model_server.script([text("queued")])
    url = f"{model_server.url}/chat/completions"
    async with session.post(url, json={**ASK, "top_p": 1}) as response:
        assert response.status == 400
    async with session.post(url, json=ASK) as response:
        assert (await response.json())["choices"][0]["message"]["content"] == "queued"
    async with session.get(f"{model_server.url}/models") as response:
        assert response.status == 401


async def test_hang_waits_for_its_release(hass: HomeAssistant, model_server: ModelServer) -> None:
    session = async_get_clientsession(hass)
    reply = hang(after=1)
    model_server.script([reply])
    async with session.post(f"{model_server.ollama_url}/api/chat", json=ASK) as response:
        request = await model_server.arrived(1)
        await request.reached_fault.wait()
        assert b"Hello" in await response.content.readany()
        reply.release.set()
        assert b'"done": true' in await response.content.read()


async def test_hang_notices_who_hangs_up(hass: HomeAssistant, model_server: ModelServer) -> None:
    session = async_get_clientsession(hass)
    model_server.script([hang()])
    ask = asyncio.create_task(session.post(f"{model_server.url}/chat/completions", json=ASK))
    request = await model_server.arrived(1)
    await request.reached_fault.wait()
    ask.cancel()
    await request.gone.wait()


@pytest.mark.parametrize("reply", [reset(), reset(1, "abc"), cut(1, chunks=["a", "b"])])
async def test_broken_connections(hass: HomeAssistant, model_server: ModelServer, reply: object) -> None:
    session = async_get_clientsession(hass)
    model_server.script([reply])
    with pytest.raises(aiohttp.ClientError):
        async with session.post(
            f"{model_server.url}/chat/completions", json={**ASK, "stream": True}
        ) as response:
            await response.read()


async def test_embeddings_keep_words_close(hass: HomeAssistant, model_server: ModelServer) -> None:
    session = async_get_clientsession(hass)
    async with session.post(f"{model_server.url}/embeddings", json={"input": ["a b", "b c"]}) as response:
        first, second = (item["embedding"] for item in (await response.json())["data"])
    assert first == embedding("a b", 256)
    assert sum(x * y for x, y in zip(first, second, strict=True)) > sum(
        x * y for x, y in zip(first, embedding("x y", 256), strict=True)
    )


async def test_runs_as_a_process(hass: HomeAssistant, socket_enabled: None, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    rules = [{"last_role": "tool", "reply": {"text": "after the tool"}}]
    script.write_text(json.dumps({"default": {"text": "from the file"}, "rules": rules}))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.servers.model_server",
        "--script",
        str(script),
        stdout=asyncio.subprocess.PIPE,
        **BOUND,
    )
    assert process.stdout
    address = (await process.stdout.readline()).decode().strip()
    session = async_get_clientsession(hass)
    async with session.post(f"{address}/v1/chat/completions", json=ASK) as response:
        assert "from the file" in await response.text()
    after = {"messages": [{"role": "tool", "content": "ok"}]}
    async with session.post(f"{address}/v1/chat/completions", json=after) as response:
        assert "after the tool" in await response.text()
    async with session.get(f"{address}/_requests") as response:
        first, _ = await response.json()
    assert first["received"] <= first["first_byte"] <= first["last_byte"]
    process.terminate()
    await process.wait()
