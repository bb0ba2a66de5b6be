"""Which timer or planned command a name means, and what is listed if it means none."""

from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.timers import call
from tests.helpers.undo import BED, LIGHT, act
from tests.servers.model_server import ModelServer

FRIDAY = "2026-06-05 10:00:00+00:00"


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent whose clocks show UTC."""
    return await async_agent(hass, model_server)


async def plan(agent: Agent, entity_id: str | list[str], when: str, **options: Any) -> None:
    """Plan to turn something on."""
    args = {"action": "turn_on", "entity_id": entity_id, "when": when, **options}
    await act(agent, ("ha_control", args))


async def test_a_name_that_fits_nothing(agent: Agent) -> None:
    """The only timer stays, and is listed by name."""
    await call(agent, action="set", when="10 minutes", name="Mia, feed the rabbit")
    for name in ("Samstag", "pasta", "at 19:45"):
        error = (await call(agent, action="cancel", name=name))["error"]
        assert "nothing was changed" in error
        assert "Mia, feed the rabbit" in error
    assert "Mia, feed" in str((await call(agent, action="list"))["result"])


@pytest.mark.parametrize(
    "name", ["", "Timer", "den Timer", "reminder", "10 minutes", "Kaninchen", "die Erinnerung Kaninchen"]
)
async def test_the_only_one(agent: Agent, name: str) -> None:
    """Without a name of its own, the only timer is meant."""
    await call(agent, action="set", when="10 minutes", name="Kaninchen")
    gone = await call(agent, action="cancel", name=name, language="de")
    assert gone["result"]["cancelled"][0]["name"] == "Kaninchen"


async def test_a_time_that_fits_nothing(agent: Agent) -> None:
    """A time is as good as a name."""
    await call(agent, action="set", when="18:30", name="Bins")
    assert "Bins" in (await call(agent, action="cancel", when="19:30"))["error"]
    assert (await call(agent, action="cancel", when="18:30"))["result"]["cancelled"][0]["name"] == "Bins"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("Samstag", "de"),
        ("das am Samstag", "de"),
        ("saturday", "en"),
        ("samedi", "fr"),
        ("el sábado", "es"),
        ("zaterdag", "nl"),
        ("sabato", "it"),
        ("sábado", "pt"),
        ("sobota", "pl"),
        ("lördag", "sv"),
        ("lørdag", "da"),
        ("lørdag", "nb"),
        ("суббота", "ru"),
        ("tomorrow", "en"),
        ("Samstag 18:30", "de"),
    ],
)
async def test_a_weekday_is_a_name(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, name: str, language: str
) -> None:
    """The plan of that day is cancelled; the timer and the other plan stay."""
    freezer.move_to(FRIDAY)
    await hass.config.async_set_time_zone("UTC")
    agent = await async_agent(hass, model_server)
    await call(agent, action="set", when="10 minutes", name="Mia")
    await plan(agent, BED, "2026-06-06 18:30")
    await plan(agent, LIGHT, "2026-06-09 07:15")
    gone = await call(agent, action="cancel", name=name, language=language)
    assert list(gone["result"]["cancelled_commands"][0]["planned"]) == [BED]
    left = (await call(agent, action="list"))["result"]
    assert [list(row["planned"]) for row in left["commands"]] == [[LIGHT]]
    assert len(left["timers"]) == 1


@pytest.mark.parametrize(("name", "language"), [("dienstags", "de"), ("every tuesday", "en"), ("7:15", "en")])
async def test_a_weekday_names_a_reminder(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, name: str, language: str
) -> None:
    """A repeated reminder is found by its day and its time."""
    freezer.move_to(FRIDAY)
    await hass.config.async_set_time_zone("UTC")
    agent = await async_agent(hass, model_server)
    await call(agent, action="set", when="07:15", name="Bins", repeat="tuesday")
    await call(agent, action="set", when="08:00", name="Flowers", repeat="friday")
    gone = await call(agent, action="cancel", name=name, language=language)
    assert gone["result"]["cancelled"][0]["name"] == "Bins"


async def test_the_list_is_whole(agent: Agent) -> None:
    """Plans have the names of devices, and what comes back; none is cut off."""
    await act(agent, ("ha_control", {"action": "turn_on", "entity_id": LIGHT, "for": "2 hours"}))
    for hour in range(1, 7):
        await plan(agent, BED, f"{hour + 2} hours")
    error = (await call(agent, action="cancel", name="blender"))["error"]
    assert "Kitchen Ceiling back to off at" in error or "Kitchen Ceiling back to off tomorrow" in error
    assert "Bed Light turn on" in error
    assert "more. Request: Do it" in error


async def test_what_is_listed_can_be_named(agent: Agent) -> None:
    """An entry of the list, as it stands there, means what it lists."""
    await call(agent, action="set", when="10 minutes")
    await call(agent, action="set", when="20 minutes")
    await plan(agent, BED, "2 hours")
    listed = (await call(agent, action="cancel", name="blender"))["error"].split("There is: ")[1]
    first, _second, planned = listed.split(". Request")[0].split("; ")
    assert len((await call(agent, action="cancel", name=first))["result"]["cancelled"]) == 1
    assert list(
        (await call(agent, action="cancel", name=planned))["result"]["cancelled_commands"][0]["planned"]
    )
    assert len((await call(agent, action="list"))["result"]["timers"]) == 1
