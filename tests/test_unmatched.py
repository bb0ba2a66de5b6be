"""Names in the options that stop matching: a repair issue says which, and knows what was renamed."""

from typing import Any

from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.const import DOMAIN
from homeassistant.config_entries import ConfigEntryState
from homeassistant.const import EVENT_HOMEASSISTANT_STARTED
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    issue_registry as ir,
    label_registry as lr,
)
from tests.helpers.repair_dialogs import Dialogs, dialog, issues, only, settle
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer

__all__ = ["dialog"]

RULES = "rules_unmatched"
NAMES = "names_unmatched"
UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.haustuer"})


async def rename(hass: HomeAssistant, old: str, new: str) -> None:
    """Rename an entity as its settings do, and move its state."""
    state = hass.states.get(old)
    assert state
    er.async_get(hass).async_update_entity(old, new_entity_id=new)
    hass.states.async_remove(old)
    hass.states.async_set(new, state.state, state.attributes)
    await settle(hass)


def told(hass: HomeAssistant, key: str) -> str:
    """Return which names an issue lists."""
    issue = ir.async_get(hass).async_get_issue(DOMAIN, only(hass, key))
    assert issue
    assert issue.translation_placeholders
    return issue.translation_placeholders["names"]


async def test_a_renamed_lock(
    hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer, dialog: Dialogs
) -> None:
    """The issue names the old and the new id, and a click makes the rule protect the lock again."""
    choices = [{"decision": "ask", "kinds": ["lock.front_door"], "whom": ["area:hall"]}]
    options = {"policy_blocked": ["siren", "lock.front_door"], "policy_choices": choices}
    agent = await secure.async_agent(model_server, options)
    assert issues(hass, RULES) == []
    await rename(hass, "lock.front_door", "lock.door")
    await rename(hass, "lock.door", "lock.haustuer")
    assert told(hass, RULES) == (
        "- Blocked actions: `lock.front_door` → `lock.haustuer`\n- Rules: `lock.front_door` → `lock.haustuer`"
    )
    assert ir.async_get(hass).async_get_issue(DOMAIN, only(hass, RULES)).severity is ir.IssueSeverity.ERROR

    done = await (await dialog()).mend(only(hass, RULES))
    assert done["type"] == "create_entry"
    assert agent.entry.options["policy_blocked"] == ["siren", "lock.haustuer"]
    assert agent.entry.options["policy_choices"] == [{**choices[0], "kinds": ["lock.haustuer"]}]
    assert issues(hass, RULES) == []
    secure.calls.clear()
    await agent.act(UNLOCK, sentence="Unlock the front door")
    assert secure.moved() == []


async def test_what_is_gone_at_the_start(
    hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer, dialog: Dialogs
) -> None:
    """Rules of an earlier release, removed entities, areas and devices are listed; a click opens the page."""
    ar.async_get(hass).async_get_or_create("Attic")
    options = {
        "policy_blocked": ["locks", "lock.shed", "acme.launch", "siren"],
        "policy_choices": [
            {"decision": "only", "kinds": ["light"], "whom": ["area:attic", "area:hall", "device:gone"]}
        ],
    }
    agent = await secure.async_agent(model_server, options)
    listed = told(hass, RULES).splitlines()
    assert [line.split("`")[1] for line in listed] == ["locks", "lock.shed", "acme.launch", "device:gone"]
    assert listed[0] == "- Blocked actions: `locks`"
    shown = await (await dialog()).mend(only(hass, RULES))
    assert (shown["type"], shown["reason"]) == ("abort", "opened")
    assert issues(hass, RULES) != []  # until somebody saves the page

    hass.services.async_register("acme", "launch", lambda _call: None)
    ar.async_get(hass).async_delete("attic")
    await settle(hass)
    listed = told(hass, RULES).splitlines()
    assert [line.split("`")[1] for line in listed] == ["locks", "lock.shed", "area:attic", "device:gone"]
    await agent.set_options(policy_blocked=["siren"], policy_choices=[])
    assert issues(hass, RULES) == []


async def test_picked_rules(
    hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer, dialog: Dialogs
) -> None:
    """A renamed entity is named with its new id; areas and labels that were removed are listed."""
    area = ar.async_get(hass).async_get_or_create("Attic")
    label = lr.async_get(hass).async_create("Kids")
    choices = [
        {"decision": "never", "entities": ["lock.front_door"]},
        {"decision": "ask", "areas": [area.id], "labels": [label.label_id], "kinds": ["light"]},
    ]
    agent = await secure.async_agent(model_server, {"policy_choices": choices})
    assert issues(hass, RULES) == []
    await rename(hass, "lock.front_door", "lock.haustuer")
    lr.async_get(hass).async_delete(label.label_id)
    ar.async_get(hass).async_delete(area.id)
    await settle(hass)
    listed = told(hass, RULES).splitlines()
    assert listed[0] == "- Rules: `lock.front_door` → `lock.haustuer`"
    assert [line.split("`")[1] for line in listed[1:]] == ["attic", "kids"]
    await (await dialog()).mend(only(hass, RULES))
    assert agent.entry.options["policy_choices"][0]["entities"] == ["lock.haustuer"]


async def test_removed_while_it_runs(
    hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer
) -> None:
    """A removed entity is reported, and removing an agent removes its issue."""
    agent = await secure.async_agent(model_server, {"policy_restricted": ["switch.oven"]})
    er.async_get(hass).async_remove("switch.oven")
    hass.states.async_remove("switch.oven")
    await settle(hass)
    assert told(hass, RULES).startswith("- Actions that need a confirmation: `switch.oven`")
    er.async_get(hass).async_get_or_create("switch", "test", "oven", suggested_object_id="oven")
    await settle(hass)
    assert issues(hass, RULES) == []
    er.async_get(hass).async_remove("switch.oven")
    await settle(hass)
    assert issues(hass, RULES) != []
    await hass.config_entries.async_remove(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert issues(hass, RULES) == []


async def test_no_false_alarm_while_the_house_loads(
    hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer
) -> None:
    """Entities that the registry does not know may come late; a domain that does not exist never comes."""
    hass.set_state(CoreState.starting)
    late = MockConfigEntry(domain="test", state=ConfigEntryState.SETUP_RETRY)
    late.add_to_hass(hass)
    await secure.async_agent(model_server, {"policy_blocked": ["lock.late", "locks"]})
    await settle(hass)
    assert issues(hass, RULES) == []
    hass.set_state(CoreState.running)
    hass.bus.async_fire(EVENT_HOMEASSISTANT_STARTED)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert told(hass, RULES) == "- Blocked actions: `locks`"
    hass.states.async_set("lock.late", "locked")
    late.mock_state(hass, ConfigEntryState.LOADED)
    await settle(hass)
    assert told(hass, RULES) == "- Blocked actions: `locks`"
    hass.states.async_remove("lock.late")
    await settle(hass)
    assert "`lock.late`" in told(hass, RULES)


async def test_other_options_that_name_something(
    hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer, dialog: Dialogs
) -> None:
    """Entities to show, owners, phones and rules of what is said unasked are looked after, too."""
    registry = er.async_get(hass)
    registry.async_get_or_create("person", "person", "anna", suggested_object_id="anna")
    hass.states.async_set("person.anna", "home", {"user_id": secure.anna.id})
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=next(iter(hass.config_entries.async_entries()), _any(hass)).entry_id,
        identifiers={("test", "tablet")},
    )
    hass.services.async_register("notify", "mobile_app_anna", lambda _call: None)
    options: dict[str, Any] = {
        "direct_entities": ["light.hall", "climate.*"],
        "device_persons": [{"device": device.id, "person": "person.anna"}],
        "notify_targets": [{"person": "person.anna", "targets": ["notify.mobile_app_anna"]}],
        "proactive_enabled": True,
        "proactive_rules": [
            {"rule": "state", "entities": ["lock.front_door"], "state": "unlocked", "duration": "1h30m"}
        ],
        "telegram_chat_persons": [{"chat": "7", "person": "person.nobody"}],  # Telegram is off
    }
    agent = await secure.async_agent(model_server, options)
    assert issues(hass, NAMES) == issues(hass, RULES) == []
    await rename(hass, "light.hall", "light.corridor")
    await rename(hass, "lock.front_door", "lock.haustuer")
    await rename(hass, "person.anna", "person.ann")
    lines = told(hass, NAMES).splitlines()
    assert [line.partition(": `")[2] for line in lines] == [
        "light.hall` → `light.corridor`",
        "person.anna` → `person.ann`",
        "person.anna` → `person.ann`",
        "lock.front_door` → `lock.haustuer`",
    ]
    await (await dialog()).mend(only(hass, NAMES))
    assert agent.entry.options["direct_entities"] == ["light.corridor", "climate.*"]
    assert agent.entry.options["notify_targets"][0]["person"] == "person.ann"
    assert agent.entry.options["proactive_rules"][0]["entities"] == ["lock.haustuer"]
    assert issues(hass, NAMES) == []
    hass.services.async_remove("notify", "mobile_app_anna")
    await settle(hass)
    assert "`notify.mobile_app_anna`" in told(hass, NAMES)


def _any(hass: HomeAssistant) -> MockConfigEntry:
    found = MockConfigEntry(domain="test", state=ConfigEntryState.LOADED)
    found.add_to_hass(hass)
    return found
