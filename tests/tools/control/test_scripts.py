"""Scripts with fields: what models see, what values become, what is judged, what scripts respond."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_mock_service

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, label_registry as lr, llm
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, call_action, speech
from tests.helpers.checks import every
from tests.helpers.secure_house import SecureHouse
from tests.helpers.tables import tables
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

TABLES = tables(__file__)


class House:
    """A house with scripts, and an agent that may run them."""

    def __init__(self, hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
        self.hass, self.secure, self.agent = hass, secure, agent
        self.told: list[ServiceCall] = async_mock_service(hass, "notify", "family")

    async def say(self, sentence: str, tool: str, *, language: str = "en", **args: Any) -> dict[str, Any]:
        """Say a sentence that a model answers with a call; return what it reads, if it is asked again."""
        self.agent.server.clear()
        self.agent.server.script([tool_calls([(tool, args)]), text("Fine.")])
        anna = Context(user_id=self.secure.anna.id)
        asked = await self.agent.say(sentence, context=anna, language=language)
        self.answer, self.conversation_id = speech(asked), asked.conversation_id
        await self.hass.async_block_till_done()
        chats = self.agent.server.chats
        return tool_results(chats[-1])[-1] if len(chats) > 1 else {}

    async def offered(self) -> dict[str, Any]:
        """Return the tools of a new request by name."""
        self.agent.server.script([text("It is.")])
        await self.agent.say("Is it?")
        tools = self.agent.server.chats[-1].json["tools"]
        return {tool["function"]["name"]: tool["function"] for tool in tools}


async def async_house(
    hass: HomeAssistant, server: ModelServer, scripts: dict[str, dict[str, Any]], hidden: str = ""
) -> House:
    secure = SecureHouse(hass)
    await secure.async_build()
    assert await async_setup_component(hass, "script", {"script": scripts})
    agent = await secure.async_agent(server)
    for name in scripts:
        async_expose_entity(hass, "conversation", f"script.{name}", name != hidden)
    await hass.async_block_till_done()
    return House(hass, secure, agent)


@pytest.fixture
async def house(hass: HomeAssistant, model_server: ModelServer) -> House:
    """Return the house with scripts that are tools."""
    return await async_house(hass, model_server, TABLES["scripts"], hidden="slow")


async def test_what_models_are_shown(house: House) -> None:
    """Each script with fields is a tool; one without stays an action of ha_control."""
    tools = await house.offered()
    assert {name for name in tools if name.startswith("script__")} == {
        "script__announce",
        "script__bus",
        "script__scene_setter",
        "script__let_in",
        "script__water",
    }
    announce = tools["script__announce"]
    assert announce["description"] == "Announce: Says a text on all speakers"
    assert announce["parameters"] == {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "What to say"},
            "volume": {"type": "number", "minimum": 0, "maximum": 100},
            "mood": {"type": "string", "enum": ["calm", "p"]},
        },
        "required": ["message"],
    }
    assert tools["script__scene_setter"]["parameters"]["properties"]["lamps"] == {
        "type": "array",
        "items": {"type": "string"},
    }
    assert "turn_on" in tools["ha_control"]["parameters"]["properties"]["action"]["enum"]
    assert "variables" not in tools["ha_control"]["parameters"]["properties"]


async def test_they_follow_the_home(hass: HomeAssistant, house: House) -> None:
    """The next request has the scripts as they are: without hidden ones, with changed and new ones."""
    first = await house.offered()
    assert await house.offered() == first
    async_expose_entity(hass, "conversation", "script.let_in", False)
    assert "script__let_in" not in await house.offered()
    result = await house.say("Let her in", "script__let_in", door="Front Door")
    assert not result["success"]
    assert house.secure.moved() == []


LENGTHS: list[tuple[str, str, Any, int]] = [
    ("Water the beds for ten minutes", "en", "10 minutes", 10),
    ("Water the beds for ten minutes", "en", 10, 10),
    ("Innaffia le aiuole per un quarto d'ora", "it", "15 minuti", 15),
    ("Gieß die Beete zehn Minuten lang", "de", "zehn Minuten", 10),
]
"""A script that takes minutes needs no `for`."""


async def test_values_by_meaning(hass: HomeAssistant, house: House, subtests: pytest.Subtests) -> None:
    """Names become ids, options and numbers are read as people write them."""
    ar.async_get(hass).async_get_or_create("Kitchen")
    lr.async_get(hass).async_create("Night mode")
    for sentence, language, tool, given, passed in (
        *(("Make it so", "en", *row) for row in TABLES["meant"]),
        *(
            (said, code, "water", {"minutes": value}, {"minutes": meant})
            for said, code, value, meant in LENGTHS
        ),
    ):
        with subtests.test(tool, given=given):
            house.told.clear()
            result = await house.say(sentence, f"script__{tool}", language=language, **given)
            assert result["success"], result
            (call,) = house.told
            data = call.data["data"]
            assert {key: data[key] for key in passed} == passed


async def test_what_does_not_fit(house: House, subtests: pytest.Subtests) -> None:
    """The error says how to go on; what the sentence does not order now is not run."""
    for sentence, tool, given, problem in TABLES["what_does_not_fit"]:
        with subtests.test(sentence=sentence, tool=tool):
            result = await house.say(sentence, f"script__{tool}", **given)
            assert problem in result["error"]
            assert house.told == []


async def test_the_response_reaches_the_model_and_marks_the_turn(house: House) -> None:
    """A question may run a script that answers; its texts count as text from outside."""
    result = await house.say("When does the bus leave?", "script__bus", line="Station")
    assert result["result"] == {"done": "bus", "response": {"minutes": 7, "to": "Station"}}
    house.agent.server.clear()
    plain = ("ha_control", {"action": "activate", "entity_id": "script.plain"})
    house.agent.server.script(
        [tool_calls([("script__bus", {"line": "North"})]), tool_calls([plain]), text("Fine.")]
    )
    await house.agent.say("When is the bus, and run plain", context=Context(user_id=house.secure.anna.id))
    assert house.told == []  # a script after text from outside needs a yes


async def test_the_other_ways_to_a_tool(hass: HomeAssistant, house: House) -> None:
    """The action and the LLM API run it through the same guard."""
    done = await call_action(hass, "execute_tool", {"tool_name": "script__bus", "parameters": {"line": "5"}})
    assert done["result"]["response"] == {"minutes": 7, "to": 5}
    api = await llm.async_get_api(
        hass, "home_agent", llm.LLMContext("test", Context(), "en", "conversation", None)
    )
    names = [tool.name for tool in api.tools]
    assert every(name in names for name in ("script__announce", "script__bus"))


async def test_a_long_script_goes_on(
    hass: HomeAssistant, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that takes longer than anybody waits is reported as running, and is not stopped."""
    monkeypatch.setattr("custom_components.home_agent.tools.run.SCRIPT_SECONDS", 0)
    async_expose_entity(hass, "conversation", "script.slow", True)
    result = await house.say("Make it so", "script__slow", message="Dinner")
    assert result["result"] == {"started": "slow", "note": "it is still running"}
    assert house.told == []
    hass.bus.async_fire("go")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [call.data["data"] for call in house.told] == [{"message": "Dinner"}]


@pytest.fixture
async def judged(hass: HomeAssistant, model_server: ModelServer) -> House:
    """Return the house with scripts that do what their values say."""
    return await async_house(hass, model_server, TABLES["judged"])


async def run(house: House, script: str, parameters: dict[str, Any] | None, **slots: Any) -> tuple[str, str]:
    """Have the model run a script with ha_control; return the question, if there is one, and the result."""
    house.secure.reset()
    house.told.clear()
    given = {} if parameters is None else {"parameters": parameters}
    result = await house.say(
        "Make it so", "ha_control", action="activate", entity_id=f"script.{script}", **given, **slots
    )
    confirmations = house.agent.entry.runtime_data.confirmations
    question = " ".join(action.question for action in confirmations.pending)
    await confirmations.async_stop()
    return question, str(result)


async def test_values_reach_the_script(judged: House, subtests: pytest.Subtests) -> None:
    """In `parameters`, under `variables` in them, or beside the other arguments."""
    for where in ["parameters", "variables", "beside"]:
        with subtests.test(where=where):
            values = {"message": "Dinner is ready", "volume": "30"}
            given = {"parameters": values, "variables": {"variables": values}, "beside": None}[where]
            slots = values if where == "beside" else {}
            question, _ = await run(judged, "announce", given, **slots)
            assert question == ""
            assert [call.data for call in judged.told] == [{"message": "Dinner is ready", "title": 30}]


async def test_values_that_do_not_fit(judged: House, subtests: pytest.Subtests) -> None:
    """The error names the fields; a value that names a hidden entity is refused."""
    for script, given, said in [
        ("announce", {"message": "Hi", "speed": 3}, "message (What to say), volume, loud"),
        ("announce", None, "is missing message"),
        ("announce", {"message": "Hi", "loud": "perhaps"}, "does not fit"),
        ("announce", {"variables": "Hi"}, "an object is needed"),
        ("open_it", {"what": "the moat"}, "nothing is called the moat"),
        ("open_it", {"what": "lock.cellar"}, "not exposed"),
        ("open_it", {"what": ["cover.blind", " lock.CELLAR "]}, "does not"),
        ("open_it", {"what": "cover.blind", "how": "like lock.cellar"}, "not exposed"),
        ("plain", {"brightness": 5}, "This script takes no values"),
    ]:
        with subtests.test(script=script, given=given):
            question, result = await run(judged, script, given)
            assert said.replace("'", "") in result.replace("\\\\'", "").replace("'", "")
            assert question == ""
            assert judged.told == []
            assert judged.secure.calls == []


async def test_a_script_is_judged_with_its_values(judged: House, subtests: pytest.Subtests) -> None:
    """Services and targets that depend on a value are rendered with it, others are restricted."""
    for script, given, told, moved in TABLES["a_script_is_judged_with_its_values"]:
        with subtests.test(script=script, given=given):
            question, _ = await run(judged, script, given)
            assert told in question
            assert bool(question) is bool(told)
            assert [service for service, _ in judged.secure.moved()] == ([moved] if moved else [])
