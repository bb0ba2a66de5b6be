"""AI Task: text and data from the model of an entry."""

import json
from pathlib import Path
from typing import Any, override

import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.const import EVENT_TOOL_EXECUTED
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components import ai_task
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm, selector
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.servers.model_server import ModelServer
from tests.servers.replies import html, status, text, tool_calls

STRUCTURE = probatio.Schema(
    {
        probatio.Required("name"): selector.TextSelector(),
        probatio.Required("parameters", description="what it is called with"): selector.ObjectSelector(),
    }
)
DATA = {"name": "ha_control", "parameters": {"action": "turn_on"}}


async def generate(hass: HomeAssistant, instructions: str = "Do it", **options: Any) -> Any:
    """Run a task and return its data."""
    result = await ai_task.async_generate_data(
        hass,
        task_name="test task",
        entity_id=hass.states.async_entity_ids("ai_task")[0],
        instructions=instructions,
        **options,
    )
    await hass.async_block_till_done()
    return result.data


async def test_text(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """The answer as it is written, without thoughts; no tools are offered, no house is told of."""
    model_server.script([text(chunks=["<think>Hm.</think>", "**Three** ideas."])])
    assert await generate(hass, "Three ideas for dinner") == "**Three** ideas."
    (request,) = model_server.chats
    assert request.messages[-1] == {"role": "user", "content": "Three ideas for dinner"}
    assert request.messages[0]["role"] == "system"
    assert "tools" not in request.json
    assert "response_format" not in request.json
    assert "kitchen_ceiling" not in str(request.messages)
    assert request.json["max_tokens"] >= 4096


async def test_data(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """The structure goes along as a JSON schema; an answer that looks like a call is data all the same."""
    written = json.dumps(DATA)
    model_server.script([text(chunks=[written[:9], written[9:]])])
    assert await generate(hass, structure=STRUCTURE) == DATA
    schema = model_server.chats[0].json["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"name", "parameters"}
    assert schema["properties"]["parameters"]["description"] == "what it is called with"
    assert set(schema["required"]) == {"name", "parameters"}


async def test_no_data(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """The error names the task, not the parser."""
    for written in ("I cannot do that.", '{"name": ', "```json\nnothing\n```"):
        model_server.script([text(written)])
        with pytest.raises(HomeAssistantError, match="test task") as error:
            await generate(hass, structure=STRUCTURE)
        assert error.value.translation_key == "not_json"


async def test_a_failing_server(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller gets a translated error, the log no traceback, and the next task works."""
    await async_agent(hass, model_server)
    for fault, key in (
        (status(503, "busy"), "llm_server_error"),
        (status(401, "no"), "llm_key_missing"),
        (html(), "llm_error"),
        (text(""), "no_answer"),
    ):
        model_server.default = fault
        with pytest.raises(HomeAssistantError) as error:
            await generate(hass)
        assert error.value.translation_key == key
    assert not [record for record in caplog.records if record.exc_info and "camera" not in record.name]
    model_server.default = text("Here.")
    assert await generate(hass) == "Here."


class Shopping(llm.API):
    """An API of somebody else's."""

    def __init__(self, hass: HomeAssistant, *tools: llm.Tool) -> None:
        super().__init__(hass=hass, id="shopping", name="Shopping")
        self._tools = list(tools)

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        return llm.APIInstance(api=self, api_prompt="Buy things.", llm_context=llm_context, tools=self._tools)


class Buy(llm.Tool):
    """A tool that may be called, or may fail."""

    name = "test__buy"
    description = "Buys something"
    parameters = probatio.Schema({probatio.Required("what"): str})
    integration = "test"

    def __init__(self) -> None:
        self.bought: list[Any] = []

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        self.bought.append((tool_input.tool_args, llm_context.context))
        if tool_input.tool_args["what"] == "trouble":
            raise RuntimeError("sold out")
        return llm.ToolResult(data={"price": 3})


async def test_tools_of_another_api(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """They are offered, checked and run by our guard, once each, and what they raise is a result."""
    await async_agent(hass, model_server, {"policy_allowed": ["tool:test__buy"]})
    executed = async_capture_events(hass, EVENT_TOOL_EXECUTED)
    buy, context = Buy(), Context()
    milk = ("test__buy", {"what": "milk"})
    model_server.script(
        [tool_calls([milk, milk, ("test__buy", {}), ("test__buy", {"what": "trouble"})]), text("Bought.")]
    )
    assert await generate(hass, llm_api=Shopping(hass, buy), context=context) == "Bought."
    assert [args["what"] for args, _ in buy.bought] == ["milk", "trouble"]
    assert buy.bought[0][1] is context
    first, second = model_server.chats
    assert [tool["function"]["name"] for tool in first.json["tools"]] == ["test__buy"]
    assert "Buy things." in first.messages[0]["content"]
    results = [json.loads(m["content"]) for m in second.messages if m["role"] == "tool"]
    assert [result["success"] for result in results] == [True, True, False, False]
    assert results[0]["result"] == {"price": 3}
    assert "what" in results[2]["error"]
    assert len(executed) == 3
    assert len([record for record in caplog.records if record.exc_info and "camera" not in record.name]) == 1


async def test_assist_with_a_caller(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """Home Assistant's own tools act for whoever runs the task, and for nobody more."""
    assert await async_setup_component(hass, "intent", {})
    async_expose_entity(hass, "ai_task", "light.kitchen_ceiling", True)
    reader = MockUser(is_owner=False).add_to_hass(hass)
    reader.mock_policy({"entities": {"domains": {"ai_task": True}, "all": {POLICY_READ: True}}})

    def answer(request: Any) -> Any:
        if request.messages[-1]["role"] == "tool":
            return text("Tried.")
        tool = next(t for t in request.json["tools"] if t["function"]["name"].endswith("HassTurnOn"))
        return tool_calls([(tool["function"]["name"], {"name": "Kitchen Ceiling", "domain": ["light"]})])

    model_server.default = answer
    for context, state in ((Context(user_id=reader.id), "off"), (Context(), "on")):
        llm_context = llm.LLMContext("ai_task", context, "en", "conversation", None)
        api = (await llm.async_get_api(hass, "assist", llm_context)).api
        assert await generate(hass, llm_api=api, context=context) == "Tried."
        assert hass.states.get("light.kitchen_ceiling").state == state


async def test_a_picture_marks_the_task(
    hass: HomeAssistant, model_server: ModelServer, tmp_path: Path
) -> None:
    """Somebody holds a text into the camera: what is free otherwise needs a word then."""
    assert await async_setup_component(hass, "media_source", {})
    await async_agent(hass, model_server, {"policy_allowed": ["tool:test__buy"]})
    hass.config.media_dirs["local"] = str(tmp_path)
    (tmp_path / "door.png").write_bytes(b"\x89PNG pixels")
    door = {
        "media_content_id": "media-source://media_source/local/door.png",
        "media_content_type": "image/png",
    }
    for attachments, bought in ((None, 1), ([door], 0)):
        buy = Buy()
        model_server.script([tool_calls([("test__buy", {"what": "milk"})]), text("So.")])
        await generate(hass, llm_api=Shopping(hass, buy), context=Context(), attachments=attachments)
        assert len(buy.bought) == bought


QUESTIONS = {
    "open": {"type": "noul", "instructions": "Is a window open?"},
    "room": {
        "type": "choice",
        "instructions": "Where is the cat?",
        "criteria": {"kitchen": "beside the stove", "garden": "outside"},
    },
    "mess": {
        "type": "score",
        "instructions": "How untidy is it?",
        "criteria": ["tidy", "lived in", "a mess"],
    },
}
JUDGED = {"open": 0.9, "room": {"kitchen": 0.2, "garden": 0.6}, "mess": {"0": 0.0, "1": 0.5, "2": 0.5}}


@pytest.mark.skipif(not hasattr(ai_task, "async_evaluate"), reason="Home Assistant has it from 2026.11 on")
async def test_evaluation(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """A yes with its probability, a choice and a score, from one request."""

    async def evaluate() -> Any:
        questions = probatio.Schema(dict)(QUESTIONS)
        entity_id = hass.states.async_entity_ids("ai_task")[0]
        evaluated = vars(ai_task)["async_evaluate"]
        result = await evaluated(
            hass, task_name="look", questions=questions, state={"cat": "outside"}, entity_id=entity_id
        )
        return result.as_dict()["answers"]

    model_server.script([text(f"```json\n{json.dumps(JUDGED)}\n```")])
    answers = await evaluate()
    assert answers["open"] == {"type": "noul", "noul": 0.9}
    assert answers["room"]["choice"] == "garden"
    assert answers["room"]["probabilities"] == pytest.approx({"kitchen": 0.25, "garden": 0.75})
    assert answers["mess"] == {"type": "score", "score": 1.5, "probabilities": [0.0, 0.5, 0.5]}
    (request,) = model_server.chats
    schema = request.json["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["room"]["required"] == ["kitchen", "garden"]
    assert "outside" in request.messages[-1]["content"]
    assert "tools" not in request.json
    for wrong in (
        {},
        {**JUDGED, "open": "yes"},
        {**JUDGED, "open": 7},
        {**JUDGED, "room": {"kitchen": 1}},
        [1],
    ):
        model_server.script([text(json.dumps(wrong))])
        with pytest.raises(HomeAssistantError, match="look"):
            await evaluate()
