"""The embedders that the options choose: real servers on loopback, and the built-in model itself."""

import asyncio
import gc
from typing import Any

import numpy as np
import pytest

from custom_components.home_agent import const
from custom_components.home_agent.knowledge.search import async_create_embedder
from custom_components.home_agent.vector import embeddings
from homeassistant.core import HomeAssistant
from tests.servers.model_server import ModelServer, embedding

KEY = "sk-agent-0123456789"


def settings_of(server: ModelServer, provider: str = "openai", **options: Any) -> dict[str, Any]:
    """Return the settings of an entry whose agent speaks to this server."""
    return {
        **const.DEFAULTS,
        const.CONF_BASE_URL: server.url,
        const.CONF_MODEL: "chat-model",
        const.CONF_API_KEY: KEY,
        const.CONF_EMBEDDING_PROVIDER: provider,
        const.CONF_EMBEDDING_MODEL: "embed-model",
        **options,
    }


@pytest.mark.parametrize(("provider", "path"), [("openai", "/v1/embeddings"), ("ollama", "/api/embed")])
async def test_the_agents_own_server_is_the_default(
    hass: HomeAssistant, model_server: ModelServer, provider: str, path: str
) -> None:
    base = model_server.ollama_url if provider == "ollama" else model_server.url
    options = {const.CONF_BASE_URL: base, const.CONF_EMBEDDING_KEEP_ALIVE: "300"}
    embedder = await async_create_embedder(hass, settings_of(model_server, provider, **options))
    assert embedder is not None
    (vector,) = await embedder.async_embed(["lamp"])
    raw = np.array(embedding("lamp", 256))
    assert vector == pytest.approx(raw / np.linalg.norm(raw), abs=1e-5)
    (request,) = model_server.requests
    assert request.path.endswith(path)
    assert request.json["model"] == "embed-model"
    assert request.json.get("keep_alive") == (300 if provider == "ollama" else None)
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert embedder.fingerprint == f"{provider}|embed-model"
    await embedder.async_close()


async def test_an_own_server_gets_its_own_key_only(hass: HomeAssistant, model_server: ModelServer) -> None:
    options = {
        const.CONF_BASE_URL: "http://127.0.0.1:9/v1",
        const.CONF_PROXY_HEADERS: {"X-Gate": "agent"},
        const.CONF_EMBEDDING_BASE_URL: model_server.url,
    }
    for key, sent in (("", None), ("sk-embed-0123456789", "Bearer sk-embed-0123456789")):
        settings = settings_of(model_server, **options, **{const.CONF_EMBEDDING_API_KEY: key})
        embedder = await async_create_embedder(hass, settings)
        assert embedder is not None
        await embedder.async_embed(["lamp"])
        headers = model_server.requests[-1].headers
        assert headers.get("authorization") == sent
        assert "x-gate" not in headers


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without the built-in model, whoever has used it before in this process."""
    monkeypatch.setattr(embeddings, "_loaded", None)


@pytest.mark.slow
@pytest.mark.usefixtures("unloaded")
async def test_the_built_in_model(hass: HomeAssistant, model_server: ModelServer) -> None:
    one = await async_create_embedder(hass, settings_of(model_server, "builtin"))
    two = await async_create_embedder(hass, settings_of(model_server, "builtin"))
    assert one is not None
    assert two is not None
    assert embeddings._loaded is None
    texts = ["Deckenlampe im Wohnzimmer", "garage door", "washing machine"]
    (lamp, door, washer), (asked,) = await asyncio.gather(
        one.async_embed(texts), two.async_embed(["ceiling light in the living room"])
    )
    assert len(lamp) == 512
    assert float(np.linalg.norm(lamp)) == pytest.approx(1, abs=1e-5)
    assert asked @ lamp > max(asked @ door, asked @ washer) + 0.2
    assert embeddings._loaded is not None
    assert len(await one.async_embed([f"text {number}" for number in range(20)])) == 20
    await one.async_close()
    assert embeddings._loaded() is not None
    await two.async_close()
    gc.collect()
    assert embeddings._loaded() is None
    assert not model_server.requests
