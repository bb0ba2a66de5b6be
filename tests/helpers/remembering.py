"""Memories that are stored and read through turns."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.memory.memories import make_memory
from custom_components.home_agent.memory.records import Provenance
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent
from tests.servers.replies import text

FACT = "Anna drinks her tea with honey"
MUCH = [f"Kwartzo{number} vluchtmo frimbel{number} oszlop drunk{number}al" for number in range(40)]
"""Too much to stand in every request, and no word of it is in a sentence."""


def user(hass: HomeAssistant, name: str) -> Context:
    return Context(user_id=MockUser(name=name, is_owner=True).add_to_hass(hass).id)


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    """Return Anna's context, in each module that imports it."""
    return user(hass, "Anna")


@pytest.fixture
def ben(hass: HomeAssistant) -> Context:
    """Return Ben's, made after Anna's where a test takes both."""
    return user(hass, "Ben")


async def remember(
    agent: Agent, content: str, context: Context | None = None, said: str = "Remember it", **more: Any
) -> dict[str, Any]:
    """Let the model store a memory; return what it got back."""
    return await agent.call("store_memory", said, content=content, context=context, **more)


async def remember_much(agent: Agent) -> None:
    """Let an agent remember so much of the household that memories are searched for."""
    for content in MUCH:
        heard = Provenance(at=dt_util.utcnow())
        memory = make_memory(content, importance=0.1, heard=heard)
        await agent.entry.runtime_data.memories.async_remember(memory)


async def told(agent: Agent, sentence: str, context: Context | None = None) -> str:
    """Say something in a new conversation and return what the model is told beside it, and always."""
    agent.server.script([text("All right.")])
    await agent.say(sentence, context=context)
    messages = agent.server.chats[-1].messages
    return f"{messages[-1]['content']}\n{known(messages[0]['content'])}"


def known(system: str) -> str:
    """Return what a system prompt tells of people."""
    return system.partition("Known of the household and the speaker")[2]
