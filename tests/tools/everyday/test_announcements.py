"""Announcements and messages, now and later: who hears what where, and what is not said aloud."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.planned.scheduler import Scheduler
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.tts.const import DATA_COMPONENT
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
from tests.helpers.agent import speech
from tests.helpers.announcing import DAY, TalkingHouse, add_speaker, area_of, async_talking_house
from tests.helpers.everyday_house import async_add_satellite, async_pass
from tests.helpers.planned import planned
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

DINNER = "Dinner is ready"
LATER = "In ten minutes tell everybody that dinner is ready"
ROOMS = ("Kitchen", "Living Room", "Bedroom")


@pytest.fixture(autouse=True)
def day(freezer: FrozenDateTimeFactory) -> None:
    """Let it be day."""
    freezer.move_to(DAY)


@pytest.fixture
async def house(hass: HomeAssistant, model_server: ModelServer) -> TalkingHouse:
    """Return the house with three satellites, with Anna and Tom at home."""
    return await async_talking_house(hass, model_server)


async def test_where_it_is_heard(house: TalkingHouse) -> None:
    """Rooms, floors, devices and words for everybody, in the words of the family."""
    for person, rooms in {
        "kitchen": ["Kitchen"],
        "the kitchen": ["Kitchen"],
        "Küche": ["Kitchen"],
        "Ground floor": ["Kitchen", "Living Room"],
        "Kitchen, Bedroom": ["Kitchen", "Bedroom"],
        "Bedroom satellite": ["Bedroom"],
        **dict.fromkeys(("alle", "tout le monde", "toda la casa", "die ganze Familie"), ROOMS),
        **dict.fromkeys(("whole house", "iedereen"), ROOMS),
    }.items():
        await house.tell(person, DINNER)
        assert sorted(house.said) == sorted(rooms)
        for satellite in house.satellites.values():
            satellite.said.clear()
    assert house.pushed == {}


async def test_the_room_and_the_satellite_of_a_person(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A person hears it in the room that is called after the person, or on the person's own device."""
    house = await async_talking_house(hass, model_server, ("Kitchen", "Tom's Room", "Attic"))
    await house.tell("Tom", "Come down")
    assert house.said == {"Tom's Room": ["Come down"]}
    owner = {"device": house.satellites["Attic"].device, "person": "person.anna"}
    await house.agent.set_options(device_persons=[owner])
    await house.tell("Anna", "Come up")
    assert house.said["Attic"] == ["Come up"]
    assert "Kitchen" not in house.said


async def test_the_device_that_is_spoken_to_stays_silent(house: TalkingHouse) -> None:
    """An announcement would end the conversation that is going on there."""
    await house.tell("everybody", DINNER, where="Kitchen")
    assert sorted(house.said) == ["Bedroom", "Living Room"]
    told = await house.tell("kitchen", "The taxi is here", where="Kitchen")
    assert "say it in your answer" in told["error"]
    assert "Kitchen" not in house.said


async def test_speakers(house: TalkingHouse) -> None:
    """A room without a satellite has its speaker; where there is a satellite, that one speaks alone."""
    kitchen = add_speaker(house, "Kitchen", "kitchen_radio")
    office = add_speaker(house, "Office", "radio")
    await house.tell("everybody", DINNER)
    assert sorted(house.said) == ["Bedroom", "Kitchen", "Living Room"]
    (call,) = house.spoken
    assert dict(call.data) == {
        "entity_id": ["tts.voice"],
        "media_player_entity_id": [office],
        "message": DINNER,
    }
    house.hass.states.async_set(
        house.satellites["Kitchen"].entity_id, "unavailable", {"supported_features": 1}
    )
    await house.tell("kitchen", "The taxi is here")
    assert house.spoken[-1].data["media_player_entity_id"] == [kitchen]


async def test_speakers_that_are_not_exposed(house: TalkingHouse, hass: HomeAssistant) -> None:
    """What the household hides from the assistant does not speak; an option leaves out satellites."""
    office = add_speaker(house, "Office")
    async_expose_entity(hass, "conversation", office, False)
    told = await house.tell("office", "The taxi is here")
    assert "no device in Office" in told["error"]
    assert "Bedroom, Kitchen, Living Room" in told["error"]
    assert house.spoken == []
    await house.agent.set_options(announce_excluded=[house.satellites["Bedroom"].entity_id])
    await house.tell("everybody", DINNER)
    assert sorted(house.said) == ["Kitchen", "Living Room"]


async def test_failures_are_told(house: TalkingHouse) -> None:
    """Which room heard nothing, and why; the others did."""
    house.satellites["Kitchen"].broken = True
    house.set_state("Bedroom", "unavailable")
    told = await house.tell("everybody", DINNER)
    assert told["result"]["announced_in"] == ["Living Room"]
    assert "the satellite in Bedroom is offline" in told["error"]
    assert "the satellite in Kitchen: assist_satellite.announce failed: busy" in told["error"]
    told = await house.tell("bedroom", DINNER)
    assert told["success"] is False
    house.move("tom", "not_home")
    house.hass.services.async_remove("notify", "mobile_app_tom")
    told = await house.tell("Tom", "Bring milk")
    assert "Tom has no phone that is there now" in told["error"]
    told = await house.tell("the neighbour", "Hi")
    assert "Anna, Tom, Bedroom" in told["error"]


async def test_a_conversation_is_not_interrupted(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    """Where somebody speaks to a satellite, the announcement follows."""
    house.set_state("Kitchen", "listening")
    telling = house.hass.async_create_task(house.tell("everybody", DINNER))
    for room in ("Living Room", "Bedroom"):
        await house.satellites[room].spoke.wait()
    assert "Kitchen" not in house.said
    house.set_state("Kitchen", "idle")
    await telling
    assert house.said["Kitchen"] == [DINNER]


async def test_what_was_looked_up_is_not_said_aloud(house: TalkingHouse) -> None:
    """After a look at what is known of people, new words wait for a yes, in whatever language they are."""
    memory = {"content": "Tom is allergic to hazelnuts", "person": "person.anna"}
    await house.hass.services.async_call("home_agent", "add_memory", memory, blocking=True)
    look = ("recall_memory", {"query": "cake"})
    call = ("notify_person", {"person": "everybody", "message": "Tom verträgt keine Haselnüsse"})
    house.agent.server.script([tool_calls([look]), tool_calls([call])])
    asked = await house.agent.say("Tell everybody in German why there is no cake", context=house.anna)
    assert speech(asked).startswith("Should I announce this")
    assert house.said == {}


async def test_nor_by_an_automation(house: TalkingHouse) -> None:
    """Its messages are judged with whose words they are, as one that is said now."""
    await house.agent.set_options(allow_automations=True)
    anna = await house.hass.auth.async_get_user(house.anna.user_id or "")
    assert anna is not None
    anna.is_owner = True
    memory = {"content": "Tom is allergic to hazelnuts", "person": "person.anna"}
    await house.hass.services.async_call("home_agent", "add_memory", memory, blocking=True)
    tell = {"action": "notify_person", "area": "Kitchen", "message": "Tom verträgt keine Haselnüsse"}
    daily = {"action": "create", "triggers": [{"trigger": "time", "at": "7:00"}], "actions": [tell]}
    await house.agent.act(
        ("recall_memory", {"query": "cake"}),
        ("automation", daily),
        sentence="Say each morning in the kitchen in German why there is no cake",
        context=house.anna,
    )
    assert "needs a person's confirmation each time" in str(house.agent.results)


REMEMBERED = """
    Anna has lupus and goes to the clinic on Mondays; Tom is allergic to hazelnuts; Anna likes green tea
    Tom goes swimming on Tuesdays; Tom has piano lessons on Thursday at five; Anna is pregnant
    Tom is looking for a new job; Tom is afraid of spiders; Anna's favourite dish is lasagne
    Tom takes Ritalin in the morning; Anna's birthday is on the third of May; Anna gets up at six on weekdays
    Anna is seeing a lawyer about the divorce; Tom plays football on Saturdays; Tom failed his maths exam
    Anna drinks her coffee without milk; Tom earns 4200 euros a month
"""
PRIVATE = """
    Anna has lupus; Anna is at the clinic; Tom is allergic; No hazelnuts please; We are pregnant
    The Ritalin is on the table; A lawyer calls; the divorce; 4200 a month
    No exam today
"""
ORDINARY = """
    dinner is ready; the taxi is here at eight; four people come tonight; breakfast is ready, come down
    we leave in five minutes; good night everybody; homework first; somebody is at the door
    the dog needs a walk; brush your teeth; the film starts now; it is going to rain, close the windows
    grandma is on the phone; happy birthday; the plumber comes at six; the baby is asleep, be quiet; I am home
"""


def listed(table: str) -> list[str]:
    """Return the sentences of a table."""
    return [sentence.strip() for sentence in table.strip().replace("\n", ";").split(";")]


async def test_one_word_of_a_memory_may_be_the_secret(house: TalkingHouse) -> None:
    """It waits for a yes; what is called through any house does not, though nobody has said its words."""
    for content in listed(REMEMBERED):
        memory = {"content": content, "person": "person.tom"}
        await house.hass.services.async_call("home_agent", "add_memory", memory, blocking=True)
    heard = house.satellites["Kitchen"].said
    for sentence in listed(PRIVATE):
        house.agent.server.clear()
        await house.tell("everybody", sentence, sentence="Tell everybody what you know")
        await house.agent.entry.runtime_data.confirmations.async_stop()
    assert heard == []
    for sentence in listed(ORDINARY):
        house.agent.server.clear()
        await house.tell("everybody", sentence, sentence="Tell everybody what you know")
    await house.hass.async_block_till_done()
    assert heard == listed(ORDINARY)


async def test_offered_where_something_can_speak(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A satellite is enough; a home without anything is not offered the tool."""
    house = await async_talking_house(hass, model_server, (), notify_targets=[])
    await house.agent.say("Hello")
    assert "notify_person" not in str(house.agent.server.chats[-1].json["tools"])
    satellite = await async_add_satellite(hass, "Hall", area_of(hass, "Hall"))
    for state in ("idle", "unavailable"):
        hass.states.async_set(satellite.entity_id, state, {"supported_features": 1})
        await house.agent.say("Hello")
        assert "notify_person" in str(house.agent.server.chats[-1].json["tools"])
    er.async_get(hass).async_remove(satellite.entity_id)


async def test_a_user_without_the_right_to_a_speaker(house: TalkingHouse, hass: HomeAssistant) -> None:
    """Who may not control a device does not speak through it."""
    radio = add_speaker(house, "Office")
    user = await hass.auth.async_get_user(house.anna.user_id or "")
    assert isinstance(user, MockUser)
    user.mock_policy({"entities": {"entity_ids": {"tts.voice": True, radio: {"read": True}}}})
    told = await house.tell("office", DINNER)
    assert "may not control" in told["error"]
    assert house.spoken == []


async def test_what_an_unknown_voice_learns(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Neither who lives here nor who is at home: only that a message was passed on. A member learns how."""
    house = await async_talking_house(hass, model_server)
    heard: dict[str, list[Any]] = {}
    for where in ("home", "not_home"):
        house.move("tom", where)
        told = await house.tell("Tom", DINNER, where="Kitchen")
        assert told["result"] == {"told": ["Tom"], "message": DINNER}
        unclear = await house.tell("Grandma", DINNER, where="Kitchen")
        assert "Anna" not in unclear["error"]
        assert "Tom" not in unclear["error"]
        heard[where] = [told, unclear]
    assert heard["home"] == heard["not_home"]
    assert house.pushed == {"tom": [DINNER]}
    everybody = await house.tell("everybody", DINNER, where="Kitchen")
    assert everybody["result"] == {"announced_in": ["Living Room", "Bedroom"], "message": DINNER}
    known = await house.tell("Tom", DINNER)
    assert known["result"]["sent_to"] == ["Tom"]
    assert "Anna, Tom" in (await house.tell("Grandma", DINNER))["error"]


async def test_an_agent_with_a_list_learns_no_names(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A guest may use it; a person on its list is no secret."""
    house = await async_talking_house(hass, model_server)
    await house.agent.set_options(visible_entities={"areas": [area_of(hass, "Kitchen")]})
    told = await house.tell("Tom", DINNER)
    assert told["result"] == {"told": ["Tom"], "message": DINNER}
    assert "Anna" not in (await house.tell("Grandma", DINNER))["error"]


async def test_the_language_of_a_voice(house: TalkingHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A voice that knows the language of the listener is told it."""
    add_speaker(house, "Bathroom")
    engine = SimpleNamespace(supported_languages=["en", "de"])
    voices = SimpleNamespace(get_entity=lambda _entity_id: engine)
    monkeypatch.setitem(house.hass.data, DATA_COMPONENT, voices)
    house.hass.config.components.add("tts")
    house.agent.server.script(
        [
            tool_calls([("notify_person", {"person": "Bathroom", "message": "Das Taxi ist da."})]),
            text("Okay."),
        ]
    )
    await house.agent.say("Sag im Bad, dass das Taxi da ist", context=house.anna, language="de")
    assert [call.data["language"] for call in house.spoken] == ["de"]


async def ask(house: TalkingHouse, tool: str, sentence: str, **args: Any) -> dict[str, Any]:
    """Let Anna make one call in writing and return what the model was told."""
    return await house.agent.call(tool, sentence, context=house.anna, **args)


def kept(house: TalkingHouse) -> Scheduler:
    """Return what is planned."""
    return planned(house.agent)


async def test_every_evening(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    """It is told again on the next day, until it is cancelled."""
    at = f"{dt_util.as_local(dt_util.utcnow()) + timedelta(hours=1):%H:%M}"
    sentence = f"Announce in the kitchen every day at {at} that it is bedtime"
    told = await house.tell("kitchen", "Bedtime", sentence=sentence, when=at, repeat="daily")
    assert f"daily at {at}" in told["result"]["planned"]
    for _ in range(2):
        await async_pass(house.hass, freezer, 3601)
        await async_pass(house.hass, freezer, 23 * 3600)
    assert house.said == {"Kitchen": ["Bedtime", "Bedtime"]}
    await house.agent.say("Hello", context=house.anna)  # days later the prompt is read again first
    await house.hass.async_block_till_done(wait_background_tasks=True)
    listed = await ask(house, "timer", "What is planned?", action="list")
    (row,) = listed["result"]["commands"]
    assert row["planned"] == f"tell kitchen daily at {at}: Bedtime"
    gone = await ask(house, "timer", "Cancel the bedtime announcement", action="cancel", name="bedtime")
    assert gone["result"]["cancelled_commands"] == [row]
    assert kept(house).commands() == []


async def test_at_night_it_is_asked_before(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    """The yes of the day holds in the night; a person with a phone gets it there without one."""
    house.agent.server.script(
        [tool_calls([("notify_person", {"person": "kitchen", "message": "Up!", "when": "14 hours"})])]
    )
    asked = await house.agent.say("In 14 hours say up in the kitchen", context=house.anna)
    due = dt_util.as_local(dt_util.utcnow() + timedelta(hours=14))
    assert speech(asked) == f"Should I announce “Up!” (Kitchen) tomorrow at {due:%H:%M}?"
    assert kept(house).commands() == []
    done = await house.agent.say("Yes", context=house.anna, conversation_id=asked.conversation_id)
    assert "I'll do that" in speech(done)
    told = await house.tell("Tom", "Sleep well", sentence="Tell Tom in 14 hours to sleep", when="14 hours")
    assert told["error"] is None
    await async_pass(house.hass, freezer, 14 * 3600 + 1)
    assert house.said == {"Kitchen": ["Up!"]}
    assert house.pushed["tom"] == ["Sleep well"]


async def test_quiet_hours_that_came_later(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """What is not allowed any more is not said, and the person is told the reason."""
    house = await async_talking_house(hass, model_server)
    await house.tell("kitchen", DINNER, sentence=LATER, when="10 minutes")
    options = {"proactive_quiet_start": "00:00:00", "proactive_quiet_end": "23:59:59"}
    entry = house.agent.entry
    hass.config_entries.async_update_entry(entry, options={**entry.options, **options})
    assert await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    await async_pass(hass, freezer, 601)
    assert house.said == {}
    (sent,) = house.pushed["anna"]
    assert sent.endswith("is not allowed any more: kitchen. It would need a confirmation now.")


async def test_a_message_to_oneself_is_a_reminder(house: TalkingHouse) -> None:
    """It is told where it was set; one for the phone stays a message."""
    sentence = "Tell me in ten minutes to check the oven"
    await house.tell("me", "Check the oven", sentence=sentence, when="10 minutes")
    (timer,) = house.agent.entry.runtime_data.planned.timers()
    assert timer.told == "Check the oven"
    assert kept(house).commands() == []
    await house.tell("me", "Buy milk", sentence=sentence, when="10 minutes", to_phone=True)
    (command,) = kept(house).commands()
    assert command.message is not None
    assert command.message.text == "Buy milk"


async def test_what_is_remembered_waits_for_a_yes(
    house: TalkingHouse, freezer: FrozenDateTimeFactory
) -> None:
    """Private words are asked about for a room. A person with a phone gets them there, wherever they are."""
    memory = {"content": "Tom is allergic to hazelnuts", "person": "person.tom"}
    await house.hass.services.async_call("home_agent", "add_memory", memory, blocking=True)
    message = "Careful, allergic to hazelnuts"
    house.agent.server.script(
        [tool_calls([("notify_person", {"person": "kitchen", "message": message, "when": "10 minutes"})])]
    )
    asked = await house.agent.say("In ten minutes warn in the kitchen", context=house.anna)
    assert message in speech(asked)
    await house.agent.say("No", context=house.anna, conversation_id=asked.conversation_id)
    assert kept(house).commands() == []
    told = await house.tell("Tom", message, sentence="Warn Tom in ten minutes", when="10 minutes")
    assert told["error"] is None
    await async_pass(house.hass, freezer, 601)
    assert house.said == {}
    assert house.pushed["tom"] == [message]


async def test_a_guest_does_not_read_it(house: TalkingHouse) -> None:
    """An unknown voice at the device where it was planned hears of it, but not its words."""
    await house.tell(
        "Tom", "The present is in the cellar", sentence="Tell Tom in ten minutes", when="10 minutes"
    )
    (command,) = kept(house).commands()
    kitchen = house.satellites["Kitchen"].device
    house.agent.server.script([tool_calls([("timer", {"action": "list"})]), text("Okay.")])
    await house.agent.say("What is planned?", device_id=kitchen)
    assert "present" not in str(house.agent.server.chats[-1].json["messages"][-1])
    assert command.owner.user_id is not None
