"""Timers on devices that count down by themselves: Home Assistant's own timer there, ours behind it."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_TIMER_FINISHED
from homeassistant.components.intent import TimerEventType, TimerInfo, async_register_timer_handler
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.intent.timers import TimerManager
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.everyday_house import NOW, Satellite, async_add_satellite, shown
from tests.helpers.planned import Wait
from tests.servers.model_server import ModelServer

pytestmark = pytest.mark.freeze_time(NOW)


class Ring:
    """A satellite with a ring of lights: what Home Assistant tells it of its timers."""

    def __init__(self, hass: HomeAssistant, satellite: Satellite) -> None:
        self.satellite = satellite
        self.told: list[tuple[str, str | None, int]] = []
        self.manager: TimerManager = hass.data[TIMER_DATA]
        self.unregister = async_register_timer_handler(hass, satellite.device, self._on_timer)

    @property
    def here(self) -> dict[str, Any]:
        return {"device_id": self.satellite.device}

    @property
    def timers(self) -> list[TimerInfo]:
        return list(self.manager.timers.values())

    def _on_timer(self, event: TimerEventType, timer: TimerInfo) -> None:
        self.told.append((event.value, timer.name, timer.seconds_left))


@pytest.fixture
async def satellite(hass: HomeAssistant) -> Satellite:
    """Return a satellite in a house whose clocks show UTC."""
    await hass.config.async_set_time_zone("UTC")
    return await async_add_satellite(hass)


@pytest.fixture
async def agent(hass: HomeAssistant, satellite: Satellite, model_server: ModelServer) -> Agent:
    return await async_agent(hass, model_server, {"memory_enabled": False})


@pytest.fixture
def ring(hass: HomeAssistant, satellite: Satellite, agent: Agent) -> Ring:
    """Let the satellite count down."""
    return Ring(hass, satellite)


async def test_the_device_counts_and_rings(agent: Agent, ring: Ring, wait: Wait) -> None:
    """The device shows it from the start; when it is over it rings, and nothing is said beside."""
    told = async_capture_events(agent.hass, EVENT_TIMER_FINISHED)
    await agent.call("timer", action="set", when="10 minutes", name="pasta", **ring.here)
    assert ring.told == [("started", "pasta", 600)]
    await wait(598)
    assert told == []
    await wait(1.5)
    assert [event.data["told_by"] for event in told] == ["device"]
    assert ring.satellite.said == shown(agent.hass) == []
    await wait(1)
    assert ring.told[-1] == ("finished", "pasta", 0), "it is Home Assistant's own timer that rings"
    assert len(told) == 1


async def test_longer_and_cancelled(agent: Agent, ring: Ring, wait: Wait) -> None:
    await agent.call("timer", action="set", when="10 minutes", **ring.here)
    await wait(60)
    longer = await agent.call("timer", "Add five minutes", action="extend", when="5 minutes", **ring.here)
    assert longer["result"]["now"]["in"] == "14 min"
    assert ring.told[-1] == ("updated", None, 840)
    await agent.call("timer", action="cancel", **ring.here)
    assert ring.told[-1][0] == "cancelled"
    assert ring.timers == []
    await wait(900)
    assert ring.satellite.said == shown(agent.hass) == []


async def test_what_home_assistant_s_own_sentences_do(agent: Agent, ring: Ring, wait: Wait) -> None:
    """A timer that was cancelled, paused or moved there is neither told too early nor at all."""
    told = async_capture_events(agent.hass, EVENT_TIMER_FINISHED)
    for name in ("eggs", "rice", "tea"):
        await agent.call("timer", action="set", when="10 minutes", name=name, **ring.here)
    eggs, rice, tea = ring.timers
    ring.manager.cancel_timer(eggs.id)
    ring.manager.add_time(rice.id, 300)
    ring.manager.pause_timer(tea.id)
    await wait(600)
    assert told == []
    listed = (await agent.call("timer", action="list", **ring.here))["result"]["timers"]
    assert [(timer["name"], timer["in"]) for timer in listed] == [("rice", "5 min"), ("tea", "10 min")]
    ring.manager.cancel_timer(tea.id)
    await wait(300)
    assert [event.data["name"] for event in told] == ["rice"]
    await wait(600)
    assert len(told) == 1
    assert ring.satellite.said == shown(agent.hass) == []


async def test_timers_that_home_assistant_has_set(agent: Agent, ring: Ring, wait: Wait) -> None:
    """ "How long still?" knows the timer that was set without the model."""
    ring.manager.start_timer(ring.satellite.device, None, 20, None, "en", "cake")
    ring.manager.start_timer(
        ring.satellite.device, None, 30, None, "en", conversation_command="turn off the light"
    )
    await wait(120)
    (cake,) = (await agent.call("timer", action="list", **ring.here))["result"]["timers"]
    assert (cake["name"], cake["in"]) == ("cake", "18 min")
    await agent.call("timer", action="cancel", name="cake", **ring.here)
    assert [timer.conversation_command for timer in ring.timers] == ["turn off the light"]


async def test_reminders_are_told(agent: Agent, ring: Ring, wait: Wait) -> None:
    """What comes at a time, again or after days is said with its name; no ring counts for that."""
    await agent.call("timer", action="set", when="10:30", name="bins", **ring.here)
    await agent.call("timer", action="set", when="10 minutes", name="tablets", repeat="daily", **ring.here)
    await agent.call("timer", action="set", when="30 hours", name="cheese", **ring.here)
    assert ring.timers == []
    await wait(601)
    await wait(1200)
    assert ring.satellite.said == ["It is time: tablets.", "It is time: bins."]


async def test_the_device_is_gone(agent: Agent, ring: Ring, wait: Wait) -> None:
    """What no device rings for any more is told as ever."""
    await agent.call("timer", action="set", when="10 minutes", name="pasta", **ring.here)
    ring.unregister()
    await wait(599)
    await wait(2)
    assert ring.satellite.said == ["It is time: pasta."]
    assert ring.timers == []


async def test_over_a_restart(agent: Agent, ring: Ring, freezer: FrozenDateTimeFactory, wait: Wait) -> None:
    """Home Assistant loses its own timers at a restart; ours is told all the same."""
    await agent.call("timer", action="set", when="10 minutes", name="pasta", **ring.here)
    store = agent.entry.runtime_data.shared.planned
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    for timer in ring.timers:
        ring.manager.cancel_timer(timer.id)
    await store.async_load()
    freezer.tick(timedelta(minutes=9))
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await wait(61)
    assert ring.satellite.said == ["It is time: pasta."]
