"""What a household does by talking: automations, messages, questions, energy, scripts and its devices."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
import json
from typing import Any

import pytest

from scripts.lib.agent import (
    OPTIONS,
    VOICE_SETTINGS,
    Answer,
    open_options,
    reload,
    save_page,
    say,
    set_options,
)
from tests.servers.replies import Reply

from .conftest import Household, until
from .phone import AWAY, HOME, Phone, register

HALLWAY = "light.hallway"
WORKTOP = "light.worktop"
SATELLITE = "assist_satellite.hallway"
OFFICE = "assist_satellite.office"
SPEAKER = "media_player.kitchen"
OTHER_SPEAKER = "media_player.garden"
UPDATE = "update.lamp_firmware"
SCRIPT = "script.party"
PERSON = "person.demo"
ARRIVES = "When I come home, turn on the hallway light"
QUESTION = "When Demo comes home: turn on the Hallway Light. Should I create this automation?"


@pytest.fixture(scope="module")
async def phone(household: Household) -> AsyncIterator[Phone]:
    """Return the phone of the household; the household gets a voice and has no quiet hours."""
    client = household.client
    exposed = [SPEAKER, OTHER_SPEAKER, UPDATE, SCRIPT]
    await client.command(
        "homeassistant/expose_entity", assistants=["conversation"], entity_ids=exposed, should_expose=True
    )
    pipelines = (await client.command("assist_pipeline/pipeline/list"))["pipelines"]
    ours = next(pipeline for pipeline in pipelines if pipeline["id"] == household.pipeline)
    fields = ("name", "language", "conversation_engine", "conversation_language", *VOICE_SETTINGS)
    voice = {"tts_engine": "tts.voice", "tts_language": "en"}
    body = {field: ours[field] for field in fields} | voice
    await client.command("assist_pipeline/pipeline/update", pipeline_id=household.pipeline, **body)
    phone = Phone(client, await register(client))
    options = {
        "notify_targets": [{"person": PERSON, "targets": ["notify.mobile_app_phone"]}],
        "proactive_enabled": True,
        "proactive_quiet_start": "00:00:00",
        "proactive_quiet_end": "00:00:00",
    }
    await set_options(client, household.entry_id, options)
    rule = {"entities": ["cover.garage_door"], "state": "open", "ask": "close"}
    form = await open_options(client, household.entry_id, "message_rules", "add_rule", "watch_state")
    menu = await save_page(client, form, rule)
    await client.rest("DELETE", f"{OPTIONS}/{menu['flow_id']}")
    await reload(client, household.entry_id)
    async with phone.listening():
        yield phone
    await set_options(client, household.entry_id, {"notify_targets": [], "proactive_enabled": False})


async def calls(household: Household, words: str, tool: str, **arguments: Any) -> Answer:
    """Say something upon which the model calls a tool."""
    household.teach(words, Reply(calls=[(tool, arguments)]))
    return await household.say(words)


def result(household: Household, words: str) -> str:
    """Return what the tools returned to the model after a sentence."""
    messages = household.requests(words)[-1].messages
    return json.dumps([message["content"] for message in messages if message["role"] == "tool"])


async def own_automations(household: Household) -> dict[str, str]:
    """Return the automations that were made by talking: their states by entity."""
    states = await household.client.rest("GET", "states")
    return {
        state["entity_id"]: state["state"]
        for state in states
        if str(state["attributes"].get("id")).startswith("home_agent_")
    }


async def comes_home(household: Household, phone: Phone) -> None:
    """Let the person leave and come home."""
    for place, state in ((AWAY, "not_home"), (HOME, "home")):
        await phone.go(place)
        await household.until(PERSON, state)


async def test_automation_from_the_first_word_to_the_last(household: Household, phone: Phone) -> None:
    client = household.client
    await client.call("light.turn_off", {"entity_id": [HALLWAY, WORKTOP]})
    when, do = [{"person": "me", "to": "home"}], [{"action": "turn_on", "entity_id": [HALLWAY]}]
    asked = await calls(household, ARRIVES, "automation", action="create", when=when, do=do)
    assert asked.text.startswith(QUESTION)
    assert asked.continue_conversation
    assert await own_automations(household) == {}
    talk = asked.conversation_id
    assert (await household.say("Yes", talk)).text == "Done."
    ((entity_id, state),) = (await own_automations(household)).items()
    assert state == "on"
    await comes_home(household, phone)
    await household.until(HALLWAY, "on")

    why = Reply(calls=[("ha_query", {"entity_id": HALLWAY, "why": True})])
    household.teach("Why did the hallway light turn on?", why)
    await household.say("Why did the hallway light turn on?")
    assert "When Demo comes home: turn on" in result(household, "Why did the hallway light turn on?")

    change = {"action": "change", "do": [{"action": "turn_on", "entity_id": [WORKTOP]}]}
    household.teach("the worktop lights instead", Reply(calls=[("automation", change)]))
    assert (await household.say("Use the worktop lights instead", talk)).continue_conversation
    await household.say("Yes", talk)
    await client.call("light.turn_off", {"entity_id": HALLWAY})
    await comes_home(household, phone)
    await household.until(WORKTOP, "on")
    assert await household.state(HALLWAY) == "off"

    household.teach("Switch that automation off", Reply(calls=[("automation", {"action": "off"})]))
    await household.say("Switch that automation off", talk)
    assert await own_automations(household) == {entity_id: "off"}
    household.teach("Delete it", Reply(calls=[("automation", {"action": "delete"})]))
    assert (await household.say("Delete it", talk)).continue_conversation
    await household.say("Yes", talk)
    assert await own_automations(household) == {}
    household.teach("Undo that", Reply(calls=[("activity", {"action": "undo"})]))
    await household.say("Undo that", talk)
    assert list(await own_automations(household)) == [entity_id]


async def test_who_turned_it_off(household: Household, phone: Phone) -> None:
    await household.client.call("light.turn_on", {"entity_id": WORKTOP})
    await household.client.call("light.turn_off", {"entity_id": WORKTOP})
    words = "Who turned off the worktop lights?"
    await calls(household, words, "ha_query", entity_id=WORKTOP, why=True)
    assert r"\"by\":\"Demo (who asks)\"" in result(household, words)


async def test_announcement_is_heard(household: Household, phone: Phone) -> None:
    """On satellites, on a speaker in a room without one, and on the phone of who is away."""
    await phone.go(AWAY)
    await household.until(PERSON, "not_home")
    words = "Tell everybody that dinner is ready"
    await calls(household, words, "notify_person", person="everybody", message="Dinner is ready!")
    for satellite in (SATELLITE, OFFICE):
        assert (await household.client.state(satellite))["attributes"]["said"][-1] == "Dinner is ready!"
    announced = (await household.client.state(SPEAKER))["attributes"]["announced"]
    assert "Dinner+is+ready" in announced[-1]
    await phone.pushed("Dinner is ready!")


async def at_satellite(
    household: Household, satellite: str, words: str, tool: str = "", **arguments: Any
) -> Answer:
    """Say something at a satellite, upon which the model calls a tool if one is named."""
    if tool:
        household.teach(words, Reply(calls=[(tool, arguments)]))
    entities = await household.client.command("config/entity_registry/list")
    (device,) = [entity["device_id"] for entity in entities if entity["entity_id"] == satellite]
    return await say(household.client, words, pipeline=household.pipeline, device_id=device)


async def until_said(household: Household, satellite: str, words: str) -> None:
    """Wait until a satellite has announced something."""

    async def said() -> bool:
        return words in (await household.client.state(satellite))["attributes"]["said"][-1]

    await until(said)


async def test_reminder_is_announced_where_it_was_set(household: Household, phone: Phone) -> None:
    words = "Remind me of the tea in two seconds"
    await at_satellite(household, OFFICE, words, "timer", action="set", when="2 seconds", name="tea")
    await until_said(household, OFFICE, "tea")


async def test_alarm_rings_until_it_is_stopped(household: Household, phone: Phone) -> None:
    """In the room and on the phone; "stop" needs no model."""
    words = "Wake me in two seconds"
    await at_satellite(household, OFFICE, words, "timer", action="wake", when="2 seconds")
    await until_said(household, OFFICE, "Your alarm clock: it is")
    await phone.pushed("Your alarm clock: it is")
    assert (await at_satellite(household, OFFICE, "Stop, please")).text == "The alarm clock is off."
    assert household.requests("Stop, please") == []


async def test_question_to_another_room_brings_the_answer(household: Household, phone: Phone) -> None:
    client = household.client
    await client.call("stand_ins.answer", {"entity_id": OFFICE, "sentence": "yes, with milk"})
    call = {"person": "Office", "message": "Do you want coffee?", "wants_reply": True}
    await at_satellite(household, SATELLITE, "Ask in the office who wants coffee", "notify_person", **call)
    await until_said(household, SATELLITE, "yes, with milk")
    assert "Do you want coffee?" in (await client.state(OFFICE))["attributes"]["asked"][-1]


async def test_question_of_an_automation_is_answered(household: Household, phone: Phone) -> None:
    client = household.client
    await client.call("stand_ins.answer", {"entity_id": SATELLITE, "sentence": "yes please"})
    await client.call("light.turn_on", {"entity_id": WORKTOP})
    question = {"question": "It is late.", "action": "turn_off", "entity_id": WORKTOP, "satellite": SATELLITE}
    answered = await client.call("home_agent.ask", question, response=True)
    assert (answered["answer"], answered["carried_out"]) == ("yes", True)
    assert await household.state(WORKTOP) == "off"
    (asked,) = (await client.state(SATELLITE))["attributes"]["asked"]
    assert asked == "It is late. Should I turn off the Worktop Lights?"


async def test_own_question_is_answered_on_the_phone(household: Household, phone: Phone) -> None:
    await household.client.call("cover.open_cover", {"entity_id": "cover.garage_door"})
    asked = await phone.pushed("Should I close the Garage Door?")
    await phone.press(asked, "Yes")
    await household.until("cover.garage_door", "closed")


async def test_energy_of_the_dashboard(household: Household, phone: Phone) -> None:
    client = household.client
    grid = {
        "type": "grid",
        "stat_energy_from": "stand_ins:grid",
        "stat_energy_to": None,
        "stat_cost": "stand_ins:cost",
        "entity_energy_price": None,
        "number_energy_price": None,
        "stat_compensation": None,
        "entity_energy_price_export": None,
        "number_energy_price_export": None,
        "cost_adjustment_day": 0.0,
    }
    await client.command("energy/save_prefs", energy_sources=[grid])
    for name, unit, amount in (("grid", "kWh", 0.5), ("cost", "EUR", 0.25)):
        metadata = {
            "has_sum": True,
            "mean_type": 0,
            "name": name,
            "source": "stand_ins",
            "statistic_id": f"stand_ins:{name}",
            "unit_of_measurement": unit,
            "unit_class": "energy" if unit == "kWh" else None,
        }
        await client.command("recorder/import_statistics", metadata=metadata, stats=hours(amount))
    words = "How much electricity did we use yesterday?"

    async def imported() -> bool:
        period = {"start_time": hours(0)[0]["start"], "period": "hour", "statistic_ids": ["stand_ins:cost"]}
        return bool(await client.command("recorder/statistics_during_period", **period))

    await until(imported)
    await calls(household, words, "energy", period="yesterday")
    told = result(household, words)
    assert "12 kWh" in told
    assert "6.00 EUR" in told


def hours(amount: float) -> list[dict[str, Any]]:
    """Return statistics in which the same is counted each hour of the last three days."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    return [
        {
            "start": (now - timedelta(hours=72 - hour)).isoformat(),
            "state": hour * amount,
            "sum": hour * amount,
        }
        for hour in range(72)
    ]


async def test_script_is_a_tool_with_its_fields(household: Household, phone: Phone) -> None:
    await household.client.call("light.turn_off", {"entity_id": "light.sofa_strip"})
    words = "A wild party please"
    await calls(household, words, "script__party", mood="wild")
    assert await household.state("light.sofa_strip") == "on"
    tools = {
        tool["function"]["name"]: tool["function"] for tool in household.requests(words)[0].json["tools"]
    }
    assert tools["script__party"]["parameters"]["properties"]["mood"]["enum"] == ["calm", "wild"]


async def test_rooms_groups_and_updates(household: Household, phone: Phone) -> None:
    await calls(household, "Vacuum the kitchen", "ha_control", action="clean_area", area="Kitchen")
    assert (await household.client.state("vacuum.robbie"))["attributes"]["rooms"] == ["Kitchen"]
    words = "Play it on the garden speaker too"
    members = {"group_members": [OTHER_SPEAKER]}
    await calls(household, words, "ha_control", action="join", entity_id=[SPEAKER], parameters=members)
    group = (await household.client.state(SPEAKER))["attributes"]["group_members"]
    assert group == [SPEAKER, OTHER_SPEAKER]
    words = "Install the lamp firmware"
    asked = await calls(household, words, "ha_control", action="install", entity_id=[UPDATE])
    assert asked.continue_conversation
    assert await household.state(UPDATE) == "on"
    await household.say("Yes", asked.conversation_id)
    assert await household.state(UPDATE) == "off"
