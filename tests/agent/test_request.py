"""What is sent: stable where it can be, current where it must be."""

from itertools import pairwise

from freezegun.api import FrozenDateTimeFactory
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from homeassistant.components import conversation
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    issue_registry as ir,
)
from tests.helpers.agent import Agent, async_agent
from tests.helpers.checks import every
from tests.helpers.listening import open_session
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

LIGHT = "light.kitchen_ceiling"


async def test_the_stable_part_stays_the_same(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, agent: Agent
) -> None:
    """Over changing states and a running clock, system prompt and tools are the same bytes."""
    conversation_id = None
    for turn in range(5):
        freezer.tick(61)
        hass.states.async_set("sensor.kitchen_temperature", str(20 + turn))
        result = await agent.say(f"How warm is the kitchen, {turn}?", conversation_id=conversation_id)
        conversation_id = result.conversation_id
    requests = model_server.chats
    assert len({request.messages[0]["content"] for request in requests}) == 1
    assert len({str(request.json["tools"]) for request in requests}) == 1
    for earlier, later in every(pairwise(requests)):
        said = earlier.messages[-1]["content"].split("\n\n")[0]
        kept = later.messages[: len(earlier.messages)]
        assert kept[:-1] == earlier.messages[:-1]
        assert kept[-1] == {"role": "user", "content": said}, "the block of the moment is never stored"
    assert "24" in requests[4].messages[-1]["content"]


async def test_place_and_person_are_known(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The room of the device, the person's name and the surface stand beside the sentence."""
    agent = await async_agent(hass, model_server)
    kitchen = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert kitchen is not None
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=agent.entry.entry_id, identifiers={("test", "satellite")}, name="Satellite"
    )
    dr.async_get(hass).async_update_device(device.id, area_id=kitchen.id)
    user = await hass.auth.async_create_user("Anna")
    await agent.say("Hello", device_id=device.id, context=Context(user_id=user.id))
    await agent.say("Hello", context=Context(user_id=user.id))
    await agent.say("Hello")
    spoken, written, automatic = (request.messages[-1]["content"] for request in model_server.chats)
    assert "Anna" in spoken
    assert "Kitchen, Ground floor" in spoken
    assert "by voice" in spoken
    assert "in writing" in written
    assert "an automation" in automatic
    assert "Kitchen, Ground floor" not in written


async def test_a_custom_prompt(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Every variable of earlier releases is filled; the security rules stay."""
    prompt = (
        "Butler of {{ ha_name }}. Heard: {{ user_message }}. Device: {{ current_device_id }}. "
        "{% for e in exposed_entities %}[{{ e.entity_id }}={{ e.state }}]{% endfor %} "
        "{{ entity_context }} Before: {{ conversation_history }}"
    )
    agent = await async_agent(hass, model_server, {"prompt_use_default": False, "prompt_custom": prompt})
    first = await agent.say("Good evening")
    await agent.say("Is the lamp on?", conversation_id=first.conversation_id)
    sent = model_server.chats[1].messages[0]["content"]
    assert f"Butler of {hass.config.location_name}" in sent
    assert "Heard: Is the lamp on?" in sent
    assert "[light.reading_lamp=off]" in sent
    assert "Before: user: Good evening" in sent
    assert sent.count("Ground floor") == 1, "the catalogue stands where the prompt put it, once"
    assert "never instructions" in sent


async def test_a_prompt_that_does_not_render(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The default prompt is used, a repair issue says why, the template's source stays home."""
    agent = await async_agent(hass, model_server)
    issue_id = f"prompt_template_invalid_{agent.entry.entry_id}"
    for broken in ("{{ 1 / 0 }} secret source", "{{ 'x' * 300000 }} secret source"):
        await agent.set_options(prompt_use_default=False, prompt_custom=broken)
        await agent.say("Hello")
        sent = model_server.chats[-1].messages[0]["content"]
        assert "secret source" not in sent
        assert "ha_control" in sent
        assert ir.async_get(hass).async_get_issue("home_agent", issue_id)
    await agent.set_options(prompt_custom="", prompt_use_default=True)
    assert not ir.async_get(hass).async_get_issue("home_agent", issue_id)


async def test_a_conversation_that_the_assistant_began(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    """Its first words are part of the request."""
    conversation_id = "begun-by-the-house"
    with (
        open_session(hass, conversation_id) as session,
        conversation.async_get_chat_log(hass, session) as chat_log,
    ):
        chat_log.async_add_assistant_content_without_tools(
            conversation.AssistantContent(agent_id="satellite", content="Shall I close the garage?")
        )
    await agent.say("Yes please", conversation_id=conversation_id)
    sent = model_server.chats[0].messages
    assert [message["role"] for message in sent] == ["system", "assistant", "user"]
    assert sent[1]["content"] == "Shall I close the garage?"


async def test_history_is_read_back(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """After a reload, and in a new chat of the same person, the conversation goes on."""
    user = await hass.auth.async_create_user("Anna")
    model_server.script([text("Nice to meet you, Anna.")])
    await agent.say("My name is Anna", context=Context(user_id=user.id))
    await hass.config_entries.async_reload(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)  # the prompt is read ahead
    await agent.say("What is my name?", context=Context(user_id=user.id))
    sent = [message["content"] for message in model_server.chats[-1].messages[1:]]
    assert sent[:2] == ["My name is Anna", "Nice to meet you, Anna."]
    await agent.say("Hello", context=Context())
    assert len(model_server.chats[-1].messages) == 2, "somebody else does not get it"


async def test_chosen_entities_are_always_told(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Their states stand beside every sentence, with the attributes chosen for them, whatever it is about."""
    options = {
        "direct_entities": ["light.kitchen_*", "sensor.*"],
        "direct_attributes": ["light.*:effect", "sensor.*:unit_of_measurement"],
    }
    agent = await async_agent(hass, model_server, options)
    hass.states.async_set(LIGHT, "on", {"brightness": 128, "effect": "rainbow"})
    await agent.say("Good morning")
    told = model_server.chats[0].messages[-1]["content"]
    assert f"{LIGHT}: on, 50%" in told
    assert "rainbow" in told
    assert "sensor.kitchen_temperature: 21" in told
    assert "bed_light" not in str(model_server.chats[0].messages)
    async_expose_entity(hass, "conversation", LIGHT, False)
    await agent.say("Good night")
    assert LIGHT not in model_server.chats[-1].messages[-1]["content"]


async def test_the_prompt_is_read_ahead(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, agent: Agent
) -> None:
    """A server at home reads the stable part before a sentence comes, and again after the house changed."""
    await agent.say("Hello")
    er.async_get(hass).async_update_entity("light.bed_light", name="Moonbeam")
    await hass.async_block_till_done()
    freezer.tick(21)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    said, ahead = model_server.chats
    assert "Moonbeam" not in str(said.messages)
    assert "Moonbeam" in ahead.messages[0]["content"]
    assert ahead.json["max_tokens"] == 1
    await agent.say("Hello again")
    assert model_server.chats[2].messages[0] == ahead.messages[0]
    assert model_server.chats[2].json["tools"] == ahead.json["tools"]
