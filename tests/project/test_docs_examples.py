"""The examples of the documentation are valid, run, and do what they say."""

import json
from pathlib import Path
import re
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events, async_mock_service
import yaml

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.tools import ha_control, ha_query
from custom_components.home_agent.tools.automating.writing import AutomationTool
from custom_components.home_agent.tools.calls.repair import fit
from custom_components.home_agent.tools.energy import EnergyTool
from custom_components.home_agent.tools.knowledge_tools import RetrieveKnowledgeTool
from homeassistant.components.automation.config import async_validate_config_item
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.custom_tools import async_reload, async_write, reported
from tests.helpers.documents import PAGES, code, examples, rows, section
from tests.helpers.indexed import equipped
from tests.helpers.mcp_kitchens import Changing, described
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, reset, text, tool_calls
from tests.servers.rest_server import RestServer

UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})


@pytest.mark.parametrize("example", examples("json"))
def test_json_examples(example: str) -> None:
    """Arguments fit the tool that they are for; a result has the form of all results."""
    args = json.loads(example)
    if "success" in args:
        assert set(args) == {"success", "result", "error"}
    elif "triggers" in args and "actions" in args:
        assert AutomationTool.parameters(args) == args
    elif "action" in args:
        assert fit(ha_control.ControlTool(), args)[1] == ()
    elif "period" in args:
        assert EnergyTool.parameters(args) == args
    elif "query" in args:
        assert RetrieveKnowledgeTool.parameters(args) == args
    else:
        assert ha_query.QueryTool.parameters(args) == args


def called(part: Any) -> set[str]:
    """Return the actions that an automation or a script may call; data may hold actions of a phone."""
    if isinstance(part, list):
        return set().union(*map(called, part))
    if not isinstance(part, dict):
        return set()
    own = {part["action"]} if isinstance(part.get("action"), str) else set()
    return own.union(*(called(value) for key, value in part.items() if key != "data"))


def answer(request: Captured) -> Reply:
    """Return data where data is asked for, else a sentence."""
    return text('{"count": 2}' if request.json.get("response_format") else "A window is open.")


async def stir(agent: Agent) -> None:
    """Let happen what the examples follow: a door to unlock, a memory and a server that is gone."""
    await agent.hass.services.async_call(
        DOMAIN, "add_memory", {"content": "Tea is in the attic"}, blocking=True
    )
    agent.server.script([tool_calls([UNLOCK])])
    await agent.say("Unlock the front door")
    agent.server.default = reset()
    await agent.say("Tell me a story")


def is_tools(example: Any) -> bool:
    """Return whether an example is about custom tools."""
    return str(example.values[0]).startswith(f"{DOMAIN}:")


@pytest.mark.parametrize("example", [found for found in examples("yaml") if is_tools(found)])
async def test_tool_examples(
    hass: HomeAssistant, model_server: ModelServer, rest_server: RestServer, tmp_path: Path, example: str
) -> None:
    """Every tool is right and reaches the model; of a whole server, all that it offers."""
    agent = await async_agent(hass, model_server)
    server = Changing(rest_server, [described("search_recipes"), described("debug_dump")])
    example = example.replace("http://192.168.1.9:8000/mcp", server.url)
    secrets = "".join(f"{name}: sesame\n" for name in re.findall(r"!secret (\w+)", example))
    await async_write(hass, tmp_path, "", secrets)
    await hass.async_add_executor_job((tmp_path / "configuration.yaml").write_text, example)
    said = await async_reload(hass)
    assert reported(hass) == {}
    entries = yaml.safe_load(re.sub(r"!secret \w+", "x", example))[DOMAIN]["custom_tools"]
    whole = [entry["handler"]["type"] == "mcp" and "tool" not in entry["handler"] for entry in entries]
    assert said["tools"] == [
        f"{entry['name']}_search_recipes" if all_of_it else entry["name"]
        for entry, all_of_it in zip(entries, whole, strict=True)
    ]
    model_server.clear()
    await agent.say("Hello")
    offered = {tool["function"]["name"] for tool in model_server.chats[-1].json["tools"]}
    assert offered >= set(said["tools"])


@pytest.mark.parametrize("example", [found for found in examples("yaml") if not is_tools(found)])
async def test_automation_examples(
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    example: str,
) -> None:
    """Every example is valid, runs without a complaint, and calls what it says."""
    async with equipped(hass, model_server, other_model_server, tmp_path) as agent:
        model_server.default = answer
        async_mock_service(hass, "notify", "family")
        async_mock_service(hass, "input_number", "set_value")
        calls = async_capture_events(hass, EVENT_CALL_SERVICE)
        config = yaml.safe_load(example)
        if "sequence" in config:
            assert await async_setup_component(hass, "script", {"script": {"example": config}})
            await hass.services.async_call("script", "example", blocking=True)
        else:
            await async_validate_config_item(hass, "example", config)
            assert await async_setup_component(
                hass, "automation", {"automation": [{"id": "example", **config}]}
            )
            if any(trigger["trigger"] == "event" for trigger in config["triggers"]):
                await stir(agent)
            else:
                await hass.services.async_call("automation", "trigger", {"entity_id": "all"}, blocking=True)
            await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)
        await hass.async_block_till_done()
    made = {f"{event.data['domain']}.{event.data['service']}" for event in calls}
    assert called(config) <= made
    complaints = (
        "homeassistant.components.automation",
        "homeassistant.components.script",
        "homeassistant.helpers",
    )
    assert [
        r.message for r in caplog.records if r.levelname == "ERROR" and r.name.startswith(complaints)
    ] == []


@pytest.mark.parametrize("option", ["prompt_custom", "prompt_custom_additions"])
@pytest.mark.parametrize("example", examples("jinja"))
async def test_prompt_examples(
    hass: HomeAssistant, model_server: ModelServer, example: str, option: str
) -> None:
    """Every template renders, and what it gives reaches the model."""
    own = {"prompt_use_default": option != "prompt_custom", option: example}
    agent = await async_agent(hass, model_server, own)
    await agent.say("Good evening")
    sent = model_server.chats[0].messages[0]["content"]
    head = example.split("{", 1)[0].strip()
    assert head in sent
    assert "{{" not in sent
    assert "{%" not in sent
    assert "reading_lamp" in sent
    assert not ir.async_get(hass).async_get_issue(DOMAIN, f"prompt_template_invalid_{agent.entry.entry_id}")


async def test_prompt_variables(hass: HomeAssistant, model_server: ModelServer) -> None:
    names = [
        code(cells[0])[0] for cells in rows(section("docs/reference/prompt.md", "Templates of your own"), 2)
    ]
    assert len(names) == 6
    prompt = " ".join(f"{name}={{{{ {name} is defined }}}}" for name in names)
    agent = await async_agent(hass, model_server, {"prompt_use_default": False, "prompt_custom": prompt})
    await agent.say("Hello")
    sent = model_server.chats[0].messages[0]["content"]
    assert sent.startswith(" ".join(f"{name}=True" for name in names))


async def test_system_prompt_is_shown_as_it_is(hass: HomeAssistant, model_server: ModelServer) -> None:
    hass.config.location_name = "Home"
    agent = await async_agent(hass, model_server)
    await agent.say("Hello")
    shown = re.search(r"```text\n(.*?)\n```", PAGES["docs/reference/prompt.md"], re.DOTALL)
    assert shown
    assert model_server.chats[0].messages[0]["content"] == shown[1]
    assert (
        "[Added by Home Assistant, not said by the person]" in model_server.chats[0].messages[-1]["content"]
    )
