"""After an answer the model notes what was worth remembering, in the background."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
import json
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
    async_fire_time_changed,
)

from custom_components.home_agent.const import DOMAIN, EVENT_ERROR, EVENT_MEMORY_EXTRACTED
from custom_components.home_agent.idle import MAX_ATTEMPTS
from custom_components.home_agent.memory.extractor import Reason
from custom_components.home_agent.memory.memories import Memories
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from tests.helpers.agent import IDLE_SECONDS, Agent, async_agent
from tests.helpers.checks import for_each
from tests.helpers.cloud import names_lead_home, outside
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, status, text, tool_calls

VEGETARIAN = {"content": "Anna is vegetarian", "type": "preference", "importance": 0.8, "about": "speaker"}


def asks_for_notes(request: Captured) -> bool:
    """Return whether a request is the one for notes."""
    return "worth knowing in weeks" in str(request.messages[-1]["content"])


class Notes:
    """An agent whose model takes notes."""

    def __init__(self, agent: Agent, context: Context, freezer: FrozenDateTimeFactory) -> None:
        self.agent = agent
        self.context = context
        self._freezer = freezer

    @property
    def memories(self) -> Memories:
        """Return what is remembered."""
        memories: Memories = self.agent.entry.runtime_data.memories
        return memories

    @property
    def requests(self) -> list[Captured]:
        """Return the requests for notes."""
        return [request for request in self.agent.server.chats if asks_for_notes(request)]

    @property
    def contents(self) -> list[str]:
        """Return what is remembered."""
        return sorted(memory.content for memory in self.memories.all())

    @property
    def reasons(self) -> list[Reason]:
        """Return why something was not kept."""
        return [refused.reason for refused in self.agent.entry.runtime_data.extractor.refused]

    def takes(self, *notes: dict[str, Any] | str) -> None:
        """Let the model answer with these notes from now on."""
        self.agent.server.on(asks_for_notes, text(json.dumps({"memories": list(notes)})))

    def answers(self, reply: Reply) -> None:
        """Let the model answer requests for notes so."""
        self.agent.server.on(asks_for_notes, reply)

    async def say(self, sentence: str, **options: Any) -> None:
        """Say something and let the time pass in which nobody speaks."""
        self.agent.server.script([text("All right.")])
        await self.agent.say(sentence, **{"context": self.context, **options})
        await self.wait()

    async def wait(self, seconds: float = IDLE_SECONDS + 1) -> None:
        """Let time pass."""
        self._freezer.tick(timedelta(seconds=seconds))
        async_fire_time_changed(self.agent.hass)
        await self.agent.hass.async_block_till_done(wait_background_tasks=True)


@pytest.fixture
async def notes(hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory) -> Notes:
    """An agent with default options, spoken to by Anna."""
    agent = await async_agent(hass, model_server)
    anna = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    return Notes(agent, Context(user_id=anna.id), freezer)


async def test_what_was_said_is_remembered(hass: HomeAssistant, notes: Notes) -> None:
    """For the person who said it, with where it comes from; the event counts it."""
    events = async_capture_events(hass, EVENT_MEMORY_EXTRACTED)
    notes.takes(VEGETARIAN, {**VEGETARIAN, "content": "We grill vegetarian on Sundays", "about": "household"})
    await notes.say("I am vegetarian, and on Sundays we grill. What could I cook?")
    by_content = {memory.content: memory for memory in notes.memories.all()}
    assert set(by_content) == {"Anna is vegetarian", "We grill vegetarian on Sundays"}
    mine = by_content["Anna is vegetarian"]
    assert mine.person == f"user:{notes.context.user_id}"
    assert mine.origin.value == "extracted"
    assert mine.type.value == "preference"
    assert mine.provenance[0].said.startswith("I am vegetarian")
    assert by_content["We grill vegetarian on Sundays"].person is None
    assert [event.data["memories_extracted"] for event in events] == [2]
    assert events[0].data["extraction_llm"] == "local"
    await notes.say("I am vegetarian, you know, and we grill on Sundays")
    assert len(notes.contents) == 2
    assert notes.reasons == [Reason.KNOWN] * 2


async def test_the_server_has_read_most_of_it(notes: Notes) -> None:
    """The request for notes begins with the very messages of the turn, and asks for a schema."""
    notes.takes()
    await notes.say("I am vegetarian")
    turn, asked = notes.agent.server.chats[-2:]
    assert asked.messages[: len(turn.messages)] == turn.messages
    assert asked.messages[-2] == {"role": "assistant", "content": "All right."}
    assert asked.json["tools"] == turn.json["tools"]
    assert asked.json["tool_choice"] == "none"
    assert asked.json["response_format"]["type"] == "json_schema"
    assert "Anna" in asked.messages[-1]["content"]


async def test_nobody_waits_for_it(notes: Notes) -> None:
    """Nothing is asked while somebody goes on speaking; then once for all that was said."""
    notes.takes(VEGETARIAN)
    conversation = None
    for sentence in ("I am vegetarian", "And the dog is not"):
        notes.agent.server.script([text("I see.")])
        result = await notes.agent.say(sentence, context=notes.context, conversation_id=conversation)
        conversation = result.conversation_id
        await notes.wait(1)
    assert notes.requests == []
    await notes.wait()
    assert len(notes.requests) == 1
    assert notes.contents == ["Anna is vegetarian"]


async def test_what_is_not_worth_it_is_left(notes: Notes, subtests: pytest.Subtests) -> None:
    """With the reason; what stood beside the sentence is nobody's words."""
    for content, reason in [
        ("The kitchen light is on", Reason.TRANSIENT),
        ("The alarm code is 4711", Reason.SECRET),
        ("The user asked about dinner", Reason.META),
        ("Anna collects stamps", Reason.NOT_SAID),
    ]:
        with subtests.test(content=content, reason=reason):
            notes.takes({**VEGETARIAN, "content": content})
            await notes.say("The kitchen light and the alarm code 4711 bother me at dinner")
            assert notes.contents == []
            assert notes.reasons[-1] == reason


async def test_orders_and_automations_teach_nothing(notes: Notes) -> None:
    """Nor does what was remembered by the tool, or a turn that has read text from outside."""
    notes.takes(VEGETARIAN)
    on = ("ha_control", {"action": "turn_on", "entity_id": "light.kitchen_ceiling"})
    notes.agent.server.script([tool_calls([on]), text("Done.")])
    await notes.agent.say("Turn on the kitchen light", context=notes.context)
    await notes.say("The washing machine of the vegetarian is ready", context=Context())
    store = ("store_memory", {"content": "Anna is vegetarian"})
    notes.agent.server.script([tool_calls([store]), text("I will.")])
    await notes.agent.say("Remember that I am vegetarian", context=notes.context)
    await notes.wait()
    assert notes.requests == []


async def test_nothing_is_asked_where_nothing_was_told(notes: Notes, subtests: pytest.Subtests) -> None:
    """Greetings, questions about the house and wishes that were granted cost no request."""
    for sentence in [
        "Hello",
        "Thank you very much",
        "Yes please",
        "Which lights are on?",
        "What is the weather like tomorrow",
        "It is far too bright in here",
    ]:
        with subtests.test(sentence=sentence):
            notes.takes(VEGETARIAN)
            if sentence.startswith("It is"):
                off = ("ha_control", {"action": "turn_off", "entity_id": "light.kitchen_ceiling"})
                notes.agent.server.script([tool_calls([off])])
            await notes.say(sentence)
            assert notes.requests == []


async def test_a_fact_beside_an_order_is_looked_at(notes: Notes, subtests: pytest.Subtests) -> None:
    """An order that was obeyed teaches nothing, but what was told with it does."""
    for sentence, language in [
        ("Turn on the kitchen light, I'm Ruth's new nurse", "en"),
        ("turn on the kitchen light I have a new dog", "en"),
        ("Mach das Licht an, ich bin die neue Pflegerin", "de"),
        ("Включи свет, меня зовут Рут", "ru"),
    ]:
        with subtests.test(sentence=sentence, language=language):
            notes.agent.server.clear()
            notes.takes(VEGETARIAN)
            notes.agent.server.script(
                [tool_calls([("ha_control", {"action": "turn_on", "entity_id": "light.kitchen_ceiling"})])]
            )
            await notes.say(sentence, language=language)
            assert len(notes.requests) == 1


@for_each(
    ("said", "content", "shared"),
    [
        ("I am pregnant and want to paint a room", "Anna is pregnant", False),
        ("Ich bin schwanger und streiche ein Zimmer", "Schwanger ist jemand im Haus", False),
        ("Paint for the room, since Anna is pregnant", "Anna is pregnant, paint a room", False),
        ("Our bins are collected on Tuesday", "The bins are collected on Tuesday", True),
        ("Die Tonne wird dienstags geholt", "Die Tonne wird dienstags geholt", True),
        ("I think we all like the blue paint", "The family likes blue paint", True),
    ],
)
async def test_what_one_says_of_oneself_is_not_the_households(
    notes: Notes, said: str, content: str, shared: bool
) -> None:
    """Whatever the model thinks: others would be told."""
    await notes.memories.async_drop([memory.id for memory in notes.memories.all()])
    notes.takes({**VEGETARIAN, "content": content, "about": "household"})
    await notes.say(said)
    (memory,) = notes.memories.all()
    assert (memory.person is None) is shared


async def test_somebody_unknown_tells_of_the_household_only(notes: Notes) -> None:
    """Who "the speaker" was cannot be known later, and everybody would be told."""
    notes.takes(
        {**VEGETARIAN, "content": "The speaker is pregnant"},
        {**VEGETARIAN, "content": "The nursery is painted in June", "about": "household"},
    )
    guest = {"context": Context(), "device_id": "kitchen", "satellite_id": "assist_satellite.kitchen"}
    await notes.say("As somebody pregnant: the nursery is painted in June", **guest)
    assert notes.contents == ["The nursery is painted in June"]
    assert notes.reasons == [Reason.NOBODY]


async def test_a_server_that_is_down_is_asked_again(notes: Notes, caplog: pytest.LogCaptureFixture) -> None:
    """A few times, with growing pauses, one warning and one event; then what waits is dropped."""
    errors = async_capture_events(notes.agent.hass, EVENT_ERROR)
    notes.answers(status(503))
    await notes.say("I am vegetarian")
    for _ in range(2 * MAX_ATTEMPTS):
        await notes.wait(1000)
    warnings = [record for record in caplog.records if "Nothing can be learned" in record.message]
    assert [record.levelname for record in warnings].count("WARNING") == 1
    told = [(event.data["component"], event.data["error_type"]) for event in errors]
    assert told == [("extraction", "LLMServerError")]
    asked = len(notes.requests)
    await notes.wait(1000)
    assert len(notes.requests) == asked
    notes.takes(VEGETARIAN)
    await notes.say("I am vegetarian")
    assert notes.contents == ["Anna is vegetarian"]


__all__ = ["names_lead_home"]

NOTES = text(json.dumps({"memories": [VEGETARIAN]}))


type Learner = Callable[..., Awaitable[Notes]]


@pytest.fixture
def learner(hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory) -> Learner:
    """Return what sets an agent up that learns by an external model, spoken to by Anna."""

    async def start(url: str, **options: Any) -> Notes:
        chosen = {
            "memory_extraction_llm": "external",
            "external_llm_enabled": True,
            "external_llm_base_url": url,
            "external_llm_model": "big",
            **options,
        }
        agent = await async_agent(hass, model_server, chosen)
        anna = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
        return Notes(agent, Context(user_id=anna.id), freezer)

    return start


def issues(hass: HomeAssistant) -> Mapping[str, str | None]:
    """Return the repair issues of ours, with their translation keys."""
    return {
        key[1]: issue.translation_key for key, issue in ir.async_get(hass).issues.items() if key[0] == DOMAIN
    }


async def test_the_external_model_is_told_what_was_said(
    hass: HomeAssistant, learner: Learner, other_model_server: ModelServer
) -> None:
    """And nothing of the house; the event names it, and the agent's own model is not asked."""
    events = async_capture_events(hass, EVENT_MEMORY_EXTRACTED)
    notes = await learner(other_model_server.url)
    other_model_server.default = NOTES
    await notes.say("I am vegetarian")
    assert notes.contents == ["Anna is vegetarian"]
    assert not notes.requests
    (asked,) = other_model_server.chats
    (message,) = asked.messages
    assert message["content"].startswith("Person: I am vegetarian\n\nAssistant: All right.\n\n")
    assert "kitchen" not in json.dumps(asked.json)
    assert "tools" not in asked.json
    assert (asked.json["model"], asked.json["temperature"]) == ("big", 0)
    assert asked.json["response_format"]["type"] == "json_schema"
    assert [event.data["extraction_llm"] for event in events] == ["external"]
    assert issues(hass) == {}


@pytest.mark.usefixtures("names_lead_home")
async def test_one_outside_is_told_less(
    learner: Learner, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """No name, and no answer that drew on what stays at home."""
    notes = await learner(outside(other_model_server))
    other_model_server.default = NOTES
    await notes.say("I am vegetarian")
    model_server.script([tool_calls([("recall_memory", {"query": "*"})]), text("You like the honey, Anna.")])
    await notes.say("And I like something with my tea, you know what")
    first, second = (request.messages[0]["content"] for request in other_model_server.chats)
    assert first.startswith("Person: I am vegetarian\n\n")
    assert "Anna" not in first + second
    assert "Assistant:" not in second


@pytest.mark.parametrize("off", [{"external_llm_enabled": False}, {"external_llm_model": ""}])
async def test_one_that_is_off_is_replaced(
    hass: HomeAssistant,
    learner: Learner,
    model_server: ModelServer,
    other_model_server: ModelServer,
    *,
    off: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By the agent's own model; a repair says so once and goes when that has changed."""
    events = async_capture_events(hass, EVENT_MEMORY_EXTRACTED)
    notes = await learner(other_model_server.url, **off)
    notes.takes(VEGETARIAN)
    for sentence in ("I am vegetarian", "I am vegetarian, you know"):
        await notes.say(sentence)
    assert notes.contents == ["Anna is vegetarian"]
    assert not other_model_server.requests
    assert {event.data["extraction_llm"] for event in events} == {"local"}
    assert list(issues(hass).values()) == ["extraction_llm_off"]
    assert not [record for record in caplog.records if "external" in record.message and record.levelno > 20]
    model_server.clear()
    await notes.agent.set_options(external_llm_enabled=True, external_llm_model="big")
    assert issues(hass) == {}
    await notes.agent.set_options(external_llm_enabled=False, memory_extraction_enabled=False)
    assert issues(hass) == {}
