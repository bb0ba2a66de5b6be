"""Which timer or planned command a name means, and what is listed if it means none."""

from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.undo import BED, LIGHT
from tests.servers.model_server import ModelServer

FRIDAY = "2026-06-05 10:00:00+00:00"


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent with the defaults, to which anybody may speak."""
    return await async_agent(hass, model_server)


async def plan(agent: Agent, entity_id: str | list[str], when: str, **options: Any) -> None:
    args = {"action": "turn_on", "entity_id": entity_id, "when": when, **options}
    await agent.act(("ha_control", args))


async def test_what_fits_nothing(agent: Agent) -> None:
    """The only timer stays, and is listed by name; a time is as good as a name."""
    await agent.call("timer", action="set", when="18:30", name="Mia, feed the rabbit")
    for given in ({"name": "Samstag"}, {"name": "pasta"}, {"name": "at 19:45"}, {"when": "19:30"}):
        error = (await agent.call("timer", action="cancel", **given))["error"]
        assert "Mia, feed the rabbit" in error
    gone = await agent.call("timer", action="cancel", when="18:30")
    assert gone["result"]["cancelled"][0]["name"] == "Mia, feed the rabbit"


async def test_the_only_one(agent: Agent) -> None:
    """Without a name of its own, the only timer is meant."""
    for name in ("", "Timer", "den Timer", "reminder", "10 minutes", "Kaninchen", "die Erinnerung Kaninchen"):
        await agent.call("timer", action="set", when="10 minutes", name="Kaninchen")
        gone = await agent.call("timer", action="cancel", name=name, language="de")
        assert gone["result"]["cancelled"][0]["name"] == "Kaninchen"


DAYS = [
    ("Samstag", "de"),
    ("das am Samstag", "de"),
    ("saturday", "en"),
    ("samedi", "fr"),
    ("sobota", "pl"),
    ("суббота", "ru"),
    ("tomorrow", "en"),
    ("Samstag 18:30", "de"),
]


async def test_a_weekday_is_a_name(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """What is planned for that day is cancelled; the timer and what is planned for other days stay."""
    freezer.move_to(FRIDAY)
    await hass.config.async_set_time_zone("UTC")
    agent = await async_agent(hass, model_server)
    await agent.call("timer", action="set", when="5 hours", name="Mia")
    await plan(agent, LIGHT, "2026-06-09 07:15")
    for name, language in DAYS:
        await plan(agent, BED, "2026-06-06 18:30")
        gone = await agent.call("timer", action="cancel", name=name, language=language)
        (row,) = gone["result"]["cancelled_commands"]
        assert list(row["planned"]) == [BED]
        freezer.tick(30)  # not too many turns in one minute
    left = (await agent.call("timer", action="list"))["result"]
    assert [list(row["planned"]) for row in left["commands"]] == [[LIGHT]]
    assert len(left["timers"]) == 1
    await agent.call("timer", action="set", when="08:00", name="Flowers", repeat="friday")
    for name, language in (("dienstags", "de"), ("every tuesday", "en"), ("7:15", "en")):
        await agent.call("timer", action="set", when="07:15", name="Bins", repeat="tuesday")
        gone = await agent.call("timer", action="cancel", name=name, language=language)
        assert gone["result"]["cancelled"][0]["name"] == "Bins"


async def test_the_list_is_whole(agent: Agent) -> None:
    """Plans have the names of devices, and what comes back; none is cut off."""
    await agent.act(("ha_control", {"action": "turn_on", "entity_id": LIGHT, "for": "2 hours"}))
    for hour in range(1, 7):
        await plan(agent, BED, f"{hour + 2} hours")
    error = (await agent.call("timer", action="cancel", name="blender"))["error"]
    assert "Kitchen Ceiling back to off at" in error or "Kitchen Ceiling back to off tomorrow" in error
    assert "Bed Light turn on" in error
    assert "more. Request: Do it" in error


async def test_what_is_listed_can_be_named(agent: Agent) -> None:
    """An entry of the list, as it stands there, means what it lists."""
    await agent.call("timer", action="set", when="10 minutes")
    await agent.call("timer", action="set", when="20 minutes")
    await plan(agent, BED, "2 hours")
    listed = (await agent.call("timer", action="cancel", name="blender"))["error"].split("There is: ")[1]
    first, _second, planned = listed.split(". Request")[0].split("; ")
    assert len((await agent.call("timer", action="cancel", name=first))["result"]["cancelled"]) == 1
    assert list(
        (await agent.call("timer", action="cancel", name=planned))["result"]["cancelled_commands"][0][
            "planned"
        ]
    )
    assert len((await agent.call("timer", action="list"))["result"]["timers"]) == 1
