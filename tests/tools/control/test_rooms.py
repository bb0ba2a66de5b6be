"""A robot vacuum is sent to the rooms that a person names, and to no others."""

from typing import Any, override

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.vacuum import (
    Segment,
    StateVacuumEntity,
    VacuumActivity,
    VacuumEntityFeature as Feature,
)
from homeassistant.components.vacuum.const import DATA_COMPONENT
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

ROBBIE = "vacuum.robbie"
ROOMS = {"Kitchen": "ground", "Living Room": "ground", "Bedroom": "upper", "Office": "upper", "Attic": None}


class Robot(StateVacuumEntity):
    """A vacuum that says where it was sent."""

    _attr_should_poll = False

    def __init__(self, name: str, *, rooms: bool) -> None:
        self._attr_name = self._attr_unique_id = name
        self._attr_activity = VacuumActivity.DOCKED
        self._attr_supported_features = Feature.STATE | Feature.START | Feature.RETURN_HOME
        if rooms:
            self._attr_supported_features |= Feature.CLEAN_AREA
        self.sent: list[Any] = []

    async def _async_go(self, where: Any) -> None:
        self.sent.append(where)
        self._attr_activity = VacuumActivity.CLEANING
        self.async_write_ha_state()

    @override
    async def async_start(self) -> None:
        await self._async_go("everywhere")

    @override
    async def async_return_to_base(self, **kwargs: Any) -> None:
        self.sent.append("home")
        self._attr_activity = VacuumActivity.DOCKED
        self.async_write_ha_state()

    @override
    async def async_get_segments(self) -> list[Segment]:
        return []

    @override
    async def async_clean_segments(self, segment_ids: list[str], **kwargs: Any) -> None:
        await self._async_go(sorted(segment_ids))


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent in a house with floors and rooms, without a vacuum yet."""
    agent = await async_agent(hass, model_server)
    floors = {name: fr.async_get(hass).async_create(name).floor_id for name in ("ground", "upper")}
    areas = ar.async_get(hass)
    for name, floor in ROOMS.items():
        area = areas.async_get_or_create(name)
        areas.async_update(area.id, floor_id=floors.get(floor or ""))
    return agent.at_satellite()


async def async_add_robot(
    hass: HomeAssistant, name: str, dock: str, *, rooms: bool = True, mapped: tuple[str, ...] = ()
) -> Robot:
    """Add a vacuum with its dock in a room and parts of its map assigned to rooms."""
    assert await async_setup_component(hass, "vacuum", {})
    robot = Robot(name, rooms=rooms)
    await hass.data[DATA_COMPONENT].async_add_entities([robot])
    registry, areas = er.async_get(hass), ar.async_get(hass)
    registry.async_update_entity(robot.entity_id, area_id=areas.async_get_or_create(dock).id)
    if mapped:
        mapping = {areas.async_get_or_create(room).id: [f"part of {room}"] for room in mapped}
        registry.async_update_entity_options(robot.entity_id, "vacuum", {"area_mapping": mapping})
    async_expose_entity(hass, "conversation", robot.entity_id, True)
    await hass.async_block_till_done()
    return robot


def parts(*rooms: str) -> list[str]:
    return [f"part of {room}" for room in rooms]


GROUND = ("Kitchen", "Living Room")
EVERYWHERE = ["everywhere"]
KITCHEN = [parts("Kitchen")]
CLEAN = {"action": "clean_area"}
START = {"action": "start"}


SENT: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("Vacuum the kitchen", {**CLEAN, "area": "Kitchen"}, KITCHEN),
    ("Vacuum the kitchen", {**CLEAN, "entity_id": ROBBIE, "area": "kitchen"}, KITCHEN),
    ("Vacuum the kitchen", {**CLEAN, "name": "Kitchen"}, KITCHEN),
    ("Vacuum the kitchen", {**START, "domain": "vacuum", "area": "Kitchen"}, KITCHEN),
    ("Vacuum the kitchen", {**CLEAN, "parameters": {"rooms": ["Kitchen"]}}, KITCHEN),
    ("Vacuum the kitchen", {**CLEAN, "cleaning_area_id": "kitchen"}, KITCHEN),
    ("Vacuum both", {**CLEAN, "area": "Kitchen, Living Room"}, [parts(*GROUND)]),
    ("Vacuum downstairs", {**CLEAN, "floor": "ground"}, [parts(*GROUND)]),
    # A room beside another device is not where to clean.
    ("Start the vacuum", {**START, "entity_id": ROBBIE}, EVERYWHERE),
    ("Start the vacuum", {**START, "domain": "vacuum", "area": "Living Room"}, EVERYWHERE),
    ("Turn off the kitchen lights and start the vacuum", {**START, "name": "Robbie"}, EVERYWHERE),
    ("I'm leaving the kitchen, start the vacuum", {**START, "name": "Robbie"}, EVERYWHERE),
]
UNSENT = (
    (True, GROUND, "Robbie cannot be sent to Bedroom. Nothing was started. Rooms: Kitchen, Living Room"),
    (True, (), "Robbie has no rooms assigned to its map"),
    (False, (), "Robbie cannot be sent to single rooms. Nothing was started."),
)


async def test_where_it_cleans(hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests) -> None:
    """Whatever form the call has, a room that was named is the only one."""
    robot = await async_add_robot(hass, "Robbie", "Living Room", mapped=GROUND)
    for sentence, args, sent in SENT:
        with subtests.test(sentence, args=args):
            robot.sent.clear()
            await robot.async_return_to_base()
            result = await agent.call("ha_control", sentence, **args)
            assert result["success"], result
            assert robot.sent == ["home", *sent]


@pytest.mark.parametrize(("rooms", "mapped", "problem"), UNSENT)
async def test_a_room_that_it_cannot_be_sent_to(
    hass: HomeAssistant, agent: Agent, rooms: bool, mapped: tuple[str, ...], problem: str
) -> None:
    """Nothing is cleaned instead, and the model reads why."""
    robot = await async_add_robot(hass, "Robbie", "Living Room", rooms=rooms, mapped=mapped)
    for action in ("start", "clean_area"):
        result = await agent.call(
            "ha_control", "Vacuum the bedroom", action=action, entity_id=ROBBIE, area="Bedroom"
        )
        assert problem in result["error"]
    assert robot.sent == []


async def test_the_vacuum_that_has_the_room(hass: HomeAssistant, agent: Agent) -> None:
    """Of several vacuums the one with the room on its map goes, and each cleans its own rooms."""
    below = await async_add_robot(hass, "Robbie", "Living Room", mapped=GROUND)
    above = await async_add_robot(hass, "Rosie", "Bedroom", mapped=("Bedroom", "Office"))
    await agent.call("ha_control", "Vacuum the office", action="clean_area", area="Office")
    assert (below.sent, above.sent) == ([], [parts("Office")])
    await agent.call(
        "ha_control", "Vacuum the kitchen and the bedroom", action="clean_area", area="Kitchen, Bedroom"
    )
    assert (below.sent, above.sent) == ([parts("Kitchen")], [parts("Office"), parts("Bedroom")])


async def test_vacuums_without_maps_are_told_apart_by_their_rooms(hass: HomeAssistant, agent: Agent) -> None:
    """With one vacuum per floor, the room says which of them is meant."""
    below = await async_add_robot(hass, "Robbie", "Living Room", rooms=False)
    above = await async_add_robot(hass, "Rosie", "Bedroom", rooms=False)
    await agent.call(
        "ha_control", "Start the vacuum in the bedroom", action="start", domain="vacuum", area="Bedroom"
    )
    assert (below.sent, above.sent) == ([], ["everywhere"])


async def test_it_is_offered_where_a_vacuum_has_it(hass: HomeAssistant, agent: Agent) -> None:
    """The action is offered by the feature; the room goes where rooms always go."""
    for name, mapped in (("Robbie", ()), ("Rosie", ("Bedroom",))):
        await async_add_robot(hass, name, "Bedroom", rooms=bool(mapped), mapped=mapped)
        agent.server.script([text("It is.")])
        await agent.say("Is it?")
        tools = {tool["function"]["name"]: tool["function"] for tool in agent.server.chats[-1].json["tools"]}
        actions = tools["ha_control"]["parameters"]["properties"]["action"]["enum"]
        assert ("clean_area" in actions) == bool(mapped)


async def test_a_query_names_its_rooms_and_not_where_it_is(hass: HomeAssistant, agent: Agent) -> None:
    """It moves, so the area of its dock would be taken for the room that it cleans."""
    await async_add_robot(hass, "Robbie", "Living Room", mapped=GROUND)
    await agent.call("ha_control", "Vacuum the kitchen", action="clean_area", area="Kitchen")
    agent.server.clear()
    await agent.act(("ha_query", {"entity_id": ROBBIE}), sentence="Which rooms can Robbie clean?")
    shown = agent.results[-1]["result"]["states"][ROBBIE]
    assert shown.startswith("cleaning, can be sent to: Kitchen, Living Room, changed")
