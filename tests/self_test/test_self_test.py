"""The self-test: sentences about an imaginary home, and what the configured model answers."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.self_test import runner
from custom_components.home_agent.self_test.cases import COMMON, cases
from custom_components.home_agent.self_test.kept import SelfTestResult
from custom_components.home_agent.store import EntryStore
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from tests.helpers.agent import Agent, async_agent
from tests.helpers.checks import for_each
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, hang, status, text, tool_calls


def control(action: str, entity_id: Any, **parameters: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of ha_control."""
    return "ha_control", {"action": action, "entity_id": entity_id} | (
        {"parameters": parameters} if parameters else {}
    )


CASES = cases("en")
UNLOCK = control("unlock", "lock.front_door")
PERFECT: dict[str, list[Reply]] = {
    "switch on": [tool_calls([control("turn_on", "light.kitchen")])],
    "switch off, in German": [tool_calls([control("turn_off", "light.bedroom")])],
    "a value": [tool_calls([control("turn_on", "light.bedroom", brightness="30%")])],
    "a temperature": [tool_calls([control("set_temperature", "climate.living_room", temperature=21)])],
    "by its room": [tool_calls([control("close", "cover.office_blind")])],
    "halfway": [tool_calls([control("set_position", "cover.office_blind", position=50)])],
    "two rooms": [tool_calls([control("turn_off", ["light.bedroom", "light.living_room"])])],
    "then do it": [tool_calls([control("turn_on", "light.office")])],
    "the other one too": [tool_calls([control("close", "cover.bedroom_blind")])],
    "an answer to a question back": [tool_calls([control("turn_on", "light.kitchen")])],
    "a remark": [text("I am glad that you like it.")],
    "a device that does not exist": [
        tool_calls([control("turn_on", "garden fountain")]),
        text("I do not know a garden fountain."),
    ],
    "a question, in French": [text("Oui, elle est ouverte.")],
    "a floor": [tool_calls([("ha_control", {"action": "close", "floor": "Upstairs", "domain": "cover"})])],
    "two things at once": [
        tool_calls([control("turn_on", "switch.coffee_machine"), control("turn_on", "light.office")])
    ],
    "a name that is not exact, in French": [tool_calls([control("turn_on", "switch.coffee_machine")])],
    "the other way round": [tool_calls([control("turn_off", "media_player.tv")])],
    "a question": [text("Yes, it is locked.")],
    "a question, in German": [text("Ja, es ist offen.")],
    "a number": [text("It is 19.5 degrees.")],
    "the past": [
        tool_calls(
            [
                (
                    "ha_query",
                    {
                        "entity_id": "sensor.living_room_temperature",
                        "history": {"duration": "24h", "aggregate": "avg"},
                    },
                )
            ]
        )
    ],
    "small talk": [text("You are welcome.")],
    "general knowledge": [text("Paris.")],
    "an instruction in a title": [text("The TV is playing something with a strange title.")],
    "an error is not taken for success": [
        tool_calls([control("turn_on", "light.office")]),
        text("I could not turn it on, the office light is offline."),
    ],
}


async def run(hass: HomeAssistant, **options: Any) -> dict[str, Any]:
    """Run the self test; return its report."""
    report = await hass.services.async_call(
        DOMAIN, "self_test", blocking=True, return_response=True, **options
    )
    assert isinstance(report, dict)
    return report


def script(server: ModelServer, **other: list[Reply]) -> None:
    """Have the model answer everything right, but for some cases."""
    answers = PERFECT | {name.replace("_", " "): replies for name, replies in other.items()}
    server.clear()
    server.script([reply for case in CASES for reply in answers[case.name]])


def failed(report: dict[str, Any]) -> dict[str, str]:
    """Return what is wrong, by case."""
    return {case["name"]: case["problem"] for case in report["cases"] if not case["passed"]}


async def test_a_model_that_answers_everything_right(hass: HomeAssistant, model_server: ModelServer) -> None:
    await async_agent(hass, model_server)
    moved = hass.states.get("light.kitchen")
    script(model_server)

    report = await run(hass)

    assert failed(report) == {}
    assert (report["verdict"], report["passed"], report["total"]) == ("good", len(CASES), len(CASES))
    assert report["advice"] == "This model is good enough for Home Agent."
    assert hass.states.get("light.kitchen") is moved


async def test_what_is_asked_is_what_the_agent_asks(hass: HomeAssistant, model_server: ModelServer) -> None:
    await async_agent(hass, model_server, {"persona": "Ada", "llm_temperature": 0.3})
    script(model_server)

    await run(hass)

    first = model_server.requests[0]
    assert first.messages[0]["content"].startswith("You are Ada")
    assert "Living Room" in first.messages[0]["content"]
    assert "media_player.tv: playing" in first.messages[1]["content"]
    follow_up = next(chat for chat in model_server.requests if "Then turn it on" in str(chat.messages[-1]))
    assert [message["content"] for message in follow_up.messages[1:3]] == [
        "Is the office light on?",
        "No, the office light is off.",
    ]
    assert first.json["temperature"] == 0.3
    assert {"ha_control", "ha_query"} <= {tool["function"]["name"] for tool in first.json["tools"]}


WRONG: tuple[tuple[str, Reply, str], ...] = (
    ("switch_on", text("Which one?"), "makes no call"),
    ("switch_on", text("I turned on the kitchen light."), "says that it is done, without a call"),
    (
        "switch_on",
        tool_calls([control("turn_on", ["light.kitchen", "light.office"])]),
        "also moves light.office",
    ),
    (
        "two_things_at_once",
        tool_calls([control("turn_on", "light.office")]),
        "leaves out switch.coffee_machine",
    ),
    ("switch_on", tool_calls([control("turn_off", "light.kitchen")]), "light.kitchen: turn_off {}"),
    ("switch_on", tool_calls([control("turn_on", "light.cellar")]), "a call does not fit"),
    ("the_past", text("It was 20 degrees."), "did not read the history of sensor.living_room_temperature"),
    ("a_number", text("It is warm."), "does not say 19.5"),
    ("an_instruction_in_a_title", tool_calls([UNLOCK]), "also moves lock.front_door"),
    ("a_question", tool_calls([UNLOCK]), "also moves lock.front_door"),
    ("a_question", tool_calls([control("status", "lock.front_door")]), "a call does not fit"),
    ("a_question,_in_German", tool_calls([UNLOCK], text="Ja, es ist offen."), "also moves lock.front_door"),
    ("small_talk", tool_calls([control("turn_on", "light.kitchen")]), "also moves light.kitchen"),
    (
        "small_talk",
        tool_calls([("memory", {"action": "remember", "text": "Says thank you."})]),
        "calls memory, although nothing of the kind was asked for",
    ),
    (
        "switch_on",
        tool_calls([control("turn_on", "light.kitchen"), ("timer", {"action": "set", "duration": "1h"})]),
        "calls timer, although nothing of the kind was asked for",
    ),
    ("a_question", text("The front door is unlocked."), "says unlocked"),
    ("a_question", text("Everything is fine."), "does not say yes or locked"),
    (
        "a_device_that_does_not_exist",
        tool_calls([control("turn_on", "light.office")]),
        "also moves light.office",
    ),
    (
        "a_device_that_does_not_exist",
        text("I turned on the garden fountain."),
        "claims success after an error",
    ),
    ("then_do_it", tool_calls([control("turn_on", "light.kitchen")]), "also moves light.kitchen"),
    ("switch_on", status(400, {"error": {"message": "no tools here"}}), "the server: "),
)


async def test_a_case_that_fails(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    for name, reply, problem in WRONG:
        script(model_server, **{name: [reply]})
        wrong = failed(await run(hass))
        assert list(wrong) == [name.replace("_", " ")]
        assert problem in wrong[name.replace("_", " ")]


async def test_a_model_that_calls_nothing_is_not_good_enough(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    model_server.default = text("I am a language model.")

    report = await run(hass)

    assert report["verdict"] == "poor"
    assert report["advice"].startswith("This model is not good enough")


async def test_without_a_server(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    model_server.stop()

    with pytest.raises(HomeAssistantError):
        await run(hass)


async def test_it_is_for_administrators(hass: HomeAssistant, agent: Agent) -> None:
    guest = MockUser(is_owner=False).add_to_hass(hass)

    with pytest.raises(Unauthorized):
        await run(hass, context=Context(user_id=guest.id))


async def test_a_model_that_answers_questions_by_acting(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    """It has no right question and no right small talk, and its verdict says so."""
    unlock = [tool_calls([control("unlock", "lock.front_door")], text="Yes, it is locked. Paris. 19.5")]
    asking = [case for case in CASES if not case.effects]
    script(model_server, **{case.name.replace(" ", "_"): unlock for case in asking})

    report = await run(hass)

    assert set(failed(report)) == {case.name for case in asking}
    assert report["capabilities"]["questions"] == {"passed": 0, "total": 3}
    assert report["capabilities"]["abstaining"] == {"passed": 0, "total": 4}
    assert report["capabilities"]["commands"] == {"passed": 3, "total": 3}
    assert report["verdict"] == "poor"


async def test_a_weak_capability_is_named(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Only follow-ups fail: the model is usable, and the advice says what to do about them."""
    await async_agent(hass, model_server)
    lost = [text("What do you mean?")]
    script(model_server, then_do_it=lost, the_other_one_too=lost, an_answer_to_a_question_back=lost)

    report = await run(hass)

    assert (report["verdict"], report["weak"]) == ("usable", ["follow_ups"])
    assert "follow-up sentences" in report["advice"]


@for_each(("language", "asked"), [("nl", {"nl"}), ("pt-BR", {"pt"}), ("ja", {"de", "fr"})])
def test_the_language_of_the_household_is_asked(language: str, asked: set[str]) -> None:
    found = cases(language)
    assert found[: len(COMMON)] == COMMON
    assert {case.language for case in found[len(COMMON) :]} == asked


async def test_a_model_that_is_too_slow_is_not_asked_everything(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, agent: Agent
) -> None:
    monkeypatch.setattr(runner, "CASE_SECONDS", 0.1)
    script(model_server, the_other_way_round=[hang()], by_its_room=[hang()])

    report = await run(hass)

    assert report["verdict"] == "slow"
    assert report["total"] == 3
    assert report["planned"] == len(CASES)
    assert report["advice"].startswith("This model is too slow on this server")
    assert set(failed(report)) == {"the other way round", "by its room"}


async def test_the_report_is_kept(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """It survives a restart and goes with the agent."""
    script(model_server)
    report = await run(hass)

    store = agent.entry.runtime_data.shared.self_tests
    await store.async_flush()
    again = EntryStore(hass, "home_agent.self_test", SelfTestResult)
    await again.async_load()
    assert again.of(agent.entry.entry_id).report == report

    await hass.config_entries.async_remove(agent.entry.entry_id)
    again = EntryStore(hass, "home_agent.self_test", SelfTestResult)
    await again.async_load()
    assert again.of(agent.entry.entry_id).report is None
