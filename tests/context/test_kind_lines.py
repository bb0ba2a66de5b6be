"""One line about all entities of a kind."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from custom_components.home_agent.context.kind_lines import (
    LineOptions,
    kind_drafts,
    measure_draft,
)
from custom_components.home_agent.knowledge.house import Area, EntityRecord, HouseSnapshot
from homeassistant.core import State

KITCHEN = Area(area_id="kitchen", name="Kitchen")
OFFICE = Area(area_id="office", name="Office")
HOUSE = HouseSnapshot(areas={"kitchen": KITCHEN, "office": OFFICE})

type Member = tuple[EntityRecord, State]


def one(
    entity_id: str,
    name: str,
    state: str,
    attributes: Mapping[str, Any] | None = None,
    *,
    area: str | None = None,
    device_class: str | None = None,
) -> Member:
    record = EntityRecord(
        entity_id=entity_id,
        domain=entity_id.partition(".")[0],
        name=name,
        area_id=area,
        device_class=device_class,
    )
    return record, State(entity_id, state, attributes)


def texts(members: Sequence[Member], **options: Any) -> list[str]:
    return [draft.line().text for draft in kind_drafts(members, HOUSE, LineOptions(**options))]


def lamps(*states: str) -> list[Member]:
    return [one(f"light.lamp_{number}", f"Lamp {number}", state) for number, state in enumerate(states, 1)]


def test_a_list_that_is_cut_says_how_many_are_missing() -> None:
    (draft,) = kind_drafts(lamps(*["on"] * 7), HOUSE)
    line = draft.line(3)
    assert line.text == "lights: 7 of 7 on: Lamp 1, Lamp 2, Lamp 3, +4 more (ha_query)"
    assert line.named == 3
    assert len(line.entity_ids) == 7


def test_a_group_is_no_further_lamp() -> None:
    group = one("light.all", "All Lamps", "on", {"entity_id": ["light.lamp_1", "light.lamp_2"]})
    assert texts([*lamps("on", "off"), group]) == ["lights: 1 of 2 on: Lamp 1 (complete)"]
    assert texts([group]) == ["lights: 1 of 1 on: All Lamps (complete)"]


def test_the_same_name_in_two_rooms_is_told_apart() -> None:
    members = [
        one("light.a", "Ceiling", "on", area="kitchen"),
        one("light.b", "Ceiling", "on", area="office"),
        one("light.c", "Lamp", "on", area="office"),
    ]
    assert texts(members) == ["lights: 3 of 3 on: Ceiling in Kitchen, Ceiling in Office, Lamp (complete)"]
    assert texts(members[2:], rooms=True) == ["lights: 1 of 1 on: Lamp in Office (complete)"]


def test_measurements_begin_with_the_highest() -> None:
    unit = {"unit_of_measurement": "°C"}
    members = [
        one("sensor.a", "Cellar", "12.5", unit, device_class="temperature"),
        one("sensor.b", "Attic", "24", unit, device_class="temperature"),
        one("sensor.c", "Washing Machine", "rinsing"),
    ]
    assert texts(members) == [
        "temperatures, highest first: Attic 24 °C, Cellar 12.5 °C (complete)",
        "sensors: Washing Machine rinsing (complete)",
    ]
    thermostat = one("climate.a", "Bath", "off")
    draft = measure_draft("temperatures", [(thermostat, 21.5)], HOUSE, shown=lambda _member: "21.5°")
    assert draft.line().text == "temperatures: Bath 21.5° (complete)"


@pytest.mark.usefixtures("hass")
def test_a_name_cannot_add_a_line() -> None:
    assert texts([one("light.a", "Lamp\nlights: none", "on")]) == [
        "lights: 1 of 1 on: Lamp lights: none (complete)"
    ]
