"""The form of a rule: what there is to choose from, how it is stored and shown, and what is refused."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.const import DOMAIN
from homeassistant.config_entries import ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    issue_registry as ir,
    label_registry as lr,
)
from tests.helpers.checks import for_each
from tests.helpers.options_pages import is_saved, page, save, selector_of, shown
from tests.helpers.repair_dialogs import Dialogs, dialog, issues, only, settle
from tests.helpers.secure_house import SecureHouse

__all__ = ["dialog"]

MOST_FIELDS = 8
RULES = "rules_unmatched"


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    """Return a house with a nursery upstairs, a label, and two persons, one without an account."""
    floor = fr.async_get(hass).async_create("Upstairs")
    ar.async_get(hass).async_create("Nursery", floor_id=floor.floor_id)
    lr.async_get(hass).async_create("Party")
    er.async_get(hass).async_get_or_create("person", "person", "anna", suggested_object_id="anna")
    user = MockUser(name="Anna").add_to_hass(hass)
    hass.states.async_set("person.anna", "home", {"friendly_name": "Anna", "user_id": user.id, "id": "anna"})
    hass.states.async_set("person.mia", "home", {"friendly_name": "Mia", "user_id": None, "id": "mia"})
    return secure


@pytest.fixture
def entry(hass: HomeAssistant) -> MockConfigEntry:
    """Return an entry that is not set up."""
    found = MockConfigEntry(
        domain=DOMAIN,
        data={"llm_base_url": "http://127.0.0.1:1/v1", "llm_model": "m"},
    )
    found.add_to_hass(hass)
    return found


async def save_rule(hass: HomeAssistant, entry: MockConfigEntry, choice: dict[str, Any]) -> ConfigFlowResult:
    """Save the page with one rule."""
    return await save(hass, entry, "permissions", {"policy_choices": [choice]})


WORDS = {
    "en": {
        "decision": "Never",
        "places": ["Nursery", "Upstairs (floor)", "Party (label)"],
        "hours": ["Saturday", "20:00-07:00"],
        "presence": "Anna is away",
        "whom": ["Guests", "Anyone in Nursery", "Except administrators"],
    },
    "de": {
        "decision": "Nie",
        "places": ["Nursery", "Upstairs (Etage)", "Party (Label)"],
        "hours": ["Samstag", "20:00-07:00"],
        "presence": "Anna ist nicht zu Hause",
        "whom": ["Gäste", "Alle in Nursery", "Außer Administratoren"],
    },
}
STORED = {
    "decision": "never",
    "areas": ["nursery"],
    "floors": ["upstairs"],
    "labels": ["party"],
    "hours": ["sat", "20:00-07:00"],
    "presence": "away:person.anna",
    "whom": ["guests", "area:nursery", "except:administrators"],
}


@pytest.mark.parametrize("language", WORDS)
async def test_a_rule_is_shown_in_words(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry, language: str
) -> None:
    """Each word is one to choose from; the browser puts them side by side as the line of the rule."""
    hass.config.language = language
    typed = WORDS[language]
    selector = selector_of(await page(hass, entry, "permissions"), "policy_choices")
    fields = selector.config["fields"]
    assert len(fields) <= MOST_FIELDS
    assert "label_field" not in selector.config
    for field, words in typed.items():
        offered = fields[field]["selector"].config["options"]
        assert {words} if isinstance(words, str) else {*words} - {"20:00-07:00"} <= set(offered), field
    assert is_saved(await save_rule(hass, entry, typed))
    assert entry.options["policy_choices"] == [STORED]
    assert shown(await page(hass, entry, "permissions"))["policy_choices"] == [typed]
    # The browser shows the values in the order of the fields.
    assert list(fields) == [
        *("decision", "actions", "kinds", "entities"),
        *("places", "hours", "presence", "whom"),
    ]


@for_each(
    ("typed", "stored"),
    [
        (["20-7"], ["20:00-07:00"]),
        (["8:30 \u2013 9:15"], ["08:30-09:15"]),
        (["22h-6h"], None),
        (["22h00-6h30"], ["22:00-06:30"]),
        (["20:00-24:00"], ["20:00-24:00"]),
        (["20:00-7:00", "20-7", "Sunday", "Monday"], ["mon", "sun", "20:00-07:00"]),
        (["20:00-20:00"], None),
        (["24:00-07:00"], None),
        (["20:60-07:00"], None),
        (["in the evening"], None),
        (["20:00"], None),
    ],
)
async def test_times(
    hass: HomeAssistant,
    secure: SecureHouse,
    entry: MockConfigEntry,
    *,
    typed: list[str],
    stored: list[str] | None,
) -> None:
    choice = {"decision": "Never", "places": ["Nursery"], "hours": typed}
    result = await save_rule(hass, entry, choice)
    if stored is None:
        assert result["errors"] == {"policy_choices": "choice_hours"}
        assert result["description_placeholders"]["name"] == typed[0]
    else:
        assert entry.options["policy_choices"][0]["hours"] == stored


@for_each(
    ("choice", "error", "named"),
    [
        ({"decision": "Never"}, "choice_empty", None),
        ({"decision": "Never", "actions": ["unlok"]}, "choice_unknown", "unlok"),
        ({"decision": "Never", "kinds": ["lights"]}, "rule_unknown", None),
        ({"decision": "Never", "entities": ["lock.frontdor"]}, "choice_unknown", "lock.frontdor"),
        ({"decision": "Never", "places": ["Attic"]}, "choice_unknown", "Attic"),
        ({"decision": "Never", "places": ["areas:attic"]}, "choice_unknown", "attic"),
        ({"decision": "Never", "presence": "Tom is away"}, "choice_unknown", "Tom is away"),
        ({"decision": "Never", "whom": ["Tom"]}, "choice_unknown", "Tom"),
        ({"decision": "Never", "whom": ["profile:Guests"]}, "choice_unknown", "profile:Guests"),
        ({"decision": "Never", "whom": ["Mia"]}, "choice_without_user", "Mia"),
        ({"decision": "Never", "kinds": ["Light"], "whom": ["Except Mia"]}, "choice_without_user", "Mia"),
        ({"decision": "Never", "whom": ["Anna", "Except Anna"]}, "choice_nobody", None),
        ({"decision": "Always allow", "hours": ["Monday"]}, "choice_too_wide", None),
        ({"decision": "Always allow", "whom": ["Anna"]}, "choice_too_wide", None),
        ({"decision": "Only these", "whom": ["Anna"]}, "choice_too_wide", None),
        ({"decision": "Always allow", "kinds": ["Light"], "whom": ["Anna"]}, None, None),
        ({"decision": "Never", "hours": ["Monday"]}, None, None),
        ({"decision": "Ask first", "whom": ["Guests"]}, None, None),
    ],
)
async def test_a_rule_that_cannot_apply_is_refused(
    hass: HomeAssistant,
    secure: SecureHouse,
    entry: MockConfigEntry,
    *,
    choice: dict[str, Any],
    error: str | None,
    named: str | None,
) -> None:
    result = await save_rule(hass, entry, choice)
    assert is_saved(result) is (error is None)
    if error:
        assert result["errors"] == {"policy_choices": error}
        assert (result["description_placeholders"] or {}).get("name") == named


async def test_persons_that_a_rule_needs(secure: SecureHouse, entry: MockConfigEntry) -> None:
    """The owner of a satellite needs no account; presence is nobody's where there are no persons."""
    hass, never = secure.hass, {"decision": "Never"}
    owners = [{"device": "satellite-1", "person": "person.mia"}]
    hass.config_entries.async_update_entry(entry, options={**entry.options, "device_persons": owners})
    assert is_saved(await save_rule(hass, entry, {**never, "whom": ["Mia"]}))
    for entity_id in ("person.anna", "person.mia"):
        hass.states.async_remove(entity_id)
    result = await save_rule(hass, entry, {**never, "places": ["Nursery"], "presence": "Nobody is at home"})
    assert result["errors"] == {"policy_choices": "choice_no_persons"}


async def test_devices_to_choose_from(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """Satellites and phones, and what a stored rule names."""
    devices = dr.async_get(hass)
    made = {}
    domains = {"Hall Satellite": "voip", "Phone": "mobile_app", "Tablet": "x", "Washer": "x"}
    for name, domain in domains.items():
        other = MockConfigEntry(domain=domain)
        other.add_to_hass(hass)
        made[name] = devices.async_get_or_create(
            config_entry_id=other.entry_id, identifiers={("test", name)}, name=name
        )
    er.async_get(hass).async_get_or_create(
        "assist_satellite", "voip", "1", device_id=made["Hall Satellite"].id
    )
    stored = [{"decision": "never", "kinds": ["lock"], "whom": [f"except:device:{made['Tablet'].id}"]}]
    hass.config_entries.async_update_entry(entry, options={"policy_choices": stored})
    form = await page(hass, entry, "permissions")
    offered = selector_of(form, "policy_choices").config["fields"]["whom"]["selector"].config["options"]
    assert {name for name in made if f"Anyone at {name}" in offered} == {"Hall Satellite", "Phone", "Tablet"}
    assert shown(form)["policy_choices"][0]["whom"] == ["Except Anyone at Tablet"]
    choice = {"decision": "Never", "kinds": ["lock"], "whom": ["Anyone at Phone"]}
    assert is_saved(await save_rule(hass, entry, choice))
    assert entry.options["policy_choices"][0]["whom"] == [f"device:{made['Phone'].id}"]
    choice["whom"] = ["device:gone"]
    assert (await save_rule(hass, entry, choice))["errors"] == {"policy_choices": "choice_unknown"}


OLD = [
    {"decision": "never", "actions": ["turn_on"], "areas": ["nursery"], "labels": ["party"]},
    {"decision": "ask", "kinds": ["lock"]},
    {"decision": "never", "actions": ["lock"], "entities": ["lock.gone"]},
]


async def test_rules_of_an_earlier_release(
    hass: HomeAssistant, secure: SecureHouse, entry: MockConfigEntry
) -> None:
    """They are shown, and saved again as they were, also those that match nothing any more."""
    hass.config.language = "de"
    hass.config_entries.async_update_entry(entry, options={"policy_choices": OLD})
    before = shown(await page(hass, entry, "permissions"))["policy_choices"]
    assert before[0]["places"] == ["Nursery", "Party (Label)"]
    assert before[1]["kinds"] == ["Schloss"]
    assert before[2]["actions"] == ["Schlösser aufschließen oder öffnen"]
    assert is_saved(await save(hass, entry, "permissions", {"policy_choices": before}))
    assert entry.options["policy_choices"] == OLD


async def test_what_stops_matching_is_an_issue(
    hass: HomeAssistant, secure: SecureHouse, dialog: Dialogs
) -> None:
    """Deleted floors, labels, persons and rooms are named; a renamed person is followed."""
    choices = [
        {"decision": "never", "floors": ["upstairs"], "labels": ["party"], "presence": "nobody"},
        {"decision": "ask", "areas": ["nursery"], "presence": "away:person.anna"},
        {"decision": "ask", "areas": ["nursery"], "whom": ["guests", "except:person.anna", "area:gone"]},
    ]
    registry = er.async_get(hass)
    pins = [{"person": "person.anna", "pin": "a hash"}]
    agent = await secure.async_with({"policy_choices": choices, "policy_pins": pins})

    def told() -> list[str]:
        issue = ir.async_get(hass).async_get_issue(DOMAIN, only(hass, RULES))
        assert issue
        assert issue.translation_placeholders
        return [line.split(": ", 1)[1] for line in issue.translation_placeholders["names"].splitlines()]

    assert told() == ["`area:gone`"]
    fr.async_get(hass).async_delete("upstairs")
    lr.async_get(hass).async_delete("party")
    await settle(hass)
    assert told() == ["`upstairs`", "`party`", "`area:gone`"]

    registry.async_update_entity("person.anna", new_entity_id="person.anne")
    state = hass.states.get("person.anna")
    assert state
    hass.states.async_remove("person.anna")
    hass.states.async_set("person.anne", state.state, state.attributes)
    await settle(hass)
    assert "`person.anna` → `person.anne`" in told()
    await (await dialog()).mend(only(hass, RULES))
    stored = agent.entry.options["policy_choices"]
    assert stored[1]["presence"] == "away:person.anne"
    assert stored[2]["whom"] == ["guests", "except:person.anne", "area:gone"]
    assert agent.entry.options["policy_pins"] == [{"person": "person.anne", "pin": "a hash"}]
    assert issues(hass, RULES) != []
