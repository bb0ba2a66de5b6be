"""Rules of the policy that match nothing: refused where they are typed, reported where they stop to match."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.config.fields import SAVED
from custom_components.home_agent.safety.spoken_numbers import matches
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import area_registry as ar, entity_registry as er, llm
from tests.helpers.options_pages import (
    entry,  # noqa: F401 - a fixture
    is_saved,
    page,
    save,
    selector_of,
    shown,
)
from tests.helpers.secure_house import SecureHouse

POLICY = ("policy_blocked", "policy_restricted", "policy_allowed")


@pytest.fixture
async def secure(hass: HomeAssistant, house: HomeAssistant) -> SecureHouse:
    """Return a house with locks, a garage, a kitchen and somebody who owns it."""
    MockUser(is_owner=True).add_to_hass(hass)
    found = SecureHouse(hass)
    await found.async_build()
    kitchen = ar.async_get(hass).async_get_or_create("Kitchen")
    light = er.async_get(hass).async_get_or_create("light", "test", "kitchen", suggested_object_id="kitchen")
    er.async_get(hass).async_update_entity(light.entity_id, area_id=kitchen.id)
    hass.states.async_set(light.entity_id, "off", {"friendly_name": "Kitchen lamp"})
    return found


WRONG = (
    *("locks", "light.turn_onn", "lock.frnt_*", "lokc.front_door", "cover:garag"),
    *("area:kitchen", "kitchen", "zzzz*", "tool:zzzz"),
)


async def test_what_matches_nothing_is_refused(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    for rule in WRONG:
        for option in POLICY:
            result = await save(hass, entry, "safety", {option: ["siren", rule]})
            assert result["errors"] == {option: "rule_unknown"}
            assert (result["description_placeholders"] or {})["rule"] == rule
        choice = {"decision": "Only these", "kinds": [rule], "whom": ["Anyone in Hall"]}
        result = await save(hass, entry, "permissions", {"policy_choices": [choice]})
        assert result["errors"] == {"policy_choices": "rule_unknown"}
    result = await save(hass, entry, "safety", {"policy_blocked": ["the front door"]})
    assert result["errors"] == {"policy_blocked": "invalid_rule"}
    assert not entry.options


MATCHING = (
    "siren",  # of a domain that has no entity here but might
    "humidifier",
    "*",
    "*.unlock",
    "lock.*",
    "lock.unlock",
    "lock.cellar",  # not exposed: a script may still reach it
    "lock.front_*",
    "cover:garage",
    "cover:gate",  # no gate yet
    "*:garage",
    "cover:garage.close_cover*",
    "alarm_control_panel.alarm_trigger",
    "media_player.play_media",
    "todo.add_item",
    "vacuum.clean_area",  # of an integration that is not loaded
    "shell_command",
    "homeassistant.turn_off",
    "acme.launch",
    "tool:fetch_*",
)


async def test_what_matches_is_stored(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    hass.services.async_register("acme", "launch", lambda _call: None)
    llm.async_register_api(hass, Fetching(hass=hass, id="fetching", name="Fetching"))
    for rule in MATCHING:
        for option in POLICY:
            result = await save(hass, entry, "safety", {option: [rule]})
            assert is_saved(result), rule
            assert entry.options[option] == [rule]


class Fetching(llm.API):
    """An API of another integration."""

    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return one tool."""
        tool = llm.Tool()
        tool.name, tool.description = "Fetch_Page", "Fetches."
        return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=[tool])


async def test_entities_that_are_away(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """What is registered is known, whether it is disabled, unavailable or not loaded."""
    registry = er.async_get(hass)
    disabled = er.RegistryEntryDisabler.USER
    registry.async_get_or_create("lock", "test", "shed", suggested_object_id="shed", disabled_by=disabled)
    registry.async_get_or_create("lock", "test", "barn", suggested_object_id="barn")
    hass.states.async_set("lock.cellar", "unavailable")
    rules = ["lock.shed", "lock.barn", "lock.cellar"]
    result = await save(hass, entry, "safety", {"policy_blocked": rules})
    assert is_saved(result)
    assert entry.options["policy_blocked"] == rules


async def test_what_is_stored_blocks_nothing_else(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """A rule that matched once, or was stored by an earlier release, stays until somebody changes it."""
    choices = [{"decision": "only", "kinds": ["lights"], "whom": ["area:attic"]}]
    stored = {"policy_blocked": ["locks"], "policy_choices": choices}
    hass.config_entries.async_update_entry(entry, options=stored)
    blocked = {"policy_blocked": ["locks"]}
    result = await save(hass, entry, "safety", {**blocked, "automation_turns_per_minute": 7})
    assert is_saved(result)
    before = shown(await page(hass, entry, "permissions"))["policy_choices"]
    result = await save(hass, entry, "permissions", {"policy_choices": before, "policy_pin_always": True})
    assert is_saved(result)
    kept = {**stored, "automation_turns_per_minute": 7, "policy_pin_always": True}
    assert dict(entry.options) == kept
    result = await save(hass, entry, "safety", {**blocked, "policy_restricted": ["locks"]})
    assert result["errors"] == {"policy_restricted": "rule_unknown"}


async def test_a_pin_for_the_front_door(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """A rule that asks for the PIN needs one; persons have their own, of which the form shows nothing."""
    hass.states.async_set("person.anna", "home", {"user_id": secure.anna.id})
    hass.states.async_set("person.kid", "home")
    rules = {"policy_choices": [{"decision": "Ask for the PIN", "kinds": ["lock"]}]}
    assert (await save(hass, entry, "permissions", rules))["errors"] == {
        "policy_choices": "choice_without_pin"
    }
    for person, pin, error in (
        ("person.kid", "1234", "person_without_user"),
        ("person.anna", "12", "invalid_pin"),
        ("person.anna", SAVED, "invalid_pin"),
    ):
        typed = rules | {"policy_pin": "4711", "policy_pins": [{"person": person, "pin": pin}]}
        assert (await save(hass, entry, "permissions", typed))["errors"] == {"confirming": error}
    typed = rules | {"policy_pin": "4711", "policy_pins": [{"person": "person.anna", "pin": "1234"}]}
    assert is_saved(await save(hass, entry, "permissions", typed))
    (stored,) = entry.options["policy_pins"]
    assert matches("1234", stored["pin"])
    hidden = [{"person": "person.anna", "pin": SAVED}]
    assert shown(await page(hass, entry, "permissions"))["policy_pins"] == hidden
    assert is_saved(
        await save(hass, entry, "permissions", rules | {"policy_pin": SAVED, "policy_pins": hidden})
    )
    assert entry.options["policy_pins"] == [stored]
    result = await save(hass, entry, "permissions", rules)
    assert result["errors"] == {"policy_choices": "choice_without_pin"}


@pytest.mark.parametrize(
    ("choice", "warns"),
    [
        ({"kinds": ["lock"]}, True),
        ({"kinds": ["cover:garage"]}, True),
        ({"actions": ["Open garage doors, gates and doors"]}, True),
        ({"entities": ["lock.front_door"], "whom": ["Guests"]}, True),
        ({"kinds": ["alarm_control_panel.alarm_disarm"]}, True),
        ({"places": ["Hall"]}, True),
        ({"kinds": ["lock.lock"]}, False),
        ({"entities": ["cover.blind"]}, False),
        ({"kinds": ["siren"]}, False),
        ({"places": ["Kitchen"]}, False),
    ],
)
async def test_always_on_a_lock_warns(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry, *, choice: dict[str, Any], warns: bool
) -> None:
    """The rule is shown once more, and stored after a second step; the same rule warns no second time."""
    rules = {"policy_choices": [{"decision": "Always allow", **choice}]}
    result = await save(hass, entry, "permissions", rules)
    if warns:
        assert (result["type"], result["step_id"]) == (FlowResultType.MENU, "always_open")
        assert (result["description_placeholders"] or {})["rules"].startswith("- Always allow · ")
        assert not entry.options
        flow = hass.config_entries.options
        back = await flow.async_configure(result["flow_id"], {"next_step_id": "permissions"})
        assert shown(back)["policy_choices"] == rules["policy_choices"]
        result = await flow.async_configure(result["flow_id"], rules)
        result = await flow.async_configure(result["flow_id"], {"next_step_id": "vector_save"})
    assert is_saved(result)
    assert entry.options["policy_choices"][0]["decision"] == "always"
    assert is_saved(await save(hass, entry, "permissions", rules))


async def test_entities_to_choose_from(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """What the agent controls, and no people, backups and sensors; what is stored already stays."""
    selector = selector_of(await page(hass, entry, "permissions"), "policy_choices")
    (only,) = selector.config["fields"]["entities"]["selector"].config["filter"]
    assert {"light", "lock", "script", "calendar", "camera"} <= set(only["domain"])
    assert {"person", "sensor", "binary_sensor", "backup", "event"}.isdisjoint(only["domain"])
    hass.states.async_set("binary_sensor.door", "off")
    choices = [{"decision": "never", "entities": ["binary_sensor.door"]}]
    hass.config_entries.async_update_entry(entry, options={"policy_choices": choices})
    stored = shown(await page(hass, entry, "permissions"))["policy_choices"]
    assert is_saved(await save(hass, entry, "permissions", {"policy_choices": stored}))
    assert entry.options["policy_choices"] == choices
