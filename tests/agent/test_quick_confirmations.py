"""A plain command that worked is confirmed by Home Agent itself, and the model is asked once."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.const import EVENT_CONVERSATION_FINISHED
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.intent import IntentResponseType
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.turns import LIGHT, ON
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

QUICK = {"quick_confirmations": True}
KITCHEN = ("ha_control", {"action": "turn_on", "area": "Kitchen", "domain": ["light"]})
SPOKEN = "Words of the model."


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    """A person who writes."""
    return Context(user_id=MockUser(name="Anna", is_owner=True).add_to_hass(hass).id)


async def async_say(agent: Agent, sentence: str, anna: Context, *replies: Reply, **options: Any) -> str:
    """Say a sentence to a model with these replies, and return what is spoken."""
    agent.server.clear()
    agent.server.script([*replies, text(SPOKEN)])
    return speech(await agent.say(sentence, context=anna, **options))


@pytest.mark.parametrize(
    ("sentence", "language", "call", "spoken"),
    [
        ("Turn on the kitchen ceiling", "en", ON, "Kitchen Ceiling on."),
        ("Schalte bitte das Licht in der Küche ein", "de", KITCHEN, "Kitchen: 2 Lampen an."),
        ("Can you turn on the lights in the kitchen?", "en", KITCHEN, "Kitchen: 2 lights on."),
        ("Allume la lumière de la cuisine, s'il te plaît", "fr", ON, "J'ai allumé Kitchen Ceiling."),
        ("Włącz światło w kuchni", "pl", ON, "Włączono: Kitchen Ceiling."),
        ("Включи свет на кухне", "ru", ON, "Kitchen Ceiling: включено."),
        (
            "Dim the kitchen ceiling to 40 percent",
            "en",
            ("ha_control", {"action": "turn_on", "entity_id": LIGHT, "parameters": {"brightness_pct": 40}}),
            "Kitchen Ceiling set to 40 percent.",
        ),
        (
            "Turn on the kitchen ceiling and the reading lamp",
            "en",
            ("ha_control", {"action": "turn_on", "entity_id": [LIGHT, "light.reading_lamp"]}),
            "Kitchen Ceiling and Reading Lamp on.",
        ),
        (
            "Turn off the kitchen ceiling",
            "en",
            ("ha_control", {"action": "turn_off", "entity_id": LIGHT}),
            "Already off: Kitchen Ceiling.",
        ),
    ],
)
async def test_a_plain_command_takes_one_request(
    hass: HomeAssistant,
    model_server: ModelServer,
    anna: Context,
    sentence: str,
    language: str,
    call: tuple[str, dict[str, Any]],
    spoken: str,
) -> None:
    """What was done is said in the person's language, without the model."""
    agent = await async_agent(hass, model_server, QUICK)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)

    assert await async_say(agent, sentence, anna, tool_calls([call]), language=language) == spoken
    assert len(model_server.chats) == 1
    assert [event.data["tool_calls"] for event in finished] == [1]


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Turn on the kitchen ceiling and tell me how warm it is", "en"),
        ("Turn on the kitchen ceiling. How warm is it?", "en"),
        ("Turn on the kitchen ceiling and open the blinds", "en"),
        ("Turn on the kitchen ceiling and the fan", "en"),
        ("Turn on the kitchen ceiling, I'm the new nurse", "en"),
        ("Schalte das Licht ein und sag mir, wie warm es ist", "de"),
        ("Mach das Licht an und die Heizung aus", "de"),
        ("Schalte das Licht in der Küche ein", "en"),
        ("Allume la lumière et ferme les volets", "fr"),
        ("Enciende la luz y dime qué hora es", "es"),
        ("キッチンの電気をつけて", "ja"),
    ],
)
async def test_the_model_speaks_where_more_was_said(
    hass: HomeAssistant, model_server: ModelServer, anna: Context, sentence: str, language: str
) -> None:
    """Two things to do, a question beside the command, or a language that is not read: the model speaks."""
    agent = await async_agent(hass, model_server, QUICK)

    assert await async_say(agent, sentence, anna, tool_calls([ON]), language=language) == SPOKEN
    assert len(model_server.chats) == 2


async def test_the_model_speaks_where_something_failed(
    hass: HomeAssistant, model_server: ModelServer, anna: Context
) -> None:
    """What failed, or was done only in part, needs the model's words."""
    agent = await async_agent(hass, model_server, QUICK)
    both = {"action": "turn_on", "entity_id": [LIGHT, "light.secret_light"]}

    said = await async_say(agent, "Turn on the lights", anna, tool_calls([("ha_control", both)]))

    assert said.startswith(SPOKEN)
    assert len(model_server.chats) == 2


async def test_a_query_beside_the_command_is_a_question(
    hass: HomeAssistant, model_server: ModelServer, anna: Context
) -> None:
    """A model that looks something up together with the command has something to tell; before it has not."""
    agent = await async_agent(hass, model_server, QUICK)
    query = ("ha_query", {"entity_id": "sensor.kitchen_temperature"})

    assert await async_say(agent, "Turn on the kitchen ceiling", anna, tool_calls([ON, query])) == SPOKEN
    said = await async_say(agent, "Turn on the kitchen ceiling", anna, tool_calls([query]), tool_calls([ON]))
    assert said == "Already on: Kitchen Ceiling."


async def test_half_of_what_was_said_is_not_confirmed(
    hass: HomeAssistant, model_server: ModelServer, anna: Context
) -> None:
    """A model that makes one call after the other is asked until all is done."""
    agent = await async_agent(hass, model_server, QUICK)
    lamp = ("ha_control", {"action": "turn_on", "entity_id": "light.reading_lamp"})
    sentence = "Turn on the kitchen ceiling and the reading lamp"

    said = await async_say(agent, sentence, anna, tool_calls([ON]), tool_calls([lamp]))

    assert said == "Kitchen Ceiling on. Reading Lamp on."
    assert len(model_server.chats) == 2


async def test_the_next_turn_reads_a_conversation(
    hass: HomeAssistant, model_server: ModelServer, anna: Context
) -> None:
    """The sentence is in the history as the assistant's words, behind the result of the call."""
    agent = await async_agent(hass, model_server, QUICK)
    await async_say(agent, "Turn on the kitchen ceiling", anna, tool_calls([ON]))
    await async_say(agent, "Is it on?", anna)

    (request,) = model_server.chats
    roles = [message["role"] for message in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    call, result, words = request.messages[2:5]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert words["content"] == "Kitchen Ceiling on."


async def test_words_beside_the_call_are_left_out(
    hass: HomeAssistant, model_server: ModelServer, anna: Context
) -> None:
    """What the model says before it knows what became of its call is not heard."""
    agent = await async_agent(hass, model_server, QUICK)
    both = Reply(text="Sure, right away.", calls=[ON])

    assert await async_say(agent, "Turn on the kitchen ceiling", anna, both) == "Kitchen Ceiling on."
    assert len(model_server.chats) == 1


@pytest.mark.parametrize(
    ("options", "spoken"),
    [
        ({"quick_confirmations": False}, SPOKEN),
        ({"quick_confirmations": True, "persona": "You talk like a pirate."}, "Kitchen Ceiling on."),
    ],
)
async def test_the_option_decides(
    hass: HomeAssistant,
    model_server: ModelServer,
    anna: Context,
    options: dict[str, Any],
    spoken: str,
) -> None:
    """The option turns it off, and on also with a persona."""
    agent = await async_agent(hass, model_server, options)

    assert await async_say(agent, "Turn on the kitchen ceiling", anna, tool_calls([ON])) == spoken


async def test_an_automation_hears_the_model(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Who asks for an answer in a script, or says how to answer, gets the model's words."""
    agent = await async_agent(hass, model_server, QUICK)
    sentence = "Turn on the kitchen ceiling"

    assert await async_say(agent, sentence, Context(), tool_calls([ON])) == SPOKEN
    prompt = {"extra_system_prompt": "Answer with a rhyme."}
    user = Context(user_id=MockUser(is_owner=True).add_to_hass(hass).id)
    assert await async_say(agent, sentence, user, tool_calls([ON]), **prompt) == SPOKEN


@pytest.mark.parametrize(("area", "spoken"), [("kitchen", ""), ("bedroom", "Kitchen Ceiling on.")])
@pytest.mark.parametrize("quick", [True, False])
async def test_silence_in_the_same_room(
    hass: HomeAssistant, model_server: ModelServer, area: str, spoken: str, *, quick: bool
) -> None:
    """By option nothing is spoken where everything happened in the room of the satellite."""
    agent = await async_agent(hass, model_server, {"quick_confirmations": quick, "silent_in_room": True})
    satellite = dr.async_get(hass).async_get_or_create(
        config_entry_id=agent.entry.entry_id, identifiers={("test", "satellite")}
    )
    dr.async_get(hass).async_update_device(satellite.id, area_id=area)
    model_server.script([tool_calls([ON]), text(SPOKEN)])

    result = await agent.say("Turn on the kitchen ceiling", device_id=satellite.id)

    assert speech(result) == (spoken if quick or not spoken else SPOKEN)
    assert result.response.response_type is IntentResponseType.ACTION_DONE
    assert len(model_server.chats) == (1 if quick or not spoken else 2)
    model_server.clear()
    model_server.script([text(SPOKEN)])
    await agent.say("Is it on?", device_id=satellite.id)
    said = [
        message["content"] for message in model_server.chats[0].messages if message["role"] == "assistant"
    ]
    assert said[-1] == ("Kitchen Ceiling on." if quick or not spoken else SPOKEN)


NOON = "2026-03-29 12:00:00"
ON = {"action": "turn_on", "entity_id": LIGHT}
OFF = {"action": "turn_off", "entity_id": LIGHT}
LATER = {"when": "18:30"}
AWHILE = {"for": "20 minutes"}
NEXT_DAY = {"when": "tomorrow 7:00"}


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory) -> Agent:
    """An agent at noon."""
    freezer.move_to(dt_util.as_utc(dt_util.parse_datetime(NOON).replace(tzinfo=dt_util.UTC)))
    await hass.config.async_set_time_zone("UTC")
    return await async_agent(hass, model_server, {"quick_confirmations": True})


async def said(agent: Agent, sentence: str, anna: Context, call: tuple[str, Any], **options: Any) -> str:
    """Return what is spoken after a model's call; it would say more if it was asked again."""
    agent.server.clear()
    agent.server.script([tool_calls([call]), text(SPOKEN)])
    return speech(await agent.say(sentence, context=anna, **options))


@pytest.mark.parametrize(
    ("sentence", "language", "args", "spoken"),
    [
        ("Turn off the kitchen ceiling at 18:30", "en", OFF | LATER, "At 18:30: Kitchen Ceiling off."),
        (
            "Turn on the kitchen ceiling tomorrow at 7:00",
            "en",
            ON | NEXT_DAY,
            "Tomorrow at 07:00: Kitchen Ceiling on.",
        ),
        (
            "Turn on the kitchen ceiling every day at 18:30",
            "en",
            ON | LATER | {"repeat": "daily"},
            "At 18:30 every day: Kitchen Ceiling on.",
        ),
        (
            "Turn on the kitchen ceiling on Mondays at 18:30",
            "en",
            ON | LATER | {"repeat": "monday"},
            "At 18:30 on Mondays: Kitchen Ceiling on.",
        ),
        (
            "Dim the kitchen ceiling to 40 percent at 18:30",
            "en",
            ON | LATER | {"brightness": 40},
            "At 18:30: Kitchen Ceiling set to 40 percent.",
        ),
        ("Schalte die Küche um 18:30 aus", "de", OFF | LATER, "Um 18:30: Kitchen Ceiling aus."),
        ("Éteins la cuisine à 18:30", "fr", OFF | LATER, "À 18:30, j'éteindrai Kitchen Ceiling."),
        ("Apaga la cocina a las 18:30", "es", OFF | LATER, "A las 18:30 apagaré Kitchen Ceiling."),
        ("Doe de keuken om 18:30 uit", "nl", OFF | LATER, "Om 18:30: Kitchen Ceiling uit."),
        ("Spegni la cucina alle 18:30", "it", OFF | LATER, "Alle 18:30 spegnerò Kitchen Ceiling."),
        ("Wyłącz kuchnię o 18:30", "pl", OFF | LATER, "O 18:30 wyłączę: Kitchen Ceiling."),
        (
            "Turn on the kitchen ceiling for 20 minutes",
            "en",
            ON | {"for": "20 minutes"},
            "Kitchen Ceiling on. Until 12:20.",
        ),
        (
            "Mach die Küche 20 Minuten lang an",
            "de",
            ON | {"for": "20 minutes"},
            "Kitchen Ceiling an. Bis 12:20.",
        ),
    ],
)
async def test_a_command_for_later(
    agent: Agent, anna: Context, sentence: str, language: str, args: dict[str, Any], spoken: str
) -> None:
    """What will happen is said with its time."""
    assert await said(agent, sentence, anna, ("ha_control", args), language=language) == spoken
    assert len(agent.server.chats) == 1


@pytest.mark.parametrize(
    "args",
    [ON | {"when": "2026-04-03 18:30"}, ON | LATER | {"for": "5 minutes"}],
    ids=["another day", "and back"],
)
async def test_what_has_no_sentence(agent: Agent, anna: Context, args: dict[str, Any]) -> None:
    """The model tells what is more than a time of today or tomorrow."""
    assert await said(agent, "Turn on the kitchen ceiling at 18:30", anna, ("ha_control", args)) == SPOKEN


@pytest.mark.parametrize(
    ("sentence", "language", "call", "spoken"),
    [
        ("Undo that", "en", ("activity", {"action": "undo"}), "Cancelled: Kitchen Ceiling."),
        ("Cancel that", "en", ("timer", {"action": "cancel"}), "Cancelled: Kitchen Ceiling."),
        ("Lösch den Befehl", "de", ("timer", {"action": "cancel"}), "Gelöscht: Kitchen Ceiling."),
    ],
)
async def test_a_planned_command_is_cancelled(
    agent: Agent, anna: Context, sentence: str, language: str, call: tuple[str, Any], spoken: str
) -> None:
    """By undoing it, and by the tool for timers."""
    args = OFF | LATER
    assert await said(agent, "Turn off the kitchen ceiling at 18:30", anna, ("ha_control", args)) != SPOKEN
    assert await said(agent, sentence, anna, call, language=language) == spoken
    assert agent.entry.runtime_data.planned.all() == []


@pytest.mark.parametrize(
    ("sentence", "language", "spoken"),
    [
        ("Undo that", "en", "Undone: Kitchen Ceiling."),
        ("Put it back", "en", "Undone: Kitchen Ceiling."),
        ("Mach das rückgängig", "de", "Rückgängig gemacht: Kitchen Ceiling."),
        ("Annule ça", "fr", "C'est annulé : Kitchen Ceiling."),
        ("Deshaz eso", "es", "Deshecho: Kitchen Ceiling."),
    ],
)
async def test_undo(
    hass: HomeAssistant,
    agent: Agent,
    anna: Context,
    freezer: FrozenDateTimeFactory,
    sentence: str,
    language: str,
    spoken: str,
) -> None:
    """What is as it was before is told by name."""
    await said(agent, "Turn on the kitchen ceiling", anna, ("ha_control", ON))
    freezer.tick(timedelta(seconds=20))
    undo = ("activity", {"action": "undo"})
    assert await said(agent, sentence, anna, undo, language=language) == spoken
    assert hass.states.get(LIGHT).state == "off"
