"""Lists, calendar and weather on Home Assistant's own integrations, with times in the speaker's words."""

from datetime import timedelta

import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import Platform
from homeassistant.core import Context, HomeAssistant, SupportsResponse
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent
from tests.helpers.everyday_house import (
    NOW,
    async_add_calendar,
    async_add_demo,
    async_add_list,
    async_items,
)
from tests.servers.replies import text, tool_calls

pytestmark = pytest.mark.freeze_time(NOW)
EVERYDAY = {"todo_list", "calendar", "weather", "notify_person", "look_at_camera"}


@pytest.fixture
async def stations(hass: HomeAssistant, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """Return the agent, with the weather of two places."""
    await async_add_demo(hass, monkeypatch, Platform.WEATHER)
    return agent


def offered(agent: Agent) -> set[str]:
    """Return which everyday tools the last request offered."""
    return {tool["function"]["name"] for tool in agent.server.chats[-1].json["tools"]} & EVERYDAY


async def test_tools_follow_the_house(hass: HomeAssistant, agent: Agent) -> None:
    """A model is told of a tool once there is something to use it on, and no longer than that."""
    await agent.say("Hello")
    assert offered(agent) == set()
    shopping = await async_add_list(hass, "Shopping list")
    await async_add_calendar(hass, "Family")
    await agent.say("Hello")
    assert offered(agent) == {"todo_list", "calendar"}
    first = agent.server.chats[-1].json["tools"]
    await agent.say("Hello again")
    assert agent.server.chats[-1].json["tools"] == first, "the same from turn to turn"
    async_expose_entity(hass, "conversation", shopping, False)
    await agent.say("Hello")
    assert offered(agent) == {"calendar"}


async def test_which_item_is_not_clear(hass: HomeAssistant, agent: Agent) -> None:
    """Nothing is done where one of the items could be several or is not there."""
    shopping = await async_add_list(hass, "Shopping list")
    await agent.call("todo_list", action="add", items=["white bread", "brown bread", "milk"])
    several = await agent.call("todo_list", action="complete", items=["milk", "bread"])
    assert not several["success"]
    assert "could be several" in several["error"]
    missing = await agent.call("todo_list", action="complete", items=["caviar"])
    assert "does not stand on the list" in missing["error"]
    assert set((await async_items(hass, shopping)).values()) == {"needs_action"}


async def test_several_lists(hass: HomeAssistant, agent: Agent) -> None:
    """A name decides, else the sentence; what is still open comes back with the lists there are."""
    shopping = await async_add_list(hass, "Shopping list")
    chores = await async_add_list(hass, "Chores")
    hidden = await async_add_list(hass, "Diary", exposed=False)
    which = await agent.call("todo_list", action="add", items=["x"])
    assert not which["success"]
    assert shopping in which["error"]
    assert chores in which["error"]
    assert "diary" not in which["error"].lower()
    await agent.call("todo_list", "Vacuum goes on the chores list", action="add", items=["vacuum"])
    await agent.call("todo_list", action="add", items=["milk"], list="shopping")
    await agent.call("todo_list", action="add", items=["soap"], list="Shoping list")
    refused = await agent.call("todo_list", action="add", items=["secret"], list=hidden)
    assert not refused["success"]
    assert await async_items(hass, chores) == {"vacuum": "needs_action"}
    assert set(await async_items(hass, shopping)) == {"milk", "soap"}
    assert await async_items(hass, hidden) == {}


async def test_the_guard_stands_before_lists(
    hass: HomeAssistant, agent: Agent, hass_read_only_user: MockUser
) -> None:
    """A user who may only read reads, and adds nothing; a blocked domain is neither read nor written."""
    shopping = await async_add_list(hass, "Shopping list")
    await agent.call("todo_list", action="add", items=["milk"])
    hass_read_only_user.mock_policy({"entities": {"all": {POLICY_READ: True}}})
    options = {"context": Context(user_id=hass_read_only_user.id)}
    read = await agent.call("todo_list", action="read", **options)
    assert read["result"]["items"] == ["milk"]
    refused = await agent.call("todo_list", action="add", items=["gin"], **options)
    assert "may not control" in refused["error"]
    hass_read_only_user.mock_policy({"entities": {}})
    assert not (await agent.call("todo_list", action="read", **options))["success"]
    await agent.set_options(policy_blocked=["todo"])
    for action in ("read", "add"):
        answer = await agent.call("todo_list", action=action, items=["gin"])
        assert "A rule of the household" in answer["error"]
    assert await async_items(hass, shopping) == {"milk": "needs_action"}


async def test_items_are_changed(hass: HomeAssistant, agent: Agent) -> None:
    """A new text, a day on which it is due; both are read again."""
    shopping = await async_add_list(hass, "Shopping list")
    added = await agent.call("todo_list", action="add", items=["milk", "tyres"], due="friday")
    assert added["result"] == {"list": "Shopping list", "added": ["milk", "tyres"], "due_date": "2026-06-05"}
    changed = await agent.call("todo_list", action="change", items=["milk"], to="oat milk")
    assert changed["result"] == {"list": "Shopping list", "changed": ["milk"], "to": "oat milk"}
    await agent.call("todo_list", action="change", items=["tyres"], due="2026-06-08 15:00")
    read = await agent.call("todo_list", action="read")
    assert read["result"]["items"] == ["oat milk (due 2026-06-05)", "tyres (due 2026-06-08 15:00)"]
    assert set(await async_items(hass, shopping)) == {"oat milk", "tyres"}
    nothing = await agent.call("todo_list", action="change", items=["tyres"])
    assert "say what the item is to say" in nothing["error"]
    both = await agent.call("todo_list", action="change", items=["tyres", "milk"], to="x")
    assert "only one" in both["error"]


async def test_items_are_moved(hass: HomeAssistant, agent: Agent) -> None:
    """From the only list that has them to the one that is named; an undo does not lose them."""
    shopping = await async_add_list(hass, "Shopping list")
    chores = await async_add_list(hass, "Chores")
    await agent.call("todo_list", action="add", items=["soap", "milk"], list="shopping", due="friday")
    agent.server.script(
        [tool_calls([("todo_list", {"action": "move", "items": ["soap"], "to": "chores"})]), text("Ok.")]
    )
    first = await agent.say("Move soap to the chores list")
    assert agent.results[-1]["result"] == {
        "list": "Shopping list",
        "moved": ["soap"],
        "to": "Chores",
    }
    assert set(await async_items(hass, shopping)) == {"milk"}
    assert set(await async_items(hass, chores)) == {"soap"}
    read = await agent.call("todo_list", action="read", list="chores")
    assert read["result"]["items"] == ["soap (due 2026-06-05)"]
    options = {"conversation_id": first.conversation_id}
    undone = await agent.call("activity", "Put it back", action="undo", **options)
    assert not undone["success"]
    assert set(await async_items(hass, chores)) == {"soap"}
    nowhere = await agent.call("todo_list", action="move", items=["milk"])
    assert "to which list" in nowhere["error"]


async def test_calendar(hass: HomeAssistant, agent: Agent) -> None:
    """Events are created with and without a time, and read in their order."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    await async_add_calendar(hass, "Family")
    timed = await agent.call("calendar", title="Dentist", start="tomorrow 15:00", end="15:45")
    assert timed["result"] == {
        "created": "Dentist",
        "when": "2026-06-04 15:00 to 2026-06-04 15:45",
        "calendar": "Family",
    }
    whole = await agent.call("calendar", title="Holiday", start="2026-06-05", end="2026-06-07")
    assert whole["result"]["when"] == "2026-06-05 to 2026-06-07"
    read = await agent.call("calendar", start="tomorrow", end="2026-06-30")
    assert read["result"]["events"] == [
        {"title": "Dentist", "start": "2026-06-04 15:00", "end": "2026-06-04 15:45"},
        {"title": "Holiday", "day": "2026-06-05", "last_day": "2026-06-07"},
    ]
    assert (await agent.call("calendar"))["result"]["events"] == [], "today"
    assert len((await agent.call("calendar", start="tomorrow"))["result"]["events"]) == 1
    late = await agent.call("calendar", title="Party", start="2026-06-06 20:00", end="2 hours")
    assert late["result"]["when"] == "2026-06-06 20:00 to 2026-06-06 22:00"


async def test_what_is_next(hass: HomeAssistant, agent: Agent) -> None:
    """Where today holds nothing more, the next event is told; weeks and months are periods."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    await async_add_calendar(hass, "Family")
    assert (await agent.call("calendar"))["result"]["events"] == []
    for title, start in (
        ("Dentist", "2026-06-07 09:00"),
        ("Cinema", "2026-06-09 20:00"),
        ("Fair", "2026-07-02"),
    ):
        await agent.call("calendar", title=title, start=start)
    today = (await agent.call("calendar"))["result"]
    assert (today["events"], today["next"]["title"]) == ([], "Dentist")
    for period, titles in (
        ("this week", ["Dentist"]),
        ("the weekend", ["Dentist"]),
        ("next week", ["Cinema"]),
        ("this month", ["Dentist", "Cinema"]),
        ("next month", ["Fair"]),
    ):
        read = (await agent.call("calendar", start=period))["result"]
        assert [event["title"] for event in read["events"]] == titles, period


async def test_conflicts_are_told(hass: HomeAssistant, agent: Agent) -> None:
    """An event is created all the same; what stands there already is told, of all calendars."""
    await async_add_calendar(hass, "Family")
    await async_add_calendar(hass, "Work")
    await async_add_calendar(hass, "Secret", exposed=False)
    await agent.call("calendar", title="Stand-up", start="2026-06-04 09:00", calendar="work")
    late = await agent.call("calendar", title="Dentist", start="2026-06-04 10:00", calendar="family")
    assert "at_the_same_time" not in late["result"]
    made = await agent.call("calendar", title="Call", start="2026-06-04 09:30", calendar="family")
    assert [event["title"] for event in made["result"]["at_the_same_time"]] == ["Stand-up", "Dentist"]
    assert made["result"]["created"] == "Call"


async def test_calendar_refuses(hass: HomeAssistant, agent: Agent) -> None:
    await async_add_calendar(hass, "Family")
    refused = [
        ({"title": "X"}, "start: say when"),
        ({"title": "X", "start": "whenever"}, "is not understood"),
        ({"title": "X", "start": "2026-06-04", "repeat": "every monday"}, "single events only"),
        ({"title": "X", "start": "2026-06-04 10:00", "end": "2026-06-03 10:00"}, "later than start"),
        ({"start": "2026-06-04", "end": "2029-06-04"}, "at most a year"),
    ]
    for args, said in refused:
        assert said in (await agent.call("calendar", **args))["error"]


async def test_weather(stations: Agent) -> None:
    """The forecast comes with its units, and only of the day and the kind that were asked for."""
    week = (await stations.call("weather", name="South"))["result"]
    assert week["type"] == "daily"
    assert len(week["forecast"]) == 7
    assert week["units"]["temperature"] == "°C"
    first = week["forecast"][0]
    assert first["at"] == "Wed 2026-06-03"
    assert first["condition"] in {"rainy", "sunny"}
    assert {"temperature", "templow", "precipitation_probability"} <= set(first)
    day = (await stations.call("weather", name="South", day="friday"))["result"]["forecast"]
    assert [entry["at"] for entry in day] == ["Fri 2026-06-05"]
    hourly = (await stations.call("weather", name="North", type="hourly"))["result"]
    assert hourly["type"] == "hourly"
    assert hourly["forecast"][0]["at"].startswith("Wed 2026-06-03 ")
    assert len(hourly["forecast"]) <= 8, "not each hour"
    halves = (await stations.call("weather", name="North", type="twice_daily"))["result"]["forecast"]
    assert [entry["part"] for entry in halves[:2]] == ["day", "night"]
    south = (await stations.call("weather", name="South", type="hourly"))["result"]
    assert south["type"] == "daily", "a station without the kind answers with what it has"
    far = await stations.call("weather", name="South", day="2026-12-24")
    assert "does not reach it; it is about 2026-06-03 to 2026-06-09" in far["error"]
    assert "say which one" in (await stations.call("weather"))["error"], "there are two stations"


async def test_text_in_a_list_is_read_as_text(hass: HomeAssistant, agent: Agent) -> None:
    """An item is one line of bounded length, whatever was written into it; a long list is cut."""
    shopping = await async_add_list(hass, "Shopping list")
    await hass.services.async_call(
        "todo", "add_item", {"entity_id": shopping, "item": "a\nb " + "x" * 500}, blocking=True
    )
    for start in range(0, 60, 20):
        await agent.call("todo_list", action="add", items=[f"thing {start + one}" for one in range(20)])
    read = (await agent.call("todo_list", action="read"))["result"]
    assert (len(read["items"]), read["left_out"]) == (50, 11)
    assert read["items"][0].startswith("a b x")
    assert len(read["items"][0]) <= 120


async def test_weather_in_a_part_of_a_day(hass: HomeAssistant, agent: Agent) -> None:
    """The hours of the part that was asked for, without a type."""
    first = dt_util.start_of_local_day() + timedelta(hours=7)
    hours = [
        {
            "datetime": (first + timedelta(hours=number)).isoformat(),
            "condition": "rainy" if number % 6 == 0 else "cloudy",
            "temperature": 10 + number % 6,
            "precipitation": 0.1,
        }
        for number in range(48)
    ]
    forecasts = {"weather.home": {"forecast": hours}}
    hass.states.async_set("weather.home", "cloudy", {"supported_features": 3, "temperature_unit": "°C"})
    async_expose_entity(hass, "conversation", "weather.home", True)
    async_mock_service(
        hass, "weather", "get_forecasts", response=forecasts, supports_response=SupportsResponse.ONLY
    )
    for day, language, at in (
        ("this evening", "en", "Wed 2026-06-03 18:00"),
        ("heute abend", "de", "Wed 2026-06-03 18:00"),
        ("tomorrow morning", "en", "Thu 2026-06-04 06:00"),
        ("demain matin", "fr", "Thu 2026-06-04 06:00"),
        ("the afternoon of 2026-06-04", "en", "Thu 2026-06-04 12:00"),
    ):
        sentence = "What will the weather be like?"
        told = await agent.call("weather", sentence, language=language, day=day)
        assert told["error"] is None
        hours = told["result"]["forecast"]
        assert (len(hours), hours[0]["at"]) == (6, at)
        assert {entry["condition"] for entry in hours} == {"cloudy", "rainy"}


async def test_what_models_are_told(hass: HomeAssistant, agent: Agent) -> None:
    """Parameters that are rarely needed cost nothing in each request, and are still accepted."""
    await async_add_calendar(hass, "Family")
    await agent.say("Hello")
    tools = {tool["function"]["name"]: tool["function"] for tool in agent.server.chats[-1].json["tools"]}
    assert "repeat" not in tools["calendar"]["parameters"]["properties"]
    assert set(tools["retrieve_knowledge"]["parameters"]["properties"]) == {"query"}
    assert "10 minutes" in tools["timer"]["parameters"]["properties"]["when"]["description"]
    event = {"start": "tomorrow 15:00", "title": "Chess", "repeat": "weekly"}
    assert "single events only" in (await agent.call("calendar", **event))["error"]
    assert (await agent.call("retrieve_knowledge", query="lights", source="area"))["success"]
