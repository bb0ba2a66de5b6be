"""The forecast for a part of a day, from hours."""

from datetime import timedelta

import pytest
from pytest_homeassistant_custom_component.common import async_mock_service

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, SupportsResponse
from homeassistant.util import dt as dt_util
from tests.helpers.agent import async_agent
from tests.helpers.everyday_house import NOW
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

pytestmark = pytest.mark.freeze_time(NOW)


@pytest.mark.parametrize(
    ("day", "language", "at"),
    [
        ("this evening", "en", "Wed 2026-06-03 evening"),
        ("tonight", "en", "Wed 2026-06-03 evening"),
        ("heute abend", "de", "Wed 2026-06-03 evening"),
        ("ce soir", "fr", "Wed 2026-06-03 evening"),
        ("esta noche", "es", "Wed 2026-06-03 evening"),
        ("tomorrow morning", "en", "Thu 2026-06-04 morning"),
        ("morgen früh", "de", "Thu 2026-06-04 morning"),
        ("demain matin", "fr", "Thu 2026-06-04 morning"),
        ("mañana por la mañana", "es", "Thu 2026-06-04 morning"),
        ("domani sera", "it", "Thu 2026-06-04 evening"),
        ("imorgon kväll", "sv", "Thu 2026-06-04 evening"),
        ("завтра утром", "ru", "Thu 2026-06-04 morning"),
        ("the afternoon of 2026-06-04", "en", "Thu 2026-06-04 afternoon"),
    ],
)
async def test_weather_in_a_part_of_a_day(
    hass: HomeAssistant, model_server: ModelServer, day: str, language: str, at: str
) -> None:
    """One line for the part that was asked for, without a type."""
    hass.config.language = language
    agent = await async_agent(hass, model_server)
    first = dt_util.start_of_local_day() + timedelta(hours=7)
    hours = [
        {
            "datetime": (first + timedelta(hours=number)).isoformat(),
            "condition": "rainy" if number % 6 == 0 else "cloudy",
            "temperature": 10 + number % 6,
            "precipitation": 0.1,
        }
        for number in range(48)
    ]
    forecasts = {"weather.home": {"forecast": hours}}
    hass.states.async_set("weather.home", "cloudy", {"supported_features": 3, "temperature_unit": "°C"})
    async_expose_entity(hass, "conversation", "weather.home", True)
    async_mock_service(
        hass, "weather", "get_forecasts", response=forecasts, supports_response=SupportsResponse.ONLY
    )
    agent.server.script([tool_calls([("weather", {"day": day})]), text("Okay.")])
    await agent.say("What will the weather be like?", language=language)
    told = tool_results(agent.server.chats[-1])[-1]
    assert told["error"] is None
    (entry,) = told["result"]["forecast"]
    assert entry["at"] == at
    assert (entry["temperature"], entry["templow"], entry["precipitation"]) == (15, 10, 0.6)
    assert sorted(entry["condition"].split(", ")) == ["cloudy", "rainy"]
