"""Triggers and conditions as small models write them: times in words, verbs as states."""

from typing import Any

import pytest

from tests.helpers.own_automations import OwnHome
from tests.servers.replies import text, tool_calls

HALLWAY = {"action": "turn_on", "entity_id": ["light.hallway"]}
MOTION = {"entity_id": "binary_sensor.hallway_motion", "to": "on"}
SORRY = text("Sorry, I cannot do that.")


async def asked(home: OwnHome, **args: Any) -> str:
    """Return what is spoken after a call of the tool, or what the model was told of an error."""
    home.conversation_id = None
    call = tool_calls([("automation", {"action": "create", "do": [HALLWAY], **args})])
    said = await home.say("Make an automation of it", call, SORRY)
    if said != "Sorry, I cannot do that.":
        return said.removesuffix(": turn on the Hallway Light. Should I create this automation?")
    messages = home.agent.server.chats[-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"][-1]


CONDITIONS: list[tuple[Any, str]] = [
    ([{"time": "after sunset"}], "between sunset and sunrise"),
    ({"time": "before 22:00"}, "before 22:00"),
    ("after sunset", "between sunset and sunrise"),
    ("past 10 pm", "between 22:00 and 00:00"),
    ("until 22:00", "before 22:00"),
    ({"time": "between 22:00 and 06:00"}, "between 22:00 and 06:00"),
    ("between 22:00 and 06:00", "between 22:00 and 06:00"),
    ({"time": "22:00 - 6:00"}, "between 22:00 and 06:00"),
    ({"time": "from 10 pm to 6 am"}, "between 22:00 and 06:00"),
    ("after 22:00 and before 6:00", "between 22:00 and 06:00"),
    ({"time": "before 6:00 and after 22:00"}, "between 22:00 and 06:00"),
    ({"time": "between sunset and sunrise"}, "between sunset and sunrise"),
    ("nach Sonnenuntergang", "between sunset and sunrise"),
    ({"time": "po 22:00"}, "between 22:00 and 00:00"),
    ({"time": "after 22:00", "days": "weekends"}, "between 22:00 and 00:00 and at weekends"),
    ("after 22:00 on weekends", "between 22:00 and 00:00 and at weekends"),
]


async def test_times_as_conditions(home: OwnHome) -> None:
    """However a time window is written, it means the same."""
    said = [await asked(home, when=[MOTION], **{"if": condition}) for condition, _ in CONDITIONS]
    assert said == [f"When the Hallway Motion is detected, but only {each}" for _, each in CONDITIONS]


@pytest.mark.parametrize(
    "condition",
    [{"time": "22:00"}, {"time": "22:00", "before": "6:00"}, "sunset - 30 minutes"],
)
async def test_no_window(home: OwnHome, condition: Any) -> None:
    """What has no window is refused; nothing that was given is left out."""
    assert "if: " in await asked(home, when=[MOTION], **{"if": condition})
    assert home.agent.entry.runtime_data.confirmations.pending == []


TRIGGERS: list[tuple[Any, str]] = [
    ("front door opens", "the Front Door Contact is open"),
    ("the front door is opened", "the Front Door Contact is open"),
    ("front door closes", "the Front Door Contact is closed"),
    ({"entity": "front door contact", "to": "open"}, "the Front Door Contact is open"),
    ({"entity": "front door contact", "to": "opens"}, "the Front Door Contact is open"),
    ({"entity": "front door contact", "to": "closed"}, "the Front Door Contact is closed"),
    ({"entity": "front door", "to": "closes"}, "the Front Door Contact is closed"),
    ({"entity": "front door", "event": "opens"}, "the Front Door Contact is open"),
    ("front door is unlocked", "the Front Door Lock is unlocked"),
    ({"entity": "front door lock", "to": "unlocked"}, "the Front Door Lock is unlocked"),
    ("coffee machine turns on", "the Coffee Machine is on"),
    ("coffee machine is turned off", "the Coffee Machine is off"),
    ({"entity": "coffee machine", "to": "turned off"}, "the Coffee Machine is off"),
    ({"entity": "coffee machine", "to": "turns_on"}, "the Coffee Machine is on"),
    ({"entity": "coffee machine", "event": "turned_on"}, "the Coffee Machine is on"),
]


async def test_doors_and_switches(home: OwnHome) -> None:
    """A verb says the state that it leads to."""
    said = [await asked(home, when=trigger) for trigger, _ in TRIGGERS]
    assert said == [f"When {each}" for _, each in TRIGGERS]


async def test_a_negation_is_not_left_out(home: OwnHome) -> None:
    """ "Not open" never becomes "open"."""
    assert "is not understood" in await asked(home, when="the front door is not open")


async def test_any_change(home: OwnHome) -> None:
    said = await asked(home, when={"trigger": "state_changed", "entity": "coffee machine"})
    assert said == "When the Coffee Machine changes"


async def test_a_form_of_the_description(home: OwnHome) -> None:
    assert await asked(home, when="sunset - 30 minutes") == "30 min before sunset"


async def test_a_home_without_persons(home: OwnHome) -> None:
    """The model learns why nobody comes home, and what the household can do."""
    for name in ("anna", "tom", "mia"):
        home.hass.states.async_remove(f"person.{name}")
    comings: list[Any] = [{"person": who, "to": "home"} for who in ("me", "Anna", "nobody")]
    told = [await asked(home, when=coming) for coming in comings]
    assert ["The household adds them under Settings > People" in each for each in told] == [True] * 3


async def test_a_speaker_without_a_person(home: OwnHome) -> None:
    """They are told so, with the persons that there are."""
    home.hass.states.async_remove("person.anna")
    told = await asked(home, when={"person": "me", "to": "home"})
    assert "the user has no person. Give the name of a person: Mia, Tom" in told
