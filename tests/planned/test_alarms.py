"""Alarms: they ring until somebody stops them, in the room, on phones and in chats, over a restart."""

import asyncio
from typing import Any, override

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
    async_fire_time_changed,
)

from custom_components.home_agent.channels.phones import CLEAR, EVENT_PHONE
from custom_components.home_agent.const import EVENT_TIMER_FINISHED
from custom_components.home_agent.languages import languages, words
from custom_components.home_agent.planned.records import PlannedItem
from custom_components.home_agent.safety.answers import says_no
from homeassistant.core import Context, EventOrigin, HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.announcing import add_speaker, area_of, async_talking_house
from tests.helpers.checks import for_each
from tests.helpers.everyday_house import NOW, Satellite, async_add_satellite, async_pass, shown
from tests.helpers.further import async_add_further
from tests.helpers.planned import Wait, planned
from tests.helpers.telegram_chats import ANNA, OPTIONS, telegram_bot
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls
from tests.servers.telegram_server import TelegramServer

pytestmark = pytest.mark.freeze_time(NOW)

SEVEN = 21 * 3600
"""Seconds until seven in the morning."""
SET = {"action": "wake", "when": "7:00"}
RINGS = "Your alarm clock: it is {}."
OFF = "The alarm clock is off."
UNLOCK = tool_calls([("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})])


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent of a house whose clocks show UTC."""
    await hass.config.async_set_time_zone("UTC")
    return await async_agent(hass, model_server, {"memory_enabled": False, "quick_confirmations": False})


@pytest.fixture
async def satellite(hass: HomeAssistant, agent: Agent) -> Satellite:
    return await async_add_satellite(hass, area_id=area_of(hass, "Bedroom"))


async def _async_clear(agent: Agent) -> None:
    # After a while the prompt is read ahead once more, which would take the first reply.
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    agent.server.clear()


async def _async_call(agent: Agent, satellite: Satellite, sentence: str = "Do it", **args: Any) -> Any:
    await _async_clear(agent)
    told = await agent.call("timer", sentence, **args, device_id=satellite.device)
    return told["result"] or told["error"]


def _alarms(agent: Agent) -> list[PlannedItem]:
    return [item for item in planned(agent).timers() if item.is_alarm]


async def test_rings_until_stopped(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """It is announced each minute until somebody in the room says stop, which no model has to hear."""
    told = async_capture_events(agent.hass, EVENT_TIMER_FINISHED)
    result = await _async_call(agent, satellite, **SET, name="gym")
    assert result["set"]["rings"] == "until stopped"
    await wait(SEVEN + 1)
    await wait(60)
    first, second = satellite.said
    assert first == "Your alarm clock: it is 07:00. It is time: gym."
    assert second.startswith(RINGS.format("07:01"))
    assert [event.data["told_by"] for event in told] == ["satellite"]
    agent.server.clear()
    assert speech(await agent.say("Stop!", device_id=satellite.device)) == "The alarm clock is off."
    assert not any("Stop!" in str(chat.json) for chat in agent.server.chats)
    await wait(600)
    assert len(satellite.said) == 2
    assert _alarms(agent) == []
    assert shown(agent.hass) == []


async def test_words_are_only_a_stop_while_it_rings(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """Before it rings the model hears the same words, and while it rings all sentences that say more."""
    await _async_call(agent, satellite, **SET)
    agent.server.script([text("What?")])
    assert speech(await agent.say("Stop", device_id=satellite.device)) == "What?"
    await wait(SEVEN + 1)
    await _async_clear(agent)
    await agent.say("Is it seven already?", device_id=satellite.device)
    body = str(agent.server.chats[-1].json["messages"])
    assert "Alarms ringing now" in body
    assert len(_alarms(agent)) == 1


@pytest.mark.parametrize("is_late", [False, True])
async def test_an_answer_to_a_question_of_ours(
    satellite: Satellite, agent: Agent, wait: Wait, is_late: bool
) -> None:
    """A no answers what was asked, in time or not, and nothing else; a stop silences the room beside that."""
    told = "That took too long, so I dropped it. Please ask again." if is_late else "Okay, I won't."
    for sentence, stops in (("No", False), ("Stop", True)):
        await _async_call(agent, satellite, action="wake", when="1 minute")
        await wait(61)
        await _async_clear(agent)
        agent.server.script([UNLOCK])
        asked = await agent.say("Unlock the front door", device_id=satellite.device)
        assert asked.continue_conversation
        await wait(70 * is_late)
        said = await agent.say(sentence, device_id=satellite.device, conversation_id=asked.conversation_id)
        assert speech(said) == (f"{told} {OFF}" if stops else told)
        assert (_alarms(agent) == []) == stops
        await planned(agent).async_cancel([item.id for item in _alarms(agent)])


async def test_an_answer_to_a_question_is_no_stop_elsewhere(
    hass: HomeAssistant, model_server: ModelServer, wait: Wait
) -> None:
    """In another room even its owner's answer to a question of ours only answers that."""
    await hass.config.async_set_time_zone("UTC")
    house = await async_talking_house(hass, model_server, quick_confirmations=False)
    agent, (bedroom, kitchen) = (
        house.agent,
        (house.satellites[room].device for room in ("Bedroom", "Kitchen")),
    )
    await agent.call("timer", action="wake", when="1 minute", context=house.anna, device_id=bedroom)
    await wait(61)
    model_server.clear()  # the buttons on the phone go on in the background
    model_server.script([UNLOCK])
    asked = await agent.say("Unlock the front door", context=house.anna, device_id=kitchen)
    ids = {"conversation_id": asked.conversation_id, "device_id": kitchen, "context": house.anna}
    assert speech(await agent.say("Stop", **ids)) == "Okay, I won't."
    assert len(_alarms(agent)) == 1
    assert speech(await agent.say("Stop", **ids)) == OFF


@pytest.mark.parametrize(
    ("language", "no", "stop", "off"),
    [
        ("en", "No", "Stop", OFF),
        ("de", "Nein danke", "Halt!", "Der Wecker ist aus."),
        ("fr", "Non", "Arrête", "Le réveil est arrêté."),
        ("ru", "Нет", "Стоп", "Будильник выключен."),
    ],
)
async def test_an_answer_to_a_question_of_the_model(
    satellite: Satellite, agent: Agent, wait: Wait, language: str, no: str, stop: str, off: str
) -> None:
    """Only a stop is more than the answer, which the model hears."""
    await _async_call(agent, satellite, **SET)
    await wait(SEVEN + 1)
    turn: dict[str, Any] = {"device_id": satellite.device, "language": language}
    for reply in ("Anything else?", "Fine.", "Anything else?"):
        await _async_clear(agent)
        agent.server.script([text(reply)])
        said = await agent.say(no if reply == "Fine." else "Hello", **turn)
        turn["conversation_id"] = said.conversation_id
        assert speech(said) == reply
        assert len(_alarms(agent)) == 1
    assert speech(await agent.say(stop, **turn)) == off
    assert _alarms(agent) == []


async def test_without_a_wake_word(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """A no that may be said to somebody else stops nothing, a stop does."""
    await agent.set_options(keep_listening=True)
    agent.hass.states.async_set("assist_satellite.hall", "idle", {"supported_features": 3})
    await _async_call(agent, satellite, **SET)
    await wait(SEVEN + 1)
    turn = {"device_id": satellite.device, "satellite_id": "assist_satellite.hall"}
    for sentence in ("Hello", "No"):
        await _async_clear(agent)
        agent.server.script([text("Good morning.")])
        said = await agent.say(sentence, **turn)
        turn["conversation_id"] = said.conversation_id
        assert speech(said) == "Good morning."
    assert speech(await agent.say("Stop", **turn)) == OFF


def test_words_to_stop() -> None:
    """Each of them is a no, in each language that has any."""
    for language in languages():
        stops = words(language, "answers.stop")
        assert stops
        assert all(says_no(word, language, stops=True) for word in stops), language


async def test_weekdays(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """What is repeated rings again the next day after it was stopped; on a Saturday it does not."""
    await _async_call(agent, satellite, **SET, repeat="weekdays")
    for _day in range(2):  # Thursday and Friday
        await wait(SEVEN + 1 if not satellite.said else 24 * 3600)
        result = await _async_call(agent, satellite, "I'm awake", action="cancel")
        assert "since 07:00" in str(result["cancelled"])
        assert "on weekdays at 07:00 stays set" in result["note"]
    assert len(satellite.said) == 2
    for _day in range(2):
        await wait(24 * 3600)
    assert len(satellite.said) == 2
    await wait(24 * 3600)
    assert len(satellite.said) == 3


async def test_snooze(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """Five more minutes are silent, then it rings again; without a number it is nine."""
    await _async_call(agent, satellite, **SET)
    await wait(SEVEN + 1)
    result = await _async_call(agent, satellite, "Five more minutes", action="extend", when="5 minutes")
    assert result["now"]["due"] == "Thu 2026-06-04 07:05"
    await wait(280)
    assert len(satellite.said) == 1
    await wait(21)
    assert len(satellite.said) == 2
    await _async_call(agent, satellite, "Snooze", action="snooze")
    await wait(530)
    assert len(satellite.said) == 2
    await wait(20)
    assert len(satellite.said) == 3


async def test_gives_up(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """After a quarter of an hour it is silent, and that is told once."""
    await _async_call(agent, satellite, **SET)
    await wait(SEVEN + 1)
    for _minute in range(20):
        await wait(60)
    *rung, last = satellite.said
    assert [said for said in rung if not said.startswith("Your alarm clock")] == []
    assert len(rung) == 15
    assert last == "Alarm clock: it rang at 07:00, and nobody stopped it."
    assert _alarms(agent) == []


async def test_restart_while_it_rings(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """It goes on to ring after a restart."""
    await _async_call(agent, satellite, **SET)
    await wait(SEVEN + 1)
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    await wait(180)
    assert len(satellite.said) == 1
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await wait(1)
    assert len(satellite.said) == 2
    agent.server.clear()
    assert speech(await agent.say("Stop", device_id=satellite.device)) == "The alarm clock is off."


class _Slow(Satellite):
    """Takes its time to announce something."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.called, self.may_speak = asyncio.Event(), asyncio.Event()

    @override
    async def async_internal_announce(self, message: str | None = None, **options: Any) -> None:
        self.called.set()
        await self.may_speak.wait()
        await super().async_internal_announce(message, **options)


async def test_unloaded_while_it_is_announced(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """What was unloaded meanwhile shows no buttons any more, and takes none away that are shown by then."""
    await hass.config.async_set_time_zone("UTC")
    house = await async_talking_house(hass, model_server, rooms=(), quick_confirmations=False)
    satellite, agent = await async_add_satellite(hass, kind=_Slow), house.agent
    await agent.call("timer", **SET, context=house.anna, device_id=satellite.device)
    freezer.tick(SEVEN + 1)
    async_fire_time_changed(hass)
    await satellite.called.wait()
    assert await hass.config_entries.async_unload(agent.entry.entry_id)
    satellite.may_speak.set()
    await hass.async_block_till_done()
    assert len(satellite.said) == 1
    assert house.sent["anna"] == []
    assert await hass.config_entries.async_setup(agent.entry.entry_id)
    await async_pass(hass, freezer, 60)
    assert [call.data["message"] for call in house.sent["anna"]] == [RINGS.format("07:01")]


@pytest.mark.parametrize(
    ("late", "said"),
    [
        (1800, "Your alarm clock: it is 07:30. It was due at 07:00"),
        (7200, "What was planned for 07:00 was not done, because Home Assistant was not running then: Alarm"),
    ],
)
async def test_home_assistant_was_off(
    satellite: Satellite, agent: Agent, wait: Wait, late: int, said: str
) -> None:
    """It still rings within an hour; after that it is only told."""
    await _async_call(agent, satellite, **SET)
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    await wait(SEVEN + late)
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await wait(1)
    assert satellite.said[-1].startswith(said)
    assert bool(_alarms(agent)) == (late < 3600)


async def test_nothing_answers(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """Without a satellite, a speaker and a phone Home Assistant shows it; the satellite is tried again."""
    await _async_call(agent, satellite, **SET)
    satellite.broken = True
    await wait(SEVEN + 1)
    assert shown(agent.hass) == [RINGS.format("07:00")]
    satellite.broken = False
    await wait(60)
    assert satellite.said == [RINGS.format("07:01")]


async def test_nobody_is_known(agent: Agent, wait: Wait) -> None:
    """What an automation has set belongs to nobody and no room: Home Assistant shows it while it rings."""
    await agent.call("timer", **SET)
    await wait(SEVEN + 1)
    assert shown(agent.hass) == [RINGS.format("07:00")]
    await wait(60)
    assert shown(agent.hass) == [RINGS.format("07:01")]


async def test_set_by_another_agent(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """Any agent that hears the stop ends it: nobody thinks of which one has set it."""
    other = await async_add_further(agent.hass, agent)
    await _async_call(agent, satellite, **SET)
    await wait(SEVEN + 1)
    await _async_clear(agent)
    assert speech(await other.say("Stop", device_id=satellite.device)) == OFF
    await wait(60)
    assert len(satellite.said) == 1
    assert _alarms(agent) == []


@pytest.mark.parametrize("silenced", ["", "rule", "right"])
async def test_speaker_in_the_room_at_night(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, silenced: str
) -> None:
    """A speaker rings for a silent satellite, in quiet hours too, unless a rule or a right forbids it."""
    await hass.config.async_set_time_zone("UTC")
    options = {"policy_blocked": ["media_player.*"]} if silenced == "rule" else {}
    house = await async_talking_house(hass, model_server, quick_confirmations=False, **options)
    radio, satellite = add_speaker(house, "Bedroom"), house.satellites["Bedroom"]
    satellite.broken = True
    await house.agent.call("timer", **{**SET, "when": "5:00"}, context=house.anna, device_id=satellite.device)
    if silenced == "right":
        anna = await hass.auth.async_get_user(house.anna.user_id or "")
        assert isinstance(anna, MockUser)
        anna.mock_policy({"entities": {"domains": {"light": True}}})
    await async_pass(hass, freezer, 19 * 3600 + 1)
    assert house.said == {}
    assert house.sent["tom"] == []
    (message,) = house.sent["anna"]
    if silenced:
        assert house.spoken == []
        assert message.data["data"]["channel"] == "alarm_stream"
        return
    assert [call.data["media_player_entity_id"] for call in house.spoken] == [[radio]]
    assert "05:00" in house.spoken[0].data["message"]
    assert house.spoken[0].context.user_id == house.anna.user_id
    assert "ttl" not in message.data["data"]


async def test_who_may_stop_it(hass: HomeAssistant, model_server: ModelServer, wait: Wait) -> None:
    """Whoever is in the room may, and its owner anywhere; somebody in another room may not."""
    await hass.config.async_set_time_zone("UTC")
    house = await async_talking_house(hass, model_server, quick_confirmations=False)
    bedroom, kitchen = (house.satellites[room].device for room in ("Bedroom", "Kitchen"))
    ben = Context(user_id=hass.states.get("person.tom").attributes["user_id"])  # type: ignore[union-attr]
    for context, where, stops in (
        (ben, kitchen, False),
        (Context(), kitchen, False),
        (Context(), bedroom, True),
        (ben, bedroom, True),
        (house.anna, kitchen, True),
    ):
        model_server.clear()
        await house.agent.call(
            "timer", **{**SET, "when": "10 minutes"}, context=house.anna, device_id=bedroom
        )
        await wait(601)
        model_server.clear()
        model_server.script([tool_calls([("timer", {"action": "cancel"})]), text("No.")])
        said = speech(await house.agent.say("Stop", context=context, device_id=where))
        assert (said == "The alarm clock is off.") == stops, (context, where)
        assert (_alarms(house.agent) == []) == stops
        await planned(house.agent).async_cancel([item.id for item in _alarms(house.agent)])


async def test_buttons_on_a_phone(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """What was set in writing rings on the phone, which takes snooze and stop; only of whose it is."""
    await hass.config.async_set_time_zone("UTC")
    house = await async_talking_house(hass, model_server, rooms=(), quick_confirmations=False)
    pushed = house.sent["anna"]

    async def press(title: str, context: Context) -> None:
        (button,) = (one for one in pushed[-1].data["data"]["actions"] if one["title"] == title)
        hass.bus.async_fire(EVENT_PHONE, {"action": button["action"]}, EventOrigin.remote, context)
        await hass.async_block_till_done(wait_background_tasks=True)

    await house.agent.call("timer", **SET, name="gym", context=house.anna)
    await async_pass(hass, freezer, SEVEN + 1)
    await async_pass(hass, freezer, 60)
    messages = [call.data["message"] for call in pushed]
    assert [message[-16:] for message in messages] == ["It is time: gym.", CLEAR[-16:], "It is time: gym."]
    assert pushed[-1].data["data"]["push"]["interruption-level"] == "critical"
    tom = hass.states.get("person.tom")
    assert tom is not None
    hass.bus.async_fire(
        EVENT_PHONE,
        {"action": pushed[-1].data["data"]["actions"][0]["action"]},
        EventOrigin.remote,
        Context(user_id=tom.attributes["user_id"]),
    )
    await hass.async_block_till_done()
    assert _alarms(house.agent)[0].rings_since is not None
    await press("Snooze", house.anna)
    assert _alarms(house.agent)[0].rings_since is None
    assert pushed[-1].data["message"] == CLEAR
    await async_pass(hass, freezer, 541)
    assert _alarms(house.agent)[0].rings_since is not None
    await press("Stop", house.anna)
    assert _alarms(house.agent) == []
    assert house.sent["tom"] == []


async def test_buttons_in_telegram(
    hass: HomeAssistant,
    model_server: ModelServer,
    telegram_server: TelegramServer,
    freezer: FrozenDateTimeFactory,
) -> None:
    """It is written with two buttons where the person writes; a voice that stops it ends them."""
    server = telegram_server
    async with telegram_bot(hass, server) as telegram:
        await hass.config.async_set_time_zone("UTC")
        anna = MockUser(name="Anna").add_to_hass(hass)
        hass.states.async_set("person.anna", "home", {"user_id": anna.id, "id": "anna"})
        agent = await async_agent(hass, model_server, {**OPTIONS, "quick_confirmations": False})
        model_server.script([tool_calls([("timer", SET)]), text("I will.")])
        await telegram.write(ANNA, "Wake me at seven")
        await async_pass(hass, freezer, SEVEN + 1)
        await telegram.until(lambda: server.texts(ANNA)[-1].startswith("Your alarm"))
        assert [one.is_alarm for one in _alarms(agent)] == [True]
        assert speech(await agent.say("Stop", context=Context(user_id=anna.id)))
        await telegram.until(lambda: server.calls("editMessageText"))
        assert _alarms(agent) == []


async def test_listed_and_cancelled(satellite: Satellite, agent: Agent) -> None:
    """It is listed as an alarm, found by its name, its time and the word for it, and set again by undo."""
    await _async_call(agent, satellite, **SET, name="school", repeat="mon, wed, fri")
    await _async_call(agent, satellite, action="set", when="10 minutes", name="eggs")
    row = (await _async_call(agent, satellite, action="list"))["timers"][-1]
    assert (row["name"], row["repeat"]) == ("school", "every Monday, Wednesday, Friday")
    for args in ({"name": "school"}, {"when": "7:00"}, {"name": "the alarm"}, {"name": "school alarm"}):
        cancelled = await _async_call(agent, satellite, action="cancel", **args)
        assert "school" in str(cancelled), (args, cancelled)
        agent.server.script([tool_calls([("activity", {"action": "undo"})]), text("Okay.")])
        await agent.say("Undo that", device_id=satellite.device)
        assert "school" in str(tool_results(agent.server.chats[-1])[-1])
        agent.server.clear()


@for_each(
    ("args", "due", "repeat"),
    [
        ({"when": "7am"}, "07:00", None),
        ({"when": "7"}, "07:00", None),
        ({"time": "07:00:00"}, "07:00", None),
        ({"when": "tomorrow 7:00"}, "07:00", None),
        ({"when": "06:30", "recurring": "weekdays"}, "06:30", "weekdays"),
        ({"when": "weekdays at 7:00"}, "07:00", "weekdays"),
        ({"when": "7:30am on weekends"}, "07:30", "weekends"),
        ({"when": "07:00", "days": ["monday", "tuesday"]}, "07:00", "every Monday, Tuesday"),
        ({"when": "07:00", "repeat": "Mon-Fri"}, "07:00", "weekdays"),
        ({"when": "07:00", "repeat": False}, "07:00", None),
        ({"action": "set_alarm", "when": "07:00"}, "07:00", None),
        ({"action": "set", "when": "07:00", "name": "Wake-up"}, "07:00", None),
    ],
)
async def test_how_models_write_it(
    satellite: Satellite, agent: Agent, args: dict[str, Any], due: str, repeat: str | None
) -> None:
    row = (await _async_call(agent, satellite, **{"action": "wake", **args}))["set"]
    assert row["rings"] == "until stopped"
    assert row["due"].split()[-1] == due
    assert row.get("repeat") == repeat


@for_each(
    ("args", "problem"),
    [
        ({"action": "wake"}, "when: say when"),
        ({"action": "wake", "when": "tomorrow"}, "has no time"),
        ({"action": "wake", "when": "early"}, "is not understood"),
        ({"action": "wake", "when": "7:00", "repeat": "monthly"}, "is not one of daily, weekdays"),
        ({"action": "wake", "when": "7:00", "recurring": True}, "'true' is not one of daily, weekdays"),
    ],
)
async def test_refusals(satellite: Satellite, agent: Agent, args: dict[str, Any], problem: str) -> None:
    assert problem in await _async_call(agent, satellite, **args)


async def test_set_twice(satellite: Satellite, agent: Agent) -> None:
    """A person who sets the same alarm twice gets one alarm."""
    for _time in range(2):
        await _async_call(agent, satellite, **SET)
    await _async_call(agent, satellite, **{**SET, "when": "7:10"})
    assert len(_alarms(agent)) == 2


@pytest.mark.parametrize(
    ("language", "sentence", "answer"),
    [
        ("en", "Wake me at seven", "Tomorrow at 07:00 I'll wake you."),
        ("de", "Weck mich um sieben", "Morgen um 07:00 Uhr werde ich dich wecken."),
        ("fr", "Réveille-moi à sept heures", "Demain à 07:00, je vais vous réveiller."),
        ("nl", "Wek me om zeven uur", "Morgen om 07:00 uur zal ik je wekken."),
        ("sv", "Väck mig klockan sju", "I morgon klockan 07:00 ska jag väcka dig."),
        ("ru", "Разбуди меня в семь", "Завтра в 07:00 разбужу вас."),
    ],
)
async def test_told_without_the_model(
    hass: HomeAssistant,
    model_server: ModelServer,
    language: str,
    sentence: str,
    answer: str,
) -> None:
    """Home Agent itself confirms a plain order."""
    await hass.config.async_set_time_zone("UTC")
    satellite: Satellite = await async_add_satellite(hass)
    agent = await async_agent(hass, model_server, {"memory_enabled": False, "quick_confirmations": True})
    model_server.script([tool_calls([("timer", SET)])])
    result = await agent.say(sentence, device_id=satellite.device, language=language)
    assert speech(result) == answer
