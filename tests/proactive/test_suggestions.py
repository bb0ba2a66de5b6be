"""Habits become automations: suggested once, previewed, made only on an administrator's yes."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
    async_fire_time_changed,
)
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
import yaml

from custom_components.home_agent import const
from custom_components.home_agent.memory.learner.habits import EVERY_DAY, WEEKEND, WORKDAYS, Habit
from custom_components.home_agent.memory.memories import make_memory
from custom_components.home_agent.memory.records import MemoryType, Origin, Provenance
from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.phones import Phones, push_service
from tests.helpers.suggested import COFFEE, MONDAY, Home, habit, home  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer

SENTENCE = "Coffee Machine is turned on at about 6:30 on workdays."
PREVIEW = "At 6:30 on workdays: Turn on switch, Coffee Machine."
QUESTION = f"{SENTENCE} Should I create an automation for this?\n\n{PREVIEW}"
HANDWRITTEN = """# Our automations. Keep the comments!
- id: "1"
  alias: Morning   # before the first coffee
  triggers:
    - trigger: time
      at: "05:00:00"
  actions:
    - action: switch.turn_on
      target: {entity_id: switch.radio}
"""


def automation_states(hass: HomeAssistant) -> list[str]:
    """Return the names of the automations that are on."""
    return [state.name for state in hass.states.async_all("automation") if state.state == "on"]


async def test_accepted(model_server: ModelServer, home: Home) -> None:
    """The automation stands where Home Assistant's editor keeps them, and runs on workdays at its time."""
    asked = async_capture_events(home.hass, const.EVENT_SUGGESTION_REQUESTED)
    settled = async_capture_events(home.hass, const.EVENT_SUGGESTION_RESOLVED)
    await home.add(model_server, habit())
    assert await home.suggested() == []
    await home.morning()
    (suggestion,) = await home.suggested()
    assert suggestion["summary"] == SENTENCE
    assert (asked[0].data["suggestion_id"], asked[0].data["summary"]) == (
        suggestion["suggestion_id"],
        SENTENCE,
    )
    (note,) = home.notes()
    assert note.startswith(QUESTION)
    assert note.endswith("(/config/repairs).")
    assert automation_states(home.hass) == []
    preview = await home.answer("preview")
    assert preview["preview"] == PREVIEW
    assert preview["yaml"].startswith("alias: ")
    config = yaml.safe_load(preview["yaml"])
    assert await home.text() == "[]\n"
    answer = await home.answer("accept")
    assert answer["state"] == "accepted"
    assert yaml.safe_load(await home.text()) == [{"id": suggestion["suggestion_id"], **config}]
    assert config == {
        "alias": "Coffee Machine, 6:30",
        "description": SENTENCE,
        "triggers": [{"trigger": "time", "at": "06:30:00"}],
        "conditions": [{"condition": "time", "weekday": ["mon", "tue", "wed", "thu", "fri"]}],
        "actions": [{"action": "switch.turn_on", "target": {"entity_id": COFFEE}}],
        "mode": "single",
    }
    assert automation_states(home.hass) == ["Coffee Machine, 6:30"]
    assert home.notes() == []
    assert [event.data["outcome"] for event in settled] == ["accepted"]
    for day, runs in ((8, 1), (9, 1), (11, 2)):
        home.clock.move_to(MONDAY.replace(day=day, hour=6, minute=30))
        async_fire_time_changed(home.hass, dt_util.utcnow())
        await home.hass.async_block_till_done()
        assert len(home.switched) == runs, day
    assert home.switched[0].data["entity_id"] == [COFFEE]
    await home.morning(5)
    assert await home.suggested() == []


async def test_rejected(hass: HomeAssistant, model_server: ModelServer, home: Home) -> None:
    """No means never again: not tomorrow, not after a restart, not when the habit moves a little."""
    await home.add(model_server, habit())
    await home.morning()
    assert (await home.answer("reject"))["state"] == "rejected"
    assert home.notes() == []
    home.found(habit(minute=7 * 60, id="another"))
    await home.morning(3)
    assert home.agent
    store = hass.data[DATA_SHARED].proactive
    await store.async_flush()
    await hass.config_entries.async_unload(home.agent.entry.entry_id)
    store._entries.clear()
    await store.async_load()
    assert await hass.config_entries.async_setup(home.agent.entry.entry_id)
    await home.morning(120)
    assert [item["state"] for item in await home.suggested(None)] == ["rejected"]
    with pytest.raises(ServiceValidationError):
        await home.answer("accept")
    assert automation_states(hass) == []


async def test_expired(model_server: ModelServer, home: Home) -> None:
    """Without an answer the question goes, and comes back after a long while."""
    settled = async_capture_events(home.hass, const.EVENT_SUGGESTION_RESOLVED)
    await home.add(model_server, habit())
    await home.morning(16)
    assert [item["state"] for item in await home.suggested(None)] == ["expired"]
    assert home.notes() == []
    assert [event.data["outcome"] for event in settled] == ["expired"]
    await home.morning(95)
    assert [item["state"] for item in await home.suggested(None)] == ["open", "expired"]


async def test_one_at_a_time(model_server: ModelServer, home: Home) -> None:
    """The surest comes first, one each day, three at most; what is not sure enough never."""
    for number in range(6):
        home.put(f"light.lamp_{number}", "off")
    lamps = [habit(f"light.lamp_{number}", confidence=0.65 + number / 20) for number in range(6)]
    await home.add(model_server, *lamps)
    for expected in (["Lamp 5"], ["Lamp 4", "Lamp 5"], ["Lamp 3", "Lamp 4", "Lamp 5"]):
        await home.morning()
        assert [item["alias"].split(",")[0] for item in await home.suggested()] == expected
    await home.morning(2)
    assert len(await home.suggested()) == 3
    for _ in range(3):
        for item in await home.suggested():
            await home.call(
                "answer_suggestion", {"suggestion_id": item["suggestion_id"], "answer": "reject"}, home.admin
            )
        await home.morning()
    names = {item["alias"].split(",")[0] for item in await home.suggested(None)}
    assert names == {f"Lamp {number}" for number in range(1, 6)}


async def test_never_suggested(model_server: ModelServer, home: Home) -> None:
    """What opens the house, what the policy restricts, what is hidden, and values that are no values."""
    home.put("lock.front_door", "locked", supported_features=1)
    home.put("cover.garage", "closed", device_class="garage", supported_features=15)
    home.put("valve.water", "closed", supported_features=15)
    home.put("person.anna", "home")
    home.put("sensor.oven", "5", device_class="power")
    home.put("switch.heater", "off")
    modes = ["heat", "off", "{{ states('lock.front_door') }}"]
    home.put("climate.hall", "heat", hvac_modes=modes, min_temp=7, max_temp=35)
    home.hass.states.async_set("switch.hidden", "off")
    async_expose_entity(home.hass, "conversation", "switch.hidden", False)
    found = (
        habit("lock.front_door", "unlocked"),
        habit("cover.garage", "open"),
        habit("valve.water", "open"),
        habit("person.anna", "home"),
        habit("sensor.oven", "in_use"),
        habit("switch.gone"),
        habit("switch.hidden"),
        habit("switch.heater"),
        habit("climate.hall", "mode:{{ states('lock.front_door') }}"),
        habit("climate.hall", "mode:dry"),
        habit("climate.hall", "temperature:nan"),
        habit("climate.hall", "temperature:90"),
    )
    await home.add(model_server, *found, policy_restricted=["switch.heater"])
    await home.morning()
    assert await home.suggested(None) == []


CLIMATE = {"hvac_modes": ["heat", "off"], "min_temp": 7, "max_temp": 35}
HEATING = {"action": "climate.set_hvac_mode"}
ACTIONS: list[tuple[Habit, dict[str, Any]]] = [
    (habit("light.hall", "off"), {"action": "light.turn_off"}),
    (habit("lock.front_door", "locked"), {"action": "lock.lock"}),
    (habit("cover.garage", "closed"), {"action": "cover.close_cover"}),
    (habit("cover.blind", "open"), {"action": "cover.open_cover"}),
    (habit("vacuum.robot", "cleaning"), {"action": "vacuum.start"}),
    (habit("media_player.tv", "off"), {"action": "media_player.turn_off"}),
    (
        habit("climate.hall", "temperature:21.5"),
        {"action": "climate.set_temperature", "data": {"temperature": 21.5}},
    ),
    (habit("climate.hall", "mode:heat"), {**HEATING, "data": {"hvac_mode": "heat"}}),
    (habit("climate.hall", "off"), {**HEATING, "data": {"hvac_mode": "off"}}),
]
DAYS: list[tuple[int, frozenset[int], str, list[str] | None]] = [
    (0, WORKDAYS, "00:00:00", ["tue", "wed", "thu", "fri", "sat"]),
    (60, WEEKEND, "01:00:00", ["mon", "sun"]),
    (23 * 60 + 58, frozenset({6}), "00:00:00", ["mon"]),
    (20 * 60, WEEKEND, "20:00:00", ["sat", "sun"]),
    (245, EVERY_DAY, "04:00:00", None),
]
"""What happens after midnight belongs to the evening before."""


async def test_actions_and_days(model_server: ModelServer, home: Home) -> None:
    """Each habit becomes the action that does it, on its days."""

    async def suggested(found: Habit) -> Any:
        home.found(found)
        await home.morning()
        config = yaml.safe_load((await home.answer("preview"))["yaml"])
        await home.answer("reject")
        return config

    home.put("climate.hall", "heat", **CLIMATE)
    home.put("cover.garage", "open", device_class="garage", supported_features=15)
    for entity_id in ("light.hall", "lock.front_door", "cover.blind", "vacuum.robot", "media_player.tv"):
        home.put(entity_id, "on")
    await home.add(model_server)
    for found, action in ACTIONS:
        config = await suggested(found)
        assert config["actions"] == [{**action, "target": {"entity_id": found.subject}}]
    for number, (minute, days, at, weekdays) in enumerate(DAYS):
        home.put(f"light.lamp_{number}", "off")
        config = await suggested(habit(f"light.lamp_{number}", minute=minute, days=days))
        assert config["triggers"] == [{"trigger": "time", "at": at}]
        assert config["conditions"] == ([{"condition": "time", "weekday": weekdays}] if weekdays else [])


async def test_who_may_say_yes(hass: HomeAssistant, model_server: ModelServer, home: Home) -> None:
    """An administrator, and nobody else: no other user, no automation, no model."""
    await home.add(model_server, habit())
    await home.morning()
    ben = MockUser(name="Ben", is_owner=False).add_to_hass(hass)
    ben.mock_policy({"entities": True})
    for answer in ("accept", "preview", "reject"):
        with pytest.raises(Unauthorized):
            await home.answer(answer, Context(user_id=ben.id))
    with pytest.raises(ServiceValidationError, match="administrator"):
        await home.answer("accept", Context())
    with pytest.raises(Unauthorized):
        await home.call("list_suggestions", {}, Context(user_id=ben.id))
    assert len(await home.suggested()) == 1
    assert await home.text() == "[]\n"


async def test_judged_again(model_server: ModelServer, home: Home) -> None:
    """A yes does not count for what was hidden or restricted meanwhile."""
    await home.add(model_server, habit())
    await home.morning()
    async_expose_entity(home.hass, "conversation", COFFEE, False)
    with pytest.raises(ServiceValidationError, match="not allowed any more"):
        await home.answer("accept")
    async_expose_entity(home.hass, "conversation", COFFEE, True)
    assert home.agent
    await home.agent.set_options(policy_restricted=["switch"])
    with pytest.raises(ServiceValidationError, match="not allowed any more"):
        await home.answer("accept")
    assert len(await home.suggested()) == 1


@pytest.mark.parametrize("before", [HANDWRITTEN + "  variables: {code: !secret door_code}\n", None])
async def test_what_people_wrote_stays(model_server: ModelServer, home: Home, before: str | None) -> None:
    """Every line is still there, and the automation is behind it."""
    secrets = home.path.parent / "secrets.yaml"
    await home.hass.async_add_executor_job(secrets.write_text, "door_code: '1234'\n")
    await home.add(model_server, habit())
    await home.morning()
    await home.write("kitchen:\n  alias: no list\n")
    with pytest.raises(ServiceValidationError, match="not changed"):
        await home.answer("accept")
    assert await home.text() == "kitchen:\n  alias: no list\n"
    if before is None:
        await home.hass.async_add_executor_job(home.path.unlink)
    else:
        await home.write(before)
    await home.answer("accept")
    after = await home.text()
    assert after.startswith(before or "- id:")
    assert "1234" not in after
    assert automation_states(home.hass)[-1] == "Coffee Machine, 6:30"


async def test_not_included(model_server: ModelServer, home: Home) -> None:
    """Where Home Assistant does not read the file it is put back, and it is said what to change."""
    await home.add(model_server, habit())
    await home.morning()
    await home.write(HANDWRITTEN)
    config = home.path.parent / "configuration.yaml"
    await home.hass.async_add_executor_job(config.write_text, "automation: []\n")
    with pytest.raises(ServiceValidationError, match="include automations"):
        await home.answer("accept")
    assert await home.text() == HANDWRITTEN
    await home.hass.async_add_executor_job(config.write_text, "automation: !include automations.yaml\n")
    await home.answer("accept")
    assert automation_states(home.hass) == ["Coffee Machine, 6:30"]
    assert (await home.text()).startswith(HANDWRITTEN)


async def test_hostile_names(model_server: ModelServer, home: Home) -> None:
    """A name breaks out of neither YAML nor the notification, and is no template."""
    name = (
        "Coffee\n- id: evil\n  alias: '*x' \"{{ states('lock.door') }}\" ```\n"
        "[a](https://evil.example) &b !c: # d"
    )
    await home.add(model_server, habit(name=name))
    home.put(COFFEE, "off", friendly_name=name)
    await home.morning()
    (note,) = home.notes()
    said, _, _where = note.rpartition("\n\n")
    assert "://" not in note
    assert not set("[]`{}") & set(said)
    assert note.count("\n") == 4
    await home.answer("accept")
    (item,) = yaml.safe_load(await home.text())
    assert set(item) == {"id", "alias", "description", "triggers", "conditions", "actions", "mode"}
    assert item["actions"] == [{"action": "switch.turn_on", "target": {"entity_id": COFFEE}}]
    assert "{" not in item["alias"] + item["description"]
    assert len(automation_states(home.hass)) == 1


async def test_forgotten_memory(model_server: ModelServer, home: Home) -> None:
    """A suggestion goes with the memory of its habit, from the disk too."""
    await home.add(model_server, habit(id="M1"))
    await home.morning()
    assert home.agent
    memory = make_memory(
        SENTENCE,
        type=MemoryType.FACT,
        importance=0.5,
        person=None,
        origin=Origin.OBSERVED,
        private=False,
        heard=Provenance(at=dt_util.utcnow(), person=None),
    )
    await home.agent.entry.runtime_data.memories.async_observe(replace(memory, id="M1"))
    await home.call("delete_memory", {"memory_id": "M1"}, home.admin)
    assert await home.suggested(None) == []
    assert home.notes() == []


async def test_forgotten(hass: HomeAssistant, model_server: ModelServer, home: Home) -> None:
    """What comes from a person's habits is shown to them on request, and erased with everything else."""
    hass.states.async_set("person.anna", "home", {"id": "anna", "friendly_name": "Anna", "user_id": "u1"})
    await home.add(model_server, habit(person="anna"))
    await home.morning()
    held = await home.call("export_data", {"person": "anna"}, home.admin)
    assert [item["text"] for item in held["suggestions"]] == [SENTENCE]
    gone = await home.call("erase_data", {"confirm": True, "person": "anna"}, home.admin)
    assert gone["erased"]["suggestions"] == 1
    assert await home.suggested(None) == []
    assert home.notes() == []
    home.found(replace(habit(), id="kept"))
    await home.morning()
    assert len(await home.suggested()) == 1


async def test_two_yeses_at_once(model_server: ModelServer, home: Home) -> None:
    """One automation is made."""
    await home.add(model_server, habit())
    await home.morning()
    answers = await asyncio.gather(*(home.answer("accept") for _ in range(2)), return_exceptions=True)
    assert [isinstance(answer, HomeAssistantError) for answer in answers].count(True) == 1
    assert len(yaml.safe_load(await home.text())) == 1


async def test_switched_off(model_server: ModelServer, home: Home) -> None:
    """Without the options nothing is suggested."""
    await home.add(model_server, habit(), proactive_suggestions=False)
    for options in (
        {},
        {"proactive_suggestions": True, "proactive_enabled": False},
        {"proactive_enabled": True, "learning_enabled": False},
    ):
        assert home.agent
        await home.agent.set_options(**options)
        await home.morning()
        assert await home.suggested(None) == []


async def test_on_phones(
    hass: HomeAssistant,
    model_server: ModelServer,
    home: Home,
    hass_client_no_auth: ClientSessionGenerator,
    hass_admin_user: MockUser,
) -> None:
    """Administrators are asked with buttons; what others press, or scripts fire, does not count."""
    assert await async_setup_component(hass, "http", {})
    ben = MockUser(name="Ben", is_owner=False).add_to_hass(hass)
    ben.mock_policy({"entities": True})
    hass_admin_user.name = "Anna"
    targets = [
        {"person": f"person.{who}", "targets": [f"notify.mobile_app_{who}"]} for who in ("anna", "ben")
    ]
    async with push_service(hass, hass_client_no_auth) as phones:
        await phones.async_register("anna", hass_admin_user)
        await phones.async_register("ben", ben)
        await home.add(model_server, habit(), notify_targets=targets)
        await home.morning()
        await _answer_on_phones(hass, home, phones)


async def _answer_on_phones(hass: HomeAssistant, home: Home, phones: Phones) -> None:
    (push,) = phones.of("anna")
    assert phones.of("ben") == []
    assert push["message"] == QUESTION
    buttons = {button["title"]: button for button in push["data"]["actions"]}
    assert list(buttons) == ["Yes", "No"]
    assert buttons["Yes"]["authenticationRequired"] is True
    yes = buttons["Yes"]["action"]
    await phones.async_press("ben", yes)
    hass.bus.async_fire("mobile_app_notification_action", {"action": yes}, context=home.admin)
    await hass.async_block_till_done()
    assert automation_states(hass) == []
    await phones.async_press("anna", yes)
    assert automation_states(hass) == ["Coffee Machine, 6:30"]
    assert "I made the automation Coffee Machine, 6:30." in [push["message"] for push in phones.of("anna")]
    await phones.async_press("anna", buttons["No"]["action"])
    assert [item["state"] for item in await home.suggested(None)] == ["accepted"]
    assert phones.of("ben") == []


async def test_what_one_person_does_is_asked_of_that_person(
    hass: HomeAssistant,
    model_server: ModelServer,
    home: Home,
    hass_client_no_auth: ClientSessionGenerator,
    hass_admin_user: MockUser,
) -> None:
    """No other administrator hears of it, nor does whoever reads the notifications or the events."""
    assert await async_setup_component(hass, "http", {})
    asked = async_capture_events(hass, const.EVENT_SUGGESTION_REQUESTED)
    hass_admin_user.name = "Anna"
    ben = MockUser(name="Ben", is_owner=True).add_to_hass(hass)
    targets = [
        {"person": f"person.{who}", "targets": [f"notify.mobile_app_{who}"]} for who in ("anna", "ben")
    ]
    hass.states.async_set("person.carl", "home", {"id": "carl"})
    home.put("light.desk", "off")
    async with push_service(hass, hass_client_no_auth) as phones:
        await phones.async_register("anna", hass_admin_user)
        await phones.async_register("ben", ben)
        mine = habit(person="anna", confidence=0.9)
        await home.add(model_server, mine, notify_targets=targets)
        await home.morning()
        assert [push["message"] for push in phones.of("anna")] == [QUESTION]
        assert (phones.of("ben"), home.notes()) == ([], [])
        assert [event.data["summary"] for event in asked] == [""]
        actions = {button["title"]: button["action"] for button in phones.of("anna")[0]["data"]["actions"]}
        await phones.async_press("anna", actions["Yes"])
        assert automation_states(hass) == ["Coffee Machine, 6:30"]
        assert (phones.of("ben"), home.notes()) == ([], [])
        home.found(mine, habit("light.desk", person="carl", confidence=0.9))
        await home.morning(3)
        assert len(await home.suggested(None)) == 1


async def test_several_at_once(model_server: ModelServer, home: Home) -> None:
    """What is done at one moment is one automation; not while one of it is hidden or gone."""
    for name in ("lamp", "strip"):
        home.put(f"light.{name}", "off")
    alone = habit("light.lamp", name="Lamp + Strip")
    both = replace(alone, others=("light.strip",))
    await home.add(model_server, both)
    async_expose_entity(home.hass, "conversation", "light.strip", False)
    await home.morning()
    assert await home.suggested() == []
    async_expose_entity(home.hass, "conversation", "light.strip", True)
    await home.morning()
    answer = await home.answer("accept")
    assert answer["preview"] == "At 6:30 on workdays: Turn on light, Lamp + Strip."
    (made,) = yaml.safe_load(await home.text())
    target = {"entity_id": ["light.lamp", "light.strip"]}
    assert made["actions"] == [{"action": "light.turn_on", "target": target}]
    assert automation_states(home.hass) == ["Lamp + Strip, 6:30"]
