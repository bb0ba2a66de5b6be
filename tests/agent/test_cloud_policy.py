"""What a model outside the house is told: cut for each model, the moment it is asked."""

from typing import Any

import pytest

from custom_components.home_agent.lifecycle.llm_api import async_one_call
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.checks import every
from tests.helpers.cloud import names_lead_home, outside
from tests.helpers.learned import CODE, MEMORY, learned, read
from tests.helpers.options_pages import save
from tests.helpers.remembering import FACT, remember, told, user
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text, tool_calls

__all__ = ["names_lead_home"]

pytestmark = pytest.mark.usefixtures("names_lead_home")

SECRETS = ("honey", "4711", "vegetarian", "hay fever", "Annabel")
DOWN = status(503, "down")


async def with_fallback(
    hass: HomeAssistant, server: ModelServer, fallback: ModelServer, **options: Any
) -> Agent:
    """Return an agent whose own model runs in the house and whose fallback does not."""
    addresses = {"fallback_llm_base_url": outside(fallback), "fallback_llm_model": "big"}
    return await async_agent(hass, server, {**addresses, "history_enabled": True, **options})


async def test_home_is_told_and_the_fallback_in_the_same_turn_is_not(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """The request is cut for the model that is really asked."""
    agent = await with_fallback(hass, model_server, other_model_server)
    anna = await learned(agent)
    model_server.default = DOWN
    other_model_server.default = text("From outside.")
    said = "What tea, and what about my allergy and the shed?"
    assert speech(await agent.say(said, context=anna)) == "From outside."
    at_home = read(model_server.chats[0])
    assert all(secret in at_home for secret in SECRETS)
    abroad = read(other_model_server.chats[-1])
    assert not [secret for secret in (*SECRETS, "Dutch") if secret in abroad]
    assert said in abroad
    assert "light.kitchen_ceiling" in abroad, "what it needs to control the house is there"


async def test_what_stays_at_home_does_not_stand_in_every_request(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """Every turn would have drawn on it, and the fallback would not know what was said before."""
    anna = user(hass, "Anna")
    agent = await with_fallback(hass, model_server, other_model_server)
    await remember(agent, FACT, anna)
    assert FACT not in await told(agent, "Turn on the light", anna)
    await agent.set_options(cloud_send_profile=True)
    assert FACT in await told(agent, "Turn on the light", anna)


async def test_the_switch_lets_out_what_is_public(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """And memories that are not private; what is private or sensitive stays."""
    agent = await with_fallback(hass, model_server, other_model_server, cloud_send_profile=True)
    anna = await learned(agent)
    model_server.default = DOWN
    other_model_server.default = text("From outside.")
    await agent.say("What tea, and what about my allergy, diet, and the shed code?", context=anna)
    abroad = read(other_model_server.chats[-1])
    assert all(shown in abroad for shown in ("honey", "Dutch", "Annabel"))
    assert not [secret for secret in ("4711", "vegetarian", "hay fever") if secret in abroad]


async def test_results_for_the_model_at_home_do_not_follow_to_the_fallback(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """Nor what that model said in between, nor what it asked; and the same call again gives nothing."""
    agent = await with_fallback(hass, model_server, other_model_server)
    anna = await learned(agent)
    calls = [("recall_memory", {"query": "shed code 4711"}), ("get_user_profile", {})]
    spoken = tool_calls(calls, text="Your shed code is 4711, let me see.")
    model_server.script([spoken])
    model_server.default = DOWN
    other_model_server.script([tool_calls([("recall_memory", {"query": "shed code 4711"})]), text("No.")])
    await agent.say("Which one was it?", context=anna)
    assert "4711" in read(model_server.chats[1])
    assert len(other_model_server.chats) == 2
    for request in every(other_model_server.chats):
        mine = [m for m in request.messages if m["role"] != "assistant" or "shed code" not in str(m)]
        assert not [secret for secret in SECRETS if secret in str(mine)]
    kept = tool_results(other_model_server.chats[0])
    assert all("kept at home" in item["result"] for item in every(kept))


async def test_earlier_turns_that_drew_on_it_stay_at_home(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """Those that did not are told."""
    agent = await with_fallback(hass, model_server, other_model_server)
    router = agent.entry.runtime_data.router
    other_model_server.default = text("From outside.")
    first = await agent.say("Good morning, house")
    model_server.default = DOWN
    await agent.say("And now?", conversation_id=first.conversation_id)
    assert "Good morning, house" in read(other_model_server.chats[-1])
    router._resting_until = 0
    model_server.script([tool_calls([("store_memory", {"content": MEMORY})]), text("With honey it is.")])
    anna = user(hass, "Annabel")
    second = await agent.say("Remember how I like it", context=anna)
    await agent.say("And the rest?", conversation_id=second.conversation_id, context=anna)
    assert "And the rest?" in read(other_model_server.chats[-1])
    assert "honey" not in read(other_model_server.chats[-1])
    assert "how I like it" not in read(other_model_server.chats[-1])


async def test_the_mark_outlives_a_restart(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """It is stored with the turn, and never sent."""
    agent = await with_fallback(hass, model_server, other_model_server)
    anna = await learned(agent)
    model_server.script([text("Your tea, with honey.")])
    first = await agent.say("What tea do I take?", context=anna)
    await hass.config_entries.async_reload(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    model_server.script([text("With honey.")])
    await agent.say("Say it again", conversation_id=first.conversation_id, context=anna)
    assert "Your tea, with honey." in read(model_server.chats[-1])
    assert "at_home" not in read(model_server.chats[-1])
    model_server.default = DOWN
    other_model_server.default = text("From outside.")
    await agent.say("Again", conversation_id=first.conversation_id, context=anna)
    assert "honey" not in read(other_model_server.chats[-1])


async def test_no_states_leave_the_house(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """Names do: devices can be controlled, and what was done is told without values."""
    agent = await with_fallback(hass, model_server, other_model_server, cloud_send_ha_state=False)
    model_server.default = DOWN
    calls = [
        ("ha_query", {"entity_id": "sensor.kitchen_temperature"}),
        ("ha_control", {"action": "turn_on", "entity_id": "light.kitchen_ceiling"}),
    ]
    other_model_server.script([tool_calls(calls), text("Done.")])
    await agent.say("Turn on the kitchen light and tell me the kitchen temperature")
    assert hass.states.get("light.kitchen_ceiling").state == "on"
    assert "21.5" in read(model_server.chats[0])
    first, second = other_model_server.chats
    for request in (first, second):
        assert "21.5" not in read(request)
        assert "sensor.kitchen_temperature" in read(request)
    query, control = tool_results(second)
    assert query["success"]
    assert control["success"]
    assert "kept at home" in query["result"]


async def test_a_cloud_primary(hass: HomeAssistant, model_server: ModelServer) -> None:
    """It may note things, but is told nothing; with the switch on it recalls what is not private."""
    agent = await async_agent(
        hass, model_server, {"history_enabled": False}, llm_base_url=outside(model_server)
    )
    anna = user(hass, "Annabel")
    model_server.script([tool_calls([("store_memory", {"content": MEMORY})]), text("Yes.")])
    await agent.say("Remember that I take honey", context=anna)
    result = tool_results(model_server.chats[-1])[-1]
    assert result["success"]
    assert "Tell the person" in result["result"]["note"]
    assert "cloud_send_profile" in result["result"]["note"]
    for on in (False, True):
        await agent.set_options(cloud_send_profile=on)
        model_server.clear()
        model_server.script([tool_calls([("recall_memory", {"query": "tea"})]), text("So.")])
        await agent.say("What do I take in my tea?", context=anna)
        assert [("honey" in read(request)) for request in model_server.chats] == [on, on]
        (result,) = tool_results(model_server.chats[-1])
        assert result["success"] is on


@pytest.mark.parametrize("on", [False, True])
async def test_a_model_is_told_what_it_will_not_see_again(
    hass: HomeAssistant, model_server: ModelServer, *, on: bool
) -> None:
    """So that it does not promise to remember: with the switch on only what is private or sensitive."""
    options = {"history_enabled": False, "cloud_send_profile": on}
    agent = await async_agent(hass, model_server, options, llm_base_url=outside(model_server))
    anna = user(hass, "Annabel")
    told = []
    for said, call in (
        ("Remember that I take honey", ("store_memory", {"content": MEMORY})),
        ("Remember that the shed code is 4711", ("store_memory", {"content": CODE})),
        ("I live on plants", ("update_user_profile", {"category": "food", "key": "diet", "value": "vegan"})),
        ("Note it", ("update_user_profile", {"category": "health", "key": "allergy", "value": "hay fever"})),
    ):
        model_server.script([tool_calls([call]), text("Yes.")])
        await agent.say(said, context=anna)
        told.append("note" in tool_results(model_server.chats[-1])[-1]["result"])
    assert told == [not on, True, told[2], True]
    assert told[2] or on


async def test_nothing_is_read_ahead_outside(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """Neither by a cloud model nor by a cloud fallback while the own model is down."""
    agent = await with_fallback(hass, model_server, other_model_server)
    model_server.default = DOWN
    await agent.entry.runtime_data.warmer.async_warm()
    await agent.say("Hello")
    other_model_server.clear()
    await agent.entry.runtime_data.warmer.async_warm()
    assert not other_model_server.chats


async def test_what_is_learned_afterwards_stays_too(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """The request that looks for something to remember carries the turn; the fallback never gets it."""
    agent = await with_fallback(hass, model_server, other_model_server)
    anna = await learned(agent)
    await hass.async_block_till_done(wait_background_tasks=True)
    model_server.script([text("All right."), DOWN, DOWN])
    model_server.default = DOWN
    await agent.say("My sister visits us each summer", context=anna)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not other_model_server.chats


async def test_other_agents_may_be_anywhere(hass: HomeAssistant, agent: Agent) -> None:
    """Who uses our tools from another agent is told as much as a model outside."""
    anna = await learned(agent)
    context = llm.LLMContext("test", anna, "en", "conversation", None)
    api = await llm.async_get_api(hass, "home_agent", context)
    for name, args in (("recall_memory", {"query": "*"}), ("get_user_profile", {})):
        result = await api.async_call_tool(llm.ToolInput(name, args))
        assert not [secret for secret in SECRETS if secret in str(result)]
    turn = await async_one_call(hass, agent.entry.runtime_data.handler, context)
    own = await agent.entry.runtime_data.handler.async_execute(
        llm.ToolInput("recall_memory", {"query": "*"}), turn
    )
    assert "honey" in str(own.data), "a service call is no model"


async def test_a_server_outside_embeds_nothing_of_people(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """Only what was said, to find what is meant; memories and profile are found by their words."""
    options = {
        "vector_db_embedding_provider": "openai",
        "vector_db_embedding_base_url": outside(other_model_server),
        "vector_db_embedding_model": "embed",
    }
    agent = await async_agent(hass, model_server, options)
    anna = await learned(agent)
    await agent.entry.runtime_data.async_sync()
    await agent.say("What tea do I take?", context=anna)
    embedded = "".join(str(request.raw) for request in other_model_server.requests)
    assert "light" in embedded
    assert not [secret for secret in SECRETS if secret in embedded]
    assert "honey" in read(model_server.chats[-1])


async def test_other_servers_outside_are_warned_about(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """Nothing is stored before somebody has read what the server receives; one at home needs no word."""
    agent = await async_agent(hass, model_server)
    for page, step, typed in [
        (
            "web",
            "external_cloud",
            {"external_llm_enabled": True, "external_llm_base_url": "", "external_llm_model": "test-model"},
        ),
        (
            "vector_store",
            "vector_cloud",
            {
                "vector_db_embedding_provider": "openai",
                "vector_db_embedding_base_url": "",
                "vector_db_embedding_model": "embedder",
            },
        ),
    ]:
        with subtests.test(page=page, step=step):
            flows = hass.config_entries.options
            field = next(key for key in typed if key.endswith("base_url"))
            for address, expected in ((other_model_server.url, None), (outside(other_model_server), step)):
                told = await save(hass, agent.entry, page, {**typed, field: address})
                if expected is None:
                    assert told.get("step_id") != step
                    continue
                assert told["step_id"] == expected
                assert told["description_placeholders"]["host"] == "models.example.com"
                assert field not in agent.entry.options or agent.entry.options[field] != address
                await flows.async_configure(told["flow_id"], {"next_step_id": "vector_save"})
                await hass.async_block_till_done(wait_background_tasks=True)
                assert agent.entry.options[field] == address
