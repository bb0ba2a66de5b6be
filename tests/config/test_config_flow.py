"""Connecting a server, choosing a model, a new key, a new connection: what the server was sent."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent import config_flow
from custom_components.home_agent.config import probe
from custom_components.home_agent.config.fields import SAVED
from custom_components.home_agent.const import DOMAIN
from homeassistant.config_entries import SOURCE_USER, ConfigEntryState, ConfigFlowResult, FlowType
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType, InvalidData
from tests.helpers.cloud import names_lead_home, outside  # noqa: F401 - a fixture
from tests.helpers.flow_steps import (
    call_what_is_offered,
    calls_tools,  # noqa: F401 - a fixture
    choose,
    go_on,
    labels_of,
    options_of,
    sections_of,
    shown,
)
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import Reply, empty, hang, html, status, text

pytestmark = pytest.mark.usefixtures("house")

MODELS = on_path("/models")
CHAT = on_path("/chat/completions")
KEY = "sk-test-1234567890"


async def start(hass: HomeAssistant, typed: dict[str, Any] | None = None) -> ConfigFlowResult:
    """Open the flow, and submit its first form."""
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    assert result["type"] is FlowResultType.FORM
    assert result["step_id"] == "user"
    assert not result["errors"]
    return result if typed is None else await go_on(hass, result, typed)


def existing(hass: HomeAssistant, server: ModelServer, **data: Any) -> MockConfigEntry:
    """Add an entry for the test model."""
    entry = MockConfigEntry(
        domain=DOMAIN,
        title=data.get("name", "test-model"),
        data={
            "llm_base_url": server.url,
            "llm_model": "test-model",
            "llm_dialect": "auto",
            "llm_api_key": KEY,
            **data,
        },
    )
    entry.add_to_hass(hass)
    return entry


@pytest.fixture
def cloud(names_lead_home: None, model_server: ModelServer) -> str:
    """Return an address outside the house whose name leads to the model server."""
    return outside(model_server)


# Connecting


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


async def test_whole_way(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.models = ["text-embed-small", "llama-small", "llama-big"]
    result = await start(hass)
    assert shown(result) == {"name": "Home Agent", "llm_dialect": "auto"}
    result = await go_on(
        hass,
        result,
        {
            "name": " Kitchen ",
            "llm_base_url": model_server.url,
            "llm_api_key": f" {KEY} ",
            "llm_dialect": "auto",
            "llm_proxy_headers": "X-Team: home\nX-Site: 1",
        },
    )
    assert result["step_id"] == "model"
    assert options_of(result, "llm_model") == ["llama-big", "llama-small"]
    assert shown(result) == {"llm_model": "llama-big"}
    listed = next(request for request in model_server.requests if request.path == "/v1/models")
    assert listed.headers["authorization"] == f"Bearer {KEY}"
    assert listed.headers["x-team"] == "home"
    assert listed.headers["x-site"] == "1"

    result = await choose(hass, result, {"llm_model": " llama-small "})
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert result["title"] == "Kitchen"
    assert model_server.chats[-1].json["model"] == "llama-small"
    assert model_server.chats[-1].json["tools"]
    assert KEY not in model_server.chats[-1].query
    data = result["data"]
    assert data["probed_tool_calling"] is True
    assert {key: value for key, value in data.items() if not key.startswith("probed")} == {
        "name": "Kitchen",
        "llm_base_url": model_server.url,
        "llm_api_key": KEY,
        "llm_dialect": "auto",
        "llm_proxy_headers": "X-Team: home\nX-Site: 1",
        "llm_model": "llama-small",
    }
    assert result["options"] == {}


@pytest.mark.parametrize("ending", ["", "/", "/v1/", "/v1/chat/completions", "/v1/models?limit=1#top"])
@pytest.mark.parametrize("scheme", ["http://", ""])
async def test_address_is_completed(
    hass: HomeAssistant, model_server: ModelServer, scheme: str, ending: str
) -> None:
    typed = {"llm_base_url": f"{scheme}127.0.0.1:{model_server.port}{ending}"}
    result = await choose(hass, await start(hass, typed), {"llm_model": "test-model"})
    assert result["data"]["llm_base_url"] == model_server.url
    assert result["title"] == "test-model"
    assert "name" not in result["data"]


async def test_keyless_server_gets_no_key(hass: HomeAssistant, model_server: ModelServer) -> None:
    await start(hass, {"llm_base_url": model_server.url, "llm_api_key": "  "})
    assert [request.path for request in model_server.requests if "authorization" in request.headers] == []
    assert "/v1/models" in [request.path for request in model_server.requests]


@pytest.mark.parametrize("dialect", ["auto", "ollama"])
@pytest.mark.parametrize("ending", ["", "/v1", "/api/chat"])
async def test_ollama_stays_native(
    hass: HomeAssistant, model_server: ModelServer, dialect: str, ending: str
) -> None:
    typed = {"llm_base_url": model_server.ollama_url + ending, "llm_dialect": dialect}
    result = await choose(hass, await start(hass, typed), {"llm_model": "test-model"})
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert result["data"]["llm_base_url"] == model_server.ollama_url
    assert result["data"]["probed_context_size"] == model_server.context_length
    assert result["data"]["probed_tool_calling"] is True


UNUSABLE: tuple[tuple[Reply, str, str], ...] = (
    (status(401, "no"), "llm_api_key", "invalid_auth"),
    (status(403, "no"), "llm_api_key", "invalid_auth"),
    (status(429, "slow down"), "base", "rate_limited"),
    (status(500, "broken"), "base", "server_error"),
    (status(503, "starting"), "base", "server_error"),
    (html(), "llm_base_url", "not_an_llm_server"),
    (empty(), "llm_base_url", "not_an_llm_server"),
    (html(404), "llm_base_url", "no_model_list"),
    (status(405, "no"), "llm_base_url", "no_model_list"),
    (status(501, "no"), "llm_base_url", "no_model_list"),
)


async def test_server_that_cannot_be_used(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The form says what is wrong, keeps what was typed, and goes on once it is right."""
    typed = {"name": "Kitchen", "llm_base_url": model_server.url, "llm_api_key": KEY, "llm_dialect": "auto"}
    for reply, field, error in UNUSABLE:
        model_server.on(MODELS, reply)
        result = await start(hass, typed)
        assert result["step_id"] == "user"
        assert result["errors"] == {field: error}
        assert shown(result) == typed
        assert KEY not in str(result["description_placeholders"])
        model_server.clear()
        result = await go_on(hass, result, typed)
        assert result["step_id"] == "model"


async def test_nothing_listens(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.stop()
    result = await start(hass, {"llm_base_url": model_server.url})
    assert result["errors"] == {"llm_base_url": "cannot_connect"}
    assert result["description_placeholders"]["url"].startswith(model_server.address)


async def test_server_that_hangs(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "LIST_SECONDS", 0.2)
    model_server.on(MODELS, hang())
    result = await start(hass, {"llm_base_url": model_server.url})
    assert result["errors"] == {"base": "timeout"}


WRONG: tuple[tuple[str, str, str], ...] = (
    ("llm_base_url", "ftp://server/v1", "invalid_url"),
    ("llm_base_url", "http://", "invalid_url"),
    ("llm_base_url", "my server", "invalid_url"),
    ("llm_base_url", "http://server:99999", "invalid_url"),
    ("llm_base_url", "http://me:secret@server/v1", "url_with_password"),
    ("llm_api_key", "{{ broken", "invalid_key_template"),
    ("llm_api_key", "{{ 1 / 0 }}", "invalid_key_template"),
    ("llm_api_key", "ключ", "invalid_key"),
    ("llm_proxy_headers", "{not json", "headers_not_json"),
    ("llm_proxy_headers", '{"a": {"b": 1}}', "headers_not_json"),
    ("llm_proxy_headers", "X-A: 1\n\njust words", "invalid_header_line"),
    ("llm_proxy_headers", "Bad Name: 1", "invalid_header_name"),
    ("llm_proxy_headers", "Content-Length: 1", "invalid_header_name"),
    ("llm_proxy_headers", '{"X-A": "1\\r\\nX-B: 2"}', "invalid_header_value"),
    ("llm_proxy_headers", "X-A: 1\nx-a: 2", "duplicate_header"),
)


async def test_values_that_cannot_be_used(hass: HomeAssistant, model_server: ModelServer) -> None:
    for field, value, error in WRONG:
        result = await start(hass, {"llm_base_url": model_server.url, field: value})
        assert result["errors"] == {"advanced" if field == "llm_proxy_headers" else field: error}
        assert shown(result)[field] == value
        assert not model_server.requests


async def test_key_from_a_template(hass: HomeAssistant, model_server: ModelServer) -> None:
    hass.states.async_set("sensor.key", KEY)
    template = "{{ states('sensor.key') }}"
    result = await start(hass, {"llm_base_url": model_server.url, "llm_api_key": template})
    assert model_server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    result = await choose(hass, result, {"llm_model": "test-model"})
    assert result["data"]["llm_api_key"] == template


async def test_azure_address_from_the_portal(hass: HomeAssistant, model_server: ModelServer) -> None:
    address = f"{model_server.address}?api-version=2024-06-01"
    await start(hass, {"llm_base_url": address, "llm_dialect": "azure", "llm_api_key": KEY})
    assert "api-version=2024-06-01" in model_server.requests[-1].query
    assert model_server.requests[-1].headers["api-key"] == KEY


# Choosing a model

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


async def test_model_that_is_not_there(hass: HomeAssistant, model_server: ModelServer) -> None:
    result = await start(hass, {"llm_base_url": model_server.url})
    model_server.on(CHAT, status(404, "model does not exist"))
    result = await choose(hass, result, {"llm_model": "other"})
    assert result["step_id"] == "model"
    assert result["errors"] == {"llm_model": "model_not_found"}
    assert result["description_placeholders"]["model"] == "other"
    assert shown(result) == {"llm_model": "other"}
    model_server.clear()
    result = await choose(hass, result, {"llm_model": "test-model"})
    assert result["type"] is FlowResultType.CREATE_ENTRY


async def test_what_stays_unknown_is_not_stored(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A server too busy to be tried is no reason to refuse the model."""
    model_server.on(CHAT, status(429, "slow down"))
    result = await start(hass, {"llm_base_url": model_server.url})
    result = await choose(hass, result, {"llm_model": "test-model"})
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert not {"probed_tool_calling", "probed_context_size"} & set(result["data"])


async def test_empty_model(hass: HomeAssistant, model_server: ModelServer) -> None:
    result = await start(hass, {"llm_base_url": model_server.url})
    result = await choose(hass, result, {"llm_model": "  "})
    assert result["errors"] == {"llm_model": "model_missing"}
    with pytest.raises(InvalidData):
        await go_on(hass, result, {})
    assert not model_server.chats


async def test_open_list_behind_a_closed_door(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Some servers list their models to anybody: a wrong key shows later, and can be corrected then."""
    model_server.on(CHAT, status(401, "bad key"))
    typed = {"llm_base_url": model_server.url, "llm_api_key": "wrong-key"}
    result = await choose(hass, await start(hass, typed), {"llm_model": "test-model"})
    assert result["step_id"] == "user"
    assert result["errors"] == {"llm_api_key": "invalid_auth"}
    assert shown(result) == typed
    model_server.clear()
    result = await go_on(hass, result, {**typed, "llm_api_key": KEY})
    result = await choose(hass, result, {"llm_model": "test-model"})
    assert result["data"]["llm_api_key"] == KEY


async def test_model_without_tools(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.models = ["talker", "doer"]
    model_server.on(lambda r: CHAT(r) and r.json["model"] == "talker", text("I would love to."))
    result = await start(hass, {"llm_base_url": model_server.url})
    result = await choose(hass, result, {"llm_model": "talker"})
    assert result["type"] is FlowResultType.MENU
    assert result["step_id"] == "no_tools"
    assert result["description_placeholders"] == {"model": "talker"}
    result = await go_on(hass, result, {"next_step_id": "model"})
    assert shown(result) == {"llm_model": "talker"}
    result = await choose(hass, result, {"llm_model": "doer"})
    assert result["data"]["probed_tool_calling"] is True


async def test_model_without_tools_is_allowed(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.default = text("I would love to.")
    result = await start(hass, {"llm_base_url": model_server.url})
    result = await choose(hass, result, {"llm_model": "test-model"})
    result = await choose(hass, result, {"next_step_id": "finish"})
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert result["data"]["probed_tool_calling"] is False


async def test_same_model_twice(hass: HomeAssistant, model_server: ModelServer) -> None:
    existing(hass, model_server)
    result = await start(hass, {"llm_base_url": model_server.address})
    result = await choose(hass, result, {"llm_model": "test-model"})
    assert result["type"] is FlowResultType.ABORT
    assert result["reason"] == "already_configured"
    assert not model_server.chats
    result = await start(hass, {"llm_base_url": model_server.address})
    result = await choose(hass, result, {"llm_model": "another"})
    assert result["type"] is FlowResultType.CREATE_ENTRY


async def test_cloud_is_warned_about(hass: HomeAssistant, model_server: ModelServer, cloud: str) -> None:
    result = await start(hass, {"llm_base_url": cloud})
    assert result["step_id"] == "cloud"
    assert result["description_placeholders"] == {"host": "models.example.com"}
    assert not model_server.chats
    result = await go_on(hass, result, {})
    assert result["step_id"] == "model"
    result = await choose(hass, result, {"llm_model": "test-model"})
    assert result["data"]["llm_base_url"] == cloud


# A new key


async def test_new_key(hass: HomeAssistant, model_server: ModelServer) -> None:
    entry = existing(hass, model_server, name="Kitchen")
    result = await entry.start_reauth_flow(hass)
    assert result["step_id"] == "reauth_confirm"
    assert result["description_placeholders"]["url"] == model_server.url
    assert shown(result) == {}
    model_server.on(CHAT, status(401, "no"))
    result = await go_on(hass, result, {"llm_api_key": "wrong-key"})
    assert result["errors"] == {"llm_api_key": "invalid_auth"}
    model_server.clear()
    result = await go_on(hass, result, {"llm_api_key": "new-key"})
    assert result["type"] is FlowResultType.ABORT
    assert result["reason"] == "reauth_successful"
    assert model_server.chats[0].headers["authorization"] == "Bearer new-key"
    assert entry.data["llm_api_key"] == "new-key"
    assert entry.data["llm_base_url"] == model_server.url
    assert entry.title == "Kitchen"
    await hass.async_block_till_done()


async def test_new_key_is_right_although_the_model_is_gone(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    entry = existing(hass, model_server)
    model_server.on(CHAT, status(404, "model does not exist"))
    result = await go_on(hass, await entry.start_reauth_flow(hass), {"llm_api_key": "new-key"})
    assert result["reason"] == "reauth_successful"
    await hass.async_block_till_done()


async def test_new_key_that_cannot_be_tried(hass: HomeAssistant, model_server: ModelServer) -> None:
    entry = existing(hass, model_server)
    model_server.on(MODELS, status(500, "broken"))
    result = await entry.start_reauth_flow(hass)
    for key, errors in (
        ("{{ broken", {"llm_api_key": "invalid_key_template"}),
        ("new-key", {"base": "server_error"}),
    ):
        result = await go_on(hass, result, {"llm_api_key": key})
        assert result["errors"] == errors
        assert entry.data["llm_api_key"] == KEY


# A new connection


async def test_reconfigure_shows_no_secret(hass: HomeAssistant, model_server: ModelServer) -> None:
    result = await existing(hass, model_server, name="Kitchen").start_reconfigure_flow(hass)
    assert result["step_id"] == "reconfigure"
    assert shown(result) == {
        "name": "Kitchen",
        "llm_base_url": model_server.url,
        "llm_api_key": SAVED,
        "llm_dialect": "auto",
    }
    assert KEY not in str(result["data_schema"])


async def test_reconfigure_keeps_the_key(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    other_model_server.default = call_what_is_offered
    other_model_server.models = ["other", "test-model"]
    entry = existing(hass, model_server, name="Kitchen", azure_api_version="old")
    result = await entry.start_reconfigure_flow(hass)
    typed = {**shown(result), "llm_base_url": other_model_server.address}
    del typed["azure_api_version"]
    result = await go_on(hass, result, typed)
    assert shown(result) == {"llm_model": "test-model"}
    result = await go_on(hass, result, {"llm_model": "other"})
    assert result["type"] is FlowResultType.ABORT
    assert result["reason"] == "reconfigure_successful"
    assert other_model_server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    assert entry.data["llm_base_url"] == other_model_server.url
    assert entry.data["llm_model"] == "other"
    assert entry.data["llm_api_key"] == KEY
    assert "azure_api_version" not in entry.data
    await hass.async_block_till_done()


async def test_reconfigure_offers_what_the_new_server_has(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    other_model_server.models = ["another"]
    entry = existing(hass, model_server, llm_model="typed-by-hand")
    result = await entry.start_reconfigure_flow(hass)
    result = await go_on(hass, result, {"llm_base_url": model_server.url})
    assert shown(result) == {"llm_model": "typed-by-hand"}
    result = await entry.start_reconfigure_flow(hass)
    result = await go_on(hass, result, {"llm_base_url": other_model_server.url})
    assert shown(result) == {"llm_model": "another"}


async def test_failed_reconfigure_changes_nothing(hass: HomeAssistant, model_server: ModelServer) -> None:
    entry = existing(hass, model_server)
    before = dict(entry.data)
    model_server.on(MODELS, status(401, "no"))
    result = await entry.start_reconfigure_flow(hass)
    result = await go_on(hass, result, {**shown(result), "name": "Bath"})
    assert result["step_id"] == "reconfigure"
    assert result["errors"] == {"llm_api_key": "invalid_auth"}
    assert shown(result)["llm_api_key"] == SAVED
    assert dict(entry.data) == before


async def test_running_entry_takes_over_the_change(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A set-up entry is reloaded by its listener: once, with the new key."""
    entry = existing(hass, model_server)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)  # the prompt is read ahead
    model_server.clear()
    result = await go_on(hass, await entry.start_reauth_flow(hass), {"llm_api_key": "new-key"})
    assert result["reason"] == "reauth_successful"
    await hass.async_block_till_done(wait_background_tasks=True)
    assert {request.headers["authorization"] for request in model_server.requests} == {"Bearer new-key"}
    assert entry.state is ConfigEntryState.LOADED
    trials_and_setups = [request for request in model_server.requests if MODELS(request)]
    assert len(trials_and_setups) == 2


async def test_entry_that_is_off_starts_with_its_new_key(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """An entry that is not set up has no listener: the flow starts it."""
    entry = existing(hass, model_server)
    result = await go_on(hass, await entry.start_reauth_flow(hass), {"llm_api_key": KEY})
    assert result["reason"] == "reauth_successful"
    await hass.async_block_till_done()
    assert entry.state is ConfigEntryState.LOADED


async def test_the_model_is_changed_from_the_options(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The menu goes on with the form of *Reconfigure*, which saves what that one saves."""
    entry = existing(hass, model_server, name="Kitchen")
    options = hass.config_entries.options
    menu = await options.async_init(entry.entry_id)
    ended = await options.async_configure(menu["flow_id"], {"next_step_id": "server"})
    kind, flow_id = ended["next_flow"]
    assert (kind, dict(entry.options)) == (FlowType.CONFIG_FLOW, {})
    form = await hass.config_entries.flow.async_configure(flow_id)
    assert form["step_id"] == "reconfigure"
    assert shown(form) == shown(await entry.start_reconfigure_flow(hass))
    form = await go_on(hass, form, {"llm_base_url": model_server.url})
    await choose(hass, form, {"llm_model": "another"})
    assert entry.data["llm_model"] == "another"
