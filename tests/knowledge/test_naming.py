"""Questions that name a thing or a room in full: what is of others is left out, what belongs to it is not."""

import pytest

from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, call_action
from tests.helpers.homes import build_home
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer

KINDS = {"light": "lights", "cover": "blinds", "climate": "heating", "switch": "socket"}
BESIDE = 0.5
"""Titles in an answer, on average, that are of other things than the question's."""


@pytest.fixture
async def rooms(hass: HomeAssistant, house: HomeAssistant) -> dict[str, list[str]]:
    """Return the entities of a large house by room, with automations for each kind and one for all lights."""
    home = build_home(hass, 600, rooms=20)
    registry, names = er.async_get(hass), ar.async_get(hass)
    rooms: dict[str, list[str]] = {}
    for entity_id in home.entities:
        entry = registry.async_get(entity_id)
        area = names.async_get_area((entry and entry.area_id) or "")
        assert area
        rooms.setdefault(area.name, []).append(entity_id)
    made = [
        automation(f"{domain} {number}", domain, [of_kind(entities, domain)[0]])
        for number, entities in enumerate(rooms.values())
        for domain in KINDS
    ]
    made.append(automation("All off", "light", of_kind(home.entities, "light")))
    assert await async_setup_component(hass, "conversation", {})
    assert await async_setup_component(hass, "automation", {"automation": made})
    return rooms


def of_kind(entity_ids: list[str], domain: str) -> list[str]:
    """Return the entities of a domain."""
    return [entity_id for entity_id in entity_ids if entity_id.startswith(f"{domain}.")]


def automation(title: str, domain: str, targets: list[str]) -> dict[str, object]:
    """Return an automation whose title says nothing of what it is about."""
    name = title.replace("light", "Evening").replace("cover", "Sun").replace("climate", "Frost")
    return {
        "id": title,
        "alias": name.replace("switch", "Standby"),
        "triggers": [{"trigger": "time", "at": "20:00:00"}],
        "actions": [{"action": f"{domain}.turn_off", "target": {"entity_id": targets}}],
    }


async def found(agent: Agent, query: str) -> set[str]:
    """Return the titles that are told of, in full or by name."""
    answer = await call_action(
        agent.hass,
        "execute_tool",
        {"tool_name": "retrieve_knowledge", "parameters": {"query": query, "source": "automation"}},
    )
    assert answer
    result = answer["result"]
    assert isinstance(result, dict)
    assert "left_out" not in result
    told = [str(item["title"]) for item in result["found"]]  # type: ignore[index, union-attr, call-overload]
    return {*told, *(str(item).partition(": ")[2] for item in result.get("also", ()))}  # type: ignore[union-attr]


async def touching(hass: HomeAssistant, entity_ids: list[str]) -> set[str]:
    """Return the titles of the automations that touch any of these."""
    documents = await hass.data[DATA_SHARED].knowledge.async_documents()
    return {
        document.title
        for document in documents.values()
        if document.source == "automation" and not set(entity_ids).isdisjoint(document.entity_ids)
    }


async def test_rooms_and_kinds(
    hass: HomeAssistant, model_server: ModelServer, rooms: dict[str, list[str]]
) -> None:
    """All that touches a room, or a kind of thing in it, and hardly anything else."""
    agent = await async_add_agent(hass, model_server)
    beside = []
    for room, entities in rooms.items():
        questions = {
            f"which automations touch the {room} {said}?": of_kind(entities, domain)
            for domain, said in KINDS.items()
        }
        for query, meant in (questions | {f"what happens in the {room}": entities}).items():
            told, wanted = await found(agent, query), await touching(hass, meant)
            assert wanted <= told, query
            beside.append(len(told - wanted))
    assert sum(beside) / len(beside) <= BESIDE


async def test_single_things(
    hass: HomeAssistant, model_server: ModelServer, rooms: dict[str, list[str]]
) -> None:
    """A thing by its whole name."""
    agent = await async_add_agent(hass, model_server)
    for entities in rooms.values():
        for domain in KINDS:
            (first, *_) = of_kind(entities, domain)
            state = hass.states.get(first)
            assert state
            wanted = await touching(hass, [first])
            told = await found(agent, f"what switches {state.name} by itself")
            assert wanted <= told, state.name
            assert len(told - wanted) <= 1, state.name
