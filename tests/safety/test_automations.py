"""Automations as a generated matrix: none does for its owner what a person has to confirm or may not do."""

from collections.abc import AsyncIterator
import itertools
from pathlib import Path
from typing import Any

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.helpers.own_automations import OwnHome, async_own_home
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

ADMINISTRATOR = "Only an administrator"
HALLWAY = {"action": "turn_on", "entity_id": "light.hallway"}
HIDDEN = "is not exposed"
ATTENDED = "needs a person's confirmation each time"
DEEDS: list[tuple[Any, tuple[str, ...]]] = [
    ({"action": "unlock", "entity_id": "lock.front_door"}, (ATTENDED,)),
    ({"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}, (ATTENDED,)),
    ("unlock the front door", ("is no object",)),
    ({"action": "open", "entity_id": "cover.garage_door"}, (ATTENDED,)),
    ({"action": "disarm", "entity_id": "alarm_control_panel.home_alarm"}, (ATTENDED,)),
    ({"action": "turn_on", "entity_id": "switch.coffee_machine"}, (ATTENDED, "A rule of the household")),
    ({"action": "turn_on", "entity_id": "light.garage"}, (HIDDEN, "nothing is called")),
    ({"action": "unlock", "entity_id": "lock.tool_cabinet"}, (HIDDEN, "nothing is called", "exposed")),
]
"""What is to be done, and with which reasons an administrator may be refused."""
PLACES = ["alone", "behind a light", "before a light"]
WHO = ["Anna", "Tom", None]
ANSWERS = ["Anna", "Tom", None]
SORRY = text("Sorry.")


@pytest.fixture
async def home(hass: HomeAssistant, model_server: ModelServer, tmp_path: Path) -> AsyncIterator[OwnHome]:
    """Return the demo house with an alarm, where the coffee machine is blocked and a light is not exposed."""
    alarm = {"friendly_name": "Home Alarm", "supported_features": 63}
    hass.states.async_set("alarm_control_panel.home_alarm", "armed_away", alarm)
    found = await async_own_home(hass, model_server, tmp_path, policy_blocked=["switch.coffee_machine"])
    async_expose_entity(hass, "conversation", "alarm_control_panel.home_alarm", True)
    async_expose_entity(hass, "conversation", "light.garage", False)
    await hass.async_block_till_done()
    yield found
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


def steps(deed: Any, place: str) -> list[Any]:
    """Return the steps of an automation with a deed in it."""
    if place == "behind a light":
        return [HALLWAY, {"delay": "00:05:00"}, deed]
    return [deed, HALLWAY] if place == "before a light" else [deed]


def told(home: OwnHome) -> str:
    """Return what the tool gave to the model, in the last request."""
    messages = home.agent.server.chats[-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"][-1]


@pytest.mark.parametrize("who", WHO, ids=str)
async def test_matrix(home: OwnHome, who: str | None) -> None:
    """Whoever asks, and wherever it is in the automation, nothing waits for a yes and nothing is written."""
    wrong = []
    for (deed, reasons), place in itertools.product(DEEDS, PLACES):
        home.conversation_id = None
        args = {"action": "create", "when": [{"time": "7:00"}], "do": steps(deed, place)}
        options = {} if who else {"device_id": "satellite"}
        await home.say("Do that every morning", tool_calls([("automation", args)]), SORRY, who=who, **options)
        allowed = reasons if who == "Anna" else (ADMINISTRATOR,)
        if home.agent.entry.runtime_data.confirmations.pending or not any(
            each in told(home) for each in allowed
        ):
            wrong.append((deed, place, told(home)))
        await home.say("Yes", SORRY, who=who, **options)
    assert wrong == []
    assert await home.automations() == []


@pytest.mark.parametrize("answers", ANSWERS, ids=str)
async def test_whose_yes(home: OwnHome, answers: str | None) -> None:
    """Only the administrator who was asked can say yes."""
    when = {"action": "create", "when": [{"time": "7:00"}], "do": [HALLWAY]}
    await home.say("Light at seven", tool_calls([("automation", when)]))
    (waiting,) = home.agent.entry.runtime_data.confirmations.pending
    home.conversation_id = home.conversation_id if answers == "Anna" else None
    options = {} if answers else {"device_id": "satellite"}
    await home.say("Yes", SORRY, who=answers, **options)
    assert len(await home.automations()) == (1 if answers == "Anna" else 0)
    if answers != "Anna":
        assert home.agent.entry.runtime_data.confirmations.pending == [waiting]
