"""Times in the speaker's words, the list that a sentence means, and what models are told of tools."""

from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.planned.records import PlannedItem
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.everyday_house import NOW, async_add_calendar, async_add_list, async_items
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

pytestmark = pytest.mark.freeze_time(NOW)


@pytest.fixture
def hass_config_dir(hass_tmp_config_dir: str) -> str:
    """Keep the files of one test from those of others."""
    (Path(hass_tmp_config_dir) / ".storage").mkdir(exist_ok=True)
    return hass_tmp_config_dir


async def call(
    agent: Agent, name: str, /, sentence: str = "Do it", language: str = "en", **args: Any
) -> dict[str, Any]:
    """Let a turn make one call and return what the model was told."""
    agent.server.script([tool_calls([(name, args)]), text("Okay.")])
    await agent.say(sentence, language=language)
    return tool_results(agent.server.chats[-1])[-1]


@pytest.mark.parametrize(
    ("language", "when", "left"),
    [
        ("de", "20 Minuten", "20 min"),
        ("de", "in einer halben Stunde", "30 min"),
        ("fr", "dans 20 minutes", "20 min"),
        ("fr", "2 heures", "2 h"),
        ("es", "20 minutos", "20 min"),
        ("es", "una hora", "1 h"),
        ("nl", "20 minuten", "20 min"),
        ("it", "2 ore", "2 h"),
        ("pt", "20 minutos", "20 min"),
        ("pl", "za 20 minut", "20 min"),
        ("sv", "20 minuter", "20 min"),
        ("da", "2 timer", "2 h"),
        ("nb", "20 minutter", "20 min"),
        ("ru", "20 минут", "20 min"),
        ("en", "20 Minuten", "20 min"),
    ],
)
async def test_lengths_in_every_language(
    hass: HomeAssistant, model_server: ModelServer, language: str, when: str, left: str
) -> None:
    """A model repeats the words of the person, whatever the language of the assistant is."""
    agent = await async_agent(hass, model_server)
    told = await call(agent, "timer", language=language, action="set", when=when, name="Pizza")
    assert told["result"]["set"]["in"] == left


@pytest.mark.parametrize(
    ("language", "repeat", "due", "told"),
    [
        ("de", "samstags", "Sat 2026-06-06 08:15", "every Saturday"),
        ("de", "jeden Samstag", "Sat 2026-06-06 08:15", "every Saturday"),
        ("de", "montags und freitags", "Fri 2026-06-05 08:15", "every Monday, Friday"),
        ("de", "Mo-Do", "Wed 2026-06-03 08:15", "every Monday, Tuesday, Wednesday, Thursday"),
        ("en", "saturday", "Sat 2026-06-06 08:15", "every Saturday"),
        ("en", "every saturday", "Sat 2026-06-06 08:15", "every Saturday"),
        ("en", "monday, friday", "Fri 2026-06-05 08:15", "every Monday, Friday"),
        ("en", "Mon to Fri", "Wed 2026-06-03 08:15", "weekdays"),
        ("fr", "tous les samedis", "Sat 2026-06-06 08:15", "every Saturday"),
        ("es", "los sábados", "Sat 2026-06-06 08:15", "every Saturday"),
        ("nl", "elke zaterdag", "Sat 2026-06-06 08:15", "every Saturday"),
        ("it", "ogni sabato", "Sat 2026-06-06 08:15", "every Saturday"),
        ("pt", "aos sábados", "Sat 2026-06-06 08:15", "every Saturday"),
        ("pl", "w soboty", "Sat 2026-06-06 08:15", "every Saturday"),
        ("sv", "varje lördag", "Sat 2026-06-06 08:15", "every Saturday"),
        ("da", "om lørdagen", "Sat 2026-06-06 08:15", "every Saturday"),
        ("nb", "hver lørdag", "Sat 2026-06-06 08:15", "every Saturday"),
        ("ru", "по субботам", "Sat 2026-06-06 08:15", "every Saturday"),
    ],
)
async def test_days_of_the_week(
    hass: HomeAssistant, model_server: ModelServer, language: str, repeat: str, due: str, told: str
) -> None:
    agent = await async_agent(hass, model_server)
    given = {"action": "set", "when": "8:15", "name": "Swimming", "repeat": repeat}
    reminder = (await call(agent, "timer", language=language, **given))["result"]["set"]
    assert (reminder["due"], reminder["repeat"]) == (due, told)
    (timer,) = agent.entry.runtime_data.planned.timers()
    assert PlannedItem.from_dict(timer.as_dict()) == timer
    assert (again := timer.schedule.next_after(hass, timer.due)) is not None
    assert again.weekday() in timer.schedule.days


async def test_days_that_are_not_clear(hass: HomeAssistant, model_server: ModelServer) -> None:
    agent = await async_agent(hass, model_server)
    given = {"action": "set", "when": "8:15", "repeat": "lundi au mercredi"}
    assert "days such as" in (await call(agent, "timer", language="fr", **given))["error"]


async def test_times_in_words(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Also to extend a timer, to repeat a reminder, and as the day of an event."""
    agent = await async_agent(hass, model_server)
    told = await call(agent, "timer", language="de", action="set", when="morgen um 7 Uhr", repeat="täglich")
    reminder = told["result"]["set"]
    assert (reminder["due"], reminder["repeat"]) == ("Thu 2026-06-04 07:00", "daily")
    longer = await call(agent, "timer", language="de", action="extend", when="10 Minuten")
    assert longer["result"]["now"]["due"].endswith("07:10")
    await async_add_calendar(hass, "Family")
    event = await call(agent, "calendar", language="de", start="Freitag 15:00", title="Zahnarzt")
    assert event["result"]["when"].startswith("2026-06-05 15:00")
    unclear = await call(agent, "timer", action="set", when="when the cows come home")
    assert "10 minutes, 2 hours" in unclear["error"]


async def test_a_timer_only_reminds(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The result says so where the name is a command, so that nothing is promised."""
    agent = await async_agent(hass, model_server)
    told = await call(agent, "timer", action="set", when="10 minutes", name="turn off the living room lights")
    assert "only reminds" in told["result"]["note"]
    told = await call(agent, "timer", language="de", action="set", when="18:30", name="Garage schließen")
    assert "only reminds" in told["result"]["note"]
    assert "note" not in (await call(agent, "timer", action="set", when="9 minutes", name="Pasta"))["result"]


async def test_the_list_with_the_item_that_was_named(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Two calls of one answer need no third that names the list."""
    agent = await async_agent(hass, model_server)
    shopping = await async_add_list(hass, "Shopping")
    chores = await async_add_list(hass, "Chores")
    await call(agent, "todo_list", action="add", items=["bread"], list="Shopping")
    await call(agent, "todo_list", action="add", items=["hoover the stairs"], list="Chores")
    agent.server.script(
        [
            tool_calls(
                [
                    ("todo_list", {"action": "complete", "items": ["bread"]}),
                    ("todo_list", {"action": "add", "items": ["cheese"]}),
                ]
            ),
            text("Done."),
        ]
    )
    await agent.say("Tick off bread and add cheese")
    assert [result["success"] for result in tool_results(agent.server.chats[-1])[-2:]] == [True, True]
    assert await async_items(hass, shopping) == {"bread": "completed", "cheese": "needs_action"}
    assert await async_items(hass, chores) == {"hoover the stairs": "needs_action"}
    unclear = await call(agent, "todo_list", "Add nails", action="add", items=["nails"])
    assert not unclear["success"], "nothing says which list"


async def test_calls_of_one_answer_see_each_other(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The calls of one answer run side by side; what one has changed is what the next one finds."""
    agent = await async_agent(hass, model_server)
    shopping = await async_add_list(hass, "Shopping")
    await call(agent, "todo_list", action="add", items=["butter", "oat cereal", "rye cereal"])
    calls = [
        ("todo_list", {"action": "change", "items": ["butter"], "to": "2 butters"}),
        ("todo_list", {"action": "complete", "items": ["cornflakes"]}),
    ]
    agent.server.script([tool_calls(calls), text("Which cereal?")])
    await agent.say("two butters, and take the cereal off")
    changed, unclear = tool_results(agent.server.chats[-1])[-2:]
    assert changed["success"]
    assert "There are: 2 butters, oat cereal, rye cereal" in unclear["error"]
    assert set(await async_items(hass, shopping)) == {"2 butters", "oat cereal", "rye cereal"}


async def test_what_models_are_told(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Parameters that are rarely needed cost nothing in each request, and are still accepted."""
    agent = await async_agent(hass, model_server)
    await async_add_calendar(hass, "Family")
    await agent.say("Hello")
    tools = {tool["function"]["name"]: tool["function"] for tool in agent.server.chats[-1].json["tools"]}
    assert "repeat" not in tools["calendar"]["parameters"]["properties"]
    assert set(tools["retrieve_knowledge"]["parameters"]["properties"]) == {"query"}
    assert "10 minutes" in tools["timer"]["parameters"]["properties"]["when"]["description"]
    event = {"start": "tomorrow 15:00", "title": "Chess", "repeat": "weekly"}
    assert "single events only" in (await call(agent, "calendar", **event))["error"]
    assert (await call(agent, "retrieve_knowledge", query="lights", source="area"))["success"]
