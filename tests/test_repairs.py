"""Repair issues that are mended on a click, through the requests that Home Assistant's dialog sends."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events
from pytest_homeassistant_custom_component.typing import WebSocketGenerator
import yaml

from custom_components.home_agent import const
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.store import KeptStore
from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.components.assist_pipeline.pipeline import KEY_ASSIST_PIPELINE
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, issue_registry as ir
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.custom_tools import async_reload, async_write, reported
from tests.helpers.further import KITCHEN, async_add_further
from tests.helpers.repair_dialogs import Dialogs, dialog, issues, only, settle  # noqa: F401 - fixtures
from tests.helpers.suggested import COFFEE, Home, habit, home  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text

WRONG_TOOL = """
- name: greet
  description: Greets.
  parameters: {type: object, properties: {}}
  handler: {type: template, tempate: Hello}
"""


class TestSuggestions:
    """A habit becomes an automation on a click, by the same guard as on a phone."""

    async def test_yes(self, model_server: ModelServer, home: Home, dialog: Dialogs) -> None:
        """The dialog shows the automation in words and as YAML, and the click makes exactly that."""
        resolved = async_capture_events(home.hass, const.EVENT_SUGGESTION_RESOLVED)
        await home.add(model_server, habit())
        await home.morning()
        issue = ir.async_get(home.hass).async_get_issue(DOMAIN, only(home.hass, "suggestion"))
        assert issue is not None
        assert issue.translation_placeholders == {"alias": "Coffee Machine, 6:30"}
        screen = await dialog()
        shown = await screen.open(issue.issue_id)
        assert (shown["type"], shown["menu_options"]) == ("menu", ["accept", "later", "reject"])
        told = shown["description_placeholders"]
        assert told["text"] == "Coffee Machine is turned on at about 6:30 on workdays."
        assert told["words"] == "At 6:30 on workdays: Turn on switch, Coffee Machine."
        assert await home.text() == "[]\n"
        assert (await screen.go_on(shown, "accept"))["type"] == "create_entry"
        (made,) = yaml.safe_load(await home.text())
        assert made == {"id": made["id"], **yaml.safe_load(told["yaml"])}
        assert home.hass.states.async_entity_ids("automation") == ["automation.coffee_machine_6_30"]
        assert [event.data["outcome"] for event in resolved] == ["accepted"]
        assert issues(home.hass, "suggestion") == []
        assert home.notes() == []

    @pytest.mark.parametrize(
        ("option", "state", "comes_back"), [("reject", "rejected", 0), ("later", "postponed", 1)]
    )
    async def test_no(
        self, model_server: ModelServer, home: Home, dialog: Dialogs, option: str, state: str, comes_back: int
    ) -> None:
        """For good, or for a while."""
        await home.add(model_server, habit())
        await home.morning()
        screen = await dialog()
        shown = await screen.open(only(home.hass, "suggestion"))
        assert (await screen.go_on(shown, option))["type"] == "create_entry"
        assert [item["state"] for item in await home.suggested(None)] == [state]
        await home.morning(30)
        assert await home.text() == "[]\n"
        assert issues(home.hass, "suggestion") == []
        await home.morning(80)
        assert len(issues(home.hass, "suggestion")) == comes_back

    async def test_forbidden_meanwhile(self, model_server: ModelServer, home: Home, dialog: Dialogs) -> None:
        """The policy and the exposure are asked again; the question stays."""
        await home.add(model_server, habit())
        await home.morning()
        async_expose_entity(home.hass, "conversation", COFFEE, False)
        screen = await dialog()
        shown = await screen.open(only(home.hass, "suggestion"))
        assert (await screen.go_on(shown, "accept"))["reason"] == "refused"
        assert await home.text() == "[]\n"
        assert len(issues(home.hass, "suggestion")) == 1

    async def test_administrators_only(
        self, model_server: ModelServer, home: Home, dialog: Dialogs, hass_read_only_user: MockUser
    ) -> None:
        """Nobody else opens the dialog."""
        await home.add(model_server, habit())
        await home.morning()
        screen = await dialog(hass_read_only_user)
        wanted = {"handler": DOMAIN, "issue_id": only(home.hass, "suggestion")}
        response = await screen.client.post("/api/repairs/issues/fix", json=wanted)
        assert response.status == HTTPStatus.UNAUTHORIZED
        shown = await (await dialog()).open(wanted["issue_id"])
        response = await screen.client.post(
            f"/api/repairs/issues/fix/{shown['flow_id']}", json={"next_step_id": "accept"}
        )
        assert response.status == HTTPStatus.UNAUTHORIZED
        assert await home.text() == "[]\n"

    async def test_own_habits_are_not_shown(self, model_server: ModelServer, home: Home) -> None:
        """What one of several persons does is not put where all administrators read it."""
        for name in ("anna", "ben"):
            home.hass.states.async_set(f"person.{name}", "home", {"user_id": home.admin.user_id})
        await home.add(model_server, habit(person="anna"))
        await home.morning()
        assert issues(home.hass, "suggestion") == []


async def test_a_model_that_is_gone(hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs) -> None:
    """The click opens the form of the server; the issue goes when the agent has a model again."""
    model_server.models = ["new-model", "other"]
    model_server.on(
        lambda request: request.is_chat and request.json["model"] == "test-model",
        status(404, "model 'test-model' not found"),
    )
    agent = await async_agent(hass, model_server)
    screen = await dialog()
    opened = await screen.mend(only(hass, "model_missing"))
    assert (opened["type"], opened["reason"]) == ("abort", "opened")
    kind, flow_id = opened["next_flow"]
    assert kind == "config_flow"
    flow = hass.config_entries.flow.async_get(flow_id)
    assert (flow["step_id"], flow["context"]["entry_id"]) == ("reconfigure", agent.entry.entry_id)
    assert len(issues(hass, "model_missing")) == 1
    hass.config_entries.async_update_entry(agent.entry, data={**agent.entry.data, "llm_model": "new-model"})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert issues(hass, "model_missing") == []


async def test_a_template_that_fails(hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs) -> None:
    """The click opens the page of the options where it stands."""
    agent = await async_agent(hass, model_server, {"prompt_custom_additions": "{{ 1 / 0 }}"})
    await agent.say("Hello")
    screen = await dialog()
    opened = await screen.mend(only(hass, "prompt_template_invalid"))
    kind, flow_id = opened["next_flow"]
    assert kind == "options_flow"
    assert hass.config_entries.options.async_get(flow_id)["step_id"] == "answers"
    assert len(issues(hass, "prompt_template_invalid")) == 1
    # Browsers begin a flow of their own instead of going on with ours.
    flows = hass.config_entries.options
    for step in ("answers", "init"):
        begun = await flows.async_init(agent.entry.entry_id)
        assert begun["step_id"] == step
        assert [flow["flow_id"] for flow in flows.async_progress()] == [begun["flow_id"]]
        flows.async_abort(begun["flow_id"])


async def test_a_model_that_is_off(hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs) -> None:
    """The click has the agent's own model learn from conversations."""
    agent = await async_agent(hass, model_server, {"memory_extraction_llm": "external", "persona": "Ada"})
    assert (await (await dialog()).mend(only(hass, "extraction_llm_off")))["type"] == "create_entry"
    assert agent.entry.options["memory_extraction_llm"] == "local"
    assert agent.entry.options["persona"] == "Ada"
    assert issues(hass, "extraction_llm_off") == []


async def test_a_collection_that_is_missing(
    hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs
) -> None:
    """The click takes it out, and no other one."""
    collections = ["manuals", "notes"]
    agent = await async_agent(hass, model_server, {"additional_collections": collections})
    await agent.say("Hello")
    found = issues(hass, "collection_missing")
    assert len(found) == 2
    screen = await dialog()
    assert (await screen.mend(found[0]))["type"] == "create_entry"
    assert agent.entry.options["additional_collections"] == ["notes"]
    await agent.say("Hello")
    assert issues(hass, "collection_missing") == found[1:]


class TestFiles:
    """What could not be read is kept aside until somebody has it deleted."""

    @pytest.fixture(autouse=True)
    async def folder(self, hass: HomeAssistant, model_server: ModelServer, tmp_path: Path) -> None:
        hass.config.config_dir = str(tmp_path)
        await async_agent(hass, model_server)

    @pytest.mark.parametrize("kept", [True, False])
    async def test_deleted(self, hass: HomeAssistant, dialog: Dialogs, *, kept: bool) -> None:
        """With the issue; a file that is gone already is no error."""
        path = await self.damage(hass)
        (aside,) = path.parent.glob(f"{path.name}.corrupt*")
        if not kept:
            aside.unlink()
        shown = await (screen := await dialog()).open(only(hass, "store_unreadable"))
        assert shown["description_placeholders"]["path"] == str(aside)
        assert (await screen.go_on(shown))["type"] == "create_entry"
        assert list(path.parent.iterdir()) == []
        assert issues(hass, "store_unreadable") == []

    async def test_one_that_could_not_be_moved_stays(
        self, hass: HomeAssistant, dialog: Dialogs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is the store itself."""

        def refuse(*_: Any) -> None:
            raise PermissionError

        monkeypatch.setattr("os.replace", refuse)
        path = await self.damage(hass)
        monkeypatch.undo()
        stays = await (await dialog()).mend(only(hass, "store_unreadable"))
        assert stays["errors"] == {"base": "in_place"}
        assert path.read_text() == "damaged"
        assert len(issues(hass, "store_unreadable")) == 1

    @staticmethod
    async def damage(hass: HomeAssistant) -> Path:
        """Have a store find its file damaged; return where the file was."""
        store = KeptStore(hass, "home_agent.history", dict)
        path = Path(store.path)
        path.parent.mkdir(exist_ok=True)
        await hass.async_add_executor_job(path.write_text, "damaged")
        await store.async_set_aside(ValueError("damaged"))
        return path


async def test_a_tool_that_is_wrong(
    hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs, tmp_path: Path, agent: Agent
) -> None:
    """The click reads the tools again; what is still wrong is told, and so is a file that is no YAML."""
    await async_write(hass, tmp_path, WRONG_TOOL)
    await async_reload(hass)
    assert "tempate" in reported(hass)["greet"]
    screen = await dialog()
    shown = await screen.open(only(hass, "custom_tool_invalid"))
    await async_write(hass, tmp_path, WRONG_TOOL.replace("tempate", "templat"))
    again = await screen.go_on(shown)
    assert again["errors"] == {"base": "still_wrong"}
    assert "'templat'" in again["description_placeholders"]["problems"]
    await hass.async_add_executor_job((tmp_path / "configuration.yaml").write_text, "a: [")
    assert (await screen.go_on(shown))["errors"] == {"base": "unreadable"}
    assert len(issues(hass, "custom_tool_invalid")) == 1
    await async_write(hass, tmp_path, WRONG_TOOL.replace("tempate", "template"))
    assert (await screen.go_on(shown))["type"] == "create_entry"
    assert issues(hass, "custom_tool_invalid") == []
    assert "greet" in agent.entry.runtime_data.handler.tools


async def test_an_agent_that_is_removed(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What was said of it goes with it; a server that lists the model may refuse it all the same."""
    assert "test-model" in model_server.models
    model_server.default = status(404, "model 'test-model' not found")
    agent = await async_agent(hass, model_server)
    assert len(issues(hass, "model_missing")) == 1
    await hass.config_entries.async_remove(agent.entry.entry_id)
    assert issues(hass, "model_missing") == []


# Repair issues, assistants, triggers and the panel of agents that were added to a connection


def issue(hass: HomeAssistant, key: str, agent_id: str) -> ir.IssueEntry | None:
    return ir.async_get(hass).async_get_issue("home_agent", f"{key}_{agent_id}")


async def test_an_assistant_that_answers_first(
    hass: HomeAssistant, model_server: ModelServer, dialog: Dialogs
) -> None:
    """It is reported with the agent's name; the click changes this agent and no other one."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "assist_pipeline", {})
    agent = await async_agent(hass, model_server)
    guests = await async_add_further(hass, agent, **KITCHEN)
    (pipeline,) = async_get_pipelines(hass)
    await async_update_pipeline(
        hass, pipeline, conversation_engine=guests.entity_id, prefer_local_intents=True
    )
    await hass.async_block_till_done(wait_background_tasks=True)
    found = issue(hass, "prefer_local_bypass", guests.agent_id)
    assert found is not None
    assert (found.translation_placeholders or {})["title"] == "Guests"
    assert issue(hass, "prefer_local_bypass", agent.entry.entry_id) is None
    screen = await dialog()
    assert (await screen.mend(found.issue_id))["type"] == "create_entry"
    assert issue(hass, "prefer_local_bypass", guests.agent_id) is None
    assert agent.entry.subentries[guests.agent_id].data["local_first_enabled"] is True
    assert "local_first_enabled" not in agent.entry.options
    hass.config_entries.async_remove_subentry(agent.entry, guests.agent_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    store = hass.data[KEY_ASSIST_PIPELINE].pipeline_store
    assert [item.conversation_engine for item in store.data.values()] == ["conversation.home_assistant"]


@pytest.mark.parametrize(
    "listed", [{"areas": ["kitchen", "bedroom"]}, {"areas": ["kitchen"], "excluded": {"areas": ["bedroom"]}}]
)
async def test_a_list_names_what_is_gone(hass: HomeAssistant, agent: Agent, listed: dict[str, Any]) -> None:
    """It is reported for the agent whose list it is."""
    guests = await async_add_further(hass, agent, visible_entities=listed)
    assert issue(hass, "rules_unmatched", guests.agent_id) is None
    ar.async_get(hass).async_delete("bedroom")
    await settle(hass)
    found = issue(hass, "rules_unmatched", guests.agent_id)
    assert found is not None
    assert "bedroom" in (found.translation_placeholders or {})["names"]
    assert issue(hass, "rules_unmatched", agent.entry.entry_id) is None


async def test_panel(
    hass: HomeAssistant, model_server: ModelServer, hass_ws_client: WebSocketGenerator, agent: Agent
) -> None:
    """The panel lists all agents, and shows what each of them sees and did."""
    guests = await async_add_further(hass, agent, **KITCHEN)
    model_server.script([text("Hello.")])
    await guests.say("Hello there")
    client = await hass_ws_client(hass)

    async def ask(command: str, **data: Any) -> dict[str, Any]:
        await client.send_json_auto_id({"type": f"home_agent/{command}", **data})
        answer = await client.receive_json()
        assert answer["success"], answer
        return dict(answer["result"])

    assert (await ask("agents"))["agents"] == [
        {"entry_id": agent.entry.entry_id, "title": "Home Agent"},
        {"entry_id": guests.agent_id, "title": "Guests", "config_entry_id": agent.entry.entry_id},
    ]
    exposed = [
        (await ask("overview", entry_id=one))["exposed"] for one in (agent.entry.entry_id, guests.agent_id)
    ]
    assert exposed[0] > exposed[1] > 0
