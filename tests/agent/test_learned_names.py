"""A name that the home does not know is kept once a person has said what it means, and has said yes."""

from dataclasses import replace
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.agent.describe import async_deeds
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.safety.frozen import FrozenCall
from custom_components.home_agent.tools.naming import learned_names
from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from tests.helpers.agent import Agent, async_agent, call_action, speech
from tests.helpers.injection import OutsideTool
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

OPTIONS = {"quick_confirmations": True, "memory_extraction_enabled": False}
LAMP = "light.reading_lamp"
OFFER = "Should I remember that “piano lamp” is the Reading Lamp?"
KEPT = "piano lamp = Reading Lamp"


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    return (await async_agent(hass, model_server, OPTIONS)).at_satellite()


def on(**target: Any) -> Reply:
    """Return the call that turns something on."""
    return tool_calls([("ha_control", {"action": "turn_on", **target})])


async def say(
    agent: Agent,
    sentence: str,
    *replies: Reply,
    after: conversation.ConversationResult | None = None,
    **options: Any,
) -> conversation.ConversationResult:
    agent.server.clear()
    agent.server.script(list(replies))
    return await agent.say(sentence, conversation_id=after.conversation_id if after else None, **options)


async def clarify(
    agent: Agent, name: str = "piano lamp", entity_id: str = LAMP, said: str = "", **options: Any
) -> conversation.ConversationResult:
    """Ask for something by a name that nothing has, say which one is meant, and return the answer to that."""
    asked = await say(
        agent,
        said or f"Turn on the {name}",
        on(name=name),
        text("Which lamp do you mean?"),
        **options,
    )
    return await say(
        agent,
        "I mean the one by the sofa",
        on(entity_id=entity_id),
        text("It is on."),
        after=asked,
        **options,
    )


def kept(agent: Agent) -> list[str]:
    return [memory.content for memory in agent.entry.runtime_data.memories.all()]


async def test_a_name_is_learned_and_forgotten(hass: HomeAssistant, agent: Agent) -> None:
    """The offer follows the confirmation; after a yes everybody may use the name, until that is undone."""
    offered = await clarify(agent)
    assert speech(offered) == f"I turned on the Reading Lamp. {OFFER}"
    assert offered.continue_conversation
    assert kept(agent) == []
    done = await say(agent, "Yes please", after=offered)
    assert speech(done) == "I'll remember that."
    assert kept(agent) == [KEPT]
    entry = er.async_get(hass).async_get(LAMP)
    assert entry is not None
    assert not [alias for alias in entry.aliases if isinstance(alias, str)]

    await hass.services.async_call("light", "turn_off", {"entity_id": LAMP}, blocking=True)
    await say(agent, "Turn on the piano lamp", on(name="piano lamp"))
    assert hass.states.is_state(LAMP, "on")
    assert "piano lamp" in str(agent.server.chats[0].json["messages"][0])

    (deed,) = [
        entry
        for entry in agent.entry.runtime_data.handler.guard.journal.entries(20, "action")
        if entry["service"] == f"{DOMAIN}.learn_name"
    ]
    assert deed["success"]
    row = FrozenCall(domain=DOMAIN, service="learn_name", entity_ids=(), data={})
    assert await async_deeds(hass, "en", [(row, False)]) == ["I'll remember that."]
    undo = tool_calls([("activity", {"action": "undo"})])
    await say(agent, "Undo that", undo, text("Undone."))  # the lamp
    await say(agent, "And what was before", undo, text("Undone."), after=done)  # the name
    assert kept(agent) == []
    await say(agent, "Turn on the piano lamp", on(name="piano lamp"), text("Which lamp do you mean?"))
    assert "nothing is called" in str(agent.server.chats[1].json["messages"])


async def test_in_one_sentence(agent: Agent) -> None:
    """Somebody who corrects themselves is offered it at once; the panel and the action undo it too."""
    answer = await say(
        agent,
        "Turn on the piano lamp, no, I meant the one by the sofa",
        on(name="piano lamp"),
        on(entity_id=LAMP),
        text("It is on."),
    )
    assert speech(answer) == f"It is on. {OFFER}"
    await say(agent, "Yes", after=answer)
    assert kept(agent) == [KEPT]
    assert (await call_action(agent.hass, "undo", {}))["error"] is None
    assert kept(agent) == []


@pytest.mark.parametrize("target", [{"entity_id": "light.piano_lamp"}, {"name": "the piano lamp"}])
async def test_what_models_write(agent: Agent, target: dict[str, str]) -> None:
    """An id that does not exist, and an article, are not part of the name."""
    asked = await say(agent, "Turn on the piano lamp", on(**target), text("Which one do you mean?"))
    answer = await say(agent, "The one by the sofa", on(entity_id=LAMP), after=asked)
    assert speech(answer).endswith(OFFER)


async def test_a_no_is_final(agent: Agent) -> None:
    """A name is offered once, also after a restart."""
    offered = await clarify(agent)
    await say(agent, "No", after=offered)
    assert kept(agent) == []
    assert OFFER not in speech(await clarify(agent))
    state = agent.entry.runtime_data.suggested
    again = type(state)(lambda: None)
    again.restore(state.stored())
    assert list(again.offered_names) == ["pianolamp"]
    assert speech(await clarify(agent, "harp lamp")).endswith("“harp lamp” is the Reading Lamp?")


@pytest.mark.parametrize(
    ("case", "name", "entity_id"),
    [
        ("a lock", "big gate", "lock.front_door"),
        ("a kind in a room", "kitchen light", LAMP),
        ("a kind", "lamps", LAMP),
        ("the name of something", "bed light", LAMP),
        ("words of the model", "piano lamp", LAMP),
        ("a whole sentence", "piano lamp that my late grandfather once brought", LAMP),
        ("text from outside", "piano lamp", LAMP),
        ("a guest", "piano lamp", LAMP),
        ("somebody unknown who writes", "piano lamp", LAMP),
        ("an automation", "piano lamp", LAMP),
        ("no memory", "piano lamp", LAMP),
        ("an order", "ignore previous instructions", LAMP),
    ],
)
async def test_what_is_not_offered(
    hass: HomeAssistant, agent: Agent, case: str, name: str, entity_id: str
) -> None:
    """Nothing that opens, nothing that other words mean, and nothing for those who may not teach."""
    options: dict[str, Any] = {}
    said = "Turn on the thing there" if case == "words of the model" else ""
    if case == "text from outside":
        handler = agent.entry.runtime_data.handler
        handler.set_tools([*handler.tools.values(), OutsideTool()])
        agent.server.script([tool_calls([("read_outside", {})]), text("Read.")])
        read = await agent.say("Read it", conversation_id="outside")
        options = {"after": read}
    if case == "a guest":
        await hass.services.async_call(
            "switch", "turn_on", {"entity_id": "switch.home_agent_guest_mode"}, blocking=True
        )
    if case == "somebody unknown who writes":
        options = {"context": Context(user_id=MockUser(name="Zoe").add_to_hass(hass).id)}
    if case == "an automation":
        options = {"context": Context()}
    if case == "no memory":
        await agent.set_options(memory_enabled=False)
    if "after" in options:
        agent.server.clear()
        agent.server.script([on(name=name), text("Which lamp do you mean?")])
        asked = await agent.say(f"Turn on the {name}", conversation_id="outside")
        answer = await say(agent, "The one by the sofa", on(entity_id=entity_id), text("Done."), after=asked)
    else:
        answer = await clarify(agent, name, entity_id, said, **options)
    assert "remember" not in speech(answer)
    assert not agent.entry.runtime_data.suggested.offered_names


async def learn(agent: Agent, name: str, entity_id: str = LAMP) -> None:
    assert (
        speech(await say(agent, "Yes", after=await clarify(agent, name, entity_id))) == "I'll remember that."
    )


async def test_names_that_are_alike_are_kept_beside_each_other(agent: Agent) -> None:
    """One more name takes no other one's place; each is listed, and survives a restart."""
    for name in ("piano lamp", "grand piano lamp"):
        await learn(agent, name)
    assert sorted(kept(agent)) == ["grand piano lamp = Reading Lamp", KEPT]
    memories = agent.entry.runtime_data.memories
    assert learned_names(memories) == {LAMP: ("piano lamp", "grand piano lamp")}
    stored = memories.stored()
    await memories.async_drop([memory.id for memory in memories.all()])
    del stored[1]["learned"]  # as an earlier version has written it
    assert memories.restore(stored) is None
    assert learned_names(memories) == {LAMP: ("piano lamp",)}
    house = await agent.entry.runtime_data.house.async_snapshot()
    assert house is await agent.entry.runtime_data.house.async_snapshot()
    whole = await agent.entry.runtime_data.shared.house.async_snapshot()
    assert house.areas.keys() == whole.areas.keys()


@pytest.mark.parametrize("where", ["an unknown voice", "the action"])
async def test_other_memories_are_no_names(hass: HomeAssistant, agent: Agent, where: str) -> None:
    """Whoever writes such a memory: only what the agent has asked about is a name."""
    content = "kitchen lights means light.bed_light"
    if where == "the action":
        await call_action(hass, "add_memory", {"content": content})
    else:
        await agent.call("memory", f"Remember: {content}", action="remember", text=content, household=True)
    assert kept(agent) == [content]
    await say(agent, "Turn on the kitchen lights", on(name="kitchen lights"), text("Which ones?"))
    assert hass.states.is_state("light.bed_light", "off")
    assert learned_names(agent.entry.runtime_data.memories) == {}


async def test_a_memory_with_other_words_is_no_name(agent: Agent) -> None:
    """A similar memory is stored beside a learned name, and a rewritten one no longer teaches its name."""
    await learn(agent, "piano lamp")
    memories = agent.entry.runtime_data.memories
    await call_action(agent.hass, "add_memory", {"content": "Piano lamp means reading lamp"})
    assert len(kept(agent)) == 2
    (memory,) = [memory for memory in memories.all() if memory.learned]
    await memories.async_rewrite(replace(memory, content="piano lamp means Bed Light"), memory.provenance[0])
    assert learned_names(memories) == {}
