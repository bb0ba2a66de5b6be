"""Scenes that a bridge keeps: one of a bridge of lamps is a lamp, all others may do anything."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_mock_service

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from tests.helpers.agent import async_agent
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

HARMLESS = ("sensor", "binary_sensor", "event", "button", "switch")


def add(hass: HomeAssistant, entry: MockConfigEntry, domain: str, room: str, **more: Any) -> str:
    """Add an entity of a bridge in a room."""
    registry = er.async_get(hass)
    made = registry.async_get_or_create(
        domain,
        entry.domain,
        f"{room}_{domain}",
        config_entry=entry,
        object_id_base=f"{room} {domain}",
        **more,
    )
    area = ar.async_get(hass).async_get_or_create(room)
    registry.async_update_entity(made.entity_id, area_id=area.id)
    hass.states.async_set(made.entity_id, "off")
    async_expose_entity(hass, "conversation", made.entity_id, True)
    return made.entity_id


@pytest.mark.parametrize(
    ("platform", "beside", "options", "outcome"),
    [
        ("hue", HARMLESS, {}, "runs"),
        ("deconz", (), {}, "runs"),
        ("hue", None, {}, "asks"),
        ("deconz", ("lock",), {}, "asks"),
        ("deconz", ("cover",), {}, "asks"),
        ("deconz", ("siren",), {}, "asks"),
        ("deconz", ("alarm_control_panel",), {}, "asks"),
        ("tuya", (), {}, "asks"),
        ("mqtt", (), {}, "asks"),
        ("smartthings", ("lock",), {}, "asks"),
        ("hue", (), {"policy_restricted": ["scene"]}, "asks"),
        ("hue", (), {"policy_restricted": ["scene.den_scene"]}, "asks"),
        ("hue", (), {"policy_restricted": ["light.den_light"]}, "asks"),
        ("hue", (), {"policy_blocked": ["light.den_light"]}, "stays"),
        ("hue", (), {"policy_restricted": ["light.attic_light"]}, "runs"),
        ("hue", (), {"allow_scripts_and_scenes": False}, "stays"),
    ],
)
async def test_a_scene_of_a_bridge(
    hass: HomeAssistant,
    model_server: ModelServer,
    platform: str,
    beside: tuple[str, ...] | None,
    options: dict[str, Any],
    outcome: str,
) -> None:
    """It runs where all that it can change may be switched, and a rule for a lamp of its room holds.

    What a bridge without lamps (None) does is not known.
    """
    agent = await async_agent(hass, model_server, options)
    entry = MockConfigEntry(domain=platform)
    entry.add_to_hass(hass)
    scene = add(hass, entry, "scene", "Den")
    for room in ("Den", "Attic") if beside is not None else ():
        add(hass, entry, "light", room)
    add(hass, entry, "number", "Attic", entity_category=EntityCategory.CONFIG)
    for domain in beside or ():
        add(hass, entry, domain, "Attic")
    runs = async_mock_service(hass, "scene", "turn_on")
    model_server.script(
        [tool_calls([("ha_control", {"action": "activate", "entity_id": scene})]), text("Ok.")]
    )
    await agent.say("Activate the den scene")
    asked = bool(agent.entry.runtime_data.confirmations.pending)
    await agent.entry.runtime_data.confirmations.async_stop()
    assert {(True, False): "runs", (False, True): "asks", (False, False): "stays"}[
        bool(runs), asked
    ] == outcome
