"""Which protocol a server speaks, and what it and its model can do."""

import pytest

from custom_components.home_agent.inference.dialects import base
from custom_components.home_agent.inference.models import Endpoint, ErrorKind, ModelServerError
from custom_components.home_agent.inference.probing import probe
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import ask, client_of
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import html, status, text, tool_calls


async def test_ollama_is_recognised(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for suffix in ["", "/", "/v1", "/v1/", "/api", "/api/chat", "/v1/chat/completions"]:
        with subtests.test(suffix=suffix):
            model_server.clear()
            client = client_of(hass, model_server.ollama_url + suffix, dialect="auto")
            for _ in range(2):
                await client.complete(ask())
            paths = [request.path.removeprefix("/ollama/api/") for request in model_server.requests]
            assert paths == ["version", "tags", "show", "chat", "chat"]


async def test_services_are_known_by_name(hass: HomeAssistant, subtests: pytest.Subtests) -> None:
    for base_url, dialect, url, cloud in [
        (
            "https://me.openai.azure.com",
            "azure",
            "https://me.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21",
            True,
        ),
        ("https://api.openai.com/v1", "openai", "https://api.openai.com/v1/chat/completions", True),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "openai",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            True,
        ),
    ]:
        with subtests.test(base_url=base_url, dialect=dialect):
            client = client_of(hass, base_url, dialect="auto")
            wire = await client.wire()
            assert wire.dialect == dialect
            call = wire.chat(Endpoint(base_url=base_url, model="m"), ask(thinking=False), stream=False)
            assert str(call.url) == url
            assert base.is_cloud(call.url) is cloud
            assert "chat_template_kwargs" not in (call.body or {})


async def test_probe_asks_the_model_for_a_call(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for reply, expected in [
        (tool_calls([("get_temperature", {"room": "kitchen"})]), True),
        (text("It is warm."), False),
        (text("", thinking="hm", finish="length"), None),
        (status(400, "this model does not support tools"), False),
        (status(400, "messages must alternate"), None),
        (status(503, "loading", headers={"Retry-After": "60"}), None),
    ]:
        with subtests.test(reply=reply, expected=expected):
            model_server.clear()
            model_server.default = reply
            found = await probe(client_of(hass, model_server.url, dialect="auto"))
            assert found.tool_calling is expected
            assert model_server.chats[0].json["tools"]


async def test_probe_does_not_trust_a_public_list(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for reply, kind in [
        (status(401, "no"), ErrorKind.AUTH),
        (html(), ErrorKind.MALFORMED),
        (status(404, "no model"), ErrorKind.MODEL_NOT_FOUND),
    ]:
        with subtests.test(reply=reply, kind=kind):
            model_server.default = reply
            with pytest.raises(ModelServerError) as caught:
                await probe(client_of(hass, model_server.url))
            assert caught.value.kind is kind


async def test_probe_finds_the_context_size(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for entry, props, size in [
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 32768}}, None, 4096),
        ({"meta": {"n_ctx_train": 32768}}, {"default_generation_settings": {"n_ctx": 8192}}, 8192),
        ({"max_model_len": 16384}, None, 16384),
        ({"context_length": 128000, "top_provider": {"context_length": 64000}}, None, 128000),
        ({}, None, None),
        ({"context_length": "many"}, [], None),
    ]:
        with subtests.test(entry=entry, props=props):
            model_server.clear()
            model_server.on(
                on_path("/models"), status(200, {"data": [{"id": "other"}, {"id": "test-model", **entry}]})
            )
            if props is not None:
                model_server.on(on_path("/props"), status(200, props))
            assert (await probe(client_of(hass, model_server.url))).context_size == size


async def test_probe_of_ollama(hass: HomeAssistant, model_server: ModelServer) -> None:
    found = await probe(client_of(hass, model_server.ollama_url, dialect="auto"))
    assert (found.tool_calling, found.context_size) == (True, 32768)
    model_server.capabilities = ["completion"]
    assert (await probe(client_of(hass, model_server.ollama_url, dialect="auto"))).tool_calling is False
    model_server.on(on_path("/api/show"), status(200, {}))
    assert (await probe(client_of(hass, model_server.ollama_url, dialect="auto"))).tool_calling is None
