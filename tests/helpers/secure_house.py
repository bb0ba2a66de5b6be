"""A house with what a policy is about: every service is recorded and moves its entity."""

from dataclasses import dataclass
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.const import DOMAIN
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.servers.model_server import ModelServer

ENTITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "lock.front_door": ("locked", {"supported_features": 1}),
    "lock.cellar": ("locked", {}),
    "alarm_control_panel.home": ("armed_away", {"supported_features": 63}),
    "cover.garage": ("closed", {"device_class": "garage", "supported_features": 15}),
    "cover.blind": ("closed", {"device_class": "blind", "supported_features": 15}),
    "valve.water": ("closed", {"supported_features": 15}),
    "siren.roof": ("off", {"supported_features": 3}),
    "camera.yard": ("streaming", {"supported_features": 1}),
    "light.hall": ("off", {"supported_color_modes": ["onoff"], "color_mode": "onoff"}),
    "switch.oven": ("off", {}),
}

SERVICES: dict[tuple[str, str], str] = {
    ("lock", "lock"): "locked",
    ("lock", "unlock"): "unlocked",
    ("lock", "open"): "open",
    ("alarm_control_panel", "alarm_disarm"): "disarmed",
    ("alarm_control_panel", "alarm_arm_away"): "armed_away",
    ("cover", "open_cover"): "open",
    ("cover", "close_cover"): "closed",
    ("cover", "set_cover_position"): "open",
    ("valve", "open_valve"): "open",
    ("valve", "close_valve"): "closed",
    ("siren", "turn_on"): "on",
    ("siren", "turn_off"): "off",
    ("camera", "turn_on"): "streaming",
    ("camera", "turn_off"): "off",
    ("light", "turn_on"): "on",
    ("light", "turn_off"): "off",
    ("switch", "turn_on"): "on",
    ("switch", "turn_off"): "off",
}
"""What each service leaves behind."""
UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
RAN = [("lock.unlock", ("lock.front_door",))]
"""What the model calls, and what has moved after a yes."""


@dataclass(slots=True)
class Call:
    """One service call that reached the house."""

    service: str
    entity_ids: tuple[str, ...]
    data: dict[str, Any]
    context: Context


class SecureHouse:
    """The house, who lives in it, and what was called."""

    server: ModelServer
    """The model server of its agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        self.hass = hass
        self.calls: list[Call] = []
        self.anna = MockUser(name="Anna", is_owner=False).add_to_hass(hass)
        self.ben = MockUser(name="Ben", is_owner=False).add_to_hass(hass)
        for user in (self.anna, self.ben):
            user.mock_policy({"entities": True})
        self.reader = MockUser(name="Rita", is_owner=False).add_to_hass(hass)
        self.reader.mock_policy({"entities": {"all": {POLICY_READ: True}}})

    def reset(self) -> None:
        """Put everything back and forget the calls."""
        for entity_id, (state, attributes) in ENTITIES.items():
            name = entity_id.partition(".")[2].replace("_", " ").title()
            self.hass.states.async_set(
                entity_id, state, {"friendly_name": name, **attributes}, force_update=True
            )
        self.calls.clear()

    async def _async_handle(self, call: ServiceCall) -> None:
        ids = call.data.get("entity_id", ())
        ids = [ids] if isinstance(ids, str) else list(ids)
        data = {key: value for key, value in call.data.items() if key != "entity_id"}
        self.calls.append(Call(f"{call.domain}.{call.service}", tuple(ids), data, call.context))
        for entity_id in ids:
            if (state := self.hass.states.get(entity_id)) is not None:
                new = SERVICES[call.domain, call.service]
                self.hass.states.async_set(entity_id, new, state.attributes, context=call.context)

    async def async_build(self) -> None:
        """Put entities and services in place and expose all but the cellar's lock."""
        hass = self.hass
        # Switches too, whose services an agent's own switch would put in place of these.
        for component in ("homeassistant", "conversation", "switch"):
            assert await async_setup_component(hass, component, {})
        registry, area = er.async_get(hass), ar.async_get(hass).async_get_or_create("Hall")
        for entity_id in ENTITIES:
            domain, _, object_id = entity_id.partition(".")
            entry = registry.async_get_or_create(domain, "test", object_id, suggested_object_id=object_id)
            assert entry.entity_id == entity_id
            registry.async_update_entity(entity_id, area_id=area.id)
        self.reset()
        for entity_id in ENTITIES:
            async_expose_entity(hass, "conversation", entity_id, entity_id != "lock.cellar")
        for domain, service in SERVICES:
            hass.services.async_register(domain, service, self._async_handle)

    async def async_agent(self, server: ModelServer, options: dict[str, Any] | None = None) -> Agent:
        """Set up an agent in this house; who says nothing else speaks to a satellite."""
        agent = await async_add_agent(
            self.hass, server, {"automation_turns_per_minute": 1000, **(options or {})}
        )
        return agent.at_satellite()

    async def async_with(self, options: dict[str, Any] | None = None) -> Agent:
        """Set up an agent of the model server that the tests script."""
        return await self.async_agent(self.server, options)

    def state(self, entity_id: str) -> str:
        found = self.hass.states.get(entity_id)
        assert found is not None
        return found.state

    def moved(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(call.service, call.entity_ids) for call in self.calls]


@pytest.fixture
async def agent(secure: SecureHouse) -> Agent:
    """Return an agent with default options in the house, in each module that imports it."""
    return await secure.async_with()


async def ask(
    agent: Agent, *calls: tuple[str, dict[str, Any]], said: str = "Open the front door", **options: Any
) -> Any:
    """Say something that makes the model call, to unlock the door if nothing else; return the answer."""
    agent.server.clear()
    return await agent.act(*(calls or (UNLOCK,)), sentence=said, **options)


def pending_ids(hass: HomeAssistant) -> list[str]:
    return [
        action.id
        for entry in hass.config_entries.async_loaded_entries(DOMAIN)
        for action in entry.runtime_data.confirmations.pending
    ]
