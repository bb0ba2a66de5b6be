"""Adding an agent: servers on this machine, recommended models, the test of a model."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent import config_flow
from custom_components.home_agent.config import adding
from custom_components.home_agent.const import DOMAIN
from homeassistant.config_entries import SOURCE_USER, ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers.selector import TextSelector
from tests.helpers.checks import every
from tests.helpers.flow_steps import (
    calls_tools,  # noqa: F401 - a fixture
    go_on,
    labels_of,
    options_of,
    sections_of,
    shown,
)
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import Reply, hang, html, status

pytestmark = pytest.mark.usefixtures("house")


@pytest.fixture
def nearby(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """Return a model server on a port at which the flow looks, by two names of this machine."""
    monkeypatch.setattr(adding, "PORTS", {model_server.port: "llama.cpp"})
    monkeypatch.setattr(adding, "HOSTS", ("127.0.0.1", "127.0.0.1"))
    monkeypatch.setattr(adding, "SEARCH_SECONDS", 30)
    return model_server


async def start(hass: HomeAssistant, typed: dict[str, Any] | None = None) -> ConfigFlowResult:
    """Open the flow, and submit its first form."""
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    return result if typed is None else await go_on(hass, result, typed)


def address_field(result: ConfigFlowResult) -> Any:
    """Return the selector of the address."""
    schema = result["data_schema"]
    assert schema is not None
    return schema.schema["llm_base_url"]


# The first page


async def test_address_and_key_first(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Everything else is in a section, which is closed until something in it is wrong."""
    result = await start(hass)
    schema = result["data_schema"]
    assert schema is not None
    assert [str(key) for key in schema.schema] == ["llm_base_url", "llm_api_key", "advanced"]
    assert schema.schema["advanced"].options == {"collapsed": True}
    assert [str(key) for key in sections_of(result)["advanced"].schema] == [
        "name",
        "llm_dialect",
        "llm_proxy_headers",
        "azure_api_version",
    ]
    assert result["last_step"] is False

    result = await go_on(hass, result, {"llm_base_url": model_server.url, "llm_proxy_headers": "no header"})
    schema = result["data_schema"]
    assert schema is not None
    assert result["errors"] == {"advanced": "invalid_header_line"}
    assert schema.schema["advanced"].options == {"collapsed": False}


async def test_servers_on_this_machine_are_offered(hass: HomeAssistant, nearby: ModelServer) -> None:
    """Once, by the first of its names, without a key."""
    url = f"http://127.0.0.1:{nearby.port}"
    result = await start(hass)
    assert labels_of(result, "llm_base_url") == {url: f"llama.cpp: {url}"}
    assert address_field(result).config["custom_value"] is True
    assert shown(result)["llm_base_url"] == url
    assert {(request.method, request.path) for request in every(nearby.requests)} == {("GET", "/v1/models")}
    assert [request for request in nearby.requests if "authorization" in request.headers] == []

    result = await go_on(hass, result, {"llm_base_url": url})
    assert result["step_id"] == "model"


@pytest.mark.parametrize("reply", [html(), status(401, "no"), status(200, []), status(200, {"data": [5]})])
async def test_what_is_no_model_server_is_not_offered(
    hass: HomeAssistant, nearby: ModelServer, reply: Reply
) -> None:
    nearby.on(on_path("/v1/models"), reply)
    result = await start(hass)
    assert isinstance(address_field(result), TextSelector)
    assert "llm_base_url" not in shown(result)


async def test_the_form_does_not_wait_for_servers(
    hass: HomeAssistant, nearby: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that answers later is offered when the form is shown again."""
    monkeypatch.setattr(adding, "SEARCH_SECONDS", 0)
    nearby.on(on_path("/v1/models"), hang())
    result = await start(hass)
    assert isinstance(address_field(result), TextSelector)
    hass.config_entries.flow.async_abort(result["flow_id"])
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_a_server_in_use_is_not_suggested(
    hass: HomeAssistant, nearby: ModelServer, other_model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, free = f"http://127.0.0.1:{nearby.port}", f"http://127.0.0.1:{other_model_server.port}"
    ports = {nearby.port: "llama.cpp", other_model_server.port: "vLLM"}
    monkeypatch.setattr(adding, "PORTS", ports)
    MockConfigEntry(domain=DOMAIN, data={"llm_base_url": f"{used}/v1"}).add_to_hass(hass)
    result = await start(hass)
    assert options_of(result, "llm_base_url") == [free, used]
    assert shown(result)["llm_base_url"] == free


# The page of models

LISTED = ["nomic-embed-text", "qwen3:1.7b", "my-own", "qwen/qwen3-8b", "whisper-1", "Gemma-4-12B-it-GGUF"]


async def test_models_that_do_well_come_first(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.models = LISTED
    result = await start(hass, {"llm_base_url": model_server.url})
    assert labels_of(result, "llm_model") == {
        "Gemma-4-12B-it-GGUF": "Gemma-4-12B-it-GGUF: recommended, 12 GB",
        "qwen/qwen3-8b": "qwen/qwen3-8b: makes some mistakes, 8 GB",
        "my-own": "my-own",
        "qwen3:1.7b": "qwen3:1.7b: makes many mistakes, 4 GB",
    }
    assert options_of(result, "llm_model")[0] == "Gemma-4-12B-it-GGUF"
    assert shown(result) == {"llm_model": "Gemma-4-12B-it-GGUF"}
    assert result["last_step"] is False


# The test of a model


async def test_a_model_that_takes_its_time(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page says that the model is asked; then the flow goes on, or the form comes back."""
    monkeypatch.setattr(config_flow, "UNSEEN_SECONDS", 0)
    result = await start(hass, {"llm_base_url": model_server.url})
    model_server.on(lambda request: request.is_chat, status(404))
    for error in ("model_not_found", None):
        result = await go_on(hass, result, {"llm_model": "test-model"})
        assert (result["type"], result["step_id"]) == (FlowResultType.SHOW_PROGRESS, "probing")
        assert result["description_placeholders"] == {"model": "test-model"}
        await hass.async_block_till_done(wait_background_tasks=True)
        result = await hass.config_entries.flow.async_configure(result["flow_id"])
        assert (result["errors"] or {}).get("llm_model") == error
        model_server.clear()
    assert result["step_id"] == "ready"
