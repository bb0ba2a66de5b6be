"""What stands beside a sentence in the demo house, and nothing else; the sentences are in `beside.yaml`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.conversations.history import make_turn
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from homeassistant.util.yaml import load_yaml
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.checks import every
from tests.helpers.demo_house import async_demo_house
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

HEADING = "States, others by ha_query"
CASES = Path(__file__).parent / "beside.yaml"


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent in the demo house, and a satellite."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    model_server.default = text("All right.")
    found = await async_add_agent(hass, model_server)
    dr.async_get(hass).async_get_or_create(config_entry_id=found.entry.entry_id, identifiers={("x", "ear")})
    return found


async def beside(agent: Agent, case: Mapping[str, Any], conversation_id: str) -> str:
    """Return what was added to a sentence in the request that the model server got."""
    hass = agent.hass
    devices = dr.async_get(hass)
    (ear,) = [
        device
        for device in dr.async_entries_for_config_entry(devices, agent.entry.entry_id)
        if ("x", "ear") in device.identifiers
    ]
    areas = {area.name: area.id for area in ar.async_get(hass).async_list_areas()}
    devices.async_update_device(ear.id, area_id=areas[case["area"]] if "area" in case else None)
    if "before" in case:
        turn = make_turn(
            [{"role": "user", "content": "before"}, {"role": "assistant", "content": "All right."}],
            at=dt_util.utcnow(),
            persist=True,
            about=case["before"],
        )
        assert turn is not None
        agent.entry.runtime_data.shared.history.append_turn(agent.entry.entry_id, conversation_id, turn)
    agent.server.clear()
    await agent.say(
        case["say"], conversation_id=conversation_id, language=case.get("language", "en"), device_id=ear.id
    )
    content = agent.server.chats[0].messages[-1]["content"]
    assert isinstance(content, str)
    return content.partition(case["say"])[2]


def problems(case: Mapping[str, Any], shown: str) -> list[str]:
    """Return what is missing beside a sentence, and what should not be there."""
    block = shown.partition(HEADING)[2]
    if case.get("none"):
        return [f"{case['say']}: {block}"] if block else []
    missing = [f"{case['say']}: no {part}: {block}" for part in case.get("has", ()) if part not in block]
    return missing + [f"{case['say']}: {part}: {block}" for part in case.get("has_not", ()) if part in block]


async def test_sentences_have_their_states_and_no_others(agent: Agent) -> None:
    cases = await agent.hass.async_add_executor_job(load_yaml, str(CASES))
    assert isinstance(cases, list)
    found: list[str] = []
    for number, case in enumerate(every(cases)):
        # One satellite continues its conversation, so each sentence begins with a clear one.
        await agent.hass.services.async_call("home_agent", "clear_conversation", {}, blocking=True)
        found += problems(case, await beside(agent, case, f"conversation-{number}"))
    assert not found, "\n".join(found)


async def test_the_language_is_told_only_if_the_sentence_is_in_it(agent: Agent) -> None:
    sentences = {
        ("Wie warm ist es im Schlafzimmer?", "en"): False,
        ("How warm is the bedroom?", "en"): True,
        ("Wie warm ist es im Schlafzimmer?", "de"): True,
        ("How warm is it in the bedroom?", "de"): False,
        ("Кто дома сейчас?", "en"): False,
        ("Je v kuchyni světlo?", "cs"): True,
    }
    told = {
        (say, language): f"language {language}"
        in await beside(agent, {"say": say, "language": language}, say)
        for say, language in sentences
    }
    assert told == sentences
