"""Who asked for an automation is shown and erased; the automation belongs to the household and stays."""

from homeassistant.core import Context
from homeassistant.util.json import JsonObjectType
from tests.helpers.agent import call_action
from tests.helpers.own_automations import OwnHome
from tests.servers.replies import Reply, tool_calls

SAID = "Make the marzipan light at seven"
HALLWAY = {"action": "turn_on", "entity_id": ["light.hallway"]}


def automate(action: str, when: str) -> Reply:
    """Return a call of the tool."""
    args = {"action": action, "name": "Morning", "triggers": [{"time": when}], "actions": [HALLWAY]}
    return tool_calls([("automation", args)])


async def respond(home: OwnHome, service: str, **data: object) -> JsonObjectType:
    """Return the response of a service that Anna calls."""
    context = Context(user_id=home.users["Anna"].id)
    found = await call_action(home.hass, service, data, context)
    assert found is not None
    return found


async def test_the_sentence_goes_and_the_automation_stays(home: OwnHome) -> None:
    await home.say(SAID, automate("create", "7:00"))
    await home.say("yes")
    await home.say("Rather at eight, with marzipan", automate("change", "8:00"))
    await home.say("yes")
    (written,) = await home.automations()
    assert written["description"].count("marzipan") == 2
    (shown,) = (await respond(home, "export_data"))["automations"]  # type: ignore[misc, union-attr]
    assert shown["sentence"] == SAID  # type: ignore[index, call-overload]

    erased = await respond(home, "erase_data", confirm=True)
    assert erased["erased"]["automations"] == 3  # type: ignore[index, call-overload]
    assert (await respond(home, "export_data"))["automations"] == []
    assert await home.automations() == [{**written, "description": ""}]
    assert len(home.own()) == 1
    kept = home.agent.entry.runtime_data.shared.automations.of(home.agent.entry.entry_id)
    assert "marzipan" not in str(kept.stored())
    assert home.users["Anna"].id not in str(kept.stored())
    asked = await home.say("Later", automate("change", "9:00"))
    assert asked.startswith("The automation Morning, changed: At 09:00")
