"""The `home_agent.*` services: what they take and give, who may call them, which agent they mean."""

import asyncio
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.agent.describe import async_phrase
from custom_components.home_agent.const import DOMAIN, EVENT_TOOL_EXECUTED
from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, async_agent, call_action
from tests.helpers.checks import every
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text, tool_calls

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})


async def call(hass: HomeAssistant, service: str, context: Context | None = None, **data: Any) -> Any:
    """Call a service and return its response."""
    response = await call_action(hass, service, data, context)
    await hass.async_block_till_done()
    return response


def user(hass: HomeAssistant, *, reads: bool = True, controls: bool = True) -> Context:
    """Return the context of somebody who is no administrator."""
    somebody = MockUser(is_owner=False, name="Somebody").add_to_hass(hass)
    somebody.mock_policy({"entities": {"all": {POLICY_READ: reads, POLICY_CONTROL: controls}}})
    return Context(user_id=somebody.id)


class TestProcess:
    """home_agent.process."""

    async def test_response(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        await async_agent(hass, model_server)
        model_server.script([tool_calls([ON]), text("Which room?")])
        response = await call(hass, "process", text="Kitchen ceiling on")
        assert response["response"] == "Which room?"
        assert response["conversation_id"]
        assert response["continue_conversation"] is False, "after a command that worked"
        (made,) = response["tool_calls"]
        assert made["tool_name"] == "ha_control"
        assert made["parameters"] == ON[1]
        assert made["success"] is True

    async def test_the_conversation_goes_on(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        await async_agent(hass, model_server)
        model_server.default = text("Hello.")
        first = await call(hass, "process", text="My name is Anna")
        await call(hass, "process", text="What is my name?", conversation_id=first["conversation_id"])
        assert "My name is Anna" in str(model_server.chats[1].messages)
        named = await call(hass, "process", text="Hello", conversation_id="kitchen-tablet")
        assert named["conversation_id"] == "kitchen-tablet"
        assert "My name is Anna" not in str(model_server.chats[2].messages)

    async def test_entities_of_interest(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        """Told with this sentence and no other, hidden ones never; the prompt stays the same."""
        await async_agent(hass, model_server)
        hass.states.async_set("sensor.kitchen_temperature", "47.11")
        named = ["sensor.kitchen_temperature", "lock.cellar_door", "light.nowhere"]
        first = await call(hass, "process", text="Hm?", context_entities=named)
        await call(hass, "process", text="Hm?", conversation_id=first["conversation_id"])
        asked, later = (request.messages for request in model_server.chats)
        assert "sensor.kitchen_temperature: 47.1" in asked[-1]["content"]
        assert "cellar" not in str(asked)
        assert "nowhere" not in str(asked)
        assert "47.1" not in later[-1]["content"]
        assert asked[0] == later[0]

    async def test_place_and_language(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        agent = await async_agent(hass, model_server, {"local_fallback_enabled": False})
        kitchen = ar.async_get(hass).async_get_area_by_name("Kitchen")
        device = dr.async_get(hass).async_get_or_create(
            config_entry_id=agent.entry.entry_id, identifiers={("test", "satellite")}
        )
        dr.async_get(hass).async_update_device(device.id, area_id=kitchen.id)
        await call(hass, "process", text="Hallo", device_id=device.id, language="de")
        told = model_server.chats[0].messages[-1]["content"]
        assert "Kitchen" in told
        assert "language de" in told
        model_server.default = status(503)
        response = await call(hass, "process", text="Hallo", language="de")
        assert response["response"] == await async_phrase(hass, "de", "llm_server_error")

    async def test_the_caller_is_who_speaks(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        """Their permissions count, and the calls bear their context."""
        await async_agent(hass, model_server)
        services = async_capture_events(hass, EVENT_CALL_SERVICE)
        model_server.default = lambda request: (
            text("Hm.") if request.messages[-1]["role"] == "tool" else tool_calls([ON])
        )
        await call(hass, "process", user(hass, controls=False), text="On")
        assert hass.states.get(LIGHT).state == "off"
        context = user(hass)
        await call(hass, "process", context, text="On")
        assert hass.states.get(LIGHT).state == "on"
        assert {event.context.user_id for event in services if event.data["domain"] == "light"} == {
            context.user_id
        }


class TestClearHistory:
    """home_agent.clear_history."""

    async def test_one_conversation(
        self, hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any]
    ) -> None:
        """Its text is gone from memory, from disk, and from the next request; another one stays."""
        await async_agent(hass, model_server)
        await call(hass, "process", text="The word is abracadabra", conversation_id="kitchen")
        await call(hass, "process", text="The word is simsalabim", conversation_id="bedroom")
        response = await call(hass, "clear_history", user(hass), conversation_id="kitchen")
        assert response == {"cleared": 1}
        stored = str(hass_storage["home_agent.history"])
        assert "abracadabra" not in stored
        assert "simsalabim" in stored
        await call(hass, "process", text="Which word?", conversation_id="kitchen")
        await call(hass, "process", text="Which word?", conversation_id="bedroom")
        kitchen, bedroom = (str(request.messages) for request in model_server.chats[-2:])
        assert "abracadabra" not in kitchen
        assert "simsalabim" in bedroom
        await call(hass, "process", text="And now?", conversation_id="kitchen")
        assert "Which word?" in str(model_server.chats[-1].messages), "what was said since then is known"

    async def test_a_conversation_that_went_on_under_another_id(
        self, hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any]
    ) -> None:
        """A person's new chat continues the one before; the id that was returned clears both."""
        await async_agent(hass, model_server)
        context = user(hass)
        await call(hass, "process", context, text="The word is abracadabra")
        second = await call(hass, "process", context, text="Which word?")
        assert "abracadabra" in str(model_server.chats[-1].messages)
        assert await call(hass, "clear_history", conversation_id=second["conversation_id"]) == {"cleared": 1}
        assert "abracadabra" not in str(hass_storage["home_agent.history"])
        await call(hass, "process", context, text="And now?", conversation_id=second["conversation_id"])
        assert "abracadabra" not in str(model_server.chats[-1].messages)


class TestClearConversation:
    """home_agent.clear_conversation."""

    async def test_a_person_ends_their_own(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        agent = await async_agent(hass, model_server)
        context = user(hass)
        await agent.say("My name is Anna", context=context)
        ended = await call(hass, "clear_conversation", context, user_id=context.user_id)
        assert ended == {"cleared": 1}
        await agent.say("What is my name?", context=context)
        assert "Anna" not in str(model_server.chats[-1].messages)

    async def test_a_person_by_name(
        self, hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser
    ) -> None:
        """An administrator ends the session of a person; a person without a user has none."""
        agent = await async_agent(hass, model_server)
        context = user(hass)
        people = [{"id": "anna", "name": "Anna", "user_id": context.user_id}, {"id": "leo", "name": "Leo"}]
        assert await async_setup_component(hass, "person", {"person": people})
        await agent.say("Hello", context=context)
        await agent.say("Hello", device_id="satellite")
        admin = Context(user_id=hass_admin_user.id)
        assert await call(hass, "clear_conversation", admin, person="person.leo") == {"cleared": 0}
        assert await call(hass, "clear_conversation", admin, person="person.anna") == {"cleared": 1}
        with pytest.raises(Unauthorized):
            await call(hass, "clear_conversation", context, person="person.leo")
        with pytest.raises(ServiceValidationError, match=r"person\.nobody"):
            await call(hass, "clear_conversation", admin, person="person.nobody")


class TestExecuteTool:
    """home_agent.execute_tool: as the model would, with the same checks."""

    async def test_it_acts(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        await async_agent(hass, model_server)
        executed = async_capture_events(hass, EVENT_TOOL_EXECUTED)
        response = await call(hass, "execute_tool", tool_name="ha_control", parameters=ON[1])
        assert response["success"] is True
        assert hass.states.get(LIGHT).state == "on"
        assert executed[0].data["success"] is True
        assert not model_server.chats

    async def test_what_is_hidden_is_out_of_reach(
        self, hass: HomeAssistant, model_server: ModelServer
    ) -> None:
        await async_agent(hass, model_server)
        services = async_capture_events(hass, EVENT_CALL_SERVICE)
        for entity_id in ("light.secret_light", "lock.cellar_door", "light.nowhere"):
            action = "unlock" if entity_id.startswith("lock") else "turn_on"
            control = {"action": action, "entity_id": entity_id}
            for tool, parameters in (("ha_control", control), ("ha_query", {"entity_id": entity_id})):
                response = await call(hass, "execute_tool", tool_name=tool, parameters=parameters)
                assert response["success"] is False
                assert not {"Secret", "Cellar"}.intersection(response["error"].split())
        assert {event.data["domain"] for event in services} == {DOMAIN}

    async def test_the_caller_must_be_allowed_to(
        self, hass: HomeAssistant, model_server: ModelServer
    ) -> None:
        await async_agent(hass, model_server)
        query = {"tool_name": "ha_query", "parameters": {"entity_id": LIGHT}}
        control = {"tool_name": "ha_control", "parameters": ON[1]}
        reader, nobody, person = (
            user(hass, controls=False),
            user(hass, reads=False, controls=False),
            user(hass),
        )
        assert (await call(hass, "execute_tool", reader, **query))["success"] is True
        assert (await call(hass, "execute_tool", reader, **control))["success"] is False
        assert (await call(hass, "execute_tool", nobody, **query))["success"] is False
        assert hass.states.get(LIGHT).state == "off"
        services = async_capture_events(hass, EVENT_CALL_SERVICE)
        assert (await call(hass, "execute_tool", person, **control))["success"] is True
        assert {event.context.user_id for event in services} == {person.user_id}

    async def test_what_fails_is_an_error_where_no_response_is_wanted(
        self, hass: HomeAssistant, model_server: ModelServer
    ) -> None:
        await async_agent(hass, model_server)
        with pytest.raises(HomeAssistantError, match="nowhere"):
            await hass.services.async_call(
                DOMAIN,
                "execute_tool",
                {
                    "tool_name": "ha_control",
                    "parameters": {"action": "turn_on", "entity_id": "light.nowhere"},
                },
                blocking=True,
            )


class TestWhichAgent:
    """Two agents: every call has to mean one of them."""

    @pytest.fixture
    async def agents(
        self, hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
    ) -> tuple[Agent, Agent]:
        return await async_agent(hass, model_server), await async_add_agent(hass, other_model_server)

    async def test_one_is_named_or_none(self, hass: HomeAssistant, agents: tuple[Agent, Agent]) -> None:
        """The error says which there are and how to choose."""
        for count, key in enumerate(("config_entry_id", "entry_id"), 1):
            await call(hass, "process", text="Hello", **{key: agents[1].entry.entry_id})
            assert [len(agent.server.chats) for agent in agents] == [0, count]
        with pytest.raises(ServiceValidationError, match="config_entry_id") as error:
            await call(hass, "process", text="Hello")
        assert all(agent.entry.entry_id in str(error.value) for agent in every(agents))
        with pytest.raises(ServiceValidationError, match="nonsense"):
            await call(hass, "process", text="Hello", config_entry_id="nonsense")


async def test_sentences_at_once_keep_their_entities_apart(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    """Turns that overlap each have their own entities of interest."""
    await asyncio.gather(
        call(hass, "process", text="one", context_entities=["light.kitchen_ceiling"]),
        call(hass, "process", text="two", context_entities=["light.bed_light"]),
    )
    by_word = {r.messages[-1]["content"].split()[0]: r.messages[-1]["content"] for r in model_server.chats}
    for word, other in (("one", "light.bed_light"), ("two", "light.kitchen_ceiling")):
        assert other not in by_word[word].partition("This request is about:")[2]
