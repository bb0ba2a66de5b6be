"""Which model notes what was worth remembering: the agent's own, or the external one, told less."""

from collections.abc import Mapping
import json
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.const import DOMAIN, EVENT_MEMORY_EXTRACTED
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from tests.helpers.agent import async_agent
from tests.helpers.cloud import names_lead_home, outside
from tests.helpers.extraction_notes import VEGETARIAN, Notes
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text, tool_calls

__all__ = ["names_lead_home"]

NOTES = text(json.dumps({"memories": [VEGETARIAN]}))


async def learner(
    hass: HomeAssistant, server: ModelServer, freezer: FrozenDateTimeFactory, url: str, **options: Any
) -> Notes:
    """Return an agent that learns by an external model, spoken to by Anna."""
    chosen = {
        "memory_extraction_llm": "external",
        "external_llm_enabled": True,
        "external_llm_base_url": url,
        "external_llm_model": "big",
        **options,
    }
    agent = await async_agent(hass, server, chosen)
    anna = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    return Notes(agent, Context(user_id=anna.id), freezer)


def issues(hass: HomeAssistant) -> Mapping[str, str | None]:
    """Return the repair issues of ours, with their translation keys."""
    return {
        key[1]: issue.translation_key for key, issue in ir.async_get(hass).issues.items() if key[0] == DOMAIN
    }


async def test_the_external_model_is_told_what_was_said(
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
) -> None:
    """And nothing of the house; the event names it, and the agent's own model is not asked."""
    events = async_capture_events(hass, EVENT_MEMORY_EXTRACTED)
    notes = await learner(hass, model_server, freezer, other_model_server.url)
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
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
) -> None:
    """No name, and no answer that drew on what stays at home."""
    notes = await learner(hass, model_server, freezer, outside(other_model_server))
    other_model_server.default = NOTES
    await notes.say("I am vegetarian")
    model_server.script([tool_calls([("recall_memory", {"query": "*"})]), text("You like the honey, Anna.")])
    await notes.say("And I like something with my tea, you know what")
    first, second = (request.messages[0]["content"] for request in other_model_server.chats)
    assert first.startswith("Person: I am vegetarian\n\n")
    assert "Anna" not in first + second
    assert "Assistant:" not in second


@pytest.mark.usefixtures("names_lead_home")
async def test_one_outside_is_told_more_by_option(
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
) -> None:
    """The name, and an answer that drew on nothing private."""
    url = outside(other_model_server)
    notes = await learner(hass, model_server, freezer, url, cloud_send_profile=True)
    await notes.say("I am a vegetarian cook")
    told = other_model_server.chats[-1].messages[0]["content"]
    assert "Anna" in told
    assert "Assistant: All right." in told


@pytest.mark.parametrize("off", [{"external_llm_enabled": False}, {"external_llm_model": ""}])
async def test_one_that_is_off_is_replaced(
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    *,
    off: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By the agent's own model; a repair says so once and goes when that has changed."""
    events = async_capture_events(hass, EVENT_MEMORY_EXTRACTED)
    notes = await learner(hass, model_server, freezer, other_model_server.url, **off)
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


async def test_one_that_is_down_is_asked_again(
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
) -> None:
    notes = await learner(hass, model_server, freezer, other_model_server.url)
    other_model_server.script([status(401, "no"), NOTES])
    await notes.say("I am vegetarian")
    assert notes.contents == []
    await notes.wait(1000)
    assert notes.contents == ["Anna is vegetarian"]
