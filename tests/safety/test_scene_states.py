"""Scenes, state by state: whatever core calls for a state, the policy has judged."""

import importlib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.domains import DOMAINS as KNOWN
from custom_components.home_agent.domains.base import UNKNOWN_SERVICE
from custom_components.home_agent.safety.contents import POSITIONS, services_for
import homeassistant.components as core_components
from homeassistant.core import HomeAssistant, ServiceCall, State
from homeassistant.helpers.state import async_reproduce_state
from homeassistant.setup import async_setup_component

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
