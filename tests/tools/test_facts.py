"""One module defines the facts about native tools, and other tools cannot use their names."""

import json
from pathlib import Path

from custom_components.home_agent.tools.native import NATIVE
from custom_components.home_agent.tools.outside.other_apis import named_tools
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from tests.helpers.agent import async_agent
from tests.servers.model_server import ModelServer

PACKAGE = Path(__file__).parents[2] / "custom_components" / "home_agent"
ALL_TOOLS = {
    "web_search_provider": "searxng",
    "web_search_url": "http://127.0.0.1:9/",
    "notify_targets": [{"person": "person.anna", "targets": ["notify.mobile_app_anna"]}],
    "external_llm_enabled": True,
    "external_llm_base_url": "http://127.0.0.1:9/v1",
    "external_llm_model": "large",
}


async def test_every_native_tool_carries_its_facts(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The tools of an agent with everything on are those of the table, and each knows what it is."""
    agent = await async_agent(hass, model_server, ALL_TOOLS)
    tools = agent.entry.runtime_data.handler.tools
    assert set(tools) == set(NATIVE)
    for name, tool in tools.items():
        assert type(tool) is NATIVE[name], name


class Foreign(llm.Tool):
    """A tool of another API with the name of a native one."""

    name = "store_memory"
    description = "Tells how things are"

    async def async_call(self, *_: object) -> dict[str, str]:
        return {"state": "home"}


def test_a_foreign_tool_does_not_inherit_facts() -> None:
    """Also where the native tool of this name is not offered, its name is taken."""
    context = llm.LLMContext("test", Context(), "en", "conversation", None)
    api = type("Api", (), {"id": "other", "name": "Other"})()
    instance = llm.APIInstance(api, "", context, [Foreign()])
    ((tool, _),) = named_tools([instance], ())
    assert tool.name == "other__store_memory"
    assert tool.name not in NATIVE


def test_each_name_can_be_switched_off() -> None:
    """The option lists every native tool."""
    words = json.loads((PACKAGE / "translations" / "en.json").read_text())
    assert set(words["selector"]["tools_disabled"]["options"]) == set(NATIVE)
