"""Adding an agent to a connection, copying another one's settings, and changing it page by page."""

from typing import Any

from homeassistant.config_entries import SubentryFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers.selector import TextSelector
from tests.helpers.agent import Agent, async_agent
from tests.helpers.checks import every
from tests.helpers.flow_steps import call_what_is_offered, options_of
from tests.servers.model_server import ModelServer, Predicate, on_path
from tests.servers.replies import status, text

LIST = {"visible_entities": {"area_id": ["kitchen"]}}


async def begin(hass: HomeAssistant, agent: Agent, subentry_id: str | None = None) -> SubentryFlowResult:
    """Begin to add an agent, or to change one."""
    context: Any = {"source": "user"}
    if subentry_id:
        context = {"source": "reconfigure", "subentry_id": subentry_id}
    return await hass.config_entries.subentries.async_init((agent.entry.entry_id, "agent"), context=context)


async def go_on(hass: HomeAssistant, result: SubentryFlowResult, typed: dict[str, Any]) -> SubentryFlowResult:
    """Fill in a form, or choose from a menu."""
    result = await hass.config_entries.subentries.async_configure(result["flow_id"], typed)
    await hass.async_block_till_done(wait_background_tasks=True)
    return result


async def add(hass: HomeAssistant, agent: Agent, **typed: Any) -> str:
    """Add an agent and return its id."""
    result = await begin(hass, agent)
    assert result["type"] is FlowResultType.FORM
    defaults = {"name": "Guests", "copy_from": "connection", "shared_memory": "automatic"}
    result = await go_on(hass, result, {**defaults, **typed})
    assert result["type"] is FlowResultType.CREATE_ENTRY, result
    (found,) = (one for one in agent.entry.subentries.values() if one.title == result["title"])
    return found.subentry_id


def stored(agent: Agent, subentry_id: str) -> dict[str, Any]:
    """Return the stored options of a further agent."""
    return dict(agent.entry.subentries[subentry_id].data)


async def test_add(hass: HomeAssistant, model_server: ModelServer) -> None:
    """One page makes an agent that answers; it begins with the rules of the first one, PIN included."""
    options = {
        "persona": "Butler",
        "policy_blocked": ["siren"],
        "notify_targets": [{"person": "person.anna", "targets": []}],
        "visible_entities": {"areas": ["kitchen", "bedroom"]},
    }
    agent = await async_agent(hass, model_server, options)
    added = await add(hass, agent, **LIST)
    assert stored(agent, added) == {
        "quick_confirmations": False,
        "persona": "Butler",
        "policy_blocked": ["siren"],
        "visible_entities": {"areas": ["kitchen"]},
    }
    assert hass.states.get("conversation.guests") is not None
    assert agent.entry.runtime_data.further[added].runtime_data.settings["persona"] == "Butler"


async def test_copy(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Settings of a further agent can be copied, or none; later changes of one stay with it."""
    agent = await async_agent(hass, model_server, {"persona": "Butler"})
    guests = await add(hass, agent, copy_from="defaults", **LIST)
    assert "persona" not in stored(agent, guests)
    kids = await add(hass, agent, name="Kids", copy_from=guests, shared_memory="own")
    assert stored(agent, kids)["visible_entities"] == {"areas": ["kitchen"]}
    assert stored(agent, kids)["shared_memory"] is False
    result = await go_on(hass, await begin(hass, agent, kids), {"next_step_id": "answers"})
    result = await go_on(hass, result, {"persona": "Clown"})
    assert result["type"] is FlowResultType.MENU
    assert stored(agent, kids)["persona"] == "Clown"
    assert "persona" not in stored(agent, guests)


async def test_a_model_that_was_typed_is_not_copied(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Even if it is the one of the connection."""
    model_server.models = ["test-model", "another"]
    agent = await async_agent(hass, model_server)
    guests = await add(hass, agent, llm_model="another", **LIST)
    assert stored(agent, guests)["llm_model"] == "another"
    kids = await add(hass, agent, name="Kids", copy_from=guests, llm_model="test-model")
    assert "llm_model" not in stored(agent, kids)


async def test_each_page(hass: HomeAssistant, agent: Agent) -> None:
    """Each page of the menu shows what is stored; the menu ends the dialog after something was saved."""
    guests = await add(hass, agent)
    menu = await begin(hass, agent, guests)
    pages = [page for page in menu["menu_options"] if page != "done"]
    assert "permissions" in pages
    for page in every(pages):
        result = await go_on(hass, await begin(hass, agent, guests), {"next_step_id": page})
        assert result["type"] is FlowResultType.FORM
        assert result["step_id"] == page
        visible = [key for key in result["data_schema"].schema if str(key) != "copy_from"]
        assert len(visible) <= 8 or page in ("context", "llm", "history")
    result = await go_on(hass, await begin(hass, agent, guests), {"next_step_id": "permissions"})
    result = await go_on(hass, result, {"confirming": {"policy_pin": "4711"}, **LIST})
    assert stored(agent, guests)["policy_pin"] != "4711"
    assert agent.entry.runtime_data.further[guests].runtime_data.confirmations.has_pin
    assert not agent.entry.runtime_data.confirmations.has_pin
    result = await go_on(hass, result, {"next_step_id": "done"})
    assert result["reason"] == "agent_saved"


async def test_a_rule_that_leaves_locks_open(hass: HomeAssistant, agent: Agent) -> None:
    """It is shown once more before a further agent has it, too."""
    guests = await add(hass, agent)
    result = await go_on(hass, await begin(hass, agent, guests), {"next_step_id": "permissions"})
    rules = {"policy_choices": [{"decision": "Always allow", "kinds": ["lock"]}]}
    result = await go_on(hass, result, {"confirming": {}, **rules, **LIST})
    assert (result["type"], result["step_id"]) == (FlowResultType.MENU, "always_open")
    await go_on(hass, result, {"next_step_id": "vector_save"})
    assert stored(agent, guests)["policy_choices"] == [{"decision": "always", "kinds": ["lock"]}]


async def test_name_model_and_memory(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """The first page renames an agent and gives it another model, which is tried."""
    guests = await add(hass, agent)
    result = await go_on(hass, await begin(hass, agent, guests), {"next_step_id": "agent"})
    model_server.script([text("OK")] * 4)
    typed = {"name": "Visitors", "llm_model": "test-model", "shared_memory": "own", "memory_enabled": True}
    result = await go_on(hass, result, typed)
    assert result["type"] is FlowResultType.MENU, result
    subentry = agent.entry.subentries[guests]
    assert subentry.title == "Visitors"
    assert "llm_model" not in subentry.data
    assert agent.entry.runtime_data.further[guests].runtime_data.owns_memory


async def test_names_are_taken_once(hass: HomeAssistant, agent: Agent) -> None:
    """No two agents of a connection have one name."""
    await add(hass, agent)
    for name in every(["guests", "Home Agent"]):
        typed = {"name": name, "copy_from": "defaults", "shared_memory": "automatic"}
        result = await go_on(hass, await begin(hass, agent), typed)
        assert result["errors"] == {"name": "name_taken"}


async def test_whose_memory(hass: HomeAssistant, agent: Agent) -> None:
    """An agent that sees a part of the home has its own memory, unless somebody wants another one."""
    guests = await add(hass, agent, **LIST)
    assert owns_memory(agent, guests)
    everywhere = await add(hass, agent, name="Everywhere")
    assert not owns_memory(agent, everywhere)
    result = await go_on(hass, await begin(hass, agent, everywhere), {"next_step_id": "permissions"})
    await go_on(hass, result, LIST)
    assert owns_memory(agent, everywhere)
    shown = await go_on(hass, await begin(hass, agent, everywhere), {"next_step_id": "agent"})
    assert suggested(shown)["shared_memory"] == "automatic"
    typed = {"name": "Everywhere", "shared_memory": "household"}
    result = await go_on(hass, shown, typed)
    assert result["type"] is FlowResultType.MENU, result
    assert not owns_memory(agent, everywhere)
    shown = await go_on(hass, await begin(hass, agent, everywhere), {"next_step_id": "agent"})
    assert suggested(shown)["shared_memory"] == "household"


def owns_memory(agent: Agent, subentry_id: str) -> bool:
    """Return whether a further agent has a memory of its own."""
    return agent.entry.runtime_data.further[subentry_id].runtime_data.owns_memory


def suggested(result: SubentryFlowResult) -> dict[str, Any]:
    """Return what a form shows."""
    return {str(key): key.description["suggested_value"] for key in result["data_schema"].schema}


async def test_models_of_the_server_are_offered(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Another model can be picked from the server's list; without an answer it can be typed."""
    agent = await async_agent(hass, model_server)
    model_server.models = ["test-model", "nomic-embed-text", "qwen3-8b"]
    assert options_of(await begin(hass, agent), "llm_model") == ["qwen3-8b", "test-model"]
    model_server.on(on_path("/models"), status(500))
    assert isinstance((await begin(hass, agent))["data_schema"].schema["llm_model"], TextSelector)


async def test_after_adding(hass: HomeAssistant, agent: Agent) -> None:
    """The last page says how many entities the agent sees, and links to the voice assistants."""
    typed = {"name": "Kids", "copy_from": "defaults"}
    everything = await go_on(hass, await begin(hass, agent), typed)
    typed = {"name": "Guests", "copy_from": "defaults", **LIST}
    result = await go_on(hass, await begin(hass, agent), typed)
    told = result["description_placeholders"] or {}
    assert told["agent"] == "Guests"
    assert told["assistants"].startswith("/config/voice-assistants")
    further = {one.subentry.title: one.runtime_data for one in agent.entry.runtime_data.further.values()}
    for made, name in ((everything, "Kids"), (result, "Guests")):
        seen = (await further[name].house.async_snapshot()).entities
        assert (made["description_placeholders"] or {})["count"] == str(len(seen))
    assert 0 < int(told["count"]) < int((everything["description_placeholders"] or {})["count"])


async def test_another_model_is_tried(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The agent is added, or the form comes back with the reason."""
    agent = await async_agent(hass, model_server)
    typed = {"name": "Guests", "copy_from": "connection", "llm_model": "small"}
    model_server.on(heard_model("small"), status(404))
    result = await go_on(hass, await begin(hass, agent), typed)
    assert result["errors"] == {"llm_model": "model_not_found"}
    assert suggested(result)["name"] == "Guests"
    model_server.on(heard_model("small"), call_what_is_offered)
    result = await go_on(hass, result, typed)
    assert result["type"] is FlowResultType.CREATE_ENTRY
    (guests,) = agent.entry.subentries.values()
    assert (guests.data["llm_model"], guests.data["probed_tool_calling"]) == ("small", True)


def heard_model(model: str) -> Predicate:
    """Match chat requests to a model."""
    return lambda request: request.is_chat and request.json["model"] == model
