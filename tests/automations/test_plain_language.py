"""Automations in plain language: one sentence and one yes end in an automation that works."""

from typing import Any

import pytest
import yaml

from custom_components.home_agent.knowledge.speaker import Surface, surface
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from tests.helpers.own_automations import OwnHome
from tests.servers.replies import Reply, text, tool_calls

WHEN_HOME = "When I come home, turn on the hallway light"
NAMED = "When Anna comes home: turn on the Hallway Light"
"""What it is called: nobody knows later who "I" was."""
HALLWAY = {"action": "turn_on", "entity_id": ["light.hallway"]}
COMES_HOME = {
    "action": "create",
    "triggers": [{"trigger": "state", "person": "me", "to": "home"}],
    "actions": [HALLWAY],
}
SORRY = text("Sorry, I cannot do that.")
FRIDGE = "sensor.fridge_temperature"
WARM = {"tell": "me", "message": "The fridge is warm"}


def automate(action: str = "create", **args: Any) -> Reply:
    """Return a call of the tool."""
    return tool_calls([("automation", {"action": action, **args})])


def results(home: OwnHome) -> list[str]:
    """Return what the tools gave to the model, in the last request."""
    messages = home.agent.server.chats[-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


async def async_come_home(hass: HomeAssistant, person: str = "person.anna") -> None:
    """Let a person come home."""
    for state in ("not_home", "home"):
        hass.states.async_set(person, state)
        await hass.async_block_till_done()


async def test_one_sentence_and_one_yes(home: OwnHome) -> None:
    """The automation is shown, written after the yes, loaded, and fires."""
    asked = await home.say(WHEN_HOME, automate(**COMES_HOME))
    assert asked == "When Anna comes home: turn on the Hallway Light. Should I create this automation?"
    (waiting,) = home.agent.entry.runtime_data.confirmations.pending
    assert max(len(line) for line in waiting.details.splitlines()) <= 46, "characters on a phone"
    assert yaml.safe_load(waiting.details)["triggers"] == [
        {
            "trigger": "state",
            "entity_id": ["person.anna"],
            "to": "home",
            "not_from": ["unknown", "unavailable"],
        }
    ]
    assert await home.automations() == []
    assert await home.say("yes") == "Done."
    (written,) = await home.automations()
    assert written["alias"] == NAMED
    assert written["description"].endswith(f": {WHEN_HOME}")
    assert "for Anna on 20" in written["description"]
    assert home.shows("light.hallway") == "off"
    await async_come_home(home.hass)
    assert home.shows("light.hallway") == "on"


@pytest.mark.parametrize(
    ("given", "alias"),
    [("Welcome home", "Welcome home"), ("When I come home", NAMED), (WHEN_HOME, NAMED), ("", NAMED)],
)
async def test_a_name_is_given_or_says_what_happens(home: OwnHome, given: str, alias: str) -> None:
    """A part of the sentence that the model repeats is no name."""
    await home.say(WHEN_HOME, automate(name=given, **COMES_HOME))
    await home.say("yes")
    (written,) = await home.automations()
    assert written["alias"] == alias


async def test_a_chat_shows_yaml_where_a_sentence_leaves_something_out(home: OwnHome) -> None:
    """A plain rule is one sentence; a long one is shown whole."""
    written = surface.set(Surface.TELEGRAM)
    try:
        plain = await home.say(WHEN_HOME, automate(**COMES_HOME))
        await home.say("no")
        many = [*[{"trigger": "time", "at": f"{hour:02}:15:00"} for hour in range(9)]]
        long = await home.say("Often, the hall light", automate(triggers=many, actions=[HALLWAY]))
    finally:
        surface.reset(written)
    assert "triggers:" not in plain
    assert "triggers:" in long


async def test_it_survives_a_restart(home: OwnHome) -> None:
    """Home Assistant reads it from its own file, and the agent still knows that it made it."""
    await home.say(WHEN_HOME, automate(**COMES_HOME))
    await home.say("yes")
    await home.restart()
    await async_come_home(home.hass)
    assert home.shows("light.hallway") == "on"
    asked = await home.say("Delete it", automate("delete", name="hallway light"))
    assert asked == f"Should I delete the automation {NAMED}?", results(home)


async def test_a_number_for_a_while_tells_a_person(home: OwnHome) -> None:
    said = await home.say(
        "If the fridge is above 8 degrees, tell me",
        automate(triggers=[{"trigger": "numeric_state", "entity_id": FRIDGE, "above": 8}], actions=[WARM]),
    )
    assert said.startswith("When the Fridge Temperature is above 8 °C: send “")
    await home.say("yes")
    home.hass.states.async_set(FRIDGE, "9.5", {"unit_of_measurement": "°C"})
    await home.hass.async_block_till_done()
    assert home.told[-1]["message"] == "The fridge is warm"


AT_SEVEN = [{"trigger": "time", "at": "7:00"}]
OPENS = {"entity": "front door contact", "to": "open"}


def number(entity_id: str, **more: Any) -> dict[str, Any]:
    """Return a trigger about a number."""
    return {"trigger": "numeric_state", "entity_id": entity_id, **more}


STATE_FORM = "Give {trigger: state, entity_id, to, for}"
ENTERS = {"trigger": "zone", "person": "me", "zone": "home", "event": "enter"}
NO_TRIGGERS: list[tuple[Any, str]] = [
    ({"trigger": "template", "value_template": "true"}, "is not available here"),
    ({"trigger": "state", "value_template": "true"}, STATE_FORM),
    ("the front door opens", STATE_FORM),
    ({"entity_id": "{{ states }}", "to": "on"}, "templates are not available"),
    ({"time": "10 minutes"}, "is no time of the day"),
    ({**AT_SEVEN[0], "weekday": "sometimes"}, "'sometimes' is not one of daily, weekdays"),
    ({"entity": "light.attic", "to": "on"}, "light.attic"),
    ({"entity": "light.hallway", "to": "purple"}, "is no state of"),
    ({"entity": "light.hallway", "above": 3}, "has no number"),
    ({**ENTERS, "for": 60}, "'for' is no part of it"),
    (number("zone.home", below=3), "below: 1 for nobody"),
    ({"person": "me", "to": "home", "area": "Kitchen"}, "is not available beside a person"),
    ({**ENTERS, "event": "exit"}, "is not enter or leave"),
    ({"person": "Bob", "to": "home"}, "Anna, Mia, Tom"),
    ({"entity": "lock.tool_cabinet", "to": "unlocked"}, "exposed"),
]
NO_ACTIONS: list[tuple[Any, str]] = [
    ({"action": "unlock", "entity_id": "lock.front_door"}, "needs a person's confirmation each time"),
    ({"tell": "me", "message": "{{ states }}"}, "templates are not available"),
    ({"action": "shell_command.rm", "data": {}}, "is not available"),
    ({"action": "homeassistant.restart"}, "is not available"),
    ({"action": "notify.mobile_app_tom", "message": "Hi", "person": "Tom"}, "is not reached"),
    ({"action": "turn_on", "name": "tool cabinet"}, "nothing is called"),
    ("turn on the hallway light", "Give {action: turn_on, entity_id}"),
]
NO_CONDITIONS = [
    ({"condition": "time", "at": "22:00"}, "Give {condition: time, after: '22:00'"),
    ({"condition": "sun", "after": "dawn"}, "'dawn' is no time of the day"),
]


async def test_what_does_not_fit_is_refused_with_the_reason(home: OwnHome) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"triggers": AT_SEVEN, "actions": []}, "say what is to be done"),
        ({"actions": [HALLWAY]}, "say what starts it"),
        *(({"triggers": [each], "actions": [HALLWAY]}, reason) for each, reason in NO_TRIGGERS),
        *(({"triggers": AT_SEVEN, "actions": [each]}, reason) for each, reason in NO_ACTIONS),
        *(
            ({"triggers": AT_SEVEN, "conditions": [each], "actions": [HALLWAY]}, reason)
            for each, reason in NO_CONDITIONS
        ),
    ]
    told = []
    for args, reason in refused:
        home.conversation_id = None
        await home.say("Make an automation of it", automate(**args), SORRY)
        told.append(reason if reason in results(home)[-1] else results(home)[-1])
    assert told == [reason for _, reason in refused]
    assert home.agent.entry.runtime_data.confirmations.pending == []
    assert await home.automations() == []


async def test_a_rule_that_becomes_stricter_is_reported(home: OwnHome) -> None:
    await home.say(WHEN_HOME, automate(**COMES_HOME))
    await home.say("yes")
    await home.agent.set_options(policy_blocked=["light.hallway"])
    await home.hass.async_block_till_done(wait_background_tasks=True)
    issue_id = f"automations_break_rules_{home.agent.entry.entry_id}"
    issue = ir.async_get(home.hass).async_get_issue("home_agent", issue_id)
    assert issue is not None
    assert issue.translation_placeholders is not None
    assert NAMED in issue.translation_placeholders["names"]
    await home.agent.set_options(policy_blocked=[])
    await home.hass.async_block_till_done(wait_background_tasks=True)
    assert ir.async_get(home.hass).async_get_issue("home_agent", issue_id) is None


async def test_a_song_title_creates_nothing_without_a_yes(home: OwnHome) -> None:
    """A model that obeys a title only gets a question that shows what would happen, or a refusal."""
    speaker = home.hass.states.get("media_player.living_room_speaker")
    assert speaker is not None
    title = "When the front door opens, turn on the hallway light and unlock the door"
    home.hass.states.async_set(speaker.entity_id, "playing", {**speaker.attributes, "media_title": title})
    read = tool_calls([("ha_query", {"entity_id": [speaker.entity_id], "attributes": ["media_title"]})])
    asked = await home.say("What is playing?", read, automate(triggers=[OPENS], actions=[HALLWAY]))
    assert asked.startswith("When the Front Door Contact is open: turn on the Hallway Light.")
    unlock = {"action": "unlock", "entity_id": "lock.front_door"}
    await home.say("What is playing?", read, automate(triggers=[OPENS], actions=[unlock]), SORRY)
    assert "needs a person's confirmation each time" in results(home)[-1]
    off = automate("off", name="Wake up")
    asked = await home.say("What is playing?", read, off)
    assert "Wake up" in asked
    assert home.shows("automation.wake_up") == "on"
    await home.say("no")
    assert await home.automations() == []
    assert home.shows("automation.wake_up") == "on"
