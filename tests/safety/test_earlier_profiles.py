"""Profiles of earlier releases become rules, and nobody may do more than before."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent import async_migrate_entry
from custom_components.home_agent.const import DEFAULTS, DOMAIN
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.safety.policy import Policy
from custom_components.home_agent.safety.rules import Verdict
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.setup import async_setup_component
from tests.helpers.options_pages import is_saved, page, save, shown
from tests.helpers.secure_house import SecureHouse

VERDICTS: Final = Path(__file__).parent.parent / "fixtures" / "verdicts_with_profiles.json"
"""What the last release with profiles said of each call, by options and speaker: free, asked, blocked."""
EVERY_LIST = {
    "only": ["light", "switch", "script", "siren", "cover:garage", "tool:fetch"],
    "blocked": ["light.turn_off", "switch.oven"],
    "restricted": ["light.hall"],
    "allowed": ["siren", "cover:garage.open*", "tool:fetch", "script"],
}
OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "person": {"policy_profiles": [{"name": "A", "persons": ["person.anna"], **EVERY_LIST}]},
    "user": {"policy_profiles": [{"name": "A", "persons": ["@ben"], **EVERY_LIST}]},
    "device": {"policy_profiles": [{"name": "A", "devices": ["tablet", "gone"], **EVERY_LIST}]},
    "room": {"policy_profiles": [{"name": "A", "areas": ["hall"], **EVERY_LIST}]},
    "whom": {
        "policy_profiles": [
            {"persons": ["person.anna"], "devices": ["tablet"], "areas": ["hall"], "only": ["light"]}
        ]
    },
    "only": {"policy_profiles": [{"name": "A", "devices": "tablet", "only": "light"}]},
    "several": {
        "policy_profiles": [
            {"name": "A", "persons": ["person.anna"], "only": ["light", "lock"], "allowed": ["lock.unlock"]},
            {"name": "A", "persons": ["person.anna", "@ben"], "restricted": ["lock"]},
            {"name": "B", "areas": ["hall"], "only": ["switch", "calendar"]},
            {"name": "C", "persons": ["@ben"], "allowed": ["*"]},
        ]
    },
    "reads": {"policy_profiles": [{"name": "A", "persons": ["@ben"], "blocked": ["calendar"]}]},
    "scripts": {
        "policy_profiles": [
            {"name": "A", "persons": ["@ben"], "allowed": ["script.burgle"]},
            {"name": "B", "persons": ["person.anna"], "allowed": ["script", "lock.front_door"]},
            {"name": "C", "devices": ["tablet"], "allowed": ["script.turn_on"], "restricted": ["lock"]},
        ]
    },
    "beside lists": {
        "policy_blocked": ["siren"],
        "policy_restricted": ["light.turn_off", "tool:fetch"],
        "policy_allowed": ["cover:garage", "lock.unlock", "tool:fetch", "script.burgle"],
        "policy_profiles": [
            {"name": "A", "devices": ["tablet"], "restricted": ["lock"], "blocked": ["light"]}
        ],
    },
    "named": {
        "policy_choices": [
            {"decision": "never", "kinds": ["light"], "whom": ["profile:Kids"]},
            {"decision": "ask", "actions": ["turn_on"], "whom": ["guests", "except:profile:Kids"]},
            {"decision": "always", "entities": ["siren.roof"], "whom": ["profile:Kids"]},
            {"decision": "never", "kinds": ["valve"], "whom": ["profile:Gone"]},
        ],
        "policy_profiles": [
            {"name": "Kids", "persons": ["person.anna"]},
            {"name": "Kids", "devices": ["tablet"], "allowed": ["siren"]},
        ],
    },
    "stricter": {
        "policy_restricted": ["light.turn_off", "lock"],
        "policy_profiles": [
            {
                "name": "A",
                "devices": ["tablet"],
                "allowed": ["light", "lock.unlock"],
                "blocked": ["tool:fetch"],
            },
        ],
    },
    "nobody": {
        "policy_profiles": [
            {"name": "A", "persons": ["person.gone"], "devices": ["gone"], "only": ["light"]},
            {"name": "B", "only": ["light"]},
            {"name": "C", "persons": ["@ben"], "blocked": ["not a rule"], "only": ["not a rule"]},
            "no profile",
        ]
    },
}
CALLS: Final = [
    ("light", "turn_on", "light.hall"),
    ("light", "turn_off", "light.hall"),
    ("switch", "turn_on", "switch.oven"),
    ("lock", "unlock", "lock.front_door"),
    ("lock", "lock", "lock.front_door"),
    ("siren", "turn_on", "siren.roof"),
    ("cover", "open_cover", "cover.garage"),
    ("cover", "close_cover", "cover.garage"),
    ("valve", "open_valve", "valve.water"),
    ("script", "turn_on", "script.glow"),
    ("script", "turn_on", "script.burgle"),
    ("calendar", "get_events", "calendar.home"),
    ("calendar", "create_event", "calendar.home"),
]
TOOLS: Final = [("fetch", False), ("other", False), ("fetch", True)]
DIGITS: Final = {Verdict.ALLOW: "0", Verdict.CONFIRM: "1", Verdict.BLOCK: "2"}
SPEAKERS: Final[dict[str, dict[str, Any]]] = {
    "anna": {"user": "anna"},
    "ben": {"user": "ben"},
    "ben at the tablet": {"user": "ben", "device_id": "tablet"},
    "tablet": {"device_id": "tablet"},
    "hall": {"device_id": "other", "area_id": "hall"},
    "somewhere": {"device_id": "other"},
}


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    """Return the house with two persons, a calendar and two scripts."""
    assert ar.async_get(hass).async_get_area("hall")
    for name, user in (("anna", secure.anna), ("ben", secure.ben)):
        hass.states.async_set(f"person.{name}", "home", {"user_id": user.id, "id": name})
    hass.states.async_set("calendar.home", "off")
    steps = {
        "glow": {"action": "light.turn_on", "target": {"entity_id": "light.hall"}},
        "burgle": {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}},
    }
    scripts = {name: {"sequence": [step]} for name, step in steps.items()}
    assert await async_setup_component(hass, "script", {"script": scripts})
    return secure


def with_user(stored: Any, user_id: str) -> Any:
    """Return options with the id of a user in its place."""
    return json.loads(json.dumps(stored).replace("@ben", user_id))


def verdicts(hass: HomeAssistant, secure: SecureHouse, options: dict[str, Any]) -> dict[str, str]:
    """Return a digit for each call and each tool, by who speaks."""
    policy = Policy(hass, {**DEFAULTS, **options})
    users = {"anna": secure.anna, "ben": secure.ben}
    found = {}
    for name, came in SPEAKERS.items():
        user = users.get(came.get("user", ""))
        place = {key: value for key, value in came.items() if key != "user"}
        speaker = Speaker(context=Context(user_id=user.id if user else None), language="en", **place)
        judged = [policy.judge(*call[:2], call[2:], speaker, user=user).verdict for call in CALLS]
        judged += [
            policy.judge_tool(tool, read_only=only, speaker=speaker, user=user) for tool, only in TOOLS
        ]
        found[name] = "".join(DIGITS[verdict] for verdict in judged)
    return found


async def migrated(hass: HomeAssistant, options: dict[str, Any], **more: Any) -> MockConfigEntry:
    """Return an entry that was stored by the last release with profiles."""
    data = {"llm_base_url": "http://127.0.0.1:1/v1", "llm_model": "m"}
    entry = MockConfigEntry(domain=DOMAIN, data=data, options=options, minor_version=2, **more)
    entry.add_to_hass(hass)
    assert await async_migrate_entry(hass, entry)
    return entry


@pytest.mark.parametrize("name", OPTIONS)
async def test_nobody_may_do_more_than_before(hass: HomeAssistant, secure: SecureHouse, name: str) -> None:
    """All is as it was but for one thing.

    What a profile allowed is asked about where the household's list of actions asks, and a tool that only
    reads is blocked where a profile named it.
    """
    entry = await migrated(hass, with_user(OPTIONS[name], secure.ben.id))
    assert "policy_profiles" not in entry.options
    before = json.loads(VERDICTS.read_text(encoding="utf-8"))[name]
    now = verdicts(hass, secure, dict(entry.options))
    if name == "stricter":
        changed = {who: digits for who, digits in now.items() if digits != before[who]}
        assert set(changed) == {"tablet", "ben at the tablet"}
        for who, digits in changed.items():
            assert all(new >= old for new, old in zip(digits, before[who], strict=True))
    else:
        assert now == before


async def test_profiles_are_shown_as_rules(hass: HomeAssistant, secure: SecureHouse) -> None:
    """Each list is a rule for the same people, also of a further agent; saved again, they stay."""
    profile = {"name": "A", "persons": ["person.anna"], "devices": ["gone"], "areas": ["hall"], **EVERY_LIST}
    picked = [{"decision": "never", "areas": ["hall"], "whom": ["profile:A", "except:profile:B"]}]
    options = {"policy_choices": picked, "policy_profiles": [profile]}
    further = {"data": options, "subentry_type": "agent", "title": "Guests", "unique_id": None}
    entry = await migrated(hass, options, subentries_data=[further])
    whom = ["person.anna", "device:gone", "area:hall"]
    rules = [
        {**picked[0], "whom": [*whom, "except:profile:B"]},
        {"decision": "only", "kinds": EVERY_LIST["only"], "whom": whom},
        {"decision": "never", "kinds": EVERY_LIST["blocked"], "whom": whom},
        {"decision": "ask", "kinds": EVERY_LIST["restricted"], "whom": whom},
        {"decision": "always", "kinds": [*EVERY_LIST["allowed"][:-1], "script.*"], "whom": whom},
    ]
    assert dict(entry.options) == {"policy_choices": rules}
    (agent,) = entry.subentries.values()
    assert dict(agent.data) == {"policy_choices": rules}
    in_form = shown(await page(hass, entry, "permissions"))["policy_choices"]
    assert [one["decision"] for one in in_form] == [
        "Never",
        "Only these",
        "Never",
        "Ask first",
        "Always allow",
    ]
    assert in_form[1]["whom"] == ["anna", "device:gone", "Anyone in Hall"]
    assert is_saved(await save(hass, entry, "permissions", {"policy_choices": in_form}))
    assert entry.options["policy_choices"] == rules
