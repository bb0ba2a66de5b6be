"""Players that play the same: who joins whom, who leaves, and what an undo restores."""

from typing import override

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.media_player import (
    MediaPlayerEntity,
    MediaPlayerEntityFeature as Feature,
    MediaPlayerState as Is,
)
from homeassistant.components.media_player.const import DATA_COMPONENT
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.servers.model_server import ModelServer

KITCHEN, LIVING, BATH, TV = (
    "media_player.kitchen_speaker",
    "media_player.living_room_speaker",
    "media_player.bathroom_speaker",
    "media_player.television",
)
ROOMS = {KITCHEN: "Kitchen", LIVING: "Living Room", BATH: "Bathroom", TV: "Living Room"}


class Speaker(MediaPlayerEntity):
    """A player that knows whom it plays with."""

    _attr_should_poll = False
    _attr_volume_level = 0.4

    def __init__(self, name: str, others: dict[str, Speaker], *, groups: bool = True) -> None:
        self._attr_name = self._attr_unique_id = name
        self._attr_state = Is.IDLE
        self._attr_supported_features = Feature.PLAY | Feature.VOLUME_SET
        if groups:
            self._attr_supported_features |= Feature.GROUPING
        self._attr_group_members = []
        self.others = others

    def show(self, state: Is) -> None:
        self._attr_state = state
        self.async_write_ha_state()

    def form(self, members: list[str]) -> None:
        self._attr_group_members = members if len(members) > 1 else []
        self.async_write_ha_state()

    @override
    async def async_join_players(self, group_members: list[str]) -> None:
        members = list(dict.fromkeys((self.entity_id, *(self._attr_group_members or ()), *group_members)))
        for entity_id in members:
            self.others[entity_id].form(members)

    @override
    async def async_unjoin_player(self) -> None:
        """Leave; the others go on."""
        members = [one for one in self._attr_group_members or () if one != self.entity_id]
        self.form([])
        for entity_id in members:
            self.others[entity_id].form(members)

    @override
    async def async_set_volume_level(self, volume: float) -> None:
        self._attr_volume_level = volume
        self.async_write_ha_state()


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent that is spoken to by nobody who is known."""
    return (await async_agent(hass, model_server)).at_satellite()


@pytest.fixture
async def players(hass: HomeAssistant, agent: Agent) -> dict[str, Speaker]:
    """Three speakers, and a television that plays alone."""
    assert await async_setup_component(hass, "media_player", {})
    found: dict[str, Speaker] = {}
    for entity_id in ROOMS:
        name = entity_id.partition(".")[2].replace("_", " ").title()
        player = Speaker(name, found, groups=entity_id != TV)
        player.entity_id = entity_id
        found[entity_id] = player
    await hass.data[DATA_COMPONENT].async_add_entities(found.values())
    for entity_id, room in ROOMS.items():
        area = ar.async_get(hass).async_get_or_create(room)
        er.async_get(hass).async_update_entity(entity_id, area_id=area.id)
        async_expose_entity(hass, "conversation", entity_id, True)
    await hass.async_block_till_done()
    return found


def together(hass: HomeAssistant, entity_id: str) -> list[str]:
    """Return the group of a player, its leader first."""
    state = hass.states.get(entity_id)
    assert state is not None
    members: list[str] = state.attributes.get("group_members") or []
    return members


async def test_the_one_that_plays_leads(
    hass: HomeAssistant, agent: Agent, players: dict[str, Speaker], subtests: pytest.Subtests
) -> None:
    """The music goes on, whichever player the call names first."""
    for sentence, args in [
        ("Play it in the kitchen too", {"action": "join", "entity_id": KITCHEN}),
        ("Play it in the kitchen too", {"action": "join", "area": "Kitchen", "domain": "media_player"}),
        (
            "Play it in the kitchen too",
            {"action": "join", "entity_id": LIVING, "parameters": {"group_members": [KITCHEN]}},
        ),
        (
            "Play it in the kitchen too",
            {"action": "join", "entity_id": KITCHEN, "parameters": {"group_members": [LIVING]}},
        ),
        ("Group the living room and kitchen speakers", {"action": "join", "entity_id": [KITCHEN, LIVING]}),
        ("Group the living room and the kitchen", {"action": "join", "area": "Living Room, Kitchen"}),
        ("Group both", {"action": "join", "name": "Kitchen Speaker, Living Room Speaker"}),
        ("Play it in the kitchen too", {"action": "media_player.join", "entity_id": KITCHEN}),
    ]:
        with subtests.test(sentence=sentence, args=args):
            players[LIVING].show(Is.PLAYING)
            result = await agent.call("ha_control", sentence, **args)
            assert result["success"], result
            assert result["result"]["done"].keys() == {LIVING, KITCHEN}
            assert result["result"]["done"][KITCHEN] == "plays together with Living Room Speaker"
            assert together(hass, KITCHEN) == [LIVING, KITCHEN]


async def test_what_is_not_clear_is_said(
    hass: HomeAssistant, agent: Agent, players: dict[str, Speaker], subtests: pytest.Subtests
) -> None:
    """Nothing is guessed, and nothing is called."""
    ar.async_get(hass).async_get_or_create("Bedroom")
    for playing, args, problem in [
        ((), {"action": "join", "entity_id": KITCHEN}, "Nothing else plays"),
        ((LIVING, BATH), {"action": "join", "entity_id": KITCHEN}, "Several play"),
        ((LIVING,), {"action": "join", "entity_id": [TV, KITCHEN]}, "Television cannot play in a group"),
        ((LIVING,), {"action": "unjoin", "entity_id": KITCHEN}, "Kitchen Speaker plays in no group"),
        ((LIVING,), {"action": "join", "area": "Bedroom"}, "Players that can: Bathroom Speaker, Kitchen"),
    ]:
        with subtests.test(playing=playing, args=args):
            for entity_id in playing:
                players[entity_id].show(Is.PLAYING)
            result = await agent.call("ha_control", "Play it there too", **args)
            assert problem in result["error"]
            assert [together(hass, one) for one in (LIVING, KITCHEN, BATH)] == [[], [], []]


async def test_a_rule_for_one_room(hass: HomeAssistant, agent: Agent, players: dict[str, Speaker]) -> None:
    """Nothing comes into a room where nothing may be changed: not by joining, and not with a group."""
    area = ar.async_get(hass).async_get_or_create("Bathroom")
    await agent.set_options(policy_choices=[{"decision": "never", "areas": [area.id]}])
    players[LIVING].show(Is.PLAYING)
    for args in (
        {"entity_id": BATH},
        {"entity_id": LIVING, "parameters": {"group_members": [BATH]}},
        {"entity_id": [KITCHEN, BATH]},
    ):
        result = await agent.call("ha_control", "Play it there too", action="join", **args)
        assert "rule of the household" in result["error"]
        assert together(hass, BATH) == []
    for entity_id in (LIVING, BATH):
        players[entity_id].form([LIVING, BATH])
    players[LIVING].show(Is.PAUSED)
    result = await agent.call("ha_control", "Go on playing", action="play", entity_id=LIVING)
    assert "rule of the household" in result["error"]
