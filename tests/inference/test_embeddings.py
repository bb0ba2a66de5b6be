"""Lists of models and embeddings."""

import pytest

from custom_components.home_agent.inference.client import ModelClient
from custom_components.home_agent.inference.models import ErrorKind, ModelServerError
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import client_of
from tests.servers.model_server import ModelServer, embedding, on_path
from tests.servers.replies import status


async def names_of(client: ModelClient) -> list[str]:
    """Return the names of the server's models."""
    return [model["id"] for model in await client.model_list()]


async def test_lists_of_models(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for data, names in [
        ({"data": [{"id": "a"}, {"id": "b"}]}, ["a", "b"]),
        ([{"id": "a"}, {"name": "b"}, {"id": 5}, "c"], ["a", "b"]),
        ({"models": [{"name": "models/gemini"}]}, ["models/gemini"]),
        ({}, []),
    ]:
        with subtests.test(data=data, names=names):
            model_server.on(on_path("/models"), status(200, data))
            assert await names_of(client_of(hass, model_server.url)) == names


async def test_embeddings(hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests) -> None:
    for dialect in ["openai", "ollama"]:
        with subtests.test(dialect=dialect):
            model_server.clear()
            base = model_server.ollama_url if dialect == "ollama" else model_server.url
            client = client_of(hass, base, dialect=dialect)
            texts = [f"lamp {number}" for number in range(200)]
            assert await client.embed(texts, keep_alive="300") == [embedding(text, 256) for text in texts]
            (request,) = model_server.requests
            assert request.json.get("keep_alive") == (300 if dialect == "ollama" else None)
            assert request.json["input"] == texts


async def test_embeddings_that_cannot_be_used(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for data in [
        {"data": []},
        {"data": 5},
        {"data": [{"vector": [1.0]}]},
        {"error": None},
    ]:
        with subtests.test(data=data):
            model_server.on(on_path("/embeddings"), status(200, data))
            with pytest.raises(ModelServerError) as caught:
                await client_of(hass, model_server.url).embed(["a", "b"])
            assert caught.value.kind is ErrorKind.MALFORMED
