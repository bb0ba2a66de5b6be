"""Messages for later: who hears them when they are due, what is asked before, and how they end."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.planned.scheduler import Scheduler
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.agent import speech
from tests.helpers.announcing import DAY, NIGHT, TalkingHouse, async_talking_house
from tests.helpers.everyday_house import async_pass
from tests.helpers.planned import planned
from tests.helpers.turns import tool_results
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


def heard(message: str) -> dict[str, list[str]]:
    """Return what is said where every room hears a message."""
    return {room: [message] for room in ROOMS}


def kept(house: TalkingHouse) -> Scheduler:
    """Return what is planned."""
    return planned(house.agent)


async def call(house: TalkingHouse, tool: str, sentence: str, **args: Any) -> dict[str, Any]:
    """Let Anna make one call in writing and return what the model was told."""
    house.agent.server.clear()
    house.agent.server.script([tool_calls([(tool, args)]), text("Okay.")])
    await house.agent.say(sentence, context=house.anna)
    return tool_results(house.agent.server.chats[-1])[-1]


async def test_people_get_it_where_they_are_then(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    """Nothing is said at once. A person who has left in the meantime gets it on the phone."""
    told = await house.tell("everybody", DINNER, sentence=LATER, when="10 minutes")
    assert told["result"]["planned"].startswith("tell everybody at ")
    assert (house.said, house.pushed) == ({}, {})
    house.move("tom", "not_home")
    await async_pass(house.hass, freezer, 601)
    assert house.said == heard(DINNER)
    assert house.pushed == {"tom": [DINNER]}
    assert kept(house).commands() == []


@pytest.mark.parametrize(("where", "rooms", "pushed"), [("home", 2, {}), ("not_home", 0, {"tom": ["Bins"]})])
async def test_one_person(
    house: TalkingHouse, freezer: FrozenDateTimeFactory, where: str, rooms: int, pushed: dict[str, list[str]]
) -> None:
    await house.tell("Tom", "Bins", sentence="Remind Tom in an hour to take the bins out", when="1 hour")
    house.move("tom", where)
    await async_pass(house.hass, freezer, 3601)
    assert len(house.said) == rooms
    assert house.pushed == pushed


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
    listed = await call(house, "timer", "What is planned?", action="list")
    (row,) = listed["result"]["commands"]
    assert row["planned"] == f"tell kitchen daily at {at}: Bedtime"
    gone = await call(house, "timer", "Cancel the bedtime announcement", action="cancel", name="bedtime")
    assert gone["result"]["cancelled_commands"] == [row]
    assert kept(house).commands() == []


async def test_undo_takes_the_plan_back(house: TalkingHouse) -> None:
    await house.tell("everybody", DINNER, sentence=LATER, when="10 minutes")
    gone = await call(house, "activity", "Undo that", action="undo")
    assert DINNER in gone["result"]["cancelled"][0]["planned"]
    assert kept(house).commands() == []


async def test_the_last_thing_is_cancelled(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    """ "Cancel that" after a message means the message, although there is an older timer."""
    await call(house, "timer", "Set a timer for an hour", action="set", when="1 hour")
    freezer.tick(10)
    await house.tell("everybody", DINNER, sentence=LATER, when="10 minutes")
    gone = await call(house, "timer", "Cancel that", action="cancel")
    assert DINNER in gone["result"]["cancelled_commands"][0]["planned"]
    assert len(house.agent.entry.runtime_data.planned.timers()) == 1


async def test_another_time_for_the_same_person(house: TalkingHouse) -> None:
    """The result names the earlier message, so that the model can cancel it."""
    conversation = None
    for when in ("30 minutes", "1 hour"):
        made = ("notify_person", {"person": "Tom", "message": "Buy bread", "when": when})
        house.agent.server.script([tool_calls([made]), text("Okay.")])
        said = await house.agent.say(
            f"Tell Tom in {when} to buy bread", context=house.anna, conversation_id=conversation
        )
        conversation = said.conversation_id
    told = tool_results(house.agent.server.chats[-1])[-1]
    assert "cancel it if this one replaces it" in told["result"]["notes"][0]


async def test_the_same_twice_is_one(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    for _ in range(2):
        await house.tell("kitchen", DINNER, sentence=LATER, when="10 minutes")
    assert len(kept(house).commands()) == 1


async def test_a_restart(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    await house.tell("everybody", DINNER, sentence=LATER, when="10 minutes")
    entry = house.agent.entry
    assert await house.hass.config_entries.async_reload(entry.entry_id)
    await house.hass.async_block_till_done()
    await async_pass(house.hass, freezer, 601)
    assert house.said == heard(DINNER)


async def test_at_night_it_is_asked_before(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    """The yes of the day holds in the night; a person with a phone gets it there without one."""
    house.agent.server.script(
        [tool_calls([("notify_person", {"person": "kitchen", "message": "Up!", "when": "14 hours"})])]
    )
    asked = await house.agent.say("In 14 hours say up in the kitchen", context=house.anna)
    due = dt_util.as_local(dt_util.utcnow() + timedelta(hours=14))
    assert speech(asked) == f"Should I announce “Up!” (Kitchen) at {due:%Y-%m-%d %H:%M}?"
    assert kept(house).commands() == []
    done = await house.agent.say("Yes", context=house.anna, conversation_id=asked.conversation_id)
    assert "planned for" in speech(done)
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


async def test_rights_of_the_time(house: TalkingHouse, freezer: FrozenDateTimeFactory) -> None:
    """A user who was switched off meanwhile says nothing any more."""
    await house.tell("kitchen", DINNER, sentence=LATER, when="10 minutes")
    assert house.anna.user_id is not None
    user = await house.hass.auth.async_get_user(house.anna.user_id)
    assert user is not None
    user.is_active = False
    await async_pass(house.hass, freezer, 601)
    assert house.said == {}
    assert "no longer" not in str(house.said)
    (sent,) = house.pushed["anna"]
    assert "not allowed to do that any more" in sent


@pytest.mark.parametrize(
    ("language", "sentence", "message"),
    [
        ("en", LATER, DINNER),
        ("en", "tell Anna at six to call grandma", "Call grandma"),
        ("de", "Sag in zehn Minuten allen, dass das Essen fertig ist", "Das Essen ist fertig"),
        ("fr", "Dans dix minutes, dis à tout le monde que le repas est prêt", "Le repas est prêt"),
        ("es", "Dentro de diez minutos di a todos que la cena está lista", "La cena está lista"),
        ("it", "Tra dieci minuti di' a tutti che la cena è pronta", "La cena è pronta"),
        ("nl", "Zeg over tien minuten tegen iedereen dat het eten klaar is", "Het eten is klaar"),
        ("pl", "Za dziesięć minut powiedz wszystkim, że obiad gotowy", "Obiad gotowy"),
        ("sv", "Säg till alla om tio minuter att maten är klar", "Maten är klar"),
        ("ru", "Через десять минут скажи всем, что ужин готов", "Ужин готов"),
    ],
)
async def test_not_at_once(house: TalkingHouse, language: str, sentence: str, message: str) -> None:
    """A model that forgets the time is told so, and nothing is said."""
    args = {"person": "everybody", "message": message}
    house.agent.server.script([tool_calls([("notify_person", args)]), text("Okay.")])
    await house.agent.say(sentence, context=house.anna, language=language)
    told = tool_results(house.agent.server.chats[1])[-1]
    assert "The sentence says a time, and nothing was sent" in told["error"]
    assert house.said == {}


@pytest.mark.parametrize(
    ("language", "sentence", "message"),
    [
        ("en", "Tell everybody that dinner is in ten minutes", "Dinner in 10 minutes"),
        ("en", "Tell Tom that I come home at six", "Anna comes home at 6."),
        ("de", "Sag den Kindern, der Bus fährt in fünf Minuten", "Der Bus fährt in 5 Minuten!"),
        ("fr", "Dis à tout le monde qu'on mange dans dix minutes", "On mange dans dix minutes."),
        ("nl", "Zeg tegen iedereen dat we over tien minuten eten", "We eten over tien minuten."),
    ],
)
async def test_times_that_are_told(house: TalkingHouse, language: str, sentence: str, message: str) -> None:
    """A time that the message says, or that is of another command, does not delay it."""
    args = {"person": "Tom", "message": message, "to_phone": True}
    house.agent.server.script([tool_calls([("notify_person", args)]), text("Okay.")])
    await house.agent.say(sentence, context=house.anna, language=language)
    assert house.pushed == {"tom": [message]}


@pytest.mark.parametrize(
    ("language", "sentence", "name"),
    [
        ("en", "Remind me at seven to call Tom", "call Tom"),
        ("de", "Erinnere mich jeden Tag um sieben an die Tabletten", "Tabletten"),
        ("fr", "Rappelle-moi tous les jours à sept heures de boire", "boire"),
        ("de", "Stell jeden Tag um sieben einen Wecker", "Wecker"),
        ("en", "Remind me at six that Tom comes", "Tom comes"),
    ],
)
async def test_own_reminders(house: TalkingHouse, language: str, sentence: str, name: str) -> None:
    args = {"action": "set", "when": "tomorrow 7:00", "name": name}
    house.agent.server.script([tool_calls([("timer", args)]), text("Okay.")])
    await house.agent.say(sentence, context=house.anna, language=language)
    (timer,) = house.agent.entry.runtime_data.planned.timers()
    assert timer.told == name


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


async def test_no_codes_are_stored(house: TalkingHouse) -> None:
    told = await house.tell(
        "Tom", "The alarm code is 4711", sentence="In ten minutes send Tom the alarm code", when="10 minutes"
    )
    assert "code" in told["error"]
    assert "4711" not in str(kept(house).stored())


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


async def test_no_time_in_the_night_of_the_present(
    house: TalkingHouse, freezer: FrozenDateTimeFactory
) -> None:
    """What is planned by night for the day needs no yes."""
    freezer.move_to(NIGHT)
    told = await house.tell("kitchen", DINNER, sentence="Say it in 10 hours in the kitchen", when="10 hours")
    assert told["error"] is None
    assert len(kept(house).commands()) == 1
