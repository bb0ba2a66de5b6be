"""An agent runs without its model server: an issue reports it, and postponed work is done later."""

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.const import DOMAIN
from homeassistant.config_entries import SOURCE_REAUTH, ConfigEntryState
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.pauses import everything, pause
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, html, reset, status, text

LAMP = "light.reading_lamp"
DOOR = "lock.front_door"


def listings(server: ModelServer) -> int:
    """Return the number of requests for the list of models."""
    return len([request for request in server.requests if request.path.endswith("/models")])


def issue(agent: Agent, key: str = "server_unavailable") -> ir.IssueEntry | None:
    return ir.async_get(agent.hass).async_get_issue(DOMAIN, f"{key}_{agent.entry.entry_id}")


def lamp(hass: HomeAssistant) -> str:
    state = hass.states.get(LAMP)
    assert state is not None
    return state.state


async def restart(agent: Agent, fault: Reply) -> None:
    """Set the agent up again while its server answers everything with a fault."""
    agent.server.on(everything, fault)
    await agent.hass.config_entries.async_reload(agent.entry.entry_id)
    await agent.hass.async_block_till_done(wait_background_tasks=True)


FAULTS = {
    "gone": (reset(), "the connection to the server broke"),
    "error": (status(500, "CUDA out of memory"), "500: CUDA out of memory"),
    "starting": (status(503, "Loading model"), "503: Loading model"),
    "a web page": (html(), "a web page"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_start_without_the_server(
    hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser, agent: Agent, fault: str
) -> None:
    """The agent is there: it carries simple commands out, asks before it unlocks, and says what is wrong."""
    reply, words = FAULTS[fault]
    await restart(agent, reply)
    assert agent.entry.state is ConfigEntryState.LOADED
    told = issue(agent)
    assert told is not None
    assert (told.severity, told.is_fixable) == (ir.IssueSeverity.ERROR, True)
    assert told.translation_placeholders is not None
    assert told.translation_placeholders["url"] == model_server.url
    assert words in told.translation_placeholders["error"]
    model_server.requests.clear()
    assert speech(await agent.say("turn on the reading lamp"))
    assert lamp(hass) == "on"
    assert model_server.chats == []
    await hass.services.async_call("lock", "lock", {"entity_id": DOOR}, blocking=True)
    person = Context(user_id=hass_admin_user.id)
    question = await agent.say("unlock the front door", conversation_id="door", context=person)
    assert speech(question) == "Should I unlock the Front Door?"
    assert question.continue_conversation
    assert hass.states.get(DOOR).state == "locked"
    await agent.say("yes", conversation_id="door", context=person)
    assert hass.states.get(DOOR).state == "unlocked"
    assert hass.config_entries.flow.async_progress() == []


async def test_the_server_comes_back(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, agent: Agent
) -> None:
    """It is checked at growing intervals; the issue disappears, and the prompt is read ahead."""
    await restart(agent, status(503, "starting"))
    model_server.requests.clear()
    asked = []
    for seconds in (5, 10, 20, 40, 60, 60, 60):
        await pause(hass, freezer, seconds - 1)
        before = listings(model_server)
        await pause(hass, freezer, 1.5)
        asked.append((before, listings(model_server)))
    assert asked == [(2 * turn, 2 * turn + 2) for turn in range(7)]  # each attempt asks twice
    assert issue(agent) is not None
    model_server.clear()
    await pause(hass, freezer, 60)
    assert issue(agent) is None
    (warmed,) = model_server.chats
    assert warmed.json["max_tokens"] == 1
    before = listings(model_server)
    await pause(hass, freezer, 600)
    assert listings(model_server) == before


async def test_a_server_that_stops(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """A turn that cannot reach it leads to the issue; the agent then asks it last."""
    model_server.on(everything, reset())
    assert (await agent.say("Tell me a story")).response.error_code is not None
    await hass.async_block_till_done(wait_background_tasks=True)
    assert issue(agent) is not None
    model_server.requests.clear()
    await agent.say("turn on the reading lamp")
    assert (lamp(hass), model_server.chats) == ("on", [])


@pytest.mark.parametrize("code", [401, 403])
async def test_a_refused_key_at_the_start(hass: HomeAssistant, model_server: ModelServer, code: int) -> None:
    """The running agent asks for another key, and is there meanwhile."""
    agent = await async_agent(hass, model_server, llm_api_key="sk-old")
    await restart(agent, status(code, "no"))
    assert agent.entry.state is ConfigEntryState.LOADED
    assert [flow["context"]["source"] for flow in hass.config_entries.flow.async_progress()] == [
        SOURCE_REAUTH
    ]
    assert issue(agent) is None
    await agent.say("turn on the reading lamp")
    assert lamp(hass) == "on"


async def test_a_key_that_cannot_be_rendered(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """Nothing is sent without it; the agent is there, and takes the key when there is one."""
    key = "{{ 'sk-new' if states('sensor.vault') == 'open' else 1 / 0 }}"
    agent = await async_agent(hass, model_server, llm_api_key=key)
    assert agent.entry.state is ConfigEntryState.LOADED
    told = issue(agent)
    assert told is not None
    assert told.translation_placeholders is not None
    assert "template of the API key" in told.translation_placeholders["error"]
    await agent.say("turn on the reading lamp")
    await agent.say("Tell me a story")
    assert lamp(hass) == "on"
    assert model_server.requests == []
    assert hass.config_entries.flow.async_progress() == []
    hass.states.async_set("sensor.vault", "open")
    await pause(hass, freezer, 61)
    assert issue(agent) is None
    assert {request.headers["authorization"] for request in model_server.requests} == {"Bearer sk-new"}


async def test_a_key_that_its_template_renders_anew(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A refused key is rendered again before anybody is asked for another one."""
    hass.states.async_set("sensor.vault", "sk-old")
    agent = await async_agent(hass, model_server, llm_api_key="{{ states('sensor.vault') }}")
    hass.states.async_set("sensor.vault", "sk-new")

    def answer(request: Captured) -> Reply:
        is_new = request.headers["authorization"] == "Bearer sk-new"
        return text("Once upon a time.") if is_new else status(401, "no")

    model_server.default = answer
    await agent.say("Tell me a story")
    await hass.async_block_till_done()
    assert hass.config_entries.flow.async_progress() == []
    assert speech(await agent.say("Tell me a story")) == "Once upon a time."
    assert model_server.requests[-1].headers["authorization"] == "Bearer sk-new"


async def test_a_model_that_is_removed(model_server: ModelServer, agent: Agent) -> None:
    """A refusal in a turn creates the issue, and an answer deletes it."""
    model_server.default = status(404, "model 'test-model' not found")
    await agent.say("Tell me a story")
    assert issue(agent, "model_missing") is not None
    model_server.default = text("Once upon a time.")
    await agent.say("Tell me a story")
    assert issue(agent, "model_missing") is None
