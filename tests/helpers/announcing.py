"""A house with satellites and speakers in its rooms, and people who are at home or away."""

from dataclasses import dataclass, field
from typing import Any

from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, entity_registry as er
from tests.helpers.agent import Agent, async_agent
from tests.helpers.everyday_house import Satellite, async_add_satellite
from tests.servers.model_server import ModelServer

DAY = "2026-06-03 20:00:00+00:00"
"""An hour of the day in the time zone of the tests, outside of the quiet hours."""
NIGHT = "2026-06-03 10:00:00+00:00"
TARGETS = [
    {"person": "person.anna", "targets": ["notify.mobile_app_anna"]},
    {"person": "person.tom", "targets": ["notify.mobile_app_tom"]},
]
SPEAKER_FEATURES = 1 << 20 | 1 << 9
"""A player that announces and plays media."""


@dataclass(slots=True)
class TalkingHouse:
    """The furnished house with an agent, satellites by room, and what was sent."""

    agent: Agent
    satellites: dict[str, Satellite]
    spoken: list[ServiceCall] = field(default_factory=list)
    """Calls of text-to-speech."""
    sent: dict[str, list[ServiceCall]] = field(default_factory=dict)
    """Messages to the phone of each person."""

    @property
    def hass(self) -> HomeAssistant:
        return self.agent.hass

    @property
    def said(self) -> dict[str, list[str]]:
        """Return what the satellites said, by room, without the silent ones."""
        return {room: one.said for room, one in self.satellites.items() if one.said}

    @property
    def pushed(self) -> dict[str, list[str]]:
        """Return the messages on phones, by person, without those that got none."""
        return {name: [call.data["message"] for call in calls] for name, calls in self.sent.items() if calls}

    async def tell(
        self, person: str, message: str, *, sentence: str = "", where: str | None = None, **args: Any
    ) -> dict[str, Any]:
        """Let a turn make one call, and return what the model was told. `where` is a satellite's room."""
        call = ("notify_person", {"person": person, "message": message, **args})
        options = {"device_id": self.satellites[where].device} if where else {"context": self.anna}
        await self.agent.act(call, sentence=sentence or f"Say {message}", **options)
        return self.agent.results[-1] if len(self.agent.server.chats) > 1 else {}

    @property
    def anna(self) -> Context:
        state = self.hass.states.get("person.anna")
        assert state is not None
        return Context(user_id=state.attributes["user_id"])

    def set_state(self, room: str, value: str) -> None:
        entity_id = self.satellites[room].entity_id
        state = self.hass.states.get(entity_id)
        assert state is not None
        self.hass.states.async_set(entity_id, value, state.attributes)

    def move(self, name: str, where: str) -> None:
        state = self.hass.states.get(f"person.{name}")
        assert state is not None
        self.hass.states.async_set(f"person.{name}", where, state.attributes)


async def async_talking_house(
    hass: HomeAssistant,
    server: ModelServer,
    rooms: tuple[str, ...] = ("Kitchen", "Living Room", "Bedroom"),
    **options: Any,
) -> TalkingHouse:
    """Build the house; Anna and Tom are at home and have phones."""
    sent = {name: async_mock_service(hass, "notify", f"mobile_app_{name}") for name in ("anna", "tom")}
    for name in sent:
        user = MockUser(name=name.title()).add_to_hass(hass)
        user.mock_policy({"entities": True})
        attributes = {"user_id": user.id, "id": name, "friendly_name": name.title()}
        hass.states.async_set(f"person.{name}", "home", attributes)
    agent = await async_agent(
        hass, server, {"notify_targets": TARGETS, "memory_extraction_enabled": False, **options}
    )
    satellites = {
        room: await async_add_satellite(hass, f"{room} satellite", area_of(hass, room)) for room in rooms
    }
    server.clear()
    return TalkingHouse(agent, satellites, sent=sent)


def area_of(hass: HomeAssistant, room: str) -> str:
    """Return the id of an area, which is created if it is not there."""
    areas = ar.async_get(hass)
    return (areas.async_get_area_by_name(room) or areas.async_create(room)).id


def add_speaker(house: TalkingHouse, room: str, name: str = "radio") -> str:
    """Put a speaker that can announce into a room, with a voice for it."""
    hass = house.hass
    entry = er.async_get(hass).async_get_or_create(
        "media_player", "test", name, object_id_base=name, supported_features=SPEAKER_FEATURES
    )
    er.async_get(hass).async_update_entity(entry.entity_id, area_id=area_of(hass, room))
    attributes = {"supported_features": SPEAKER_FEATURES, "friendly_name": f"{room} {name}"}
    hass.states.async_set(entry.entity_id, "idle", attributes)
    async_expose_entity(hass, "conversation", entry.entity_id, True)
    hass.states.async_set("tts.voice", "unknown")
    house.spoken = async_mock_service(hass, "tts", "speak")
    return entry.entity_id
