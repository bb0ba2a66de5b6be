"""The rules of messages: a menu of rules, what a rule is about, and a form with what it needs."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.proactive.rules import TEMPLATES, read_rules
from homeassistant.config_entries import ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from tests.helpers.checks import every
from tests.helpers.options_pages import entry, selector_of, shown  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("house")
OPTION = "proactive_rules"
LEAK = {"rule": "leak", "duration": "90m"}
LIT = {"rule": "state", "entities": ["light.hall"], "state": "on", "urgent": True}


async def walk(hass: HomeAssistant, entry: MockConfigEntry, *steps: str) -> ConfigFlowResult:
    """Choose one entry of a menu after the other."""
    options = hass.config_entries.options
    result = await options.async_init(entry.entry_id)
    for step in ("message_rules", *steps):
        result = await options.async_configure(result["flow_id"], {"next_step_id": step})
    return result


async def add(
    hass: HomeAssistant, entry: MockConfigEntry, kind: str, typed: dict[str, Any]
) -> ConfigFlowResult:
    """Add a rule."""
    opened = await walk(hass, entry, "add_rule", f"watch_{kind}")
    return await hass.config_entries.options.async_configure(opened["flow_id"], typed)


async def test_a_rule_from_the_menu_to_the_message(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """First what it watches, then its fields, filled with what holds; then the list, which says so."""
    menu = await walk(hass, entry)
    assert menu["menu_options"] == {"add_rule": "Add a rule", "init": "Back to all options"}
    kinds = await walk(hass, entry, "add_rule")
    assert kinds["menu_options"]["watch_garage_open"] == "Garage or gate left open"
    assert len(kinds["menu_options"]) == len(TEMPLATES)

    opened = await walk(hass, entry, "add_rule", "watch_garage_open")
    assert opened["description_placeholders"] == {"rule": "Garage or gate left open"}
    assert shown(opened)["duration"] == {"days": 0, "hours": 0, "minutes": 30, "seconds": 0}
    typed = {"duration": {"hours": 1, "minutes": 30}, "persons": ["person.anna"], "ask": "close"}
    menu = await hass.config_entries.options.async_configure(opened["flow_id"], typed)
    assert menu["type"] is FlowResultType.MENU
    assert [*menu["menu_options"]] == ["change_rule_0", "add_rule", "init"]
    assert menu["description_placeholders"]["notes"].startswith("**Saved.**")
    stored = {"rule": "garage_open", "duration": "1h30m", "persons": ["person.anna"], "ask": "close"}
    assert dict(entry.options) == {OPTION: [stored]}
    assert [rule.name for rule in read_rules(entry.options[OPTION])] == ["garage_open"]
    assert (
        "done"
        in (await hass.config_entries.options.async_configure(menu["flow_id"], {"next_step_id": "init"}))[
            "menu_options"
        ]
    )


async def test_each_rule_shows_only_what_it_needs(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """With the duration of its kind, which is not stored."""
    always, asks = {"entities", "duration", "persons"}, {"ask", "ask_entities", "aloud"}
    expected = {
        "battery_low": {"urgent"},
        "leak": asks,
        "unlocked_night": asks,
        "state": {"state", "urgent", *asks},
    }
    opened = await walk(hass, entry, "add_rule", "watch_briefing")
    assert set(shown(opened)) == {"at", "arrivals", "persons", "spoken"}
    for kind in TEMPLATES.keys() - {"briefing"}:
        opened = await walk(hass, entry, "add_rule", f"watch_{kind}")
        assert set(shown(opened)) == always | expected.get(kind, {"urgent", *asks}), kind
    opened = await walk(hass, entry, "add_rule", "watch_unlocked_night")
    assert selector_of(opened, "entities").config["filter"] == [
        {"domain": ["lock"]},
        {"domain": ["binary_sensor"], "device_class": ["lock"]},
    ]
    typed = {key: value for key, value in shown(opened).items() if value is not None}
    await hass.config_entries.options.async_configure(opened["flow_id"], typed)
    assert entry.options[OPTION] == [{"rule": "unlocked_night"}]


async def test_rules_are_changed_and_removed(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """In the language of the reader; what a later release has stored stays."""
    later = {"rule": "of_a_later_release"}
    hass.config.language = "de"
    hass.states.async_set("light.hall", "off", {"friendly_name": "Flurlicht"})
    hass.config_entries.async_update_entry(
        entry, options={OPTION: [LEAK, later, LIT], "proactive_enabled": True}
    )
    menu = await walk(hass, entry)
    assert menu["description_placeholders"] == {"agent": entry.title, "notes": ""}
    assert [*menu["menu_options"].values()][1] == "Eigener Zustand · Flurlicht · on"
    opened = await walk(hass, entry, "change_rule_2")
    assert {key: shown(opened)[key] for key in ("entities", "state", "urgent")} == {
        key: LIT[key] for key in ("entities", "state", "urgent")
    }
    await hass.config_entries.options.async_configure(
        opened["flow_id"], {"entities": ["light.hall"], "state": " off ", "duration": {"minutes": 5}}
    )
    changed = {"rule": "state", "entities": ["light.hall"], "state": "off", "duration": "5m"}
    assert entry.options[OPTION] == [LEAK, later, changed]

    opened = await walk(hass, entry, "change_rule_0")
    assert shown(opened)["duration"] == {"days": 0, "hours": 1, "minutes": 30, "seconds": 0}
    await hass.config_entries.options.async_configure(opened["flow_id"], {"remove": True})
    assert entry.options[OPTION] == [later, changed]
    hass.config_entries.async_update_entry(entry, options={OPTION: [changed]})
    opened = await walk(hass, entry, "change_rule_0")
    await hass.config_entries.options.async_configure(opened["flow_id"], {"remove": True})
    assert dict(entry.options) == {}


async def test_messages_that_are_off(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """The list says so, since a rule has no effect then."""
    notes = (await walk(hass, entry))["description_placeholders"]["notes"]
    assert "Send messages without being asked" in notes


async def test_at_once_is_a_duration(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """An empty field is the duration of the kind, zero is none."""
    await add(hass, entry, "garage_open", {"duration": {"seconds": 0}})
    await add(hass, entry, "garage_open", {})
    at_once, usual = read_rules(entry.options[OPTION])
    assert at_once.duration.total_seconds() == 0
    assert usual.duration == TEMPLATES["garage_open"].duration


async def test_a_briefing(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """It is a rule of the list with fields of its own, and watches nothing."""
    hass.states.async_set("person.anna", "home", {"friendly_name": "Anna"})
    typed = {"at": "07:30:00", "arrivals": ["person.anna"], "persons": [], "spoken": True}
    menu = await add(hass, entry, "briefing", typed)
    stored = {"rule": "briefing", "at": "07:30:00", "arrivals": ["person.anna"], "spoken": True}
    assert entry.options[OPTION] == [stored]
    assert menu["menu_options"]["change_rule_0"] == "Briefing · Anna · 07:30"
    assert read_rules(entry.options[OPTION]) == []
    opened = await walk(hass, entry, "change_rule_0")
    assert {key: shown(opened)[key] for key in ("at", "arrivals", "spoken")} == {
        key: stored[key] for key in ("at", "arrivals", "spoken")
    }
    await hass.config_entries.options.async_configure(opened["flow_id"], {"remove": True})
    assert dict(entry.options) == {}


REFUSED: tuple[tuple[str, dict[str, Any], dict[str, str]], ...] = (
    ("state", {"state": "on"}, {"entities": "proactive_state_missing"}),
    ("state", {"entities": ["light.hall"], "state": " "}, {"state": "proactive_state_missing"}),
    ("briefing", {"spoken": True}, {"at": "proactive_briefing"}),
    ("appliance_finished", {}, {"entities": "proactive_entities_missing"}),
    ("leak", {"duration": {"days": 31}}, {"duration": "proactive_duration"}),
    ("leak", {"ask": "close"}, {"ask": "proactive_ask"}),
    ("light_nobody_home", {"ask": "lock"}, {"ask": "proactive_ask"}),
    ("garage_open", {"ask": "close", "ask_entities": ["lock.hall"]}, {"ask": "proactive_ask"}),
)


async def test_refused_rules(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """The form is shown again with what was typed, and nothing is stored."""
    for kind, typed, errors in every(REFUSED):
        result = await add(hass, entry, kind, typed)
        assert result["errors"] == errors
        assert {key: shown(result)[key] for key in typed} == typed
        assert not entry.options


async def test_a_full_list(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    hass.config_entries.async_update_entry(entry, options={OPTION: [LEAK] * 50})
    assert "add_rule" not in (await walk(hass, entry))["menu_options"]


async def test_what_a_rule_asks(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Entities and a voice belong to the question; what is no question of this release is none."""
    asks = {"ask": "close", "ask_entities": ["valve.main"], "aloud": True}
    await add(hass, entry, "leak", asks)
    await add(hass, entry, "leak", {key: value for key, value in asks.items() if key != "ask"})
    assert entry.options[OPTION] == [{"rule": "leak", **asks}, {"rule": "leak"}]
    (rule,) = read_rules([{"rule": "garage_open", "ask": "disarm"}])
    assert rule.ask == ""
