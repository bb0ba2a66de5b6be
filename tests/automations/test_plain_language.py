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
HALLWAY_ID = {"target": {"entity_id": "light.hallway"}}
COMES_HOME = {
    "action": "create",
    "triggers": [{"trigger": "state", "person": "me", "to": "home"}],
    "actions": [HALLWAY],
}
SORRY = text("Sorry, I cannot do that.")
MOTION = {"entity_id": "binary_sensor.hallway_motion", "to": "on"}
COFFEE_OFF = {"action": "turn_off", "entity_id": "switch.coffee_machine"}
FRIDGE = "sensor.fridge_temperature"
WARM = {"tell": "me", "message": "The fridge is warm"}


def automate(action: str = "create", **args: Any) -> Reply:
    """Return a call of the tool."""
    return tool_calls([("automation", {"action": action, **args})])


def undo() -> Reply:
    """Return a call that undoes."""
    return tool_calls([("activity", {"action": "undo"})])


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
TURNED_ON = "turn on the Hallway Light"


def of_persons(who: str, **more: Any) -> dict[str, Any]:
    """Return a trigger about persons."""
    return {"trigger": "state", "person": who, **more}


def number(entity_id: str, **more: Any) -> dict[str, Any]:
    """Return a trigger about a number."""
    return {"trigger": "numeric_state", "entity_id": entity_id, **more}


FORMS: list[tuple[dict[str, Any], str]] = [
    ({"triggers": [{"trigger": "state", "entity_id": "person.anna", "to": "home"}]}, "When Anna comes home"),
    (
        {
            "triggers": [
                {"platform": "zone", "entity_id": "person.mia", "zone": "zone.home", "event": "enter"}
            ]
        },
        "When Mia comes home",
    ),
    ({"when": '[{"person": "Tom", "to": "away"}]', "do": [{"ha_control": HALLWAY}]}, "When Tom leaves home"),
    ({"triggers": [of_persons("somebody", to="home")]}, "When somebody comes home"),
    (
        {
            "triggers": [{"trigger": "state", "entity_id": "me", "from": "home"}],
            "conditions": [{"condition": "state", "person": "Tom", "state": "not_home"}],
        },
        "When Anna leaves home, but only when Tom is not at home",
    ),
    (
        {"triggers": [number(FRIDGE, above=8, **{"for": {"minutes": 10}})]},
        "When the Fridge Temperature is above 8 °C for 10 min",
    ),
    (
        {"triggers": [number(FRIDGE, below="2", **{"for": "00:10:00"})]},
        "When the Fridge Temperature is below 2 °C for 10 min",
    ),
    (
        {
            "triggers": [{"trigger": "time", "at": "23:00:00"}],
            "conditions": [{"condition": "state", "person": "nobody", "state": "home"}],
        },
        "At 23:00, but only when nobody is at home",
    ),
    ({"triggers": [number("zone.home", below=1)]}, "When nobody is at home"),
    (
        {"triggers": [{"trigger": "time", "at": ["7:00", "9:30"], "weekday": ["sat", "sun"]}]},
        "At 07:00 at weekends or at 09:30 at weekends",
    ),
    (
        {
            "triggers": [{"trigger": "sun", "event": "sunset", "offset": "-00:30:00"}],
            "conditions": [{"condition": "time", "after": "16:00", "before": "23:00", "weekday": "weekdays"}],
        },
        "30 min before sunset, but only between 16:00 and 23:00 and on workdays",
    ),
    ({"triggers": {"time": "sunset"}}, "At sunset"),
    ({"triggers": [{"trigger": "state", "entity_id": "sun.sun", "to": "below_horizon"}]}, "At sunset"),
    (
        {"triggers": [OPENS], "conditions": [{"condition": "sun", "after": "sunset", "before": "sunrise"}]},
        "When the Front Door Contact is open, but only after sunset and before sunrise",
    ),
    (
        {"triggers": [{"trigger": "state", "entity_id": "lock.front_door", "from": "locked"}]},
        "When the Front Door Lock is no longer locked",
    ),
    (
        {"triggers": [{**MOTION, "to": True, "from": False}]},
        "When the Hallway Motion changes from clear to detected",
    ),
    (
        {"triggers": [{"trigger": "state", "entity_id": "switch.coffee_machine"}]},
        "When the Coffee Machine changes",
    ),
]
DOES: list[tuple[list[dict[str, Any]], str]] = [
    ([{"action": "light.turn_on", **HALLWAY_ID}], TURNED_ON),
    ([{"tool": "ha_control", "arguments": HALLWAY}], TURNED_ON),
    ([COFFEE_OFF], "turn off the Coffee Machine"),
    ([{**HALLWAY, "for": "2 hours"}], f"{TURNED_ON} for 2 h"),
    ([{"delay": "00:05:00"}, HALLWAY], f"wait 5 min and {TURNED_ON}"),
    ([{"action": "turn_on", "area": "Garden", "domain": "light"}], "turn on the Terrace Lights"),
    (
        [{"action": "set_value", "name": "living room thermostat", "temperature": 21}],
        "set the Living Room Thermostat to 21 °C",
    ),
    ([{"action": "activate", "name": "Movie Night"}], "activate the scene Movie Night"),
]


async def test_the_forms(home: OwnHome) -> None:
    """What Home Assistant's own form means is asked in a sentence."""
    forms = [({"actions": [HALLWAY], **args}, f"{when}: {TURNED_ON}") for args, when in FORMS]
    forms += [({"triggers": AT_SEVEN, "actions": actions}, f"At 07:00: {does}") for actions, does in DOES]
    said = []
    for args, _ in forms:
        home.conversation_id = None
        said.append(await home.say("Make an automation of it", automate(**args), SORRY))
    assert said == [f"{question}. Should I create this automation?" for _, question in forms]


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


async def test_the_option_takes_the_tool_away(home: OwnHome) -> None:
    await home.agent.set_options(allow_automations=False)
    await home.say("Hello", text("Hello."))
    offered = [tool["function"]["name"] for tool in home.agent.server.chats[-1].json["tools"]]
    assert "ha_control" in offered
    assert "automation" not in offered


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


async def test_a_home_without_persons(home: OwnHome) -> None:
    """The model learns why nobody comes home, and what the household can do."""
    for name in ("anna", "tom", "mia"):
        home.hass.states.async_remove(f"person.{name}")
    for who in ("me", "Anna", "nobody"):
        home.conversation_id = None
        call = automate(triggers=[{"person": who, "to": "home"}], actions=[HALLWAY])
        await home.say("Make an automation of it", call, SORRY)
        assert "The household adds them under Settings > People" in results(home)[-1]


async def test_a_speaker_without_a_person(home: OwnHome) -> None:
    """They are told so, with the persons that there are."""
    home.hass.states.async_remove("person.anna")
    await home.say(WHEN_HOME, automate(**COMES_HOME), SORRY)
    assert "the user has no person. Give the name of a person: Mia, Tom" in results(home)[-1]
