"""What an administrator cannot do with automations: lists, rules, and the household's own work."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.core import HomeAssistant
from tests.helpers.own_automations import OwnHome, async_own_home
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

AT_SEVEN = [{"trigger": "time", "at": "7:00"}]
HALLWAY = {"action": "turn_on", "entity_id": ["light.hallway"]}
ALARM = {
    "id": "alarm_at_night",
    "alias": "Alarm at night",
    "triggers": [{"trigger": "time", "at": "23:00:00"}],
    "actions": [{"action": "light.turn_on", "target": {"entity_id": "light.hallway"}}],
}
"""An automation of the household's own, which is not exposed."""
ENTITY = "automation.alarm_at_night"
SORRY = text("Sorry.")


@pytest.fixture
async def home(hass: HomeAssistant, model_server: ModelServer, tmp_path: Path) -> AsyncIterator[OwnHome]:
    """Return the demo house with an agent and an automation of its own."""
    found = await async_own_home(hass, model_server, tmp_path)
    await write(found, [ALARM])
    yield found
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


async def write(home: OwnHome, automations: list[dict[str, Any]]) -> None:
    """Write the file as its editor does, and have it loaded."""
    path = home.folder / "automations.yaml"
    await home.hass.async_add_executor_job(path.write_text, yaml.safe_dump(automations))
    await home.hass.services.async_call("automation", "reload", blocking=True)
    await home.hass.async_block_till_done()


def automate(action: str, **args: Any) -> Reply:
    """Return a call of the tool."""
    return tool_calls([("automation", {"action": action, **args})])


def result(home: OwnHome) -> str:
    """Return what the tool gave to the model, in the last request."""
    messages = home.agent.server.chats[-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"][-1]


async def test_an_agent_with_a_list(home: OwnHome) -> None:
    """Through an agent that sees the kitchen only, an administrator neither reads nor switches the others."""
    await home.agent.set_options(visible_entities={"areas": ["kitchen"]})
    home.agent.server.clear()
    await home.say("Which automations are there?", automate("list"), SORRY)
    assert "Alarm" not in result(home)
    await home.say("Switch it off", automate("off", name="Alarm at night"), SORRY)
    assert "Alarm at night: switched" not in result(home)
    await home.say("Yes", SORRY)
    assert home.shows(ENTITY) == "on"


async def test_a_rule_about_automations(home: OwnHome) -> None:
    """What the household never allows is not done to automations that are not exposed either."""
    await home.agent.set_options(policy_blocked=["automation.turn_off"])
    home.agent.server.clear()
    await home.say("Switch it off", automate("off", name="Alarm at night"), SORRY)
    assert "does not allow automation.turn_off" in result(home)
    assert home.shows(ENTITY) == "on"


async def test_a_part_that_stays_is_judged(home: OwnHome) -> None:
    """Another trigger does not bring along a call that somebody has added, and that is never free."""
    when = [{"entity": "binary_sensor.hallway_motion", "to": "on"}]
    await home.say(
        "Hallway light on motion", automate("create", name="Motion", triggers=when, actions=[HALLWAY])
    )
    await home.say("Yes")
    *others, own = await home.automations()
    unlock = {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}
    edited = [*others, {**own, "actions": [{"repeat": {"count": 1, "sequence": [unlock]}}]}]
    await write(home, edited)
    await home.say("At seven", automate("change", name="Motion", triggers=AT_SEVEN), SORRY)
    assert "Motion calls lock.unlock, which needs a person's confirmation each time" in result(home)
    await home.say("Yes", SORRY)
    assert await home.automations() == edited


async def test_only_administrators_undo(home: OwnHome) -> None:
    """Who is no administrator any more does not take back what they did as one."""
    await home.say("Light at seven", automate("create", name="Light", triggers=AT_SEVEN, actions=[HALLWAY]))
    await home.say("Yes", SORRY)
    anna, manager = home.users["Anna"], home.hass.auth
    group = await manager.async_get_group(GROUP_ID_USER)
    assert group is not None
    anna.is_owner = False
    anna.groups[:] = [group]
    anna.invalidate_cache()
    await home.say("Undo that", tool_calls([("activity", {"action": "undo"})]), SORRY)
    assert "Only an administrator" in result(home)
    assert len(await home.automations()) == 2


async def test_what_was_edited_after_the_question_stays(home: OwnHome) -> None:
    """Neither a yes nor an undo overwrites what somebody has written in the meantime."""
    undo = tool_calls([("activity", {"action": "undo"})])
    await home.say("Light at seven", automate("create", name="Light", triggers=AT_SEVEN, actions=[HALLWAY]))
    await home.say("Yes", SORRY)
    await home.say("Change it to eight", automate("change", name="Light", triggers=[{"time": "8:00"}]), SORRY)
    edited = [{**one, "mode": "queued"} for one in await home.automations()]
    await write(home, edited)
    said = await home.say("Yes", SORRY)
    assert said == "Something has changed since I asked, so I did nothing. Please ask again."
    await home.say("Undo that", undo, SORRY)
    assert "has been edited since" in result(home)
    assert await home.automations() == edited
    await write(home, [])
    await home.say("Undo that", undo, SORRY)
    assert "does not exist any more" in result(home)
