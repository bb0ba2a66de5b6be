"""What is sent to each kind of server."""

import base64
from typing import Any

import pytest

from custom_components.home_agent.inference.models import ChatRequest, TokenUsage
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import KEY, TOOL, ask, client_of, collect, spoken
from tests.servers.model_server import ModelServer, embedding, on_path
from tests.servers.replies import status, thinking, tool_calls

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DEPLOYMENTS = "/openai/deployments"
VERSION = "api-version=2024-10-21"
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "ha_query", "arguments": '{"entity_id":"a.b"}'},
            },
            {"id": "c2", "type": "function", "function": {"name": "ha_control", "arguments": '{"broken":'}},
            {"id": "c3", "type": "function", "function": {"name": "ha_control", "arguments": "[1]"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "on"},
    {"role": "tool", "tool_call_id": "c2", "name": "named", "content": "off"},
]


async def test_openai_request(hass: HomeAssistant, model_server: ModelServer) -> None:
    request = ChatRequest(
        messages=CONVERSATION,
        tools=[TOOL],
        tool_choice="none",
        temperature=0.7,
        top_p=0.9,
        max_tokens=500,
        keep_alive="5m",
        num_ctx=4096,
        thinking=False,
        reasoning_effort="low",
        response_schema=SCHEMA,
        conversation_id="abc",
    )
    await collect(client_of(hass, model_server.url).stream(request))
    assert model_server.requests[0].json == {
        "model": "test-model",
        "messages": CONVERSATION,
        "tools": [TOOL],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 500,
        "reasoning_effort": "low",
        "tool_choice": "none",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": False, "schema": SCHEMA},
        },
        "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert model_server.requests[0].path == "/v1/chat/completions"


async def test_openai_answer(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.script(
        [tool_calls([("ha_query", {"a": 1})], text="Let me see.", thinking="Hm.", usage=(100, 20, 90))] * 2
    )
    client = client_of(hass, model_server.url)
    whole = await client.complete(ask())
    deltas = await collect(client.stream(ask()))
    assert (whole.content, whole.thinking, whole.finish_reason) == ("Let me see.", "Hm.", "tool_calls")
    assert [(call.name, call.arguments) for call in whole.tool_calls] == [("ha_query", '{"a": 1}')]
    assert whole.usage == deltas[-1].usage == TokenUsage(100, 20, 90)
    assert whole.usage
    assert whole.usage.total == 120
    assert spoken(deltas) == "Let me see."


async def test_strict_only_where_strict_is_possible(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for schema, strict in [
        ({**SCHEMA, "additionalProperties": False}, True),
        (SCHEMA, False),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, False),
        ({"type": "array", "items": {"type": "string"}}, True),
    ]:
        with subtests.test(schema=schema, strict=strict):
            model_server.clear()
            await client_of(hass, model_server.url).complete(ask(response_schema=schema))
            assert model_server.requests[0].json["response_format"]["json_schema"]["strict"] is strict


async def test_what_came_with_a_call_goes_back_with_it(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """Gemini refuses later requests when the signature of its call is missing."""
    signature = {"google": {"thought_signature": "c2ln"}}
    call = {"id": "", "function": {"name": "ha_query", "arguments": "{}"}, "extra_content": signature}
    answer = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "stop"}]}
    client = client_of(hass, model_server.url)
    model_server.script([status(200, answer)])
    (made,) = (await client.complete(ask())).tool_calls
    assert made.id
    other = {"id": "other", "function": {"name": "ha_query", "arguments": "{}"}}
    back = {"id": made.id, "type": "function", "function": {"name": made.name, "arguments": made.arguments}}
    await client.complete(
        ChatRequest(messages=[*ask().messages, {"role": "assistant", "tool_calls": [back, other]}])
    )
    sent = model_server.requests[1].messages[1]["tool_calls"]
    assert sent == [{**back, "extra_content": signature}, other]


async def test_azure_addresses(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for case in [
        ("", None, f"{DEPLOYMENTS}/test-model/chat/completions?{VERSION}", f"/openai/models?{VERSION}"),
        (
            "/openai",
            "2025-01-01",
            f"{DEPLOYMENTS}/test-model/chat/completions?api-version=2025-01-01",
            "/openai/models?api-version=2025-01-01",
        ),
        (
            "/openai/deployments/mine",
            None,
            f"{DEPLOYMENTS}/mine/chat/completions?{VERSION}",
            f"/openai/models?{VERSION}",
        ),
        (
            "/openai/deployments/mine/chat/completions?api-version=2024-02-01",
            None,
            f"{DEPLOYMENTS}/mine/chat/completions?api-version=2024-02-01",
            "/openai/models?api-version=2024-02-01",
        ),
        ("/openai/v1/", None, "/openai/v1/chat/completions", "/openai/v1/models"),
    ]:
        with subtests.test(case=case):
            model_server.clear()
            base, version, chat, models = case
            client = client_of(hass, model_server.address + base, dialect="azure", api_version=version)
            assert (await client.complete(ask())).content == "Done."
            await client.model_list()
            assert await client.embed(["a"]) == [embedding("a", 256)]
            asked, listed, embedded = model_server.requests
            assert f"{asked.path}?{asked.query}".rstrip("?") == chat
            assert f"{listed.path}?{listed.query}".rstrip("?") == models
            assert embedded.path.endswith("/embeddings")
            assert asked.headers["api-key"] == listed.headers["api-key"] == KEY
            assert "authorization" not in asked.headers


async def test_ollama_request(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.capabilities = ["completion", "tools", "thinking"]
    request = ChatRequest(
        messages=CONVERSATION,
        tools=[TOOL],
        temperature=0.7,
        top_p=0.9,
        max_tokens=500,
        keep_alive="-1",
        thinking=True,
        reasoning_effort="high",
        response_schema=SCHEMA,
    )
    client = client_of(hass, model_server.ollama_url, dialect="ollama")
    await collect(client.stream(request))
    show, chat = model_server.requests
    assert (show.path, show.json) == ("/ollama/api/show", {"model": "test-model"})
    assert chat.path == "/ollama/api/chat"
    assert chat.headers["authorization"] == f"Bearer {KEY}"
    assert chat.json == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is this?", "images": ["iVBORw0="]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "ha_query", "arguments": {"entity_id": "a.b"}}},
                    {"id": "c2", "function": {"name": "ha_control", "arguments": {}}},
                    {"id": "c3", "function": {"name": "ha_control", "arguments": {}}},
                ],
            },
            {"role": "tool", "content": "on", "tool_call_id": "c1", "tool_name": "ha_query"},
            {"role": "tool", "content": "off", "tool_call_id": "c2", "tool_name": "named"},
        ],
        "tools": [TOOL],
        "think": "high",
        "format": SCHEMA,
        "keep_alive": -1,
        "stream": True,
        "options": {"num_ctx": 8192, "temperature": 0.7, "top_p": 0.9, "num_predict": 500},
    }
    assert base64.b64decode(chat.messages[1]["images"][0]).startswith(b"\x89PNG")


async def test_ollama_answer(hass: HomeAssistant, model_server: ModelServer) -> None:
    reply = thinking(
        "Hm.", "Let me see.", calls=[("ha_query", {"a": 1}), ("ha_query", {})], usage=(100, 20, 0)
    )
    model_server.script([reply, reply])
    client = client_of(hass, model_server.ollama_url, dialect="ollama")
    whole = await client.complete(ask())
    deltas = await collect(client.stream(ask()))
    assert (whole.content, whole.thinking, whole.finish_reason) == ("Let me see.", "Hm.", "tool_calls")
    assert [(call.name, call.arguments) for call in whole.tool_calls] == [
        ("ha_query", '{"a":1}'),
        ("ha_query", "{}"),
    ]
    assert whole.usage == deltas[-1].usage == TokenUsage(100, 20, 0)
    assert [call.name for delta in deltas for call in delta.tool_calls] == ["ha_query", "ha_query"]
    assert len(model_server.requests) == 3


async def test_num_ctx_is_never_the_servers_default(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for show, options, num_ctx in [
        ({"model_info": {"llama.context_length": 131072}}, {}, 8192),
        ({"model_info": {"gemma.context_length": 2048}}, {}, 2048),
        (
            {"model_info": {"llama.context_length": 131072}, "parameters": "stop x\nnum_ctx    16384"},
            {},
            16384,
        ),
        ([], {}, 8192),
        ({"model_info": {"llama.context_length": 131072}}, {"num_ctx": 12000}, 12000),
        ({"model_info": {"llama.context_length": 131072}}, {"max_tokens": 9000}, 16384),
    ]:
        with subtests.test(show=show, options=options):
            model_server.clear()
            model_server.on(on_path("/api/show"), status(200, show))
            client = client_of(hass, model_server.ollama_url, dialect="ollama")
            await client.complete(ask(**options))
            assert model_server.chats[0].json["options"]["num_ctx"] == num_ctx


async def test_num_ctx_grows_with_the_prompt_and_stays(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    client = client_of(hass, model_server.ollama_url, dialect="ollama")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    for content in (
        "short",
        [{"type": "text", "text": "see"}, picture],
        "word " * 10_000,
        "short",
        "word " * 40_000,
    ):
        await client.complete(ChatRequest(messages=[{"role": "user", "content": content}]))
    assert [chat.json["options"]["num_ctx"] for chat in model_server.chats] == [
        8192,
        8192,
        16384,
        16384,
        32768,
    ]


async def test_no_thinking_in_the_way_that_a_model_knows(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """Models that always think are told to think little, some read a word in the prompt."""
    for model, effort, told in [
        ("gpt-oss:20b", "low", False),
        ("o4-mini", "low", False),
        ("gpt-4o", None, False),
        ("qwen3-8b", None, True),
        ("qwen3-4b-instruct-2507", None, False),
        ("qwen2.5-7b", None, False),
    ]:
        with subtests.test(model=model, effort=effort):
            model_server.clear()
            messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
            client = client_of(hass, model_server.url, model=model)
            await client.complete(ChatRequest(messages=messages, thinking=False))
            await client.complete(ChatRequest(messages=messages, thinking=True))
            off, on = (request.json for request in model_server.requests)
            assert off.get("reasoning_effort") == effort
            assert off["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
            assert off["messages"][0]["content"] == ("Be kind.\n/no_think" if told else "Be kind.")
            assert off["messages"][1:] == on["messages"][1:]
            assert on["messages"] == messages
            assert "reasoning_effort" not in on
