"""Turns of a scenario in which nobody speaks: something happens, and Home Agent asks or tells by itself."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_component import DATA_INSTANCES
from homeassistant.util import dt as dt_util
from tests.helpers.scenario_checks import states, unlike_all
from tests.helpers.scenario_listeners import Listeners
from tests.helpers.scenarios import Problem, Verdict, localized

SECONDS = 5.0
"""How long it may take until what a turn expects has come about."""
QUIET_SECONDS = 0.2
"""How long nothing may come where a turn expects nothing."""


def change(hass: HomeAssistant, entity_id: str, reported: Any) -> None:
    """Have an entity report a state by itself: attributes of one of the demo house, or a plain state."""
    if isinstance(reported, Mapping):
        entity: Any = hass.data[DATA_INSTANCES][entity_id.partition(".")[0]].get_entity(entity_id)
        assert entity is not None, entity_id
        entity.change(**reported)
        return
    old = hass.states.get(entity_id)
    hass.states.async_set(entity_id, reported, old.attributes if old else {})


async def async_happen(
    hass: HomeAssistant, turn: Mapping[str, Any], listeners: Listeners, language: str
) -> list[Problem]:
    """Let a turn happen, answer what is asked, and return what is wrong then."""
    before = states(hass)
    answers = {name: localized(answer, language) for name, answer in turn.get("answers", {}).items()}
    for area, satellite in listeners.satellites.items():
        said = answers.get(area, [])
        satellite.answers = [said] if isinstance(said, str) else list(said)
    response: dict[str, Any] = {}
    async with _asking(hass, turn, listeners, language, response):
        for entity_id, reported in turn.get("states", {}).items():
            change(hass, entity_id, reported)
        await hass.async_block_till_done()
        if hours := turn.get("hours"):
            async_fire_time_changed(hass, dt_util.utcnow() + timedelta(hours=hours))
            await hass.async_block_till_done()
        expected = [localized(turn.get(key, {}), language) or {} for key in ("asked", "sent")]
        await _async_until(
            hass,
            lambda: [listeners.asked.keys(), listeners.sent.keys()] == [part.keys() for part in expected],
            nothing=not any(expected),
        )
        for name in answers.keys() & listeners.phones.keys():
            listeners.press(hass, name, answers[name])
        after = turn.get("after", {})
        told = localized(turn.get("told", {}), language) or {}

        def is_over() -> bool:
            return listeners.told.keys() == told.keys() and not unlike_all(hass, after, before)

        await _async_until(hass, is_over, nothing=not (after or told))
    found = unlike_all(hass, after, before)
    found += listeners.problems(turn, language)
    for key, value in turn.get("response", {}).items():
        if response.get(key) != value:
            found.append(Problem(Verdict.BAD, f"the response is {response}"))
    return found


@asynccontextmanager
async def _asking(
    hass: HomeAssistant,
    turn: Mapping[str, Any],
    listeners: Listeners,
    language: str,
    response: dict[str, Any],
) -> AsyncIterator[None]:
    """Have an automation ask with the action `home_agent.ask`, and keep the response."""
    if "ask" not in turn:
        yield
        return
    data = {key: localized(value, language) for key, value in turn["ask"].items()}
    rooms = [listeners.satellites[area].entity_id for area in data.pop("satellites", ())]
    data |= {"satellite": rooms} if rooms else {}
    asking = hass.async_create_task(
        hass.services.async_call(DOMAIN, "ask", data, blocking=True, return_response=True), eager_start=False
    )
    yield
    async with asyncio.timeout(SECONDS):
        response.update(await asking or {})


async def _async_until(hass: HomeAssistant, look: Callable[[], bool], *, nothing: bool) -> None:
    """Let the home work until something is so, at most some seconds; a moment where nothing may come."""
    try:
        async with asyncio.timeout(QUIET_SECONDS if nothing else SECONDS):
            while nothing or not look():  # noqa: ASYNC110 - what happens is not in the hands of the test
                await asyncio.sleep(0.01)
    except TimeoutError:
        return
