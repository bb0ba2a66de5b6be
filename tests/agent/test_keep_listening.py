"""An open microphone after an answer: what goes on without a wake word, and what is not said to the agent."""

from datetime import timedelta
from time import monotonic

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.agent.closing import is_echo
from homeassistant.components import conversation
from homeassistant.components.assist_pipeline import PipelineEvent, PipelineEventType
from homeassistant.components.assist_pipeline.const import DATA_LAST_WAKE_UP
from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE, PipelineRunDebug
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, speech
from tests.helpers.other_api import OtherAPI, Told
from tests.helpers.secure_house import RAN, SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

NOTE = "No wake word"
UNLOCK = tool_calls([("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})])
REFUSED = "For that, please say the wake word first."
SATELLITE = {"device_id": "satellite", "satellite_id": "assist_satellite.hall"}


@pytest.fixture
async def agent(secure: SecureHouse, model_server: ModelServer) -> Agent:
    """Return an agent that keeps listening at a satellite that can."""
    satellite = SATELLITE["satellite_id"]
    secure.hass.states.async_set(satellite, "idle", {"supported_features": 3})
    return await secure.async_agent(
        model_server, {"keep_listening": True, "quick_confirmations": True, "one_moment": False}
    )


async def say(
    agent: Agent,
    sentence: str,
    *replies: Reply,
    after: conversation.ConversationResult | None = None,
    language: str = "en",
) -> conversation.ConversationResult:
    agent.server.clear()
    agent.server.script(list(replies))
    conversation_id = after.conversation_id if after else None
    return await agent.say(sentence, conversation_id=conversation_id, language=language, **SATELLITE)


async def test_every_answer_keeps_the_microphone_open(agent: Agent) -> None:
    """In a room and only there, where the satellite can, and only if the option says so."""
    first = await say(agent, "How are you?", text("Fine."))
    assert first.continue_conversation
    second = await say(agent, "And the weather?", text("Sunny."), after=first)
    assert second.continue_conversation
    assert NOTE not in str(agent.server.chats[0].json["messages"][:-1])
    assert NOTE in str(agent.server.chats[0].json["messages"][-1])
    agent.server.script([text("Fine.")])
    written = await agent.say("How are you?", context=Context(user_id="nobody"))
    assert not written.continue_conversation
    agent.hass.states.async_set(SATELLITE["satellite_id"], "idle", {"supported_features": 1})
    assert not (await say(agent, "How are you?", text("Fine."))).continue_conversation
    await agent.set_options(keep_listening=False)
    agent.hass.states.async_set(SATELLITE["satellite_id"], "idle", {"supported_features": 3})
    assert not (await say(agent, "How are you?", text("Fine."))).continue_conversation


@pytest.mark.parametrize(
    "call",
    [
        ("ha_control", {"action": "open", "entity_id": "cover.garage"}),
        ("ha_control", {"action": "unlock", "entity_id": "lock.front_door", "when": "at 23:00"}),
        ("ha_control", {"action": "disarm", "entity_id": "alarm_control_panel.home"}),
    ],
)
async def test_not_even_what_the_household_allows(
    agent: Agent, secure: SecureHouse, call: tuple[str, dict[str, str]]
) -> None:
    """A rule that lets it run without a question holds for those who said the wake word."""
    await agent.set_options(policy_allowed=["lock", "cover", "alarm_control_panel"])
    first = await say(agent, "How are you?", text("Fine."))
    answer = await say(agent, "Do it please", tool_calls([call]), text("No."), text("No."), after=first)
    assert secure.moved() == []
    assert not agent.entry.runtime_data.planned.all()
    assert not answer.continue_conversation
    await say(agent, "Do it please", tool_calls([call]), text("Yes."), text("Yes."), after=answer)
    assert secure.moved() or agent.entry.runtime_data.planned.all()


async def test_nor_a_tool_of_others_that_the_household_allows(agent: Agent) -> None:
    """One that only reads runs."""
    tools = acts, reads = Told("mcp_garage"), Told("mcp_forecast", read_only=True)
    llm.async_register_api(agent.hass, OtherAPI(agent.hass, "other", [*tools]))
    await agent.set_options(llm_apis=["other"], policy_allowed=["tool:mcp_*"])
    act, read = (tool_calls([(tool.name, {})]) for tool in tools)
    first = await say(agent, "How are you?", text("Fine."))
    refused = await say(agent, "Do it please", act, text("No."), after=first)
    assert (acts.calls, refused.continue_conversation) == ([], False)
    allowed = await say(agent, "Do it please", act, text("Yes."), after=refused)
    assert acts.calls == [{}]
    await say(agent, "Read it please", read, text("Yes."), after=allowed)
    assert reads.calls == [{}]


async def test_whose_yes_counts(agent: Agent, secure: SecureHouse) -> None:
    """A question opens the microphone as ever, and a yes to it counts; one that nobody asked for does not."""
    asked = await say(agent, "Unlock the front door", UNLOCK)
    await say(agent, "Yes please", after=asked)
    assert secure.moved() == RAN
    secure.reset()
    asked = await say(agent, "Unlock the front door", UNLOCK)
    told = await say(agent, "Wait, how late is it?", text("It is noon."), after=asked)
    assert told.continue_conversation
    await say(agent, "Yes please", text("\u2026"), after=told)
    assert secure.moved() == []


async def test_a_question_of_the_model_is_no_wake_word(agent: Agent, secure: SecureHouse) -> None:
    """Somebody who never said it is asked which door, and may still not unlock one."""
    first = await say(agent, "How are you?", text("Fine."))
    which = await say(agent, "Unlock it", text("Which door do you mean?"), after=first)
    assert which.continue_conversation
    refused = await say(agent, "Unlock the front door", UNLOCK, text("No."), after=which)
    assert speech(refused) == REFUSED
    assert secure.moved() == []


@pytest.mark.parametrize("said", ["I told you she would never come back", "Turn that down", "Danke"])
async def test_what_was_said_to_somebody_else(agent: Agent, said: str) -> None:
    """The model finds that it is not meant: nothing is spoken or kept, and the microphone closes."""
    first = await say(agent, "How are you?", text("Fine."))
    ignored = await say(agent, said, text("\u2026"), after=first)
    assert (speech(ignored), ignored.continue_conversation) == ("", False)
    assert len(agent.server.chats) == 1
    await say(agent, "What did I say?", text("You asked how I am."), after=ignored)
    sent = str(agent.server.chats[0].json["messages"])
    assert (said in sent, "Fine." in sent, NOTE in sent) == (False, True, False)
    assert said not in str(agent.entry.runtime_data.turn_log.short())


ECHOES = {
    "en": ("I turned on the lamp in the kitchen.", ["the lamp in the kitchen", "lamp in the kitchens"]),
    "de": ("Im Wohnzimmer sind es 21 Grad.", ["sind es 21 grad", "Wohnzimmer sind es 21 Grad."]),
    "fr": ("J'ai éteint la lampe du salon.", ["la lampe du salon", "eteint la lampe du salon"]),
    "es": ("He encendido la luz de la cocina.", ["la luz de la cocina", "luz de la cocina"]),
    "it": ("Ho spento la luce in cucina.", ["luce in cucina", "spento la luce in cucina"]),
    "nl": ("Ik heb de lamp in de keuken aangezet.", ["in de keuken aangezet", "keuken aangezet"]),
    "pl": ("Włączyłem światło w kuchni.", ["światło w kuchni", "swiatlo w kuchni"]),
    "ja": ("キッチンの照明をつけました。", ["照明をつけました", "をつけました。"]),
}
ORDERS = {
    "en": ["turn off the lamp in the kitchen", "the lamp in the bedroom", "and the kitchen fan", "kitchen"],
    "de": ["stell es auf 22 Grad", "und im Bad", "sind es 22 Grad", "mach es wärmer"],
    "fr": ["allume la lampe du salon", "la lampe du bureau", "et la cuisine"],
    "es": ["apaga la luz de la cocina", "la luz del salón", "y la cocina no"],
    "it": ["accendi la luce in cucina", "la luce in bagno", "no"],
    "nl": ["in de keuken uitgezet", "doe hem weer uit", "nee"],
    "pl": ["wyłącz światło w kuchni", "światło w łazience", "nie"],
    "ja": ["照明を消して", "消しました"],
}


def test_echoes() -> None:
    """The end of the answer is one, also if a word is misheard at its end; another word makes a sentence."""
    orders = 0
    for language, (answer, echoes) in ECHOES.items():
        for heard in ("", "...", answer, *echoes):
            assert is_echo(heard, answer), (language, heard)
        for heard in ORDERS[language]:
            assert not is_echo(heard, answer) or heard == "kitchen", (language, heard)
            orders += 1
    assert orders >= 24


async def test_an_echo_is_no_turn(agent: Agent) -> None:
    """No model is asked; the next sentence has a wake word, and does not know of it."""
    first = await say(agent, "Open sesame", text("I would rather unlock the front door."))
    echo = await say(agent, "unlock the front door", after=first)
    assert (speech(echo), echo.continue_conversation, agent.server.chats) == ("", False, [])
    asked = await say(agent, "unlock the front door", UNLOCK, after=echo)
    assert asked.continue_conversation
    assert str(agent.server.chats[0].json["messages"]).count("unlock the front door") == 2


async def test_who_spoke_after_silence_has_said_the_wake_word(
    hass: HomeAssistant, agent: Agent, secure: SecureHouse, freezer: FrozenDateTimeFactory
) -> None:
    """A run in which nobody spoke lies between, or too much time, or the run heard the wake word itself."""
    assert await async_setup_component(hass, "assist_pipeline", {})
    runs = hass.data[KEY_ASSIST_PIPELINE].pipeline_debug.setdefault("preferred", {})

    def run(answer: conversation.ConversationResult, *more: PipelineEventType) -> None:
        debug = PipelineRunDebug()
        started = {"conversation_id": answer.conversation_id}
        debug.events += [PipelineEvent(PipelineEventType.RUN_START, started), *map(PipelineEvent, more)]
        runs[str(len(runs))] = debug

    kinds = {"open": False, "silence": True, "late": True, "wake word": True, "satellite's wake word": True}
    for kind, is_asked in kinds.items():
        first = await say(agent, "How are you?", text("Fine."))
        freezer.tick(1)
        if kind == "silence":
            run(first, PipelineEventType.STT_END)
            freezer.tick(1)
        if kind == "late":
            freezer.tick(timedelta(seconds=70))
        run(first, *([PipelineEventType.WAKE_WORD_END] if kind == "wake word" else []))
        if kind == "satellite's wake word":
            hass.data[DATA_LAST_WAKE_UP]["okay nabu"] = monotonic() + 0.1
        answer = await say(agent, "Unlock the front door", UNLOCK, text("No."), after=first)
        assert answer.continue_conversation is is_asked, kind
        await agent.entry.runtime_data.confirmations.async_stop()
    assert secure.moved() == []
