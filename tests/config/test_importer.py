"""Agents of Extended OpenAI Conversation become ours: what is taken over, what is said of the rest."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_mock_service
import yaml

from custom_components.home_agent.config import importer
from custom_components.home_agent.config.fields import SAVED
from custom_components.home_agent.config.importer import (
    Imported,
    convert,
)
from custom_components.home_agent.const import DOMAIN, EXTENDED_OPENAI
from homeassistant.components import persistent_notification
from homeassistant.config_entries import SOURCE_IGNORE, SOURCE_USER, ConfigFlowResult, ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from tests.helpers.agent import Agent, speech
from tests.helpers.custom_tools import async_reload, reported
from tests.helpers.flow_steps import calls_tools, choose, go_on, labels_of, options_of, shown  # noqa: F401 - a fixture
from tests.helpers.household import async_furnish
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls
from tests.servers.rest_server import RestServer, data

KEY = "sk-old-0123456789"
TOKEN = "sesame-4711-key"

PROMPT = """You are the butler of {{ ha_name }}. It was said: {{ user_input.text }}
Use execute_services to act.
{% for entity in exposed_entities -%}
{{ entity.entity_id }},{{ entity.name }},{{ entity.state }},{{ entity.aliases | join('/') }}
{% endfor %}"""

FUNCTIONS = (Path(__file__).parents[1] / "fixtures" / "extended_openai_functions.yaml").read_text("utf-8")


@pytest.fixture(autouse=True)
async def folder(hass: HomeAssistant, house: HomeAssistant, tmp_path: Path) -> Path:
    """Let the configuration be in a folder of its own."""
    hass.config.config_dir = str(tmp_path)
    return tmp_path


def old_agent(hass: HomeAssistant, server: ModelServer, *, title: str = "Jarvis", **options: Any) -> Any:
    """Add an agent as the other integration stores it."""
    entry = MockConfigEntry(
        domain=EXTENDED_OPENAI,
        title=title,
        data={
            "name": title,
            "api_key": KEY,
            "base_url": f"{server.url}/",
            "organization": "org-1",
            "skip_authentication": True,
        },
        options={"chat_model": "test-model", **options},
    )
    entry.add_to_hass(hass)
    return entry


async def begin(hass: HomeAssistant) -> ConfigFlowResult:
    """Open the flow and choose to import."""
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    assert result["type"] is FlowResultType.MENU
    assert result["menu_options"] == ["user", "extended_openai"]
    return await go_on(hass, result, {"next_step_id": "extended_openai"})


async def imported(hass: HomeAssistant) -> tuple[ConfigFlowResult, str]:
    """Import an agent; return it and the report."""
    result = await begin(hass)
    assert result["step_id"] == "user"
    result = await go_on(hass, result, shown(result))
    assert not result["errors"]
    result = await choose(hass, result, shown(result))
    assert result["type"] is FlowResultType.CREATE_ENTRY
    return result, notification(hass)


def notification(hass: HomeAssistant) -> str:
    """Return the one notification there is."""
    (found,) = persistent_notification._async_get_or_create_notifications(hass).values()
    return found["message"]


async def test_nothing_to_import(hass: HomeAssistant, model_server: ModelServer) -> None:
    """No choice without an old agent, nor for one that was only discovered and ignored."""
    MockConfigEntry(domain=EXTENDED_OPENAI, source=SOURCE_IGNORE).add_to_hass(hass)
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    assert (result["type"], result["step_id"]) == (FlowResultType.FORM, "user")


async def test_connection_and_options(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The connection is shown without its key, tested with it, and stored; options that were chosen too."""
    entry = old_agent(
        hass,
        model_server,
        prompt=PROMPT,
        temperature=0.5,
        top_p=1,
        max_tokens=150,
        context_threshold=20_000,
        reasoning_effort="low",
        functions="[]",
    )
    before = entry.as_dict()
    result = await begin(hass)
    assert shown(result) == {
        "name": "Jarvis",
        "llm_base_url": f"{model_server.url}/",
        "llm_api_key": SAVED,
        "llm_dialect": "auto",
        "llm_proxy_headers": "OpenAI-Organization: org-1",
    }
    model_server.models = ["another", "test-model"]
    result = await go_on(hass, result, shown(result))
    assert shown(result) == {"llm_model": "test-model"}
    assert options_of(result, "llm_model") == model_server.models
    result = await choose(hass, result, shown(result))
    assert "`llm_temperature: 0.5`" in notification(hass)
    assert KEY not in notification(hass)
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert result["title"] == "Jarvis"
    asked = model_server.chats[-1]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["openai-organization"] == "org-1"
    assert result["data"]["llm_api_key"] == KEY
    assert result["data"]["llm_base_url"] == model_server.url
    prompt = PROMPT.replace("user_input.text", "user_message")
    assert result["options"] == {
        "llm_temperature": 0.5,
        "max_context_tokens": 20_000,
        "reasoning_effort": "low",
        "prompt_use_default": False,
        "prompt_custom": prompt.strip(),
    }
    assert entry.as_dict() == before


async def test_agents_in_subentries(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Newer releases keep agents in subentries; of several one is chosen."""
    part = {"subentry_type": "conversation", "unique_id": None}
    entry = MockConfigEntry(
        domain=EXTENDED_OPENAI,
        data={"api_key": KEY, "base_url": model_server.url},
        subentries_data=[
            ConfigSubentryData(title="Cook", data={"chat_model": "test-model", "temperature": 0.2}, **part),
            ConfigSubentryData(title="Nurse", data={"chat_model": "test-model", "skills": ["x"]}, **part),
            ConfigSubentryData(title="Task", data={}, subentry_type="ai_task_data", unique_id=None),
        ],
    )
    entry.add_to_hass(hass)
    result = await begin(hass)
    assert result["step_id"] == "extended_openai"
    offered = labels_of(result, "agent")
    assert list(offered.values()) == ["Cook", "Nurse"]
    result = await go_on(hass, result, {"agent": list(offered)[1]})
    assert shown(result)["name"] == "Nurse"
    result = await go_on(hass, result, shown(result))
    assert (await choose(hass, result, shown(result)))["title"] == "Nurse"
    assert "Skills" in notification(hass)


@pytest.mark.parametrize(
    ("prompt", "stored"),
    [
        ("Hello {{ ha_name }}", "Hello {{ ha_name }}"),
        ("{{ user_input.device_id }}", "{{ current_device_id }}"),
        ("{{ user_input.context.user_id }}", None),
        ("{% for x in %}", None),
        ("{{ 'x' * 3000000 }}", None),
        ("Use  execute_services.\r\n", ""),
        ("", ""),
    ],
)
async def test_prompts(
    hass: HomeAssistant,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    prompt: str,
    stored: str | None,
) -> None:
    """One that can be rendered here is kept; the one that the other integration comes with is of no use."""
    assert all(len(digest) == 64 for digest in importer.UNCHANGED)
    monkeypatch.setattr(importer, "UNCHANGED", {sha256(b"Useexecute_services.").hexdigest()})
    old_agent(hass, model_server, prompt=prompt)
    result, report = await imported(hass)
    assert ("The prompt, as your own" in report) is bool(stored)
    assert ("cannot be rendered" in report) is (stored is None)
    expected = {"prompt_custom": stored, "prompt_use_default": False} if stored else {}
    assert result["options"] == expected


UNSUPPORTED = {
    "get_user": "get_user_from_user_id",
    "headlines": "scrape",
    "query_histories": "sqlite",
    "both": "composite",
    "shell": "bash",
    "future": "telepathy",
}


async def test_functions(
    hass: HomeAssistant, model_server: ModelServer, rest_server: RestServer, folder: Path
) -> None:
    """What can be converted is shown, kept in a file and works; of each other one the reason is said."""
    functions = FUNCTIONS.replace("@@", rest_server.address)
    old_agent(hass, model_server, functions=functions, prompt=PROMPT)
    await async_furnish(hass)
    (folder / "home_agent_import.yaml").write_text("mine", encoding="utf-8")
    result, report = await imported(hass)
    tools = ["add_item_to_shopping_cart", "get_attributes", "bus_times", "create_task", "tell_family"]
    for line in (
        *(f"- `{name}` becomes a custom tool" for name in tools),
        "- `execute_services`: replaced by `ha_control`",
        "- `get_history`: replaced by `ha_query`",
        "- `get_events`: replaced by `calendar`",
        "- `add_automation`: replaced by `automation`",
        "- `ask_other`: the step `response_variable` is not an action",
        "- `movie`: the step `delay` is not an action",
        "- `wait`: the step `delay` is not an action",
        *(f"- `{name}`: the type {kind} is not supported" for name, kind in UNSUPPORTED.items()),
        "- `calendar`: Invalid config for 'home_agent': another tool has this name 'name'",
        "- `broken`: Invalid config for 'home_agent': the template uses nothing_here",
        "- `#21`: `spec` is missing",
    ):
        assert line in report, line
    assert TOKEN not in report
    assert "4711secret" not in report

    assert "Use ha_control to act." in result["options"]["prompt_custom"]
    assert (folder / "home_agent_import.yaml").read_text(encoding="utf-8") == "mine"
    written = (folder / "home_agent_import_2.yaml").read_text(encoding="utf-8")
    assert [tool["name"] for tool in yaml.safe_load(written)["custom_tools"]] == tools
    assert f"token: {TOKEN}" in written
    assert TOKEN not in notification(hass)
    assert "home_agent: !include home_agent_import_2.yaml" in notification(hass)
    await hass.async_block_till_done(wait_background_tasks=True)

    (folder / "configuration.yaml").write_text(
        "home_agent: !include home_agent_import_2.yaml\n", encoding="utf-8"
    )
    assert await async_reload(hass) == {"tools": tools, "problems": 0}
    assert reported(hass) == {}
    model_server.clear()
    added = async_mock_service(hass, "shopping_list", "add_item")
    rest_server.routes["/stops/"] = data({"departures": ["10:04", "10:19"]})
    bus = ("bus_times", {"stop": "Main St/2", "count": 2})
    calls = tool_calls([bus, ("add_item_to_shopping_cart", {"item": "milk"})])
    model_server.script([calls, text("Soon.")])
    agent = Agent(hass, result["result"], model_server)
    assert speech(await agent.say("When do buses leave? And put milk on the list")) == "Soon."
    (asked,) = rest_server.requests
    assert asked.path == "/stops/Main%20St%2F2"
    assert asked.query == "appid=4711secret&limit=2"
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert [call.data for call in added] == [{"name": "milk"}]
    turn = next(chat.json for chat in model_server.chats if chat.json["messages"][-1]["role"] == "tool")
    told = [message["content"] for message in turn["messages"] if message["role"] == "tool"]
    assert "10:04, 10:19" in told[0]
    assert {tool["function"]["name"] for tool in turn["tools"]} >= {*tools}


async def test_hostile_texts_of_old_functions(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Nothing in a function makes a browser fetch a picture."""
    picture = "![x](https://evil.example/leak)"
    functions = [
        {"spec": {"name": "hi", "description": picture}, "function": {"type": "template"}},
        {"spec": {"name": f"b` {picture}"}, "function": {"type": "sqlite"}},
    ]
    old_agent(hass, model_server, functions=yaml.safe_dump(functions))
    _, report = await imported(hass)
    assert picture not in report


def converted(function: dict[str, Any], name: str = "t") -> Imported:
    """Return what becomes of one function."""
    made = Imported()
    convert(made, yaml.safe_dump([{"spec": {"name": name}, "function": function}]))
    return made


def test_parts_of_a_request() -> None:
    """Each part of a request has its place."""
    function = {
        "type": "rest",
        "resource": "https://tasks.example.com/v1",
        "method": "POST",
        "headers": {"X-Site": "1"},
        "params": {"a": "b"},
        "payload": "x",
        "username": "me",
        "password": "pass",
        "timeout": 500,
        "verify_ssl": False,
    }
    (tool,) = converted(function).tools
    assert tool["handler"] == {
        "type": "rest",
        "url": "https://tasks.example.com/v1",
        "method": "POST",
        "headers": {"X-Site": "1"},
        "query": {"a": "b"},
        "body": "x",
        "auth": {"type": "basic", "username": "me", "password": "pass"},
        "timeout": 120,
        "verify_ssl": False,
    }
    (note,) = converted({**function, "authentication": "digest"}).left
    assert note == ("import_unknown_type", {"name": "t", "type": "rest, digest"})


def test_a_script_of_variables_is_no_tool() -> None:
    """Several steps that only compute are told, and the others are imported all the same."""
    steps = [{"variables": {"a": 1}}, {"variables": {"_function_result": "{{ a }}"}}]
    assert converted({"type": "script", "sequence": steps}).left
    assert converted({"type": "script", "sequence": steps[1:]}).tools


def test_json_stays_json() -> None:
    """A quotation mark in an argument then adds no field to what is sent."""
    function = {
        "type": "rest",
        "resource": "https://tasks.example.com/v1",
        "method": "POST",
        "headers": {"Content-Type": "application/json"},
        "payload_template": '{"title": "{{ title }}", "tags": ["{{ tag }}!"]}',
    }
    handler = converted(function).tools[0]["handler"]
    assert handler["json"] == {"title": "{{ (title) | string }}", "tags": ["{{ tag }}!"]}
    assert handler.keys().isdisjoint(("headers", "body"))
