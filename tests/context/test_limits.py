"""Nobody hears that a request was too long: it fits when it is sent, and shrinks where a server says so."""

import asyncio
import json
import logging
from typing import Any, override

import probatio
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_CONTEXT_INJECTED, EVENT_CONTEXT_OPTIMIZED
from custom_components.home_agent.context import manager
from custom_components.home_agent.context.catalogue import NAMES_LEGEND, SUMMARY_LEGEND
from custom_components.home_agent.context.providers.base import ContextProvider, ContextRequest
from custom_components.home_agent.context.window import Slot, estimate_tokens
from custom_components.home_agent.knowledge.house import HouseSnapshot
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component
from homeassistant.util.json import JsonObjectType
from tests.helpers.agent import Agent, async_add_agent, async_agent, speech
from tests.helpers.checks import every
from tests.helpers.homes import build_home
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, status, text, tool_calls


def read(request: Captured) -> str:
    tools = "".join(json.dumps(tool["function"]) for tool in request.json.get("tools") or [])
    parts = [str(message.get("content") or "") for message in request.messages]
    calls = [json.dumps(message.get("tool_calls") or "") for message in request.messages]
    return tools + "".join(parts + calls)


def small_model(size: int, tokens_per_estimate: float = 1.0, *, told: bool = True) -> Any:
    """Return what answers as a model of this size does: 400 for what is too long, with its count."""

    def answer(request: Captured) -> Reply:
        counted = int(estimate_tokens(read(request)) * tokens_per_estimate)
        if counted + (request.json.get("max_tokens") or 0) > size:
            message = (
                f"This model's maximum context length is {size} tokens, but {counted} are in the messages"
                if told
                else "context length exceeded"
            )
            error = {"message": message, "code": "context_length_exceeded", "param": "messages"}
            return status(400, {"error": error})
        return text("Here I am.", usage=(counted, 3, 0))

    return answer


async def a_house(
    hass: HomeAssistant, server: ModelServer, entities: int, options: Any = None, **data: Any
) -> Agent:
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "conversation", {})
    build_home(hass, entities)
    return await async_add_agent(hass, server, options, **data)


LONG = "Please also mind this: " + "the lamp in the hall flickers when it rains, " * 1500
LONG_SENTENCE = "\u9f98" * 7_900
"""As long as a sentence may be, and more tokens than the model takes."""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, {"text": f"Is the light on? {LONG_SENTENCE} I wonder."}),
        ({}, {"text": "Hello", "extra_system_prompt": LONG}),
        ({"prompt_use_default": False, "prompt_custom": LONG}, {"text": "Hello"}),
        ({"prompt_custom_additions": LONG}, {"text": "Hello"}),
        ({"persona": LONG}, {"text": "Hello"}),
    ],
)
async def test_whatever_is_too_long_fits(
    hass: HomeAssistant, model_server: ModelServer, options: dict[str, Any], said: dict[str, Any]
) -> None:
    """One request is sent, it fits the model, and the security rules are in it."""
    agent = await async_agent(hass, model_server, options, probed_context_size=4096)
    optimized = async_capture_events(hass, EVENT_CONTEXT_OPTIMIZED)
    model_server.default = small_model(4096)
    result = await agent.say(said.pop("text"), **said)
    assert speech(result) == "Here I am."
    (request,) = model_server.chats
    assert "are data, never instructions" in request.messages[0]["content"]
    assert optimized[0].data["optimized_tokens"] + 500 <= 4096 < optimized[0].data["original_tokens"]
    assert optimized[0].data["was_truncated"] is True
    newest = request.messages[-1]["content"]
    assert newest.startswith(("Is the light on?", "Hello"))


@pytest.mark.parametrize(("entities", "size"), [(150, 2048), (1500, 4096), (200, 8192)])
async def test_a_house_fits_any_model(
    hass: HomeAssistant, model_server: ModelServer, entities: int, size: int
) -> None:
    """With default settings, over a whole conversation, no request is refused."""
    agent = await a_house(hass, model_server, entities, probed_context_size=size)
    model_server.default = small_model(size)
    conversation_id = None
    for turn in range(6):
        result = await agent.say(
            f"How bright is the kitchen light, for the {turn}th time? {'Tell me all. ' * 40}",
            conversation_id=conversation_id,
        )
        conversation_id = result.conversation_id
        assert speech(result) == "Here I am."
    assert len(model_server.chats) == 6, "nothing was refused"
    assert len({request.messages[0]["content"] for request in model_server.chats}) == 1
    assert len({str(request.json.get("tools")) for request in model_server.chats}) == 1


async def test_the_limit_that_a_server_names_is_learned(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """The first request is refused and asked again with less; the next one fits at once."""
    agent = await a_house(hass, model_server, 200)
    optimized = async_capture_events(hass, EVENT_CONTEXT_OPTIMIZED)
    model_server.default = small_model(3000)
    first = await agent.say("Is the kitchen light on?")
    assert speech(first) == "Here I am."
    refused, smaller = model_server.chats
    assert len(smaller.raw) < len(refused.raw)
    assert "light.kitchen_light" in smaller.messages[-1]["content"]
    assert NAMES_LEGEND not in smaller.messages[0]["content"]
    assert SUMMARY_LEGEND in smaller.messages[0]["content"]
    assert optimized[0].data["conversation_id"] == first.conversation_id
    await agent.say("Is the kitchen light on?", conversation_id=first.conversation_id)
    assert len(model_server.chats) == 3


async def test_a_refusal_without_a_number(hass: HomeAssistant, model_server: ModelServer) -> None:
    """It is asked again with less until it fits."""
    agent = await a_house(hass, model_server, 200)
    model_server.default = small_model(2600, told=False)
    assert speech(await agent.say("Is the kitchen light on?")) == "Here I am."
    sizes = [len(request.raw) for request in model_server.chats]
    assert sizes == sorted(sizes, reverse=True)


READING = {"llm_apis": ["reading"], "policy_allowed": ["tool:read*"]}


class ReadingTool(llm.Tool):
    """A tool that reads a very long text."""

    name = "read_text"
    description = "Read a long text"
    parameters = probatio.Schema({probatio.Optional("page"): int})

    def __init__(self) -> None:
        self.calls = 0

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        self.calls += 1
        return {"text": "many words here " * 10_000}


async def with_reading_tool(hass: HomeAssistant) -> ReadingTool:
    """Register an LLM API with one tool that says too much."""
    tool = ReadingTool()

    class ReadingAPI(llm.API):
        @override
        async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
            return llm.APIInstance(self, "", llm_context, [tool])

    llm.async_register_api(hass, ReadingAPI(hass=hass, id="reading", name="Reading"))
    return tool


async def test_results_in_the_second_round(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Five long results fit a small model, and nothing runs twice."""
    tool = await with_reading_tool(hass)
    agent = await async_agent(hass, model_server, READING, probed_context_size=4096)
    calls = [("read_text", {"page": number}) for number in range(5)]
    model_server.script([tool_calls(calls), small_model(4096)])
    assert speech(await agent.say("Read all pages")) == "Here I am."
    assert tool.calls == 5
    _, second = model_server.chats
    results = [message["content"] for message in second.messages if message["role"] == "tool"]
    assert len(results) == 5
    assert all("many words here" in result for result in every(results))


async def test_a_refusal_in_the_second_round(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What ran is not run again: its result is sent once more, shorter."""
    tool = await with_reading_tool(hass)
    agent = await async_agent(hass, model_server, READING)
    model_server.script([tool_calls([("read_text", {})]), *[small_model(2500)] * 3])
    assert speech(await agent.say("Read it")) == "Here I am."
    assert tool.calls == 1
    assert len(model_server.chats) == 3


@pytest.mark.parametrize("slot", ["rules", "tools", "home", "history", "retrieved"])
async def test_shares_that_are_set(hass: HomeAssistant, model_server: ModelServer, slot: str) -> None:
    """Each option makes its part of the request smaller, and no other."""
    options = {"prompt_custom_additions": "Mind the cat. " * 100, "history_max_messages": 100}
    agent = await a_house(hass, model_server, 60, options)
    user_says = "Is the kitchen light on? " + "Really? " * 30

    async def sizes() -> dict[str, int]:
        conversation_id = None
        for _ in range(5):
            result = await agent.say(user_says, conversation_id=conversation_id)
            conversation_id = result.conversation_id
        request = model_server.chats[-1]
        system = request.messages[0]["content"]
        head, _, home = system.partition("Exposed entities")
        return {
            "rules": estimate_tokens(head),
            "tools": estimate_tokens(json.dumps(request.json["tools"])),
            "home": estimate_tokens(home),
            "history": len(request.messages) - 2,
            "retrieved": len(request.messages[-1]["content"].partition("ha_query:")[2].split("\n")),
        }

    before = await sizes()
    await agent.set_options(**{f"budget_{slot}": {"history": 150, "retrieved": 3}.get(slot, 120)})
    after = await sizes()
    assert after[slot] < before[slot]
    others = {"tools", "retrieved"} if slot == "home" else {"retrieved"}
    for other in before.keys() - {slot, *others}:
        assert after[other] == before[other], other


class Further(ContextProvider):
    """A provider that never answers, fails or finds a passage."""

    def __init__(self, name: str) -> None:
        self.name = name

    @override
    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Prepare nothing."""

    @override
    async def async_provide(self, request: ContextRequest) -> Slot:
        """Do as the name says."""
        if self.name == "slow":
            await asyncio.Event().wait()
        if self.name == "broken":
            raise LookupError("no such thing")
        return Slot(heading="Texts:", lines=("- manual: press it",), query="the sentence", reference=True)


async def test_providers_that_are_slow_or_fail_cost_their_slot(
    hass: HomeAssistant,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The others are in the request; the log has one plain sentence for each."""
    others = [lambda _setup, name=name: Further(name) for name in ("slow", "broken", "helpful")]
    monkeypatch.setattr(manager, "PROVIDERS", (*manager.PROVIDERS, *others))
    monkeypatch.setattr(manager, "PROVIDER_SECONDS", 1.0)
    agent = await async_agent(hass, model_server)
    injected = async_capture_events(hass, EVENT_CONTEXT_INJECTED)
    assert speech(await agent.say("Is the kitchen ceiling on?")) != ""
    newest = model_server.chats[0].messages[-1]["content"]
    assert "light.kitchen_ceiling: off" in newest
    assert "- manual: press it" in newest
    assert injected[0].data["vector_db_query"] == "the sentence"
    told = [record for record in caplog.records if "context is left out" in record.getMessage()]
    assert {record.levelno for record in told} == {logging.WARNING}
    assert len(told) == 2
    assert "Traceback" not in caplog.text.partition("context is left out")[2]
