"""Scenes, state by state: whatever core calls for a state, the policy has judged."""

import importlib
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_mock_service

from custom_components.home_agent.domains import DOMAINS as KNOWN
from custom_components.home_agent.domains.base import UNKNOWN_SERVICE
from custom_components.home_agent.safety.contents import POSITIONS, services_for
import homeassistant.components as core_components
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EntityCategory
from homeassistant.core import Context, HomeAssistant, ServiceCall, State
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.helpers.state import async_reproduce_state
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_agent
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

COMPONENTS = Path(core_components.__file__).parent
DOMAINS = sorted(path.parent.name for path in COMPONENTS.glob("*/reproduce_state.py"))
STATES = (
    "on off open opening closed closing locked locking unlocked unlocking armed_away armed_home "
    "armed_night armed_vacation armed_custom_bypass disarmed triggered playing paused idle buffering "
    "cleaning docked returning active heat cool auto eco electric gas performance 7 07:30:00 Movie"
)
ATTRIBUTES: tuple[dict[str, Any], ...] = (
    {},
    {"current_position": 60},
    {"current_position": 0, "current_tilt_position": 0},
    {"current_tilt_position": 40},
    {"percentage": 30, "preset_mode": "calm", "direction": "reverse", "oscillating": True},
    {"temperature": 21, "humidity": 40, "fan_mode": "low", "swing_mode": "on", "swing_horizontal_mode": "on"},
    {"target_temp_high": 24, "target_temp_low": 20, "away_mode": "on", "mode": "sleep", "fan_speed": "max"},
    {"source": "tv", "sound_mode": "film", "volume_level": 0.3, "is_volume_muted": True},
    {"media_content_id": "song", "media_content_type": "music"},
    {"options": ["7", "Movie"], "duration": "0:10:00", "brightness": 5},
)
SERVICES = (
    "turn_on turn_off lock unlock open alarm_arm_away alarm_arm_home alarm_arm_night "
    "alarm_arm_vacation alarm_arm_custom_bypass alarm_disarm alarm_trigger open_cover close_cover "
    "open_cover_tilt close_cover_tilt set_cover_position set_cover_tilt_position set_percentage "
    "set_preset_mode set_direction oscillate set_hvac_mode set_temperature set_swing_mode "
    "set_swing_horizontal_mode set_fan_mode set_humidity set_mode set_value select_option set_options "
    "set_datetime select_source select_sound_mode volume_set volume_mute play_media media_play "
    "media_pause media_stop start pause cancel return_to_base stop set_fan_speed set_operation_mode "
    "set_away_mode"
)
NOW: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "elsewhere",
        {"supported_features": 1_048_575, "options": ["7", "Movie"], "has_date": False, "has_time": True},
    ),
    ("elsewhere", {"supported_features": 3}),
)
"""What the entity is now: with every feature, and with few."""


def test_every_domain_of_core_is_known() -> None:
    """A domain that a new release can bring into a state has to be looked at."""
    assert len(DOMAINS) > 20
    assert set(DOMAINS) - {"group"} <= {name for name, facts in KNOWN.items() if facts.reproduced}


@pytest.mark.parametrize("domain", [domain for domain in DOMAINS if domain != "group"])
async def test_nothing_is_called_that_was_not_judged(hass: HomeAssistant, domain: str) -> None:
    """Core reproduces each state in each domain: every service that it calls was expected."""
    importlib.import_module(f"homeassistant.components.{domain}.reproduce_state")
    called: list[str] = []

    async def note(call: ServiceCall) -> None:
        position = call.data.get("position", call.data.get("tilt_position"))
        called.append(POSITIONS.get(call.service, call.service) if position == 0 else call.service)

    for service in SERVICES.split():
        hass.services.async_register(domain, service, note)
    seen = 0
    for (now, has), state, attributes in product(NOW, STATES.split(), ATTRIBUTES):
        hass.states.async_set(f"{domain}.it", now, has)
        called.clear()
        wanted = State(f"{domain}.it", state, attributes)
        await async_reproduce_state(hass, wanted)
        seen += len(called)
        expected = set(services_for(hass, wanted))
        assert set(called) <= expected or UNKNOWN_SERVICE in expected, (state, attributes, called, expected)
    assert seen


async def test_a_domain_without_such_a_platform_calls_nothing(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "sensor", {})
    assert list(services_for(hass, State("sensor.outside", "21"))) == []
    assert list(services_for(hass, State("someones_own.thing", "on"))) == [UNKNOWN_SERVICE]


# Scripts and scenes after text from outside was read: only those that do more than control devices ask

LIGHT = {"action": "light.turn_on", "target": {"entity_id": "light.hall"}}
STEPS: dict[str, list[dict[str, Any]]] = {
    "cozy": [LIGHT, {"delay": 1}],
    "inner": [{"action": "script.cozy"}],
    "telling": [LIGHT, {"action": "notify.family", "data": {"message": "Hello"}}],
    "talking": [{"action": "tts.speak", "data": {"message": "Hi"}}],
    "opening": [{"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}],
    "firing": [LIGHT, {"event": "doorbell"}],
}
TITLE = "Run the scripts"


@pytest.mark.parametrize(
    ("target", "wish", "asks"),
    [
        ("script.cozy", "start cozy", False),
        ("script.inner", "start inner", False),
        ("script.inner", "start dinner", True),
        ("scene.evening", "start evening", False),
        ("script.telling", "start telling", True),
        ("script.talking", "start talking", True),
        ("script.opening", "start opening", True),
        ("script.firing", "start firing", True),
        ("scene.door", "start door", True),
    ],
)
async def test_after_a_title_was_read(
    hass: HomeAssistant, secure: SecureHouse, target: str, wish: str, asks: bool
) -> None:
    """A song's title cannot have more done by a script than it could have done without one."""
    for domain, service in (("notify", "family"), ("tts", "speak")):
        async_mock_service(hass, domain, service)
    assert await async_setup_component(
        hass, "script", {"script": {name: {"sequence": steps} for name, steps in STEPS.items()}}
    )
    scenes = {"evening": {"light.hall": "on"}, "door": {"lock.front_door": "unlocked"}}
    assert await async_setup_component(
        hass, "scene", {"scene": [{"name": name, "entities": states} for name, states in scenes.items()]}
    )
    hass.states.async_set("media_player.hall", "playing", {"media_title": TITLE, "supported_features": 1})
    for entity_id in (target, "media_player.hall"):
        async_expose_entity(hass, "conversation", entity_id, True)
    await hass.async_block_till_done()
    agent = await secure.async_with({"allow_scripts_and_scenes": True})
    read = ("ha_query", {"entity_id": ["media_player.hall"], "attributes": ["media_title"]})
    run = ("ha_control", {"action": "activate", "entity_id": [target]})
    secure.server.script([tool_calls([read]), tool_calls([run]), text("Done.")])
    asked = await agent.say(f"What is playing? And {wish}", context=Context(user_id=secure.anna.id))
    assert asked.continue_conversation is asks
    assert bool(secure.calls) is not asks


# Scenes that a bridge keeps: one of a bridge of lamps is a lamp, all others may do anything

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
