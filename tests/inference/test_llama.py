"""The client against a real llama-server, whose address is in LLAMA_URL."""

import os

import orjson
import pytest

from custom_components.home_agent.inference.models import ErrorKind, ModelServerError
from custom_components.home_agent.inference.probing import probe
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import TOOL, ask, client_of, collect, spoken

URL = os.environ.get("LLAMA_URL", "")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not URL, reason="LLAMA_URL is not set"),
    pytest.mark.usefixtures("socket_enabled"),
]


async def test_streams_and_counts(hass: HomeAssistant) -> None:
    client = client_of(hass, URL, dialect="auto")
    request = ask("Count to five.", max_tokens=16, temperature=0.0, thinking=False)
    streamed = await collect(client.stream(request))
    whole = await client.complete(request)
    assert spoken(streamed)
    assert len(streamed) > 5
    usage = streamed[-1].usage
    assert usage
    assert usage.completion == 16
    assert streamed[-1].finish_reason == whole.finish_reason == "length"
    assert whole.usage
    assert whole.usage.cached > 0


async def test_tools_stay_in_the_request(hass: HomeAssistant) -> None:
    client = client_of(hass, URL, dialect="auto")
    answer = await client.complete(ask("Hello", tools=[TOOL], tool_choice="none", max_tokens=8))
    assert answer.tool_calls == []


async def test_answers_in_a_schema(hass: HomeAssistant) -> None:
    schema = {
        "type": "object",
        "properties": {"on": {"type": "boolean"}},
        "required": ["on"],
        "additionalProperties": False,
    }
    client = client_of(hass, URL, dialect="auto")
    answer = await client.complete(ask("Is it on? Answer in JSON.", response_schema=schema, max_tokens=64))
    assert orjson.loads(answer.content).keys() == {"on"}


async def test_too_long(hass: HomeAssistant) -> None:
    with pytest.raises(ModelServerError) as caught:
        await client_of(hass, URL, dialect="auto").complete(ask("word " * 20_000))
    assert caught.value.kind is ErrorKind.CONTEXT_TOO_LONG


async def test_probe(hass: HomeAssistant) -> None:
    found = await probe(client_of(hass, URL, dialect="auto"))
    assert found.context_size == 8192
    assert found.tool_calling is not None
