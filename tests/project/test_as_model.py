"""scripts/as-model shows what a model sees and sends the answers that somebody writes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
import json
from pathlib import Path
import re
import sys
from typing import Any

import aiohttp
import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.checks import every
from tests.helpers.documents import ROOT
from tests.helpers.listening import LONG, Listener, start_turn
from tests.servers.process import ServerProcess

LIGHT = "light.kitchen_ceiling"
CALL = {"name": "ha_control", "arguments": {"action": "turn_on", "entity_id": LIGHT}}
STORY = "Tell me a story"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
ADDRESS = re.compile(r"Server: (http://\S+)/v1\n")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {}}}


class AsModel:
    """A running server."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.output = folder / "output"
        self.log = folder / "log.jsonl"
        command = [sys.executable, "-m", "scripts.lib.as_model", "--port", "0", "--delay", "0", *arguments]
        command += ["--log", str(self.log)]
        self.output.touch()
        self._process = ServerProcess(
            command, log=self.output, answers=lambda: ADDRESS.search(self._printed()) is not None, folder=ROOT
        )
        self._process.start()
        found = ADDRESS.search(self._printed())
        assert found
        self.address = found[1]
        self.url = f"{self.address}/v1"
        self.stop = self._process.stop

    def _printed(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def clear(self) -> None:
        """Forget nothing: requests of the setup are shown, too."""

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def as_model(socket_enabled: None, tmp_path: Path) -> Iterator[AsModel]:
    server = AsModel(tmp_path)
    yield server
    server.stop()


@pytest.fixture
async def http(as_model: AsModel) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(as_model.address) as session:
        yield session


async def get(http: aiohttp.ClientSession, path: str) -> Any:
    async with http.get(path) as response:
        assert response.status == 200
        return await response.json()


async def waiting(http: aiohttp.ClientSession, after: int = 0) -> dict[str, Any]:
    """Return the next request that waits for an answer."""
    while True:
        found = (await get(http, f"/api/requests?after={after}&wait=60"))["requests"]
        for request in found:
            after = request["number"]
            if request["state"] == "waiting":
                return await get(http, f"/api/requests/{after}")


async def answer(http: aiohttp.ClientSession, request: dict[str, Any], **fields: Any) -> tuple[int, Any]:
    async with http.post(f"/api/requests/{request['number']}/answer", json=fields) as response:
        return response.status, await response.json()


def chat(http: aiohttp.ClientSession, sentence: str, **body: Any) -> asyncio.Task[tuple[int, Any]]:
    """Send a request as an agent does; the answer comes when somebody wrote it."""

    async def send() -> tuple[int, Any]:
        messages = [{"role": "user", "content": sentence}]
        async with http.post("/v1/chat/completions", json={"messages": messages, **body}) as response:
            return response.status, await response.json()

    return asyncio.create_task(send())


async def agent_of(hass: HomeAssistant, as_model: AsModel) -> Agent:
    return await async_agent(hass, as_model, {"spoken_confirmations": False})  # type: ignore[arg-type]


async def test_a_turn_with_a_call_is_answered_by_hand(
    hass: HomeAssistant, as_model: AsModel, http: aiohttp.ClientSession
) -> None:
    agent = await agent_of(hass, as_model)
    prepared = (await get(http, "/api/requests"))["requests"]
    assert every(request["state"] == "automatic" for request in prepared)
    listener = Listener()
    turn = start_turn(agent, "Make it bright in the kitchen and tell me a joke", listener)
    first = await waiting(http)
    assert "ha_control" in [tool["function"]["name"] for tool in first["request"]["tools"]]
    assert (await answer(http, first, tool_calls=[CALL]))[0] == 200
    second = await waiting(http, first["number"])
    assert hass.states.get(LIGHT).state == "on"
    result = second["request"]["messages"][-1]
    assert result["role"] == "tool"
    assert second["new_from"] <= len(first["request"]["messages"])
    status, _ = await answer(http, second, chunks=["Why did the lamp ", "laugh? ", "It was light-headed."])
    assert status == 200
    assert speech(await turn) == "Why did the lamp laugh? It was light-headed."


async def test_deltas_arrive_one_by_one(
    hass: HomeAssistant, as_model: AsModel, http: aiohttp.ClientSession
) -> None:
    agent = await agent_of(hass, as_model)
    listener = Listener()
    turn = start_turn(agent, STORY, listener)
    request = await waiting(http)
    await answer(
        http, request, text="Once upon a time. There was a lamp.", thinking="A story, then.", delay=0.01
    )
    assert speech(await turn) == "Once upon a time. There was a lamp."
    assert listener.thoughts == "A story, then."
    assert len([delta for delta in listener.deltas if delta.get("content")]) > 1


async def test_the_stream_has_the_pieces_of_the_answer(http: aiohttp.ClientSession) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": [TOOL], "stream": True}
    response = asyncio.create_task(http.post("/v1/chat/completions", json=body))
    request = await waiting(http)
    look = {"name": "look", "arguments": '{"where": "in the kitchen"}'}
    await answer(http, request, chunks=["One, ", "two"], tool_calls=[look])
    lines = (await (await response).text()).split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    choices = [json.loads(line.removeprefix("data: "))["choices"][0] for line in lines[:-2]]
    assert [choice["delta"]["content"] for choice in choices if choice["delta"].get("content")] == [
        "One, ",
        "two",
    ]
    pieces = [
        call["function"]["arguments"] for choice in choices for call in choice["delta"].get("tool_calls", [])
    ]
    assert len(pieces) > 2
    assert json.loads("".join(pieces)) == {"where": "in the kitchen"}
    assert choices[-1]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({}, "neither text nor tool calls"),
        ({"text": 1}, "text is not a string"),
        ({"txt": "Hi"}, "unknown field 'txt'"),
        ({"text": "Hi", "chunks": ["Hi"]}, "either text or chunks"),
        ({"chunks": ["Hi", 1]}, "chunks is not a list of strings"),
        ({"text": "Hi", "delay": -1}, "delay is not a number"),
        ({"tool_calls": [{"name": "look", "arguments": "{where"}]}, "arguments of look: not JSON: "),
        ({"tool_calls": [{"name": "look", "arguments": []}]}, "arguments of look: not a JSON object"),
        ({"tool_calls": [{"name": "jump"}]}, "no tool 'jump': the request offers look"),
    ],
)
async def test_a_broken_answer_is_refused_and_the_request_waits_on(
    http: aiohttp.ClientSession, broken: dict[str, Any], said: str
) -> None:
    whole = chat(http, "Hi", tools=[TOOL])
    request = await waiting(http)
    status, body = await answer(http, request, **broken)
    assert (status, said in body["error"]["message"]) == (400, True)
    assert (await answer(http, request, text="Hello"))[0] == 200
    assert (await answer(http, request, text="Hello"))[0] == 409
    status, completion = await whole
    assert (status, completion["choices"][0]["message"]["content"]) == (200, "Hello")


@pytest.mark.parametrize("path", ["/", "/api/requests", "/v1/models"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "attacker.example"},
        {"Host": "localhost.attacker.example:8130"},
        {"Host": "192.0.2.1"},
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
    ],
)
async def test_a_page_of_the_web_is_refused(
    http: aiohttp.ClientSession, path: str, headers: dict[str, str]
) -> None:
    async with http.get(path, headers=headers) as response:
        assert response.status == 403
    async with http.get(path) as response:
        assert response.status == 200


async def test_a_page_of_the_web_cannot_answer(as_model: AsModel, http: aiohttp.ClientSession) -> None:
    whole = chat(http, "Hi")
    path = f"/api/requests/{(await waiting(http))['number']}/answer"
    async with http.post(
        path, json={"text": "No"}, headers={"Origin": "https://attacker.example"}
    ) as response:
        assert response.status == 403
    async with http.post(path, json={"text": "Yes"}, headers={"Origin": as_model.address}) as response:
        assert response.status == 200
    assert (await whole)[1]["choices"][0]["message"]["content"] == "Yes"


async def test_a_prompt_is_text_on_the_page(http: aiohttp.ClientSession) -> None:
    function = {"name": HOSTILE, "description": HOSTILE}
    field = {"type": HOSTILE, "description": HOSTILE, "enum": [HOSTILE]}
    function["parameters"] = {"type": "object", "properties": {HOSTILE: field, "n": {"type": HOSTILE}}}
    whole = chat(http, HOSTILE, model=HOSTILE, tools=[{"type": "function", "function": function}])
    request = await waiting(http)
    for state in ("waiting", "answered"):
        async with http.get("/") as response:
            page = await response.text()
            policy = response.headers["Content-Security-Policy"]
        assert f"<em>{state}</em>" in page
        assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 5
        assert "<script>" not in page
        assert "<img" not in page
        assert policy.startswith("default-src 'none'; script-src 'nonce-")
        await answer(http, request, text=HOSTILE)
        await whole
    assert re.findall(r"""(?:src|href)=["'](?!/)""", page) == []


async def test_the_page_shows_signatures_and_marks_what_is_new(http: aiohttp.ClientSession) -> None:
    parameters = {
        "type": "object",
        "properties": {
            "action": {"enum": ["on", "off"]},
            "rooms": {"type": "array", "items": {"type": "string"}, "description": "Where"},
        },
        "required": ["action"],
    }
    tools = [
        {"type": "function", "function": {"name": "switch", "description": "S", "parameters": parameters}}
    ]
    first = chat(http, "One", tools=tools)
    await answer(http, await waiting(http), text="1")
    await first
    messages = [{"role": "user", "content": "One"}, {"role": "assistant", "content": "1"}]
    again = chat(http, "", messages=[*messages, {"role": "user", "content": "Two"}], tools=tools)
    request = await waiting(http, 1)
    assert request["new_from"] == 1
    async with http.get("/") as response:
        page = await response.text()
    assert "switch(action: &quot;on&quot; | &quot;off&quot;, rooms?: [string])" in page
    assert "<li>rooms: Where</li>" in page
    assert re.findall(r'<section class="message( new)?"', page) == ["", " new", " new"]
    await answer(http, request, text="2")
    await again


async def test_half_a_character_in_a_prompt_can_be_shown(
    as_model: AsModel, http: aiohttp.ClientSession
) -> None:
    whole = chat(http, "half \ud83d")
    request = await waiting(http)
    async with http.get("/") as response:
        assert "half ?" in await response.text()
    await answer(http, request, text="half \ude00")
    assert (await whole)[1]["choices"][0]["message"]["content"] == "half \ude00"
    assert as_model.logged()[0]["sentence"] == "half \ud83d"


async def test_an_agent_that_gives_up_is_shown(http: aiohttp.ClientSession) -> None:
    whole = chat(http, "Hi")
    request = await waiting(http)
    whole.cancel()
    async with asyncio.timeout(LONG):
        while (await get(http, "/api/requests/1"))["state"] == "waiting":
            pass
    assert (await get(http, "/api/requests/1"))["state"] == "gone"
    status, body = await answer(http, request, text="Hello")
    assert (status, body["error"]["message"]) == (409, "request 1 does not wait for an answer: gone")


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"messages": []},
        {"messages": ["Hi"]},
        {"messages": [{"content": "Hi"}]},
        {"messages": [{"role": "assistant", "tool_calls": [1]}]},
        {"messages": [{"role": "user"}], "tools": [{"name": "look"}]},
    ],
)
async def test_a_broken_request_is_refused_in_openai_s_form(http: aiohttp.ClientSession, body: Any) -> None:
    async with http.post("/v1/chat/completions", json=body) as response:
        assert response.status == 400
        assert (await response.json())["error"]["type"] == "invalid_request_error"
    assert (await get(http, "/api/requests"))["requests"] == []


async def test_nobody_answers(socket_enabled: None, tmp_path: Path) -> None:
    server = AsModel(tmp_path, "--timeout", "0.05")
    try:
        async with aiohttp.ClientSession(server.address) as http:
            status, body = await chat(http, "Hi")
            assert (status, body["error"]["message"]) == (504, "nobody answered within 0.05 seconds")
            request = await get(http, "/api/requests/1")
            assert request["state"] == "timeout"
            assert (await answer(http, request, text="Hello"))[0] == 409
    finally:
        server.stop()


async def test_answers_come_from_a_file(hass: HomeAssistant, socket_enabled: None, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    lines = [
        {"match": "KITCHEN and", "tool_calls": [CALL]},
        {"match": "kitchen and", "result": LIGHT, "text": "It is bright now, and here is a joke."},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    server = AsModel(tmp_path, "--answers", str(file))
    try:
        agent = await agent_of(hass, server)
        said = await agent.say("Make it bright in the kitchen and tell me a joke")
        assert speech(said) == "It is bright now, and here is a joke."
        logged = [request for request in server.logged() if request["state"] == "answered"]
        assert [request["answer"]["tool_calls"] for request in logged] == [[CALL], []]
        assert every(request["request"]["messages"] for request in logged)
        assert server.log.stat().st_mode & 0o077 == 0
    finally:
        server.stop()


async def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"match": "a", "text": "b"}\n{"match": "a"}\n', encoding="utf-8")
    with pytest.raises(
        AssertionError, match=r"answers\.jsonl, line 2: the answer has neither text nor tool calls"
    ):
        AsModel(tmp_path, "--answers", str(file))
