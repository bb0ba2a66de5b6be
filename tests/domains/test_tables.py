"""What derives from the facts about the domains, held against a record of what was decided."""

import json
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.domains import DOMAINS, gated_domains
from custom_components.home_agent.domains.base import STATE

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


def test_every_table_is_recorded() -> None:
    assert DERIVED.keys() == RECORDED.keys()


@pytest.mark.parametrize("table", DERIVED)
def test_a_table_is_as_decided(table: str) -> None:
    assert DERIVED[table]() == RECORDED[table]


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
