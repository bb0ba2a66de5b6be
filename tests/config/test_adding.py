"""Adding an agent: servers on this machine, recommended models, the test of a model."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.config import adding, probe
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.runtime import DATA_SHARED
from custom_components.home_agent.self_test.cases import cases
from custom_components.home_agent.self_test.kept import Capability
from homeassistant.config_entries import SOURCE_USER, ConfigEntryState, ConfigFlowResult
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.data_entry_flow import EVENT_DATA_ENTRY_FLOW_PROGRESS_UPDATE, FlowResultType
from homeassistant.helpers.selector import TextSelector
from tests.helpers.checks import every
from tests.helpers.flow_steps import (
    call_what_is_offered,
    finish,
    go_on,
    labels_of,
    options_of,
    sections_of,
    shown,
)
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import Reply, hang, html, status, text

pytestmark = pytest.mark.usefixtures("house")


@pytest.fixture(autouse=True)
def _calls_tools(model_server: ModelServer) -> None:
    """The model calls the one tool of the probe, and only talks where it has several."""

    def answer(request: Any) -> Reply:
        alone = len(request.json.get("tools") or ()) == 1
        return call_what_is_offered(request) if alone else text("I am a language model.")

    model_server.default = answer


@pytest.fixture
def nearby(hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """Return a model server on a port at which the flow looks, by two names of this machine."""
    monkeypatch.setattr(adding, "PORTS", {model_server.port: ("llama.cpp", "/v1/models")})
    monkeypatch.setattr(adding, "_hosts", lambda _hass: ["127.0.0.1", "127.0.0.1"])
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
    ports = {nearby.port: ("llama.cpp", "/v1/models"), other_model_server.port: ("vLLM", "/v1/models")}
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


async def test_the_server_tells_the_size(hass: HomeAssistant, model_server: ModelServer) -> None:
    listed = [{"name": "my-own", "model": "my-own", "size": 4_700_000_000}]
    model_server.on(on_path("/api/tags"), status(200, {"models": listed}))
    result = await start(hass, {"llm_base_url": model_server.ollama_url})
    assert labels_of(result, "llm_model") == {"my-own": "my-own: about 7 GB"}


# The test of a model


async def test_a_model_that_takes_its_time(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page says that the model is asked; then the flow goes on, or the form comes back."""
    monkeypatch.setattr(probe, "UNSEEN_SECONDS", 0)
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


def is_of_the_test(request: Captured) -> bool:
    """Match requests with all tools of an agent."""
    return request.is_chat and len(request.json.get("tools") or ()) > 1


async def after_test(hass: HomeAssistant, result: ConfigFlowResult) -> ConfigFlowResult:
    """Wait for the test that a page has started, and return the page after it."""
    assert result["type"] is FlowResultType.SHOW_PROGRESS, result
    await hass.async_block_till_done(wait_background_tasks=True)
    return await hass.config_entries.flow.async_configure(result["flow_id"])


async def test_a_model_is_tested_before_it_is_used(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The page shows how far it is, then each score, and the agent keeps the report."""
    shares: list[float] = []

    @callback
    def note(event: Event[Any]) -> None:
        shares.append(event.data["progress"])

    hass.bus.async_listen(EVENT_DATA_ENTRY_FLOW_PROGRESS_UPDATE, note)
    result = await start(hass, {"llm_base_url": model_server.url})
    result = await go_on(hass, result, {"llm_model": "test-model", "test_model": True})
    assert result["progress_action"] == "self_test"
    assert result["description_placeholders"] == {"model": "test-model"}

    result = await after_test(hass, result)

    asked = cases("en")
    assert shares == [number / len(asked) for number in range(len(asked))]
    assert result["type"] is FlowResultType.MENU
    assert result["step_id"] == "verdict"
    assert result["menu_options"] == ["model", "finish"]
    told = result["description_placeholders"]
    assert told is not None
    assert told["advice"].startswith("This model is not good enough")
    assert {told[capability] for capability in Capability} > {"0 / 3"}
    assert told["abstaining"] == "2 / 4"
    whole = next(chat for chat in model_server.chats if "Turn on the kitchen light" in str(chat.messages[-1]))
    assert len(whole.json["tools"]) > 2

    result = await finish(hass, await go_on(hass, result, {"next_step_id": "finish"}))
    shared = hass.data[DATA_SHARED]
    report = shared.self_tests.of(result["result"].entry_id).report
    assert report is not None
    assert (report["verdict"], report["model"]) == ("poor", "test-model")


async def test_another_model_can_be_chosen(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The report of the first one is not that of the second."""
    model_server.models = ["first", "second"]
    result = await start(hass, {"llm_base_url": model_server.url})
    result = await after_test(hass, await go_on(hass, result, {"llm_model": "first", "test_model": True}))
    result = await go_on(hass, result, {"next_step_id": "model"})
    assert result["step_id"] == "model"
    result = await finish(hass, await go_on(hass, result, {"llm_model": "second"}))
    assert hass.data[DATA_SHARED].self_tests.of(result["result"].entry_id).report is None


async def test_a_test_that_breaks_off_can_be_repeated(hass: HomeAssistant, model_server: ModelServer) -> None:
    result = await start(hass, {"llm_base_url": model_server.url})
    model_server.on(is_of_the_test, status(429, "slow down"))
    result = await after_test(
        hass, await go_on(hass, result, {"llm_model": "test-model", "test_model": True})
    )
    assert result["step_id"] == "test_failed"
    assert result["menu_options"] == ["self_test", "model", "finish"]
    assert result["description_placeholders"]["error"]
    model_server.clear()
    result = await after_test(hass, await go_on(hass, result, {"next_step_id": "self_test"}))
    assert result["step_id"] == "verdict"


async def test_closing_the_dialog_ends_the_test(hass: HomeAssistant, model_server: ModelServer) -> None:
    result = await start(hass, {"llm_base_url": model_server.url})
    model_server.on(is_of_the_test, hang())
    result = await go_on(hass, result, {"llm_model": "test-model", "test_model": True})
    assert result["type"] is FlowResultType.SHOW_PROGRESS
    hass.config_entries.flow.async_abort(result["flow_id"])
    await hass.async_block_till_done(wait_background_tasks=True)
    assert len([chat for chat in model_server.chats if is_of_the_test(chat)]) <= 1
    model_server.clear()
    result = await start(hass, {"llm_base_url": model_server.url})
    result = await finish(hass, await go_on(hass, result, {"llm_model": "test-model"}))
    assert result["result"].state is ConfigEntryState.LOADED


async def test_a_changed_connection_is_tested_with_the_options_of_the_agent(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    entry = MockConfigEntry(
        domain=DOMAIN,
        data={"llm_base_url": model_server.url, "llm_model": "test-model"},
        options={"persona": "Ada"},
    )
    entry.add_to_hass(hass)
    result = await go_on(hass, await entry.start_reconfigure_flow(hass), {"llm_base_url": model_server.url})
    result = await after_test(hass, await go_on(hass, result, {"llm_model": "other", "test_model": True}))
    assert "You are Ada" in str(model_server.chats[-1].messages[0])
    result = await go_on(hass, result, {"next_step_id": "finish"})
    assert result["reason"] == "reconfigure_successful"
    report = hass.data[DATA_SHARED].self_tests.of(entry.entry_id).report
    assert report is not None
    assert report["model"] == "other"
    await hass.async_block_till_done()
