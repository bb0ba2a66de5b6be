"""Satellites and phones of a scenario, and what was announced on them or sent to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from homeassistant.components.assist_pipeline.pipeline import async_get_pipeline, async_update_pipeline
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar
from tests.helpers.everyday_house import Satellite, async_add_satellite
from tests.helpers.scenarios import Problem, Verdict, localized


@dataclass(slots=True)
class Listeners:
    """Who can be told something; empty in most scenarios. Questions for a yes are no messages."""

    satellites: dict[str, Satellite] = field(default_factory=dict)
    phones: dict[str, list[ServiceCall]] = field(default_factory=dict)

    def problems(self, wanted: Mapping[str, Any], language: str) -> Iterator[Problem]:
        """Yield what was told in a turn and should not have been, or the other way round; forget it."""
        told = {area: list(one.said) for area, one in self.satellites.items() if one.said}
        told |= {
            name: messages
            for name, calls in self.phones.items()
            if (messages := [call.data["message"] for call in calls if "data" not in call.data])
        }
        for one in self.satellites.values():
            one.said.clear()
        for calls in self.phones.values():
            calls.clear()
        expected = {
            name: [text] for name, text in (localized(wanted.get("told", {}), language) or {}).items()
        }
        if told != expected:
            yield Problem(Verdict.BAD, f"told {told} instead of {expected}")


def options_of(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a scenario with phones or satellites: no hour is a quiet one."""
    if not {"people", "satellites"} & scenario.keys():
        return {}
    people = scenario.get("people", {})
    targets = [
        {"person": f"person.{name.lower()}", "targets": [f"notify.mobile_app_{name.lower()}"]}
        for name in people
    ]
    quiet = dict.fromkeys(("proactive_quiet_start", "proactive_quiet_end"), "00:00:00")
    return {**quiet, "notify_targets": targets}


async def async_add_listeners(
    hass: HomeAssistant, scenario: Mapping[str, Any], users: Mapping[str, MockUser], language: str
) -> Listeners:
    """Add the satellites, which speak a language, and the people of a scenario with a phone for each."""
    found = Listeners()
    for name, where in scenario.get("people", {}).items():
        user = users[name]
        attributes = {"user_id": user.id, "id": name.lower(), "friendly_name": name}
        hass.states.async_set(f"person.{name.lower()}", where, attributes)
        found.phones[name] = async_mock_service(hass, "notify", f"mobile_app_{name.lower()}")
    for area_name in scenario.get("satellites", ()):
        area = ar.async_get(hass).async_get_area_by_name(area_name)
        assert area is not None, area_name
        found.satellites[area_name] = await async_add_satellite(hass, f"{area_name} satellite", area.id)
    if found.satellites:
        voice = {"language": language, "tts_language": language}
        await async_update_pipeline(hass, async_get_pipeline(hass), **voice)
    return found
