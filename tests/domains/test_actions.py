"""The vetted table, held against the services and features that Home Assistant has."""

from importlib import import_module
import json
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.domains import DOMAINS, gated_domains, verbs
from custom_components.home_agent.domains.base import ANY, STATE
from custom_components.home_agent.domains.features import feature_bits, feature_enum
from custom_components.home_agent.tools.guard import is_vetted
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.checks import every, for_each

CONTROLLED = sorted(name for name, facts in DOMAINS.items() if facts.actions)


def features_stated() -> list[tuple[str, str]]:
    """Return all names of features that the domains state, each with its domain."""
    return sorted(
        {
            (name, feature)
            for name, facts in DOMAINS.items()
            for stated in (
                *(action.features for action in facts.actions.values()),
                *(parameter.features for parameter in facts.parameters.values()),
                *facts.abilities.values(),
            )
            for feature in stated.split()
        }
    )


@for_each(("domain", "name"), features_stated())
def test_features_are_those_of_home_assistant(domain: str, name: str) -> None:
    enum = getattr(import_module(f"homeassistant.components.{domain}"), feature_enum(domain))
    assert feature_bits(domain, name) == int(enum[name]) > 0


@pytest.mark.parametrize("domain", sorted({*CONTROLLED} - {"group", "script", "automation", "camera"}))
async def test_every_service_is_there(house: HomeAssistant, domain: str) -> None:
    config = {} if domain.startswith("input_") or domain in ("counter", "timer") else []
    assert await async_setup_component(house, domain, {domain: config})
    assert DOMAINS[domain].services <= set(house.services.async_services_for_domain(domain))


def test_scripts_and_scenes_need_the_gate() -> None:
    assert gated_domains() == {"scene", "script"}
    for domain in every(gated_domains()):
        assert not is_vetted(domain, "turn_on")
        assert is_vetted(domain, "turn_on", gated=True)


def test_on_off_and_toggle_never_reach_what_lets_people_or_water_through() -> None:
    for domain in ("lock", "alarm_control_panel", "valve", "cover"):
        assert not {"turn_on", "turn_off"} & set(DOMAINS[domain].actions)
    for domain in ("lock", "alarm_control_panel", "valve"):
        assert "toggle" not in DOMAINS[domain].actions


def test_every_parameter_named_by_an_action_is_there() -> None:
    for domain in every(CONTROLLED):
        facts = DOMAINS[domain]
        for verb, action in facts.actions.items():
            assert verb in verbs()
            if action.direction:
                assert facts.step is not None
                assert facts.step.parameter in facts.parameters
                continue
            if action.takes != ANY:
                assert set(action.takes) <= set(facts.parameters), (domain, verb)
            if action.value:
                assert action.value in facts.parameters


# What derives from the facts about the domains, held against a record of what was decided

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "domains.json").read_text(encoding="utf-8"))
"""The tables that `DERIVED` names. A change of any of them is a decision about safety."""


def _named(attribute: str) -> dict[str, Any]:
    return {name: value for name, facts in DOMAINS.items() if (value := getattr(facts, attribute))}


def _where(attribute: str) -> list[str]:
    return sorted(name for name, facts in DOMAINS.items() if getattr(facts, attribute))


def _in_order(table: dict[str, Any]) -> dict[str, list[str]]:
    return {name: sorted(members) for name, members in table.items()}


def _contained(attribute: str) -> list[str]:
    rows = {name: getattr(facts, attribute) for name, facts in DOMAINS.items()}
    return sorted(name if each == "*" else f"{name}.{each}" for name, row in rows.items() for each in row)


DERIVED = {
    "services": lambda: _in_order(_named("services")),
    "gated": lambda: sorted(gated_domains()),
    "writes": lambda: _in_order(_named("writes")),
    "reads": lambda: _in_order(_named("reads")),
    "generic_services": lambda: _named("generic_services"),
    "opening_services": lambda: {name: list(row) for name, row in _named("opening_services").items()},
    "protected": lambda: _where("is_protected"),
    "guarded_classes": lambda: _in_order(_named("guarded_classes")),
    "restricted": lambda: sorted(rule for facts in DOMAINS.values() for rule in facts.restricted),
    "unrestricted": lambda: sorted(rule for facts in DOMAINS.values() for rule in facts.unrestricted),
    "contained": lambda: _contained("contained"),
    "not_contained": lambda: _contained("not_contained"),
    "runs": lambda: _in_order(_named("runs")),
    "reproduced": lambda: {
        name: {
            "states": {state: list(services) for state, services in shown.states.items()},
            "other": list(shown.other),
            "attributes": dict(DOMAINS[name].reproducing_services),
        }
        for name, shown in _named("reproduced").items()
    },
    "kept_attributes": lambda: _in_order(_named("kept_attributes")),
    "restored": lambda: _where("restore"),
    "device_actions": lambda: {
        name: {kind: DOMAINS[name].service_of(kind) for kind in row}
        for name, row in RECORDED["device_actions"].items()
    },
    "ways": lambda: {
        name: "open" if opens else "close" for facts in DOMAINS.values() for name, opens in facts.ways.items()
    },
}


@for_each("name", DERIVED)
def test_what_is_derived_is_what_was_decided(name: str) -> None:
    assert DERIVED[name]() == RECORDED[name]


def test_an_action_means_the_same_everywhere() -> None:
    """Nothing opens in one domain and closes in another, so that its name tells which way it moves."""
    seen: dict[str, bool] = {}
    for facts in DOMAINS.values():
        for name, opens in facts.ways.items():
            assert seen.setdefault(name, opens) is opens, name
    assert seen["unlock"] is True
    assert seen["close"] is False


def test_what_is_restored_is_kept() -> None:
    """A parameter that an undo sets has its attribute in the ledger."""
    restored = 0
    for facts in DOMAINS.values():
        for name, parameter in facts.parameters.items():
            if facts.restore and parameter.attribute not in (None, STATE):
                assert parameter.attribute in facts.kept_attributes, (facts.name, name)
                restored += 1
    assert restored > 20
