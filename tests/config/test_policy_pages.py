"""Rules of the policy that match nothing: refused where they are typed, reported where they stop to match."""

from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er, llm
from tests.helpers.custom_tools import async_offer
from tests.helpers.options_pages import entry, is_saved, save  # noqa: F401 - a fixture
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer

POLICY = ("policy_blocked", "policy_restricted", "policy_allowed")
RULE_FIELDS = ("only", "blocked", "restricted", "allowed")
PERSON = {"user_id": "0123"}


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


GREET = """
- name: greet
  description: Greets.
  parameters: {type: object, properties: {}}
  handler: {type: template, template: Hello}
"""

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
        for field in RULE_FIELDS:
            profiles = [{"name": "Child", "areas": ["hall"], field: [rule]}]
            result = await save(hass, entry, "permissions", {"policy_profiles": profiles})
            assert result["errors"] == {"policy_profiles": "rule_unknown"}
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


class Silent(llm.API):
    """An API whose server does not answer."""

    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Fail."""
        raise TimeoutError(llm_context.platform)


async def test_tools_of_a_server_that_is_away(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """Its tools are unknown, so a rule for them is accepted."""
    llm.async_register_api(hass, Silent(hass=hass, id="silent", name="Silent"))
    result = await save(hass, entry, "safety", {"policy_blocked": ["tool:delete_all"]})
    assert is_saved(result)


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


async def test_entities_that_may_still_come(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """While something loads, an entity is taken on trust; a domain that does not exist is not."""
    other = MockConfigEntry(domain="test", state=ConfigEntryState.SETUP_IN_PROGRESS)
    other.add_to_hass(hass)
    result = await save(hass, entry, "safety", {"policy_blocked": ["lock.shed"]})
    assert is_saved(result)
    result = await save(hass, entry, "safety", {"policy_blocked": ["lock.shed", "locks"]})
    assert result["errors"] == {"policy_blocked": "rule_unknown"}
    other.mock_state(hass, ConfigEntryState.LOADED)
    hass.set_state(CoreState.starting)
    result = await save(hass, entry, "safety", {"policy_blocked": ["lock.barn"]})
    assert is_saved(result)


async def test_what_is_stored_blocks_nothing_else(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """A rule that matched once, or was stored by an earlier release, stays until somebody changes it."""
    profiles: list[dict[str, Any]] = [{"name": "Child", "areas": ["attic"], "only": ["lights"]}]
    stored = {"policy_blocked": ["locks"], "policy_profiles": profiles}
    hass.config_entries.async_update_entry(entry, options=stored)
    blocked = {"policy_blocked": ["locks"]}
    result = await save(hass, entry, "safety", {**blocked, "automation_turns_per_minute": 7})
    assert is_saved(result)
    result = await save(hass, entry, "permissions", {"policy_profiles": profiles})
    assert is_saved(result)
    assert dict(entry.options) == {**stored, "automation_turns_per_minute": 7}
    result = await save(hass, entry, "safety", {**blocked, "policy_restricted": ["locks"]})
    assert result["errors"] == {"policy_restricted": "rule_unknown"}


async def test_built_in_tools_are_not_ruled(
    hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer, tmp_path: Path
) -> None:
    """Rules for tools are about tools of others; for ours the calls count that they make."""
    agent = await secure.async_agent(model_server)
    await async_offer(agent, tmp_path, GREET)
    result = await save(hass, agent.entry, "safety", {"policy_blocked": ["tool:ha_control"]})
    assert result["errors"] == {"policy_blocked": "rule_own_tool"}
    result = await save(hass, agent.entry, "safety", {"policy_blocked": ["tool:gret"]})
    assert result["errors"] == {"policy_blocked": "rule_unknown"}
    result = await save(hass, agent.entry, "safety", {"policy_blocked": ["tool:greet"]})
    assert is_saved(result)
    await hass.async_block_till_done(wait_background_tasks=True)
    await hass.config_entries.async_unload(agent.entry.entry_id)


async def test_a_profile_is_for_somebody_who_is_there(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry, hass_admin_user: MockUser
) -> None:
    hass.states.async_set("person.anna", "home", PERSON)
    hass.states.async_set("person.kid", "home")
    device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("a", "b")})
    for field, name, error in (
        ("persons", "person.nobody", "profile_nobody"),
        ("persons", "person.kid", "profile_without_user"),
        ("devices", "0123456789abcdef", "profile_nobody"),
        ("areas", "attic", "profile_nobody"),
    ):
        profile = {"name": "Child", field: [name], "only": ["light"]}
        result = await save(hass, entry, "permissions", {"policy_profiles": [profile]})
        assert result["errors"] == {"policy_profiles": error}
        told = result["description_placeholders"] or {}
        assert (told["profile"], told["name"]) == ("Child", name)
    for field, name in (("persons", "person.anna"), ("devices", device.id), ("areas", "kitchen")):
        profile = {"name": "Child", field: [name], "only": ["light"]}
        result = await save(hass, entry, "permissions", {"policy_profiles": [profile]})
        assert is_saved(result)
